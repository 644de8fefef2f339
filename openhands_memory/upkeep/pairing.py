"""What became of each part of a memory file in a later version of it.

Pure. A part is a fact, a heading, a mark of the generated part, or one line of anything
else. A part that is no longer there was edited if something like it took its place.
"""

from collections.abc import Sequence, Set
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from openhands_memory.upkeep.document import Document
from openhands_memory.upkeep.sections import sections_of

__all__ = ["Change", "Unit", "change_between", "line_units", "units_of"]

#: From here on two facts are versions of one.
_ALIKE: Final = 0.6
#: More pairs than this are not compared letter by letter: they are taken in order.
_MOST_PAIRS: Final = 2_500


class Unit(NamedTuple):
    """A part of a file.

    Attributes: *kind* is ``bullet``, ``text``, ``heading``, ``mark``, ``blank`` or
    ``other``; *key* is what equal parts share; *lines* are its own, as they stand.
    """

    kind: str
    key: str
    lines: tuple[str, ...]

    @property
    def is_fact(self) -> bool:
        return self.kind in ("bullet", "text")


class Change(NamedTuple):
    """From a base to one version of it.

    Attributes: *fates* has for each unit of the base what stands there now, or None;
    *added* has what is new, before each unit of the base, and after the last.
    """

    fates: list[Unit | None]
    added: list[list[Unit]]


def units_of(document: Document) -> list[Unit]:
    """The parts of *document*: all of its lines, in their order."""
    starts: dict[int, tuple[int, str, str]] = {}
    for section in sections_of(document):
        line = section.first_line
        if section.heading:
            key = f"{section.heading.depth} {section.heading.key}"
            starts[line] = (line, "heading", key)
        elif section.marked:
            starts[line] = (line, "mark", document.lines[line - 1].strip())
        for fact in section.facts:
            starts[fact.line] = (fact.end_line, fact.kind, fact.key)
    units: list[Unit] = []
    line = 1
    while line <= len(document.lines):
        text = document.lines[line - 1].strip()
        other = (line, "other" if text else "blank", text)
        end, kind, key = starts.get(line, other)
        units.append(Unit(kind, key, document.lines[line - 1 : end]))
        line = end + 1
    return units


def line_units(lines: Sequence[str]) -> list[Unit]:
    """The lines of one fact, each as a part of its own."""
    return [Unit("bullet", line.rstrip(), (line,)) for line in lines]


def change_between(base: Sequence[Unit], side: Sequence[Unit]) -> Change:
    """What became of *base* in *side*."""
    fates: list[Unit | None] = [None] * len(base)
    added: list[list[Unit]] = [[] for _ in range(len(base) + 1)]
    # What stands elsewhere now was moved: nothing took its place, and it took none's.
    moved = {unit.key for unit in base} & {unit.key for unit in side}
    for tag, i1, i2, j1, j2 in _opcodes(base, side):
        if tag == "equal":
            fates[i1:i2] = side[j1:j2]
            continue
        pairs = dict(_pairs(base[i1:i2], side[j1:j2], moved))
        before = i1
        for j in range(j1, j2):
            if (i := pairs.get(j - j1)) is None:
                added[before].append(side[j])
            else:
                fates[i1 + i] = side[j]
                before = i1 + i + 1
    return Change(fates, added)


def _opcodes(
    base: Sequence[Unit], side: Sequence[Unit]
) -> list[tuple[str, int, int, int, int]]:
    """As `difflib` has them, without comparing what both begin and end with."""
    a, b = _marks(base), _marks(side)
    most = min(len(a), len(b))
    top = next((n for n in range(most) if a[n] != b[n]), most)
    most -= top
    end = next((n for n in range(most) if a[~n] != b[~n]), most)
    middle = SequenceMatcher(
        None, a[top : len(a) - end], b[top : len(b) - end], autojunk=False
    )
    codes = [
        (tag, i1 + top, i2 + top, j1 + top, j2 + top)
        for tag, i1, i2, j1, j2 in middle.get_opcodes()
    ]
    return [
        ("equal", 0, top, 0, top),
        *codes,
        ("equal", len(a) - end, len(a), len(b) - end, len(b)),
    ]


def _marks(units: Sequence[Unit]) -> list[tuple[str, str]]:
    """What tells the units apart: a blank line belongs to what stands below it.

    Else all blank lines would be alike, and finding their way takes minutes.
    """
    marks: list[tuple[str, str]] = []
    below = ""
    for unit in reversed(units):
        if unit.kind == "blank":
            below = f"\n{below}"
        elif unit.kind != "other":
            below = unit.key
        marks.append((unit.kind, below if unit.kind == "blank" else unit.key))
    return marks[::-1]


def _pairs(
    base: Sequence[Unit], side: Sequence[Unit], moved: Set[str]
) -> list[tuple[int, int]]:
    """Which of *side* (first) is an edit of which of *base*, both in order."""
    olds = [n for n, unit in enumerate(base) if unit.is_fact and unit.key not in moved]
    news = [n for n, unit in enumerate(side) if unit.is_fact and unit.key not in moved]
    anchors: list[tuple[int, int]] = []
    start = 0
    for at, old in enumerate(olds if len(olds) * len(news) <= _MOST_PAIRS else ()):
        alike = [
            (_alike(base[old], side[news[n]]), -n) for n in range(start, len(news))
        ]
        best, place = max(alike, default=(0.0, 0))
        if best >= _ALIKE:
            anchors.append((at, -place))
            start = 1 - place
    # What is left between those took each other's places in order.
    found: list[tuple[int, int]] = []
    i = j = 0
    for at, place in [*anchors, (len(olds), len(news))]:
        found += zip(news[j:place], olds[i:at], strict=False)
        if at < len(olds):
            found.append((news[place], olds[at]))
        i, j = at + 1, place + 1
    return found


def _alike(old: Unit, new: Unit) -> float:
    matcher = SequenceMatcher(None, old.key, new.key, autojunk=False)
    if matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
        return 0.0
    return matcher.ratio()
