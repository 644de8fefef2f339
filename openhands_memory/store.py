"""The one door to disk for reading.

Touches disk, at the places it is given. Reads a bounded number of bytes of what `opening`
lets through. It has no idea of what the bytes mean, and it creates nothing.
"""

import os
import re
import stat
from collections.abc import Iterator, Set
from typing import Final, NamedTuple

from openhands_memory.errors import FileRefusedError
from openhands_memory.layout import TierPlace
from openhands_memory.opening import is_below, open_index

__all__ = [
    "FileStat",
    "Tail",
    "exists",
    "files_below",
    "leads_out",
    "list_names",
    "main_checkout",
    "names_in",
    "read_all",
    "read_bytes",
    "read_lines",
    "read_one_line",
    "read_tail",
    "real_path",
    "stat_file",
    "with_parents",
]


class FileStat(NamedTuple):
    """What the open descriptor said: sizes in bytes, times in nanoseconds."""

    size: int
    modified_ns: int
    mode: int
    links: int
    identity: tuple[int, int]


class Tail(NamedTuple):
    """The end of a file.

    Attributes: *data* are its last bytes, from an even offset and more than asked for,
    so that the first of them tells whether the rest begins a line; *head* are its first
    four bytes; *whole* says that *data* is the whole file.
    """

    data: bytes
    head: bytes
    whole: bool
    stat: FileStat


def read_tail(place: TierPlace, limit: int) -> Tail:
    """Read the last *limit* bytes of the index at *place*.

    Raises:
        FileNotFoundError: There is none, nor a link with that name.
        FileRefusedError: There is something that must not be read.
        OSError: It could not be read.
    """
    descriptor = open_index(place)
    try:
        found = _stat(descriptor)
        start = max(0, found.size - limit - 1) & ~1
        data = _read(descriptor, start, found.size - start)
        head = _read(descriptor, 0, 4) if start else data[:4]
    finally:
        os.close(descriptor)
    return Tail(data, head, whole=not start, stat=found)


def read_all(place: TierPlace, limit: int, *, seen: FileStat) -> bytes | None:
    """Read what the file held when it was *seen*.

    None if that is more than *limit* bytes, or the file changed since in another way
    than by growing. Whether what was there is there still is for the caller to see.

    Raises:
        OSError: As `read_tail` does.
    """
    if seen.size > limit:
        return None
    descriptor = open_index(place)
    try:
        found = _stat(descriptor)
        if found != seen and found.size <= seen.size:
            return None
        return _read(descriptor, 0, seen.size)
    finally:
        os.close(descriptor)


def read_bytes(place: TierPlace, limit: int) -> bytes:
    """The whole file, which must not be larger than *limit* bytes.

    Raises:
        FileNotFoundError: There is none.
        FileRefusedError: There is something that must not be read, or too large.
        OSError: It could not be read.
    """
    tail = read_tail(place, limit)
    if tail.stat.size > limit:
        problem = f"is too large ({tail.stat.size:,} bytes; the limit is {limit:,})"
        raise FileRefusedError(place.path, problem)
    return tail.data


def read_lines(place: TierPlace, *, limit: int) -> Iterator[bytes | None]:
    """The lines of a file of any size, each with its end, which is a line feed.

    None stands for one of more than *limit* bytes; no more than that is held at once.

    Raises:
        FileNotFoundError: There is none. As the following, when the first is asked for.
        FileRefusedError: There is something that must not be read.
        OSError: It could not be read.
    """
    descriptor = open_index(place)
    try:
        yield from _lines(descriptor, limit)
    finally:
        os.close(descriptor)


def leads_out(place: TierPlace) -> bool:
    """Whether a link takes the tier's directory out of the base it must stay below."""
    directory = os.path.realpath(place.directory)
    return place.confined and not is_below(directory, os.path.realpath(place.base))


def stat_file(place: TierPlace) -> FileStat:
    """What the file at *place* is, opened as for reading.

    Raises:
        FileNotFoundError: There is none.
        FileRefusedError: There is something that must not be read.
        OSError: It could not be opened.
    """
    descriptor = open_index(place)
    try:
        return _stat(descriptor)
    finally:
        os.close(descriptor)


