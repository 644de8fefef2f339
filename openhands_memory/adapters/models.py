"""Generation's two models: the SDK's LLMs, every call metered and bounded.

Touches the SDK, through public names only.
"""

import contextvars
import math
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final, NamedTuple, cast

from openhands.sdk import LLM, LocalConversation
from openhands.sdk.conversation.exceptions import ConversationRunError
from openhands.sdk.llm import (
    LLMResponse,
    Message,
    Metrics,
    TextContent,
)
from openhands.sdk.llm.exceptions import LLMContextWindowExceedError, LLMError
from pydantic import BaseModel, SecretStr, ValidationError

from openhands_memory.adapters.consolidator import consolidator
from openhands_memory.config import MemoryGenerateConfig
from openhands_memory.errors import ConfigError, UnknownFieldError
from openhands_memory.generation.meter import Meter
from openhands_memory.generation.models import (
    Cap,
    CapReachedError,
    ContextTooLongError,
    ModelCallError,
)
from openhands_memory.generation.stage import Stage
from openhands_memory.sanitize import show_line
from openhands_memory.secrets import mask_secrets

__all__ = ["CONSOLIDATION", "EXTRACTION", "SdkModels", "add_usage", "check_models"]

#: Under what their use is counted.
EXTRACTION: Final = "memory-extraction"
CONSOLIDATION: Final = "memory-consolidation"

#: Tokens of a model whose limit nobody knows, the part of them that a rollout may take,
#: and what the prompt around it needs. Text in English has about four characters a token.
_UNKNOWN_TOKENS: Final = 128_000
_ROLLOUT_PART: Final = 0.7
_PROMPT_TOKENS: Final = 4_000
_CHARS_PER_TOKEN: Final = 3
#: Fewer tokens of a rollout would seem to hold nothing worth keeping.
_LEAST_TOKENS: Final = 4_000
_MOST_CHARS: Final = 600_000

#: The longest that one call may take, whatever the settings say.
_DAY_SECONDS: Final = 86_400.0
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

#: Characters of a reason, and of what it is taken from.
_REASON_CHARS: Final = 200
_SCANNED_CHARS: Final = 4_000


