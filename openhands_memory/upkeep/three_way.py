"""Two versions of a memory file and the one that both began from, made into one.

Pure. Fact by fact, not hunk by hunk: facts that were added on either side are kept once,
one that was deleted on one side and untouched on the other is gone, one that was edited
on one side takes the edit. One of which the two sides made two things is a conflict, and
stands in the result twice, between the marks that git uses.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from openhands_memory.upkeep.document import Document, parse_document, render_document
from openhands_memory.upkeep.pairing import (
    Change,
    Unit,
    change_between,
    line_units,
    units_of,
)
from openhands_memory.upkeep.sections import facts_of
from openhands_memory.upkeep.transfer import TransferRefusedError, newline_of

__all__ = ["Merged", "merge_texts"]

#: As git writes them (git-merge-file(1)).
_OURS, _BETWEEN, _THEIRS = "<<<<<<< ours", "=======", ">>>>>>> theirs"
_BLANK: Final = Unit("blank", "", ("",))


class Merged(NamedTuple):
    """The one text, and how many facts in it are conflicts."""

    text: str
    conflicts: int


def merge_texts(base: str, ours: str, theirs: str) -> Merged:
    """Merge what *ours* and *theirs* made of *base*; line ends are those of *ours*.

    Raises:
        TransferRefusedError: Facts cannot be told apart in one of them.
    """
    documents = [parse_document(text) for text in (base, ours, theirs)]
    if any(document.fences.left_open is not None for document in documents):
        raise TransferRefusedError("a code fence never closes")
    merged = _merge(*map(units_of, documents), once=True)
    lines = list(chain.from_iterable(unit.lines for unit in merged))
    last = [document.ends[-1] if document.lines else "" for document in documents]
    ends_open = not (last[1] if bool(last[1]) != bool(last[0]) else last[2])
    ends = [newline_of(documents[1])] * len(lines)
    if ends and ends_open and base:
        ends[-1] = ""
    text = render_document(Document(tuple(lines), tuple(ends)))
    conflicts = sum(unit.kind == "conflict" for unit in merged)
    if not conflicts:
        _check(merged, parse_document(text))
    return Merged(text, conflicts)


def _check(merged: Sequence[Unit], found: Document) -> None:
    """What was put together must read as what it was put together from."""
    wanted = Counter(unit.key for unit in merged if unit.is_fact)
    if wanted != Counter(fact.key for fact in facts_of(found)):
        raise TransferRefusedError("facts of the two sides would read as one")


# --- What is left of the base -----------------------------------------------------------


def _merge(
    base: Sequence[Unit],
    ours: Sequence[Unit],
    theirs: Sequence[Unit],
    *,
    once: bool,
) -> list[Unit]:
    """The merged units; *once* says that a fact stands in the result only once."""
    mine, other = change_between(base, ours), change_between(base, theirs)
    kept = [_settle(*fates) for fates in zip(base, mine.fates, other.fates, strict=True)]
    if once:
        _drop_known(kept, mine, other)
    merged: list[Unit] = []
    for number in range(len(base) + 1):
        merged += _both(mine.added[number], other.added[number])
        merged += kept[number : number + 1][0] if number < len(base) else []
    return merged


def _settle(base: Unit, mine: Unit | None, other: Unit | None) -> list[Unit]:
    """What is left of one unit of the base."""
    if mine == other or other == base:
        return [mine] if mine else []
    if mine == base:
        return [other] if other else []
    mine_same = mine is not None and mine[:2] == base[:2]
    other_same = other is not None and other[:2] == base[:2]
    if mine_same or other_same:  # no more than white space was changed on that side
        kept = other if mine_same else mine
        return [kept] if kept else []
    if mine and other:
        if mine[:2] == other[:2]:
            return [mine]
        if lines := _merge_lines(base, mine, other):
            return [lines]
    if not base.is_fact:
        return [unit for unit in (mine, other) if unit]
    return [_conflict(mine, other)]


def _merge_lines(base: Unit, mine: Unit, other: Unit) -> Unit | None:
    """A fact of several lines, merged line by line; None if that is no use."""
    versions = (base, mine, other)
    if all(len(unit.lines) == 1 for unit in versions) or any(
        "```" in line or "~~~" in line for unit in versions for line in unit.lines
    ):
        return None
    merged = _merge(*(line_units(unit.lines) for unit in versions), once=False)
    if any(unit.kind == "conflict" for unit in merged):
        return None
    lines = tuple(chain.from_iterable(unit.lines for unit in merged))
    read = units_of(parse_document("\n".join(lines)))
    return read[0] if len(read) == 1 else None


def _conflict(mine: Unit | None, other: Unit | None) -> Unit:
    sides = (mine.lines if mine else (), other.lines if other else ())
    return Unit("conflict", "", (_OURS, *sides[0], _BETWEEN, *sides[1], _THEIRS))


def _drop_known(kept: Iterable[list[Unit]], mine: Change, other: Change) -> None:
    """Drop what either side added and is there already."""
    stand = {unit.key for units in kept for unit in units if unit.is_fact}
    ours = {unit.key for unit in (*mine.fates, *chain(*mine.added)) if unit}
    edited = {unit.key for unit in other.fates if unit and unit.is_fact} - ours
    for units in mine.added:
        units[:] = [u for u in units if not (u.is_fact and u.key in stand & edited)]
    stand |= {unit.key for unit in chain(*mine.added) if unit.is_fact}
    for units in other.added:
        runs = _runs(units)
        for run in runs:
            facts = [unit for unit in run if unit.is_fact]
            left = [u for u in run if not (u.is_fact and u.key in stand)]
            stand |= {unit.key for unit in facts}
            nothing_left = facts and not any(unit.is_fact for unit in left)
            run[:] = [] if nothing_left else left
        units[:] = chain(*runs)
