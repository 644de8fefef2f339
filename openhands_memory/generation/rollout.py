"""The record of one conversation: JSON lines, one for each of its runs.

Pure: `render_segment` and `parse_segment` are a pair. Nothing is masked here: what is
rendered must be masked already.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast

from openhands_memory.generation.shortening import (
    ITEM_CHARS,
    MAX_DEPTH,
    compact,
    map_strings,
    shorten,
)

__all__ = [
    "SEGMENT_BYTES",
    "TERMINAL_STATES",
    "Item",
    "Segment",
    "Terminal",
    "is_safe_id",
    "parse_segment",
    "render_segment",
    "rollout_id",
]

#: The words a header may hold, and no others; the last two are for records of other
#: writers (OpenAI Agents SDK 0.22).
TERMINAL_STATES: Final = frozenset(
    {
        *("completed", "interrupted", "cancelled", "failed", "max_turns_exceeded"),
        *("stuck", "guardrail_tripped", "unknown"),
    }
)

#: A message, a tool call or a tool's output, as OpenAI's API spells them.
Item = Mapping[str, object]


class Terminal(NamedTuple):
    """How a run ended."""

    terminal_state: str
    exception_type: str | None = None
    exception_message: str | None = None
    has_final_output: bool = False


class Segment(NamedTuple):
    """One run: what was new in it, what came of it, how it ended, and when."""

    updated_at: str
    rollout_id: str
    input: tuple[Item, ...]
    generated_items: tuple[Item, ...]
    interruptions: tuple[Item, ...]
    terminal: Terminal
    final_output: str | None = None


# --- Names ------------------------------------------------------------------------------

_SAFE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
#: Windows takes a name for a device whatever follows its first dot.
_DEVICE: Final = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")
_SLUG_CHARS: Final = 48
#: Characters of an id that its slug is made of, and some for a secret to end in.
_ID_WINDOW: Final = 4096


def is_safe_id(text: str) -> bool:
    """Whether *text* is the name of a rollout's files as it stands."""
    return (
        _SAFE_ID.fullmatch(text) is not None
        and not text.endswith(".")
        and not _DEVICE.fullmatch(text)
    )


def _mask(text: str) -> str:
    from openhands_memory.secrets import mask_secrets  # late: status reads ids only

    return mask_secrets(text).text


