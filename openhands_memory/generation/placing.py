"""A result put in place: all of its files, or none.

Flow: each file is replaced whole and remembered, as every write of ours is.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from openhands_memory.errors import MemoryToolError
from openhands_memory.generation.files import read_or_none, replace_text
from openhands_memory.generation.state import (
    Proposal,
    drop_begun,
    drop_proposal,
    keep_begun,
    load_begun,
)
from openhands_memory.layout import SELECTION_NAME, GeneratedFiles, TierPlace
from openhands_memory.upkeep.change import change
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

    Raises:
        MemoryFileError: A file could not be read or written.
    """
    begun = load_begun(files.directory)
    if begun is None:
        return
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
