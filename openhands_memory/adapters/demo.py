"""The demo's two conversations, told as they happen.

Edge: the SDK with its real file editor, and the output. The agent itself writes the
memory file; nothing here does.
"""

import difflib
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openhands.sdk import LLM, Agent, Tool
from openhands.sdk.conversation.exceptions import ConversationRunError
from openhands.sdk.event import ActionEvent, MessageEvent
from openhands.sdk.llm import Message, MessageToolCall, TextContent
from openhands.sdk.testing import TestLLM
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.terminal import TerminalTool
from pydantic import SecretStr

from openhands_memory.adapters.context import AgentContext
from openhands_memory.adapters.conversation import Conversation, LocalConversation
from openhands_memory.commands.status import facts_of, report_lines
from openhands_memory.errors import MemoryToolError

__all__ = ["run_demo"]

_TOLD = (
    "We just decided to use uv, not pip or poetry, for all Python dependencies of this "
    "project. Record that decision in your project memory."
)
_ASKED = "Which tool do we use for Python dependencies here? Answer from what you know."
_FACT = "- Python dependencies: uv, not pip or poetry (the team's decision)"
_INDENT = "   "
_WIDTH = 80


class ModelError(MemoryToolError):
    """The real model could not be asked."""

    def __str__(self) -> str:
        cause = self.args[0].__cause__ or self.args[0]
        first = str(cause).strip().partition("\n")[0]
        return (
            f"the model did not answer: {first[:200]}\n"
            "Check LLM_API_KEY, LLM_MODEL and LLM_BASE_URL, or run without LLM_API_KEY."
        )


def run_demo(
    workspace: Path, *, model: str | None, api_key: str | None, base_url: str | None
) -> int:
    """Tell the story in *workspace*; 0 if the second agent knew, else 1."""
    llms: tuple[LLM, LLM]
    if model and api_key:
        llm = LLM(
            usage_id="demo",
            model=model,
            api_key=SecretStr(api_key),
            base_url=base_url,
            num_retries=1,
        )
        llms = (llm, llm)
    else:
        llms = _scripted(workspace)
    _title("1. First conversation: the agent is told a decision")
    before = _files(workspace)
    with _conversation(llms[0], workspace) as conversation:
        _hold(conversation, _TOLD)
    changed = _show_changes(before, _files(workspace))
    _title("2. Second conversation: a new agent, which was never told")
    with _conversation(llms[1], workspace) as conversation:
        _hold(conversation, _ASKED)
        memory = conversation.memory
    _title("3. What the second agent had in its system prompt")
    print(memory.block or "(no memory)")
    _title("4. The report on it")
    for line in report_lines(memory, facts_of(memory)):
        print(f"{_INDENT}{line}")
    knew = changed and "uv" in (memory.text or "")
    print(f"\nThe decision reached the second agent: {'yes' if knew else 'no'}.")
    return 0 if knew else 1


def _conversation(llm: LLM, workspace: Path) -> LocalConversation:
    agent = Agent(
        llm=llm,
        tools=[Tool(name=TerminalTool.name), Tool(name=FileEditorTool.name)],
        agent_context=AgentContext(load_memory=True),
    )
    return Conversation(agent=agent, workspace=workspace, visualizer=None)


def _hold(conversation: LocalConversation, message: str) -> None:
    conversation.send_message(message)
    try:
        conversation.run()
    except ConversationRunError as error:
        raise ModelError(error) from error
    for event in conversation.state.events:
        for speaker, text in _said(event):
            start = f"{_INDENT}{speaker:7}"
            print(
                textwrap.fill(
                    text,
                    _WIDTH,
                    initial_indent=start,
                    subsequent_indent=" " * len(start),
                )
            )


def _said(event: Any) -> Iterator[tuple[str, str]]:
    if isinstance(event, MessageEvent):
        texts = (
            c.text for c in event.llm_message.content if isinstance(c, TextContent)
        )
        yield f"{event.source}:", " ".join(texts)
    elif isinstance(event, ActionEvent) and event.action is not None:
        fields = event.action.model_dump()
        if "message" in fields:
            yield "agent:", fields["message"]
        else:
            name = Path(fields.get("path") or "").name
            done = f"{event.tool_name}: {fields.get('command')} {name}"
            yield "agent:", f"[{done.strip()}]"


def _files(workspace: Path) -> dict[str, str]:
    root = workspace.parent
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*.md"))
    }


def _show_changes(before: dict[str, str], after: dict[str, str]) -> bool:
    changed = [name for name in after if after[name] != before.get(name)]
    print(f"{_INDENT}files changed: {', '.join(changed) or 'none'}")
    for name in changed:
        old, new = before.get(name, "").splitlines(), after[name].splitlines()
        for line in difflib.unified_diff(old, new, lineterm="", n=0):
            if line.startswith(("+", "-")) and not line.startswith(("+++", "---")):
                print(f"{_INDENT}  {line}")
    return bool(changed)


def _title(text: str) -> None:
    print(f"\n{text}")


def _scripted(workspace: Path) -> tuple[TestLLM, TestLLM]:
    """One model that writes memory with the tools, and one that answers."""
    directory = workspace / ".openhands" / "memory"
    create = {
        "command": "create",
        "path": str(directory / "MEMORY.md"),
        "file_text": f"{_FACT}\n",
    }
    first: list[Message | Exception] = [
        # The editor creates files, but no directories (openhands-tools 1.58.2).
        _calls(TerminalTool.name, {"command": "mkdir -p .openhands/memory"}),
        _calls(FileEditorTool.name, create),
        _says("Recorded: Python dependencies are managed with uv."),
    ]
    second: list[Message | Exception] = [
        _says("uv. That is from project memory; I have not checked it here.")
    ]
    return TestLLM.from_messages(first), TestLLM.from_messages(second)


def _calls(tool: str, arguments: dict[str, str]) -> Message:
    call = MessageToolCall(
        id=f"call_{tool}",
        name=tool,
        arguments=json.dumps(arguments),
        origin="completion",
    )
    return Message(role="assistant", content=[], tool_calls=[call])


def _says(text: str) -> Message:
    return Message(role="assistant", content=[TextContent(text=text)])
