"""The OpenHands SDK's edge: memory resolved, then handed over in the SDK's own fields.

Touches the SDK, through public names only. A context alone cannot learn its workspace,
so memory is bound to an agent when agent and workspace are known: by `Conversation`, or
by `bind` for those who build conversations themselves. What is bound is an ordinary SDK
agent: its context carries the text in ``memory_context`` with ``load_memory`` off, so
that the SDK's own reader never opens the files, and its ``system_prompt`` carries the
instructions. Nothing of this package's own kinds is persisted.
"""

import inspect
import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, cast, overload

from openhands_memory.config import MemoryConfig
from openhands_memory.context.guidance import (
    carries_instructions,
    render_instructions,
    with_instructions,
)
from openhands_memory.context.render import harden_text
from openhands_memory.context.report import Memory
from openhands_memory.context.resolve import resolve_memory
from openhands_memory.errors import UnknownFieldError

try:
    from openhands import sdk
    from openhands.sdk.agent import ACPAgent
    from openhands.sdk.event import SystemPromptEvent
    from pydantic import (
        Field,
        InstanceOf,
        PrivateAttr,
        field_validator,
        model_validator,
    )
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("openhands", "pydantic"):
        raise
    msg = (
        "this needs the OpenHands SDK, which is not installed: "
        'pip install "openhands-memory[sdk]"'
    )
    raise ModuleNotFoundError(msg, name=error.name) from error

__all__ = ["AgentContext", "Conversation", "LocalConversation", "bind"]

_log = logging.getLogger("openhands_memory")

#: The built-in prompt's file name: an agent with a ``system_prompt`` must have it, or
#: the SDK refuses to validate it again (OpenHands SDK 1.58.2, agent/base.py).
_DEFAULT_PROMPT_FILE = "system_prompt.j2"

_GENERATE_PENDING = (
    "memory: generate is set, but this release records and generates nothing yet"
)


