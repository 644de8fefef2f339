"""Find secrets in text and mask them; kinds and places are told, values never.

Deliberately not done: no network, no check whether a token is live, no decryption, no
judging of files or images, and no reading of known secrets from anywhere (they are an
argument). A mask is final: nothing can be restored from it.

Known values go first, longest first, in the encodings that tools print them in. Then
the rules of `secret_rules` run on text without invisible characters, only where
`str.find` met one of a rule's literals. Time grows linearly with the text.
"""

import base64
import re
import string
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

from openhands_memory.secret_rules import (
    KINDS,
    MASK,
    RULES,
    Assignment,
    Rule,
    decoded_text,
    find_assignments,
    hits,
    judge_assignment,
)

__all__ = ["Masked", "Secret", "find_secrets", "mask_secrets", "mask_value"]

KNOWN_KIND: Final = "known-secret"
# Shorter known values (`a`, `on`) are no secrets, and masking them would ruin the text.
MIN_KNOWN_CHARS: Final = 4
# Up to here a known value is masked as a whole word only: `prod` stays in `product`.
MAX_WORD_CHARS: Final = 7
MAX_DEPTH: Final = 200
MAX_ROUNDS: Final = 5


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands and of which kind it is; never the value.

    Attributes:
        kind: A stable name, one of `secret_rules.KINDS`.
        start, end: The span in the text, in characters.
        line, column: Of the start, from 1; lines end at a line feed.
    """

    kind: str
    start: int
    end: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets, and how many of each kind were masked."""

    text: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    kind: str


# --- Public functions -----------------------------------------------------------------


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets that the rules find in *text*, in order, not overlapping."""
    found: list[Secret] = []
    line, line_start, seen = 1, 0, 0
    for span in _rule_spans(text):
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
    return _mask_text(text, _by_name(known))


def _mask_text(text: str, values: dict[str, str]) -> Masked:
    counts: Counter[str] = Counter()
    for _ in range(MAX_ROUNDS):  # a mask can bring two pieces together; rare
        spans = _known_spans(text, values) if values else []
        text = _replace(text, spans, counts)
        found = _rule_spans(text)
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
    return _mask_node(obj, _by_name(known), "", MAX_DEPTH)


# --- Structures -----------------------------------------------------------------------


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


# --- Spans ----------------------------------------------------------------------------


def _replace(text: str, spans: list[_Span], counts: Counter[str]) -> str:
    if not spans:
        return text
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += [text[at : span.start], f"[secret: {span.kind}]"]
        counts[span.kind] += 1
        at = span.end
    return "".join([*parts, text[at:]])


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    """Join overlapping spans; the kind of the first found, the most specific, stays."""
    ranked = sorted(enumerate(spans), key=lambda item: item[1].start)
    merged: list[tuple[int, _Span]] = []
    for rank, span in ranked:
        if merged and span.start < merged[-1][1].end:
            best, last = merged[-1]
            kind = last.kind if best < rank else span.kind
            joined = _Span(last.start, max(last.end, span.end), kind)
            merged[-1] = (min(best, rank), joined)
        else:
            merged.append((rank, span))
    return [span for _, span in merged]


@dataclass(frozen=True, slots=True)
class _View:
    """A text with some characters left out, and where the rest came from."""

    text: str
    starts: list[int]  # positions in the view where a kept piece begins
    origins: list[int]  # the same positions in the original

    def origin(self, position: int) -> int:
        piece = bisect_right(self.starts, position) - 1
        return self.origins[piece] + position - self.starts[piece]

    def span(self, start: int, end: int, kind: str) -> _Span:
        return _Span(self.origin(start), self.origin(end - 1) + 1, kind)


def _without(text: str, gaps: re.Pattern[str], joint: str = "") -> _View:
    """Leave out what *gaps* matches, or put *joint* in its place."""
    parts: list[str] = []
    starts, origins = [0], [0]
    at = size = 0
    for gap in gaps.finditer(text):
        parts += [text[at : gap.start()], joint]
        size += gap.start() - at + len(joint)
        at = gap.end()
        if joint:  # stands for the gap's first character
            starts.append(size - len(joint))
            origins.append(gap.start())
        starts.append(size)
        origins.append(at)
    return _View("".join([*parts, text[at:]]), starts, origins)


# Zero-width, soft hyphen, bidi controls, variation selectors, tags, fillers.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)


# --- Rules on text --------------------------------------------------------------------


def _rule_spans(text: str) -> list[_Span]:
    view = _without(text, _INVISIBLE)
    seen = view.text
    masks = [found.span() for found in MASK.finditer(seen) if _is_ours(found[0])]
    spans = _merged(_all_spans(seen, lower_case(seen)))
    kept = [span for span in spans if not _touches(span, masks)]
    return [view.span(span.start, span.end, span.kind) for span in kept]


def _is_ours(mask: str) -> bool:
    kind = mask[len("[secret: ") : -1]
    return kind in KINDS or kind.isidentifier()


def _touches(span: _Span, masks: list[tuple[int, int]]) -> bool:
    """Say whether *span* begins inside a mask, or is one."""
    at = bisect_right(masks, (span.start, len(MASK.pattern) + (1 << 60))) - 1
    return at >= 0 and span.start < masks[at][1]


def lower_case(text: str) -> str:
    lowered = text.lower()
    if len(lowered) != len(text):  # only U+0130 grows when lowered
        lowered = text.replace("\u0130", "I").lower()
    return lowered


def _all_spans(text: str, lowered: str) -> Iterator[_Span]:
    for rule in RULES:
        yield from _spans_of(rule, text, lowered)
    yield from _private_keys(text)
    yield from _encoded(text)
    for start, end, kind in find_assignments(text, lowered):
        yield _Span(start, end, kind)


def _spans_of(rule: Rule, text: str, lowered: str) -> Iterator[_Span]:
    for found in matches(rule, text, lowered):
        if rule.check(found):
            yield _Span(found.start(rule.group), found.end(rule.group), rule.kind)


def matches(rule: Rule, text: str, lowered: str) -> Iterator[re.Match[str]]:
    """Yield what the rule's pattern finds at, or around, each of its literals."""
    end = 0
    for at in hits(rule.literals, lowered if rule.fold else text):
        if at < end:
            continue
        if rule.lead:
            found = rule.pattern.search(text, max(end, at - rule.lead), at + 256)
        else:
            found = rule.pattern.match(text, at)
        if found:
            end = found.end()
            yield found