class SdkModels:
    """The models of one generation: copies of *llm*, or what *config* names instead.

    *mask* takes the secrets out of a text. The copies are metered apart from the LLM
    that they were made of, which is left as it is.

    Raises:
        ConfigError: *config* asks for a model, or for settings, that cannot be.
    """

    def __init__(
        self,
        llm: LLM,
        config: MemoryGenerateConfig,
        meter: Meter,
        *,
        mask: Callable[[str], str],
    ) -> None:
        self._meter = meter
        self._mask = mask
        self._max_turns = config.phase_two_max_turns
        self._extraction = _model_of(config, "phase_one", llm, EXTRACTION)
        self._consolidation = _model_of(config, "phase_two", llm, CONSOLIDATION)
        both = (self._extraction, self._consolidation)
        self._keys = sorted({key for model in both for key in _keys_of(model)})
        self._asked: dict[str, LLM] = {}

    def metrics(self) -> dict[str, Metrics]:
        """What was used so far, by the usage id of each model that was asked."""
        return {usage_id: m.metrics.deep_copy() for usage_id, m in self._asked.items()}

    def rollout_chars(self) -> int:
        """Characters of a rollout that the first model takes, and that are left to it.

        Raises:
            CapReachedError: Too few tokens are left for a rollout to say anything.
        """
        limit = self._extraction.effective_max_input_tokens or _UNKNOWN_TOKENS
        tokens = max(0, int(limit * _ROLLOUT_PART) - _PROMPT_TOKENS)
        left = self._meter.tokens_left - _PROMPT_TOKENS
        if left < min(tokens, _LEAST_TOKENS):
            raise CapReachedError("tokens")
        return min(_MOST_CHARS, min(tokens, left) * _CHARS_PER_TOKEN)

    def complete(self, system: str, user: str) -> str:
        """The first model's answer: one completion without tools.

        Raises:
            CapReachedError: A cap is reached; nothing more is sent.
            ContextTooLongError: It was too much for the model.
            ModelCallError: The model did not answer.
        """
        asked = [_says("system", system), _says("user", user)]
        return _text_of(self._ask(self._extraction, asked))

    def edit(
        self, system: str, task: str, stage: Stage, check: Callable[[], str | None]
    ) -> str | None:
        """Let the second model edit *stage*, and freeze it when that is over.

        *check* says what is wrong with the result, which the model is told once.
        Returns None, or why the result is not one: the model never finished.

        Raises:
            CapReachedError: A cap is reached; nothing more is sent.
            ModelCallError: The model did not answer.
        """
        self._meter.check()
        llm = self._consolidation
        counter = _Counter(self._meter, llm)

        def work() -> str | None:
            with consolidator(
                self._timed(llm),
                system,
                stage,
                max_turns=self._max_turns,
                counted=counter.count,
            ) as agent:
                reason = agent.work(task)
                problems = check() if reason is None else None
                return agent.work(problems) if problems else reason

        try:
            return _within(self._meter.seconds_left, work)
        except queue.Empty:  # it may go on, but what it edits is frozen
            raise CapReachedError("seconds") from None
        except ConversationRunError as error:
            self._meter.add(calls=1)
            failure = self._failure(error.original_exception)
        finally:
            stage.freeze()
        self._meter.check()  # a call may have failed for want of time
        raise failure

    def _ask(self, llm: LLM, said: Sequence[Message]) -> Message:
        """The answer of *llm*, counted."""
        self._meter.check()
        timed = self._timed(llm)
        counter = _Counter(self._meter, llm)
        answer: LLMResponse | None = None
        try:
            answer = _within(self._meter.seconds_left, lambda: _send(timed, said))
            return answer.message
        except queue.Empty:
            # It may still answer, which nobody waits for any more.
            raise CapReachedError("seconds") from None
        except Exception as error:  # noqa: BLE001  whatever a provider's client raises
            failure = self._failure(error)
        finally:
            # A router's use is counted elsewhere, by the LLM that it chose.
            chars = sum(map(_chars_of, said))
            counter.count(1, chars, otherwise=_tokens_of(answer))
        self._meter.check()  # a call may have failed for want of time
        raise failure

    def _timed(self, llm: LLM) -> LLM:
        """*llm*, which waits for an answer no longer than there is time."""
        self._asked[llm.usage_id] = llm
        seconds = min(self._meter.seconds_left, _DAY_SECONDS)
        timeout = max(1, math.ceil(min(seconds, llm.timeout or seconds)))
        return llm.model_copy(update={"timeout": timeout})

    def _failure(self, error: BaseException) -> ModelCallError:
        is_long = isinstance(error, LLMContextWindowExceedError)
        kind = ContextTooLongError if is_long else ModelCallError
        first = str(error).strip().partition("\n")[0][:_SCANNED_CHARS]
        first = self._mask(mask_secrets(first, self._keys).text)
        name = type(error).__name__
        return kind(show_line(f"{name}: {first}" if first else name)[:_REASON_CHARS])


def check_models(llm: LLM, config: MemoryGenerateConfig) -> None:
    """See that there can be the two models, before anybody needs them.

    Raises:
        ConfigError: *config* asks for a model, or for settings, that cannot be.
    """
    _model_of(config, "phase_one", llm, EXTRACTION)
    _model_of(config, "phase_two", llm, CONSOLIDATION)


def add_usage(conversation: LocalConversation, models: SdkModels) -> None:
    """Let the stats of *conversation* show what *models* have used."""
    with conversation.state as state:
        found = dict(state.stats.usage_to_metrics)
        for usage_id, used in models.metrics().items():
            if usage_id in found:
                before = found[usage_id].deep_copy()
                before.merge(used)
                used = before
            found[usage_id] = used
        # Another object, or the state would not be saved (SDK 1.58.2, __setattr__).
        state.stats = state.stats.model_copy(update={"usage_to_metrics": found})
        conversation.llm_registry.subscribe(state.stats.register_llm)


class _Usage(NamedTuple):
    """What an LLM has used so far, as far as the SDK knows."""

    tokens: int
    cost: float
    answers: int

    @classmethod
    def of(cls, llm: LLM) -> "_Usage":
        metrics = llm.metrics
        usage = metrics.accumulated_token_usage
        tokens = usage.prompt_tokens + usage.completion_tokens if usage else 0
        return cls(tokens, metrics.accumulated_cost, len(metrics.response_latencies))


