"""What memory files are called and where they stand.

Two layouts. The OpenHands layout has two tiers whose index is ``MEMORY.md``; the
sandbox layout has one tier below the workspace whose index is ``memory_summary.md``,
while its ``MEMORY.md`` is searched on demand. Nothing here looks at the disk. Paths are
text: the command line starts with this, and pathlib takes a third of its start.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from datetime import date

__all__ = [
    "DAILY_LOG_PATTERN",
    "GENERATED_END",
    "GENERATED_START",
    "HEADER_START",
    "INDEX_NAME",
    "MEMORIES_DIR",
    "MERGED_NAME",
    "PROJECT_MEMORY_DIR",
    "RAW_MEMORIES",
    "SANDBOX_INDEX_NAME",
    "SELECTION_NAME",
    "SESSIONS_DIR",
    "SKILLS",
    "SUMMARIES",
    "GeneratedFiles",
    "TierName",
    "TierPlace",
    "generated_files",
    "log_place",
    "project_place",
    "sandbox_place",
    "user_place",
]

TierName = Literal["user", "project"]

#: Names and places of OpenHands SDK 1.58.2, context/memory.py.
INDEX_NAME: Final = "MEMORY.md"
PROJECT_MEMORY_DIR: Final = ".openhands/memory"

#: The injected file of the sandbox layout (OpenAI Agents SDK 0.22, sandbox/memory).
SANDBOX_INDEX_NAME: Final = "memory_summary.md"

DAILY_LOG_PATTERN: Final = r"\d{4}-\d{2}-\d{2}\.md"

#: The lines between which consolidation writes; what stands outside is a person's.
GENERATED_START: Final = "<!-- openhands-memory: generated -->"
GENERATED_END: Final = "<!-- /openhands-memory: generated -->"


class TierPlace(NamedTuple):
    """Where one tier's index stands.

    Attributes: *base* is the directory that may be trusted as given; *below* are the
    path's parts from there to the index; *shown_as* is the path that the model is told;
    *confined* says that no link below *base* may lead out of it.
    """

    name: TierName
    base: str
    below: tuple[str, ...]
    shown_as: str
    confined: bool

    @property
    def path(self) -> str:
        return os.path.join(self.base, *self.below)

    @property
    def directory(self) -> str:
        return os.path.join(self.base, *self.below[:-1])

    @property
    def heading(self) -> str:
        """The line above the tier's text, as OpenHands SDK 1.58.2 writes it."""
        return f"# {self.name.capitalize()} memory ({self.shown_as})"


def user_place(
    *,
    home: str | None,
    persistence_dir: str | None = None,
    real: Callable[[str], str] = str,
) -> TierPlace | None:
    """The user tier: below *persistence_dir* if given, else below ``~/.openhands``.

    None where neither is known. *home* never appears in what the model is told: a path
    below it starts with ``~``, also where only the *real* paths, which links lead to,
    are below each other.
    """
    base = persistence_dir or (home and os.path.join(home, ".openhands"))
    if not base:
        return None
    below = ("memory", INDEX_NAME)
    shown = _shorten_home(base, home)
    if home and shown == base:
        real_base = real(base)
        shorter = _shorten_home(real_base, real(home))
        shown = shorter if shorter != real_base else base
    shown = os.path.join(shown, *below).replace(os.sep, "/")
    return TierPlace("user", base, below, shown, confined=False)


def _shorten_home(path: str, home: str | None) -> str:
    start = home and os.path.join(home, "")
    if start and os.path.join(path, "").startswith(start):
        return os.path.join("~", path[len(start) :])
    return path


def log_place(index: TierPlace, moment: "date") -> TierPlace:
    """The daily log beside *index* for the day of *moment*."""
    return index._replace(below=(*index.below[:-1], f"{moment:%Y-%m-%d}.md"))


def project_place(workspace: str, *, levels_up: int = 0) -> TierPlace:
    """The project tier of *workspace*, or of the directory *levels_up* above it."""
    base = os.fspath(workspace)
    for _ in range(levels_up):
        base = os.path.dirname(base)
    below = (*PROJECT_MEMORY_DIR.split("/"), INDEX_NAME)
    shown = "/".join((*[".."] * levels_up, *below))
    return TierPlace("project", base, below, shown, confined=True)


def sandbox_place(workspace: str, memories_dir: str) -> TierPlace:
    """The only tier of the sandbox layout, whose heading names its own index."""
    below = (*memories_dir.split("/"), SANDBOX_INDEX_NAME)
    return TierPlace("project", workspace, below, "/".join(below), confined=True)


# --- What generation writes -------------------------------------------------------------

#: Below the memory directory (OpenAI Agents SDK 0.22, sandbox/memory).
RAW_MEMORIES: Final = "raw_memories"
MERGED_NAME: Final = "raw_memories.md"
SUMMARIES: Final = "rollout_summaries"
SKILLS: Final = "skills"
SELECTION_NAME: Final = "phase_two_selection.json"
#: How the header of a raw memory and of a rollout summary begins.
HEADER_START: Final = "rollout_id: "

#: The sandbox layout's directories, unless others are named.
MEMORIES_DIR: Final = "memories"
SESSIONS_DIR: Final = "sessions"


class GeneratedFiles(NamedTuple):
    """Where one layout keeps what conversations leave behind.

    Attributes: *memories_dir* and *sessions_dir* are relative to *workspace*, with
    ``/`` between their parts; *index_name* is the injected file; *handbook_name* the one
    that is searched on demand, where there is one.
    """

    workspace: str
    memories_dir: str
    sessions_dir: str
    index_name: str
    handbook_name: str | None = None

    @property
    def directory(self) -> str:
        """The memory directory's path."""
        return os.path.join(self.workspace, *self.memories_dir.split("/"))

    @property
    def written(self) -> tuple[str, ...]:
        """The files that consolidation edits, the injected one last."""
        handbook = (self.handbook_name,) if self.handbook_name else ()
        return (*handbook, self.index_name)

    def command(self, words: str) -> str:
        """How our command *words* is called for this layout."""
        flags = ""
        if self.handbook_name:
            flags = f" --memories-dir {self.memories_dir}"
            if self.sessions_dir != SESSIONS_DIR:
                flags += f" --sessions-dir {self.sessions_dir}"
        return f"'openhands-memory {words}{flags}'"

    def place(self, *below: str) -> TierPlace:
        """A file below the memory directory."""
        return self._confined(self.memories_dir, below)

    def rollout(self, rollout_id: str) -> TierPlace:
        """The record of one conversation."""
        return self._confined(self.sessions_dir, (f"{rollout_id}.jsonl",))

    def _confined(self, directory: str, below: tuple[str, ...]) -> TierPlace:
        parts = (*directory.split("/"), *below)
        return TierPlace(
            "project", self.workspace, parts, "/".join(parts), confined=True
        )


def generated_files(
    workspace: str, *, memories_dir: str | None = None, sessions_dir: str | None = None
) -> GeneratedFiles:
    """The files of the sandbox layout, or of the OpenHands layout without directories."""
    if memories_dir is None or sessions_dir is None:
        sessions = f"{PROJECT_MEMORY_DIR}/sessions"
        return GeneratedFiles(workspace, PROJECT_MEMORY_DIR, sessions, INDEX_NAME)
    return GeneratedFiles(
        workspace, memories_dir, sessions_dir, SANDBOX_INDEX_NAME, INDEX_NAME
    )
