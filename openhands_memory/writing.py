"""The way out to disk: whole files or nothing.

Touches disk, at the places it is given. A file appears complete or not at all, and what
it replaces stays until then: temporary file in the same directory, fsync, rename, fsync
of the directory. Directories are made one by one, so that each gets its mode.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import Final

from openhands_memory.errors import MemoryFileError
from openhands_memory.layout import TierPlace

__all__ = ["create_file", "replace_private_file"]

#: The user tier is nobody else's business; the project tier is as the repository is.
_PRIVATE_DIRECTORY, _PRIVATE_FILE = 0o700, 0o600
_SHARED_DIRECTORY, _SHARED_FILE = 0o777, 0o666

_TEMPORARY: Final = ".openhands-memory-{}.tmp"


def create_file(place: TierPlace, data: bytes) -> bool:
    """Create the file at *place* with *data*; False if there is something already.

    Missing directories are created, in the user tier for the user alone.

    Raises:
        MemoryFileError: It could not be created; the message says why.
    """
    private = not place.confined
    with _explained(place.path), _directory(place, private=private) as parent:
        mode = _PRIVATE_FILE if private else _SHARED_FILE
        temporary = _write_temporary(parent, data, mode)
        try:
            # A link is made only where nothing is, so that no file is ever overwritten.
            os.link(temporary, place.below[-1], src_dir_fd=parent, dst_dir_fd=parent)
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary, dir_fd=parent)
        os.fsync(parent)
    return True


def replace_private_file(path: str, data: bytes) -> None:
    """Write *data* to *path*, which belongs to the user alone.

    Raises:
        MemoryFileError: It could not be written; the old file is as it was.
    """
    directory, name = os.path.split(path)
    place = TierPlace("user", directory, (name,), "", confined=False)
    with _explained(path), _directory(place, private=True) as parent:
        temporary = _write_temporary(parent, data, _PRIVATE_FILE)
        try:
            os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:
            os.unlink(temporary, dir_fd=parent)
            raise
        os.fsync(parent)


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except MemoryFileError:
        raise
    except OSError as error:
        problem = f"could not be written: {(error.strerror or str(error)).lower()}"
        raise MemoryFileError(path, problem, _remedy(path)) from error


def _remedy(path: str) -> str:
    """Who may write where, as far up as something exists."""
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    try:
        found = os.stat(path)
    except OSError:
        return f"Check {path}."
    owner = f"mode {found.st_mode & 0o7777:04o}, owner {found.st_uid}"
    return f"Check that {path} ({owner}) can be written and its disk has room."


@contextlib.contextmanager
def _directory(place: TierPlace, *, private: bool) -> Iterator[int]:
    """A descriptor of the directory of *place*, which is created where it is missing."""
    mode = _PRIVATE_DIRECTORY if private else _SHARED_DIRECTORY
    with contextlib.ExitStack() as closing:
        _make_base(place.base, mode)
        here = _open_directory(closing, place.base, None, follow=True)
        for part in place.below[:-1]:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, mode, dir_fd=here)
                os.fsync(here)
            try:
                here = _open_directory(closing, part, here, follow=private)
            except NotADirectoryError:
                problem = (
                    f"{part} is a link or no directory, so nothing is written there"
                )
                raise MemoryFileError(place.path, problem) from None
        yield here


def _make_base(base: str, mode: int) -> None:
    """Make *base* and what is missing above it, each with *mode*.

    ``os.makedirs`` gives its mode to the last one only.
    """
    missing: list[str] = []
    while not os.path.isdir(base) and os.path.dirname(base) != base:
        missing.append(base)
        base = os.path.dirname(base)
    for directory in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory, mode)


def _open_directory(
    closing: contextlib.ExitStack, path: str, dir_fd: int | None, *, follow: bool
) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    if not follow:
        flags |= os.O_NOFOLLOW
    descriptor = os.open(path, flags, dir_fd=dir_fd)
    closing.callback(os.close, descriptor)
    return descriptor


def _write_temporary(parent: int, data: bytes, mode: int) -> str:
    name = _TEMPORARY.format(secrets.token_hex(8))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, mode, dir_fd=parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        os.unlink(name, dir_fd=parent)
        raise
    return name
