"""The settings, which check themselves.

Frozen values without any I/O. A wrong one raises where it is written, never in the
middle of a conversation: a value that cannot work, a field that does not exist.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final, Self, cast, get_args

from openhands_memory.errors import ConfigError, UnknownFieldError
from openhands_memory.layout import MEMORIES_DIR, PROJECT_MEMORY_DIR, SESSIONS_DIR
from openhands_memory.options import (
    CHAR_BUDGET,
    MIN_CHAR_BUDGET,
    MOST_RAW_MEMORIES,
    RAW_MEMORIES_CONSIDERED,
    ProjectTrust,
    ReadOptions,
)

__all__ = [
    "MemoryConfig",
    "MemoryGenerateConfig",
    "MemoryLayoutConfig",
    "MemoryReadConfig",
]


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
    """Directories of the sandbox layout, relative to the workspace root.

    Names and defaults are those of the OpenAI Agents SDK.

    Attributes: *memories_dir* holds ``memory_summary.md`` (injected) and ``MEMORY.md``
    (searched on demand); *sessions_dir* holds one JSONL file per rollout.
    """

    memories_dir: str = MEMORIES_DIR
    sessions_dir: str = SESSIONS_DIR

    def __post_init__(self) -> None:
        for name in ("memories_dir", "sessions_dir"):
            where = f"MemoryLayoutConfig.{name}"
            object.__setattr__(
                self, name, _checked_relative_dir(where, getattr(self, name))
            )
        # Some systems take names that differ in case only for the same.
        if self.memories_dir.casefold() == self.sessions_dir.casefold():
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

    def read_options(self, layout: MemoryLayoutConfig | None = None) -> ReadOptions:
        """What reading needs of these settings."""
        return ReadOptions(
            char_budget=self.char_budget,
            project_trust=self.project_trust,
            search_parents=self.search_parents,
            memories_dir=layout.memories_dir if layout else None,
        )


@dataclass(frozen=True, slots=True)
class MemoryGenerateConfig(_Settings):
    """What conversations leave behind; off unless given (docs/generation.md).

    The first seven are those of the OpenAI Agents SDK, with its defaults; the caps and
    *review* are ours. Each cap is that of a single generation: of one close, or of one
    run of ``openhands-memory generate``.

    Attributes:
        max_raw_memories_for_consolidation: Raw memories that are consolidated, the
            newest ones; 1 to 4096. Of older ones the index keeps nothing.
        phase_one_model: Model of extraction: a name, which is reached with the agent's
            key and address, or an ``LLM``. None is the agent's own model.
        phase_two_model: Model of consolidation, likewise.
        phase_one_model_settings: Fields of the SDK's ``LLM`` that are set anew for
            extraction: a dict, or an object with such attributes.
        phase_two_model_settings: Those for consolidation.
        extra_prompt: Text that is added to both prompts: what to pay attention to.
        phase_two_max_turns: Answers of the model in one consolidation; at least 1.
        max_seconds: Seconds after which a close waits for memory no longer.
        max_tokens: Tokens, of input and output together, after which no call is made.
        max_cost: US dollars after which no call is made, as far as the SDK knows the
            price of the models.
        review: Whether a result waits for ``openhands-memory review``.
    """

    max_raw_memories_for_consolidation: int = RAW_MEMORIES_CONSIDERED
    phase_one_model: Any = None
    phase_two_model: Any = None
    phase_one_model_settings: Any = None
    phase_two_model_settings: Any = None
    extra_prompt: str | None = None
    phase_two_max_turns: int = 500
    max_seconds: float = 300.0
    max_tokens: int = 1_000_000
    max_cost: float = 1.0
    review: bool = False

    def __post_init__(self) -> None:
        _check_int(self, "max_raw_memories_for_consolidation", 1, MOST_RAW_MEMORIES)
        _check_int(self, "phase_two_max_turns", 1, None)
        _check_int(self, "max_tokens", 1, None)
        for name in ("max_seconds", "max_cost"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ConfigError(_where(self, name), value, "must be a number")
            if not 0 < value < float("inf"):
                raise ConfigError(_where(self, name), value, "must be above 0")
        _check_flag(self, "review")
        for phase in ("phase_one", "phase_two"):
            _check_model(self, f"{phase}_model")
            _check_settings(self, f"{phase}_model_settings")
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
                object.__setattr__(self, name, kind(**cast("Mapping[str, Any]", value)))
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

    def read_options(self) -> ReadOptions | None:
        """What reading needs of these settings; None if nothing is to be read."""
        return self.read.read_options(self.layout) if self.read else None


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


def _check_model(settings: _Settings, name: str) -> None:
    """A model is a name or the SDK's object, which cannot be imported here."""
    value: object = getattr(settings, name)
    if value == "" or type(value) in _PLAIN_TYPES:
        raise ConfigError(_where(settings, name), value, "must be a name or an LLM")


