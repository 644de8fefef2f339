"""Rollouts on disk become raw memories and summaries: which, how often, at what cost."""

import os
import re
import shutil

import pytest
from generation.kit import Caps, Desk, contents
from generation.scripted import (
    NOTHING,
    Scripted,
    adding,
    answer,
    noting,
)

from openhands_memory.generation.models import (
    ContextTooLongError,
    ModelCallError,
)
from openhands_memory.generation.raw_memory import Header
from openhands_memory.generation.state import load_ledger
from openhands_memory.trust import state_directory

NO_CALLS = 0


def forget_state() -> None:
    shutil.rmtree(state_directory())


# --- How often --------------------------------------------------------------------------


def test_an_unchanged_rollout_is_never_extracted_again(desk: Desk) -> None:
    desk.record("a", "use uv")
    first = desk.generate([answer()], [noting])
    assert (first.extracted, first.llm_calls) == (1, 2)
    again = desk.generate()
    assert (again.extracted, again.llm_calls, again.consolidated) == (0, 0, "none")


def test_nor_is_it_when_the_ledger_was_deleted(desk: Desk) -> None:
    desk.record("a", "use uv")
    desk.generate([answer()], [noting])
    before = contents(desk.workspace)
    forget_state()
    again = desk.generate()
    assert (again.extracted, again.llm_calls, again.pending) == (0, 0, 0)
    assert contents(desk.workspace) == before
    assert not load_ledger(desk.files.directory).is_pending(
        "a", (desk.sessions / "a.jsonl").stat().st_size
    )


@pytest.mark.parametrize("lost", [False, True], ids=["ledger kept", "ledger lost"])
def test_a_rollout_that_has_grown_is_extracted_once_more(
    lost: bool, desk: Desk
) -> None:
    desk.record("a", "use uv")
    desk.generate([answer()], [noting])
    desk.record("a", "no, use pixi")
    if lost:
        forget_state()
    models = Scripted([answer("- The team uses pixi.", slug="pixi")], [noting])
    report = desk.run(models)
    assert (report.extracted, report.llm_calls) == (1, 2)
    assert "use uv" in models.asked[0][1]
    assert "no, use pixi" in models.asked[0][1]
    assert desk.raw("a").body == "- The team uses pixi."
    assert desk.summaries == ["a_pixi.md"]
    assert desk.generate().llm_calls == NO_CALLS


def test_what_grows_while_it_is_read_is_extracted_in_the_end(desk: Desk) -> None:
    desk.record("a", "use uv")

    def says_while_it_grows() -> str:
        desk.record("a", "no, use pixi")
        return answer()

    desk.generate([says_while_it_grows], [noting])
    desk.generate([answer("- pixi")], [noting])
    assert desk.raw("a").body == "- pixi"
    assert desk.generate().llm_calls == NO_CALLS


def test_a_failure_is_tried_three_times_in_all_until_the_rollout_grows(
    desk: Desk,
) -> None:
    desk.record("a", "use uv")
    prose = "I think the team uses uv."
    for attempt in range(3):
        report = desk.generate([prose, prose])
        assert [f.rollout_id for f in report.failed] == ["a"], attempt
        assert "no JSON object" in report.failed[0].reason
        assert report.failed[0].stage == "extraction"
    for _ in range(2):
        report = desk.generate()
        assert (report.llm_calls, report.failed, report.pending) == (0, (), 0)
    desk.record("a", "really")
    for _ in range(3):
        assert len(desk.generate([prose, prose]).failed) == 1
    assert desk.generate().llm_calls == NO_CALLS
    assert desk.generate([answer()], [noting], retry=True).extracted == 1
    assert desk.generate(retry=True).llm_calls == NO_CALLS


def test_a_repaired_answer_is_a_success(desk: Desk) -> None:
    desk.record("a", "use uv")
    models = Scripted(['{"rollout_slug": "x"}', answer()], [noting])
    report = desk.run(models)
    assert (report.extracted, report.failed) == (1, ())
    assert "no rollout_summary and no raw_memory" in models.asked[1][1]
    assert models.asked[1][1].startswith(models.asked[0][1])


def test_nothing_worth_keeping_is_a_success_that_leaves_no_file(desk: Desk) -> None:
    desk.record("a", "hello")
    report = desk.generate([NOTHING])
    assert (report.empty, report.extracted, report.consolidated) == (1, 0, "none")
    assert (desk.raw_memories, desk.summaries) == ([], [])
    assert desk.generate().llm_calls == NO_CALLS


def test_what_a_rollout_was_worth_it_still_is_when_it_grows(desk: Desk) -> None:
    desk.record("a", "use uv")
    desk.generate([answer()], [noting])
    desk.record("a", "thanks")
    report = desk.generate([NOTHING])
    assert (report.empty, report.consolidated) == (1, "none")
    assert desk.raw("a").body == "- The team uses uv, not pip."
    assert desk.summaries == ["a_use-uv.md"]
    forget_state()
    assert desk.generate().llm_calls == NO_CALLS


