"""A result that waits for a person: applied as shown, refused, or rejected."""

from pathlib import Path

import pytest
from generation.kit import PERSONS, Desk, contents
from generation.scripted import INDEX, SANDBOX_INDEX, Scripted, adding, answer, noting

from openhands_memory.errors import MemoryFileError
from openhands_memory.generation.placing import ChangedMeanwhileError
from openhands_memory.generation.review import (
    ReplacedError,
    apply_proposal,
    reject_proposal,
)
from openhands_memory.generation.stage import Stage
from openhands_memory.generation.state import (
    BusyError,
    Proposal,
    alone_in,
    load_proposal,
)
from openhands_memory.trust import state_directory
from openhands_memory.upkeep.change import history_of, undo


@pytest.fixture(params=["an index", "no index"])
def desk(request: pytest.FixtureRequest, workspace: Path, project_index: Path) -> Desk:
    if request.param == "an index":
        project_index.write_text(PERSONS)
    return Desk(workspace)


def propose(desk: Desk) -> Proposal:
    """What comes of a first conversation, and is not in place."""
    desk.record("a", "work")
    report = desk.generate([answer()], [noting], review=True)
    assert report.consolidated == "proposed"
    proposal = load_proposal(desk.files.directory)
    assert proposal
    return proposal


def index_of(desk: Desk) -> bytes | None:
    return desk.index.read_bytes() if desk.index.exists() else None


def accept(desk: Desk, proposal: Proposal) -> None:
    apply_proposal(desk.files, proposal, now=desk.clock.now())


def test_a_proposal_changes_nothing_until_it_is_applied(desk: Desk) -> None:
    before = index_of(desk)
    proposal = propose(desk)
    assert index_of(desk) == before
    assert not desk.selection.exists()
    assert set(proposal.files) == {INDEX}
    assert proposal.files[INDEX].before == before
    accept(desk, proposal)
    assert index_of(desk) == proposal.files[INDEX].after
    assert desk.facts == ["One fact of all this."]
    assert desk.selected == ["a"]
    assert load_proposal(desk.files.directory) is None
    assert desk.generate(review=True).llm_calls == 0
    [entry] = history_of(str(desk.memory))
    undo(desk.files.place(INDEX), entry, now=desk.clock.now(), writer="undo")
    assert index_of(desk) == before


def test_a_proposal_waits_without_a_model_being_asked_again(desk: Desk) -> None:
    proposal = propose(desk)
    report = desk.generate(review=True)
    assert (report.consolidated, report.llm_calls) == ("skipped", 0)
    assert "openhands-memory review" in (report.reason or "")
    assert load_proposal(desk.files.directory) == proposal


def test_a_proposal_is_refused_when_the_file_has_changed(desk: Desk) -> None:
    proposal = propose(desk)
    desk.index.write_text("- meanwhile\n")
    before = contents(desk.workspace)
    with pytest.raises(ChangedMeanwhileError, match=r"MEMORY\.md was changed"):
        accept(desk, proposal)
    assert contents(desk.workspace) == before
    assert history_of(str(desk.memory)) == []
    report = desk.generate([], [noting], review=True)
    assert report.consolidated == "proposed"
    proposal = load_proposal(desk.files.directory)
    assert proposal
    accept(desk, proposal)
    assert desk.index.read_text().startswith("- meanwhile\n")


def test_what_was_rejected_is_not_proposed_again(desk: Desk) -> None:
    before = index_of(desk)
    reject_proposal(desk.files, propose(desk))
    assert index_of(desk) == before
    assert load_proposal(desk.files.directory) is None
    for review in (True, False):
        report = desk.generate(review=review)
        assert (report.consolidated, report.llm_calls) == ("none", 0)
    assert index_of(desk) == before


