"""Which files lint looks at, and what it says about each.

Flow: asks `store` for bytes and names, `lint` for findings. Reads a bounded number of
bytes, follows no link out of a tier, never waits; what cannot be read is a finding.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from typing import Final, NamedTuple

from openhands_memory import store
from openhands_memory.errors import FileRefusedError
from openhands_memory.layout import INDEX_NAME, SANDBOX_INDEX_NAME, TierPlace
from openhands_memory.upkeep.document import Document, decode_file, parse_document
from openhands_memory.upkeep.findings import Finding, finding
from openhands_memory.upkeep.lint import Role, lint_bytes, role_of
from openhands_memory.upkeep.lint_fix import fix_bytes
from openhands_memory.upkeep.lint_links import (
    find_broken_links,
    find_misnamed,
    link_as_text,
    linked_names,
)

__all__ = [
    "MAX_BYTES",
    "Checked",
    "Target",
    "check_directory",
    "check_names",
    "check_target",
    "check_text",
    "memory_directories",
    "repair_target",
    "target_at",
    "targets_below",
    "targets_of_tier",
]

#: Bytes of a file that is checked; an index is some kilobytes.
MAX_BYTES: Final = 16 * 1024 * 1024
#: Bytes of the longest path that a link is taken for.
_LINK_BYTES: Final = 1024
_INDEXES: Final = (INDEX_NAME, SANDBOX_INDEX_NAME)
_MEMORY_NAMES: Final = frozenset({"memory", "memories"})
#: Directories that hold other people's Markdown.
_FOREIGN: Final = frozenset({".git", ".tox", ".venv", "node_modules", "site-packages"})


class Target(NamedTuple):
    """A file to check: where it is, what it is called in findings, what it is."""

    place: TierPlace
    shown: str
    role: Role


class Checked(NamedTuple):
    """A file's *findings*, and its text where it could be read."""

    target: Target
    findings: list[Finding]
    document: Document | None = None


def targets_of_tier(place: TierPlace, show: Callable[[str], str]) -> Iterator[Target]:
    """The index at *place*, if it is there, and the daily logs beside it."""
    if store.exists(place.path):
        yield Target(place, show(place.path), "index")
    for name in sorted(store.names_in(place.directory)):
        if role_of(name) == "log":
            log = place._replace(below=(*place.below[:-1], name))
            yield Target(log, show(log.path), "log")


def target_at(path: str) -> Target:
    """The file at *path*, whatever its name."""
    directory, name = os.path.split(path)
    role = role_of(name)
    sandbox = os.path.join(directory, SANDBOX_INDEX_NAME)
    if name == INDEX_NAME and store.exists(sandbox):
        role = "other"  # the sandbox layout's MEMORY.md is searched, not injected
    place = TierPlace("user", directory or os.curdir, (name,), path, confined=False)
    return Target(place, path, role)


def targets_below(directory: str) -> Iterator[Target]:
    """The Markdown files below *directory*, in order; no directory link is followed."""
    for path in store.files_below(directory, skip=_FOREIGN):
        if path.endswith(".md"):
            yield target_at(path)


def check_target(
    target: Target,
    *,
    today: date,
    stale_days: int,
    last_commit: Callable[[bytes], date | None],
) -> Checked:
    """Read the file and lint it, its links to files beside it included."""
    try:
        data = store.read_bytes(target.place, MAX_BYTES)
    except FileRefusedError as error:
        return _unchecked(target, error.problem)
    except OSError as error:
        return _unchecked(target, (error.strerror or type(error).__name__).lower())
    findings = lint_bytes(
        data,
        path=target.shown,
        today=today,
        role=target.role,
        stale_days=stale_days,
        last_commit=lambda: last_commit(data),
    )
    document = parse_document(decode_file(data).text)
    directory = target.place.directory
    linked = linked_names(document)
    present = {n for n in linked if store.exists(os.path.join(directory, n))}
    findings += find_broken_links(document, path=target.shown, present=present)
    return Checked(target, findings, document)


def check_text(data: bytes, *, path: str, today: date, stale_days: int) -> Checked:
    """Lint bytes that come from nowhere: as an index, unless *path* names something."""
    target = target_at(path)
    if path == "-":
        target = target._replace(role="index")
    findings = lint_bytes(
        data, path=path, today=today, role=target.role, stale_days=stale_days
    )
    return Checked(target, findings, parse_document(decode_file(data).text))


def memory_directories(directories: Iterable[str]) -> list[str]:
    """Those that hold memory, by their names or an index: there names of files count."""
    return [
        directory
        for directory in dict.fromkeys(directories)
        if os.path.basename(os.path.normpath(directory)) in _MEMORY_NAMES
        or any(store.exists(os.path.join(directory, name)) for name in _INDEXES)
    ]


def check_directory(place: TierPlace, show: Callable[[str], str]) -> Iterator[Finding]:
    """The tier's directory: a link that became text, files that nobody reads."""
    for depth in range(1, len(place.below)):
        above = place._replace(below=place.below[:depth])
        if store.read_one_line(above, _LINK_BYTES):
            yield link_as_text()._replace(path=show(above.path))
    yield from check_names(place.directory, show)


def check_names(directory: str, show: Callable[[str], str]) -> Iterator[Finding]:
    """Files in a memory directory that nobody reads because of their names."""
    for name, found in find_misnamed(store.names_in(directory)):
        yield found._replace(path=show(os.path.join(directory, name)))


def repair_target(target: Target, *, now: datetime) -> tuple[str, ...]:
    """Repair the file in place, kept in the history; what was done, in words.

    Raises:
        MemoryFileError: It could not be written; it is as it was.
    """
    # Late: it finds the state directory, which is for those who write.
    from openhands_memory.upkeep.change import change

    done: tuple[str, ...] = ()

    def repair(data: bytes | None) -> bytes | None:
        nonlocal done
        if data is None:
            return None
        data, done = fix_bytes(data, facts=target.role != "other")
        return data

    try:
        repair(store.read_bytes(target.place, MAX_BYTES))
    except OSError:
        return ()  # that it cannot be read is a finding
    if done:
        reason, writer = "; ".join(done), "openhands-memory lint --fix"
        change(target.place, repair, now=now, writer=writer, reason=reason)
    return done


def _unchecked(target: Target, problem: str) -> Checked:
    message = f"cannot be checked: {problem}"
    return Checked(target, [finding("OM526", message)._replace(path=target.shown)])
