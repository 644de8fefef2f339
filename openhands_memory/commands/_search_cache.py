"""Where search keeps what it learnt, and how that is forgotten."""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from platformdirs import user_cache_path

from openhands_memory.errors import MemoryFileError
from openhands_memory.layout import TierPlace

__all__ = ["cache_directory", "remove_caches"]


def cache_directory(places: Sequence[TierPlace]) -> Path:
    """One for each set of tiers, which can be deleted at any time."""
    real = "\0".join(os.path.realpath(place.directory) for place in places)
    key = hashlib.sha256(os.fsencode(real)).hexdigest()[:32]
    return _root() / key


def remove_caches() -> None:
    """Remove all of them: the user tier's text stands in those of every workspace.

    Raises:
        MemoryFileError: Something of them is left.
    """
    root = str(_root())
    with contextlib.suppress(OSError):
        shutil.rmtree(root)
    if os.path.lexists(root):
        problem = "could not be removed, and may hold text of memory"
        raise MemoryFileError(root, problem, "Remove it.")


def _root() -> Path:
    return user_cache_path("openhands-memory") / "search"
