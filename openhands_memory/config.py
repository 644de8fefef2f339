"""The settings, which check themselves.

Frozen values without any I/O. A wrong one raises where it is written, never in the
middle of a conversation: a value that cannot work, a field that does not exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, Self, get_args

from openhands_memory.errors import ConfigError, UnknownFieldError
from openhands_memory.layout import checked_relative_dir

__all__ = [
    "CHAR_BUDGET",
    "MIN_CHAR_BUDGET",
    "MemoryConfig",
    "MemoryGenerateConfig",
    "MemoryLayoutConfig",
    "MemoryReadConfig",
    "ProjectTrust",
]

#: Characters of the whole memory text (OpenHands SDK 1.58.2, MEMORY_CHAR_BUDGET).
CHAR_BUDGET: Final = 6000

#: Below this the two headings and their notices leave no room for memory itself.
MIN_CHAR_BUDGET: Final = 200

ProjectTrust = Literal["always", "ask", "never"]


class _Settings:
    """Refuses unknown fields by name, before Python's own message without a hint."""

    __slots__ = ()

    def __new__(cls, *_args: Any, **kwargs: Any) -> Self:
        known = [f.name for f in fields(cls)]  # pyright: ignore[reportArgumentType]
        for name in kwargs:
            if name not in known:
                raise UnknownFieldError(cls.__name__, name, known)
        return super().__new__(cls)


@dataclass(frozen=True, slots=True)
class MemoryLayoutConfig(_Settings):
    """Directories of the sandbox layout, relative to the workspace root (seed 003).

    Attributes: *memories_dir* holds ``memory_summary.md`` (injected) and ``MEMORY.md``
    (searched on demand); *sessions_dir* holds one JSONL file per rollout.
    """

    memories_dir: str = "memories"
    sessions_dir: str = "sessions"

    def __post_init__(self) -> None:
        for name in ("memories_dir", "sessions_dir"):
            where = f"MemoryLayoutConfig.{name}"
            object.__setattr__(
                self, name, checked_relative_dir(where, getattr(self, name))
            )
        if self.memories_dir == self.sessions_dir:
            raise ConfigError(
                "MemoryLayoutConfig.sessions_dir",
                self.sessions_dir,
                "is also memories_dir; give rollouts a directory of their own",
            )


@dataclass(frozen=True, slots=True)
class MemoryReadConfig(_Settings):
    """What the agent sees.

    Attributes:
        live_update: Whether the agent may change memory files during a conversation.
        char_budget: Characters of the whole memory text; at least 200.
        project_trust: ``"always"`` loads the project tier, ``"never"`` does not,
            ``"ask"`` does once ``openhands-memory trust`` has approved its content.
        search_parents: Whether a project tier of a parent directory, up to the git
            root, is used when the workspace has none of its own.
    """

    live_update: bool = True
    char_budget: int = CHAR_BUDGET
    project_trust: ProjectTrust = "always"
    search_parents: bool = False

    def __post_init__(self) -> None:
        _check_flag(self, "live_update")
        _check_flag(self, "search_parents")
        _check_int(self, "char_budget", MIN_CHAR_BUDGET, None)
        choices = get_args(ProjectTrust)
        if self.project_trust not in choices:
            raise ConfigError(
                "MemoryReadConfig.project_trust",
                self.project_trust,
                f"must be one of {', '.join(map(repr, choices))}",
            )


@dataclass(frozen=True, slots=True)
class MemoryGenerateConfig(_Settings):
    """What conversations leave behind (seed 003); off unless given.

    The settings are checked here; this release records and generates nothing yet, and
    a conversation that is given them says so.

    Attributes:
        max_raw_memories_for_consolidation: Newest raw memories considered; 1 to 4096.
        phase_one_model: Model of extraction: a name or an ``LLM``; default the agent's.
        phase_two_model: Model of consolidation, likewise.
        phase_one_model_settings: Settings of the first model: an object or its fields.
        phase_two_model_settings: Settings of the second.
        extra_prompt: What to pay attention to, added to both prompts.
        phase_two_max_turns: Model turns of one consolidation.
        max_seconds, max_tokens, max_cost: Where the work stops (seconds, tokens, US
            dollars).
    """

    max_raw_memories_for_consolidation: int = 256
    phase_one_model: Any = None
    phase_two_model: Any = None
    phase_one_model_settings: Any = None
    phase_two_model_settings: Any = None
    extra_prompt: str | None = None
    phase_two_max_turns: int = 500
    max_seconds: float = 300.0
    max_tokens: int = 1_000_000
    max_cost: float = 1.0

    def __post_init__(self) -> None:
        _check_int(self, "max_raw_memories_for_consolidation", 1, 4096)
        _check_int(self, "phase_two_max_turns", 1, None)
        _check_int(self, "max_tokens", 1, None)
        for name in ("max_seconds", "max_cost"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ConfigError(_where(self, name), value, "must be a number")
            if not 0 < value < float("inf"):
                raise ConfigError(_where(self, name), value, "must be above 0")
        if not isinstance(self.extra_prompt, str | None):
            raise ConfigError(
                _where(self, "extra_prompt"), self.extra_prompt, "must be text"
            )


@dataclass(frozen=True, slots=True)
class MemoryConfig(_Settings):
    """Everything that ``AgentContext(memory=...)`` takes.

    Attributes:
        layout: None is the OpenHands layout with its two tiers.
        read: None injects nothing, neither memory nor instructions.
        generate: None records and generates nothing.
    """

    layout: MemoryLayoutConfig | None = None
    read: MemoryReadConfig | None = field(default_factory=MemoryReadConfig)
    generate: MemoryGenerateConfig | None = None

    def __post_init__(self) -> None:
        for name, kind in _PARTS.items():
            value = getattr(self, name)
            if isinstance(value, Mapping):
                object.__setattr__(self, name, kind(**value))
            elif not isinstance(value, kind | None):
                raise ConfigError(
                    f"MemoryConfig.{name}", value, f"must be a {kind.__name__} or None"
                )
        if self.read is None and self.generate is None:
            raise ConfigError(
                "MemoryConfig.read",
                None,
                "read and generate are both off; set one, or load_memory=False",
            )


_PARTS: Final = {
    "layout": MemoryLayoutConfig,
    "read": MemoryReadConfig,
    "generate": MemoryGenerateConfig,
}


def _where(settings: _Settings, name: str) -> str:
    return f"{type(settings).__name__}.{name}"


def _check_flag(settings: _Settings, name: str) -> None:
    value = getattr(settings, name)
    if not isinstance(value, bool):
        raise ConfigError(_where(settings, name), value, "must be True or False")


def _check_int(settings: _Settings, name: str, low: int, high: int | None) -> None:
    value = getattr(settings, name)
    where = _where(settings, name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(where, value, "must be a whole number")
    if value < low or (high is not None and value > high):
        limits = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ConfigError(where, value, f"must be {limits}")
