"""Keep whole lines from the end, within a number of characters.

The newest lines stand last, so what does not fit is dropped from the top. A line, or a
fenced code block, that can never fit is dropped by itself; a block is kept with both of
its fences or not at all.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from openhands_memory.fences import FencedBlock
from openhands_memory.sanitize import TRUNCATION_NOTICE

__all__ = ["fitting_lines", "keep_tail"]


def keep_tail(
    lines: Sequence[str],
    room: int,
    *,
    first: int = 0,
    blocks: Sequence[FencedBlock] = (),
    fitting: list[int] | None = None,
) -> list[int]:
    """Indexes of the lines to keep so that they fit *room* characters.

    Each line counts with its line end, and the notice that will stand above them is
    counted too. Lines above *first* are there to tell code *blocks* apart and are never
    kept. Only *fitting* lines are; by default those that fit *room* by themselves.
    """
    if fitting is None:
        fitting = fitting_lines(lines, room, first=first, blocks=blocks)
    room -= len(TRUNCATION_NOTICE)
    used = list(accumulate(map(len, map(lines.__getitem__, reversed(fitting)))))
    counts = range(len(used))
    count = bisect_right(counts, room, key=lambda at: used[at] + at + 1)
    kept = fitting[len(fitting) - count :]
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

    The notice counts, as in `keep_tail`. The lines of a block count as one: they fit
    together or not at all, but for a line inside that is too long alone.
    """
    room -= len(TRUNCATION_NOTICE)
    every = range(first, len(lines))
    if not blocks and max(map(len, lines), default=0) < room:
        return list(every)  # by far the most texts
    fitting = [i for i in every if len(lines[i]) < room]
    unfit: set[int] = set()
    for top, bottom in blocks:
        inside = range(max(top, first), bottom + 1)
        torn = top < first or len(lines[top]) >= room or len(lines[bottom]) >= room
        chars = sum(len(lines[i]) + 1 for i in inside if len(lines[i]) < room)
        if torn or chars > room:
            unfit.update(inside)
    return [i for i in fitting if i not in unfit] if unfit else fitting
