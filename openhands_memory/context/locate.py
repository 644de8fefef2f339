"""Where the tiers of a workspace are, and what looks like a mistake around them.

Flow: asks `store` what is there; opens nothing by itself.
"""

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from openhands_memory import store
from openhands_memory.layout import (
    INDEX_NAME,
    TierPlace,
    project_place,
    sandbox_place,
    user_place,
)
from openhands_memory.options import ReadOptions
from openhands_memory.sanitize import show_line

__all__ = ["Surroundings", "find_hints", "locate_tiers"]


class Surroundings(NamedTuple):
    """What memory is resolved against.

    Attributes: *workspace* is absolute; *home* is None when it is unknown;
    *persistence_dir* replaces ``~/.openhands`` (the SDK's OH_PERSISTENCE_DIR).
    """

    workspace: str
    home: str | None
    persistence_dir: str | None = None


def locate_tiers(around: Surroundings, options: ReadOptions) -> list[TierPlace]:
    """The tiers that *options* ask for, in the order of the prompt."""
    if options.memories_dir is not None:
        return [sandbox_place(around.workspace, options.memories_dir)]
    user = _user_place(around.home, around.persistence_dir)
    project = project_place(around.workspace)
    if options.search_parents:
        project = _tier_in_parent(project) or project
    return [user, project] if user else [project]


@lru_cache(maxsize=16)  # links only decide how it is shown, and take long to follow
def _user_place(home: str | None, persistence_dir: str | None) -> TierPlace | None:
    real = store.real_path
    place = user_place(home=home, persistence_dir=persistence_dir, real=real)
    # The environment may name anything: not even a path ends the frame.
    return place and place._replace(shown_as=show_line(place.shown_as))


def _tier_in_parent(project: TierPlace) -> TierPlace | None:
    """The nearest project tier above one that is absent, up to the git root."""
    if store.exists(project.path):
        return None
    found: TierPlace | None = None
    base = store.real_path(project.base)
    for levels_up, directory in enumerate(store.with_parents(base)):
        if levels_up and found is None:
            parent = project_place(base, levels_up=levels_up)
            found = parent if store.exists(parent.path) else None
        if store.exists(os.path.join(directory, ".git")):
            return found
    return None


def find_hints(around: Surroundings, options: ReadOptions) -> Iterator[str]:
    """Sentences for the person who wonders why memory is not what they expected."""
    places = locate_tiers(around, options)
    for place in places:
        if not store.exists(place.path):
            yield from _wrong_case(place)
    project = places[-1]
    if options.memories_dir is None and project.base == around.workspace:
        parent = _tier_in_parent(project)
        if parent:
            up = parent.shown_as.count("../")
            levels = "1 level" if up == 1 else f"{up} levels"
            yield (
                f"no memory in {around.workspace}, but {parent.path} is {levels} up: "
                "set search_parents=True to use it"
            )
    if options.memories_dir is None:
        yield from _link_as_text(project)
    main = store.main_checkout(around.workspace)
    if main:
        yield (
            f"{around.workspace} is in a linked git worktree of {main}: what is written "
            "here and not committed goes when the worktree is removed"
        )


def _wrong_case(place: TierPlace) -> Iterator[str]:
    directory, name = os.path.split(place.base)
    for wanted in (name, *place.below):
        if not store.exists(os.path.join(directory, wanted)):
            for name in sorted(store.names_in(directory)):
                if name.casefold() == wanted.casefold():
                    path = os.path.join(directory, name)
                    yield f"{path} is not read: the name must be {wanted}, in this case"
            return
        directory = os.path.join(directory, wanted)


def _link_as_text(place: TierPlace) -> Iterator[str]:
    """A link that git wrote as a text file, where the system knows no links."""
    target = store.read_one_line(place, limit=1024)
    if not target or not target.endswith(INDEX_NAME) or target.startswith(("#", "-")):
        return
    if store.exists(os.path.join(place.directory, target)):
        yield (
            f"{place.path} holds only the path {target!r}: a link that git checked "
            "out as text; set core.symlinks, or copy the file"
        )
