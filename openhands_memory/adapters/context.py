"""The SDK's context with one more field.

Touches the SDK, through public names only. The context carries what was asked for; it
reads nothing, since it cannot know the workspace.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, cast

from openhands import sdk
from pydantic import Field, InstanceOf, PrivateAttr, field_validator, model_validator

from openhands_memory.config import MemoryConfig
from openhands_memory.context.render import harden_text
from openhands_memory.context.report import Memory
from openhands_memory.errors import ConfigError, UnknownFieldError

__all__ = [
    "AgentContext",
    "Binding",
    "asks_for_memory",
    "config_of",
    "generates",
    "sdk_may_read",
    "warn",
]

_log = logging.getLogger("openhands_memory")

_UNBOUND: Final = (
    "this AgentContext is not bound to a workspace, so the SDK gives its own "
    "instructions, and {text}; nothing else of memory=... applies. Use "
    "openhands_memory.Conversation, or bind(agent, workspace)"
)


@dataclass(frozen=True, slots=True)
class Binding:
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
    _memory_binding: Binding | None = PrivateAttr(default=None)
    _memory_warned: bool = PrivateAttr(default=False)

    @property
    def is_bound(self) -> bool:
        """Whether this has the memory of a workspace, and is not to be read again."""
        return self._memory_binding is not None

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
        if not isinstance(value, MemoryConfig):
            problem = "must be a MemoryConfig, such as MemoryConfig(read=...)"
            raise ConfigError("AgentContext.memory", value, problem)
        return value

    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Self:
        """Copy; a memory text that the SDK read by itself is made safe on the way."""
        changes = dict(update or {})
        text = changes.get("memory_context")
        if text and changes.get("load_memory", self.load_memory):
            allowed = sdk_may_read(self.memory)
            changes["memory_context"] = harden_text(text) if allowed else None
        return super().model_copy(update=changes, deep=deep)

    def get_user_message_suffix(self, *args: Any, **kwargs: Any) -> Any:
        """As the SDK's; the first call warns if this context was never bound."""
        if self.load_memory and not self._memory_warned:
            self._memory_warned = True
            read = "the text that its own loader read was made safe"
            if not sdk_may_read(self.memory):
                read = "no text is shown, since memory=... asks for something else"
            warn(_UNBOUND.format(text=read))
        return super().get_user_message_suffix(*args, **kwargs)


def config_of(context: sdk.AgentContext | None) -> MemoryConfig:
    return context.memory if isinstance(context, AgentContext) else MemoryConfig()


def asks_for_memory(agent: sdk.AgentBase | None) -> bool:
    context = agent.agent_context if agent is not None else None
    return context is not None and context.load_memory


def generates(agent: sdk.AgentBase) -> bool:
    """Whether conversations of *agent* leave memory behind."""
    context = agent.agent_context
    if not isinstance(context, AgentContext) or context.memory.generate is None:
        return False
    return context.load_memory or context.is_bound


def sdk_may_read(config: MemoryConfig) -> bool:
    """Whether the two files that the SDK's own loader reads are what was asked for."""
    read = config.read
    return config.layout is None and read is not None and read.project_trust == "always"


def warn(*remarks: str) -> None:
    for remark in remarks:
        _log.warning("memory: %s", remark)
