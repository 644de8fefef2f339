"""Long texts as their beginning and their end, with a mark that says what is missing.

What is cut is masked first: half a secret is still one, and no rule would know it.
"""

import json
from collections.abc import Callable, Mapping
from typing import Final, cast

__all__ = [
    "ITEM_CHARS",
    "MARGIN",
    "MAX_DEPTH",
    "compact",
    "map_strings",
    "mask_and_shorten",
    "shorten",
]

#: Characters of one text of a rollout: what a tool prints is seldom more, and the model
#: had seen no more of it.
ITEM_CHARS: Final = 64 * 1024

#: Characters that are masked beyond what is kept of a huge text, and then dropped; more
#: than any secret has. (An RSA key of 16,384 bits takes 12,600.)
MARGIN: Final = 16 * 1024

#: Levels of a value that are looked into; nothing that is recorded comes near.
MAX_DEPTH: Final = 64

_MARK: Final = "\n[… {} of {} characters left out …]\n"


def shorten(text: str, limit: int) -> str:
    """*text* in at most *limit* characters: what is too long loses its middle."""
    if len(text) <= limit:
        return text
    room = limit - len(_mark(len(text), len(text)))
    if room <= 0:
        return text[: max(0, limit)]
    return _joined(text[: room - room // 2], text[len(text) - room // 2 :], len(text))


def mask_and_shorten(
    text: str, mask: Callable[[str], str], limit: int = ITEM_CHARS
) -> str:
    """*text* masked, in at most *limit* characters, at a cost that *limit* bounds."""
    if len(text) <= limit + 2 * MARGIN:
        return shorten(mask(text), limit)
    half = (limit - len(_mark(len(text), len(text)))) // 2
    if half <= 0:
        return ""
    # What the window cuts in two stands at its edge as it was, so the margin holds it.
    head = mask(text[: half + MARGIN])[:-MARGIN][:half]
    tail = mask(text[-half - MARGIN :])[MARGIN:][-half:]
    return _joined(head, tail, len(text))


def map_strings(
    value: object, change: Callable[[str], str], depth: int = MAX_DEPTH
) -> object:
    """*value* with *change* made to each string in it, keys included."""
    if isinstance(value, str):
        return change(value)
    if not isinstance(value, (list, tuple, Mapping)):
        return value
    if depth == 0:
        return "[… nested too deeply …]"
    if isinstance(value, Mapping):
        mapping = cast("Mapping[object, object]", value)
        return {
            change(str(key)): map_strings(inner, change, depth - 1)
            for key, inner in mapping.items()
        }
    items = cast("list[object] | tuple[object, ...]", value)
    return [map_strings(item, change, depth - 1) for item in items]


def compact(value: object) -> str:
    """*value* as JSON on one line; half of a surrogate pair is escaped, for UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode("utf-8", "backslashreplace").decode()


def _joined(head: str, tail: str, size: int) -> str:
    return head + _mark(size - len(head) - len(tail), size) + tail


def _mark(left_out: int, size: int) -> str:
    return _MARK.format(f"{left_out:,}", f"{size:,}")
