"""What a run leaves in its rollout, tried with real conversations of each kind."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openhands.sdk", reason="events are the SDK's")

from adapters.sdk_kit import agent, call, say
from openhands import sdk
from openhands.sdk.conversation import ConversationExecutionStatus as ExecutionStatus
from openhands.sdk.event import (
    ACPToolCallEvent,
    ActionEvent,
    AgentErrorEvent,
    Event,
    InterruptEvent,
    MessageEvent,
    ObservationEvent,
    PauseEvent,
    SystemPromptEvent,
    UserRejectObservation,
)
from openhands.sdk.event.conversation_error import ConversationErrorEvent
from openhands.sdk.llm import (
    ImageContent,
    Message,
    MessageToolCall,
    TextContent,
    ThinkingBlock,
)
from openhands.sdk.mcp.config import MCPServer
from openhands.sdk.secret import LookupSecret, SecretSource
from openhands.sdk.security.confirmation_policy import AlwaysConfirm
from openhands.sdk.skills import KeywordTrigger, Skill
from openhands.sdk.tool.builtins.finish import FinishAction, FinishObservation
from pydantic import SecretStr

from openhands_memory.adapters.events import KNOWN_MEMORY, segment_of
from openhands_memory.adapters.known_secrets import known_secrets, secret_mask
from openhands_memory.generation.rollout import Segment, parse_segment, render_segment
from openhands_memory.layout import generated_files
from openhands_memory.secrets import mask_secrets

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
TOKEN = "ghp_" + "a1B2c3" * 6
#: Every encoding of it has something to escape.
REGISTERED = 'corr"ect\nhorse/bättery\\2026'


def converse(
    *replies: Message | Exception, workspace: Path, **fields: Any
) -> sdk.LocalConversation:
    context = fields.pop("agent_context", sdk.AgentContext())
    return sdk.Conversation(
        agent=agent(*replies, agent_context=context),
        workspace=str(workspace),
        visualizer=None,
        **fields,
    )


def run(conversation: sdk.LocalConversation, start: int = 0) -> Segment:
    error = None
    try:
        conversation.run()
    except Exception as raised:  # noqa: BLE001 - it is recorded
        error = raised
    return recorded(conversation, start, error=error)


def recorded(
    conversation: sdk.LocalConversation, start: int = 0, **fields: Any
) -> Segment:
    segment = segment_of(
        list(conversation.state.events)[start:],
        rollout_id="chat",
        now=NOW,
        status=conversation.state.execution_status,
        mask=secret_mask(conversation),
        **fields,
    )
    assert segment is not None
    assert parse_segment(render_segment(segment)) == segment
    return segment


def segment(*events: Event, **fields: Any) -> Segment:
    fields = {"status": ExecutionStatus.FINISHED, "mask": mask, **fields}
    found = segment_of(events, rollout_id="chat", now=NOW, **fields)
    assert found is not None
    return found


def mask(text: str) -> str:
    return mask_secrets(text, [REGISTERED]).text


def ended(found: Segment) -> tuple[str, str | None, str | None]:
    terminal = found.terminal
    assert terminal.has_final_output == (found.final_output is not None)
    return terminal.terminal_state, terminal.exception_type, found.final_output


# --- How runs end -----------------------------------------------------------------------


@pytest.mark.parametrize("reply", [call("finish", message="Bye."), say("Bye.")])
def test_a_run_that_finishes_is_completed(reply: Message, workspace: Path) -> None:
    conversation = converse(reply, workspace=workspace)
    conversation.send_message("hello")
    found = run(conversation)
    assert found.input == ({"role": "user", "content": "hello"},)
    assert found.generated_items == ({"role": "assistant", "content": "Bye."},)
    assert ended(found) == ("completed", None, "Bye.")
    assert found.updated_at == "2026-11-29T12:00:00+00:00"


def test_a_tool_call_stands_before_what_came_of_it(workspace: Path) -> None:
    (workspace / "notes.txt").write_text("use uv\n")
    path = str(workspace / "notes.txt")
    reading = call("file_editor", command="view", path=path)
    reading = reading.model_copy(update={"content": [TextContent(text="Looking.")]})
    conversation = converse(reading, say(), workspace=workspace)
    conversation.send_message("look")
    words, called, output, done = run(conversation).generated_items
    assert words == {"role": "assistant", "content": "Looking."}
    assert called == {
        "type": "function_call",
        "call_id": "call_file_editor",
        "name": "file_editor",
        "arguments": f'{{"command":"view","path":"{path}"}}',
    }
    assert (output["type"], output["call_id"]) == (
        "function_call_output",
        "call_file_editor",
    )
    assert "use uv" in str(output["output"])
    assert done == {"role": "assistant", "content": "Done."}


def test_a_run_that_takes_too_many_turns_says_so(workspace: Path) -> None:
    turns = [call("think", thought=f"{n}") for n in range(3)]
    conversation = converse(*turns, workspace=workspace, max_iteration_per_run=2)
    conversation.send_message("hello")
    found = run(conversation)
    assert ended(found) == ("max_turns_exceeded", "MaxIterationsReached", None)
    assert len(found.generated_items) == 4


def test_a_model_that_fails_makes_the_run_fail(workspace: Path) -> None:
    conversation = converse(RuntimeError(f"no {TOKEN}"), workspace=workspace)
    conversation.send_message("hello")
    found = run(conversation)
    assert ended(found) == ("failed", "RuntimeError", None)
    assert found.terminal.exception_message == "no [secret: github-token]"


def test_a_run_that_turns_in_circles_is_stuck(workspace: Path) -> None:
    turns = [call("think", thought="again") for _ in range(8)]
    conversation = converse(*turns, workspace=workspace)
    conversation.send_message("hello")
    assert ended(run(conversation)) == ("stuck", None, None)


def test_a_tool_that_does_not_exist_is_an_output(workspace: Path) -> None:
    conversation = converse(call("nosuch", a=1), say(), workspace=workspace)
    conversation.send_message("hello")
    found = run(conversation)
    assert [item.get("type") for item in found.generated_items] == [
        "function_call",
        "function_call_output",
        None,
    ]
    assert "nosuch" in str(found.generated_items[1]["output"])
    assert ended(found)[0] == "completed"


def test_what_waits_for_confirmation_is_an_interruption(workspace: Path) -> None:
    viewing = call("file_editor", command="view", path=str(workspace))
    conversation = converse(viewing, say("Fine."), workspace=workspace)
    conversation.set_confirmation_policy(AlwaysConfirm())
    conversation.send_message("look")
    waiting = run(conversation)
    assert ended(waiting) == ("interrupted", None, None)
    [pending] = waiting.interruptions
    assert pending == waiting.generated_items[-1]
    assert pending["name"] == "file_editor"

    start = len(conversation.state.events)
    conversation.reject_pending_actions("not in there")
    rejected = run(conversation, start)
    assert (rejected.input, rejected.interruptions) == ((), ())
    assert "not in there" in str(rejected.generated_items[0]["output"])
    assert ended(rejected) == ("completed", None, "Fine.")


def test_a_run_that_is_paused_is_interrupted(workspace: Path) -> None:
    def pause(event: Event) -> None:
        if isinstance(event, ActionEvent):
            conversation.pause()

    replies = (call("think", thought="hm"), say())
    conversation = converse(*replies, workspace=workspace, callbacks=[pause])
    conversation.send_message("hello")
    found = run(conversation)
    assert ended(found) == ("interrupted", None, None)
    assert found.interruptions == ()


def test_a_run_that_somebody_stops_is_cancelled() -> None:
    hello = MessageEvent(source="user", llm_message=user("hello"))
    stopped = segment(hello, InterruptEvent(), status=ExecutionStatus.PAUSED)
    assert ended(stopped) == ("cancelled", None, None)
    pressed = segment(hello, status=ExecutionStatus.RUNNING, error=KeyboardInterrupt())
    assert ended(pressed) == ("cancelled", "KeyboardInterrupt", None)


def test_a_run_that_leaves_nothing_is_no_segment() -> None:
    nothing = segment_of(
        [PauseEvent()],
        rollout_id="chat",
        now=NOW,
        status=ExecutionStatus.PAUSED,
        mask=mask,
    )
    assert nothing is None


# --- What is left out -------------------------------------------------------------------


def user(text: str) -> Message:
    return Message(role="user", content=[TextContent(text=text)])


def test_what_skills_and_hooks_put_in_is_left_out(workspace: Path) -> None:
    skill = Skill(
        name="deploy",
        content="SKILL TEXT",
        trigger=KeywordTrigger(keywords=["deploy"]),
        source="x",
    )
    context = sdk.AgentContext(skills=[skill], system_message_suffix="SUFFIX")
    conversation = converse(say(), workspace=workspace, agent_context=context)
    conversation.send_message("deploy it")
    line = render_segment(run(conversation)).decode()
    assert "SKILL TEXT" in str([e.model_dump() for e in conversation.state.events])
    for word in ("SKILL TEXT", "SUFFIX", "system"):
        assert word not in line


def test_hooks_and_skills_of_a_tool_are_left_out() -> None:
    hook = MessageEvent(source="environment", llm_message=user("HOOK TEXT"))
    blocked = UserRejectObservation(
        action_id="a",
        tool_name="terminal",
        tool_call_id="c1",
        rejection_reason="HOOK TEXT",
        rejection_source="hook",
    )
    invoked = observed("SKILL TEXT", tool_name="invoke_skill")
    extended = observed("fine", extended_content=[TextContent(text="SKILL TEXT")])
    found = segment(hook, blocked, invoked, extended)
    outputs = [item["output"] for item in found.generated_items]
    assert outputs == ["A hook blocked this call.", "[text of a skill]", "fine"]
    assert found.input == ()


def test_reasoning_is_left_out_and_pictures_are_named() -> None:
    picture = ImageContent(image_urls=["data:image/png;base64,AAAA"])
    asked = MessageEvent(
        source="user",
        llm_message=Message(role="user", content=[TextContent(text="see"), picture]),
    )
    answered = MessageEvent(
        source="agent",
        llm_message=Message(
            role="assistant",
            content=[TextContent(text="seen")],
            reasoning_content="HIDDEN",
            thinking_blocks=[ThinkingBlock(thinking="HIDDEN")],
        ),
    )
    found = segment(asked, answered, acted(reasoning_content="HIDDEN"))
    assert found.input[0]["content"] == "see\n[image]"
    assert b"HIDDEN" not in render_segment(found)


def test_the_memory_that_the_agent_was_given_does_not_come_back() -> None:
    memory = ["# Notes", "- use uv, not pip", "", "- tests need a display", "- none"]
    printed = (
        "Result of `cat -n`:\n     1\t# Notes\n     2\t- use uv, not pip\n"
        "     3\t- tests need a display\n     4\t- none\n     5\t- new fact\n"
        "MEMORY.md:7:- use uv, not pip\n  - tests need a display  \n"
        "1. use uv, not pip"
    )
    output = segment(observed(printed), known_lines=memory).generated_items[0]
    assert output["output"] == (
        f"Result of `cat -n`:\n     1\t# Notes\n{KNOWN_MEMORY}\n     4\t- none\n"
        f"     5\t- new fact\n{KNOWN_MEMORY}\n1. use uv, not pip"
    )
    said = MessageEvent(source="user", llm_message=user("- use uv, not pip"))
    assert segment(said, known_lines=memory).input[0]["content"] == "- use uv, not pip"


FACT = "- the build needs make 4.4 or newer"


def viewing(path: str, tool: str = "file_editor", **more: Any) -> ActionEvent:
    arguments = json.dumps({"path": path, **more})
    return acted(tool_name=tool, tool_call=called(tool, arguments))


@pytest.mark.parametrize(
    ("path", "more", "left"),
    [
        (".openhands/memory/skills/a/SKILL.md", {"command": "view"}, KNOWN_MEMORY),
        ("{}/.openhands/memory", {"command": "view", "summary": "x"}, KNOWN_MEMORY),
        ("link/raw_memories/a.md", {}, KNOWN_MEMORY),
        ("~/.openhands/memory/2026-11-29.md", {}, KNOWN_MEMORY),
        (".openhands/memory/MEMORY.md", {"command": "insert"}, "a reworded fact"),
        (".openhands/memory/MEMORY.md", {"content": "a"}, "a reworded fact"),
        (".openhands/memory/../README.md", {"command": "view"}, "a reworded fact"),
        (".openhands/memory2/a.md", {"command": "view"}, "a reworded fact"),
        ("{}", {"command": "view"}, "a reworded fact"),
    ],
)
def test_what_only_views_memory_leaves_a_mark(
    path: str, more: dict[str, str], left: str, workspace: Path, memory_home: Path
) -> None:
    (workspace / ".openhands/memory").mkdir(parents=True)
    (workspace / "link").symlink_to(".openhands/memory")
    files = generated_files(str(workspace))
    done = [viewing(path.format(workspace), **more), observed("a reworded fact")]
    assert segment(*done, files=files).generated_items[1]["output"] == left


def test_a_person_who_rejects_a_view_is_heard(workspace: Path) -> None:
    rejected = UserRejectObservation(
        action_id="a",
        tool_name="file_editor",
        tool_call_id="c1",
        rejection_reason="not in there",
    )
    files = generated_files(str(workspace))
    found = segment(viewing(".openhands/memory/MEMORY.md"), rejected, files=files)
    assert str(found.generated_items[1]["output"]).endswith("not in there")


@pytest.mark.parametrize(
    ("tier", "name"),
    [
        ("workspace", "MEMORY.md"),
        ("workspace", "2026-11-29.md"),
        ("workspace", "raw_memories/a.md"),
        ("workspace", "rollout_summaries/a_b.md"),
        ("workspace", "skills/a/SKILL.md"),
        ("home", "MEMORY.md"),
        ("home", "2026-11-29.md"),
    ],
)
def test_lines_on_disk_are_known_once_a_tool_names_them(
    tier: str, name: str, workspace: Path, memory_home: Path
) -> None:
    base = workspace if tier == "workspace" else memory_home
    file = base / ".openhands/memory" / name
    file.parent.mkdir(parents=True)
    file.write_text(f"{FACT}\n")
    files = generated_files(str(workspace))
    naming = acted(
        tool_call=called("terminal", '{"command": "cat .openhands/memory/*"}')
    )
    found = segment(naming, observed(f"new\n+{FACT}\n"), files=files)
    assert found.generated_items[1]["output"] == f"new\n{KNOWN_MEMORY}\n"
    other = segment(acted(), observed(FACT), files=files)
    assert other.generated_items[1]["output"] == FACT  # nothing was read


def test_no_link_out_of_memory_makes_lines_known(
    workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text(FACT)
    memory = workspace / ".openhands/memory"
    memory.mkdir(parents=True)
    (memory / "a.md").symlink_to(outside / "a.md")
    (memory / "skills").symlink_to(outside)
    files = generated_files(str(workspace))
    printed = f"MEMORY.md says\n{FACT}"
    found = segment(acted(), observed(printed), files=files)
    assert found.generated_items[1]["output"] == printed


def test_only_so_much_of_memory_is_read(workspace: Path) -> None:
    memory = workspace / ".openhands/memory"
    memory.mkdir(parents=True)
    (memory / "large.md").write_text("x" * 1024 * 1024 + f"\n{FACT}\n")
    (memory / "MEMORY.md").write_text("- tests need a display to run\n")
    files = generated_files(str(workspace))
    printed = f"MEMORY.md says\n{FACT}\n- tests need a display to run"
    found = segment(acted(), observed(printed), files=files)
    left = f"MEMORY.md says\n{FACT}\n{KNOWN_MEMORY}"
    assert found.generated_items[1]["output"] == left


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("\x1b[?2004l\r\x1b[1;31mred\x1b[0m", "\rred"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bplain\x1b=", "plain"),
        ("\x9b31mred", "red"),
        ("cut \x1b[", "cut "),
        ("Größe [31m", "Größe [31m"),
        ("ghp_\x1b[0m" + "a1B2c3" * 6, "[secret: github-token]"),
    ],
)
def test_escape_sequences_of_terminals_are_left_out(
    printed: str, expected: str
) -> None:
    assert segment(observed(printed)).generated_items[0]["output"] == expected


def test_escape_sequences_cost_no_more_than_their_length() -> None:
    for piece in ("\x1b]", "\x1b[", "\x1b[1", "\x1bP\x1b", "\x9d"):
        assert segment(observed(piece * 200_000)).generated_items


def test_an_acp_servers_calls_are_taken_once_with_what_came_of_them() -> None:
    def told(status: str, **fields: Any) -> ACPToolCallEvent:
        return ACPToolCallEvent(
            tool_call_id="t1", title="Run tests", status=status, **fields
        )

    block = {"type": "content", "content": {"type": "text", "text": "2 passed"}}
    finish = acted(
        tool_name="finish",
        action=FinishAction(message="Done."),
        tool_call=called("finish", '{"message": "Done."}'),
    )
    found = segment(
        told("pending"),
        told("completed", raw_input={"command": "pytest"}, content=[block]),
        finish,
        observed("Done.", tool_name="finish", observation=FinishObservation()),
    )
    assert found.generated_items == (
        {
            "type": "function_call",
            "call_id": "t1",
            "name": "Run tests",
            "arguments": '{"command":"pytest"}',
        },
        {"type": "function_call_output", "call_id": "t1", "output": "2 passed"},
        {"role": "assistant", "content": "Done."},
    )
    assert found.final_output == "Done."


# --- Secrets ----------------------------------------------------------------------------


def called(name: str, arguments: str, call_id: str = "c1") -> MessageToolCall:
    return MessageToolCall(
        id=call_id, name=name, arguments=arguments, origin="completion"
    )


def acted(**fields: Any) -> ActionEvent:
    fields = {
        "thought": [],
        "action": None,
        "tool_name": "terminal",
        "tool_call_id": "c1",
        "tool_call": called("terminal", "{}"),
        "llm_response_id": "r1",
        **fields,
    }
    return ActionEvent(**fields)


def observed(text: str, **fields: Any) -> ObservationEvent:
    fields = {
        "observation": FinishObservation.from_text(text),
        "action_id": "a1",
        "tool_name": "terminal",
        "tool_call_id": "c1",
        **fields,
    }
    return ObservationEvent(**fields)


def everywhere(secret: str) -> list[Event]:
    """Events of every kind, with *secret* in every text of them."""
    text = f"before {secret} after"
    content = [TextContent(text=text)]
    nested = {"deep": [{"list": [text, {text: text}]}], text: 1, "token": secret}
    return [
        SystemPromptEvent(system_prompt=content[0], tools=[]),
        MessageEvent(
            source="user",
            llm_message=Message(role="user", content=content, name=text),
            activated_skills=[text],
            extended_content=content,
            sender=text,
        ),
        MessageEvent(
            source="agent",
            llm_message=Message(
                role="assistant", content=content, reasoning_content=text
            ),
        ),
        *(
            acted(
                thought=content,
                reasoning_content=text,
                tool_name=text,
                tool_call_id=text,
                tool_call=called(text, arguments, text),
                summary=text,
            )
            for arguments in (
                text,
                json.dumps(text),
                json.dumps(nested),
                json.dumps(nested, ensure_ascii=False, indent=1),
                json.dumps({"inner": json.dumps(nested)}),
                json.dumps(nested)[:-9],
                escaped({"file_text": text}),
            )
        ),
        acted(
            tool_name="finish",
            action=FinishAction(message=text),
            tool_call=called("finish", json.dumps({"message": text})),
        ),
        observed(text, tool_name=text, tool_call_id=text, extended_content=content),
        AgentErrorEvent(error=text, tool_name=text, tool_call_id=text),
        UserRejectObservation(
            rejection_reason=text, action_id=text, tool_name=text, tool_call_id=text
        ),
        ACPToolCallEvent(
            tool_call_id=text,
            title=text,
            status=text,
            tool_kind=text,
            raw_input=nested,
            raw_output=nested,
        ),
        ACPToolCallEvent(
            tool_call_id=text + "2",
            title=text,
            raw_input=text,
            content=[{"type": "diff", "newText": text}],
        ),
        ConversationErrorEvent(source="environment", code=text, detail=text),
    ]


def escaped(value: object) -> str:
    """JSON with every letter in it as an escape."""
    whole = json.dumps(value)
    start, _, text = whole.partition(": ")
    letters = json.loads(text[:-1])
    return f'{start}: "{"".join(f"\\u{ord(char):04x}" for char in letters)}"}}'


def strings_in(value: Any) -> Iterator[str]:
    """All strings in *value*, and those in JSON in them, however often it was written."""
    if isinstance(value, str):
        yield value
        try:
            inner = json.loads(value)
        except ValueError:
            return
        if inner != value and not isinstance(inner, (int, float)):
            yield from strings_in(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from strings_in(key)
            yield from strings_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_in(inner)


@pytest.mark.parametrize("secret", [TOKEN, REGISTERED])
@pytest.mark.parametrize("status", list(ExecutionStatus))
def test_no_secret_in_any_text_of_any_event_reaches_the_line(
    secret: str, status: ExecutionStatus
) -> None:
    error = RuntimeError(f"failed with {secret}")
    for raised in (None, error):
        line = render_segment(segment(*everywhere(secret), status=status, error=raised))
        found = list(strings_in(json.loads(line)))
        pieces = {secret[:12], secret[-12:]}
        assert not [text for text in found if any(p in text for p in pieces)]
        assert secret.encode() not in line
        assert json.dumps(secret)[1:-1].encode() not in line
        assert sum("[secret: " in text for text in found) > 20


def test_numbers_and_names_give_secrets_away_in_arguments() -> None:
    arguments = json.dumps({"password": "hunter2hunter2", "pin": 4711_0815_2342})
    found = segment(
        acted(tool_call=called("login", arguments)),
        mask=lambda text: mask_secrets(text, ["471108152342"]).text,
    )
    written = str(found.generated_items[0]["arguments"])
    assert "hunter2" not in written
    assert "4711" not in written


class Vault(SecretSource):
    """A source of the user's own."""

    def get_value(self) -> str | None:
        return "from-the-vault-1"


