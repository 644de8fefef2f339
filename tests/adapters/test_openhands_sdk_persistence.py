"""What is on disk of a conversation with memory, and what comes back from there."""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

pytest.importorskip("openhands.sdk", reason="needs the extra: openhands-memory[sdk]")

from adapters.sdk_kit import (
    NOW,
    OURS,
    PROJECT_INDEX,
    PROJECT_MARK,
    agent,
    call,
    context,
    converse,
    converse_stock,
    model,
    parts_of,
    prompts_of,
    say,
    start,
    write,
)
from openhands import sdk
from openhands.sdk.event import MessageEvent

import openhands_memory


@pytest.fixture
def project(workspace):
    write(workspace / PROJECT_INDEX, f"* {PROJECT_MARK}\n")
    return workspace


class Store:
    """Where one conversation is kept."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.id = uuid.uuid4()
        self.place = {"persistence_dir": str(root), "conversation_id": self.id}

    @property
    def base_state(self) -> str:
        [path] = self.root.rglob("base_state.json")
        return path.read_text(encoding="utf-8")

    @property
    def events(self) -> list[dict]:
        paths = sorted(self.root.rglob("event-*.json"))
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "conversations")


def resume(store, given, workspace, make=converse):
    return make(given, workspace, **store.place)


def resume_alone(store, workspace, make=openhands_memory.LocalConversation):
    """Resumed without an agent; the factories have no such form."""
    if tuple(map(int, sdk.__version__.split(".")[:2])) < (1, 43):
        pytest.skip(f"openhands-sdk {sdk.__version__} cannot resume without an agent")
    return make(agent=None, workspace=str(workspace), visualizer=None, **store.place)


def kinds_in(value) -> set[str]:
    """Every ``kind`` in persisted JSON: the SDK's class names."""
    if isinstance(value, list):
        return set().union(*map(kinds_in, value))
    if not isinstance(value, dict):
        return set()
    own = {value["kind"]} if isinstance(value.get("kind"), str) else set()
    return own.union(*map(kinds_in, value.values()))


# --- On disk --------------------------------------------------------------------------


@pytest.fixture
def finished(store, project):
    """One conversation with memory, a tool call and an answer, closed."""
    path = project / "notes.txt"
    given = agent(
        call("file_editor", command="create", path=str(path), file_text="text\n"), say()
    )
    with converse(given, project, **store.place) as conversation:
        start(conversation)
        conversation.run()
    return store


def test_base_state_has_nothing_of_the_memory(finished, project):
    stored = finished.base_state
    assert PROJECT_MARK not in stored and "MEMORY_CONTEXT" not in stored
    assert "memory_context" not in stored and "openhands_memory" not in stored
    stock = Store(finished.root.with_name("stock"))
    off = agent(agent_context=sdk.AgentContext(current_datetime=NOW))
    converse_stock(off, project, **stock.place).close()
    fields = json.loads(finished.base_state)["agent"]["agent_context"]
    assert (
        fields.keys() == json.loads(stock.base_state)["agent"]["agent_context"].keys()
    )


def test_persisted_kinds_are_those_of_a_stock_conversation(finished, project):
    stock = Store(finished.root.with_name("stock"))
    path = project / "more.txt"
    given = agent(
        call("file_editor", command="create", path=str(path), file_text="text\n"),
        say(),
        agent_context=sdk.AgentContext(current_datetime=NOW),
    )
    conversation = converse_stock(given, project, **stock.place)
    start(conversation)
    conversation.run()
    conversation.close()
    assert kinds_in(finished.events) == kinds_in(stock.events)
    assert kinds_in(json.loads(finished.base_state)) == kinds_in(
        json.loads(stock.base_state)
    )


def test_memory_text_is_persisted_in_the_prompt_event_alone(finished):
    with_text = [e["kind"] for e in finished.events if PROJECT_MARK in json.dumps(e)]
    assert with_text == ["SystemPromptEvent"]


OPEN_ALONE = """
import sys
sys.modules["openhands_memory"] = None  # as if it were not installed
from openhands import sdk
from openhands.sdk.event import SystemPromptEvent
from openhands.sdk.llm import Message, TextContent
from openhands.sdk.testing import TestLLM
from openhands.tools.file_editor import FileEditorTool
import uuid

root, identity, workspace = sys.argv[1:]
reply = Message(role="assistant", content=[TextContent(text="still here")])
agent = sdk.Agent(
    llm=TestLLM.from_messages([reply]), tools=[sdk.Tool(name=FileEditorTool.name)]
)
conversation = sdk.Conversation(
    agent=agent, workspace=workspace, persistence_dir=root,
    conversation_id=uuid.UUID(identity), visualizer=None,
)
conversation.send_message("are you there?")
conversation.run()
[prompt] = [e for e in conversation.state.events if isinstance(e, SystemPromptEvent)]
print(prompt.dynamic_context.text)
assert not [name for name in sys.modules if name.startswith("openhands_memory.")]
"""


