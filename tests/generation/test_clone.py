"""A repository that others generate in as well: what came with a clone stays."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from generation.kit import Desk
from generation.scripted import INDEX, adding, answer

from openhands_memory.generation.stage import Stage

COMMITTED = ("MEMORY.md", "phase_two_selection.json")


@pytest.fixture
def clone(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A clone for somebody with a machine of their own, who has no rollout yet."""
    desk.remember("theirs", "The staging database is read-only.")
    theirs = Desk(tmp_path / "clone")
    theirs.memory.mkdir(parents=True)
    for name in COMMITTED:
        shutil.copy(desk.memory / name, theirs.memory / name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state of somebody else"))
    return theirs


def test_facts_of_rollouts_that_are_elsewhere_are_not_taken_for_removed(
    clone: Desk,
) -> None:
    report = clone.remember("ours", "Deploy with make ship.")
    assert report.consolidated == "accepted"
    assert clone.facts == [
        "The staging database is read-only.",
        "Deploy with make ship.",
    ]
    assert "[^theirs]" in clone.index.read_text()
    assert sorted(clone.selected) == ["ours", "theirs"]
    assert clone.generate().consolidated == "none"


@pytest.mark.parametrize("keeps_selection", [True, False])
def test_a_line_with_a_ref_from_elsewhere_may_be_reworded(
    clone: Desk, *, keeps_selection: bool
) -> None:
    if not keeps_selection:
        clone.selection.unlink()
    clone.record("ours", "It is writable on Fridays.")

    def reword(stage: Stage) -> None:
        old = "is read-only. [^theirs]"
        stage.replace(INDEX, old, "is read-only but on Fridays. [^theirs] [^ours]")

    report = clone.generate([answer("- It is writable on Fridays.")], [reword])
    assert report.consolidated == "accepted"
    line = "- The staging database is read-only but on Fridays. [^theirs] [^ours]\n"
    assert line in clone.index.read_text()


def test_a_ref_that_stands_nowhere_is_refused(clone: Desk) -> None:
    clone.record("ours", "Deploy with make ship.")
    invented: Callable[[Stage], None] = adding("- Deploy with make ship. [^nobody]")
    report = clone.generate([answer("- Deploy with make ship.")], [invented])
    assert report.consolidated == "refused"
    assert "[^nobody]" in (report.reason or "")
