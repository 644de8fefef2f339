"""Whoever is killed while a result is put in place, and a person who edits after that."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from generation.kit import Desk
from generation.scripted import INDEX, SANDBOX_INDEX, Edit, answer, put

from openhands_memory.generation.placing import finish_begun, put_in_place
from openhands_memory.generation.stage import Stage
from openhands_memory.generation.state import (
    drop_proposal,
    keep_begun,
    load_begun,
    load_proposal,
)
from openhands_memory.layout import GENERATED_END

SKILL = "skills/uv/SKILL.md"
INDEXES = {INDEX, SANDBOX_INDEX}
#: It names a rollout, and would leave with that if it counted as generated.
BY_HAND = "- written by hand [^b]"


def both(*facts: str, skill: str = "") -> Callable[[Stage], None]:
    """An edit that brings facts into both indexes, where they are not there yet."""

    def edit(stage: Stage) -> None:
        for name in INDEXES & stage.files.keys():
            there = stage.files[name].split("\n")
            put(stage, [fact for fact in facts if fact not in there], name)
        if skill and SKILL not in stage.files:
            stage.create(SKILL, skill)

    return edit


def killed(desk: Desk, rollout_id: str, edit: Edit, placed: int) -> tuple[str, ...]:
    """Generate from a conversation, and die with so many files in place; those."""
    desk.record(rollout_id, "work")
    report = desk.generate([answer()], [edit], review=True)
    assert report.consolidated == "proposed", report
    result = load_proposal(desk.files.directory)
    assert result
    drop_proposal(desk.files.directory)
    keep_begun(desk.files.directory, result)
    done = dict(islice(result.files.items(), placed))
    assert len(done) == placed
    put_in_place(desk.files, done, now=desk.clock.now(), reason=result.reason)
    return tuple(done)


def insert(path: Path, line: str) -> None:
    path.write_text(path.read_text().replace(GENERATED_END, f"{line}\n{GENERATED_END}"))


def remove(path: Path, line: str) -> None:
    path.write_text(path.read_text().replace(f"{line}\n", ""))


def leave(desk: Desk, rollout_id: str) -> None:
    (desk.memory / "raw_memories" / f"{rollout_id}.md").unlink()
    report = desk.generate()
    assert (report.consolidated, report.llm_calls) == ("accepted", 0), report


def lines_of(desk: Desk, name: str) -> list[str]:
    return (desk.memory / name).read_text().split("\n")


@pytest.fixture
def sandbox(workspace: Path) -> Desk:
    """One with two indexes, which know a first conversation."""
    desk = Desk(workspace, sandbox=True)
    desk.record("a", "work")
    desk.generate([answer()], [both("- The team uses uv. [^a]")])
    return desk


@pytest.mark.parametrize("placed", [0, 1, 2])
@pytest.mark.parametrize("edited", [INDEX, SANDBOX_INDEX])
def test_what_was_in_place_leaves_with_its_rollout_and_a_persons_line_stays(
    placed: int, edited: str, sandbox: Desk
) -> None:
    edit = both("- Tests run with tox. [^b]")
    killed(sandbox, "b", edit, placed)
    insert(sandbox.memory / edited, BY_HAND)
    assert sandbox.selected == ["a"]
    assert sandbox.generate((), [edit]).consolidated == "accepted"
    assert load_begun(sandbox.files.directory) is None
    assert sandbox.selected == ["b", "a"]
    for name in sandbox.files.written:
        assert lines_of(sandbox, name).count("- Tests run with tox. [^b]") == 1
    leave(sandbox, "b")
    for name in sandbox.files.written:
        lines = lines_of(sandbox, name)
        assert "- Tests run with tox. [^b]" not in lines
        assert "- The team uses uv. [^a]" in lines
        assert (BY_HAND in lines) == (name == edited)


def test_a_first_generation_leaves_no_selection_and_yet_is_known(desk: Desk) -> None:
    edit = both("- Tests run with tox. [^b]")
    killed(desk, "b", edit, 1)
    assert not desk.selection.exists()
    insert(desk.index, BY_HAND)
    assert desk.generate((), [edit]).consolidated == "accepted"
    leave(desk, "b")
    assert BY_HAND in lines_of(desk, INDEX)
    assert "- Tests run with tox. [^b]" not in lines_of(desk, INDEX)


def test_a_fact_that_a_person_removed_after_it_was_in_place_stays_away(
    sandbox: Desk,
) -> None:
    fact = "- Tests run with tox. [^b]"
    edit = both(fact)
    assert killed(sandbox, "b", edit, 1) == (INDEX,)
    remove(sandbox.memory / INDEX, fact)
    insert(sandbox.memory / INDEX, BY_HAND)
    sandbox.generate((), [edit])
    assert fact not in lines_of(sandbox, INDEX)
    assert fact in lines_of(sandbox, SANDBOX_INDEX)


def test_a_fact_that_a_person_removed_before_stays_away(sandbox: Desk) -> None:
    remove(sandbox.memory / INDEX, "- The team uses uv. [^a]")
    tests = both("- Tests run with tox. [^b]")
    killed(sandbox, "b", tests, 1)
    insert(sandbox.memory / INDEX, BY_HAND)
    again = "- The team uses uv. [^b]"
    sandbox.generate((), [both("- Tests run with tox. [^b]", again)])
    assert again not in lines_of(sandbox, INDEX)


def test_a_file_that_was_remembered_and_not_written_is_not_in_place(
    sandbox: Desk,
) -> None:
    fact = "- Tests run with tox. [^b]"
    before = (sandbox.memory / INDEX).read_bytes()
    killed(sandbox, "b", both(fact), 2)
    (sandbox.memory / INDEX).write_bytes(before)
    insert(sandbox.memory / SANDBOX_INDEX, BY_HAND)
    sandbox.generate((), [both(fact)])
    assert fact in lines_of(sandbox, INDEX)


def test_where_nothing_was_in_place_there_is_nothing_to_know(by_hand: Desk) -> None:
    killed(by_hand, "b", both("- Tests run with tox. [^b]"), 0)
    by_hand.index.write_text("- by hand\n")
    finish_begun(by_hand.files, now=by_hand.clock.now())
    assert load_begun(by_hand.files.directory) is None
    assert not by_hand.selection.exists()


def test_a_fact_that_the_result_had_replaced_was_not_removed_by_a_person(
    sandbox: Desk,
) -> None:
    old, new = "- The team uses uv. [^a]", "- The team uses uv, not pip. [^a]"

    def reword(stage: Stage) -> None:
        for name in INDEXES:
            stage.create(name, stage.files[name].replace(old, new))

    killed(sandbox, "b", reword, 1)
    insert(sandbox.memory / INDEX, BY_HAND)
    sandbox.generate((), [both()])
    remove(sandbox.memory / INDEX, new)
    sandbox.record("c", "work")
    again = "- The team uses uv. [^c]"
    sandbox.generate([answer()], [both(again)])
    assert again in lines_of(sandbox, INDEX)


def test_a_skill_that_was_in_place_leaves_with_its_rollout(sandbox: Desk) -> None:
    text = "---\nname: uv\ndescription: How to use uv here.\n---\n\n- Run uv sync.\n"
    edit = both("- Tests run with tox. [^b]", skill=text)
    assert SKILL in killed(sandbox, "b", edit, 3)
    insert(sandbox.index, BY_HAND)
    sandbox.generate((), [edit])
    leave(sandbox, "b")
    assert not (sandbox.memory / SKILL).exists()
