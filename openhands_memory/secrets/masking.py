"""Tells the secrets of a text, and masks them in texts and in structures."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, cast

from openhands_memory.secrets.judging import Assignment, judge_assignment
from openhands_memory.secrets.known import KNOWN_KIND, by_name, known_spans
from openhands_memory.secrets.scanning import rule_spans
from openhands_memory.secrets.spans import Span
from openhands_memory.secrets.values import MASK

MAX_DEPTH: Final = 200
MAX_ROUNDS: Final = 5


class Secret(NamedTuple):
    """Where a secret stands and of which kind it is; never the value.

    Attributes:
        kind: A stable name, one of `KINDS`.
        start, end: The span in the text, in characters.
        line, column: Of the start, from 1; lines end at a line feed.
    """

    kind: str
    start: int
    end: int
    line: int
    column: int


class Masked(NamedTuple):
    """A text without its secrets, and how many of each kind were masked."""

    text: str
    counts: Mapping[str, int]


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets that the rules find in *text*, in order, not overlapping."""
    found: list[Secret] = []
    line, seen = 1, 0
    for span in rule_spans(text):
        line += text.count("\n", seen, span.start)
        line_start = text.rfind("\n", 0, span.start) + 1
        seen = span.start
        column = span.start - line_start + 1
        found.append(Secret(span.kind, span.start, span.end, line, column))
    return found


def mask_secrets(text: str, known: Mapping[str, str] | Iterable[str] = ()) -> Masked:
    """Replace secrets in *text* by `[secret: kind]`.

    *known* are values that are secret for certain, by name or without; a value that
    has a plain name is masked as `[secret: NAME]`. Masking masked text changes nothing.
    """
    return _mask_text(text, by_name(known))


def _mask_text(text: str, values: dict[str, str]) -> Masked:
    counts: Counter[str] = Counter()
    for _ in range(MAX_ROUNDS):  # a mask can bring two pieces together; rare
        spans = known_spans(text, values) if values else []
        text = _replace(text, spans, counts)
        found = rule_spans(text)
        text = _replace(text, found, counts)
        if not spans and not found:
            break
    return Masked(text, dict(counts))


def mask_value(obj: object, known: Mapping[str, str] | Iterable[str] = ()) -> object:
    """Return *obj* with the strings in it masked, keys of mappings included.

    Lists, tuples and mappings are rebuilt; what else is in them is left as it is. A
    key gives its value away: `{"password": "hunter2"}` is masked. Two keys that become
    one mask are numbered. Below 200 levels everything is masked unseen.
    """
    return _mask_node(obj, by_name(known), "", MAX_DEPTH)


def _mask_node(node: object, known: dict[str, str], key: str, depth: int) -> object:
    if isinstance(node, str):
        return _mask_leaf(node, known, key)
    if depth == 0 and isinstance(node, (list, tuple, Mapping)):
        return f"[secret: {KNOWN_KIND}]"
    if isinstance(node, Mapping):
        return _mask_mapping(cast("Mapping[object, object]", node), known, depth)
    if isinstance(node, (list, tuple)):
        items = cast("list[object] | tuple[object, ...]", node)
        masked = _mask_items(items, known, key, depth)
        return tuple(masked) if isinstance(node, tuple) else masked
    return node


def _mask_leaf(text: str, known: dict[str, str], key: str) -> str:
    masked = _mask_text(text, known).text
    if not key or MASK.search(masked):
        return masked
    kind = judge_assignment(Assignment(key, masked.strip(), "assign"))
    return f"[secret: {kind}]" if kind else masked


def _mask_items(
    items: Iterable[object], known: dict[str, str], key: str, depth: int
) -> list[object]:
    """Mask a sequence; `--password`, `x` in an argument vector is a key and a value."""
    masked: list[object] = []
    flag = ""
    for item in items:
        masked.append(_mask_node(item, known, flag or key, depth - 1))
        is_flag = isinstance(item, str) and re.fullmatch(r"--?[\w-]{2,40}", item)
        flag = cast("str", item).lstrip("-") if is_flag else ""
    return masked


def _mask_mapping(
    node: Mapping[object, object], known: dict[str, str], depth: int
) -> dict[object, object]:
    name = node.get("name", node.get("key"))
    masked: dict[object, object] = {}
    for key, value in node.items():
        hint = key if isinstance(key, str) else ""
        if hint == "value" and isinstance(name, str):  # {"name": "X", "value": ...}
            hint = name
        shown = _mask_text(key, known).text if isinstance(key, str) else key
        masked[_unused(shown, masked)] = _mask_node(value, known, hint, depth - 1)
    return masked


def _unused(key: object, taken: Mapping[object, object]) -> object:
    if key not in taken:
        return key
    number = 2
    while f"{key} ({number})" in taken:
        number += 1
    return f"{key} ({number})"


def _replace(text: str, spans: list[Span], counts: Counter[str]) -> str:
    if not spans:
        return text
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += [text[at : span.start], f"[secret: {span.kind}]"]
        counts[span.kind] += 1
        at = span.end
    return "".join([*parts, text[at:]])
