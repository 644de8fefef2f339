"""What memory files are called, where they stand, and what the model is told."""

from datetime import datetime

from openhands_memory.layout import (
    log_place,
    project_place,
    sandbox_place,
    user_place,
)


def test_the_user_tier_is_below_the_home_directory_but_does_not_say_so() -> None:
    place = user_place(home="/home/ann")
    assert place is not None
    assert place.path == "/home/ann/.openhands/memory/MEMORY.md"
    assert place.heading == "# User memory (~/.openhands/memory/MEMORY.md)"
    assert not place.confined


def test_a_persistence_dir_replaces_the_base() -> None:
    place = user_place(home="/home/ann", persistence_dir="/data/state")
    assert place is not None
    assert place.path == "/data/state/memory/MEMORY.md"
    assert place.shown_as == "/data/state/memory/MEMORY.md"


def test_a_persistence_dir_below_the_home_directory_does_not_expand_it() -> None:
    place = user_place(home="/home/ann", persistence_dir="/home/ann/state")
    assert place is not None
    assert place.shown_as == "~/state/memory/MEMORY.md"
    same = user_place(home="/home/ann", persistence_dir="/home/ann")
    assert same is not None
    assert same.shown_as == "~/memory/MEMORY.md"


def test_a_directory_that_only_begins_like_home_is_not_below_it() -> None:
    place = user_place(home="/home/ann", persistence_dir="/home/anna")
    assert place is not None
    assert place.shown_as == "/home/anna/memory/MEMORY.md"


def test_a_persistence_dir_needs_no_home() -> None:
    place = user_place(home=None, persistence_dir="/data")
    assert place is not None
    assert place.shown_as == "/data/memory/MEMORY.md"
    assert user_place(home=None) is None


def test_the_project_tier_is_shown_relative_to_the_workspace() -> None:
    place = project_place("/ws")
    assert place.path == "/ws/.openhands/memory/MEMORY.md"
    assert place.directory == "/ws/.openhands/memory"
    assert place.heading == "# Project memory (.openhands/memory/MEMORY.md)"
    assert place.confined


def test_a_parents_tier_is_shown_with_its_way_up() -> None:
    place = project_place("/ws/services/api", levels_up=2)
    assert place.path == "/ws/.openhands/memory/MEMORY.md"
    assert place.shown_as == "../../.openhands/memory/MEMORY.md"


def test_the_sandbox_layout_names_its_own_index() -> None:
    place = sandbox_place("/ws", "agent/memories")
    assert place.path == "/ws/agent/memories/memory_summary.md"
    assert place.heading == "# Project memory (agent/memories/memory_summary.md)"
    assert place.confined


def test_a_note_after_midnight_goes_to_the_new_day() -> None:
    """B32: the day is that of the write, not of the process."""
    index = project_place("/ws")
    evening, night = datetime(2026, 11, 29, 23, 58), datetime(2026, 11, 30, 0, 3)  # noqa: DTZ001 - local
    names = [log_place(index, moment).below[-1] for moment in (evening, night)]
    assert names == ["2026-11-29.md", "2026-11-30.md"]
