"""A rollout cut to what a model can take, in bounded memory.

Pure: lines in, lines out. The beginning and the end are kept, and what is left out
between them is counted.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from openhands_memory.generation.rollout import (
    SEGMENT_BYTES,
    Item,
    Segment,
    parse_segment,
)
from openhands_memory.generation.shortening import (
    ITEM_CHARS,
    compact,
    map_strings,
    mask_and_shorten,
)
from openhands_memory.generation.window import Line, Window

__all__ = ["LINE_LIMIT", "Gathered", "gather"]

#: Bytes of the longest line that is read: what `render_segment` writes, and some more
#: for those of other writers.
LINE_LIMIT: Final = 2 * SEGMENT_BYTES

#: Characters of an item that only another writer leaves.
_HUGE_ITEM: Final = 1024 * 1024

_UNKNOWN: Final = "unknown"
_DAMAGED_NAMED: Final = 20
#: What is no evidence, should a rollout hold it.
_DROPPED_ROLES: Final = frozenset({"developer", "system"})
_DROPPED_TYPES: Final = frozenset({"compaction", "image_generation_call", "reasoning"})


class Gathered(NamedTuple):
    """What of a rollout fits: one JSON object a line, and counts of the whole.

    Attributes: *head* and *tail* are its lines from the beginning and to the end, with
    one line before the items of each run; all are in *head* if nothing was left out.
    *omitted_items* are those between them, *omitted_chars* what is not in the lines of
    the *total_chars*; *states* count how runs ended; *damaged* are the numbers of the
    first lines that could not be read, *damaged_count* is how many there are.
    """

    head: tuple[str, ...]
    tail: tuple[str, ...]
    omitted_items: int
    omitted_chars: int
    total_chars: int
    segments: int
    states: Mapping[str, int]
    damaged: tuple[int, ...]
    damaged_count: int
    updated_at: str
    terminal_state: str


def gather(
    lines: Iterable[bytes | None], *, room: int, mask: Callable[[str], str] = str
) -> Gathered:
    """The beginning and the end of a rollout in *room* characters, line ends included.

    *lines* end at a line feed and nowhere else; None is one too long to be read. *mask*
    is applied to each string that is kept, for a rollout may be older than what masks it
    now. Never holds much more than *room* and a few items.
    """
    window = Window(room)
    states: Counter[str] = Counter()
    damaged: list[int] = []
    damaged_count = 0
    last: Segment | None = None
    for number, line in enumerate(lines, 1):
        if line is not None and not line.strip():
            continue
        try:
            last = parse_segment(line or b"")
        except ValueError:
            damaged_count += 1
            if damaged_count <= _DAMAGED_NAMED:
                damaged.append(number)
            continue
        states[last.terminal.terminal_state] += 1
        window.add(Line(_about(last, states.total()), is_item=False))
        for item in filter(_is_evidence, (*last.input, *last.generated_items)):
            text = compact(item)
            short = text if len(text) < _HUGE_ITEM else _cut_to_size(item, mask)
            window.add(Line(short, is_item=True))
            window.total += len(text) - len(short)
    # Masking takes long: only what is kept is masked.
    window.settle(lambda text: compact(map_strings(json.loads(text), mask)))
    return Gathered(
        head=tuple(line.text for line in window.head),
        tail=tuple(line.text for line in window.tail),
        omitted_items=window.omitted,
        omitted_chars=window.total - window.kept,
        total_chars=window.total,
        segments=states.total(),
        states=dict(states),
        damaged=tuple(damaged),
        damaged_count=damaged_count,
        updated_at=last.updated_at if last else _UNKNOWN,
        terminal_state=last.terminal.terminal_state if last else _UNKNOWN,
    )


def _cut_to_size(item: Item, mask: Callable[[str], str]) -> str:
    """*item* with its texts as long as we record them."""

    def cut(text: str) -> str:
        return mask_and_shorten(text, mask) if len(text) > ITEM_CHARS else text

    return compact(map_strings(item, cut))


def _about(segment: Segment, number: int) -> str:
    """The line before the items of a run."""
    about = {"segment": number, "updated_at": segment.updated_at}
    told = segment.terminal._asdict().items()
    return compact(about | {key: value for key, value in told if value is not None})


def _is_evidence(item: Item) -> bool:
    return not (
        str(item.get("role")) in _DROPPED_ROLES
        or str(item.get("type")) in _DROPPED_TYPES
    )
