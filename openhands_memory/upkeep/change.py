"""A change of a memory file, from the reason to the history.

Flow: asks `writing` to write, `history` to remember, `trust` to keep an approval.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from hashlib import sha256

from openhands_memory import store, trust, writing
from openhands_memory.layout import SKILLS, SUMMARIES, TierPlace
from openhands_memory.upkeep.history import (
    HistoryEntry,
    UndoRefusedError,
    drop_history,
    read_history,
    record_write,
)
from openhands_memory.writing import BeforeWrite, Written

__all__ = [
    "Holds",
    "append_to",
    "change",
    "create",
    "drop_writes",
    "history_of",
    "last_write",
    "newest_undoable",
    "purge",
    "undo",
]


def change(
    place: TierPlace,
    by: Callable[[bytes | None], bytes | None],
    *,
    now: datetime,
    writer: str,
    reason: str,
    undoes: str | None = None,
) -> Written:
    """Replace the file at *place* by what *by* makes of it, and remember it.

    Raises:
        MemoryFileError: The file could not be written; it is as it was.
    """

    remember = _remember(place, now, writer, reason, undoes)
    written = writing.change_file(place, by, before_write=remember)
    _keep_approval(place, written)
    return written


def create(
    place: TierPlace, data: bytes, *, now: datetime, writer: str, reason: str
) -> bool:
    """Create the file at *place*, and remember it; False if there is something already.

    Raises:
        MemoryFileError: It could not be created.
    """

    remember = _remember(place, now, writer, reason)
    return writing.create_file(place, data, before_write=remember)


def append_to(
    place: TierPlace, record: bytes, *, now: datetime, writer: str, reason: str
) -> Written:
    """Append the lines of *record* to the daily log at *place*, and remember it.

    Raises:
        MemoryFileError: The log could not be written; it is as it was.
    """

    remember = _remember(place, now, writer, reason)
    return writing.append_record(place, record, before_write=remember)


def _remember(
    place: TierPlace,
    now: datetime,
    writer: str,
    reason: str,
    undoes: str | None = None,
) -> BeforeWrite:
    """What puts a write into the history, before it is made."""

    def remember(written: Written) -> None:
        record_write(
            str(trust.state_directory()),
            place.path,
            written,
            now=now,
            writer=writer,
            reason=reason,
            undoes=undoes,
        )

    return remember


#: Tells what the file that a write was made to holds now.
Holds = Callable[[HistoryEntry], bytes | None]


def newest_undoable(
    history: Iterable[HistoryEntry], holds: Holds
) -> HistoryEntry | None:
    """The last write in *history* (newest first) that was not taken back."""
    entries = tuple(history)
    undone = {entry.undoes for entry in entries if entry.undoes}
    left = (e for e in entries if e.id not in undone and e.undoes is None)
    return last_write(left, holds)


def last_write(history: Iterable[HistoryEntry], holds: Holds) -> HistoryEntry | None:
    """The last write in *history* (newest first).

    A clock may have gone back: of the writes to the newest one's file it is the one that
    left what the file *holds*, if any of them did.
    """
    entries = tuple(history)
    if not entries:
        return None
    newest, data = entries[0], holds(entries[0])
    same = (e for e in entries if e.path == newest.path)
    return next((e for e in same if e.written.after == data), newest)


def undo(
    place: TierPlace, entry: HistoryEntry, *, now: datetime, writer: str
) -> Written:
    """Take one write back, byte for byte; a file that it created is removed.

    Raises:
        UndoRefusedError: The file was changed since; nothing is written.
        MemoryFileError: The file could not be written; it is as it was.
    """

    def back(found: bytes | None) -> bytes | None:
        if found != entry.written.after:
            raise UndoRefusedError(
                f"{entry.path} was changed after {entry.id}.\n"
                "Taking that back would take the later change with it. Undo a later "
                "write first,\nor edit the file by hand: "
                f"openhands-memory diff {entry.id} shows what to change."
            )
        return entry.written.before

    reason = f"undo of {entry.id}"
    return change(place, back, now=now, writer=writer, reason=reason, undoes=entry.id)


def purge(place: TierPlace, words: bytes) -> int:
    """Remove from the history what it keeps of the file at *place*.

    Also what it keeps of the files beside it, where a line says *words*. What is removed
    can no longer be taken back; how many writes that were.

    Raises:
        MemoryFileError: Something of it is left.
    """
    root, name = str(trust.state_directory()), os.path.basename(place.path)

    def holds(entry: HistoryEntry) -> bool:
        kept = (entry.written.before or b"") + b"\n" + (entry.written.after or b"")
        lines = (line.strip(b" \t\r-*+") for line in kept.split(b"\n"))
        return os.path.basename(entry.path) == name or words in lines

    return drop_history(root, os.path.dirname(place.path), holds)


def history_of(directory: str) -> list[HistoryEntry]:
    """Our writes in the memory *directory* and below it, newest first."""
    root = str(trust.state_directory())
    found = [e for d in _with_below(directory) for e in read_history(root, d)]
    return sorted(found, key=lambda entry: (entry.time, entry.id), reverse=True)


def drop_writes(directory: str, holds: Callable[[HistoryEntry], bool]) -> int:
    """Remove from the history of the memory *directory*, and below it, what *holds*.

    What is removed can no longer be taken back; how many writes that were.

    Raises:
        MemoryFileError: Something of it is left.
    """
    root = str(trust.state_directory())
    return sum(drop_history(root, d, holds) for d in _with_below(directory))


def _with_below(directory: str) -> Iterator[str]:
    """The memory *directory* and those below it in which we write what can be undone."""
    skills = os.path.join(directory, SKILLS)
    yield from (directory, os.path.join(directory, SUMMARIES))
    yield from (os.path.join(skills, name) for name in sorted(store.names_in(skills)))


def _keep_approval(place: TierPlace, written: Written) -> None:
    """A write of ours does not make an approved project memory a stranger's."""
    if place.name != "project" or written.before is None or written.after is None:
        return
    if trust.is_approved(place, sha256(written.before).hexdigest()):
        trust.approve(place, sha256(written.after).hexdigest())
