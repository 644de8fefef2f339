"""Persistent memory for coding agents, in Markdown that people can edit.

The names below are loaded when they are first used: importing this package costs
nothing, and only those that need the OpenHands SDK import it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openhands_memory.adapters.binding import bind
    from openhands_memory.adapters.context import AgentContext
    from openhands_memory.adapters.conversation import Conversation, LocalConversation
    from openhands_memory.config import (
        MemoryConfig,
        MemoryGenerateConfig,
        MemoryLayoutConfig,
        MemoryReadConfig,
    )
    from openhands_memory.context.report import Memory, TierReport
    from openhands_memory.context.resolve import load_memory, resolve_memory
    from openhands_memory.errors import (
        ConfigError,
        MemoryFileError,
        MemoryToolError,
        UnknownFieldError,
    )
    from openhands_memory.generation.report import Generation

__all__ = [
    "AgentContext",
    "ConfigError",
    "Conversation",
    "Generation",
    "LocalConversation",
    "Memory",
    "MemoryConfig",
    "MemoryFileError",
    "MemoryGenerateConfig",
    "MemoryLayoutConfig",
    "MemoryReadConfig",
    "MemoryToolError",
    "TierReport",
    "UnknownFieldError",
    "__version__",
    "bind",
    "load_memory",
    "resolve_memory",
]

__version__ = "0.1.0"

_HOMES = {
    "AgentContext": "adapters.context",
    "ConfigError": "errors",
    "Conversation": "adapters.conversation",
    "Generation": "generation.report",
    "LocalConversation": "adapters.conversation",
    "Memory": "context.report",
    "MemoryConfig": "config",
    "MemoryFileError": "errors",
    "MemoryGenerateConfig": "config",
    "MemoryLayoutConfig": "config",
    "MemoryReadConfig": "config",
    "MemoryToolError": "errors",
    "TierReport": "context.report",
    "UnknownFieldError": "errors",
    "bind": "adapters.binding",
    "load_memory": "context.resolve",
    "resolve_memory": "context.resolve",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
