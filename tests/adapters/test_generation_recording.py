"""The record of a conversation: its name, and its lines, however a run ends."""

import asyncio
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openhands.sdk", reason="what is recorded is the SDK's")

from adapters.generation_kit import (
    MEMORY,
    ScriptedLLM,
    asked,
    index_of,
    open_with,
    plays,
    raws_of,
    rollouts,
    segments,
    talk,
    tell,
)
from adapters.sdk_kit import call, files_below, say
from openhands.sdk.conversation.exceptions import ConversationRunError
from openhands.sdk.llm import Message
from openhands.sdk.security.confirmation_policy import AlwaysConfirm
from openhands.tools.file_editor import FileEditorTool

from openhands_memory import (
    LocalConversation,
)

THINK = call("think", thought="hm")


# --- Names ------------------------------------------------------------------------------

GIVEN = uuid.UUID("11111111-2222-3333-4444-555555555555")
TAGS = {"groupid": "team-9"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"memory_conversation_id": "c-7", "conversation_id": GIVEN, "tags": TAGS},
            "c-7",
        ),
        ({"memory_conversation_id": " ", "conversation_id": GIVEN}, str(GIVEN)),
        ({"conversation_id": GIVEN, "tags": TAGS}, str(GIVEN)),
        ({"tags": TAGS}, "team-9"),
        ({"tags": {"groupid": "", "other": "x"}}, None),
        ({}, None),
    ],
)
def test_a_rollout_is_named_after_the_first_id_that_says_something(
    given: dict[str, Any], expected: str | None, workspace: Path
) -> None:
    with open_with(plays(), workspace, **given) as conversation:
        tell(conversation)
        assert list(rollouts(workspace)) == [expected or str(conversation.id)]


@pytest.mark.parametrize(
    "unsafe",
    [
        "../../outside",
        "a/b\\c",
        "con.txt",
        "x" * 300,
        "нити",
        "a:b*?",
        "ghp_" + "a1" * 18,
    ],
)
def test_an_id_that_no_file_can_have_is_mapped_to_one(
    unsafe: str, workspace: Path, tmp_path: Path
) -> None:
    before = files_below(tmp_path)
    talk(plays(), workspace, "remember: it is.", memory_conversation_id=unsafe)
    [name] = rollouts(workspace)
    assert name.isascii() and len(name) < 80 and unsafe not in name
    assert raws_of(workspace).keys() == {name}
    written = {path for path in files_below(tmp_path) - before if path.is_file()}
    state = tmp_path / "home/.local/state"
    assert all(
        path.is_relative_to(workspace) or path.is_relative_to(state) for path in written
    )


def test_conversations_that_share_an_id_share_a_rollout(workspace: Path) -> None:
    llm = plays()
    one = open_with(llm, workspace, memory_conversation_id="pair")
    two = open_with(llm, workspace, memory_conversation_id="pair")
    tell(one, "remember: first.")
    tell(two, "remember: second.")
    one.close()
    assert raws_of(workspace).keys() == {"pair"}
    tell(two, "remember: third.")
    two.close()
    found = [asked(segment) for segment in segments(workspace)]
    assert found == [["remember: first."], ["remember: second."], ["remember: third."]]
    for word in ("first", "second", "third"):
        assert f"- {word}\n" in raws_of(workspace)["pair"]
        assert index_of(workspace).count(f"- {word} [^pair]\n") == 1
    assert len(llm.sent("extraction")) == 2


# --- The line is on disk when the run returns -------------------------------------------


def cancelled(_: object) -> Message:
    raise KeyboardInterrupt


def leave_early(conversation: LocalConversation) -> None:
    with pytest.raises(KeyboardInterrupt):
        conversation.run()


def fail(conversation: LocalConversation) -> None:
    with pytest.raises(ConversationRunError, match="no answer"):
        conversation.run()


def run_async(conversation: LocalConversation) -> None:
    asyncio.run(conversation.arun())


