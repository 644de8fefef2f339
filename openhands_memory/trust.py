"""Which project memories a person has approved.

Touches disk, below the user's state directory only. An approval holds for one file
and one content: a file that changes is no longer approved.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

from platformdirs import user_state_path

from openhands_memory.layout import TierPlace
from openhands_memory.writing import change_file

__all__ = ["approvals_file", "approve", "is_approved", "revoke", "state_directory"]

_APPROVALS_NAME: Final = "approvals.json"


def state_directory() -> Path:
    """The user's directory for what can be deleted at any time: approvals, history."""
    return user_state_path("openhands-memory")


def approvals_file() -> Path:
    """Where approvals are kept: a JSON object of an index's path to its SHA-256."""
    return state_directory() / _APPROVALS_NAME


def is_approved(place: TierPlace, sha256: str) -> bool:
    """Whether the content with this *sha256* was approved for the index at *place*."""
    try:
        data = approvals_file().read_bytes()
    except OSError:
        return False
    return _parse(data).get(_key(place)) == sha256


def approve(place: TierPlace, sha256: str) -> None:
    """Approve the content with this *sha256* for the index at *place*.

    Raises:
        MemoryFileError: The approval could not be written.
    """
    _change(lambda approvals: {**approvals, _key(place): sha256})


def revoke(place: TierPlace) -> bool:
    """Take the approval for the index at *place* back; False if there was none.

    Raises:
        MemoryFileError: The approvals could not be written.
    """
    had: list[bool] = []

    def without(approvals: dict[str, str]) -> dict[str, str]:
        had.append(approvals.pop(_key(place), None) is not None)
        return approvals

    _change(without)
    return had[-1]


def _key(place: TierPlace) -> str:
    """The index's path from the real root of its repository."""
    return os.path.join(os.path.realpath(place.base), *place.below)


def _change(change: Callable[[dict[str, str]], dict[str, str]]) -> None:
    file = approvals_file()
    place = TierPlace("user", str(file.parent), (file.name,), "", confined=False)

    def by(data: bytes | None) -> bytes:
        text = json.dumps(change(_parse(data or b"{}")), indent=2, sort_keys=True)
        return f"{text}\n".encode()

    change_file(place, by)


def _parse(data: bytes) -> dict[str, str]:
    """All approvals; none where the file is not what we wrote."""
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    items = cast("dict[str, object]", found).items()
    return {path: sha256 for path, sha256 in items if isinstance(sha256, str)}