class AgentContext(sdk.AgentContext):
    """The SDK's context with one more field, *memory*.

    With ``load_memory=False``, the default, *memory* has no effect.

    Raises:
        pydantic.ValidationError: A field does not exist or has a wrong value; the
            message names the nearest field.
    """

    memory: InstanceOf[MemoryConfig] = Field(
        default_factory=MemoryConfig,
        description="What of memory is read, from where, and what is generated.",
        json_schema_extra={"acp_compatible": True},
    )
    _bound: Memory | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_fields(cls, values: Any) -> Any:
        if isinstance(values, Mapping):
            for name in cast("Mapping[str, Any]", values):
                if name not in cls.model_fields:
                    raise UnknownFieldError("AgentContext", name, cls.model_fields)
        return values

    @field_validator("memory", mode="before")
    @classmethod
    def _from_mapping(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return MemoryConfig(**cast("Mapping[str, Any]", value))
        return value

    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Self:
        """Copy; a memory text that the SDK read by itself is made safe on the way."""
        changes = dict(update or {})
        text = changes.get("memory_context")
        if text and changes.get("load_memory", self.load_memory):
            reads = self.memory.read is not None and self.memory.layout is None
            changes["memory_context"] = harden_text(text) if reads else None
        return super().model_copy(update=changes, deep=deep)

    def get_user_message_suffix(self, *args: Any, **kwargs: Any) -> Any:
        """As the SDK's; the first call warns if this context was never bound."""
        if self.load_memory and self._bound is None:
            self._bound = Memory(None, 0)
            _log.warning(
                "memory: this AgentContext is not bound to a workspace, so the SDK's own "
                "loader read the files and gives its own instructions; the text was "
                "made safe, the settings in memory=... do not apply. Use "
                "openhands_memory.Conversation, or bind(agent, workspace)"
            )
        return super().get_user_message_suffix(*args, **kwargs)


def bind(agent: sdk.AgentBase, workspace: str | Path | sdk.LocalWorkspace) -> Any:
    """An agent with the memory of *workspace*, for any conversation there.

    Returns a copy of *agent*, which stays as it is; *agent* itself if its context does
    not ask for memory. Never raises for what lies on disk.
    """
    return _bind(agent, workspace)[0]


def _bind(
    agent: sdk.AgentBase, workspace: str | Path | sdk.LocalWorkspace
) -> tuple[sdk.AgentBase, Memory]:
    context = agent.agent_context
    if context is None or not context.load_memory:
        bound = context._bound if isinstance(context, AgentContext) else None
        return agent, bound or Memory(None, 0)
    config = context.memory if isinstance(context, AgentContext) else MemoryConfig()
    memory = resolve_memory(_directory(workspace), config=config)
    if config.generate is not None:
        _log.warning(_GENERATE_PENDING)
    if config.read is None:
        return _with_context(agent, context, None, memory), memory
    instructions = render_instructions(
        memory.tiers,
        char_budget=memory.char_budget,
        live_update=config.read.live_update,
    )
    if isinstance(agent, ACPAgent):
        # Its prompt is its own: the block is all that reaches it.
        text = "\n\n".join(filter(None, (instructions, memory.text)))
        return _with_context(agent, context, text, memory), memory
    prompt = with_instructions(agent.static_system_message, instructions)
    bound = _with_context(agent, context, memory.text, memory)
    bound = bound.model_copy(
        update={"system_prompt": prompt, "system_prompt_filename": _DEFAULT_PROMPT_FILE}
    )
    return bound, memory


def _with_context(
    agent: sdk.AgentBase, context: sdk.AgentContext, text: str | None, memory: Memory
) -> sdk.AgentBase:
    context = context.model_copy(update={"memory_context": text, "load_memory": False})
    if isinstance(context, AgentContext):
        context._bound = memory
    return agent.model_copy(update={"agent_context": context})


def _directory(workspace: str | Path | sdk.LocalWorkspace) -> str | Path:
    if isinstance(workspace, sdk.LocalWorkspace):
        return workspace.working_dir
    return workspace


class LocalConversation(sdk.LocalConversation):
    """The SDK's local conversation with memory bound when it starts.

    Takes what the SDK's class takes. Memory is read once, at the first message or run
    at the latest; a conversation that is resumed keeps the text that its system prompt
    was made with.
    """

    def __init__(
        self,
        agent: sdk.AgentBase | None,
        workspace: str | Path | sdk.LocalWorkspace,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if not isinstance(workspace, sdk.LocalWorkspace):
            workspace = os.path.expanduser(workspace)
        self._given = agent
        self._memory = Memory(None, 0)
        bound = agent
        if agent is not None:
            bound, self._memory = _bind(agent, workspace)
        super().__init__(bound, workspace, *args, **kwargs)
        self._prompt_is_made = self._find_prompt() is not None
        if agent is None:
            self._adopt_persisted_agent()
        elif self._prompt_is_made:
            self._note_resumption()
        for warning in self._memory.warnings:
            _log.warning("memory: %s", warning)

    @property
    def memory(self) -> Memory:
        """What the agent sees of its memory, and the report on it."""
        return self._memory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def send_message(self, *args: Any, **kwargs: Any) -> None:
        self._read_before_start()
        super().send_message(*args, **kwargs)

    def run(self) -> None:
        self._read_before_start()
        super().run()

    async def arun(self) -> None:
        self._read_before_start()
        await super().arun()

    def fork(self, *, agent: sdk.AgentBase | None = None, **kwargs: Any) -> Any:
        """As the SDK's: a stock conversation, which keeps the memory of this one.

        An *agent* that asks for memory is bound first.
        """
        text_of = self.agent
        if agent is not None:
            agent = text_of = bind(agent, self.workspace)
        fork = super().fork(agent=agent, **kwargs)
        # The SDK copies the agent as JSON, where the text is left out on purpose.
        context = text_of.agent_context
        _set_memory_text(fork, context.memory_context if context else None)
        return fork

    def _find_prompt(self) -> SystemPromptEvent | None:
        events = (e for e in self.state.events if isinstance(e, SystemPromptEvent))
        return next(events, None)

    def _read_before_start(self) -> None:
        """Read memory again if files changed between construction and first use."""
        if self._prompt_is_made or self._given is None:
            return
        self._prompt_is_made = True
        agent, self._memory = _bind(self._given, self.workspace)
        context = agent.agent_context
        _set_memory_text(self, context.memory_context if context else None)

    def _note_resumption(self) -> None:
        prompt = self._find_prompt()
        dynamic = prompt.dynamic_context if prompt else None
        text = self._memory.text
        if text and (dynamic is None or text not in dynamic.text):
            self._add_hint(
                "the memory files changed since this conversation began; its prompt "
                "keeps what was read then"
            )

    def _adopt_persisted_agent(self) -> None:
        """Bind an agent that was resumed from disk, as far as its settings are there."""
        agent = self.agent
        context = agent.agent_context
        if context is not None and context.load_memory:
            self._given = agent
            bound, self._memory = _bind(agent, self.workspace)
            self.agent = bound
            with self.state:
                self.state.agent = bound
        elif carries_instructions(agent.system_prompt or ""):
            hint = (
                "resumed without an agent: memory's settings are not persisted, so the "
                "prompt keeps what it had and nothing was read; pass agent= to read"
            )
            self._add_hint(hint)
            _log.warning("memory: %s", hint)

    def _add_hint(self, hint: str) -> None:
        memory = self._memory
        self._memory = replace(memory, _hints=lambda: (*memory.hints, hint))


def _set_memory_text(conversation: sdk.LocalConversation, text: str | None) -> None:
    context = conversation.agent.agent_context
    if context is None or context.memory_context == text:
        return
    context = context.model_copy(update={"memory_context": text})
    conversation.agent = conversation.agent.model_copy(
        update={"agent_context": context}
    )
    with conversation.state:
        conversation.state.agent = conversation.agent


class Conversation(sdk.Conversation):
    """The SDK's factory, signature and all, with memory.

    Returns a `LocalConversation` of this package for a local workspace, and the SDK's
    own object for a remote one, where the server's SDK reads the memory it finds there.
    """

    __signature__ = inspect.signature(sdk.Conversation)

    @overload
    def __new__(
        cls,
        agent: sdk.AgentBase,
        *,
        workspace: str | Path | sdk.LocalWorkspace = ...,
        **kwargs: Any,
    ) -> LocalConversation: ...

    @overload
    def __new__(
        cls, agent: sdk.AgentBase, *, workspace: sdk.RemoteWorkspace, **kwargs: Any
    ) -> sdk.RemoteConversation: ...

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(sdk.Conversation.__new__).bind(cls, *args, **kwargs)
        given.apply_defaults()
        arguments = dict(given.arguments)
        del arguments["cls"]
        if not isinstance(arguments["workspace"], sdk.RemoteWorkspace):
            return LocalConversation(**arguments)
        _warn_remote(arguments["agent"])
        return sdk.Conversation(*args, **kwargs)


def _warn_remote(agent: sdk.AgentBase) -> None:
    context = agent.agent_context
    if context is not None and context.load_memory:
        _log.warning(
            "memory: the workspace is remote, so the server's SDK reads the memory "
            "files it finds there; the settings in memory=... do not apply"
        )
