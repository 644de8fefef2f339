"""Raw memories on disk become the index: which, how often, and as a whole."""

from pathlib import Path

import pytest
from generation.kit import PERSONS, ROOM, Caps, Desk, contents
from generation.scripted import (
    INDEX,
    SANDBOX_INDEX,
    Edit,
    Scripted,
    adding,
    answer,
    leaving,
    noting,
)

from openhands_memory.generation.models import (
    CapReachedError,
    ModelCallError,
)
from openhands_memory.generation.stage import Stage
from openhands_memory.generation.state import load_ledger
from openhands_memory.upkeep.change import history_of

NO_CALLS = 0


# --- Which raw memories -----------------------------------------------------------------


def test_leftovers_of_other_processes_are_consolidated(desk: Desk) -> None:
    """B37: raw memories without an index, and a selection that claims all is done."""
    for number in range(24):
        desk.put_raw(f"r{number}", number, f"- Fact {number}.")
    desk.generate([], [adding(*(f"- Fact {n}. [^r{n}]" for n in range(24)))])
    assert len(desk.selected) == 24
    desk.index.unlink()
    models = Scripted([], [adding(*(f"- Fact {n}. [^r{n}]" for n in range(24)))])
    report = desk.run(models)
    assert "selected 24, added 24, changed 0" in models.tasks[0][1]
    assert (report.consolidated, len(desk.facts)) == ("accepted", 24)
    assert desk.generate().llm_calls == NO_CALLS


@pytest.mark.parametrize("left", [b"", b"{", b"[]", b'{"selected": 1}', b"\xff\0"])
def test_a_damaged_selection_costs_a_consolidation_and_nothing_else(
    left: bytes, by_hand: Desk
) -> None:
    """B29: an empty ``phase_two_selection.json``."""
    by_hand.remember("a", "The team uses uv.")
    before = by_hand.index.read_bytes()
    by_hand.selection.write_bytes(left)
    report = by_hand.generate([], [adding("- The team uses uv. [^a]")])
    assert report.consolidated == "accepted"
    assert by_hand.index.read_bytes() == before
    assert by_hand.selected == ["a"]


def test_the_oldest_leave_and_take_only_what_they_alone_supported(desk: Desk) -> None:
    for number in range(3):
        desk.put_raw(f"r{number}", number, f"- Only {number}.\n- Shared by all.")
    facts = [f"- Only {n}. [^r{n}]" for n in range(3)]
    facts.append("- Shared by all. [^r0] [^r1] [^r2]")
    desk.generate([], [adding(*facts)], most=3)
    desk.put_raw("r3", 3, "- Only 3.")
    models = Scripted([], [adding("- Only 3. [^r3]")])
    report = desk.run(models, most=2)
    assert report.consolidated == "accepted"
    assert "selected 2, added 1, changed 0, retained 1, removed 2" in models.tasks[0][1]
    assert desk.facts == ["Only 2.", "Shared by all.", "Only 3."]
    assert "- Shared by all. [^r2]\n" in desk.index.read_text()
    assert desk.selected == ["r3", "r2"]
    merged = (desk.memory / "raw_memories.md").read_text()
    assert merged.index("Only 3") < merged.index("Only 2")
    assert "Only 1" not in merged


def test_rollouts_that_only_leave_need_no_model(by_hand: Desk) -> None:
    by_hand.remember("a", "The team uses uv.")
    by_hand.remember("b", "Tests need Redis.")
    report = by_hand.generate(most=1)
    assert (report.consolidated, report.llm_calls) == ("accepted", 0)
    assert by_hand.facts == ["Tests need Redis."]
    assert by_hand.index.read_text().startswith(PERSONS)
    assert by_hand.generate(most=1).consolidated == "none"


def test_a_removed_raw_memory_takes_its_facts_with_it(desk: Desk) -> None:
    desk.remember("a", "The team uses uv.")
    desk.remember("b", "Tests need Redis.")
    (desk.memory / "raw_memories" / "a.md").unlink()
    assert desk.generate().consolidated == "accepted"
    assert desk.facts == ["Tests need Redis."]


# --- Refusals and failures --------------------------------------------------------------


