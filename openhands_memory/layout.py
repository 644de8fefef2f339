"""What memory files are called and where they stand.

Two layouts. The OpenHands layout has two tiers whose index is ``MEMORY.md``; the
sandbox layout has one tier below the workspace whose index is ``memory_summary.md``,
while its ``MEMORY.md`` is searched on demand. Nothing here looks at the disk.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final, Literal

from openhands_memory.errors import ConfigError

__all__ = [
    "DAILY_LOG_PATTERN",
    "INDEX_NAME",
    "PROJECT_MEMORY_DIR",
    "SANDBOX_INDEX_NAME",
    "TierName",
    "TierPlace",
    "checked_relative_dir",
    "project_place",
    "sandbox_place",
    "user_place",
]

TierName = Literal["user", "project"]

#: Names and places of OpenHands SDK 1.58.2, context/memory.py.
INDEX_NAME: Final = "MEMORY.md"
PROJECT_MEMORY_DIR: Final = ".openhands/memory"
USER_BASE: Final = "~/.openhands"

#: The injected file of the sandbox layout (OpenAI Agents SDK 0.22, sandbox/memory).
SANDBOX_INDEX_NAME: Final = "memory_summary.md"

DAILY_LOG_PATTERN: Final = re.compile(r"\d{4}-\d{2}-\d{2}\.md")


@dataclass(frozen=True, slots=True)
class TierPlace:
    """Where one tier's index stands.

    Attributes: *base* is the directory that may be trusted as given; *below* are the
    path's parts from there to the index; *shown_as* is the path that the model is told;
    *confined* says that no link below *base* may lead out of it.
    """

    name: TierName
    base: Path
    below: tuple[str, ...]
    shown_as: str
    confined: bool

    @property
    def path(self) -> Path:
        return self.base.joinpath(*self.below)

    @property
    def directory(self) -> Path:
        return self.path.parent

    @property
    def heading(self) -> str:
        """The line above the tier's text, as OpenHands SDK 1.58.2 writes it."""
        return f"# {self.name.capitalize()} memory ({self.shown_as})"


def user_place(*, home: Path, persistence_dir: Path | None = None) -> TierPlace:
    """The user tier: below *persistence_dir* if given, else below ``~/.openhands``.

    *home* never appears in what the model is told: a path below it starts with ``~``.
    """
    base = persistence_dir or home / ".openhands"
    shown = base.as_posix() if persistence_dir else USER_BASE
    if persistence_dir and base.is_relative_to(home):
        shown = "/".join(("~", *base.relative_to(home).parts))
    below = ("memory", INDEX_NAME)
    return TierPlace("user", base, below, "/".join((shown, *below)), confined=False)


def project_place(workspace: Path, *, levels_up: int = 0) -> TierPlace:
    """The project tier of *workspace*, or of the directory *levels_up* above it."""
    base = workspace.parents[levels_up - 1] if levels_up else workspace
    below = (*PROJECT_MEMORY_DIR.split("/"), INDEX_NAME)
    shown = "/".join((*[".."] * levels_up, *below))
    return TierPlace("project", base, below, shown, confined=True)


def sandbox_place(workspace: Path, memories_dir: str) -> TierPlace:
    """The only tier of the sandbox layout, whose heading names its own index."""
    below = (*PurePosixPath(memories_dir).parts, SANDBOX_INDEX_NAME)
    return TierPlace("project", workspace, below, "/".join(below), confined=True)


# --- Directories that a configuration names ---------------------------------------------

#: Device names of Windows, whatever their ending ("Naming Files, Paths, and Namespaces").
_WINDOWS_DEVICES: Final = re.compile(
    r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?\Z", re.IGNORECASE
)
_FORBIDDEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f:*?\"<>|\\\u2028\u2029]")


def checked_relative_dir(field: str, value: object) -> str:
    """Return *value* as a normalised path below the workspace root.

    Raises:
        ConfigError: It is no text, absolute, empty, leads out of the workspace, is not
            a name on every system, or is kept by git or by the other layout.
    """
    if not isinstance(value, str):
        raise ConfigError(field, value, "must be text, such as 'memories'")
    problem = next(_problems(value), None)
    if problem:
        raise ConfigError(field, value, problem)
    return str(PurePosixPath(value))


def _problems(value: str) -> Iterator[str]:
    path = PurePosixPath(value)
    if path.is_absolute() or PureWindowsPath(value).drive:
        yield "is absolute; give a path relative to the workspace root"
    if path.parts[:1] == ("~",) or value.startswith("~"):
        yield "is below a home directory; give a path relative to the workspace root"
    if ".." in re.split(r"[/\\]", value):
        yield "must not leave the workspace root; remove '..'"
    if _FORBIDDEN.search(value):
        yield "has a character that is no part of a file name on every system"
    if not path.parts:
        yield "names no directory; give one below the workspace root"
    for part in path.parts:
        if _WINDOWS_DEVICES.match(part) or part != part.strip() or part.endswith("."):
            yield f"{part!r} is reserved or cannot be a name on every system"
        if part.casefold() == ".git":
            yield "git keeps that directory for itself"
    if "/".join(path.parts[:2]).casefold() == PROJECT_MEMORY_DIR:
        yield f"{PROJECT_MEMORY_DIR} belongs to the OpenHands layout; choose another"
