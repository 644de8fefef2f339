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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, cast, overload

from openhands_memory.config import MemoryConfig
from openhands_memory.context.guidance import (
    carries_instructions,
    render_instructions,
    with_instructions,
)
from openhands_memory.context.render import harden_text, render_block
from openhands_memory.context.report import Memory
from openhands_memory.context.resolve import resolve_memory
from openhands_memory.errors import SdkMissingError, UnknownFieldError

try:
    from openhands import sdk
    from openhands.sdk.agent import ACPAgent
    from openhands.sdk.event import SystemPromptEvent
    from pydantic import (
        BaseModel,
        Field,
        InstanceOf,
        PrivateAttr,
        field_validator,
        model_validator,
    )
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("openhands", "pydantic"):
        raise
    raise SdkMissingError(name=error.name) from error

__all__ = ["AgentContext", "Conversation", "LocalConversation", "bind"]

_log = logging.getLogger("openhands_memory")

#: The built-in prompt's file name: an agent with a ``system_prompt`` must have it, or
#: the SDK refuses to validate it again (OpenHands SDK 1.58.2, agent/base.py).
_DEFAULT_PROMPT_FILE: Final = "system_prompt.j2"

#: What stands around the text in a prompt.
_BLOCK_START, _BLOCK_END = render_block("\0").split("\0")

_NO_MEMORY: Final = Memory(None, 0)

_GENERATE_PENDING: Final = (
    "generate is set, but this release records and generates nothing yet"
)
_UNBOUND: Final = (
    "this AgentContext is not bound to a workspace, so the SDK gives its own "
    "instructions, and {text}; nothing else of memory=... applies. Use "
    "openhands_memory.Conversation, or bind(agent, workspace)"
)
_REMOTE: Final = "the workspace is remote, so its server's SDK decides: "
_RESUMED_ALONE: Final = (
    "resumed without an agent: memory's settings are not persisted, so the prompt "
    "keeps what it has and nothing was read; pass agent= to read"
)
_CHANGED_SINCE: Final = (
    "the memory files, or the settings, changed since this conversation began; its "
    "prompt keeps what was read then"
)
_BEGAN_WITHOUT: Final = (
    "this conversation began without memory, and its system prompt stays as it is: "
    "start a new one to have memory in it"
)
_FORK_KEEPS_PROMPT: Final = (
    "the fork keeps the system prompt that it was copied with, and the memory in it; "
    "that of agent= is not there"
)


