"""Recording and generating as a whole: at once, killed at any moment, and again."""

import json
import multiprocessing
import os
import random
import shutil
import threading
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from generation.kit import Caps, Desk, contents
from generation.scripted import SANDBOX_INDEX, Diligent, adding, answer, noting

from openhands_memory.context.resolve import resolve_memory
from openhands_memory.errors import MemoryFileError
from openhands_memory.generation.report import Generation
from openhands_memory.generation.rollout import parse_segment
from openhands_memory.generation.stage import Stage
from openhands_memory.generation.state import load_ledger, locked
from openhands_memory.trust import state_directory

NO_CALLS = 0
FORK = multiprocessing.get_context("fork")


# --- Record -----------------------------------------------------------------------------


def test_a_run_is_one_line_that_is_there_when_it_returns(desk: Desk) -> None:
    desk.record("a", "use uv\nplease")
    desk.record("a", "thanks", state="cancelled")
    data = (desk.sessions / "a.jsonl").read_bytes()
    found = [parse_segment(line) for line in data.split(b"\n")[:-1]]
    assert [s.input[0]["content"] for s in found] == ["use uv\nplease", "thanks"]
    assert [s.terminal.terminal_state for s in found] == ["completed", "cancelled"]
    assert (desk.sessions / "a.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_torn_line_is_healed_by_the_next_one(desk: Desk) -> None:
    desk.record("a", "one")
    with (desk.sessions / "a.jsonl").open("ab") as rollout:
        rollout.write(b'{"updated_at":"2026')
    desk.record("a", "two")
    report = desk.generate([answer()], [noting])
    assert (report.extracted, report.damaged_lines) == (1, 1)


def test_a_rollout_that_is_a_link_is_not_written_through(
    desk: Desk, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"theirs")
    desk.sessions.mkdir(parents=True)
    (desk.sessions / "a.jsonl").symlink_to(outside)
    with pytest.raises(MemoryFileError, match="is a link"):
        desk.record("a", "one")
    assert outside.read_bytes() == b"theirs"


# --- Generate ---------------------------------------------------------------------------


def test_where_there_is_nothing_nothing_is_made(desk: Desk) -> None:
    report = desk.generate()
    assert report == Generation()
    assert list(desk.workspace.iterdir()) == []


@pytest.mark.parametrize("sandbox", [False, True], ids=["openhands", "sandbox"])
def test_a_conversation_becomes_memory(sandbox: bool, workspace: Path) -> None:
    desk = Desk(workspace, sandbox=sandbox)
    desk.record("3f2a91c0-7d1b-4f6e-9a70-000000000000", "use uv")

    def both(stage: Stage) -> None:
        adding("- The team uses uv, not pip.")(stage)
        if sandbox:
            adding("- Search for uv.", index=SANDBOX_INDEX)(stage)

    report = desk.generate([answer()], [both])
    assert (report.extracted, report.consolidated, report.pending) == (1, "accepted", 0)
    assert (report.failed, report.reason, report.capped_by) == ((), None, None)
    fact = "- The team uses uv, not pip. [^3f2a91c0]"
    assert fact in (desk.memory / "MEMORY.md").read_text().split("\n")
    assert sorted(p.name for p in desk.memory.iterdir()) == sorted(
        [
            *("MEMORY.md", "phase_two_selection.json", "raw_memories"),
            *("raw_memories.md", "rollout_summaries"),
            "memory_summary.md" if sandbox else "sessions",
        ]
    )
    assert desk.generate() == Generation()


def test_two_layouts_of_one_workspace_stay_apart(workspace: Path) -> None:
    one, other = Desk(workspace), Desk(workspace, sandbox=True)
    one.record("a", "FACT one")
    other.record("b", "FACT two")
    one.run(Diligent())
    assert one.facts == ["FACT one"]
    assert not other.memory.exists()
    assert other.run(Diligent(index=SANDBOX_INDEX)).consolidated == "refused"
    both = Diligent(index="MEMORY.md")
    both.also = SANDBOX_INDEX
    assert other.run(both).consolidated == "accepted"
    assert (one.facts, other.facts) == (["FACT one"], ["FACT two"])
    assert (one.raw_memories, other.raw_memories) == (["a"], ["b"])


def test_who_waits_for_another_in_vain_says_so(desk: Desk) -> None:
    desk.record("a", "use uv")
    before = contents(desk.workspace)
    with locked(desk.files.directory, seconds=0) as alone:
        assert alone
        report = desk.generate(caps=Caps(max_seconds=0))
    assert (report.consolidated, report.llm_calls) == ("skipped", 0)
    assert "another process generates memory here" in (report.reason or "")
    assert contents(desk.workspace) == before


def test_a_state_directory_that_cannot_be_used_is_said(desk: Desk) -> None:
    desk.record("a", "use uv")
    state = state_directory()
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text("a file")
    report = desk.generate()
    assert (report.consolidated, report.llm_calls) == ("skipped", 0)
    assert str(state) in (report.reason or "")
    assert not (desk.memory / "MEMORY.md").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"rollouts": {"a": 7}}', "\0"])