def test_a_repaired_result_is_accepted(by_hand: Desk) -> None:
    by_hand.record("a", "work")
    models = Scripted([answer()], [leaving(""), noting])
    assert by_hand.run(models).consolidated == "accepted"
    assert "missing or empty" in models.problems[0]


def test_a_refused_selection_is_tried_three_times_until_it_differs(
    by_hand: Desk,
) -> None:
    by_hand.record("a", "work")
    by_hand.generate([answer()], [leaving("")])
    for _ in range(2):
        assert by_hand.generate([], [leaving("")]).consolidated == "refused"
    report = by_hand.generate()
    assert (report.consolidated, report.llm_calls) == ("skipped", 0)
    assert "refused 3 times" in (report.reason or "")
    assert "missing or empty" in (report.reason or "")
    by_hand.record("b", "work")
    assert by_hand.generate([answer()], [noting]).consolidated == "accepted"
    assert by_hand.selected == ["b", "a"]


def test_a_refused_result_is_tried_anew_on_demand(by_hand: Desk) -> None:
    by_hand.record("a", "work")
    by_hand.generate([answer()], [leaving("")])
    for _ in range(2):
        by_hand.generate([], [leaving("")])
    assert by_hand.generate([], [noting], retry=True).consolidated == "accepted"


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (None, "it ended without finishing"),
        (ModelCallError("the model is overloaded"), "the model is overloaded"),
        (adding("- The team uses uv. [^nobody]"), "no rollout has the ref [^nobody]"),
        (adding("- See rollout_summaries/a_gone.md."), "there is no file"),
    ],
    ids=["never finished", "error", "ref", "path"],
)
def test_what_is_refused_leaves_memory_as_it_was(
    edit: Edit, reason: str, by_hand: Desk
) -> None:
    by_hand.record("a", "work")
    report = by_hand.generate([answer()], [edit])
    assert (report.consolidated, report.extracted) == ("refused", 1)
    assert reason in (report.reason or "")
    assert by_hand.index.read_text() == PERSONS
    assert not by_hand.selection.exists()
    assert by_hand.generate([], [noting]).consolidated == "accepted"


@pytest.mark.parametrize("cap", ["turns", "seconds", "tokens", "cost"])
def test_a_cap_in_the_middle_of_the_work_leaves_the_index_as_it_was(
    cap: str, by_hand: Desk
) -> None:
    by_hand.remember("a", "The team uses uv.")
    before = by_hand.index.read_bytes(), by_hand.selection.read_bytes()
    by_hand.record("b", "work")
    models = Scripted([answer()])

    def work_on(stage: Stage) -> None:
        noting(stage)
        raise CapReachedError(cap)  # pyright: ignore[reportArgumentType]

    models.edits.append(work_on)
    report = by_hand.run(models)
    assert (report.capped_by, report.consolidated) == (cap, "skipped")
    assert (by_hand.index.read_bytes(), by_hand.selection.read_bytes()) == before
    assert by_hand.generate([], [noting]).consolidated == "accepted"


def test_a_selection_that_alone_reaches_the_cap_is_not_tried_for_ever(
    by_hand: Desk,
) -> None:
    """B38: a model that never finishes."""
    by_hand.record("a", "work")
    by_hand.generate([answer()], [CapReachedError("turns")])
    for _ in range(2):
        assert by_hand.generate([], [CapReachedError("turns")]).capped_by == "turns"
    report = by_hand.generate()
    assert (report.llm_calls, report.consolidated) == (0, "skipped")
    assert "stopped at the cap on turns" in (report.reason or "")


def test_a_cap_between_the_phases_stops_before_the_second(by_hand: Desk) -> None:
    by_hand.record("a", "work")
    report = by_hand.generate([answer()], caps=Caps(max_tokens=10))
    assert (report.extracted, report.capped_by) == (1, "tokens")
    assert report.consolidated == "skipped"
    assert by_hand.index.read_text() == PERSONS