@dataclass(frozen=True, slots=True)
class _Binding:
    """What a context was bound to."""

    directory: str
    memory: Memory


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
    _memory_binding: _Binding | None = PrivateAttr(default=None)
    _memory_warned: bool = PrivateAttr(default=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_fields(cls, values: Any) -> Any:
        if isinstance(values, Mapping):
            for name in cast("Mapping[str, Any]", values):
                if name not in cls.model_fields:
                    raise UnknownFieldError("AgentContext", name, cls.model_fields)
        return cast("Any", values)

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
            allowed = _sdk_may_read(self.memory)
            changes["memory_context"] = harden_text(text) if allowed else None
        return super().model_copy(update=changes, deep=deep)

    def get_user_message_suffix(self, *args: Any, **kwargs: Any) -> Any:
        """As the SDK's; the first call warns if this context was never bound."""
        if self.load_memory and not self._memory_warned:
            self._memory_warned = True
            read = "the text that its own loader read was made safe"
            if not _sdk_may_read(self.memory):
                read = "no text is shown, since memory=... asks for something else"
            _warn(_UNBOUND.format(text=read))
        return super().get_user_message_suffix(*args, **kwargs)


def bind[A: sdk.AgentBase](agent: A, workspace: str | Path | sdk.LocalWorkspace) -> A:
    """An agent with the memory of *workspace*, for any conversation there.

    Returns a copy of *agent*, which stays as it is; *agent* itself if its context does
    not ask for memory, or is bound already. Never raises for what lies on disk.
    """
    bound, memory = _bind(agent, workspace)
    if bound is not agent:
        _warn(*_remarks(agent, memory))
    return bound


def _bind[A: sdk.AgentBase](
    agent: A, workspace: str | Path | sdk.LocalWorkspace
) -> tuple[A, Memory]:
    context = agent.agent_context
    directory = _directory(workspace)
    if context is None or not context.load_memory:
        return agent, _bound_memory(context, directory)
    memory = resolve_memory(directory, config=_config(context))
    return _with_memory(agent, context, _Binding(directory, memory)), memory


def _with_memory[A: sdk.AgentBase](
    agent: A, context: sdk.AgentContext, binding: _Binding
) -> A:
    memory, read = binding.memory, _config(context).read
    text = memory.text
    changes: dict[str, Any] = {}
    if read is not None:
        instructions = render_instructions(
            memory.tiers, char_budget=memory.char_budget, live_update=read.live_update
        )
        if isinstance(agent, ACPAgent):
            # Its prompt is its own: the block is all that reaches it.
            text = "\n\n".join(filter(None, (instructions, text)))
        else:
            prompt = with_instructions(agent.static_system_message, instructions)
            changes["system_prompt"] = prompt
            changes["system_prompt_filename"] = _DEFAULT_PROMPT_FILE
    context = _as_ours(context).model_copy(
        update={"memory_context": text, "load_memory": False}
    )
    if isinstance(context, AgentContext):
        context._memory_binding = binding  # pyright: ignore[reportPrivateUsage] - this module's
    changes["agent_context"] = context
    return agent.model_copy(update=changes)


def _as_ours(context: sdk.AgentContext) -> sdk.AgentContext:
    """The SDK's own context as ours, so that it can carry the report."""
    if type(context) is not sdk.AgentContext:
        return context
    # Nothing is validated again: that would load the user's skills a second time.
    values = {name: getattr(context, name) for name in type(context).model_fields}
    return AgentContext.model_construct(context.model_fields_set, **values)


def _bound_memory(context: sdk.AgentContext | None, directory: str) -> Memory:
    if context is None:
        return _NO_MEMORY
    binding = None
    if isinstance(context, AgentContext):
        binding = context._memory_binding  # pyright: ignore[reportPrivateUsage] - this module's
    if binding is None:
        text = context.memory_context or None
        return Memory(text, len(text)) if text else _NO_MEMORY
    if os.path.realpath(binding.directory) != os.path.realpath(directory):
        _warn(
            f"the agent is bound to {binding.directory}, and that memory stays in "
            f"its prompt; to work in {directory}, bind the agent that you had before"
        )
    return binding.memory


def _directory(workspace: str | Path | sdk.LocalWorkspace) -> str:
    if isinstance(workspace, sdk.LocalWorkspace):
        workspace = workspace.working_dir
    # pathlib would raise for a "~" where nobody has a home.
    return os.path.expanduser(workspace)


def _config(context: sdk.AgentContext | None) -> MemoryConfig:
    return context.memory if isinstance(context, AgentContext) else MemoryConfig()


def _asks_for_memory(agent: sdk.AgentBase | None) -> bool:
    context = agent.agent_context if agent is not None else None
    return context is not None and context.load_memory


def _sdk_may_read(config: MemoryConfig) -> bool:
    """Whether the two files that the SDK's own loader reads are what was asked for."""
    read = config.read
    return config.layout is None and read is not None and read.project_trust == "always"


def _remarks(agent: sdk.AgentBase, memory: Memory) -> list[str]:
    generates = _config(agent.agent_context).generate is not None
    return [*memory.warnings, *([_GENERATE_PENDING] if generates else [])]


def _warn(*remarks: str) -> None:
    for remark in remarks:
        _log.warning("memory: %s", remark)


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
        workspace = _expanded(workspace)
        self._memory_agent = agent
        self._memory_report = _NO_MEMORY
        self._memory_remarks: set[str] = set()
        bound = agent
        if agent is not None:
            bound, self._memory_report = _bind(agent, workspace)
        super().__init__(bound, workspace, *args, **kwargs)
        if agent is None:
            self._adopt_persisted_agent()
        prompt = _find_prompt(self)
        self._memory_is_final = prompt is not None
        if prompt is not None:
            self._keep_memory_of(prompt)
        self._remark()

    @property
    def memory(self) -> Memory:
        """What the agent sees of its memory, and the report on it.

        In a resumed conversation the text is the one in its system prompt; the tiers
        are reported as they were found when it was resumed.
        """
        return self._memory_report

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    # Whatever makes the system prompt reads memory first (OpenHands SDK 1.37.0 to
    # 1.58.2, local_conversation.py: the callers of _ensure_agent_ready).

    def send_message(self, *args: Any, **kwargs: Any) -> None:
        self._read_before_start()
        super().send_message(*args, **kwargs)

    def run(self) -> None:
        self._read_before_start()
        super().run()

    async def arun(self) -> None:
        self._read_before_start()
        await super().arun()

    def ask_agent(self, *args: Any, **kwargs: Any) -> str:
        self._read_before_start()
        return cast("str", super().ask_agent(*args, **kwargs))

    def execute_tool(self, *args: Any, **kwargs: Any) -> Any:
        self._read_before_start()
        return super().execute_tool(*args, **kwargs)

    def rerun_actions(self, *args: Any, **kwargs: Any) -> bool:
        self._read_before_start()
        return super().rerun_actions(*args, **kwargs)

    def fork(
        self, *, agent: sdk.AgentBase | None = None, **kwargs: Any
    ) -> sdk.LocalConversation:
        """As the SDK's: a stock conversation, which keeps the memory of this one.

        An *agent* that asks for memory is bound first; its memory is read if the fork
        has no system prompt yet.
        """
        if not self._memory_is_final:
            self._read()
        source = self.agent
        if agent is not None:
            agent = source = bind(agent, self.workspace)
        fork = super().fork(agent=agent, **kwargs)
        # The SDK copies the agent as JSON, where the text is left out on purpose.
        _hand_over(source, fork)
        prompt = _find_prompt(fork)
        text = source.agent_context.memory_context if source.agent_context else None
        if agent and prompt and text and text != _text_in(prompt):
            _warn(_FORK_KEEPS_PROMPT)
        return fork

    def _read_before_start(self) -> None:
        if self._memory_is_final:
            return
        with self.state:
            if not self._memory_is_final:
                self._read()
                self._remark()
                self._memory_is_final = True

    def _read(self) -> None:
        """Read memory again, for files or the model may have changed since."""
        if self._memory_agent is None or not _asks_for_memory(self._memory_agent):
            return
        given = self._memory_agent.model_copy(update={"llm": self.agent.llm})
        fresh, self._memory_report = _bind(given, self.workspace)
        _hand_over(fresh, self)

    def _remark(self) -> None:
        """Warn of what was not said yet; `bind` has warned of what it bound."""
        if self._memory_agent is not None and _asks_for_memory(self._memory_agent):
            new = [
                remark
                for remark in _remarks(self._memory_agent, self._memory_report)
                if remark not in self._memory_remarks
            ]
            self._memory_remarks.update(new)
            _warn(*new)

    def _keep_memory_of(self, prompt: SystemPromptEvent) -> None:
        if isinstance(self.agent, ACPAgent):
            return
        text, found = _text_in(prompt), self._memory_report
        if text == found.text:
            return
        if text is None:
            _warn(_BEGAN_WITHOUT)
        self._memory_report = found._replace(text=text)
        if self._memory_agent is not None:
            hint = _CHANGED_SINCE if text else _BEGAN_WITHOUT
            self._memory_report = self._memory_report.with_hint(hint)

    def _adopt_persisted_agent(self) -> None:
        """Bind an agent that was resumed from disk, as far as it has settings."""
        agent = self.agent
        if _asks_for_memory(agent):
            self._memory_agent = agent
            bound, self._memory_report = _bind(agent, self.workspace)
            _hand_over(bound, self)
        elif carries_instructions(agent.system_prompt or ""):
            self._memory_report = _NO_MEMORY.with_hint(_RESUMED_ALONE)
            _warn(_RESUMED_ALONE)


def _find_prompt(conversation: sdk.LocalConversation) -> SystemPromptEvent | None:
    events = conversation.state.events
    return next((e for e in events if isinstance(e, SystemPromptEvent)), None)


def _expanded(
    workspace: str | Path | sdk.LocalWorkspace,
) -> str | sdk.LocalWorkspace:
    """*workspace* with ``~`` expanded, which the SDK takes for a directory's name."""
    directory = _directory(workspace)
    if not isinstance(workspace, sdk.LocalWorkspace):
        return directory
    if directory == workspace.working_dir:
        return workspace
    return workspace.model_copy(update={"working_dir": directory})


def _hand_over(source: sdk.AgentBase, conversation: sdk.LocalConversation) -> None:
    """Give the memory that *source* is bound to to the agent of *conversation*."""
    agent, bound = conversation.agent, source.agent_context
    context = agent.agent_context
    if bound is None or context is None:
        return
    texts = {name: getattr(bound, name) for name in ("load_memory", "memory_context")}
    prompts = {
        name: getattr(source, name)
        for name in ("system_prompt", "system_prompt_filename")
    }
    if _has(context, texts) and _has(agent, prompts):
        return
    context = context.model_copy(update=texts)
    agent = agent.model_copy(update={"agent_context": context, **prompts})
    conversation.agent = agent
    with conversation.state:
        conversation.state.agent = agent


def _has(model: BaseModel, values: Mapping[str, Any]) -> bool:
    return all(getattr(model, name) == value for name, value in values.items())


def _text_in(prompt: SystemPromptEvent) -> str | None:
    """The memory text that a system prompt was made with."""
    dynamic = prompt.dynamic_context.text if prompt.dynamic_context else ""
    _, start, rest = dynamic.partition(_BLOCK_START)
    text, end, _ = rest.partition(_BLOCK_END)
    return text if start and end else None


class Conversation(sdk.Conversation):
    """The SDK's factory, signature and all, with memory.

    Returns a `LocalConversation` of this package for a local workspace, and the SDK's
    own object for a remote one, where the server's SDK reads the memory it finds there.

    Raises:
        UnknownFieldError: A keyword does not exist; the message names the nearest.
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
        for name in kwargs:
            if name not in cls.__signature__.parameters:
                raise UnknownFieldError(
                    "Conversation", name, cls.__signature__.parameters
                )
        given = cls.__signature__.bind(*args, **kwargs)
        if isinstance(given.arguments.get("workspace"), sdk.RemoteWorkspace):
            given.arguments["agent"] = _for_server(given.arguments["agent"])
            return sdk.Conversation(*given.args, **given.kwargs)
        given.apply_defaults()
        return LocalConversation(**given.arguments)


def _for_server(agent: sdk.AgentBase) -> sdk.AgentBase:
    """*agent* for a remote workspace: what its settings forbid is not asked for."""
    context = agent.agent_context
    if context is None or not context.load_memory:
        if carries_instructions(agent.system_prompt or ""):
            _warn(
                f"{_REMOTE}the agent is bound to a directory here; its memory does "
                "not go over the wire. Give the agent that you had before"
            )
        return agent
    if _sdk_may_read(_config(context)):
        _warn(
            f"{_REMOTE}it reads the memory files that it finds there; the settings "
            "in memory=... do not apply"
        )
        return agent
    _warn(
        f"{_REMOTE}it would read what the settings in memory=... exclude, so memory "
        "is off in this conversation"
    )
    off = context.model_copy(update={"load_memory": False})
    return agent.model_copy(update={"agent_context": off})
