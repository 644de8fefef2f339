"""The values that are secret for certain in a conversation, and what hides them.

Touches the SDK, through public names only. Nothing is fetched: a secret that is looked up
over the network is known once the conversation itself has looked it up.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from openhands import sdk
from openhands.sdk.secret import LookupSecret
from pydantic import BaseModel, SecretStr

from openhands_memory.secrets import mask_secrets, mask_value

__all__ = ["known_secrets", "secret_mask"]

#: Levels of an agent's settings that are searched; its models stand on the first three.
_DEPTH: Final = 8
#: Characters of a key that is one: ``none``, ``ollama`` and ``EMPTY`` are not.
_KEY_CHARS: Final = 8
#: Characters from which a value with digits in it is taken for made by chance.
_RANDOM_CHARS: Final = 12
#: Characters of the longest value that is judged by its name.
_JUDGED_CHARS: Final = 4096


def secret_mask(conversation: sdk.LocalConversation) -> Callable[[str], str]:
    """What hides secrets in texts of *conversation*, as far as it knows them now."""
    known = known_secrets(conversation)
    # A registry without sources has nothing to look up, and still hides the values that
    # it was asked for before (OpenHands SDK 1.37.0 to 1.58.2).
    registry = conversation.state.secret_registry.model_copy(
        update={"secret_sources": {}}
    )

    def mask(text: str) -> str:
        masked = mask_secrets(text, known).text
        return registry.mask_secrets_in_output(masked)

    return mask


def known_secrets(conversation: sdk.LocalConversation) -> tuple[str, ...]:
    """The registered secrets, keys of models, and what MCP servers are given."""
    found: dict[str, None] = {}
    for source in conversation.state.secret_registry.secret_sources.values():
        if isinstance(source, LookupSecret):
            found |= dict.fromkeys(_settings_in(source, "", _DEPTH))
        elif value := _value_of(source):
            found[value] = None
    found |= dict.fromkeys(_settings_in(conversation.agent, "", _DEPTH))
    return tuple(found)


def _value_of(source: Any) -> str | None:
    try:
        return source.get_value()
    except Exception:  # noqa: BLE001 - a source is anybody's code
        return None


def _settings_in(value: object, name: str, depth: int) -> Iterator[str]:
    """Secrets in settings: what is declared as one, and what its *name* gives away."""
    if depth == 0:
        return
    if isinstance(value, SecretStr):
        yield from _worth_hiding(name, value.get_secret_value())
    elif isinstance(value, str):
        if _is_given_away(name, value):
            yield from _parts(value)
    elif isinstance(value, BaseModel):
        # Its own iterator, for asking a deprecated field by name warns of it.
        yield from _settings_in(dict(value), name, depth)
    elif isinstance(value, Mapping):
        for key, inner in cast("Mapping[object, object]", value).items():
            yield from _settings_in(inner, str(key), depth - 1)
    elif isinstance(value, (list, tuple)):
        for inner in cast("list[object] | tuple[object, ...]", value):
            yield from _settings_in(inner, name, depth - 1)


def _worth_hiding(name: str, value: str) -> Iterator[str]:
    """A declared secret, unless hiding it would ruin texts: ``LOG_LEVEL=debug``."""
    is_field = name.islower() and len(value) >= _KEY_CHARS
    word = value.rpartition(" ")[2]
    is_random = (
        len(word) >= _RANDOM_CHARS
        and any(map(str.isdigit, word))
        and not set("/:") & set(word)
    )
    if is_field or is_random or _is_given_away(name, value):
        yield from _parts(value)


def _is_given_away(name: str, value: str) -> bool:
    if not name or len(value) > _JUDGED_CHARS:
        return False
    return mask_value({name: value}) != {name: value}


def _parts(value: str) -> Iterator[str]:
    """*value*, and what follows ``Bearer`` or ``Basic`` in it."""
    yield value
    scheme, _, rest = value.partition(" ")
    if scheme.lower() in ("bearer", "basic", "token") and rest:
        yield rest
