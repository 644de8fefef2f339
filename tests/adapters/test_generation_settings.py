"""The settings of generation: which conflict, which models, a review, hooks, ACP."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openhands.sdk", reason="what is recorded is the SDK's")

from adapters import acp_server
from adapters.generation_kit import (
    SANDBOX,
    asked,
    generates,
    index_of,
    open_with,
    plays,
    segments,
    talk,
    tell,
)
from adapters.sdk_kit import PROJECT_INDEX, context, converse, files_below, write
from openhands import sdk
from openhands.sdk.agent import ACPAgent
from openhands.sdk.hooks import HookConfig
from pydantic import SecretStr

from openhands_memory import MemoryConfig, MemoryLayoutConfig
from openhands_memory.errors import ConfigError
from openhands_memory.generation.state import load_proposal
from openhands_memory.layout import generated_files

# --- Settings that cannot be side by side -----------------------------------------------


def layout(memories: str, sessions: str, **settings: Any) -> MemoryConfig:
    return generates(
        MemoryLayoutConfig(memories_dir=memories, sessions_dir=sessions), **settings
    )


def real(model: str, **fields: Any) -> sdk.LLM:
    fields = {"api_key": SecretStr("not-used"), "usage_id": "x", **fields}
    return sdk.LLM(model=model, **fields)


@pytest.mark.parametrize(
    ("one", "two", "named"),
    [
        (
            generates(),
            generates(review=True),
            ["MemoryGenerateConfig.review=True", "with False"],
        ),
        (
            generates(phase_one_model="a"),
            generates(phase_one_model="b"),
            ["MemoryGenerateConfig.phase_one_model='b'", "with 'a'"],
        ),
        (
            generates(phase_two_model=real("gpt-4o", base_url="http://127.0.0.1:1")),
            generates(phase_two_model=real("gpt-4o", base_url="http://127.0.0.1:2")),
            ["MemoryGenerateConfig.phase_two_model", "127.0.0.1:1", "127.0.0.1:2"],
        ),
        (
            generates(phase_one_model_settings={"temperature": 0.1}),
            generates(phase_one_model_settings={"temperature": 0.2}),
            ["MemoryGenerateConfig.phase_one_model_settings", "0.1", "0.2"],
        ),
        (
            layout("memories", "sessions"),
            layout("memories", "others"),
            ["MemoryLayoutConfig.memories_dir='memories'", "memories_dir='memories'"],
        ),
        (
            layout("memories", "sessions"),
            layout("others", "sessions"),
            ["MemoryLayoutConfig.sessions_dir='sessions'", "sessions_dir='sessions'"],
        ),
        (
            layout("memories", "sessions"),
            layout("others", "memories/x"),
            ["MemoryLayoutConfig.sessions_dir='memories/x'", "memories_dir='memories'"],
        ),
    ],
)
def test_settings_that_conflict_are_an_error_that_names_both(
    one: MemoryConfig, two: MemoryConfig, named: list[str], workspace: Path
) -> None:
    first = open_with(plays(), workspace, one)
    for _ in range(2):
        with pytest.raises(ConfigError) as caught:
            open_with(plays(), workspace, two)
        assert [text for text in named if text not in str(caught.value)] == []
        assert "not-used" not in str(caught.value)
    open_with(plays(), workspace / "elsewhere", two).close()
    first.close()
    open_with(plays(), workspace, two).close()


def test_settings_that_say_the_same_are_no_conflict(workspace: Path) -> None:
    same = [
        generates(
            SANDBOX,
            phase_one_model=real("gpt-4o"),
            phase_two_model_settings={"temperature": 0.1},
        )
        for _ in range(2)
    ]
    opened = [open_with(plays(), workspace, config) for config in same]
    also = open_with(plays(), workspace / "../workspace", same[0])
    for conversation in (*opened, also):
        conversation.close()
    assert files_below(workspace) == set()


# --- Models and what they may do --------------------------------------------------------


def test_each_phase_is_asked_of_the_model_that_its_setting_names(
    workspace: Path,
) -> None:
    agents, second = plays(), plays(model="second-model")
    caps = generates(
        phase_one_model="first-model",
        phase_one_model_settings={"temperature": 0.25},
        phase_two_model=second,
        phase_two_model_settings={"max_output_tokens": 77},
    )
    done = talk(agents, workspace, "remember: it is so.", caps)
    [extraction] = agents.asked_as("extraction")
    assert (extraction.model, extraction.temperature) == ("first-model", 0.25)
    assert agents.asked_as("consolidation") == []
    assert {
        (llm.model, llm.max_output_tokens, llm.usage_id)
        for llm in second.asked_as("consolidation")
    } == {("second-model", 77, "memory-consolidation")}
    assert done.generation.consolidated == "accepted"
    used = done.conversation_stats.usage_to_metrics
    assert used["memory-extraction"].accumulated_token_usage.prompt_tokens == 100  # pyright: ignore
    assert (agents.usage_id, agents.temperature) == ("agent", None)


def test_extra_words_of_the_owner_reach_both_models(workspace: Path) -> None:
    llm = plays()
    talk(
        llm,
        workspace,
        "remember: it is so.",
        generates(extra_prompt="Mind the commas."),
    )
    for sent in (*llm.sent("extraction"), *llm.sent("consolidation")):
        assert "Mind the commas." in sent
    assert "Mind the commas." not in llm.sent("chat")[0]


def test_a_result_that_is_to_be_reviewed_waits_as_a_proposal(workspace: Path) -> None:
    index = write(workspace / PROJECT_INDEX, "- by hand\n")
    llm = plays()
    done = talk(llm, workspace, "remember: it is so.", generates(review=True))
    assert (done.generation.consolidated, done.generation.extracted) == ("proposed", 1)
    assert index.read_text() == "- by hand\n"
    proposal = load_proposal(generated_files(str(workspace)).directory)
    assert proposal is not None
    assert b"- it is so [^" in (proposal.files["MEMORY.md"].after or b"")
    again = talk(llm, workspace, memory=generates(review=True))
    assert again.generation.consolidated == "skipped"
    assert "review" in (again.generation.reason or "")
    assert len(llm.sent("consolidation")) == 2


def test_hooks_of_the_conversation_run_in_no_memory_job(
    workspace: Path, tmp_path: Path
) -> None:
    log = tmp_path / "hooks.log"
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd")
    hooks = {
        event: [
            {
                "matcher": "*",
                "hooks": [{"type": "command", "command": f"echo {event} >> {log}"}],
            }
        ]
        for event in events
    }
    config = HookConfig.from_dict({"hooks": hooks})
    llm = plays()
    talk(llm, workspace, "remember: it is so.", hook_config=config)
    assert len(llm.sent("consolidation")) == 2
    ran = log.read_text().split()
    assert ran == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]


def acp(tmp_path: Path, **settings: Any) -> ACPAgent:
    command = [sys.executable, acp_server.__file__, str(tmp_path / "prompts.jsonl")]
    return ACPAgent(
        acp_command=command, agent_context=context(memory=generates(**settings))
    )


def test_an_acp_agent_without_models_is_recorded_and_not_more(
    workspace: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with converse(acp(tmp_path), workspace) as conversation:
        tell(conversation, "remember: it is so.")
    [segment] = segments(workspace)
    assert asked(segment) == ["remember: it is so."]
    assert segment["final_output"] == "understood"
    report = conversation.generation
    assert (report.recorded, report.consolidated) == (1, "skipped")
    assert "phase_one_model" in (report.reason or "") and "phase_one" in caplog.text
    assert talk(plays(), workspace).generation.extracted == 1
    assert "- it is so [^" in index_of(workspace)


def test_an_acp_agent_generates_with_models_of_its_own(
    workspace: Path, tmp_path: Path
) -> None:
    llm = plays()
    given = acp(tmp_path, phase_one_model=llm, phase_two_model=llm)
    with converse(given, workspace) as conversation:
        tell(conversation, "remember: it is so.")
    assert conversation.generation.consolidated == "accepted"
    assert "- it is so [^" in index_of(workspace)
    assert llm.sent("chat") == []