class BrokenVault(SecretSource):
    def get_value(self) -> str | None:
        raise OSError("sealed")


class Online(LookupSecret):
    def get_value(self) -> str:
        raise AssertionError("nothing is to be fetched")


def test_secrets_are_known_from_the_registry_the_models_and_the_servers(
    workspace: Path,
) -> None:
    given = agent(say(), agent_context=sdk.AgentContext())
    llm = given.llm.model_copy(update={"api_key": SecretStr("key-of-the-model")})
    server = MCPServer(
        command="true",
        env={"API_TOKEN": SecretStr("env-token-77"), "LOG": SecretStr("debug")},
        headers={"Authorization": SecretStr("Bearer header-token-99")},
    )
    given = given.model_copy(update={"llm": llm, "mcp_config": {"x": server}})
    conversation = sdk.Conversation(
        agent=given, workspace=str(workspace), visualizer=None
    )
    conversation.update_secrets(
        {
            "STATIC": "static-value-1",
            "VAULT": Vault(),
            "BROKEN": BrokenVault(),
            "ONLINE": Online(url="http://127.0.0.1:9/", headers={}),
        }
    )
    known = known_secrets(conversation)
    assert {
        *("static-value-1", "from-the-vault-1", "key-of-the-model"),
        *("env-token-77", "header-token-99"),
    } <= set(known)
    assert not {"debug", "sealed", "true"} & set(known)

    hide = secret_mask(conversation)
    assert hide("debug: static-value-1") == "debug: [secret: known-secret]"
    assert hide("a looked-up-1 value") == "a looked-up-1 value"
    conversation.state.secret_registry.track_exported_values({"ONLINE": "looked-up-1"})
    assert "looked-up-1" not in secret_mask(conversation)("a looked-up-1 value")


def test_a_model_that_needs_no_key_hides_no_words(workspace: Path) -> None:
    given = agent(say(), agent_context=sdk.AgentContext())
    llm = given.llm.model_copy(update={"api_key": SecretStr("ollama")})
    conversation = sdk.Conversation(
        agent=given.model_copy(update={"llm": llm}),
        workspace=str(workspace),
        visualizer=None,
    )
    assert secret_mask(conversation)("run ollama serve") == "run ollama serve"
