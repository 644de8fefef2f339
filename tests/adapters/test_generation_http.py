"""The whole of generation through the SDK's own client: real HTTP, on loopback."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openhands.sdk", reason="the client is the SDK's")

from adapters.generation_kit import (
    all_threads_ended,
    generates,
    index_of,
    open_with,
    plays,
    raws_of,
    rollouts,
    segments,
    tell,
)
from adapters.openai_server import (
    GARBAGE,
    Answer,
    ScriptedServer,
    calls,
    fails,
    says,
    scripted_server,
    slow,
)
from adapters.sdk_kit import PROJECT_INDEX, write
from openhands import sdk
from pydantic import SecretStr

from openhands_memory import LocalConversation

KEY = "sk-test-0123456789abcdefghijklmnopqrstuvwxyzABCDEF"
NOTES = "# Notes\n\n- by hand\n"

CHAT = says("Understood.")
LEARNT = says(
    json.dumps(
        {
            "rollout_slug": "make-version",
            "rollout_summary": "The user told the version of make.",
            "raw_memory": "- the build needs make 4.4",
        }
    )
)
EDIT = calls(
    "file_editor",
    command="create",
    path="MEMORY.md",
    file_text=f"{NOTES}- the build needs make 4.4\n",
)
FINISH = calls("finish", message="done")
TOKENS = 15


def client(server: ScriptedServer, **fields: Any) -> sdk.LLM:
    fields = {"num_retries": 3, "retry_min_wait": 0, "retry_max_wait": 0, **fields}
    return sdk.LLM(
        model="openai/scripted",
        usage_id="agent",
        api_key=SecretStr(KEY),
        base_url=server.base_url,
        **fields,
    )


def talk(server: ScriptedServer, workspace: Path, **settings: Any) -> LocalConversation:
    with open_with(client(server), workspace, generates(**settings)) as conversation:
        tell(conversation, "The build needs make 4.4.")
    return conversation


def assert_remembered(conversation: LocalConversation, workspace: Path) -> None:
    assert conversation.generation.consolidated == "accepted"
    name = str(conversation.id)
    assert f"- the build needs make 4.4 [^{name[:8]}]\n" in index_of(workspace)
    assert index_of(workspace).startswith(NOTES)
    assert raws_of(workspace).keys() == rollouts(workspace).keys()


def test_a_conversation_becomes_memory_over_http(workspace: Path) -> None:
    write(workspace / PROJECT_INDEX, NOTES)
    with scripted_server([CHAT, LEARNT, EDIT, FINISH]) as server:
        done = talk(server, workspace)
    assert_remembered(done, workspace)
    report = done.generation
    assert (report.llm_calls, report.tokens, report.cost) == (3, 3 * TOKENS, None)
    used = done.conversation_stats.usage_to_metrics
    assert used.keys() == {"agent", "memory-extraction", "memory-consolidation"}

    chat, extraction, *consolidation = server.requests
    assert not any(request.get("stream") for request in server.requests)
    assert KEY not in json.dumps(server.requests)
    assert "- by hand" in json.dumps(chat["messages"])
    assert not extraction.get("tools")
    assert [m["role"] for m in extraction["messages"]] == ["system", "user"]
    assert "- by hand" not in json.dumps(extraction["messages"])
    for request in consolidation:
        names = {tool["function"]["name"] for tool in request["tools"]}
        assert names == {"file_editor", "finish"}


def test_a_model_that_streams_elsewhere_does_not_stream_here(workspace: Path) -> None:
    with scripted_server([LEARNT, EDIT, FINISH]) as server:
        streams = client(server, stream=True)
        models = generates(phase_one_model=streams, phase_two_model=streams)
        with open_with(plays(), workspace, models) as conversation:
            tell(conversation)
    assert conversation.generation.consolidated == "accepted"
    assert not any(request.get("stream") for request in server.requests)
    assert streams.stream


@pytest.mark.parametrize(
    "answers",
    [
        [CHAT, fails(429), LEARNT, fails(429), EDIT, FINISH],
        [CHAT, fails(500), fails(503), LEARNT, EDIT, fails(500), FINISH],
    ],
)
def test_errors_that_pass_are_tried_again(
    answers: list[Answer], workspace: Path
) -> None:
    write(workspace / PROJECT_INDEX, NOTES)
    with scripted_server(answers) as server:
        done = talk(server, workspace)
    assert_remembered(done, workspace)
    assert (server.answers, done.generation.failed) == ([], ())


LEAK = f"the key {KEY} is not known"


@pytest.mark.parametrize(
    ("answers", "stage"),
    [
        ([CHAT, fails(500)], "extraction"),
        ([CHAT, fails(429)], "extraction"),
        ([CHAT, fails(401, LEAK)], "extraction"),
        ([CHAT, GARBAGE], "extraction"),
        ([CHAT, says("I would rather not.")], "extraction"),
        ([CHAT, LEARNT, fails(500)], "consolidation"),
        ([CHAT, LEARNT, fails(401, LEAK)], "consolidation"),
        ([CHAT, LEARNT, GARBAGE], "consolidation"),
        ([CHAT, LEARNT, EDIT, fails(429)], "consolidation"),
    ],
)
def test_errors_that_stay_leave_memory_for_the_next_time(
    answers: list[Answer],
    stage: str,
    workspace: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write(workspace / PROJECT_INDEX, NOTES)
    with scripted_server(answers, repeat=True) as server:
        done = talk(server, workspace)
    report = done.generation
    assert index_of(workspace) == NOTES
    assert (len(segments(workspace)), report.capped_by) == (1, None)
    if stage == "extraction":
        [failure] = report.failed
        assert failure.reason and raws_of(workspace) == {}
    else:
        assert report.consolidated == "refused" and report.reason
        assert (report.extracted, len(raws_of(workspace))) == (1, 1)
    assert KEY[8:] not in repr(report) + caplog.text
    assert len(server.requests) <= 12

    again = [EDIT, FINISH] if stage == "consolidation" else [LEARNT, EDIT, FINISH]
    with scripted_server(again) as server, open_with(client(server), workspace):
        pass
    assert "- the build needs make 4.4 [^" in index_of(workspace)


@pytest.mark.parametrize("before", [[CHAT], [CHAT, LEARNT]])
def test_a_server_that_is_too_slow_is_not_waited_for(
    before: list[Answer], workspace: Path
) -> None:
    write(workspace / PROJECT_INDEX, NOTES)
    with all_threads_ended(), scripted_server([*before, slow(600)]) as server:
        done = talk(server, workspace, max_seconds=2)
        assert (len(server.requests), server.answers) == (len(before) + 1, [])
        assert not server.closing.is_set()
    assert done.generation.capped_by == "seconds"
    assert index_of(workspace) == NOTES
    assert len(raws_of(workspace)) == len(before) - 1
