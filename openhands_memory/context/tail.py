"""Keep whole lines from the end, within a number of characters.

The newest lines stand last, so what does not fit is dropped from the top. A line, or a
fenced code block, that can never fit is dropped by itself; a block is kept with both of
its fences or not at all.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from openhands_memory.sanitize import TRUNCATION_NOTICE

__all__ = ["FencedBlock", "fenced_blocks", "fitting_lines", "has_fences", "keep_tail"]

#: First and last line of a fenced code block that is closed, as indexes.
FencedBlock = tuple[int, int]

_FENCE: Final = r" {0,3}(`{3,}|~{3,})(.*)\Z"


def keep_tail(
    lines: Sequence[str],
    room: int,
    *,
    first: int = 0,
    blocks: Sequence[FencedBlock] = (),
) -> list[int]:
    """Indexes of the lines to keep so that they fit *room* characters.

    Each line counts with its line end, and the notice that will stand above them is
    counted too. Lines above *first* are there to tell code *blocks* apart and are never
    kept.
    """
    room -= len(TRUNCATION_NOTICE)
    fitting = fitting_lines(lines, room, first=first, blocks=blocks)
    used = list(accumulate(len(lines[i]) + 1 for i in reversed(fitting)))
    kept = fitting[len(fitting) - bisect_right(used, room) :]
    for top, bottom in blocks:
        if kept and top < kept[0] <= bottom:
            return [index for index in kept if index > bottom]
    return kept


def fitting_lines(
    lines: Sequence[str],
    room: int,
    *,
    first: int = 0,
    blocks: Sequence[FencedBlock] = (),
) -> list[int]:
    """Indexes of the lines, from *first* on, that fit *room* characters by themselves.

    The lines of a block count as one: they fit together or not at all, but for a line
    inside that is too long alone.
    """
    fitting = [i for i in range(first, len(lines)) if len(lines[i]) < room]
    unfit: set[int] = set()
    for top, bottom in blocks:
        inside = range(max(top, first), bottom + 1)
        torn = top < first or len(lines[top]) >= room or len(lines[bottom]) >= room
        if torn or sum(len(lines[i]) + 1 for i in inside if len(lines[i]) < room) > room:
            unfit.update(inside)
    return [i for i in fitting if i not in unfit] if unfit else fitting


def has_fences(text: str) -> bool:
    """Whether *text* may hold fenced code blocks, which a cut must not open."""
    # One character first: it is found several times as fast as three.
    return ("`" in text and "```" in text) or ("~" in text and "~~~" in text)


def fenced_blocks(lines: Sequence[str], *, whole: bool = True) -> list[FencedBlock]:
    """The closed fenced code blocks of *lines*.

    Unless they are the *whole* text more stands above them, and whether they begin
    inside a block is inferred: the reading with fewer oddities is taken.
    """
    fences = list(_fences(lines))
    outside, odd_outside = _read_fences(fences, begins_inside=False)
    if whole:
        return outside
    inside, odd_inside = _read_fences(fences, begins_inside=True)
    return inside if odd_inside < odd_outside else outside


def _read_fences(
    fences: Sequence[tuple[int, str, str]], *, begins_inside: bool
) -> tuple[list[FencedBlock], int]:
    """Closed blocks, and oddities: openings inside a block, a block left open."""
    blocks: list[FencedBlock] = []
    oddities = 0
    opened = -1 if begins_inside else None
    fence = ""
    for index, mark, info in fences:
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
        found = re.match(_FENCE, line) if has_fences(line) else None
        # A backtick fence has no backticks in its info string (CommonMark 0.31, 4.5).
        if found and not (found[1][0] == "`" and "`" in found[2]):
            yield index, found[1], found[2].strip()
