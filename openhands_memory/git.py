"""What git knows of a file.

Edge: runs ``git``, which must be on PATH; without it, or outside a repository, the
answers are None. The repository is not trusted: nothing that its configuration names is
run, and nothing is written, not even the index.
"""

import hashlib
import os
import subprocess
from typing import Final

__all__ = ["is_committed", "is_tracked", "last_commit_date"]

#: Settings by which a repository could have git run a program of its own.
_HARMLESS: Final = (
    "-c core.fsmonitor=false -c core.hooksPath=/dev/null -c log.showSignature=false "
    "-c core.pager=cat"
).split()
_TIMEOUT_SECONDS: Final = 5
_SHA1_LENGTH: Final = 40


def is_tracked(path: str) -> bool | None:
    """Whether git tracks *path*; None outside a repository."""
    listed = _git(os.path.dirname(path), "ls-files", "--", os.path.basename(path))
    return None if listed is None else bool(listed)


def is_committed(path: str, data: bytes) -> bool:
    """Whether *data* is what the last commit has at *path*.

    By git's name for the bytes: comparing in git would run the repository's filters.
    """
    name = _git(os.path.dirname(path), "rev-parse", f"HEAD:./{os.path.basename(path)}")
    made = hashlib.sha1 if len(name or "") == _SHA1_LENGTH else hashlib.sha256
    return name == made(b"blob %d\0%s" % (len(data), data)).hexdigest()


def last_commit_date(path: str) -> str | None:
    """The day of the last commit that changed *path*, as ``YYYY-MM-DD``."""
    return (
        _git(
            os.path.dirname(path),
            "log",
            "-1",
            "--format=%cs",
            "--",
            os.path.basename(path),
        )
        or None
    )


def _git(directory: str, *arguments: str) -> str | None:
    command = ["git", "--no-optional-locks", *_HARMLESS, "--literal-pathspecs"]
    try:
        done = subprocess.run(  # noqa: S603 - fixed program, arguments are no shell text
            [*command, *arguments],
            cwd=directory,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
