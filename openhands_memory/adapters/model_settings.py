"""Which models generation asks, and how they are set.

Touches the SDK, through public names only; asks no model.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, cast

from openhands.sdk import LLM
from openhands.sdk.llm.exceptions import LLMError
from pydantic import BaseModel, SecretStr, ValidationError

from openhands_memory.config import MemoryGenerateConfig
from openhands_memory.errors import ConfigError, UnknownFieldError
from openhands_memory.sanitize import show_line

__all__ = ["CONSOLIDATION", "EXTRACTION", "check_models", "keys_of", "model_of"]

#: Under what their use is counted.
EXTRACTION: Final = "memory-extraction"
CONSOLIDATION: Final = "memory-consolidation"

#: At most this many attempts of a call, and seconds between them.
_RETRIES: Final = {
    "num_retries": 3,
    "retry_min_wait": 2,
    "retry_max_wait": 10,
    "retry_multiplier": 2.0,
}
#: What belongs to a model and not to the key and address by which it is reached.
_OF_ONE_MODEL: Final = (
    *("api_mode", "capability_overrides", "custom_tokenizer", "input_cost_per_token"),
    *("max_input_tokens", "max_output_tokens", "model_canonical_name"),
    "output_cost_per_token",
)

#: Characters of what is said to be wrong with a value.
_REASON_CHARS: Final = 200


def check_models(llm: LLM, config: MemoryGenerateConfig) -> None:
    """See that there can be the two models, before anybody needs them.

    Raises:
        ConfigError: *config* asks for a model, or for settings, that cannot be.
    """
    model_of(config, "phase_one", llm, EXTRACTION)
    model_of(config, "phase_two", llm, CONSOLIDATION)


def model_of(config: MemoryGenerateConfig, phase: str, llm: LLM, usage_id: str) -> LLM:
    """The model of *phase*: a copy that is metered by itself and fails soon."""
    field = f"MemoryGenerateConfig.{phase}_model"
    named: object = getattr(config, f"{phase}_model")
    if not isinstance(named, LLM | str | None):
        raise ConfigError(field, named, "must be a name or an LLM")
    base = named if isinstance(named, LLM) else llm
    update = _named(base, named) if isinstance(named, str) else {}
    settings: object = getattr(config, f"{phase}_model_settings")
    update |= _checked_settings(settings, base, f"{field}_settings")
    try:
        copy = base.model_copy(update=update)
        bounds = {
            name: min(getattr(copy, name), most) for name, most in _RETRIES.items()
        }
        # A subscription takes nothing but streams (SDK 1.58.2, requires_streaming).
        own = {"usage_id": usage_id, "retry_listener": None}
        own |= {"stream": copy.is_subscription}
        copy = copy.model_copy(update=own | bounds)
        copy.reset_metrics()
        # The SDK works out what it knows of a model when it validates one.
        return type(copy).model_validate(copy)
    except (LLMError, ValidationError) as error:
        problem = _problem_of(error)
        raise ConfigError(field, update.get("model", base.model), problem) from None


def _named(base: LLM, name: str) -> dict[str, Any]:
    """What changes when *base* is to reach the model *name*."""
    if name == base.model:
        return {}
    known = type(base).model_fields
    return {"model": name} | {
        field: known[field].get_default(call_default_factory=True)
        for field in _OF_ONE_MODEL
        if field in known
    }


def _checked_settings(settings: object, base: LLM, owner: str) -> dict[str, Any]:
    """The fields of *settings* as the SDK takes them.

    Raises:
        UnknownFieldError: The SDK's LLM has no such field.
        ConfigError: It has, but does not take the value.
    """
    given = _fields_of(settings)
    given.pop("usage_id", None)  # memory's use is counted under ids of its own
    for name in given:
        if name not in LLM.model_fields:
            raise UnknownFieldError(owner, name, LLM.model_fields)
    if not given:
        return {}
    try:
        checked = LLM.model_validate({"model": base.model, **given})
    except (LLMError, ValidationError) as error:
        # The names alone: a value may be a key.
        raise ConfigError(owner, sorted(given), _problem_of(error)) from None
    return {name: getattr(checked, name) for name in given}


def _fields_of(settings: object) -> dict[str, Any]:
    """What *settings* sets: an object's fields that are None are taken as not set."""
    if settings is None:
        return {}
    if isinstance(settings, Mapping):
        given = cast("Mapping[Any, Any]", settings)
        return {str(name): value for name, value in given.items()}
    if isinstance(settings, BaseModel):
        return {n: v for n, v in settings if n in settings.model_fields_set}
    if is_dataclass(settings):
        names = [field.name for field in fields(settings)]
    else:
        names = [
            name
            for name in getattr(settings, "__dict__", ())
            if not name.startswith("_")
        ]
    found = {name: getattr(settings, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def keys_of(llm: LLM) -> Iterator[str]:
    """The values in *llm* that no message may show."""
    for _, value in llm:
        if isinstance(value, SecretStr) and value.get_secret_value():
            yield value.get_secret_value()
    yield from (value for value in (llm.extra_headers or {}).values() if len(value) > 7)


def _problem_of(error: LLMError | ValidationError) -> str:
    """What is wrong, without the values that are: they may be long, or secret."""
    if isinstance(error, LLMError):
        return show_line(str(error).partition("\n")[0])[:_REASON_CHARS]
    return "; ".join(
        show_line(f"{'.'.join(map(str, e['loc']))[:80]}: {e['msg']}")
        for e in error.errors(include_input=False, include_url=False)[:5]
    )
