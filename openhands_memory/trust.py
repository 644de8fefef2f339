"""Which project memories a person has approved.

Touches disk, below the user's state directory only. An approval holds for one directory
and one content: a file that changes is no longer approved.
"""

import json
import os
from pathlib import Path
from typing import Final, cast

from platformdirs import user_state_path

from openhands_memory.writing import replace_private_file

__all__ = ["approvals_file", "approve", "is_approved", "revoke", "state_directory"]

_APPROVALS_NAME: Final = "approvals.json"


def state_directory() -> Path:
    """The user's directory for what can be deleted at any time: approvals, history."""
    return user_state_path("openhands-memory")


def approvals_file() -> Path:
    """Where approvals are kept: a JSON object of real directory to SHA-256."""
    return state_directory() / _APPROVALS_NAME


def is_approved(base: str, sha256: str) -> bool:
    """Whether the content with this *sha256* was approved for the tier in *base*."""
    return _read().get(os.path.realpath(base)) == sha256


def approve(base: str, sha256: str) -> None:
    """Approve the content with this *sha256* for the tier in *base*.

    Raises:
        MemoryFileError: The approval could not be written.
    """
    _write({**_read(), os.path.realpath(base): sha256})


def revoke(base: str) -> bool:
    """Take the approval for the tier in *base* back; False if there was none.

    Raises:
        MemoryFileError: The approvals could not be written.
    """
    approvals = _read()
    if approvals.pop(os.path.realpath(base), None) is None:
        return False
    _write(approvals)
    return True


def _write(approvals: dict[str, str]) -> None:
    text = json.dumps(approvals, indent=2, sort_keys=True)
    replace_private_file(str(approvals_file()), f"{text}\n".encode())


def _read() -> dict[str, str]:
    """All approvals; none where there is no such file, or it is not what we wrote."""
    try:
        found = json.loads(approvals_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    items = cast("dict[str, object]", found).items()
    return {base: sha256 for base, sha256 in items if isinstance(sha256, str)}
