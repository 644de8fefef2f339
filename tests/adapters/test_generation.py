"""What one line turns on: conversations are recorded, and memory is made of them."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openhands.sdk", reason="what is recorded is the SDK's")

from adapters.generation_kit import (
    COST,
    MEMORY,
    TOKENS,
    asked,
    generates,
    index_of,
    open_with,
    plays,
    raws_of,
    rollouts,
    segments,
    talk,
    tell,
)
from adapters.sdk_kit import call, context, files_below, say
from openhands import sdk
from openhands.sdk.subagent import (
    AgentDefinition,
    agent_definition_to_factory,
    register_agent_if_absent,
)
from openhands.tools.task import TaskToolSet

from openhands_memory import (
    AgentContext,
    Conversation,
    LocalConversation,
    MemoryConfig,
    MemoryGenerateConfig,
)
from openhands_memory.errors import ConfigError
from openhands_memory.generation.report import NOTHING_GENERATED

GIVEN = uuid.UUID("11111111-2222-3333-4444-555555555555")


# --- One line turns it on ---------------------------------------------------------------


@pytest.mark.parametrize("leaves_block", [True, False])
def test_one_line_makes_memory_of_a_conversation(
    leaves_block: bool, workspace: Path
) -> None:
    llm = plays()
    given = AgentContext(
        load_memory=True, memory=MemoryConfig(generate=MemoryGenerateConfig())
    )
    agent = sdk.Agent(llm=llm, tools=[], agent_context=given)
    conversation = Conversation(agent=agent, workspace=workspace, visualizer=None)
    if leaves_block:
        with conversation:
            tell(conversation, "remember: tests need Redis on port 6380.")
    else:
        tell(conversation, "remember: tests need Redis on port 6380.")
        conversation.close()

    name = str(conversation.id)
    assert asked(rollouts(workspace)[name][0]) == [
        "remember: tests need Redis on port 6380."
    ]
    assert "- tests need Redis on port 6380\n" in raws_of(workspace)[name]
    [summary] = (workspace / MEMORY / "rollout_summaries").iterdir()
    assert summary.name == f"{name}_what-was-said.md"
    index = index_of(workspace)
    assert f"- tests need Redis on port 6380 [^{name[:8]}]\n" in index
    assert_counts(conversation, calls=3, recorded=1, extracted=1)
    assert conversation.generation.consolidated == "accepted"

    with open_with(plays(), workspace) as later:
        assert "tests need Redis on port 6380" in (later.memory.text or "")
    assert later.generation == NOTHING_GENERATED._replace(
        seconds=later.generation.seconds
    )
    assert index_of(workspace) == index


def assert_counts(
    conversation: LocalConversation, *, calls: int, **counts: int
) -> None:
    """That the report says so, with the tokens and the cost of so many *calls*."""
    report = conversation.generation
    assert {name: getattr(report, name) for name in counts} == counts
    assert (report.failed, report.capped_by, report.pending) == ((), None, 0)
    assert (report.llm_calls, report.tokens) == (calls, calls * TOKENS)
    assert report.cost == pytest.approx(calls * COST)
    used = conversation.conversation_stats.usage_to_metrics
    mine = [used[name] for name in used if name.startswith("memory-")]
    assert sum(m.accumulated_cost for m in mine) == pytest.approx(calls * COST)
    assert json.loads(json.dumps(report.as_dict()))["llm_calls"] == calls


@pytest.mark.parametrize(
    "given",
    [
        AgentContext(memory=generates()),
        AgentContext(load_memory=True),
        AgentContext(load_memory=False, memory=generates(reads=False)),
    ],
)
def test_nothing_is_recorded_unless_both_are_asked_for(
    given: AgentContext, workspace: Path, memory_home: Path
) -> None:
    agent = sdk.Agent(llm=plays(), tools=[], agent_context=given)
    with Conversation(agent=agent, workspace=workspace, visualizer=None) as opened:
        tell(opened, "remember: this is not written down.")
    assert files_below(workspace) == set()
    assert not (memory_home / ".local").exists()
    assert opened.generation == NOTHING_GENERATED


def test_a_conversation_in_which_nothing_was_said_leaves_nothing(
    workspace: Path,
) -> None:
    llm = plays()
    with open_with(llm, workspace) as conversation:
        pass
    conversation.close()
    assert files_below(workspace) == set()
    assert (llm.sent("chat"), llm.sent("extraction")) == ([], [])
    assert conversation.generation.recorded == 0


def test_what_was_asked_and_never_answered_is_recorded_by_the_close(
    workspace: Path,
) -> None:
    with open_with(plays(), workspace) as conversation:
        conversation.send_message("remember: nobody ran this.")
        assert rollouts(workspace) == {}
    assert asked(segments(workspace)[0]) == ["remember: nobody ran this."]
    assert "nobody ran this" in index_of(workspace)


def test_memory_that_is_not_read_is_generated_all_the_same(workspace: Path) -> None:
    llm = plays()
    for text in ("remember: one is odd.", "remember: two is even."):
        done = talk(llm, workspace, text, generates(reads=False))
        assert done.generation.consolidated == "accepted"
        assert done.memory.text is None
    assert "one is odd" in index_of(workspace) and "two is even" in index_of(workspace)
    assert not any("one is odd" in sent for sent in llm.sent("chat")[1:])


def test_settings_that_no_model_takes_raise_when_the_conversation_is_made(
    workspace: Path,
) -> None:
    wrong = generates(phase_two_model_settings={"temprature": 0})
    with pytest.raises(ConfigError, match="did you mean 'temperature'"):
        open_with(plays(), workspace, wrong)
    done = talk(plays(), workspace, "remember: it works.", generates())
    assert done.generation.consolidated == "accepted"


# --- Whose runs are recorded ------------------------------------------------------------


def test_a_resumed_conversation_does_not_record_again_what_it_had(
    workspace: Path, tmp_path: Path
) -> None:
    place: dict[str, Any] = {
        "persistence_dir": str(tmp_path / "store"),
        "conversation_id": GIVEN,
    }
    with open_with(plays(), workspace, **place) as conversation:
        tell(conversation, "remember: before.")
    llm = plays()
    with open_with(llm, workspace, **place) as conversation:
        assert conversation.generation.recorded == 0
        tell(conversation, "remember: after.")
    found = [asked(segment) for segment in segments(workspace)]
    assert found == [["remember: before."], ["remember: after."]]
    assert len(llm.sent("extraction")) == 1
    assert conversation.generation.recorded == 1
    with open_with(plays(), workspace, **place):
        pass
    assert len(segments(workspace)) == 2


def test_a_fork_is_a_stock_conversation_and_not_recorded(workspace: Path) -> None:
    with open_with(plays(), workspace) as conversation:
        tell(conversation, "remember: from the source.")
        fork = conversation.fork()
        fork.switch_llm(plays(usage_id="fork"))  # the SDK copies no scripts
        tell(fork, "remember: from the fork.")
        fork.close()
    assert [asked(segment) for segment in segments(workspace)] == [
        ["remember: from the source."]
    ]
    assert "from the fork" not in index_of(workspace)


@pytest.fixture(scope="session")
def sub_agent() -> str:
    definition = AgentDefinition(
        name="generation-test-scout",
        description="Looks around.",
        tools=[],
        system_prompt="You are a scout.",
    )
    factory = agent_definition_to_factory(definition)
    register_agent_if_absent(definition.name, factory, definition)
    return definition.name


def test_a_sub_agents_conversation_is_not_recorded(
    sub_agent: str, workspace: Path
) -> None:
    prompt = "scout: remember: a thing for sub-agents."
    chat = [
        call("task", prompt=prompt, subagent_type=sub_agent),
        say("scouted"),
        say("all done"),
    ]
    llm = plays(chat)
    conversation = talk(llm, workspace, "look around", tools=[TaskToolSet.name])
    assert len(llm.sent("chat")) == 3
    [segment] = segments(workspace)
    assert asked(segment) == ["look around"]
    assert conversation.generation.recorded == 1
    kinds = [item.get("type") or item["role"] for item in segment["generated_items"]]
    assert kinds == ["function_call", "function_call_output", "assistant"]


def test_a_bound_agent_generates_too_but_not_in_a_stock_conversation(
    workspace: Path,
) -> None:
    from openhands_memory import bind

    agent = sdk.Agent(llm=plays(), tools=[], agent_context=context(memory=generates()))
    bound = bind(agent, workspace)
    stock = sdk.Conversation(agent=bound, workspace=str(workspace), visualizer=None)
    tell(stock, "remember: stock.")
    stock.close()
    assert rollouts(workspace) == {}
    ours = Conversation(agent=bound, workspace=workspace, visualizer=None)
    tell(ours, "remember: ours.")
    ours.close()
    assert asked(segments(workspace)[0]) == ["remember: ours."]