def test_the_newest_come_last_and_each_has_its_header(desk: Desk) -> None:
    desk.record("b", "one")
    desk.record("a", "two", state="failed")
    for number, name in enumerate(("b", "a")):
        os.utime(desk.sessions / f"{name}.jsonl", ns=(0, number))
    models = Scripted([answer(slug="first"), answer(slug="second")], [noting])
    desk.run(models)
    assert ["one" in models.asked[0][1], "two" in models.asked[1][1]] == [True, True]
    assert desk.raw("a").header == Header(
        "a",
        "2026-11-30T12:00:02+00:00",
        ".openhands/memory/sessions/a.jsonl",
        "rollout_summaries/a_second.md",
        "failed",
    )


def test_an_earlier_summary_that_a_crash_left_is_swept(desk: Desk) -> None:
    """It died between the new raw memory and the removal of the old summary."""
    desk.record("a", "work")
    desk.generate([answer(slug="new")], [noting])
    new = desk.memory / "rollout_summaries" / "a_new.md"
    (new.parent / "a_old.md").write_text(new.read_text().replace("new", "old"))
    forget_state()
    assert desk.generate().llm_calls == NO_CALLS
    assert desk.summaries == ["a_new.md"]


# --- Counts -----------------------------------------------------------------------------


#: Replies of a first model, each with what it is (B39).
REPLIES: dict[str, tuple[str, str]] = {
    "valid": (answer(), "extracted"),
    "fenced": (f"Here it is:\n```json\n{answer()}\n```\nDone.", "extracted"),
    "missing": ('{"rollout_slug": "x", "raw_memory": "- y"}', "failed"),
    "types": ('{"rollout_slug": 1, "rollout_summary": [], "raw_memory": {}}', "failed"),
    "escape": (answer(slug="/../" * 5000 + "C:evil" * 3300), "extracted"),
    "empty": (NOTHING, "empty"),
    "partly": (answer(""), "failed"),
    "nothing": ("", "failed"),
    "huge": ("x" * 100_000, "failed"),
    "broken": (answer()[:-9], "failed"),
}


def test_what_is_reported_is_what_is_stored(desk: Desk) -> None:
    script: list[str] = []
    for at, (name, (reply, outcome)) in enumerate(REPLIES.items()):
        desk.record(name, "work")
        os.utime(desk.sessions / f"{name}.jsonl", ns=(at, at))
        script += [reply] * (2 if outcome == "failed" else 1)
    report = desk.generate(script, [noting])

    def of(outcome: str) -> list[str]:
        return sorted(name for name, reply in REPLIES.items() if reply[1] == outcome)

    assert report.extracted == len(of("extracted"))
    assert desk.raw_memories == of("extracted")
    assert [re.split("_", s)[0] for s in desk.summaries] == of("extracted")
    assert report.empty == len(of("empty"))
    assert sorted(f.rollout_id for f in report.failed) == of("failed")
    assert all(len(failure.reason) > 10 for failure in report.failed)
    assert report.llm_calls == len(script) + 1
    assert report.pending == len(report.failed)
    states = load_ledger(desk.files.directory).rollouts
    assert {i: o.state for i, o in states.items()} == {
        name: outcome for name, (_, outcome) in REPLIES.items()
    }
    slug = next(s for s in desk.summaries if s.startswith("escape_"))
    assert len(slug) <= len("escape_.md") + 60
    assert re.fullmatch(r"escape_[a-z0-9_-]+\.md", slug)
    assert {p.name for p in desk.workspace.iterdir()} == {".openhands"}


def test_a_torn_line_costs_its_run_only(desk: Desk) -> None:
    """B29: line 3 of 5."""
    for number in range(5):
        desk.record("a", f"run {number}")
    file = desk.sessions / "a.jsonl"
    lines = file.read_bytes().split(b"\n")
    lines[2] = b'{"type":"mess'
    file.write_bytes(b"\n".join(lines))
    models = Scripted([answer()], [noting])
    report = desk.run(models)
    task = models.asked[0][1]
    assert (report.damaged_lines, report.extracted) == (1, 1)
    assert [f"run {n}" in task for n in range(5)] == [True, True, False, True, True]
    assert "1 (line 3)" in task


