"""Which directories the conversations of this process generate in.

Touches the SDK, through public names only. Two layouts of one workspace share both of
their directories, with the same settings, or none.
"""

import dataclasses
import os
import threading
import weakref
from typing import Any, Final, cast

from openhands import sdk
from pydantic import BaseModel, SecretStr

from openhands_memory.config import MemoryGenerateConfig
from openhands_memory.errors import ConfigError
from openhands_memory.layout import GeneratedFiles

__all__ = ["Claim", "claim", "release"]


class Claim:
    """What one conversation generates, and where; it holds as long as it is kept."""

    def __init__(self, files: GeneratedFiles, settings: MemoryGenerateConfig) -> None:
        self.workspace = os.path.realpath(files.workspace)
        self.directories = {
            "memories_dir": files.memories_dir,
            "sessions_dir": files.sessions_dir,
        }
        self.settings = {
            field.name: _comparable(getattr(settings, field.name))
            for field in dataclasses.fields(settings)
        }


_claims: Final["weakref.WeakSet[Claim]"] = weakref.WeakSet()
_lock: Final = threading.Lock()


def claim(files: GeneratedFiles, settings: MemoryGenerateConfig) -> Claim:
    """Say that a conversation generates in *files*.

    Raises:
        ConfigError: Another one does so with other settings, or in only some of them.
    """
    new = Claim(files, settings)
    with _lock:
        for other in list(_claims):
            if other.workspace == new.workspace:
                _refuse_conflict(new, other)
        _claims.add(new)
    return new


def release(old: Claim) -> None:
    """Say that a conversation generates there no more."""
    with _lock:
        _claims.discard(old)


def _refuse_conflict(new: Claim, other: Claim) -> None:
    if new.directories == other.directories:
        for name, value in new.settings.items():
            if value != other.settings[name]:
                raise ConfigError(
                    f"MemoryGenerateConfig.{name}",
                    _told(value),
                    f"another conversation generates in the same directories with "
                    f"{_told(other.settings[name])!r}, or with other settings of it; "
                    "give both the same, or another layout",
                )
        return
    for name, mine in new.directories.items():
        for its, yours in other.directories.items():
            if _overlap(mine, yours):
                raise ConfigError(
                    f"MemoryLayoutConfig.{name}",
                    mine,
                    f"another conversation generates with {its}={yours!r}; two layouts "
                    "share both of their directories or none",
                )


def _overlap(one: str, other: str) -> bool:
    one, other = f"{one.casefold()}/", f"{other.casefold()}/"
    return one.startswith(other) or other.startswith(one)


#: What says nothing of how a model answers.
_NO_SETTINGS: Final = {"usage_id", "metrics"}


def _comparable(value: Any) -> Any:
    """Models by name, address and settings, not as objects; never a key."""
    if isinstance(value, sdk.LLM):
        return f"{value.model} at {value.base_url}", _settings(value)
    return _settings(value) if isinstance(value, BaseModel) else value


def _settings(value: BaseModel) -> str:
    keys = {name for name, found in value if isinstance(found, SecretStr)}
    return value.model_dump_json(exclude=_NO_SETTINGS | keys, exclude_defaults=True)


def _told(value: Any) -> Any:
    """A setting as a person is told it: of a model its name and address."""
    return cast("Any", value)[0] if isinstance(value, tuple) else value
