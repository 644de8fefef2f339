"""The files of a tier that people read and share, and those of another's.

Flow: asks `store` to list and to read. Only the names that this package gives are known
here: the index, daily logs and rollout summaries; nothing else is ever touched.
"""

import os
import re
from collections.abc import Iterator
from typing import Final

from openhands_memory import store
from openhands_memory.errors import FileRefusedError, MemoryFileError
from openhands_memory.layout import PROJECT_MEMORY_DIR, TierPlace

__all__ = [
    "MAX_FILE_BYTES",
    "file_place",
    "is_log",
    "is_tier_file",
    "names_of",
    "place_at",
    "places_there",
    "read_file",
]

MAX_FILE_BYTES: Final = 8 * 1024 * 1024

_LOG: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.md")
_SUMMARIES: Final = "rollout_summaries"
#: Names that mean the same file, or a file at all, on every system.
_SUMMARY: Final = re.compile(rf"{_SUMMARIES}/[A-Za-z0-9][A-Za-z0-9._-]{{0,199}}\.md")
_RESERVED: Final = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)\.")


def is_log(name: str) -> bool:
    """Whether *name* is that of a daily log."""
    return bool(_LOG.fullmatch(name))


def is_tier_file(name: str, index: str) -> bool:
    """Whether *name*, a path below the tier's directory, is one of a tier's files."""
    if name == index or is_log(name):
        return True
    summary = _SUMMARY.fullmatch(name) and ".." not in name
    return bool(summary) and not _RESERVED.match(name.rpartition("/")[2])


def file_place(index: TierPlace, name: str) -> TierPlace:
    """The file *name* beside the *index*, shown as the model would be told it."""
    shown = f"{index.shown_as.rpartition('/')[0]}/{name}"
    below = (*index.below[:-1], *name.split("/"))
    return index._replace(below=below, shown_as=shown)


def names_of(index: TierPlace) -> Iterator[str]:
    """Names of the files that are there: the index, then logs, then summaries."""
    if store.exists(index.path):
        yield index.below[-1]
    yield from sorted(filter(is_log, store.names_in(index.directory)))
    summaries = os.path.join(index.directory, _SUMMARIES)
    for name in sorted(store.names_in(summaries)):
        if is_tier_file(f"{_SUMMARIES}/{name}", index.below[-1]):
            yield f"{_SUMMARIES}/{name}"


def read_file(place: TierPlace) -> bytes | None:
    """The file's bytes, None where there is none.

    Raises:
        MemoryFileError: It must not be read, or could not be.
    """
    try:
        return store.read_bytes(place, MAX_FILE_BYTES)
    except FileNotFoundError:
        return None
    except FileRefusedError:
        raise
    except OSError as error:
        problem = f"could not be read: {(error.strerror or str(error)).lower()}"
        raise MemoryFileError(place.path, problem) from error


def place_at(path: str) -> TierPlace:
    """The one file that a person names; links are followed as far as they are theirs."""
    directory, name = os.path.split(path)
    return TierPlace("user", directory, (name,), path, confined=False)


def places_there(path: str, index: str) -> list[TierPlace]:
    """The indexes and daily logs of another workspace, memory directory, or one file.

    No link leads out of what was named. Shown as paths that begin with *path*.

    Raises:
        MemoryFileError: There is no memory at *path*.
    """
    if not os.path.isdir(path):
        if not store.exists(path):
            raise MemoryFileError(path, "does not exist")
        return [place_at(path)]
    for below in (tuple(PROJECT_MEMORY_DIR.split("/")), ()):
        shown = os.path.join(path, *below, index)
        there = TierPlace("project", path, (*below, index), shown, confined=True)
        names = [name for name in names_of(there) if "/" not in name]
        if names:
            return [
                file_place(there, name)._replace(
                    shown_as=os.path.join(path, *below, name)
                )
                for name in names
            ]
    problem = f"holds no memory: neither {PROJECT_MEMORY_DIR} nor {index}"
    raise MemoryFileError(path, problem, "Name another checkout or a memory directory.")
