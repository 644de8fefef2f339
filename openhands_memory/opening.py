"""A file of a tier, opened so that nothing else is.

Touches disk, at the places it is given. Opens without ever blocking, refuses what is no
regular file, what leads out of the tier and what exists to hold secrets. All of reading
goes through `open_index`; what is done with the descriptor is the caller's.
"""

import errno
import os
import re
import stat
from collections import deque
from contextlib import ExitStack
from typing import Final

from openhands_memory.errors import FileRefusedError
from openhands_memory.layout import TierPlace

__all__ = ["READING", "is_below", "open_index"]

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

#: Trees whose files are made up by the kernel when they are read.
_KERNEL_TREES: Final = ("/proc", "/sys", "/dev")

#: Files and directories that exist to hold secrets: a link to one is not followed.
_PRIVATE_FILE: Final = (
    r"(?i)"
    r".*\.env|\.env\..*|\.envrc|.*\.(pem|key|p12|pfx|kdbx)|id_.*|\.netrc|\.npmrc|\.pypirc"
    r"|\.pgpass|\.git-credentials|\.htpasswd|(credentials|secrets)(\..*)?|shadow"
    r"|service-account.*\.json|\.vault-token|.*\.tfstate(\..*)?"
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


def open_index(place: TierPlace) -> int:
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
    try:
        found = os.stat(path)
    except FileNotFoundError:
        if any(os.path.islink(p) and not os.path.exists(p) for p in parts):
            raise FileRefusedError(path, _DANGLING) from None
        raise
    _refuse_irregular(place, found)
    linked = any(map(os.path.islink, parts[place.confined :]))
    if linked or place.confined:
        path = os.path.realpath(path)
        _refuse_foreign(place, path, found, linked=linked)
    return _open_file(place, path, expect=found)


def _refuse_foreign(
    place: TierPlace, real: str, found: os.stat_result, *, linked: bool
) -> None:
    """Refuse a link's target that is not the tier's owner's own ordinary file."""
    if place.confined and not is_below(real, os.path.realpath(place.base)):
        raise FileRefusedError(place.path, _LEADS_OUT)
    if linked:
        *directories, name = real.split(os.sep)
        _refuse_secret(place, name)
        for part in directories:
            _refuse_secret(place, part, directory=True)
    if place.confined:
        return
    for tree in _KERNEL_TREES:
        if is_below(real, tree):
            raise FileRefusedError(place.path, f"links into {tree}")
    if hasattr(os, "geteuid"):
        user = os.geteuid()
        if found.st_uid != user or os.stat(os.path.dirname(real)).st_uid not in (
            user,
            0,
        ):
            raise FileRefusedError(place.path, "links to a file of another user")


def is_below(path: str, directory: str) -> bool:
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
