"""Every write of ours: when, by whom, why, and how to get back.

Touches disk, below the user's state directory only: one JSON file a write, which holds
the file's bytes before and after it. It is not needed to read memory and can be deleted
at any time.
"""

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from openhands_memory.errors import MemoryFileError, MemoryToolError
from openhands_memory.writing import Written, replace_private_file

__all__ = [
    "HistoryEntry",
    "UndoRefusedError",
    "drop_history",
    "read_history",
    "record_write",
]

#: Writes that are kept for each memory directory.
_KEPT: Final = 500


class HistoryEntry(NamedTuple):
    """One write.

    Attributes: *id* sorts by time; *path* is the file; *undoes* is the id of the write
    that this one took back; *written* are the bytes before and after.
    """

    id: str
    time: datetime
    writer: str
    reason: str
    path: str
    written: Written
    undoes: str | None = None


class UndoRefusedError(MemoryToolError, ValueError):
    """A write cannot be taken back; the message says why and what to do."""


def record_write(
    root: str,
    path: str,
    written: Written,
    *,
    now: datetime,
    writer: str,
    reason: str,
    undoes: str | None = None,
) -> HistoryEntry:
    """Keep what is written to *path* in the history below *root*.

    *now* carries its time zone. The oldest writes go when there are too many.
    """
    stamp = f"{now.astimezone():%Y%m%dT%H%M%S%f}-{secrets.token_hex(2)}"
    entry = HistoryEntry(stamp, now, writer, reason, path, written, undoes)
    folder = _folder(root, os.path.dirname(path))
    replace_private_file(os.path.join(folder, f"{stamp}.json"), _dump(entry))
    for name in _names(folder)[_KEPT:]:
        os.unlink(os.path.join(folder, name))
    return entry


def read_history(root: str, directory: str) -> Iterator[HistoryEntry]:
    """The writes of ours in *directory*, newest first; damaged records are left out."""
    folder = _folder(root, directory)
    for name in _names(folder):
        try:
            with open(os.path.join(folder, name), "rb") as file:
                yield _load(name.removesuffix(".json"), json.load(file))
        except (OSError, ValueError, KeyError, TypeError):
            continue


def drop_history(
    root: str, directory: str, drops: Callable[[HistoryEntry], bool]
) -> int:
    """Remove the writes in *directory* that *drops* is true for; how many they were.

    Damaged records go too: nobody can say what is in them.

    Raises:
        MemoryFileError: A record could not be removed.
    """
    folder = _folder(root, directory)
    kept = {e.id for e in read_history(root, directory) if not drops(e)}
    gone = [name for name in _names(folder) if name.removesuffix(".json") not in kept]
    for name in gone:
        path = os.path.join(folder, name)
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            problem = f"could not be removed: {(error.strerror or '').lower()}"
            raise MemoryFileError(path, problem, "Remove it.") from error
    return len(gone)


def _folder(root: str, directory: str) -> str:
    key = hashlib.sha256(os.fsencode(os.path.realpath(directory))).hexdigest()[:32]
    return os.path.join(root, "history", key)


def _names(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted((name for name in names if name.endswith(".json")), reverse=True)


def _dump(entry: HistoryEntry) -> bytes:
    record = {
        "time": entry.time.isoformat(),
        "writer": entry.writer,
        "reason": entry.reason,
        "path": entry.path,
        "before": _encode(entry.written.before),
        "after": _encode(entry.written.after),
        "undoes": entry.undoes,
    }
    return json.dumps(record, ensure_ascii=False, indent=1).encode()


def _load(stamp: str, record: dict[str, str | None]) -> HistoryEntry:
    return HistoryEntry(
        stamp,
        datetime.fromisoformat(str(record["time"])),
        str(record["writer"]),
        str(record["reason"]),
        str(record["path"]),
        Written(_decode(record["before"]), _decode(record["after"])),
        record["undoes"],
    )


def _encode(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _decode(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
