"""Where the tiers are, and what looks like a mistake around them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from openhands_memory.context.locate import Surroundings, find_hints, locate_tiers
from openhands_memory.options import ReadOptions

Link = Callable[[Path, "str | Path"], Path]

DEFAULT = ReadOptions()
SEARCHING = ReadOptions(search_parents=True)


def around(workspace: Path, home: Path | None = None) -> Surroundings:
    return Surroundings(str(workspace), str(home) if home else None)


def hints(workspace: Path, options: ReadOptions = DEFAULT) -> list[str]:
    return list(find_hints(around(workspace), options))


@pytest.fixture
def repository(workspace: Path, project_index: Path) -> Path:
    """A git repository whose memory is at its root, and a directory two levels down."""
    (workspace / ".git").mkdir()
    project_index.write_text("- fact\n")
    deep = workspace / "services" / "api"
    deep.mkdir(parents=True)
    return deep


def test_the_user_tier_comes_first(workspace: Path, memory_home: Path) -> None:
    tiers = locate_tiers(around(workspace, memory_home), ReadOptions())
    assert [tier.name for tier in tiers] == ["user", "project"]


def test_without_a_home_directory_there_is_no_user_tier(workspace: Path) -> None:
    (tier,) = locate_tiers(around(workspace), ReadOptions())
    assert tier.name == "project"


def test_a_persistence_dir_is_a_user_tier_without_a_home(tmp_path: Path) -> None:
    where = Surroundings(str(tmp_path), None, "/data")
    assert locate_tiers(where, ReadOptions())[0].shown_as == "/data/memory/MEMORY.md"


def test_the_sandbox_layout_has_one_tier(workspace: Path, memory_home: Path) -> None:
    options = ReadOptions(memories_dir="memories")
    (tier,) = locate_tiers(around(workspace, memory_home), options)
    assert tier.path == str(workspace / "memories" / "memory_summary.md")


# --- Parents ----------------------------------------------------------------------------


def test_a_parents_memory_is_a_hint(repository: Path, project_index: Path) -> None:
    (hint,) = hints(repository)
    assert f"{project_index} is 2 levels up" in hint
    assert "search_parents=True" in hint
    assert locate_tiers(around(repository), ReadOptions())[-1].base == str(repository)


def test_one_level_is_one_level(repository: Path) -> None:
    assert "is 1 level up" in hints(repository.parent)[0]


def test_a_parents_memory_is_used_when_asked_for(
    repository: Path, project_index: Path
) -> None:
    tier = locate_tiers(around(repository), SEARCHING)[-1]
    assert tier.path == str(project_index)
    assert tier.shown_as == "../../.openhands/memory/MEMORY.md"
    assert hints(repository, SEARCHING) == []


def test_the_nearest_parent_wins(repository: Path) -> None:
    nearer = repository.parent / ".openhands" / "memory" / "MEMORY.md"
    nearer.parent.mkdir(parents=True)
    nearer.write_text("- nearer\n")
    assert locate_tiers(around(repository), SEARCHING)[-1].path == str(nearer)


def test_an_own_memory_is_not_searched_further(repository: Path) -> None:
    own = repository / ".openhands" / "memory" / "MEMORY.md"
    own.parent.mkdir(parents=True)
    own.write_text("- own\n")
    assert locate_tiers(around(repository), SEARCHING)[-1].path == str(own)
    assert hints(repository) == []


def test_nothing_above_the_git_root_is_used(repository: Path) -> None:
    inner = repository / "vendored"
    (inner / ".git").mkdir(parents=True)
    (inner / "src").mkdir()
    for start in (inner, inner / "src"):
        assert locate_tiers(around(start), SEARCHING)[-1].base == str(start)
        assert hints(start) == []


def test_without_a_git_root_no_parent_is_used(
    workspace: Path, project_index: Path
) -> None:
    project_index.write_text("- fact\n")
    below = workspace / "below"
    below.mkdir()
    assert locate_tiers(around(below), SEARCHING)[-1].base == str(below)


@pytest.mark.parametrize("name", ["api", "services"])
def test_parents_are_those_of_the_real_directory(
    repository: Path, project_index: Path, link: Link, tmp_path: Path, name: str
) -> None:
    """A workspace that is a link stands where the link leads."""
    real = repository if name == "api" else repository.parent
    alias = link(tmp_path / "elsewhere" / "alias", real)
    assert f"{project_index} is" in hints(alias)[0]
    tier = locate_tiers(around(alias), SEARCHING)[-1]
    assert tier.path == str(project_index)
    levels = "../../" if name == "api" else "../"
    assert tier.shown_as == f"{levels}.openhands/memory/MEMORY.md"


def test_a_link_to_a_root_searches_nothing_above_the_link(
    workspace: Path, project_index: Path, link: Link, tmp_path: Path
) -> None:
    project_index.write_text("- CANARY\n")
    (workspace / ".git").mkdir()
    (tmp_path / "other" / ".git").mkdir(parents=True)
    alias = link(workspace / "alias", tmp_path / "other")
    assert locate_tiers(around(alias), SEARCHING)[-1].base == str(alias)
    assert hints(alias) == []


# --- Mistakes ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["memory.md", "Memory.md", "MEMORY.MD"])
def test_a_name_in_the_wrong_case_is_a_hint(
    workspace: Path, project_index: Path, name: str
) -> None:
    project_index.with_name(name).write_text("- fact\n")
    if project_index.exists():
        pytest.skip("this file system takes the names for the same")
    (hint,) = hints(workspace)
    assert str(project_index.with_name(name)) in hint
    assert "must be MEMORY.md" in hint


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (".openhands/Memory/MEMORY.md", "memory"),
        (".OpenHands/memory/MEMORY.md", ".openhands"),
        (".OPENHANDS/Memory/memory.md", ".openhands"),
    ],
)
def test_a_directory_in_the_wrong_case_is_a_hint(
    workspace: Path, memory_home: Path, path: str, wanted: str
) -> None:
    for root, options in ((workspace, DEFAULT), (memory_home, DEFAULT)):
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text("- fact\n")
        if (root / ".openhands" / "memory" / "MEMORY.md").exists():
            pytest.skip("this file system takes the names for the same")
        found = list(find_hints(around(workspace, memory_home), options))
        (hint,) = [text for text in found if text.startswith(str(root))]
        assert f"is not read: the name must be {wanted}, in this case" in hint


def test_the_right_name_beside_a_wrong_one_is_no_hint(
    workspace: Path, project_index: Path
) -> None:
    project_index.with_name("memory.md").write_text("- fact\n")
    project_index.write_text("- fact\n")
    assert hints(workspace) == []


def test_a_link_that_was_checked_out_as_text_is_a_hint(
    workspace: Path, project_index: Path
) -> None:
    (workspace / "docs").mkdir()
    (workspace / "docs" / "MEMORY.md").write_text("- fact\n")
    project_index.write_text("../../docs/MEMORY.md")
    (hint,) = hints(workspace)
    assert "a link that git checked out as text" in hint


@pytest.mark.parametrize(
    "text",
    ["../../nowhere/MEMORY.md", "- see MEMORY.md", "# MEMORY.md", "a\nMEMORY.md"],
)
def test_a_text_that_only_ends_like_a_path_is_no_hint(
    workspace: Path, project_index: Path, text: str
) -> None:
    project_index.write_text(text)
    assert hints(workspace) == []


def test_a_linked_worktree_names_its_main_checkout(workspace: Path) -> None:
    (workspace / ".git").write_text("gitdir: /repo/.git/worktrees/wt\n")
    (hint,) = hints(workspace)
    assert f"{workspace} is in a linked git worktree of /repo" in hint


def test_hints_about_nothing_are_none(workspace: Path) -> None:
    assert hints(workspace) == []
    assert hints(workspace / "not there") == []
    assert hints(Path(os.sep)) == []


def test_a_link_out_of_the_workspace_gives_no_hint_of_what_is_there(
    workspace: Path, link: Link, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "MEMORY.md").write_text("/etc/CANARY/MEMORY.md")
    link(workspace / ".openhands" / "memory", tmp_path / "outside")
    assert hints(workspace) == []