class _Counter:
    """Adds to a meter what an LLM has used since the last time."""

    def __init__(self, meter: Meter, llm: LLM) -> None:
        self._meter = meter
        self._llm = llm
        self._first = self._before = _Usage.of(llm)
        self._calls = 0

    def count(self, calls: int, chars: int, *, otherwise: int = 0) -> Cap | None:
        """Count; the cap that is reached.

        *calls* are those since the counter was made, *chars* what a call sends and
        brings; *otherwise* are the tokens where the LLM knows of none.
        """
        used, before = _Usage.of(self._llm), self._before
        calls = max(calls, used.answers - self._first.answers)
        tokens = used.tokens - before.tokens or otherwise
        if not tokens and used.answers > before.answers:
            # The server does not say what it used, and the cap has to hold.
            tokens = chars // _CHARS_PER_TOKEN
        cost: float | None = used.cost - before.cost
        if not cost and tokens and not _has_price(self._llm):
            cost = None
        self._meter.add(calls=calls - self._calls, tokens=tokens, cost=cost)
        self._before, self._calls = used, calls
        return self._meter.reached


# --- Calls ------------------------------------------------------------------------------


def _send(llm: Any, said: Sequence[Message]) -> LLMResponse:
    if llm.uses_responses_api():
        return llm.responses(list(said), store=False)
    return llm.completion(list(said))


def _within[T](seconds: float, function: Callable[[], T]) -> T:
    """What *function* returns or raises, if it does so in time.

    A client's timeout is about one attempt, or one piece of an answer. What is late
    goes on in a thread that nobody waits for.

    Raises:
        queue.Empty: It did not.
    """
    done = queue.SimpleQueue[tuple[T, None] | tuple[None, BaseException]]()

    def run() -> None:
        try:
            done.put((function(), None))
        except BaseException as error:  # noqa: BLE001  raised again below
            done.put((None, error))

    context = contextvars.copy_context()
    try:
        threading.Thread(target=context.run, args=(run,), daemon=True).start()
    except RuntimeError:  # while the interpreter shuts down there are no new threads
        return function()
    result, error = done.get(timeout=seconds)
    if error is not None:
        raise error
    return cast("T", result)


def _problem_of(error: LLMError | ValidationError) -> str:
    """What is wrong, without the values that are: they may be long, or secret."""
    if isinstance(error, LLMError):
        return show_line(str(error).partition("\n")[0])[:_REASON_CHARS]
    return "; ".join(
        show_line(f"{'.'.join(map(str, e['loc']))[:80]}: {e['msg']}")
        for e in error.errors(include_input=False, include_url=False)[:5]
    )


def _says(role: Any, text: str) -> Message:
    return Message(role=role, content=[TextContent(text=text)])


def _text_of(message: Message) -> str:
    return "".join(c.text for c in message.content if isinstance(c, TextContent))


def _tokens_of(answer: LLMResponse | None) -> int:
    usage = getattr(answer.raw_response, "usage", None) if answer else None
    total: object = getattr(usage, "total_tokens", 0)
    return total if isinstance(total, int) else 0


def _chars_of(message: Message) -> int:
    calls = message.tool_calls or ()
    return len(_text_of(message)) + sum(len(call.arguments) for call in calls)


def _has_price(llm: LLM) -> bool:
    if llm.input_cost_per_token is not None:
        return True
    info = cast("dict[str, Any]", cast("Any", llm).model_info or {})
    return info.get("input_cost_per_token") is not None


# --- Settings ---------------------------------------------------------------------------


def _model_of(config: MemoryGenerateConfig, phase: str, llm: LLM, usage_id: str) -> LLM:
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


def _keys_of(llm: LLM) -> Iterator[str]:
    """The values in *llm* that no message may show."""
    for _, value in llm:
        if isinstance(value, SecretStr) and value.get_secret_value():
            yield value.get_secret_value()
    yield from (value for value in (llm.extra_headers or {}).values() if len(value) > 7)
