"""What happened in one run, as a segment of its rollout.

Touches the SDK, through public names only. Taken are the messages of the user and the
agent, tool calls and what came of them. Everything else is left out: prompts, reasoning,
what skills and hooks put in, and events of kinds that are not known here.

What a tool shows of the agent's own memory is no evidence either: a call that only views
what stands in a memory directory leaves a mark, and in other outputs the lines of memory
do. Fragments of lines and rewordings (encoded text, single columns, a summary) remain.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, Self, cast

from openhands.sdk.conversation import ConversationExecutionStatus as ExecutionStatus
from openhands.sdk.event import (
    ACPToolCallEvent,
    ActionEvent,
    AgentErrorEvent,
    Event,
    InterruptEvent,
    MessageEvent,
    ObservationBaseEvent,
    ObservationEvent,
    UserRejectObservation,
)
from openhands.sdk.event.conversation_error import ConversationErrorEvent
from openhands.sdk.llm import ImageContent, TextContent
from openhands.sdk.tool.builtins import FinishTool, InvokeSkillTool

from openhands_memory.adapters.own_memory import OwnMemory, memory_tiers
from openhands_memory.generation.known_memory import KNOWN_MEMORY
from openhands_memory.generation.rollout import Item, Segment, Terminal
from openhands_memory.generation.shortening import (
    compact,
    map_strings,
    mask_and_shorten,
)
from openhands_memory.layout import (
    GeneratedFiles,
)
from openhands_memory.secrets import mask_value

__all__ = ["KNOWN_MEMORY", "segment_of"]

_SKILL: Final = "[text of a skill]"
_IMAGE: Final = "[image]"
_BLOCKED: Final = "A hook blocked this call."
_REJECTED: Final = "The user rejected this call: "

#: Escape sequences of terminals (ECMA-48): control, strings such as a window's title,
#: and the short ones; then what is left of one that was cut.
_ESCAPES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
    r"|[\x1b\x9b]"
)


def segment_of(
    events: Iterable[Event],
    *,
    rollout_id: str,
    now: datetime,
    status: ExecutionStatus,
    mask: Callable[[str], str],
    error: BaseException | None = None,
    known_lines: Iterable[str] = (),
    files: GeneratedFiles | None = None,
    indexes: Iterable[str] = (),
) -> Segment | None:
    """What a run left in *events*, which are those since the run before it.

    None if it left nothing. *status* is the conversation's execution status after it,
    *error* what it raised; *mask* hides the secrets of a text; *known_lines* are those
    of the memory that the agent was given; *files* and *indexes*, paths of what it was
    read from, say where there is more of it.
    """
    waits = status == ExecutionStatus.WAITING_FOR_CONFIRMATION
    memory = OwnMemory(known_lines, memory_tiers(files, indexes))
    run = _Run(mask, memory).read(events)
    terminal, output = run.terminal(status, error), None
    if terminal.terminal_state == "completed":
        output = run.last_words or None
    if not (run.input or run.items or terminal.exception_type):
        return None
    return Segment(
        updated_at=now.astimezone(UTC).isoformat(),
        rollout_id=rollout_id,
        input=tuple(run.input),
        generated_items=tuple(run.items),
        interruptions=tuple(run.pending.values()) if waits else (),
        terminal=terminal._replace(has_final_output=output is not None),
        final_output=output,
    )


# --- How it ended -----------------------------------------------------------------------

#: What else a conversation can be in, somebody can take up again.
_STATES: Final = {
    ExecutionStatus.FINISHED: "completed",
    ExecutionStatus.ERROR: "failed",
    ExecutionStatus.STUCK: "stuck",
    ExecutionStatus.DELETING: "cancelled",
}
#: The code of the error event, which is all that is left of it: nothing is raised.
_MAX_TURNS: Final = "MaxIterationsReached"


def _raised(error: BaseException) -> Terminal:
    """How a run ended that raised *error*; nothing in it is masked."""
    cause = getattr(error, "original_exception", None)
    if isinstance(cause, BaseException):
        error = cause
    # KeyboardInterrupt, SystemExit, asyncio.CancelledError: somebody wanted it to end.
    state = "failed" if isinstance(error, Exception) else "cancelled"
    return Terminal(state, type(error).__name__, str(error))


# --- What happened ----------------------------------------------------------------------


class _Run:
    """Collects the items of one run, masked."""

    def __init__(self, mask: Callable[[str], str], memory: OwnMemory) -> None:
        self.input: list[Item] = []
        self.items: list[Item] = []
        #: Calls that nothing has come of yet, by their ids.
        self.pending: dict[str, Item] = {}
        #: What the agent said last.
        self.last_words = ""
        self._mask = mask
        #: The same few names and ids come again and again.
        self._name = cache(self._clean)
        self._memory = memory
        #: Calls whose output is memory, as a whole.
        self._views: set[str] = set()
        self._problem: ConversationErrorEvent | None = None
        self._was_interrupted = False

    def read(self, events: Iterable[Event]) -> Self:
        events = list(events)
        if any(map(self._memory.is_named_in, _tool_texts(events))):
            self._memory.read()
        # An ACP server tells of a call again whenever there is more to tell.
        latest = {e.tool_call_id: e for e in events if isinstance(e, ACPToolCallEvent)}
        for event in events:
            match event:
                case MessageEvent():
                    self._add_message(event)
                case ActionEvent():
                    self._add_action(event)
                case ObservationBaseEvent():
                    self._add_observation(event)
                case ACPToolCallEvent():
                    if last := latest.pop(event.tool_call_id, None):
                        self._add_acp_call(last)
                case ConversationErrorEvent():
                    self._problem = event
                case InterruptEvent():
                    self._was_interrupted = True
                case _:
                    pass
        return self

    def terminal(
        self, status: ExecutionStatus, error: BaseException | None
    ) -> Terminal:
        if error is not None:
            found = _raised(error)
        elif status == ExecutionStatus.ERROR and (problem := self._problem):
            state = "max_turns_exceeded" if problem.code == _MAX_TURNS else "failed"
            found = Terminal(state, problem.code, problem.detail)
        elif self._was_interrupted and status == ExecutionStatus.PAUSED:
            found = Terminal("cancelled")
        else:
            found = Terminal(_STATES.get(status, "interrupted"))
        return found._replace(
            exception_type=found.exception_type and self._clean(found.exception_type),
            exception_message=self._clean(found.exception_message or "") or None,
        )

    def _add_message(self, event: MessageEvent) -> None:
        # Not to_llm_message(): that adds what skills and hooks put in.
        message = event.llm_message
        text = self._clean(_text_of(message.content))
        if not text.strip():
            return
        if (event.source, message.role) == ("user", "user"):
            self.input.append({"role": "user", "content": text})
        elif (event.source, message.role) == ("agent", "assistant"):
            self._add_words(text)
            self.last_words = text

    def _add_words(self, text: str) -> None:
        if text.strip():
            self.items.append({"role": "assistant", "content": text})

    def _add_action(self, event: ActionEvent) -> None:
        self._add_words(self._clean(_text_of(event.thought)))
        arguments = event.tool_call.arguments
        if event.tool_name == FinishTool.name:
            message = getattr(event.action, "message", None)
            self.last_words = self._clean(
                message if isinstance(message, str) else arguments
            )
            self._add_words(self.last_words)
        else:
            self._add_call(event.tool_call_id, event.tool_name, arguments)

    def _add_observation(self, event: ObservationBaseEvent) -> None:
        if event.tool_name == FinishTool.name and isinstance(event, ObservationEvent):
            return
        shown = isinstance(event, ObservationEvent)
        self._add_output(event.tool_call_id, _outcome(event), shown=shown)

    def _add_acp_call(self, event: ACPToolCallEvent) -> None:
        self._add_call(event.tool_call_id, event.title, _as_text(event.raw_input))
        output = _as_text(event.raw_output) or _as_text(event.content)
        if output or event.status in ("completed", "failed"):
            shown = bool(output)
            self._add_output(
                event.tool_call_id, output or str(event.status), shown=shown
            )

    def _add_call(self, call_id: str, name: str, arguments: str) -> None:
        item: Item = {
            "type": "function_call",
            "call_id": self._name(call_id),
            "name": self._name(name),
            "arguments": self._clean_arguments(arguments),
        }
        self.items.append(item)
        self.pending[call_id] = item
        if self._memory.is_viewed_by(arguments):
            self._views.add(call_id)

    def _add_output(self, call_id: str, output: str, *, shown: bool) -> None:
        self.pending.pop(call_id, None)
        output = self._memory.known.without(_ESCAPES.sub("", output))
        if shown and call_id in self._views:
            output = KNOWN_MEMORY
        self.items.append(
            {
                "type": "function_call_output",
                "call_id": self._name(call_id),
                "output": mask_and_shorten(output, self._mask),
            }
        )

    def _clean(self, text: str) -> str:
        return mask_and_shorten(_ESCAPES.sub("", text), self._mask)

    def _clean_arguments(self, text: str) -> str:
        """*text* masked, its strings as they are and its keys as hints, if it is JSON."""
        try:
            value = cast("object", json.loads(text))
            if not isinstance(value, (dict, list)):
                return self._clean(self._without_memory(text))
            value = cast("object", value)
            # Whoever edits a memory file repeats what stands in it.
            fresh = map_strings(value, self._without_memory)
            masked = mask_value(map_strings(fresh, self._clean))
            written = compact(masked)
        except (ValueError, RecursionError):
            return self._clean(self._without_memory(text))
        # Once more for numbers, and for what stands in more than one string.
        return mask_and_shorten(written, self._mask)

    def _without_memory(self, text: str) -> str:
        return self._memory.known.without(text, said=True)


def _outcome(event: ObservationBaseEvent) -> str:
    match event:
        # What skills are made of is no evidence, and neither is what a hook says. The
        # extended content of an observation comes from skills too.
        case ObservationEvent():
            if event.tool_name == InvokeSkillTool.name:
                return _SKILL
            return _text_of(event.observation.to_llm_content)
        case UserRejectObservation():
            if event.rejection_source == "hook":
                return _BLOCKED
            return _REJECTED + event.rejection_reason
        case AgentErrorEvent():
            return event.error
        case _:
            return _text_of(event.to_llm_message().content)


def _text_of(content: Sequence[TextContent | ImageContent]) -> str:
    return "\n".join(
        part.text if isinstance(part, TextContent) else _IMAGE for part in content
    )


def _as_text(value: Any) -> str:
    """What an ACP server told of a call: text, blocks of text, or other JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list):
        texts = [_block_text(block) for block in cast("list[Any]", value)]
        if all(text is not None for text in texts):
            return "\n".join(filter(None, texts))
    return compact(map_strings(cast("object", value), str))


def _block_text(block: Any) -> str | None:
    """The text of an ACP content block, as it came or as it was read from disk."""
    content = _field(block, "content")
    text = _field(block if content is None else content, "text")
    return text if isinstance(text, str) else None


def _field(block: Any, name: str) -> Any:
    if isinstance(block, Mapping):
        return cast("Mapping[str, Any]", block).get(name)
    return getattr(block, name, None)


def _tool_texts(events: Iterable[Event]) -> Iterator[str]:
    """What tools were given, and what they gave."""
    for event in events:
        match event:
            case ActionEvent():
                yield event.tool_call.arguments
            case ObservationBaseEvent():
                yield _outcome(event)
            case ACPToolCallEvent():
                yield event.title
                yield from map(_as_text, (event.raw_input, event.raw_output))
                yield _as_text(event.content)
            case _:
                pass
