"""A result put in place: all of its files, or none.

Flow: each file is replaced whole and remembered, as every write of ours is.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Final

from openhands_memory import writing
from openhands_memory.errors import MemoryToolError
from openhands_memory.generation.files import read_or_none, replace_text
from openhands_memory.generation.selection import (
    Consolidated,
    parse_consolidated,
    render_consolidated,
)
from openhands_memory.generation.state import (
    Proposal,
    drop_begun,
    drop_proposal,
    keep_begun,
    load_begun,
)
from openhands_memory.layout import SELECTION_NAME, GeneratedFiles, TierPlace
from openhands_memory.upkeep.change import change, history_of
from openhands_memory.writing import Written

__all__ = [
    "WRITER",
    "ChangedMeanwhileError",
    "finish_begun",
    "put_in_place",
    "settle",
    "still_fits",
]

#: Who the history says it was.
WRITER: Final = "generate"


class ChangedMeanwhileError(MemoryToolError):
    """A file is no longer what the result was made from.

    Attributes: *path* is the file.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} was changed meanwhile, so nothing was written"


#: Makes the result anew from the bytes that a file has now.
Again = Callable[[str, bytes | None], bytes | None]


def put_in_place(
    files: GeneratedFiles,
    wanted: Mapping[str, Written],
    *,
    now: datetime,
    reason: str,
    writer: str = WRITER,
    again: Again | None = None,
) -> None:
    """Replace each of the files *wanted*, given by their paths in the memory directory.

    Where a file has changed since, *again* says what is written instead.

    Raises:
        ChangedMeanwhileError: A file has changed, and there is no *again*.
        MemoryFileError: A file could not be written.
        What was written before that is taken back in either case.
    """
    done: list[tuple[TierPlace, Written]] = []
    try:
        for path, written in wanted.items():
            place = files.place(*path.split("/"))
            by = _replacing(place, path, written, again)
            made = change(place, by, now=now, writer=writer, reason=reason)
            done.append((place, made))
    except MemoryToolError:
        for place, made in reversed(done):
            _take_back(place, made, now, writer)
        raise


def settle(
    files: GeneratedFiles,
    result: Proposal,
    *,
    now: datetime,
    reason: str | None = None,
    again: Again | None = None,
) -> None:
    """Put *result* in place and record its selection; it does not wait any more.

    Whoever dies over it leaves a note, and `finish_begun` does the rest.

    Raises:
        ChangedMeanwhileError, MemoryFileError: As `put_in_place` does; or the selection
            could not be written, and is when somebody finishes this.
    """
    keep_begun(files.directory, result)
    try:
        put_in_place(
            files, result.files, now=now, reason=reason or result.reason, again=again
        )
    except MemoryToolError:
        drop_begun(files.directory)
        raise
    replace_text(files.place(SELECTION_NAME), result.selection)
    drop_begun(files.directory)
    drop_proposal(files.directory)


def finish_begun(files: GeneratedFiles, *, now: datetime) -> None:
    """Put in place what somebody had begun to who died, unless it fits no more.

    What they had put in place is known as generated in either case.

    Raises:
        MemoryFileError: A file could not be read or written.
    """
    begun = load_begun(files.directory)
    if begun is None:
        return
    _record_placed(files, begun, now)
    if still_fits(files, begun):
        settle(files, begun, now=now)
    drop_begun(files.directory)


def still_fits(files: GeneratedFiles, result: Proposal) -> bool:
    """Whether each file of *result* is what it was made from, or in place.

    Raises:
        MemoryFileError: A file could not be read.
    """
    return all(
        read_or_none(files.place(*path.split("/"))) in (w.before, w.after)
        for path, w in result.files.items()
    )


def _record_placed(files: GeneratedFiles, begun: Proposal, now: datetime) -> None:
    """Record the lines of *begun* as generated, if any of it was put in place.

    Which rollouts are selected stays: those of *begun* are consolidated again.
    """
    placed = _placed(files, begun)

    def recorded(found: bytes | None) -> bytes | None:
        last = parse_consolidated((found or b"").decode("utf-8", "replace"))
        if found is not None and last.written is None:  # all counts as generated
            return found
        done = parse_consolidated(begun.selection)
        known = _with_placed(last, done, placed, begun.files.keys() - placed)
        return render_consolidated(known, now=now).encode()

    if placed:
        writing.change_file(files.place(SELECTION_NAME), recorded)


def _placed(files: GeneratedFiles, begun: Proposal) -> frozenset[str]:
    """The paths of the files that were written, whoever has changed them since."""
    began = datetime.fromisoformat(begun.time).astimezone()
    ours = {
        entry.path
        for entry in history_of(files.directory)
        if entry.writer == WRITER and entry.time >= began
    }
    found = {p: (files.place(*p.split("/")), w) for p, w in begun.files.items()}
    return frozenset(
        path
        for path, (place, written) in found.items()
        if (now := read_or_none(place)) == written.after
        or (now != written.before and place.path in ours)
    )


def _with_placed(
    last: Consolidated,
    done: Consolidated,
    placed: Collection[str],
    unplaced: Collection[str],
) -> Consolidated:
    """*last* with what *done* knows.

    A fact that is known and not there counts as one that a person removed: known are
    those of files as they were left.
    """
    before, after = last.written or frozenset(), done.written or frozenset()
    written = {d for d in before if not _is_fact_of(placed, d)}
    written |= {d for d in after if not _is_fact_of(unplaced, d)}
    return last._replace(
        written=frozenset(written),
        unwanted=last.unwanted | done.unwanted,
        skills=tuple(sorted({*last.skills, *done.skills})),
    )


def _is_fact_of(paths: Collection[str], digest: str) -> bool:
    path, _, kind = digest.rpartition(":")[0].rpartition(":")
    return kind == "fact" and path in paths


def _replacing(
    place: TierPlace, path: str, written: Written, again: Again | None
) -> Callable[[bytes | None], bytes | None]:
    def by(found: bytes | None) -> bytes | None:
        if found in (written.before, written.after):  # the latter by one who died
            return written.after
        if again is None:
            raise ChangedMeanwhileError(place.path)
        return again(path, found)

    return by


def _take_back(place: TierPlace, made: Written, now: datetime, writer: str) -> None:
    def by(found: bytes | None) -> bytes | None:
        return made.before if found == made.after else found

    reason = "another file of the same result could not be written"
    change(place, by, now=now, writer=writer, reason=reason)