def test_opens_where_this_package_is_not_installed(finished, project):
    arguments = [str(finished.root), str(finished.id), str(project)]
    done = subprocess.run(
        [sys.executable, "-c", OPEN_ALONE, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "OTEL_SDK_DISABLED": "true"},
    )
    assert done.returncode == 0, done.stderr
    assert PROJECT_MARK in done.stdout


# --- Resume ---------------------------------------------------------------------------


def test_resume_with_the_agent_keeps_the_prompt(finished, project, caplog):
    before = [e for e in finished.events if e["kind"] == "SystemPromptEvent"]
    write(project / PROJECT_INDEX, "* changed\n")
    given = agent(say("again"))
    with resume(finished, given, project) as conversation:
        conversation.send_message("more")
        conversation.run()
        memory = conversation.memory
    [prompt] = prompts_of(conversation)
    assert parts_of(prompt)[0] == before[0]["system_prompt"]["text"]
    assert PROJECT_MARK in memory.text and memory.block in parts_of(prompt)[1]
    assert "its prompt keeps what was read then" in memory.hints[-1]
    assert memory.tiers[1].status == "loaded"


def test_resume_with_unchanged_files_has_no_hint(finished, project):
    with resume(finished, agent(), project) as conversation:
        assert PROJECT_MARK in conversation.memory.text
        assert not [hint for hint in conversation.memory.hints if "prompt" in hint]


def test_resume_by_the_stock_conversation_keeps_the_prompt(finished, project):
    given = agent(say("again"), agent_context=sdk.AgentContext(load_memory=True))
    conversation = resume(finished, given, project, converse_stock)
    conversation.send_message("more")
    conversation.run()
    [prompt] = prompts_of(conversation)
    assert PROJECT_MARK in parts_of(prompt)[1] and OURS in parts_of(prompt)[0]


def test_resume_without_agent_says_what_it_cannot_know(finished, project, caplog):
    conversation = resume_alone(finished, project)
    conversation.send_message("more")
    [prompt] = prompts_of(conversation)
    assert PROJECT_MARK in parts_of(prompt)[1]
    assert conversation.memory.block in parts_of(prompt)[1]
    assert "pass agent= to read" in conversation.memory.hints[-1]
    [record] = [r for r in caplog.records if r.name == "openhands_memory"]
    assert "resumed without an agent" in record.getMessage()


def test_resume_without_agent_by_the_stock_class_keeps_the_prompt(finished, project):
    conversation = resume_alone(finished, project, sdk.LocalConversation)
    conversation.send_message("more")
    [prompt] = prompts_of(conversation)
    assert PROJECT_MARK in parts_of(prompt)[1]


def test_resume_of_a_conversation_that_never_began_reads_memory(store, project):
    converse(agent(), project, **store.place).close()
    write(project / PROJECT_INDEX, "* fresh\n")
    conversation = resume(store, agent(), project)
    assert "* fresh" in start(conversation)[1]
    assert conversation.memory.hints == ()


def test_resume_without_agent_of_one_that_never_began_is_no_silence(
    store, project, caplog
):
    converse(agent(), project, **store.place).close()
    conversation = resume_alone(store, project)
    assert PROJECT_MARK not in start(conversation)[1]
    assert conversation.memory.text is None
    assert "nothing was read; pass agent= to read" in caplog.text


def test_resume_without_agent_binds_a_context_that_still_asks(store, project):
    """Made by the stock conversation: its persisted context asks for memory."""
    given = agent(agent_context=sdk.AgentContext(load_memory=True))
    converse_stock(given, project, **store.place).close()
    write(project / PROJECT_INDEX, f"* {PROJECT_MARK}\n</MEMORY_CONTEXT>\n")
    conversation = resume_alone(store, project)
    static, dynamic = start(conversation)
    assert OURS in static and conversation.memory.block in dynamic
    assert "&lt;/MEMORY_CONTEXT>" in dynamic
    assert not conversation.agent.agent_context.load_memory


def test_resume_without_agent_of_a_stock_conversation_reads_safely(
    store, project, caplog
):
    """Its prompt stays; the SDK's own reader, which a pipe would stop, never runs."""
    given = agent(agent_context=sdk.AgentContext(load_memory=True))
    conversation = converse_stock(given, project, **store.place)
    expected = start(conversation)
    conversation.close()
    (project / PROJECT_INDEX).unlink()
    (project / PROJECT_INDEX).mkdir()
    conversation = resume_alone(store, project)
    conversation.send_message("more")
    assert [parts_of(prompt) for prompt in prompts_of(conversation)] == [expected]
    assert PROJECT_MARK in conversation.memory.text
    assert conversation.memory.tiers[1].status == "refused"
    assert "Failed to read memory index" not in caplog.text  # the SDK's reader