def test_a_rollout_without_a_whole_line_is_a_failure_that_costs_nothing(
    desk: Desk,
) -> None:
    desk.sessions.mkdir(parents=True)
    (desk.sessions / "a.jsonl").write_bytes(b"\0\xff{[\n" * 3)
    (desk.sessions / "b.jsonl").write_bytes(b"")
    report = desk.generate()
    assert (report.damaged_lines, report.empty, report.llm_calls) == (3, 1, 0)
    assert [(f.rollout_id, f.stage) for f in report.failed] == [("a", "file")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_rollout_that_may_not_be_read_costs_itself_only(desk: Desk) -> None:
    desk.record("a", "work")
    desk.record("b", "work")
    (desk.sessions / "a.jsonl").chmod(0)
    report = desk.generate([answer()], [noting])
    assert [(f.rollout_id, f.stage) for f in report.failed] == [("a", "file")]
    assert "permission denied" in report.failed[0].reason
    assert (report.extracted, report.consolidated) == (1, "accepted")
    (desk.sessions / "a.jsonl").chmod(0o600)
    assert desk.generate([answer()], [noting]).extracted == 1


# --- Models that fail -------------------------------------------------------------------


def test_a_model_that_does_not_answer_is_not_asked_about_everything(desk: Desk) -> None:
    for number in range(5):
        desk.record(f"r{number}", "work")
    silent = ModelCallError("the model timed out")
    report = desk.generate([silent] * 3)
    assert [(f.stage, f.reason) for f in report.failed] == [
        ("model", "the model timed out")
    ] * 3
    assert (report.pending, report.llm_calls) == (5, 3)
    report = desk.generate([answer()] * 5, [noting])
    assert (report.extracted, report.pending) == (5, 0)


def test_a_rollout_that_is_too_long_is_sent_with_less_of_it(desk: Desk) -> None:
    for number in range(40):
        desk.record("a", f"<{number}>" + "x" * 5000)
    too_long = ContextTooLongError("too long")
    models = Scripted([too_long, too_long, answer()], [noting])
    models.chars = 150_000
    report = desk.run(models)
    sizes = [len(task) for _, task in models.asked]
    assert sizes[0] > 140_000 > sizes[1] > 70_000 > sizes[2] > 30_000
    assert "<0>" in models.asked[2][1]
    assert "<39>" in models.asked[2][1]
    assert re.search(r"\[\.\.\. \d+ items are left out here", models.asked[2][1])
    assert (report.extracted, report.damaged_lines) == (1, 0)


def test_one_that_is_always_too_long_fails_after_a_few_tries(desk: Desk) -> None:
    desk.record("a", "work")
    report = desk.generate([ContextTooLongError("too long")] * 5)
    assert [f.reason for f in report.failed] == ["too long"]


# --- Caps -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cap", "caps", "used"),
    [
        ("tokens", Caps(max_tokens=20), {"tokens": 10, "cost": 0.0}),
        ("cost", Caps(max_cost=0.5), {"tokens": 0, "cost": 0.25}),
    ],
)
def test_a_cap_stops_the_extraction_and_keeps_what_was_done(
    cap: str, caps: Caps, used: dict[str, float], desk: Desk
) -> None:
    for number in range(4):
        desk.record(f"r{number}", "work")
    models = Scripted([answer(slug="s")] * 2)
    models.used = used
    report = desk.run(models, caps=caps)
    assert (report.capped_by, report.consolidated) == (cap, "skipped")
    assert report.reason == f"stopped at the cap on {cap} (max_{cap})"
    assert (report.extracted, report.pending) == (2, 2)
    assert len(desk.raw_memories) == 2
    assert not desk.index.exists()
    assert desk.generate([answer()] * 2, [noting]).extracted == 2


def test_time_that_is_up_stops_the_extraction_too(desk: Desk) -> None:
    desk.record("a", "work")
    desk.record("b", "work")

    def slow() -> str:
        desk.clock.seconds += 100
        return answer()

    report = desk.generate([slow])
    assert (report.capped_by, report.extracted, report.pending) == ("seconds", 1, 1)
    assert report.seconds == 100


def test_one_that_alone_reaches_the_cap_is_not_tried_for_ever(desk: Desk) -> None:
    """Its repair is never paid for: after three times it waits."""
    desk.record("a", "work")
    for _ in range(3):
        report = desk.generate(["no answer"], caps=Caps(max_tokens=10))
        assert report.capped_by == "tokens"
        assert [(f.rollout_id, f.stage) for f in report.failed] == [("a", "cap")]
    assert desk.generate(caps=Caps(max_tokens=10)).llm_calls == NO_CALLS


def test_after_a_stop_no_answer_is_written(desk: Desk) -> None:
    """The conversation closed meanwhile: its time was up, and nobody waits any more."""
    desk.record("a", "work")
    desk.record("b", "work")
    before = contents(desk.workspace)
    models = Scripted()

    def stopped() -> str:
        assert models.meter
        models.meter.stop("seconds")
        return answer()

    models.answers.append(stopped)
    report = desk.run(models)
    assert (report.capped_by, report.extracted) == ("seconds", 0)
    assert contents(desk.workspace) == before
    assert desk.generate([answer()] * 2, [noting]).extracted == 2


def test_the_summary_of_another_writer_goes_with_its_raw_memory(desk: Desk) -> None:
    """The original's summaries have another header (OpenAI Agents SDK 0.22)."""
    desk.put_raw("a", 1, "- old")
    [name] = desk.summaries
    old = desk.memory / "rollout_summaries" / name
    old.write_text("session_id: 1\nupdated_at: x\nrollout_path: y\n\nold\n")
    (old.parent / "a_note.md").write_text("a person's own\n")
    desk.record("a", "work")
    desk.generate([answer("- new", slug="other")], [adding("- new [^a]")])
    assert desk.summaries == ["a_note.md", "a_other.md"]