# --- Private keys ---------------------------------------------------------------------

_PEM_HEAD: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40})PRIVATE KEY( BLOCK)?-----")
_PEM_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,60}-----")
_PEM_GAP: Final = re.compile(r"(?:[\s>|#*\"',-]|\\[nrt\"\\]){0,60}")
_PEM_LINE: Final = re.compile(r"[A-Za-z0-9+/=]{16,20000}")
_PEM_BODY: Final = re.compile(r"(?:\n|\\[nr]|\r).{0,20}?[A-Za-z0-9]|[A-Za-z0-9+/=]{16}")
_PUTTY: Final = re.compile(r"Private-Lines: ?[0-9]{1,4}(?:\r?\n|\\[nr]){1,2}")
MAX_PEM_CHARS: Final = 65_536


def _private_keys(text: str) -> Iterator[_Span]:
    """Yield PEM blocks, whole, or as far as they go when the end is cut off."""
    after, end = 0, -1
    for at in hits(("-----BEGIN ",), text):
        head = _PEM_HEAD.match(text, at) if at >= after else None
        if not head:
            continue
        if end < head.end():
            end = text.find("-----END ", head.end())
            end = len(text) + MAX_PEM_CHARS if end < 0 else end
        after = _pem_end(text, head.end(), end)
        if after:
            yield _Span(at, after, "private-key")
    for at in hits(("Private-Lines:",), text):
        if head := _PUTTY.match(text, at):
            yield _Span(head.end(), _body_end(text, head.end()), "private-key")


def _pem_end(text: str, start: int, end: int) -> int:
    closing = _PEM_END.match(text, end) if end - start < MAX_PEM_CHARS else None
    if closing and _PEM_BODY.search(text, start, end):
        return closing.end()
    stop = _body_end(text, start)
    return stop if stop > start else 0


def _body_end(text: str, start: int) -> int:
    """Return the end of the lines of base64 that follow *start*."""
    end = start
    while line := _PEM_LINE.match(
        text, cast("re.Match[str]", _PEM_GAP.match(text, end)).end()
    ):
        end = line.end()
    return end


# --- Base64 that hides a token --------------------------------------------------------

_CODED_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")


def _encoded(text: str, depth: int = 2) -> Iterator[_Span]:
    for run in _CODED_RUN.finditer(text):
        inner = decoded_text(run[0])
        kind = _first_kind(inner, depth) if inner else ""
        if kind:
            yield _Span(run.start(), run.end(), kind)


def _first_kind(text: str, depth: int) -> str:
    lowered = lower_case(text)
    for rule in RULES:
        for span in _spans_of(rule, text, lowered):
            return span.kind
    for span in _private_keys(text):
        return span.kind
    for _, _, kind in find_assignments(text, lowered):
        return kind
    if depth > 1:
        return next((span.kind for span in _encoded(text, depth - 1)), "")
    return ""


# --- Known values ---------------------------------------------------------------------


def _by_name(known: Mapping[str, str] | Iterable[str]) -> dict[str, str]:
    """Return the mask's word for each value."""
    if isinstance(known, str):
        known = (known,)
    if isinstance(known, Mapping):
        named = cast("Mapping[str, str]", known)
        pairs = [(value, name) for name, value in named.items()]
    else:
        pairs = [(value, KNOWN_KIND) for value in known]
    values = {v: n for v, n in pairs if len(v.strip()) >= MIN_KNOWN_CHARS}
    return {
        v: n if _is_plain_name(n, values) else KNOWN_KIND for v, n in values.items()
    }


