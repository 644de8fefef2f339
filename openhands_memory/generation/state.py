"""What generation keeps for itself: the ledger, a proposal, what was refused, a lock.

Touches disk, below the user's state directory only, in one directory for each memory
directory. All of it can be deleted at any time.
"""

import base64
import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Generator, Mapping
from datetime import datetime
from time import monotonic, sleep
from typing import Any, Final, NamedTuple, cast

from openhands_memory import trust
from openhands_memory.errors import MemoryToolError
from openhands_memory.generation.ledger import Ledger, parse_ledger, render_ledger
from openhands_memory.writing import Written, replace_private_file

try:
    import fcntl
except ImportError:  # Windows: two generating processes are not kept apart there
    fcntl = None

__all__ = [
    "BusyError",
    "Proposal",
    "alone_in",
    "drop_begun",
    "drop_proposal",
    "drop_refused",
    "keep_begun",
    "keep_proposal",
    "keep_refused",
    "load_begun",
    "load_ledger",
    "load_proposal",
    "locked",
    "save_ledger",
]

_LEDGER: Final = "ledger.json"
_PROPOSAL: Final = "proposal.json"
_BEGUN: Final = "begun.json"
_REFUSED: Final = "refused"
#: Results that were refused and are kept aside.
_KEPT: Final = 20
#: Seconds between two looks at a lock that another holds.
_PAUSE: Final = 0.05
#: Seconds that a person waits for a generation to end.
_PATIENCE: Final = 5.0


class BusyError(MemoryToolError):
    """Another process generates memory in the same directory.

    Attributes: *directory* is the memory directory.
    """

    def __init__(self, directory: str) -> None:
        super().__init__(directory)
        self.directory = directory

    def __str__(self) -> str:
        return (
            f"another process generates memory in {self.directory}; try again when it "
            "is done"
        )


class Proposal(NamedTuple):
    """A result of consolidation that is not in place.

    Attributes: *files* are the bytes before and after, by path below the memory
    directory; *selection* is the ``phase_two_selection.json`` that belongs to them;
    *reason* says why it waits or was refused; *key* names the selection.
    """

    time: str
    reason: str
    files: Mapping[str, Written]
    selection: str
    key: str


def load_ledger(directory: str) -> Ledger:
    """The ledger of the memory *directory*; an empty one if there is none."""
    return parse_ledger(_read(directory, _LEDGER) or "")


def save_ledger(directory: str, ledger: Ledger) -> None:
    """Replace the ledger of *directory*.

    Raises:
        MemoryFileError: It could not be written; the old one is as it was.
    """
    _write(directory, _LEDGER, render_ledger(ledger))


def load_proposal(directory: str) -> Proposal | None:
    """What waits for a person's review, if anything does and can be read."""
    return _load(directory, _PROPOSAL)


def keep_proposal(directory: str, proposal: Proposal) -> None:
    """Let *proposal* wait for a person's review, in place of an older one."""
    _write(directory, _PROPOSAL, _render(proposal))


def drop_proposal(directory: str) -> None:
    """Forget what waits for review."""
    _drop(directory, _PROPOSAL)


def load_begun(directory: str) -> Proposal | None:
    """What is being put in place, or was when somebody died."""
    return _load(directory, _BEGUN)


def keep_begun(directory: str, result: Proposal) -> None:
    """Say that *result* is being put in place."""
    _write(directory, _BEGUN, _render(result))


def drop_begun(directory: str) -> None:
    """Say that what was begun is in place, or is not to be."""
    _drop(directory, _BEGUN)


def keep_refused(directory: str, proposal: Proposal) -> str:
    """Keep a result that was refused, with the reason; the path of what is kept."""
    stamp = "".join(c for c in proposal.time if c.isalnum())
    name = os.path.join(_REFUSED, f"{stamp}.json")
    _write(directory, name, _render(proposal))
    folder = os.path.join(_folder(directory), _REFUSED)
    for old in sorted(os.listdir(folder), reverse=True)[_KEPT:]:
        os.unlink(os.path.join(folder, old))
    return os.path.join(_folder(directory), name)


def drop_refused(directory: str) -> None:
    """Forget all results that were refused."""
    folder = os.path.join(_folder(directory), _REFUSED)
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))


@contextlib.contextmanager
def alone_in(directory: str, *, seconds: float = _PATIENCE) -> Generator[None]:
    """Nobody else generates in *directory*, in the block.

    Raises:
        BusyError: Somebody does, for longer than *seconds*.
    """
    with locked(directory, seconds=seconds) as alone:
        if not alone:
            raise BusyError(directory)
        yield


@contextlib.contextmanager
def locked(directory: str, *, seconds: float) -> Generator[bool]:
    """Whether this is the only one that generates in *directory*, in the block.

    Waits for *seconds* at most. The kernel lets the lock go when a process dies.
    """
    if fcntl is None:
        yield True
        return
    folder = _folder(directory)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(os.path.join(folder, "lock"), flags, 0o600)
    try:
        until = monotonic() + seconds
        flock, exclusive = fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB
        while not (taken := _takes(lambda: flock(descriptor, exclusive))):
            if monotonic() >= until:
                break
            sleep(_PAUSE)
        yield taken
    finally:
        os.close(descriptor)


def _takes(lock: Callable[[], None]) -> bool:
    try:
        lock()
    except BlockingIOError:
        return False
    return True


def _folder(directory: str) -> str:
    key = hashlib.sha256(os.fsencode(os.path.realpath(directory))).hexdigest()[:32]
    return os.path.join(trust.state_directory(), "generation", key)


def _load(directory: str, name: str) -> Proposal | None:
    text = _read(directory, name)
    try:
        return _parse(text) if text else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _drop(directory: str, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(_folder(directory), name))


def _read(directory: str, name: str) -> str | None:
    try:
        path = os.path.join(_folder(directory), name)
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def _write(directory: str, name: str, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    replace_private_file(os.path.join(_folder(directory), name), data)


def _render(proposal: Proposal) -> str:
    files = {
        path: {"before": _encode(w.before), "after": _encode(w.after)}
        for path, w in proposal.files.items()
    }
    record = {**proposal._asdict(), "files": files}
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"


def _parse(text: str) -> Proposal:
    record = cast("dict[str, Any]", json.loads(text))
    files = {
        str(path): Written(_decode(w["before"]), _decode(w["after"]))
        for path, w in record["files"].items()
    }
    time, reason, selection, key = (
        str(record[name]) for name in ("time", "reason", "selection", "key")
    )
    datetime.fromisoformat(time)  # a ValueError where it is none
    return Proposal(time, reason, files, selection, key)


def _encode(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _decode(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
