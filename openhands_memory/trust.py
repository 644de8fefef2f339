"""Which project memories a person has approved.

Touches disk, below the user's state directory only. An approval holds for one directory
and one content: a file that changes is no longer approved.
"""

import json
import os
from pathlib import Path
from typing import Final

from platformdirs import user_state_path

__all__ = ["approvals_file", "is_approved"]

_APPROVALS_NAME: Final = "approvals.json"


def approvals_file() -> Path:
    """Where approvals are kept: a JSON object of real directory to SHA-256."""
    return user_state_path("openhands-memory") / _APPROVALS_NAME


def is_approved(base: Path, sha256: str) -> bool:
    """Whether the content with this *sha256* was approved for the tier in *base*."""
    return read_approvals().get(os.path.realpath(base)) == sha256


def read_approvals() -> dict[str, str]:
    """All approvals; none where there is no such file, or it is not what we wrote."""
    try:
        found = json.loads(approvals_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, str)}
