"""A result put in place: all of its files, or none.

Flow: each file is replaced whole and remembered, as every write of ours is.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from openhands_memory.errors import MemoryToolError
from openhands_memory.layout import GeneratedFiles, TierPlace
from openhands_memory.upkeep.change import change
from openhands_memory.writing import Written

__all__ = ["WRITER", "ChangedMeanwhileError", "put_in_place"]

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
Again = Callable[[str, bytes | None], bytes]


def put_in_place(
    files: GeneratedFiles,
    wanted: Mapping[str, Written],
    *,
    now: datetime,
    reason: str,
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
            made = change(place, by, now=now, writer=WRITER, reason=reason)
            done.append((place, made))
    except MemoryToolError:
        for place, made in reversed(done):
            _take_back(place, made, now)
        raise


def _replacing(
    place: TierPlace, path: str, written: Written, again: Again | None
) -> Callable[[bytes | None], bytes | None]:
    def by(found: bytes | None) -> bytes | None:
        if found == written.before:
            return written.after
        if again is None:
            raise ChangedMeanwhileError(place.path)
        return again(path, found)

    return by


def _take_back(place: TierPlace, made: Written, now: datetime) -> None:
    def by(found: bytes | None) -> bytes | None:
        return made.before if found == made.after else found

    reason = "another file of the same result could not be written"
    change(place, by, now=now, writer=WRITER, reason=reason)