def _is_plain_name(name: str, values: Mapping[str, str]) -> bool:
    if name == KNOWN_KIND:
        return True
    if not re.fullmatch(r"[A-Za-z]\w{0,63}", name, re.ASCII) or _rule_spans(name):
        return False
    return not any(value in name for value in values)


_NEWLINE: Final = r"(?:\\?\r?\n|\\r\\n|\\n)"
# How tools break a long value: a plain wrap, a quoted or commented one, joined strings.
_WRAPS: Final = (
    rf"[ \t]{{0,64}}{_NEWLINE}(?:\s|\\n){{0,256}}",
    rf"[ \t]{{0,64}}{_NEWLINE}[ \t]{{0,64}}(?:[>|#*+]|//|-)[ \t]{{0,64}}",
    rf"[\"'][ \t]{{0,64}}[+\\]?[ \t]{{0,64}}{_NEWLINE}[ \t+]{{0,64}}[\"']",
)
_CODED: Final = string.ascii_letters + string.digits + "+/_-"
_CODED_AFTER: Final = re.compile(r"[A-Za-z0-9+/_-]{0,4096}={0,2}")


@dataclass(frozen=True, slots=True)
class _Needle:
    """One spelling of a known value; of base64 the whole run is masked around it."""

    text: str
    kind: str
    coded: bool = False


def _known_spans(text: str, known: Mapping[str, str]) -> list[_Span]:
    needles = _needles(known)
    names = {*known.values(), *KINDS}
    masks = [found.span() for found in MASK.finditer(text)]
    masks = [span for span in masks if text[span[0] + 9 : span[1] - 1] in names]
    spans = list(_needle_spans(text, needles))
    for view, squeeze in _views(text):
        short = [_Needle(squeeze(n.text), n.kind, n.coded) for n in needles]
        kept = [needle for needle in short if len(needle.text) > MAX_WORD_CHARS]
        for span in _needle_spans(view.text, kept):
            spans.append(view.span(span.start, span.end, span.kind))
    spans.sort(key=lambda span: span.start - span.end)  # longest first names the mask
    return [span for span in _merged(spans) if not _touches(span, masks)]


def _views(text: str) -> Iterator[tuple[_View, Callable[[str], str]]]:
    """Yield *text* joined again in each way that a value could have been split."""
    if _INVISIBLE.search(text):
        yield _without(text, _INVISIBLE), partial(_INVISIBLE.sub, "")
    if "\n" not in text and "\\n" not in text:
        return
    for source in _WRAPS:
        gaps = re.compile(source)
        for joint in ("", " "):
            if gaps.search(text):
                yield _without(text, gaps, joint), partial(gaps.sub, joint)


def _needle_spans(text: str, needles: Iterable[_Needle]) -> Iterator[_Span]:
    for needle in needles:
        at = text.find(needle.text)
        while at >= 0:
            end = at + len(needle.text)
            if len(needle.text) > MAX_WORD_CHARS or _is_word(text, at, end):
                start = at
                if needle.coded:
                    start, end = _coded_run(text, at, end)
                yield _Span(start, end, needle.kind)
            at = text.find(needle.text, end)


def _coded_run(text: str, start: int, end: int) -> tuple[int, int]:
    before = text[max(0, start - 4096) : start]
    after = _CODED_AFTER.match(text, end)
    start -= len(before) - len(before.rstrip(_CODED))
    return start, after.end() if after else end


def _is_word(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() or after.isalnum())


def _needles(known: Mapping[str, str]) -> list[_Needle]:
    """Return each known value in the spellings that tools print, longest first."""
    found: dict[str, _Needle] = {}
    for value in sorted(known, key=len, reverse=True):
        for spelling in (value, *_spellings(value)):
            found.setdefault(spelling, _Needle(spelling, known[value]))
        for core in _base64_cores(value.encode("utf-8", "surrogatepass")):
            found.setdefault(core, _Needle(core, known[value], coded=True))
    return sorted(found.values(), key=lambda needle: -len(needle.text))


def _spellings(value: str) -> Iterator[str]:
    # Imported here: who knows no secrets, as the command line, need not pay for them.
    import json
    from urllib.parse import quote, quote_plus

    raw = value.encode("utf-8", "surrogatepass")
    for coded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield coded
        yield re.sub("%[0-9A-F]{2}", lambda hit: hit[0].lower(), coded)
    for plain in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        yield plain[1:-1]
        yield json.dumps(plain)[3:-3]
    yield value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if value.strip() != value:
        yield value.strip()
    if len(raw) >= 6:
        yield from (raw.hex(), raw.hex().upper())


def _base64_cores(raw: bytes) -> Iterator[str]:
    """Yield what is fixed of *raw* in base64, wherever in a longer text it stands."""
    if len(raw) < 6:
        return
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + raw).decode("ascii")
        first, last = -(-offset * 8 // 6), (offset + len(raw)) * 8 // 6
        core = coded[first:last]
        yield core
        yield core.replace("+", "-").replace("/", "_")
