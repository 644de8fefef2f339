"""Two versions of a memory file and the one that both began from, made into one.

Pure. Fact by fact, not hunk by hunk: facts that were added on either side are kept once,
one that was deleted on one side and untouched on the other is gone, one that was edited
on one side takes the edit. One of which the two sides made two things is a conflict, and
stands in the result twice, between the marks that git uses.
"""

from collections import Counter
from collections.abc import Sequence
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
    if ours == theirs or theirs == base:
        return Merged(ours, 0)
    if ours == base:
        return Merged(theirs, 0)
    documents = [parse_document(text) for text in (base, ours, theirs)]
    if any(document.fences.left_open is not None for document in documents):
        raise TransferRefusedError("a code fence never closes")
    merged = _merge(*map(units_of, documents), once=True)
    lines = list(chain.from_iterable(unit.lines for unit in merged))
    conflicts = sum(unit.kind == "conflict" for unit in merged)
    ends = [newline_of(documents[1])] * len(lines)
    if ends and not conflicts and not _ends_its_last_line(*documents):
        ends[-1] = ""
    text = render_document(Document(tuple(lines), tuple(ends)))
    if not conflicts:
        _check(merged, parse_document(text))
    return Merged(text, conflicts)


def _ends_its_last_line(*documents: Document) -> bool:
    base, ours, theirs = (bool(d.ends) and bool(d.ends[-1]) for d in documents)
    return ours if ours != base else theirs


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
    if once:
        _follow_moves(base, mine, other)
        _follow_moves(base, other, mine)
    kept = [
        _settle(*fates) for fates in zip(base, mine.fates, other.fates, strict=True)
    ]
    if once:
        _drop_twins(base, kept)
        _drop_known(kept, mine, other)
    merged: list[Unit] = []
    for number in range(len(base) + 1):
        merged += _both(mine.added[number], other.added[number])
        merged += kept[number] if number < len(base) else []
    return merged


def _follow_moves(base: Sequence[Unit], mine: Change, other: Change) -> None:
    """What *other* made of a fact that *mine* moved is made of it in its new place."""
    added = {unit.key for unit in chain(*mine.added) if unit.is_fact}
    there = {unit.key for unit in chain(*other.added) if unit.is_fact}
    stand = added | {unit.key for unit in mine.fates if unit}
    for number, unit in enumerate(base):
        after = other.fates[number]
        moved = unit.is_fact and mine.fates[number] is None and unit.key in added
        if not moved or _is_same(unit, after) or unit.key in there:
            continue
        if after and after.key in stand:
            after = None  # it is in its own place there
        for units in mine.added:
            units[:] = [
                new
                for old in units
                if (new := after if old.is_fact and old.key == unit.key else old)
            ]
        other.fates[number] = None


def _settle(base: Unit, mine: Unit | None, other: Unit | None) -> list[Unit]:
    """What is left of one unit of the base."""
    if mine == base or other == base:
        kept = other if mine == base else mine
    elif _is_same(base, mine) or _is_same(base, other):  # but for its white space
        kept = other if _is_same(base, mine) else mine
    elif mine and other:
        if not _is_same(mine, other):
            return [_merge_lines(base, mine, other) or _conflict(mine, other)]
        kept = mine
    elif mine or other:
        return [_conflict(mine, other)]
    else:
        kept = None
    return [kept] if kept else []


def _is_same(unit: Unit, other: Unit | None) -> bool:
    return other is not None and unit[:2] == other[:2]


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


def _drop_twins(base: Sequence[Unit], kept: Sequence[list[Unit]]) -> None:
    """Drop what one fact was edited to if another one says it already."""
    facts = [
        pair for pair in zip(base, kept, strict=True) if pair[1] and pair[0].is_fact
    ]
    stand = {old.key for old, new in facts if _is_same(old, new[0])}
    for old, new in facts:
        if _is_same(old, new[0]) or new[0].kind == "conflict":
            continue
        if new[0].key in stand:
            new.clear()
        else:
            stand.add(new[0].key)


def _drop_known(kept: Sequence[Sequence[Unit]], mine: Change, other: Change) -> None:
    """Drop what one side added and the other has, and headings that it leaves bare."""
    stand = {unit.key for units in kept for unit in units if unit.is_fact}
    for units, *fates in zip(kept, mine.fates, other.fates, strict=True):
        if units and units[0].kind == "conflict":
            stand |= {unit.key for unit in fates if unit}
    edited_there = stand - {unit.key for unit in mine.fates if unit}
    for units in mine.added:
        units[:] = _unknown(units, edited_there)
    stand |= {unit.key for unit in chain(*mine.added) if unit.is_fact}
    for units in other.added:
        units[:] = _unknown(units, stand)


def _unknown(units: Sequence[Unit], stand: set[str]) -> list[Unit]:
    found: list[Unit] = []
    for run in _runs(units):
        left = [u for u in run if not (u.is_fact and u.key in stand)]
        if len(left) == len(run) or any(unit.is_fact for unit in left):
            found += left
    return found


# --- What is new on both sides ----------------------------------------------------------


def _both(mine: Sequence[Unit], other: Sequence[Unit]) -> list[Unit]:
    """What was added at one place: first ours, then theirs, heading by heading."""
    if not mine or not other:
        return [*(mine or other)]
    runs, more = _runs(mine), _runs(other)
    runs[0] = _joined(runs[0], more[0])
    for number, run in enumerate(more[1:], 1):
        if (at := _index(runs, run)) is not None:
            runs[at] = _joined(runs[at], run[1:])
            continue
        later = (_index(runs, below) for below in more[number + 1 :])
        at = next((at for at in later if at is not None), len(runs))
        runs.insert(at, run)
        if (above := runs[at - 1]) and above[-1].kind != "blank":
            above.append(_BLANK)
        if at + 1 < len(runs) and run[-1].kind != "blank":
            run.append(_BLANK)
    return list(chain.from_iterable(runs))


def _runs(units: Sequence[Unit]) -> list[list[Unit]]:
    """*units* cut before each heading and mark; the first run has neither."""
    runs: list[list[Unit]] = [[]]
    for unit in units:
        if unit.kind in ("heading", "mark"):
            runs.append([])
        runs[-1].append(unit)
    return runs


def _index(runs: Sequence[Sequence[Unit]], like: Sequence[Unit]) -> int | None:
    same = (n for n, run in enumerate(runs) if n and run[0][:2] == like[0][:2])
    return next(same, None)


def _joined(run: Sequence[Unit], more: Sequence[Unit]) -> list[Unit]:
    """*run* with *more* at its end, blank lines as they were."""
    more = [u for u in more if u.kind != "other" or u not in run]
    body, blanks = _without_blanks_below(run)
    rest, blanks_of_rest = _without_blanks_below(more)
    if not body or not rest:
        return [*(run if body else more)]
    separate = body[-1].is_fact and "text" in (body[-1].kind, rest[0].kind)
    if separate and rest[0].kind != "blank":
        body = [*body, _BLANK]
    return [*body, *rest, *(blanks or blanks_of_rest)]


def _without_blanks_below(units: Sequence[Unit]) -> tuple[list[Unit], list[Unit]]:
    end = len(units)
    while end and units[end - 1].kind == "blank":
        end -= 1
    return [*units[:end]], [*units[end:]]
