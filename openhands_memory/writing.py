"""The way out to disk: whole files or nothing, one writer at a time.

Touches disk, at the places it is given. What is replaced stays complete until the new
file is: temporary file in the same directory, fsync, rename, fsync of the directory. The
lock is on the directory itself, never on a file that is replaced: the kernel lets it go
when a process dies, and it leaves nothing behind. People and agents' tools take no lock,
so a file is compared once more before it is replaced; an editor that saves an older copy
after that cannot be stopped.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Generator
from time import monotonic, sleep
from typing import Final, NamedTuple

from openhands_memory.errors import MemoryFileError
from openhands_memory.layout import INDEX_NAME, SANDBOX_INDEX_NAME, TierPlace
from openhands_memory.opening import READING

try:
    import fcntl
except ImportError:  # Windows: writers of ours are not kept apart there
    fcntl = None

__all__ = [
    "BeforeWrite",
    "Written",
    "append_private_record",
    "append_record",
    "change_file",
    "create_file",
    "make_directory",
    "remove_file",
    "replace_private_file",
]

#: Directories are walked by their descriptors; Windows has none.
_HAS_DESCRIPTORS: Final = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")

#: The user tier is nobody else's business; the project tier is as the repository is.
_PRIVATE_DIRECTORY, _PRIVATE_FILE = 0o700, 0o600
_SHARED_DIRECTORY, _SHARED_FILE = 0o777, 0o666

_TEMPORARY_START: Final = ".openhands-memory-"
_TEMPORARY_END: Final = ".tmp"

#: Seconds that a lock is waited for, and between two looks at it.
_PATIENCE_SECONDS: Final = 10
_PAUSE_SECONDS: Final = 0.0005

#: How often a change is applied anew to a file that somebody else keeps changing.
_ATTEMPTS: Final = 20

#: Bytes of the largest file that is changed; an index is some kilobytes.
_SIZE_LIMIT: Final = 64 * 1024 * 1024

_APPENDING: Final = (
    os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


class Written(NamedTuple):
    """What a write found and what it left; None where there was or is no file."""

    before: bytes | None
    after: bytes | None


#: Called under the lock with what will be written, before it is.
BeforeWrite = Callable[[Written], None]


def change_file(
    place: TierPlace,
    change: Callable[[bytes | None], bytes | None],
    *,
    before_write: BeforeWrite = lambda _: None,
) -> Written:
    """Replace the file at *place* by what *change* makes of its bytes.

    *change* gets None where there is no file, and returns None to remove it; it is
    called again with the new bytes when somebody else changes the file meanwhile.
    Nothing is written if it changes nothing.

    Raises:
        MemoryFileError: The file could not be written, or must not be; it is as it was.
    """
    place = _real_place(place)
    name = place.below[-1]
    with _explained(place.path), _locked_directory(place) as parent:
        for _ in range(_ATTEMPTS):
            before, mode = _read(place, parent)
            written = Written(before, change(before))
            if written.after == before:
                return written
            before_write(written)
            if written.after is None:
                if _read(place, parent)[0] != before:
                    continue
                os.unlink(name, dir_fd=parent)
            else:
                temporary = _write_temporary(parent, written.after, mode)
                try:
                    if _read(place, parent)[0] != before:
                        continue
                    os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
                finally:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(temporary, dir_fd=parent)
            os.fsync(parent)
            return written
    problem = f"somebody else changed it {_ATTEMPTS} times while it was written"
    raise MemoryFileError(place.path, problem, "Try again.")


def append_record(
    place: TierPlace, record: bytes, *, before_write: BeforeWrite = lambda _: None
) -> Written:
    """Append the whole lines of *record* with one write, never moving what is there.

    A last line without its end is given one first, so that no record is torn.

    Raises:
        MemoryFileError: It could not be appended.
    """
    place = _real_place(place)
    with _explained(place.path), _locked_directory(place) as parent:
        before, mode = _read(place, parent)
        if before and not before.endswith(b"\n"):
            record = b"\n" + record
        written = Written(before, (before or b"") + record)
        before_write(written)
        name, flags = place.below[-1], _APPENDING | os.O_WRONLY
        descriptor = os.open(name, flags, mode, dir_fd=parent)
        try:
            _append(descriptor, record, len(before or b""))
        finally:
            os.close(descriptor)
        if before is None:
            os.fsync(parent)
        return written


def append_private_record(place: TierPlace, record: bytes) -> None:
    """Append as `append_record` does to a file of any size, which is not read.

    The file is made for the user alone, in whichever tier. A link is not followed.

    Raises:
        MemoryFileError: It could not be appended.
    """
    name = place.below[-1]
    with _explained(place.path), _locked_directory(place) as parent:
        is_new = not _exists(name, parent)
        flags = _APPENDING | os.O_RDWR | READING
        try:
            descriptor = os.open(name, flags, _PRIVATE_FILE, dir_fd=parent)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise MemoryFileError(place.path, "is a link", "Move it away.") from None
        try:
            found = os.fstat(descriptor)
            _refuse(place, found)
            size = found.st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                record = b"\n" + record
            _append(descriptor, record, size)
        finally:
            os.close(descriptor)
        if is_new:
            os.fsync(parent)


def make_directory(place: TierPlace) -> None:
    """Make the directory of *place*, if it is missing.

    Raises:
        MemoryFileError: There is none that may be written to; the message says why.
    """
    with _explained(place.path), _locked_directory(place):
        pass


def create_file(
    place: TierPlace, data: bytes, *, before_write: BeforeWrite = lambda _: None
) -> bool:
    """Create the file at *place* with *data*; False if there is something already.

    Missing directories are created, in the user tier for the user alone.

    Raises:
        MemoryFileError: It could not be created; the message says why.
    """
    with _explained(place.path), _locked_directory(place) as parent:
        name = place.below[-1]
        if _exists(name, parent):
            return False
        before_write(Written(None, data))
        temporary = _write_temporary(parent, data, _new_mode(place))
        try:
            # A link is made only where nothing is, so that no file is ever overwritten.
            os.link(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary, dir_fd=parent)
        os.fsync(parent)
    return True


def remove_file(place: TierPlace) -> bool:
    """Remove the file at *place*, of any size and unread; False if there is none.

    Of a link only the link goes.

    Raises:
        MemoryFileError: It could not be removed, or must not be.
    """
    if not os.path.lexists(place.path):
        return False
    name = place.below[-1]
    with _explained(place.path), _locked_directory(place) as parent:
        try:
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not stat.S_ISLNK(found.st_mode):
            _refuse(place, found)
        os.unlink(name, dir_fd=parent)
        os.fsync(parent)
    return True


def replace_private_file(path: str, data: bytes) -> None:
    """Write *data* to *path*, which belongs to the user alone.

    Raises:
        MemoryFileError: It could not be written; the old file is as it was.
    """
    directory, name = os.path.split(path)
    place = TierPlace("user", directory, (name,), "", confined=False)
    change_file(place, lambda _: data)


# --- Errors -----------------------------------------------------------------------------


@contextlib.contextmanager
def _explained(path: str) -> Generator[None]:
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


# --- Directories ------------------------------------------------------------------------


def _real_place(place: TierPlace) -> TierPlace:
    """Where *place* really is, if the index is a link: the link stays one.

    In the project tier only an index may be one, to another Markdown file below the
    workspace: whoever wrote the repository must not choose what we overwrite. The real
    path is then walked without following any.
    """
    if not os.path.islink(place.path):
        return place
    real = os.path.realpath(place.path)
    if not place.confined:
        directory, name = os.path.split(real)
        return place._replace(base=directory, below=(name,))
    base = os.path.realpath(place.base)
    start = os.path.join(base, "")
    if not real.startswith(start):
        problem = "is a link that leads outside the workspace"
        raise MemoryFileError(place.path, problem, "Replace it by a file.")
    below = tuple(real[len(start) :].split(os.sep))
    if place.below[-1] not in _MAY_BE_LINKS or not _is_markdown(below):
        problem = f"is a link to {'/'.join(below)}, which is not written through it"
        raise MemoryFileError(place.path, problem, "Replace it by a file.")
    return place._replace(base=base, below=below)


_MAY_BE_LINKS: Final = (INDEX_NAME, SANDBOX_INDEX_NAME)


def _is_markdown(below: tuple[str, ...]) -> bool:
    return below[-1].endswith(".md") and ".git" not in below


@contextlib.contextmanager
def _locked_directory(place: TierPlace) -> Generator[int]:
    """A descriptor of the directory of *place*, locked; created where it is missing."""
    if not _HAS_DESCRIPTORS:
        problem = "cannot be written: this system cannot open a file below a directory"
        raise MemoryFileError(place.path, problem, "Edit it by hand, or use WSL.")
    private = not place.confined
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
        _lock(here, place)
        _sweep(here)
        yield here


def _lock(directory: int, place: TierPlace) -> None:
    """Lock *directory*, which others do for milliseconds.

    Raises:
        MemoryFileError: Somebody does it for longer, a stopped process perhaps.
    """
    if fcntl is None:
        return
    until = monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() >= until:
                problem = (
                    f"its directory is locked by a process for {_PATIENCE_SECONDS} s"
                )
                remedy = f"fuser -v {place.directory} may tell which."
                raise MemoryFileError(place.path, problem, remedy) from None
            sleep(_PAUSE_SECONDS)
        else:
            return


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


def _sweep(parent: int) -> None:
    """Remove temporary files of writers that died: the living ones hold the lock."""
    for name in os.listdir(parent):
        if name.startswith(_TEMPORARY_START) and name.endswith(_TEMPORARY_END):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=parent)


# --- Files ------------------------------------------------------------------------------


def _new_mode(place: TierPlace) -> int:
    return _SHARED_FILE if place.confined else _PRIVATE_FILE


def _exists(name: str, parent: int) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _read(place: TierPlace, parent: int) -> tuple[bytes | None, int]:
    """The file's bytes and mode; None and the mode of a new one where there is none."""
    name = place.below[-1]
    try:
        descriptor = os.open(name, READING | os.O_NOFOLLOW, dir_fd=parent)
    except FileNotFoundError:
        return None, _new_mode(place)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        _refuse(place, found)
        if found.st_size > _SIZE_LIMIT:
            problem = f"is too large ({found.st_size:,} bytes)"
            raise MemoryFileError(place.path, problem)
        return file.read(_SIZE_LIMIT), stat.S_IMODE(found.st_mode)


def _refuse(place: TierPlace, found: os.stat_result) -> None:
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISREG(found.st_mode):
        raise MemoryFileError(place.path, "is not a regular file", "Move it away.")
    # A rename needs no permission on the file, so what its owner wants is asked here.
    if not mode & 0o222 or not os.access(place.path, os.W_OK):
        problem = f"is read-only (mode {mode:04o}, owner {found.st_uid})"
        remedy = f"Make it writable, with chmod u+w {place.path} if it is yours."
        raise MemoryFileError(place.path, problem, remedy)


def _append(descriptor: int, record: bytes, size: int) -> None:
    """Write *record* at once to the end of a file of *size* bytes, or not at all."""
    written = os.write(descriptor, record)
    if written != len(record):
        # The disk is full: take the torn record back.
        os.truncate(descriptor, size)
        raise OSError(None, f"only {written} of {len(record)} bytes fitted")
    os.fsync(descriptor)


def _write_temporary(parent: int, data: bytes, mode: int) -> str:
    name = f"{_TEMPORARY_START}{secrets.token_hex(8)}{_TEMPORARY_END}"
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