def _check_settings(settings: _Settings, name: str) -> None:
    value: object = getattr(settings, name)
    if type(value) in _PLAIN_TYPES - {dict} | {str}:
        problem = "must be an object or a dict of its fields"
        raise ConfigError(_where(settings, name), value, problem)


_PLAIN_TYPES: Final = {bool, int, float, bytes, list, tuple, set, dict}


def _check_int(settings: _Settings, name: str, low: int, high: int | None) -> None:
    value = getattr(settings, name)
    where = _where(settings, name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(where, value, "must be a whole number")
    if value < low or (high is not None and value > high):
        limits = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ConfigError(where, value, f"must be {limits}")


# --- Directories that a configuration names ---------------------------------------------

#: The longest name of a file on common systems, in bytes (NAME_MAX).
_NAME_BYTES: Final = 255

#: Device names of Windows, whatever their ending ("Naming Files, Paths, and Namespaces").
_WINDOWS_DEVICES: Final = (
    r"(?i)(con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?\Z"
)
_FORBIDDEN: Final = r"[:*?\"<>|\\]"


def _checked_relative_dir(field: str, value: object) -> str:
    """Return *value* as a normalised path below the workspace root.

    Raises:
        ConfigError: It is no text, absolute, empty, leads out of the workspace, is not
            a name on every system, or is kept by git or by the other layout.
    """
    if not isinstance(value, str):
        raise ConfigError(field, value, "must be text, such as 'memories'")
    problem = next(_problems(value), None)
    if problem:
        raise ConfigError(field, value, problem)
    return str(PurePosixPath(value))


def _problems(value: str) -> Iterator[str]:
    path = PurePosixPath(value)
    if path.is_absolute() or PureWindowsPath(value).drive:
        yield "is absolute; give a path relative to the workspace root"
    if path.parts[:1] == ("~",) or value.startswith("~"):
        yield "is below a home directory; give a path relative to the workspace root"
    if ".." in re.split(r"[/\\]", value):
        yield "must not leave the workspace root; remove '..'"
    if re.search(_FORBIDDEN, value) or not value.isprintable():
        yield "has a character that is no part of a file name on every system"
    if not path.parts:
        yield "names no directory; give one below the workspace root"
    if f"{PROJECT_MEMORY_DIR}/".startswith(f"{'/'.join(path.parts).casefold()}/"):
        yield f"holds {PROJECT_MEMORY_DIR}, which belongs to the OpenHands layout"
    if any(len(part.encode("utf-8", "replace")) > _NAME_BYTES for part in path.parts):
        yield f"has a name of more than {_NAME_BYTES} bytes"
    for part in path.parts:
        if (
            re.match(_WINDOWS_DEVICES, part)
            or part != part.strip()
            or part.endswith(".")
        ):
            yield f"{part!r} is reserved or cannot be a name on every system"
        if part.casefold() == ".git":
            yield "git keeps that directory for itself"
    if "/".join(path.parts[:2]).casefold() == PROJECT_MEMORY_DIR:
        yield f"{PROJECT_MEMORY_DIR} belongs to the OpenHands layout; choose another"
