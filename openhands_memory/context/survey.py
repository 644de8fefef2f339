"""What only a whole file tells: how many lines, which headings, the newest date.

Pure, and linear in the text, whatever it holds: anybody may write these files.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from openhands_memory.context.decode import Decoded
from openhands_memory.context.excerpt import take_excerpt

__all__ = ["Survey", "survey_file"]

_HEADING_START: Final = r"(?m)^ {0,3}#{1,6}[ \t]"
_DATE: Final = r"\b(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?\b"


class Survey(NamedTuple):
    """Facts of a whole file.

    Attributes: *lines* counts all; *first_line* is the number of the first one with
    text, *marks* are lines that nobody misses; *chars* counts what may be shown;
    *headings* are Markdown headings as (line, title); *newest_date* is the latest ISO
    date in the text.
    """

    lines: int
    first_line: int
    marks: tuple[int, ...]
    chars: int
    headings: tuple[tuple[int, str], ...]
    newest_date: str | None


def survey_file(decoded: Decoded) -> Survey:
    """Measure a whole file."""
    excerpt = take_excerpt(decoded)
    headings = tuple(_headings(decoded.text))
    if decoded.left_out:
        numbers = decoded.numbers
        headings = tuple((numbers[line - 1] + 1, title) for line, title in headings)
    return Survey(
        lines=decoded.lines,
        first_line=excerpt.lead + 1,
        marks=tuple([number + 1 for number in excerpt.silent]),
        chars=len(excerpt.text),
        headings=headings,
        newest_date=max(re.findall(_DATE, decoded.text), default=None),
    )


def _headings(text: str) -> Iterator[tuple[int, str]]:
    line, at = 1, 0
    for found in re.finditer(_HEADING_START, text):
        line += text.count("\n", at, found.start())
        at = found.start()
        end = text.find("\n", at)
        title = text[found.end() : end if end >= 0 else None].strip(" \t")
        # A closing run of "#" is no part of it, if it stands by itself.
        bare = title.rstrip("#")
        if bare[-1:] in ("", " ", "\t"):
            title = bare.rstrip(" \t")
        if title:
            yield line, title
