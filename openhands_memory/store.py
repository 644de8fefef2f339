"""The one door to disk.

Touches disk, at the places it is given. Opens without ever blocking, refuses what is no
regular file or leads out of the tier, reads a bounded number of bytes. It has no idea
of what the bytes mean, and it creates nothing on the way to reading.
"""

import errno
import os
import re
import stat
from collections import deque
from collections.abc import Iterator, Set
from contextlib import ExitStack
from typing import Final, NamedTuple

from openhands_memory.errors import FileRefusedError
from openhands_memory.layout import TierPlace

__all__ = [
    "FileStat",
    "Tail",
    "exists",
    "files_below",
    "leads_out",
    "main_checkout",
    "names_in",
    "read_all",
    "read_bytes",
    "read_one_line",
    "read_tail",
    "with_parents",
]

#: On Linux a directory is walked without the right to list it, as by its path.
_DIRECTORY: Final = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC: Final = getattr(os, "O_CLOEXEC", 0)
#: Never wait for a writer, never become the controlling terminal's process.
READING: Final = (
    os.O_RDONLY
    | _CLOEXEC
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_WALKS_DESCRIPTORS: Final = os.open in os.supports_dir_fd and bool(_NO_FOLLOW)

#: As many links as Linux follows in one path (path_resolution(7)).
_MAX_LINKS: Final = 40

#: How many tails further up a blank end is followed; bounded, so that time stays so.
_BLANK_TAILS: Final = 3
#: Blanks of UTF-8, and of UTF-16 in either order.
_BLANK: Final = b" \t\r\n\v\f\0"

#: Trees whose files are made up by the kernel when they are read.
_KERNEL_TREES: Final = ("/proc", "/sys", "/dev")

#: Files and directories that exist to hold secrets: a link to one is not followed.
_PRIVATE_FILE: Final = (
    r"(?i)"
    r"\.env(\..*)?|\.envrc|.*\.(pem|key|p12|pfx|kdbx)|id_.*|\.netrc|\.npmrc|\.pypirc|\.pgpass"
    r"|\.git-credentials|\.htpasswd|credentials(\..*)?|shadow"
)
_PRIVATE_DIRECTORIES: Final = frozenset(
    {".aws", ".docker", ".git", ".gnupg", ".kube", ".ssh"}
)

_KINDS: Final = {
    stat.S_IFDIR: "is a directory",
    stat.S_IFIFO: "is not a regular file (a FIFO)",
    stat.S_IFSOCK: "is not a regular file (a socket)",
    stat.S_IFCHR: "is not a regular file (a device)",
    stat.S_IFBLK: "is not a regular file (a device)",
}


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
    """Read the last *limit* bytes of the index at *place*, more if they end in blanks.

    Raises:
        FileNotFoundError: There is none, nor a link with that name.
        FileRefusedError: There is something that must not be read.
        OSError: It could not be read.
    """
    descriptor = _open(place)
    try:
        found = _stat(descriptor)
        start = _even(found.size - limit - 1)
        data = _read(descriptor, start, found.size - start)
        for _ in range(_BLANK_TAILS):
            if not start or len(data.rstrip(_BLANK)) > limit * 3 // 4:
                break
            above = _even(start - limit)
            data = _read(descriptor, above, start - above) + data
            start = above
        head = _read(descriptor, 0, 4) if start else data[:4]
    finally:
        os.close(descriptor)
    return Tail(data, head, whole=not start, stat=found)


def _even(offset: int) -> int:
    return max(0, offset) & ~1


def read_all(place: TierPlace, limit: int, *, identity: FileStat) -> bytes | None:
    """Read the whole file, or None if it is larger than *limit* or no longer the same.

    Raises:
        OSError: As `read_tail` does.
    """
    descriptor = _open(place)
    try:
        found = _stat(descriptor)
        if found != identity or found.size > limit:
            return None
        return _read(descriptor, 0, found.size)
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


def leads_out(place: TierPlace) -> bool:
    """Whether a link takes the tier's directory out of the base it must stay below."""
    directory = os.path.realpath(place.directory)
    return place.confined and not _is_below(directory, os.path.realpath(place.base))


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


def _stat(descriptor: int) -> FileStat:
    found = os.fstat(descriptor)
    return FileStat(
        size=found.st_size,
        modified_ns=found.st_mtime_ns,
        mode=stat.S_IMODE(found.st_mode),
        links=found.st_nlink,
        identity=(found.st_dev, found.st_ino),
    )


# --- Opening ----------------------------------------------------------------------------


def _open(place: TierPlace) -> int:
    """Open the index for reading and return its descriptor."""
    try:
        if place.confined and _WALKS_DESCRIPTORS:
            return _open_walking(place)
        return _open_by_path(place)
    except NotADirectoryError:
        problem = "a part of its path is not a directory"
        raise FileRefusedError(place.path, problem) from None
    except ValueError:  # NUL, or what the file system's encoding does not have
        problem = "its path has a character that no file name can have"
        raise FileRefusedError(place.path, problem) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            problem = "is a loop of links, or was made a link while it was opened"
            raise FileRefusedError(place.path, problem) from None
        raise


def _open_walking(place: TierPlace) -> int:
    """Walk from the base part by part, each opened below the last, links read by hand.

    Every part is opened without following links, so a directory or file that is swapped
    while we walk can only fail, never lead out.
    """
    with ExitStack() as closing:
        opened = [_open_part(closing, place.base, None)]
        todo = deque(place.below)
        links = 0
        # Parts that are left to walk once those that links put in are gone.
        given = len(todo)
        while todo:
            part = todo.popleft()
            if part in ("", "."):
                continue
            if part == "..":
                if len(opened) == 1:
                    raise FileRefusedError(place.path, _LEADS_OUT)
                opened.pop()
                continue
            here = opened[-1]
            try:
                found = os.stat(part, dir_fd=here, follow_symlinks=False)
            except FileNotFoundError:
                if links and len(todo) >= given:
                    raise FileRefusedError(place.path, _DANGLING) from None
                raise
            leaf = not any(part not in ("", ".") for part in todo)
            if links:
                _refuse_secret(place, part, directory=not leaf)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                if links > _MAX_LINKS:
                    raise FileRefusedError(place.path, "is a loop of links")
                target = os.readlink(part, dir_fd=here)
                if target.startswith("/"):
                    del opened[1:]
                    target = _below_base(place, target)
                given = min(given, len(todo))
                todo.extendleft(reversed(target.split("/")))
                continue
            if leaf:
                _refuse_irregular(place, found)
                return _open_file(place, part, dir_fd=here)
            opened.append(_open_part(closing, part, here))
    raise FileRefusedError(place.path, _KINDS[stat.S_IFDIR])


_LEADS_OUT: Final = "a link leads outside the workspace"
_DANGLING: Final = "is a dangling link"


def _open_part(closing: ExitStack, part: str, dir_fd: int | None) -> int:
    # The base itself may be reached by links: it is trusted as given.
    follow = 0 if dir_fd is None else _NO_FOLLOW
    descriptor = os.open(part, _DIRECTORY | _CLOEXEC | follow, dir_fd=dir_fd)
    closing.callback(os.close, descriptor)
    return descriptor


def _below_base(place: TierPlace, target: str) -> str:
    for base in (os.path.abspath(place.base), os.path.realpath(place.base)):
        if target.startswith(base.rstrip("/") + "/"):
            return target[len(base) :]
    raise FileRefusedError(place.path, _LEADS_OUT)


def _open_by_path(place: TierPlace) -> int:
    """Open with the system's own link following, then compare what was opened.

    For the user tier, whose links are the user's own, and where the system cannot walk
    descriptors (Windows): there a race with a hostile writer is not excluded.
    """
    parts = [place.base]
    for part in place.below:
        parts.append(os.path.join(parts[-1], part))
    path = parts[-1]
    linked = any(map(os.path.islink, parts[place.confined :]))
    try:
        found = os.stat(path)
    except FileNotFoundError:
        if linked and any(os.path.islink(p) and not os.path.exists(p) for p in parts):
            raise FileRefusedError(path, _DANGLING) from None
        raise
    _refuse_irregular(place, found)
    if linked or place.confined:
        path = os.path.realpath(path)
        _refuse_foreign(place, path, found, linked=linked)
    return _open_file(place, path, expect=found)


def _refuse_foreign(
    place: TierPlace, real: str, found: os.stat_result, *, linked: bool
) -> None:
    """Refuse a link's target that is not the tier's owner's own ordinary file."""
    if place.confined and not _is_below(real, os.path.realpath(place.base)):
        raise FileRefusedError(place.path, _LEADS_OUT)
    if linked:
        *directories, name = real.split(os.sep)
        _refuse_secret(place, name)
        for part in directories:
            _refuse_secret(place, part, directory=True)
    if place.confined:
        return
    for tree in _KERNEL_TREES:
        if _is_below(real, tree):
            raise FileRefusedError(place.path, f"links into {tree}")
    if hasattr(os, "geteuid"):
        user = os.geteuid()
        if found.st_uid != user or os.stat(os.path.dirname(real)).st_uid not in (
            user,
            0,
        ):
            raise FileRefusedError(place.path, "links to a file of another user")


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(os.path.join(directory, ""))


def _refuse_secret(place: TierPlace, part: str, *, directory: bool = False) -> None:
    if directory:
        secret = part.casefold() in _PRIVATE_DIRECTORIES
    else:
        secret = bool(re.fullmatch(_PRIVATE_FILE, part))
    if secret:
        raise FileRefusedError(place.path, "a link leads to a file of secrets")


def _refuse_irregular(place: TierPlace, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "is not a regular file")
        raise FileRefusedError(place.path, kind)


def _open_file(
    place: TierPlace,
    part: str,
    *,
    dir_fd: int | None = None,
    expect: os.stat_result | None = None,
) -> int:
    descriptor = os.open(part, READING | _NO_FOLLOW, dir_fd=dir_fd)
    try:
        found = os.fstat(descriptor)
        _refuse_irregular(place, found)
        if expect and (found.st_dev, found.st_ino) != (expect.st_dev, expect.st_ino):
            raise FileRefusedError(place.path, "was replaced while it was opened")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


# --- Looking around ---------------------------------------------------------------------

#: A linked worktree's ``.git`` is one line of text (gitrepository-layout(5)).
_GIT_LINK: Final = r"gitdir: (.+)[/\\]\.git[/\\]worktrees[/\\][^/\\]+\n?\Z"


def exists(path: str) -> bool:
    """Whether there is anything at *path*, be it a link to nowhere."""
    return os.path.lexists(path)


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
    """*directory* and every directory above it, the nearest first."""
    yield directory
    while (above := os.path.dirname(directory)) != directory:
        directory = above
        yield directory
