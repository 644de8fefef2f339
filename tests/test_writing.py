"""Files are created whole, with their modes, and never over another."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from openhands_memory.errors import MemoryFileError
from openhands_memory.layout import TierPlace, project_place, user_place
from openhands_memory.writing import create_file, replace_private_file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[None]:
    previous = os.umask(0o022)
    yield
    os.umask(previous)


@pytest.mark.usefixtures("umask")
def test_each_level_of_the_user_tier_is_the_users_alone(tmp_path: Path) -> None:
    base = tmp_path / "persist" / "openhands"
    place = user_place(home=str(tmp_path), persistence_dir=str(base))
    assert create_file(place, b"- fact\n")
    assert mode(tmp_path / "persist") == mode(base) == mode(base / "memory") == 0o700
    assert mode(base / "memory" / "MEMORY.md") == 0o600


@pytest.mark.usefixtures("umask")
def test_the_project_tier_has_the_modes_of_its_repository(tmp_path: Path) -> None:
    assert create_file(project_place(str(tmp_path)), b"- fact\n")
    assert mode(tmp_path / ".openhands" / "memory") == 0o755
    assert mode(tmp_path / ".openhands" / "memory" / "MEMORY.md") == 0o644


@pytest.mark.parametrize("kind", ["file", "directory", "dangling link", "link"])
def test_what_exists_is_never_overwritten(kind: str, tmp_path: Path) -> None:
    place = project_place(str(tmp_path))
    there = Path(place.path)
    there.parent.mkdir(parents=True)
    outside = tmp_path / "outside"
    if kind == "file":
        there.write_text("mine")
    elif kind == "directory":
        there.mkdir()
    else:
        there.symlink_to(outside)
        if kind == "link":
            outside.write_text("theirs")
    assert not create_file(place, b"ours")
    assert os.listdir(there.parent) == ["MEMORY.md"]
    assert not outside.exists() or outside.read_text() == "theirs"


@pytest.mark.parametrize("part", [".openhands", "memory"])
def test_a_linked_directory_is_not_written_through(part: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace = tmp_path / "ws"
    parent = workspace if part == ".openhands" else workspace / ".openhands"
    parent.mkdir(parents=True)
    (parent / part).symlink_to(outside)
    with pytest.raises(MemoryFileError, match="nothing is written there"):
        create_file(project_place(str(workspace)), b"ours")
    assert list(outside.rglob("*")) == []


def test_a_failure_names_path_reason_and_remedy(tmp_path: Path) -> None:
    (tmp_path / ".openhands").write_text("a file")
    with pytest.raises(MemoryFileError) as caught:
        create_file(project_place(str(tmp_path)), b"ours")
    assert str(caught.value).startswith(str(tmp_path / ".openhands" / "memory"))


def test_replacing_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "state" / "approvals.json"
    replace_private_file(str(file), b"one")
    replace_private_file(str(file), b"two")
    assert file.read_bytes() == b"two"
    assert os.listdir(file.parent) == ["approvals.json"]
    assert (mode(file.parent), mode(file)) == (0o700, 0o600)


def test_a_failed_replacement_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "state"
    (file / "name").mkdir(parents=True)
    with pytest.raises(MemoryFileError):
        replace_private_file(str(file / "name"), b"new")
    assert os.listdir(file) == ["name"]


def test_places_are_values() -> None:
    place = TierPlace("user", "/h", ("memory", "MEMORY.md"), "~/m", confined=False)
    assert place == place._replace(confined=False)