def list_names(beside: TierPlace) -> list[str]:
    """All names in the directory that *beside* stands in.

    Raises:
        FileNotFoundError: There is no such directory.
        FileRefusedError: A link leads out of the base that it must stay below.
        OSError: It could not be listed.
    """
    if leads_out(beside):
        raise FileRefusedError(beside.directory, "a link leads outside the workspace")
    return os.listdir(beside.directory)


def names_in(directory: str, limit: int = 10_000) -> list[str]:
    """The first *limit* names in *directory*; none if it cannot be listed."""
    names: list[str] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) >= limit:
                    break
    except (OSError, ValueError):
        return []
    return names


def files_below(
    directory: str, *, skip: Set[str], limit: int = 10_000
) -> Iterator[str]:
    """Paths of what is no directory below *directory*, in order, at most *limit* names.

    No link to a directory is followed; directories whose names are in *skip* are left
    out.
    """
    todo, seen = [directory], 0
    while todo and seen < limit:
        here = todo.pop()
        below: list[str] = []
        for name in sorted(names_in(here, limit - seen)):
            seen += 1
            path = os.path.join(here, name)
            if os.path.isdir(path) and not os.path.islink(path):
                below += [path] if name not in skip else []
            elif not os.path.isdir(path):
                yield path
        todo.extend(reversed(below))


def _read(descriptor: int, start: int, size: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    parts: list[bytes] = []
    while size > 0 and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


#: Bytes that are read at once where a file is read from its beginning.
_CHUNK: Final = 256 * 1024
#: A line, or the beginning of one; `splitlines` would end it at a carriage return too.
_LINE: Final = rb"[^\n]*\n|[^\n]+"


def _lines(descriptor: int, limit: int) -> Iterator[bytes | None]:
    parts: list[bytes] = []  # of a line whose end was not seen yet
    size = 0
    while chunk := os.read(descriptor, _CHUNK):
        for part in re.findall(_LINE, chunk):
            size += len(part)
            if size <= limit:
                parts.append(part)
            if part.endswith(b"\n"):
                yield b"".join(parts) if size <= limit else None
                parts, size = [], 0
    if size:
        yield b"".join(parts) if size <= limit else None


def _stat(descriptor: int) -> FileStat:
    found = os.fstat(descriptor)
    return FileStat(
        size=found.st_size,
        modified_ns=found.st_mtime_ns,
        mode=stat.S_IMODE(found.st_mode),
        links=found.st_nlink,
        identity=(found.st_dev, found.st_ino),
    )


# --- Looking around ---------------------------------------------------------------------

#: A linked worktree's ``.git`` is one line of text (gitrepository-layout(5)).
_GIT_LINK: Final = r"gitdir: (.+)[/\\]\.git[/\\]worktrees[/\\][^/\\]+\n?\Z"


def exists(path: str) -> bool:
    """Whether there is anything at *path*, be it a link to nowhere."""
    return os.path.lexists(path)


def real_path(path: str) -> str:
    """*path* without any link in it; as it is where it cannot be followed."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # no current directory, or no name a file can have
        return path


def read_one_line(place: TierPlace, limit: int) -> str | None:
    """The file's text if it is a single line of at most *limit* bytes, else None."""
    try:
        tail = read_tail(place, limit)
    except OSError:
        return None
    if not tail.whole or len(tail.data) > limit:
        return None
    text = tail.data.decode("utf-8", "replace").strip()
    return text if text and "\n" not in text else None


def main_checkout(workspace: str) -> str | None:
    """The main checkout if *workspace* stands in a linked git worktree, else None."""
    for root in with_parents(workspace):
        if exists(os.path.join(root, ".git")):
            place = TierPlace("project", root, (".git",), "", confined=True)
            link = re.match(_GIT_LINK, read_one_line(place, 4096) or "")
            return os.path.normpath(os.path.join(root, link[1])) if link else None
    return None


def with_parents(directory: str) -> Iterator[str]:
    """*directory* and every directory above it, the nearest first, none by a link."""
    directory = real_path(directory)
    yield directory
    while (above := os.path.dirname(directory)) != directory:
        directory = above
        yield directory
