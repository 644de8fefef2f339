"""Fenced code blocks of Markdown: which lines they take, and which one never closes.

Pure. The reader asks so that a cut never opens a block, lint and search so that code is
left alone.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

__all__ = ["FencedBlock", "Fences", "fenced_blocks", "has_fences", "nested_fences"]

#: First and last line of a fenced code block that is closed, as indexes.
FencedBlock = tuple[int, int]

#: Behind quotes and list markers too, and below them at any depth.
_FENCE: Final = re.compile(
    r"((?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)(`{3,}|~{3,})(.*)\Z"
)


class Fences(NamedTuple):
    """Closed *blocks*; the line that opens one which never closes, if any; oddities.

    Oddities are openings inside a block, and a block that is left open.
    """

    blocks: list[FencedBlock]
    left_open: int | None
    oddities: int


class _Mark(NamedTuple):
    line: int
    lead: str
    fence: str
    info: str


def has_fences(text: str) -> bool:
    """Whether *text* may hold fenced code blocks, which a cut must not open."""
    # One character first: it is found several times as fast as three.
    return ("`" in text and "```" in text) or ("~" in text and "~~~" in text)


def fenced_blocks(lines: Sequence[str], *, whole: bool = True) -> list[FencedBlock]:
    """The closed fenced code blocks of *lines*, also inside lists and quotes.

    Unless they are the *whole* text more stands above them, and whether they begin
    inside a block is inferred: the reading with fewer oddities is taken.
    """
    marks = list(_marks(lines))
    outside = _read(marks, begins_inside=False)
    if whole:
        return outside.blocks
    inside = _read(marks, begins_inside=True)
    return (inside if inside.oddities < outside.oddities else outside).blocks


def nested_fences(lines: Sequence[str]) -> Fences:
    """The fenced code of a whole text's *lines*, also inside lists and quotes."""
    return _read(list(_marks(lines)), begins_inside=False)


def _read(marks: Sequence[_Mark], *, begins_inside: bool) -> Fences:
    blocks: list[FencedBlock] = []
    oddities = 0
    opened = -1 if begins_inside else None
    fence = ""
    for mark in marks:
        if opened is None:
            opened, fence = mark.line, mark.fence
        elif mark.info or mark.lead.strip(" \t>"):
            oddities += 1
        elif not fence or (mark.fence[0] == fence[0] and len(mark.fence) >= len(fence)):
            blocks.append((opened, mark.line))
            opened = None
    return Fences(blocks, opened, oddities + (opened is not None))


def _marks(lines: Sequence[str]) -> Iterator[_Mark]:
    for index, line in enumerate(lines):
        may_be = "```" in line or "~~~" in line
        found = _FENCE.match(line) if may_be else None
        # A backtick fence has no backticks in its info string (CommonMark 0.31, 4.5).
        if found and not (found[2][0] == "`" and "`" in found[3]):
            yield _Mark(index, found[1], found[2], found[3].strip())