async def run_and_cancel(conversation: LocalConversation, llm: ScriptedLLM) -> None:
    task = asyncio.create_task(conversation.arun())
    while not llm.sent("chat"):
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize(
    ("chat", "run", "state"),
    [
        ([say()], LocalConversation.run, "completed"),
        ([RuntimeError("no answer")], fail, "failed"),
        ([cancelled], leave_early, "cancelled"),
        ([THINK] * 3, LocalConversation.run, "max_turns_exceeded"),
        ([say()], run_async, "completed"),
        ([THINK] * 3, run_async, "max_turns_exceeded"),
    ],
)
def test_a_run_is_on_disk_when_it_returns_however_it_ends(
    chat: Any, run: Callable[[LocalConversation], None], state: str, workspace: Path
) -> None:
    conversation = open_with(plays(chat), workspace, max_iteration_per_run=2)
    conversation.send_message("go on")
    run(conversation)
    [segment] = segments(workspace)
    assert asked(segment) == ["go on"]
    assert segment["terminal_metadata"]["terminal_state"] == state
    assert conversation.generation.recorded == 1
    conversation.close()
    assert (len(segments(workspace)), conversation.generation.recorded) == (1, 1)


def test_a_run_that_turns_in_circles_is_recorded(workspace: Path) -> None:
    with open_with(plays([THINK] * 8), workspace) as conversation:
        tell(conversation)
        [segment] = segments(workspace)
    assert segment["terminal_metadata"]["terminal_state"] == "stuck"


def test_a_task_that_is_cancelled_is_recorded(workspace: Path) -> None:
    llm = plays(lambda _: THINK)
    with open_with(llm, workspace, stuck_detection=False) as conversation:
        conversation.send_message("go on")
        asyncio.run(run_and_cancel(conversation, llm))
        [segment] = segments(workspace)
    assert segment["terminal_metadata"]["terminal_state"] == "cancelled"


@pytest.mark.parametrize("agrees", [True, False])
def test_what_waited_for_a_person_is_not_recorded_twice(
    agrees: bool, workspace: Path
) -> None:
    viewing = call("file_editor", command="view", path=str(workspace))
    llm = plays([viewing, say("Seen.")])
    conversation = open_with(llm, workspace, tools=[FileEditorTool.name])
    conversation.set_confirmation_policy(AlwaysConfirm())
    tell(conversation, "look")
    [waiting] = segments(workspace)
    assert waiting["terminal_metadata"]["terminal_state"] == "interrupted"
    [pending] = waiting["interruptions"]
    assert waiting["generated_items"] == [pending]

    if not agrees:
        conversation.reject_pending_actions("not there")
    conversation.run()
    conversation.close()
    _, after = segments(workspace)
    output, words = after["generated_items"]
    assert (after["input"], words["content"]) == ([], "Seen.")
    assert (output["type"], output["call_id"]) == (
        "function_call_output",
        pending["call_id"],
    )
    assert ("not there" in output["output"]) is not agrees
    assert "interruptions" not in after


def test_each_run_is_one_segment_and_the_last_one_is_extracted_with_the_rest(
    workspace: Path,
) -> None:
    llm = plays()
    with open_with(llm, workspace) as conversation:
        for number in range(3):
            tell(conversation, f"remember: number {number}.")
            assert len(segments(workspace)) == number + 1
    [sent] = llm.sent("extraction")
    assert [f"number {n}" in sent for n in range(3)] == [True] * 3
    assert conversation.generation.recorded == 3


def test_a_record_that_cannot_be_written_fails_no_run(
    workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (workspace / MEMORY).mkdir(parents=True)
    (workspace / MEMORY / "sessions").write_text("in the way")
    conversation = talk(plays(), workspace)
    assert conversation.state.execution_status.value == "finished"
    assert conversation.generation.recorded == 0
    assert "was not recorded" in caplog.text
    assert (workspace / MEMORY / "sessions").read_text() == "in the way"