def test_a_damaged_ledger_loses_nothing(text: str, desk: Desk) -> None:
    desk.record("a", "use uv")
    desk.generate([answer()], [noting])
    [ledger] = state_directory().glob("generation/*/ledger.json")
    ledger.write_text(text)
    assert desk.generate().llm_calls == NO_CALLS
    assert load_ledger(desk.files.directory).rollouts["a"].state == "extracted"


# --- At once ----------------------------------------------------------------------------


def check_remembered(desk: Desk, ids: list[str]) -> None:
    """Each of *ids* is remembered exactly once, and nothing is half."""
    facts = [f"FACT {rollout_id}" for rollout_id in ids]
    assert sorted(desk.facts) == sorted(facts)
    assert desk.raw_memories == sorted(ids)
    assert len(desk.summaries) == len(ids)
    assert sorted(desk.selected) == sorted(ids)
    text = resolve_memory(desk.workspace).text or ""
    assert all(text.count(f"{fact} ") == 1 for fact in facts)
    leftovers = [path for path in desk.workspace.rglob("*") if ".tmp" in path.name]
    assert leftovers == []


def test_two_threads_that_generate_at_once_remember_both(desk: Desk) -> None:
    barrier = threading.Barrier(2)
    reports: list[Generation] = []

    def work(rollout_id: str) -> None:
        own = Desk(desk.workspace)
        barrier.wait(10)
        own.record(rollout_id, f"FACT {rollout_id}")
        barrier.wait(10)
        reports.append(own.run(Diligent()))

    threads = [threading.Thread(target=work, args=(i,)) for i in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sum(report.extracted for report in reports) == 2
    assert not any(report.failed or report.reason for report in reports)
    check_remembered(desk, ["left", "right"])


def _record_and_generate(desk: Desk, name: str, times: int) -> None:
    for turn in range(times):
        desk.record(f"{name}{turn}", f"FACT {name}{turn}")
        report = desk.run(Diligent())
        assert not report.failed, report
        assert report.reason is None, report


def test_processes_that_generate_at_once_remember_all(desk: Desk) -> None:
    processes = [
        FORK.Process(target=_record_and_generate, args=(desk, name, 3))
        for name in ("p", "q", "r")
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    check_remembered(desk, [f"{name}{turn}" for name in "pqr" for turn in range(3)])
    assert desk.run(Diligent()).llm_calls == NO_CALLS


# --- Killed -----------------------------------------------------------------------------


def _work_until_killed(desk: Desk, told: int) -> None:
    for turn in range(20):
        desk.record(f"r{turn}", f"FACT r{turn}")
        os.write(told, b"%d\n" % turn)
        desk.run(Diligent())
    os.write(told, b"all\n")


def _killed(process: BaseProcess, reading: int, seconds: float) -> list[str]:
    """Kill *process* after some *seconds*; the ids that it had recorded."""
    process.join(seconds)
    process.kill()
    process.join()
    with os.fdopen(reading, "rb") as pipe:
        turns = pipe.read().decode().split()
    return [f"r{turn}" for turn in turns if turn != "all"]


def check_whole(desk: Desk) -> None:
    """What a killed process leaves: each file is whole, whichever there are."""
    for path in desk.sessions.glob("*.jsonl"):
        for line in path.read_bytes().split(b"\n")[:-1]:
            parse_segment(line)
    if desk.index.exists():
        assert len(desk.facts) == len(set(desk.facts))
    if desk.selection.exists():
        json.loads(desk.selection.read_text())


def test_after_a_kill_at_any_moment_one_generation_makes_all_good(
    tmp_path: Path,
) -> None:
    trials = int(os.environ.get("OPENHANDS_MEMORY_KILLS", "60"))
    chance = random.Random(trials)  # noqa: S311
    for trial in range(trials):
        desk = Desk(tmp_path / f"trial{trial}")
        desk.workspace.mkdir()
        reading, writing = os.pipe()
        process = FORK.Process(target=_work_until_killed, args=(desk, writing))
        process.start()
        os.close(writing)
        recorded = _killed(process, reading, chance.uniform(0.0, 0.15))
        check_whole(desk)
        report = desk.run(Diligent())
        assert not report.failed, report
        assert report.reason is None, report
        # One that was killed before its first line leaves an empty file.
        found = desk.sessions.glob("*.jsonl")
        there = [path.stem for path in found if path.stat().st_size]
        assert set(recorded) <= set(there)
        if there:
            check_remembered(desk, there)
        assert desk.run(Diligent()).llm_calls == NO_CALLS
        forget_the_oldest(desk, there)
        shutil.rmtree(desk.workspace)


def forget_the_oldest(desk: Desk, ids: list[str]) -> None:
    """What was made good is generated: it leaves with the rollout that supports it."""
    if len(ids) > 1:
        (desk.memory / "raw_memories" / f"{ids[0]}.md").unlink()
        report = desk.run(Diligent())
        assert (report.consolidated, report.llm_calls) == ("accepted", 0)
        assert sorted(desk.facts) == sorted(f"FACT {i}" for i in ids[1:])
