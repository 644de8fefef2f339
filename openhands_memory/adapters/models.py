"""Generation's two models: the SDK's LLMs, every call metered and bounded.

Touches the SDK, through public names only.
"""

import contextvars
import math
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast

from openhands.sdk import LLM, LocalConversation
from openhands.sdk.conversation.exceptions import ConversationRunError
from openhands.sdk.llm import (
    LLMResponse,
    Message,
    Metrics,
    TextContent,
)
from openhands.sdk.llm.exceptions import (
    LLMAuthenticationError,
    LLMContextWindowExceedError,
    LLMRateLimitError,
    LLMServiceUnavailableError,
    LLMTimeoutError,
)

from openhands_memory.adapters.consolidator import consolidator
from openhands_memory.adapters.model_settings import (
    CONSOLIDATION,
    EXTRACTION,
    keys_of,
    model_of,
)
from openhands_memory.config import MemoryGenerateConfig
from openhands_memory.generation.meter import Meter
from openhands_memory.generation.models import (
    Cap,
    CapReachedError,
    ContextTooLongError,
    ModelAwayError,
    ModelCallError,
)
from openhands_memory.generation.stage import Stage
from openhands_memory.sanitize import show_line
from openhands_memory.secrets import mask_secrets

__all__ = ["SdkModels", "add_usage"]

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
        self._extraction = model_of(config, "phase_one", llm, EXTRACTION)
        self._consolidation = model_of(config, "phase_two", llm, CONSOLIDATION)
        both = (self._extraction, self._consolidation)
        self._keys = sorted({key for model in both for key in keys_of(model)})
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
        kind = next(
            (ours for theirs, ours in _KINDS if isinstance(error, theirs)),
            ModelCallError,
        )
        first = str(error).strip().partition("\n")[0][:_SCANNED_CHARS]
        first = self._mask(mask_secrets(first, self._keys).text)
        name = type(error).__name__
        return kind(show_line(f"{name}: {first}" if first else name)[:_REASON_CHARS])


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


#: What the SDK raises, and what that means for what was sent.
_KINDS: Final = (
    (LLMContextWindowExceedError, ContextTooLongError),
    (LLMAuthenticationError, ModelAwayError),
    (LLMRateLimitError, ModelAwayError),
    (LLMServiceUnavailableError, ModelAwayError),
    (LLMTimeoutError, ModelAwayError),
)


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
