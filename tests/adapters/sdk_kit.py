"""What the tests of the SDK's edge share: scripted models, real conversations."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openhands import sdk
from openhands.sdk.event import SystemPromptEvent
from openhands.sdk.llm import LLMResponse, Message, MessageToolCall, TextContent
from openhands.sdk.testing import TestLLM
from openhands.tools.file_editor import FileEditorTool
from pydantic import PrivateAttr

import openhands_memory

NOW = "2026-11-29T12:00"
USER_MARK = "user-marker-7f3a"
PROJECT_MARK = "project-marker-91bc"

#: A phrase of our instructions, of the SDK's for AGENTS.md, of the SDK's for two tiers.
OURS = "memory that outlives this conversation"
AGENTS_MD = "as your persistent memory for repository-specific knowledge"
TWO_TIERS = "persistent memory that survives across sessions"

USER_INDEX = ".openhands/memory/MEMORY.md"
PROJECT_INDEX = ".openhands/memory/MEMORY.md"


class RecordingLLM(TestLLM):
    """A scripted model that keeps what it was sent."""

    _sent: list[list[Message]] = PrivateAttr(default_factory=list)

    @property
    def sent(self) -> list[list[Message]]:
        return self._sent

    def completion(
        self, messages: list[Message], *args: Any, **kwargs: Any
    ) -> LLMResponse:
        self._sent.append(list(messages))
        return super().completion(messages, *args, **kwargs)


def say(text: str = "Done.") -> Message:
    return Message(role="assistant", content=[TextContent(text=text)])


def call(name: str, **arguments: Any) -> Message:
    tool_call = MessageToolCall(
        id=f"call_{name}",
        name=name,
        arguments=json.dumps(arguments),
        origin="completion",
    )
    return Message(role="assistant", content=[], tool_calls=[tool_call])


def model(*replies: Message | Exception) -> RecordingLLM:
    return RecordingLLM.from_messages(list(replies))


def context(**fields: Any) -> openhands_memory.AgentContext:
    fields = {"load_memory": True, "current_datetime": NOW, **fields}
    return openhands_memory.AgentContext(**fields)


def agent(
    *replies: Message | Exception,
    agent_context: sdk.AgentContext | None = None,
    **fields: Any,
) -> sdk.Agent:
    return sdk.Agent(
        llm=model(*replies),
        tools=[sdk.Tool(name=FileEditorTool.name)],
        agent_context=agent_context or context(),
        **fields,
    )


def converse(
    given: sdk.AgentBase, workspace: Any, **fields: Any
) -> openhands_memory.LocalConversation:
    fields = {"visualizer": None, **fields}
    return openhands_memory.Conversation(agent=given, workspace=workspace, **fields)


def converse_stock(
    given: sdk.AgentBase, workspace: Any, **fields: Any
) -> sdk.LocalConversation:
    return sdk.Conversation(
        agent=given, workspace=str(workspace), visualizer=None, **fields
    )


def prompts_of(conversation: sdk.LocalConversation) -> list[SystemPromptEvent]:
    events = conversation.state.events
    return [event for event in events if isinstance(event, SystemPromptEvent)]


def start(conversation: sdk.LocalConversation) -> tuple[str, str]:
    """The static and the dynamic part of the prompt that a first message makes."""
    conversation.send_message("hello")
    [prompt] = prompts_of(conversation)
    return parts_of(prompt)


def parts_of(prompt: SystemPromptEvent) -> tuple[str, str]:
    dynamic = prompt.dynamic_context
    return prompt.system_prompt.text, dynamic.text if dynamic else ""


def system_message(messages: Sequence[Message]) -> str:
    """What a model was sent as the system message."""
    [system] = [message for message in messages if message.role == "system"]
    return "\n\n".join(
        part.text for part in system.content if isinstance(part, TextContent)
    )


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def files_below(*roots: Path) -> set[Path]:
    return {path for root in roots for path in root.rglob("*")}
