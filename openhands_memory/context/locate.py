"""Where the tiers of a workspace are, and what looks like a mistake around them.

Flow: asks `store` what is there; opens nothing by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openhands_memory import store
from openhands_memory.config import MemoryConfig
from openhands_memory.layout import (
    INDEX_NAME,
    TierPlace,
    project_place,
    sandbox_place,
    user_place,
)

__all__ = ["Surroundings", "find_hints", "locate_tiers"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What memory is resolved against.

    Attributes: *workspace* is absolute; *home* is None when it is unknown;
    *persistence_dir* replaces ``~/.openhands`` (the SDK's OH_PERSISTENCE_DIR).
    """

    workspace: Path
    home: Path | None
    persistence_dir: Path | None = None


def locate_tiers(around: Surroundings, config: MemoryConfig) -> list[TierPlace]:
    """The tiers that *config* asks for, in the order of the prompt."""
    if config.layout is not None:
        return [sandbox_place(around.workspace, config.layout.memories_dir)]
    places: list[TierPlace] = []
    home = around.home or around.persistence_dir
    if home is not None:
        places.append(user_place(home=home, persistence_dir=around.persistence_dir))
    project = project_place(around.workspace)
    if config.read is not None and config.read.search_parents:
        project = _tier_in_parent(project) or project
    return [*places, project]


def _tier_in_parent(project: TierPlace) -> TierPlace | None:
    """The nearest project tier above one that is absent, up to the git root."""
    workspace = project.base
    if store.exists(project.path) or store.exists(workspace / ".git"):
        return None
    found: TierPlace | None = None
    for levels_up in range(1, len(workspace.parents)):
        parent = project_place(workspace, levels_up=levels_up)
        if found is None and store.exists(parent.path):
            found = parent
        if store.exists(parent.base / ".git"):
            return found
    return None


def find_hints(around: Surroundings, config: MemoryConfig) -> Iterator[str]:
    """Sentences for the person who wonders why memory is not what they expected."""
    places = locate_tiers(around, config)
    for place in places:
        if not store.exists(place.path):
            yield from _wrong_case(place)
    project = places[-1]
    if config.layout is None and project.base == around.workspace:
        parent = _tier_in_parent(project)
        if parent:
            up = parent.below and parent.shown_as.count("../")
            levels = "1 level" if up == 1 else f"{up} levels"
            yield (
                f"no memory in {around.workspace}, but {parent.path} is {levels} up: "
                "set search_parents=True to use it"
            )
    if config.layout is None:
        yield from _link_as_text(project)
    main = store.main_checkout(around.workspace)
    if main:
        yield (
            f"{around.workspace} is in a linked git worktree of {main}: what is written "
            "here and not committed goes when the worktree is removed"
        )


def _wrong_case(place: TierPlace) -> Iterator[str]:
    wanted = place.path.name
    for name in store.names_in(place.directory):
        if name != wanted and name.casefold() == wanted.casefold():
            yield (
                f"{place.directory / name} is not read: the name must be {wanted}, "
                "in this case"
            )


def _link_as_text(place: TierPlace) -> Iterator[str]:
    """A link that git wrote as a text file, where the system knows no links."""
    target = store.read_one_line(place, limit=1024)
    if target and target.endswith(INDEX_NAME) and not target.startswith(("#", "-")):
        if store.exists(place.directory / target):
            yield (
                f"{place.path} holds only the path {target!r}: a link that git checked "
                "out as text; set core.symlinks, or copy the file"
            )
