"""What git knows of a file.

Edge: runs ``git``, which must be on PATH; without it, or outside a repository, the
answers are None. The repository is not trusted: nothing that its configuration names is
run, and nothing is written, not even the index.
"""

import os
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from openhands_memory import store

if TYPE_CHECKING:
    from subprocess import Popen

__all__ = [
    "GitFacts",
    "ask_git",
    "is_committed",
    "last_commit_date",
    "takes_in",
]

#: Settings by which a repository could have git run a program of its own.
_HARMLESS: Final = (
    "-c core.fsmonitor=false -c core.hooksPath=/dev/null -c log.showSignature=false "
    "-c core.pager=cat"
).split()
_TIMEOUT_SECONDS: Final = 5
_SHA1_LENGTH: Final = 40


class GitFacts(NamedTuple):
    """Whether a file is tracked, and the day of the last commit that changed it."""

    tracked: bool | None = None
    last_commit: str | None = None


def ask_git(path: str) -> GitFacts:
    """What git knows of *path*; nothing outside a repository."""
    if not _is_in_repository(path):
        return GitFacts()
    # Both at once: most of the time is git's start.
    listing, logging = _start(path, "ls-files", "--"), _start(path, *_LAST_COMMIT)
    listed, last = _answer(listing), _answer(logging)
    if listed is None:
        return GitFacts()
    return GitFacts(bool(listed), (last or None) if listed else None)


def takes_in(path: str) -> Literal["tracked", "not ignored"] | None:
    """Whether git has something of *path*, or would take it with all there is."""
    if not _is_in_repository(path):
        return None
    which = ("-t", "--cached", "--others", "--exclude-standard")
    found = _answer(_start(path, "ls-files", *which, "--"))
    if not found:
        return None
    is_new = all(line.startswith("?") for line in found.splitlines())
    return "not ignored" if is_new else "tracked"


def tracked_names(directory: str) -> frozenset[str]:
    """Names of the files in *directory* that git tracks."""
    if not _is_in_repository(os.path.join(directory, "x")):
        return frozenset()
    found = _answer(_start(directory, "ls-files", "-z", inside=True))
    return frozenset(name for name in (found or "").split("\0") if "/" not in name)


def last_commit_date(path: str) -> str | None:
    """The day of the last commit that changed *path*, as ``YYYY-MM-DD``."""
    return _answer(_start(path, *_LAST_COMMIT)) or None


def is_committed(path: str, data: bytes) -> bool:
    """Whether *data* is what the last commit has at *path*.

    By git's name for the bytes: comparing in git would run the repository's filters.
    """
    import hashlib  # late: most calls do not need it

    directory, name = os.path.split(path)
    found = _answer(_start(directory, "rev-parse", f"HEAD:./{name}", inside=True))
    made = hashlib.sha1 if len(found or "") == _SHA1_LENGTH else hashlib.sha256
    return found == made(b"blob %d\0%s" % (len(data), data)).hexdigest()


_LAST_COMMIT: Final = ("log", "-1", "--format=%cs", "--")


def _is_in_repository(path: str) -> bool:
    parents = store.with_parents(os.path.dirname(path))
    return any(store.exists(os.path.join(parent, ".git")) for parent in parents)


def _start(path: str, *arguments: str, inside: bool = False) -> "Popen[str] | None":
    """Git at work on *path*, or *inside* that directory; None if it cannot start."""
    import subprocess  # late: starting to show memory does not need it

    directory, name = (path, None) if inside else os.path.split(path)
    command = ["git", "--no-optional-locks", *_HARMLESS, "--literal-pathspecs"]
    try:
        return subprocess.Popen(  # noqa: S603 - fixed program, the rest is no shell text
            [*command, *arguments, *([name] if name else [])],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
        )
    except OSError:
        return None


def _answer(git: "Popen[str] | None") -> str | None:
    import subprocess

    if git is None:
        return None
    with git:
        try:
            out, _ = git.communicate(timeout=_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            git.kill()
            return None
    return out.strip() if git.returncode == 0 else None
