"""Where a process stands: what paths start from, and whose home directory there is.

Touches the environment, and nothing else of reading does.
"""

import os
from typing import Final

from openhands_memory import store
from openhands_memory.context.locate import Surroundings

__all__ = ["surroundings_of"]


def _current_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed: a relative path stays one, and leads nowhere
        return ""


#: Where a relative OH_PERSISTENCE_DIR starts: captured once, as OpenHands SDK 1.58.2
#: does (utils/path.py), so that a later chdir does not move the user tier.
_START_DIR: Final = _current_directory()


def surroundings_of(workspace: str | os.PathLike[str]) -> Surroundings:
    """What memory is resolved against for *workspace*, here and now.

    Paths are absolute, but for those that are relative to a removed directory.
    """
    home = os.path.expanduser("~")
    persistence = os.environ.get("OH_PERSISTENCE_DIR")
    if persistence:
        persistence = os.path.join(_START_DIR, os.path.expanduser(persistence))
    workspace = os.path.join(_current_directory(), os.path.expanduser(workspace))
    # Where a link is followed by "..", only the file system knows the way.
    tidy = store.real_path if ".." in workspace else os.path.normpath
    return Surroundings(
        workspace=tidy(workspace),
        home=home if os.path.isabs(home) else None,
        persistence_dir=os.path.normpath(persistence) if persistence else None,
    )