def test_after_a_rejection_what_is_new_is_proposed(desk: Desk) -> None:
    reject_proposal(desk.files, propose(desk))
    desk.record("b", "work")
    models = Scripted([answer("- Lint with ruff.")], [adding("- Lint with ruff. [^b]")])
    report = desk.run(models, review=True)
    assert report.consolidated == "proposed"
    assert "added 1" in models.tasks[0][1]
    proposal = load_proposal(desk.files.directory)
    assert proposal
    accept(desk, proposal)
    assert desk.facts == ["Lint with ruff."]
    assert set(desk.selected) == {"a", "b"}


def test_a_rejected_fact_does_not_slip_in_with_the_next_result(desk: Desk) -> None:
    reject_proposal(desk.files, propose(desk))
    desk.record("b", "work")

    def both(stage: Stage) -> None:
        noting(stage)
        adding("- Lint with ruff. [^b]")(stage)

    desk.generate([answer("- Lint with ruff.")], [both])
    assert desk.facts == ["Lint with ruff."]


def test_a_newer_result_takes_the_place_of_an_older_one(desk: Desk) -> None:
    older = propose(desk)
    desk.record("b", "work")

    def both(stage: Stage) -> None:
        noting(stage)
        adding("- Lint with ruff. [^b]")(stage)

    assert desk.generate([answer()], [both], review=True).consolidated == "proposed"
    newer = load_proposal(desk.files.directory)
    assert newer
    before = contents(desk.workspace)
    with pytest.raises(ReplacedError):
        accept(desk, older)
    with pytest.raises(ReplacedError):
        reject_proposal(desk.files, older)
    assert contents(desk.workspace) == before
    assert load_proposal(desk.files.directory) == newer
    accept(desk, newer)
    assert len(desk.facts) == 2


def test_what_is_accepted_without_review_replaces_what_waits(desk: Desk) -> None:
    propose(desk)
    desk.record("b", "work")
    assert desk.generate([answer()], [noting]).consolidated == "accepted"
    assert load_proposal(desk.files.directory) is None


def test_nothing_is_applied_while_memory_is_generated(desk: Desk) -> None:
    propose(desk)
    desk.record("b", "work")
    busy: list[BusyError] = []

    def meanwhile(stage: Stage) -> None:
        with (
            pytest.raises(BusyError) as caught,
            alone_in(desk.files.directory, seconds=0),
        ):
            noting(stage)
        busy.append(caught.value)
        noting(stage)

    assert desk.generate([answer()], [meanwhile]).consolidated == "accepted"
    assert [error.directory for error in busy] == [str(desk.memory)]
    with alone_in(desk.files.directory, seconds=0):
        assert load_proposal(desk.files.directory) is None


@pytest.mark.parametrize("read_only", [INDEX, SANDBOX_INDEX])
def test_of_two_files_of_a_proposal_both_are_replaced_or_none(
    read_only: str, workspace: Path
) -> None:
    desk = Desk(workspace, sandbox=True)
    desk.memory.mkdir()
    for name in (INDEX, SANDBOX_INDEX):
        (desk.memory / name).write_text(PERSONS)

    def both(stage: Stage) -> None:
        noting(stage)
        adding("- Search for uv.", index=SANDBOX_INDEX)(stage)

    desk.record("a", "work")
    desk.generate([answer()], [both], review=True)
    proposal = load_proposal(desk.files.directory)
    assert proposal
    (desk.memory / read_only).chmod(0o444)
    with pytest.raises(MemoryFileError, match="is read-only"):
        accept(desk, proposal)
    for name in (INDEX, SANDBOX_INDEX):
        assert (desk.memory / name).read_text() == PERSONS
    assert not desk.selection.exists()
    (desk.memory / read_only).chmod(0o644)
    accept(desk, proposal)
    assert desk.facts == ["Search for uv."]


def test_a_damaged_proposal_is_none(desk: Desk) -> None:
    propose(desk)
    [file] = state_directory().glob("generation/*/proposal.json")
    for text in ("", "{", "[]", '{"files": {"a": 1}}', file.read_text()[:-9]):
        file.write_text(text)
        assert load_proposal(desk.files.directory) is None
    assert desk.generate([], [noting], review=True).consolidated == "proposed"