def rollout_id(*candidates: str | None, mask: Callable[[str], str] = _mask) -> str:
    """The first candidate that is not blank, as a name that a file can have.

    Two candidates never share a name because they look alike: one that is changed at
    all, for its characters or for a secret in it, carries a digest of what it was.

    Raises:
        ValueError: All of them are blank.
    """
    given = next((c.strip() for c in candidates if c and c.strip()), None)
    if given is None:
        raise ValueError("a rollout needs an id that is not blank")
    shown = mask(given[:_ID_WINDOW])
    if shown == given and is_safe_id(given):
        return given
    digest = sha256(given.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    plain = unicodedata.normalize("NFKD", shown).encode("ascii", "ignore").decode()
    joined = re.sub(r"[^A-Za-z0-9_]+", "-", plain)
    slug = joined[:_SLUG_CHARS].strip("-_")
    name = f"{slug or 'rollout'}-{digest}"
    # Other letters can spell a secret that is one only in these.
    is_told = any(mask(text) != text for text in (plain, joined, name))
    return f"rollout-{digest}" if is_told else name


# --- Rendering --------------------------------------------------------------------------

#: Bytes of one segment; a run that left more loses what happened in its middle.
SEGMENT_BYTES: Final = 4 * 1024 * 1024
_MESSAGE_CHARS: Final = 4000
#: Bytes that notes on what was left out may take.
_NOTES: Final = 512


def render_segment(segment: Segment) -> bytes:
    """The line of *segment*, with its line end, in at most `SEGMENT_BYTES` bytes."""
    terminal, output = segment.terminal, segment.final_output
    message = terminal.exception_message
    record: dict[str, Any] = {
        "updated_at": segment.updated_at,
        "rollout_id": segment.rollout_id,
        "input": [],
        "generated_items": [],
        "interruptions": [],
        "terminal_metadata": terminal._replace(
            exception_message=message and shorten(message, _MESSAGE_CHARS)
        )._asdict(),
        "final_output": None if output is None else shorten(output, ITEM_CHARS),
    }
    room = SEGMENT_BYTES - len(_line(record)) - _NOTES
    # What was asked, and what waits for an answer, before what was done.
    for name, share in (("input", 2), ("interruptions", 8), ("generated_items", 1)):
        record[name], size = _without_middle(getattr(segment, name), room // share)
        room -= size
    if not segment.interruptions:
        del record["interruptions"]
    if output is None:
        del record["final_output"]
    return _line(record)


def _line(record: object) -> bytes:
    return compact(record).encode() + b"\n"


def _without_middle(items: Sequence[Item], room: int) -> tuple[list[object], int]:
    """*items*, or the first and the last that fit in *room* bytes; and their bytes."""
    short = [map_strings(item, partial(shorten, limit=ITEM_CHARS)) for item in items]
    sizes = [len(_line(item)) for item in short]
    if sum(sizes) <= room:
        return short, sum(sizes)
    first = _fitting(sizes, room // 2)
    last = len(sizes) - _fitting(sizes[:first:-1], room - sum(sizes[:first]))
    left_out = sum(len(compact(item)) for item in short[first:last])
    note = {"type": "omitted", "items": last - first, "characters": left_out}
    size = sum(sizes[:first]) + sum(sizes[last:])
    return [*short[:first], note, *short[last:]], size


def _fitting(sizes: Sequence[int], room: int) -> int:
    """How many of the first *sizes* fit in *room*."""
    for count, size in enumerate(sizes):
        room -= size
        if room < 0:
            return count
    return len(sizes)


# --- Parsing ----------------------------------------------------------------------------


def parse_segment(line: bytes) -> Segment:
    """The segment that *line* holds; keys that are not known are passed over.

    A record of another writer is read as far as it goes: only one without a time and an
    id is none.

    Raises:
        ValueError: It holds none; the message is the reason.
    """
    try:
        record = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    if not isinstance(record, dict):
        raise ValueError("is not a JSON object")
    given = cast("dict[str, object]", record)
    if not _is_shallow(given):
        given = {key: map_strings(value, str) for key, value in given.items()}
    output = _text_or_none(given.get("final_output"))
    return Segment(
        updated_at=_instant(_text(given, "updated_at")),
        rollout_id=_safe_id(_text(given, "rollout_id")),
        input=_items(given.get("input"), role="user"),
        generated_items=_items(given.get("generated_items")),
        interruptions=_items(given.get("interruptions")),
        terminal=_terminal(given.get("terminal_metadata"), output),
        final_output=output,
    )


def _is_shallow(record: object) -> bool:
    """Whether recursion can walk *record*; asked without any."""
    level: list[object] = [record]
    for _ in range(MAX_DEPTH + 4):  # the record and its lists stand around an item
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return True
    return False


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from cast("dict[str, object]", value).values()
    elif isinstance(value, list):
        yield from cast("list[object]", value)


def _text(record: Mapping[str, object], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key} is not a string")
    return value


def _text_or_none(value: object) -> str | None:
    """A string as it is, and any other value as JSON on one line."""
    return value if value is None or isinstance(value, str) else compact(value)


def _instant(text: str) -> str:
    """A time as we write it; a line break or a word in its place is no time."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        raise ValueError("updated_at is not a time") from None


def _safe_id(text: str) -> str:
    if not is_safe_id(text):
        raise ValueError("rollout_id is not the name of a file")
    return text


def _items(value: object, **said_by: str) -> tuple[Item, ...]:
    """The items of a list; what is no object becomes the content of one."""
    if not value:
        return ()
    listed = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(
        cast("Item", item) if isinstance(item, dict) else {**said_by, "content": item}
        for item in listed
    )


def _terminal(value: object, output: str | None) -> Terminal:
    told = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    state, final = told.get("terminal_state"), told.get("has_final_output")
    if not isinstance(state, str) or state not in TERMINAL_STATES:
        state = "unknown"
    return Terminal(
        terminal_state=state,
        exception_type=_text_or_none(told.get("exception_type")),
        exception_message=_text_or_none(told.get("exception_message")),
        has_final_output=final if isinstance(final, bool) else output is not None,
    )
