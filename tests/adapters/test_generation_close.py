"""A close that generates: it never raises, ends in time, and leaves nothing half done."""

import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openhands.sdk", reason="what closes is the SDK's conversation")

from adapters.generation_kit import (
    COST,
    TOKENS,
    Part,
    Script,
    adds,
    all_bytes,
    all_threads_ended,
    edits,
    generates,
    index_of,
    learns,
    open_with,
    plays,
    raws_of,
    segments,
    talk,
    tell,
)
from adapters.sdk_kit import PROJECT_INDEX, call, say, write
from openhands.sdk.llm import Message
from openhands.sdk.llm.exceptions import (
    LLMContextWindowExceedError,
    LLMRateLimitError,
    LLMTimeoutError,
)

NOTES = "# Notes\n\n- by hand\n"
HUGE = say("word " * 20_000)
NO_ANSWER = Message(role="assistant", content=[])


def raising(error: BaseException) -> Script:
    def reply(_: Sequence[Message]) -> Message:
        raise error

    return reply


BAD: dict[str, Script] = {
    "raises": raising(RuntimeError("broken")),
    "is limited": raising(LLMRateLimitError("slow down")),
    "times out": raising(LLMTimeoutError("too late")),
    "says nothing": lambda _: NO_ANSWER,
    "says only blanks": lambda _: say(" \n"),
    "says 100 KB": lambda _: HUGE,
    "says what is no JSON": lambda _: say('{"rollout_slug": '),
    "calls a tool that is not there": lambda _: call("terminal", command="ls"),
    "forgets half": lambda _: say('{"rollout_slug": "x", "raw_memory": "- y"}'),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("part", ["extraction", "consolidation"])
def test_a_model_that_is_no_use_leaves_memory_as_it_was_until_another_comes(
    part: Part, bad: str, workspace: Path
) -> None:
    write(workspace / PROJECT_INDEX, NOTES)
    llm = plays(**{part: BAD[bad]})
    done = talk(llm, workspace, "remember: it is so.", generates(phase_two_max_turns=9))
    report = done.generation
    assert (report.recorded, index_of(workspace)) == (1, NOTES)
    if part == "extraction":
        [failure] = report.failed
        assert failure.rollout_id == str(done.id) and failure.reason
        assert (report.extracted, report.consolidated) == (0, "none")
        assert (report.pending, raws_of(workspace)) == (1, {})
    else:
        assert (report.extracted, report.failed) == (1, ())
        assert report.consolidated in ("refused", "skipped") and report.reason
        assert raws_of(workspace).keys() == {str(done.id)}
    assert report.llm_calls == len(llm.sent("extraction") + llm.sent("consolidation"))
    assert report.llm_calls <= 12

    later = talk(plays(), workspace)
    assert later.generation.consolidated == "accepted"
    assert "- it is so [^" in index_of(workspace)
    assert index_of(workspace).startswith(NOTES)


def test_a_rollout_that_is_too_long_for_the_model_is_sent_shorter(
    workspace: Path,
) -> None:
    too_long = LLMContextWindowExceedError("too long")
    llm = plays(extraction=[too_long, too_long, learns("it is long")])
    talk(llm, workspace, "words " * 100_000)
    sizes = [len(sent) for sent in llm.sent("extraction")]
    assert sizes[0] > sizes[1] > sizes[2]
    assert "- it is long [^" in index_of(workspace)


def test_a_rollout_that_fails_is_tried_three_times_and_again_when_it_grows(
    workspace: Path,
) -> None:
    llm = plays(extraction=raising(RuntimeError("broken")))
    talk(llm, workspace, memory_conversation_id="chat")
    for _ in range(4):
        open_with(llm, workspace).close()
    assert len(llm.sent("extraction")) == 3
    llm = plays()
    talk(llm, workspace, "remember: it is so.", memory_conversation_id="chat")
    assert len(llm.sent("extraction")) == 1
    assert "- it is so [^chat]" in index_of(workspace)


# --- Caps -------------------------------------------------------------------------------


def never_done(_: Sequence[Message]) -> Message:
    return edits("view", f"skills/number-{time.monotonic_ns()}/SKILL.md")


def chatty(_: Sequence[Message]) -> Message:
    return adds(f"note {time.monotonic_ns()}")


@pytest.mark.parametrize("restless", [never_done, chatty])
@pytest.mark.parametrize(
    ("caps", "cap", "calls"),
    [
        ({"phase_two_max_turns": 5}, "turns", 6),
        ({"max_cost": 3.5 * COST}, "cost", 4),
        ({"max_tokens": 9_000}, "tokens", -(-9_000 // TOKENS)),
    ],
)
def test_a_model_that_never_stops_is_stopped_at_the_cap(
    restless: Any, caps: dict[str, Any], cap: str, calls: int, workspace: Path
) -> None:
    """Public report B38."""
    write(workspace / PROJECT_INDEX, NOTES)
    llm = plays(extraction=[learns("it is so")], consolidation=restless)
    done = talk(llm, workspace, memory=generates(**caps))
    report = done.generation
    assert (report.capped_by, report.llm_calls) == (cap, calls)
    assert report.cost == pytest.approx(calls * COST)
    assert cap in (report.reason or "") and report.consolidated == "skipped"
    assert index_of(workspace) == NOTES
    used = done.conversation_stats.usage_to_metrics["memory-consolidation"]
    assert used.accumulated_cost == pytest.approx((calls - 1) * COST)


class Sleeper:
    """A model's answer that comes when somebody wakes it."""

    def __init__(self, answer: Message) -> None:
        self.answer = answer
        self.sleeps = threading.Event()
        self.woken = threading.Event()
        self.answers = threading.Event()

    def __call__(self, _: Sequence[Message]) -> Message:
        self.sleeps.set()
        self.woken.wait(60)
        self.answers.set()
        return self.answer


@pytest.fixture
def sleepers() -> Iterator[dict[Part, Sleeper]]:
    """One for each phase, awake at the latest when the test ends."""
    made: dict[Part, Sleeper] = {
        "extraction": Sleeper(learns("it is too late")),
        "consolidation": Sleeper(adds("it is too late")),
    }
    yield made
    for sleeper in made.values():
        sleeper.woken.set()


@pytest.mark.parametrize("part", ["extraction", "consolidation"])
def test_a_close_does_not_wait_for_a_model_that_hangs(
    part: Part, sleepers: dict[Part, Sleeper], workspace: Path, tmp_path: Path
) -> None:
    write(workspace / PROJECT_INDEX, NOTES)
    sleeper = sleepers[part]
    llm = plays(**{part: sleeper})
    with all_threads_ended():
        caps = generates(max_seconds=1)
        done = talk(llm, workspace, "remember: it is so.", caps)
        assert sleeper.sleeps.is_set() and not sleeper.answers.is_set()
        before = all_bytes(tmp_path)
        sleeper.woken.set()
    assert sleeper.answers.is_set()
    assert all_bytes(tmp_path) == before
    report = done.generation
    assert (report.capped_by, report.consolidated) == ("seconds", "skipped")
    assert "seconds" in (report.reason or "")
    assert report.extracted == (0 if part == "extraction" else 1)
    assert len(raws_of(workspace)) == report.extracted

    assert talk(plays(), workspace).generation.consolidated == "accepted"
    assert "- it is so [^" in index_of(workspace)
    assert "too late" not in index_of(workspace)


def test_an_interrupted_close_stops_the_work_and_passes_it_on(
    workspace: Path, sleepers: dict[Part, Sleeper]
) -> None:
    sleeper = sleepers["consolidation"]

    def interrupting(messages: Sequence[Message]) -> Message:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return sleeper(messages)

    write(workspace / PROJECT_INDEX, NOTES)
    conversation = open_with(plays(consolidation=interrupting), workspace)
    tell(conversation, "remember: it is so.")
    with pytest.raises(KeyboardInterrupt):
        conversation.close()
    assert not sleeper.answers.is_set()
    report = conversation.generation
    assert (report.recorded, report.extracted, report.capped_by) == (1, 1, None)
    assert (report.consolidated, "interrupted" in (report.reason or "")) == (
        "skipped",
        True,
    )
    sleeper.woken.set()
    conversation.close()
    assert index_of(workspace) == NOTES
    assert talk(plays(), workspace).generation.consolidated == "accepted"
    assert "- it is so [^" in index_of(workspace)


# --- Whatever is closed -----------------------------------------------------------------


def test_a_second_close_does_nothing(workspace: Path) -> None:
    llm = plays()
    conversation = talk(llm, workspace, "remember: it is so.")
    report, calls = conversation.generation, len(llm.sent("extraction"))
    before = all_bytes(workspace)
    conversation.close()
    conversation.close()
    assert conversation.generation == report
    assert len(llm.sent("extraction")) == calls
    assert all_bytes(workspace) == before


def test_what_is_said_after_the_close_waits_for_the_next_one(workspace: Path) -> None:
    conversation = talk(plays(), workspace, "remember: before.")
    tell(conversation, "remember: after.")
    conversation.close()
    assert len(segments(workspace)) == 2
    assert "- after" not in index_of(workspace)
    talk(plays(), workspace)
    assert "- after [^" in index_of(workspace)


def test_a_workspace_that_is_gone_is_told_and_not_made_again(
    workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Public report B42."""
    llm = plays()
    conversation = open_with(llm, workspace)
    tell(conversation, "remember: it is so.")
    conversation.send_message("and one more that nobody ran")
    shutil.rmtree(workspace)
    conversation.close()
    assert not workspace.exists()
    report = conversation.generation
    assert report.consolidated == "skipped" and "is gone" in (report.reason or "")
    assert "is gone" in caplog.text
    assert llm.sent("extraction") == []