def test_after_a_stop_no_result_is_written(by_hand: Desk) -> None:
    by_hand.remember("a", "The team uses uv.")
    by_hand.record("b", "work")
    by_hand.generate([answer("- New.")], [None])
    models = Scripted()
    before = contents(by_hand.workspace)
    writes = len(history_of(str(by_hand.memory)))

    def stopped(stage: Stage) -> None:
        noting(stage)
        assert models.meter
        models.meter.stop("seconds")

    models.edits.append(stopped)
    report = by_hand.run(models)
    assert (report.capped_by, report.consolidated) == ("seconds", "skipped")
    assert contents(by_hand.workspace) == before
    assert len(history_of(str(by_hand.memory))) == writes


def test_a_read_only_index_is_not_replaced(by_hand: Desk) -> None:
    by_hand.index.chmod(0o444)
    by_hand.record("a", "work")
    report = by_hand.generate([answer()], [noting])
    assert report.consolidated == "refused"
    assert "is read-only (mode 0444" in (report.reason or "")
    assert by_hand.index.read_text() == PERSONS
    assert not by_hand.selection.exists()
    by_hand.index.chmod(0o644)
    assert by_hand.generate([], [noting]).consolidated == "accepted"


def test_of_two_files_both_are_replaced_or_none(workspace: Path) -> None:
    desk = Desk(workspace, sandbox=True)
    desk.memory.mkdir()
    handbook = desk.memory / INDEX
    handbook.write_text(PERSONS)
    desk.index.write_text(PERSONS)
    desk.index.chmod(0o444)
    desk.record("a", "work")

    def both(stage: Stage) -> None:
        noting(stage)
        adding("- Search for uv.", index=SANDBOX_INDEX)(stage)

    report = desk.generate([answer()], [both])
    assert report.consolidated == "refused"
    assert handbook.read_text() == desk.index.read_text() == PERSONS
    desk.index.chmod(0o644)
    assert desk.generate([], [both]).consolidated == "accepted"
    assert "One fact of all this. [^a]" in handbook.read_text()
    assert desk.facts == ["Search for uv."]


# --- Half done --------------------------------------------------------------------------


def died_before_the_selection(desk: Desk, *edits: Edit) -> None:
    """The index of *edits* is in place, and the selection is not."""
    desk.record("b", "work")
    desk.selection.chmod(0o444)
    report = desk.generate([answer("- Lint with ruff.")], edits)
    assert report.consolidated == "refused"
    desk.selection.chmod(0o644)
    assert desk.selected == ["a"]


def test_what_was_half_done_is_finished_without_a_model(by_hand: Desk) -> None:
    by_hand.remember("a", "The team uses uv.")
    died_before_the_selection(by_hand, adding("- Lint with ruff. [^b]"))
    before = by_hand.index.read_bytes()
    assert by_hand.facts == ["The team uses uv.", "Lint with ruff."]
    report = by_hand.generate()
    assert (report.llm_calls, report.consolidated, report.reason) == (0, "none", None)
    assert by_hand.index.read_bytes() == before
    assert by_hand.selected == ["b", "a"]
    (by_hand.memory / "raw_memories" / "b.md").unlink()
    assert by_hand.generate().consolidated == "accepted"
    assert by_hand.facts == ["The team uses uv."]


def test_what_was_half_done_and_then_edited_is_a_persons(by_hand: Desk) -> None:
    by_hand.remember("a", "The team uses uv.")
    died_before_the_selection(by_hand, adding("- Lint with ruff. [^b]"))
    edited = by_hand.index.read_text().replace("- and this", "- and that")
    by_hand.index.write_text(edited)
    report = by_hand.generate([], [adding("- Lint with ruff. [^b]")])
    assert report.consolidated == "accepted"
    assert by_hand.index.read_text() == edited
    assert by_hand.selected == ["b", "a"]


# --- The counts -------------------------------------------------------------------------


def test_the_report_counts_calls_tokens_and_cost(by_hand: Desk) -> None:
    by_hand.record("a", "work")
    by_hand.record("b", "work")
    models = Scripted(["?", answer(), answer()], [leaving(""), noting])
    models.used = {"tokens": 100, "cost": 0.25}
    report = by_hand.run(models)
    assert (report.llm_calls, report.tokens, report.cost) == (5, 500, 1.25)
    ledger = load_ledger(by_hand.files.directory)
    assert {i: o.state for i, o in ledger.rollouts.items()} == {
        "a": "extracted",
        "b": "extracted",
    }
    assert len(by_hand.index.read_text()) < ROOM
