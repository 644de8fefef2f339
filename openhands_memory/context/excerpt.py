"""The part of an index that may be shown, and which of its lines that is.

Left out are blank lines at both ends and the marks around the generated part, which
cost nothing and which nobody misses.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from openhands_memory.context.decode import Decoded
from openhands_memory.layout import GENERATED_END, GENERATED_START

__all__ = ["Excerpt", "line_gaps", "take_excerpt"]

_MARKS: Final = frozenset({GENERATED_START, GENERATED_END})
#: What is in both marks.
_SIGN: Final = "openhands-memory: generated -->"


class Excerpt(NamedTuple):
    """A *text*, and where its lines stand among those that were read, counted from 0.

    Attributes: *whole* says that nothing stands above what was read, *complete* that
    nothing was left out either; *lead* blank lines stand above all text, *blank_end*
    below it. *numbers* are the lines of *text*, or None if they follow each other from
    *lead* on; *silent* lines are not in it and nobody misses them; *last* is the last
    line of all that is not blank, where *numbers* are given.
    """

    text: str
    whole: bool
    complete: bool
    lead: int
    blank_end: int
    numbers: Sequence[int] | None = None
    silent: Sequence[int] = ()
    last: int = 0

    def distances(self, kept: Sequence[int], lines: int) -> tuple[int, ...]:
        """How far above the last line those are that nobody misses.

        *kept* are indexes of lines that are shown, among the last *lines* of the text.
        """
        if self.numbers is None:
            return tuple([lines - 1 - index for index in kept])
        there = [self.numbers[index - lines] for index in kept]
        if self.silent:
            there = sorted([*there, *self.silent])
        return tuple([self.last - number for number in there])

    def gaps(self, distances: Sequence[int], lines: int) -> tuple[tuple[int, int], ...]:
        """Ranges of the file's *lines*, counted from 1, that somebody may miss."""
        return line_gaps(distances, first=self.lead + 1, last=lines - self.blank_end)


def take_excerpt(decoded: Decoded) -> Excerpt:
    """What of *decoded* may be shown."""
    text, whole = decoded.text, decoded.whole
    # One character first: it is found many times as fast as a word.
    if decoded.left_out or ("<" in text and _SIGN in text):
        return _take_lines(decoded)
    bare = text.rstrip()
    end = len(bare)
    # The first line end is that of the last line; no line begins behind the last one.
    blank_end = max(0, text.count("\n", end) - text.endswith("\n", end))
    lead = 0
    if whole:
        bare = bare.lstrip()
        lead = text.count("\n", 0, end - len(bare))
    return Excerpt(bare, whole, whole, lead, blank_end)


def _take_lines(decoded: Decoded) -> Excerpt:
    lines, numbers = decoded.text.split("\n"), decoded.numbers
    marks: list[int] = []
    for index in reversed(_signed_lines(decoded.text)):
        if lines[index].strip() in _MARKS:
            marks.append(numbers.pop(index))
            del lines[index]
    while lines and not lines[-1].strip():
        del lines[-1], numbers[-1]
    if decoded.whole:
        filled = (index for index, line in enumerate(lines) if line.strip())
        top = next(filled, 0)
        del lines[:top], numbers[:top]
    # Lines that are missed may stand further out than those that are left.
    first = min((*numbers[:1], *decoded.left_out[:1]), default=0)
    last = max((*numbers[-1:], *decoded.left_out[-1:]), default=-1)
    text = "\n".join(lines).rstrip()
    return Excerpt(
        text=text.lstrip() if decoded.whole else text,
        whole=decoded.whole,
        complete=decoded.whole and not decoded.left_out,
        lead=first,
        blank_end=decoded.lines - 1 - last,
        numbers=numbers,
        silent=[number for number in marks if first < number < last],
        last=last,
    )


def _signed_lines(text: str) -> list[int]:
    """Indexes of lines that may be marks."""
    found: list[int] = []
    line, seen = 0, 0
    at = text.find(_SIGN)
    while at >= 0:
        line += text.count("\n", seen, at)
        seen = at
        found.append(line)
        at = text.find(_SIGN, at + 1)
    return found


def line_gaps(
    distances: Sequence[int], *, first: int, last: int
) -> tuple[tuple[int, int], ...]:
    """The ranges from *first* to *last* that are missing in what is there.

    *distances* say how far above *last* those lines are, from the first one on.
    """
    if distances and distances[0] - distances[-1] == len(distances) - 1:
        # Most files lose lines at the top alone.
        runs = [(last - distances[0], last - distances[-1])]
    else:
        runs = [(last - distance, last - distance) for distance in distances]
    gaps: list[tuple[int, int]] = []
    expected = first
    for top, bottom in (*runs, (last + 1, last + 1)):
        if top > expected:
            gaps.append((expected, top - 1))
        expected = max(expected, bottom + 1)
    return tuple(gaps)
