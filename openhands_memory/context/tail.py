"""Keep whole lines from the end, within a number of characters.

The newest lines stand last, so what does not fit is dropped from the top. A line that
can never fit is dropped by itself; a cut never leaves half of a fenced code block.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from openhands_memory.sanitize import TRUNCATION_NOTICE

__all__ = ["has_fences", "keep_tail"]

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)\Z")


def keep_tail(
    lines: Sequence[str], room: int, *, first: int = 0, whole: bool = True
) -> list[int]:
    """Indexes of the lines to keep so that they fit *room* characters.

    Each line counts with its line end, and the notice that will stand above them is
    counted too. Lines above *first* are there to tell code blocks apart and are never
    kept. Unless *lines* are the *whole* text, more stands above them, and whether they
    begin inside a fenced block is inferred.
    """
    room -= len(TRUNCATION_NOTICE)
    fitting = [i for i in range(first, len(lines)) if len(lines[i]) < room]
    used = list(accumulate(len(lines[i]) + 1 for i in reversed(fitting)))
    kept = fitting[len(fitting) - bisect_right(used, room) :]
    return _without_cut_fence(lines, kept, whole=whole)


def has_fences(text: str) -> bool:
    """Whether *text* may hold fenced code blocks, which a cut must not open."""
    # One character first: it is found several times as fast as three.
    return ("`" in text and "```" in text) or ("~" in text and "~~~" in text)


def _without_cut_fence(
    lines: Sequence[str], kept: list[int], *, whole: bool
) -> list[int]:
    if not kept:
        return kept
    for first, last in _fenced_blocks(lines, whole=whole):
        if first < kept[0] <= last:
            return [index for index in kept if index > last]
    return kept


def _fenced_blocks(lines: Sequence[str], *, whole: bool) -> list[tuple[int, int]]:
    """The closed fenced code blocks, as (first, last) line indexes.

    Where the beginning is missing, the reading with fewer oddities is taken.
    """
    outside, odd_outside = _read_fences(lines, begins_inside=False)
    if whole:
        return outside
    inside, odd_inside = _read_fences(lines, begins_inside=True)
    return inside if odd_inside < odd_outside else outside


def _read_fences(
    lines: Sequence[str], *, begins_inside: bool
) -> tuple[list[tuple[int, int]], int]:
    """Closed blocks, and oddities: openings inside a block, a block left open."""
    blocks: list[tuple[int, int]] = []
    oddities = 0
    opened = -1 if begins_inside else None
    fence = ""
    for index, mark, info in _fences(lines):
        if opened is None:
            opened, fence = index, mark
        elif info:
            oddities += 1
        elif not fence or (mark[0] == fence[0] and len(mark) >= len(fence)):
            blocks.append((opened, index))
            opened = None
    return blocks, oddities + (opened is not None)


def _fences(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    for index, line in enumerate(lines):
        found = _FENCE.match(line) if has_fences(line) else None
        # A backtick fence has no backticks in its info string (CommonMark 0.31, 4.5).
        if found and not (found[1][0] == "`" and "`" in found[2]):
            yield index, found[1], found[2].strip()