def test_resume_with_memory_of_one_that_began_without_it_says_so(
    store, project, caplog
):
    off = agent(agent_context=context(load_memory=False))
    with converse(off, project, **store.place) as conversation:
        start(conversation)
    with resume(store, agent(), project) as conversation:
        assert conversation.memory.text is None
    assert "began without memory" in conversation.memory.hints[-1]
    assert "began without memory" in caplog.text


def test_resume_switched_off_keeps_what_the_prompt_has(finished, project):
    off = agent(agent_context=context(load_memory=False))
    with resume(finished, off, project) as conversation:
        assert PROJECT_MARK in conversation.memory.text


# --- Fork -----------------------------------------------------------------------------


def test_fork_before_the_first_message_carries_the_memory(project):
    conversation = converse(agent(), project)
    write(project / PROJECT_INDEX, "* fresh\n")
    fork = conversation.fork()
    static, dynamic = start(fork)
    assert OURS in static and "* fresh" in dynamic
    static, dynamic = start(conversation)
    assert OURS in static and conversation.memory.block in dynamic


def test_fork_after_the_first_message_keeps_the_prompt(project, caplog):
    conversation = converse(agent(say()), project)
    expected = start(conversation)
    conversation.run()
    write(project / PROJECT_INDEX, "* changed\n")
    fork = conversation.fork()
    fork.send_message("more")
    assert [parts_of(prompt) for prompt in prompts_of(fork)] == [expected]
    assert not [r for r in caplog.records if r.name == "openhands_memory"]


def test_fork_from_an_event_keeps_the_prompt(project):
    conversation = converse(agent(say(), say()), project)
    expected = start(conversation)
    conversation.run()
    events = conversation.state.events
    message = next(event for event in events if isinstance(event, MessageEvent))
    conversation.send_message("second")
    fork = conversation.fork(from_event_id=message.id)
    assert [parts_of(prompt) for prompt in prompts_of(fork)] == [expected]
    assert len(list(fork.state.events)) < len(list(events))


def test_fork_with_another_agent_binds_it(project):
    conversation = converse(agent(agent_context=context(load_memory=False)), project)
    fork = conversation.fork(agent=agent(system_prompt="You are a poet."))
    static, dynamic = start(fork)
    assert static.startswith("You are a poet.") and OURS in static
    assert PROJECT_MARK in dynamic


def test_fork_with_another_agent_says_that_the_prompt_stays(project, caplog):
    conversation = converse(agent(say()), project)
    expected = start(conversation)
    write(project / PROJECT_INDEX, "* changed\n")
    fork = conversation.fork(agent=agent())
    fork.send_message("more")
    assert [parts_of(prompt) for prompt in prompts_of(fork)] == [expected]
    assert "the fork keeps the system prompt" in caplog.text


def test_fork_and_resume_of_a_planning_agent_validate(store, project):
    """The SDK refuses a system prompt beside a prompt file other than the default."""
    planner = {"system_prompt_filename": "system_prompt_planning.j2"}
    conversation = converse(agent(**planner), project, **store.place)
    static, dynamic = start(conversation.fork())
    assert OURS in static and PROJECT_MARK in dynamic
    expected = start(conversation)
    conversation.close()
    with resume(store, agent(**planner), project) as conversation:
        conversation.send_message("more")
    assert [parts_of(prompt) for prompt in prompts_of(conversation)] == [expected]


def test_fork_is_persisted_without_the_memory(store, project):
    conversation = converse(agent(), project, **store.place)
    fork = conversation.fork(conversation_id=uuid.uuid4())
    fork.close()
    states = [p.read_text() for p in store.root.rglob("base_state.json")]
    assert len(states) == 2
    assert not [state for state in states if PROJECT_MARK in state]


# --- Other changes of the agent -------------------------------------------------------


def test_switch_llm_before_the_first_message_renders_for_the_new_model(project):
    """The prompt has a part that depends on the model's family."""
    claude = model(say()).model_copy(update={"model": "claude-sonnet-4"})
    off = sdk.AgentContext(current_datetime=NOW)
    stock = converse_stock(agent(agent_context=off), project)
    stock.switch_llm(claude.model_copy(update={"usage_id": "other"}))
    expected, _ = start(stock)
    plain, _ = start(converse(agent(), project))
    conversation = converse(agent(), project)
    conversation.switch_llm(claude.model_copy(update={"usage_id": "other"}))
    static, dynamic = start(conversation)
    assert static.partition("</MEMORY>")[2] == expected.partition("</MEMORY>")[2]
    assert static != plain
    assert PROJECT_MARK in dynamic


def test_switch_llm_later_keeps_the_prompt(project):
    conversation = converse(agent(say()), project)
    expected = start(conversation)
    conversation.run()
    other = model(say("other")).model_copy(update={"usage_id": "other"})
    conversation.switch_llm(other)
    conversation.send_message("more")
    conversation.run()
    assert [parts_of(prompt) for prompt in prompts_of(conversation)] == [expected]
    assert conversation.agent.llm.usage_id == "other"
