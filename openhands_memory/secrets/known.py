"""Finds values that are secret for certain, in the encodings tools print them in.

Longest first, so that no tail of a longer one is left.
"""

import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple, cast

from openhands_memory.secrets.kinds import KINDS
from openhands_memory.secrets.scanning import rule_spans
from openhands_memory.secrets.spans import (
    GAPS,
    Span,
    View,
    merged,
    touches,
    without,
)
from openhands_memory.secrets.values import MASK

KNOWN_KIND: Final = "known-secret"
# Shorter known values (`a`, `on`) are no secrets, and masking them would ruin the text.
MIN_KNOWN_CHARS: Final = 4
# Up to here a known value is masked as a whole word only: `prod` stays in `product`.
MAX_WORD_CHARS: Final = 7


def by_name(known: Mapping[str, str] | Iterable[str]) -> dict[str, str]:
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
    if not re.fullmatch(r"[A-Za-z]\w{0,63}", name, re.ASCII) or rule_spans(name):
        return False
    return not any(value in name for value in values)


_NEWLINE: Final = r"(?:\\?\r?\n|\\r\\n|\\n)"
# How tools break a long value: a plain wrap, a quoted or commented one, joined strings.
_WRAPS: Final = (
    rf"[ \t]{{0,64}}{_NEWLINE}(?:\s|\\n){{0,256}}",
    rf"[ \t]{{0,64}}{_NEWLINE}[ \t]{{0,64}}(?:[>|#*+]|//|-)[ \t]{{0,64}}",
    rf"[\"'][ \t]{{0,64}}[+\\]?[ \t]{{0,64}}{_NEWLINE}[ \t+]{{0,64}}[\"']",
)
_CODED: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
_CODED_AFTER: Final = re.compile(r"[A-Za-z0-9+/_-]{0,4096}={0,2}")


class _Needle(NamedTuple):
    """One spelling of a known value; of base64 the whole run is masked around it."""

    text: str
    kind: str
    coded: bool = False

    def __repr__(self) -> str:
        """Say nothing of the value: tracebacks are logged."""
        return f"_Needle(kind={self.kind!r})"


def known_spans(text: str, known: Mapping[str, str]) -> list[Span]:
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
    return [span for span in merged(spans) if not touches(span, masks)]


def _views(text: str) -> Iterator[tuple[View, Callable[[str], str]]]:
    """Yield *text* joined again in each way that a value could have been split."""
    if GAPS.search(text):
        yield without(text, GAPS), partial(GAPS.sub, "")
    if "\n" not in text and "\\n" not in text:
        return
    for source in _WRAPS:
        gaps = re.compile(source)
        for joint in ("", " "):
            if gaps.search(text):
                yield without(text, gaps, joint), partial(gaps.sub, joint)


def _needle_spans(text: str, needles: Iterable[_Needle]) -> Iterator[Span]:
    for needle in needles:
        at = text.find(needle.text)
        while at >= 0:
            end = at + len(needle.text)
            if len(needle.text) > MAX_WORD_CHARS or _is_word(text, at, end):
                start = at
                if needle.coded:
                    start, end = _coded_run(text, at, end)
                yield Span(start, end, needle.kind)
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
        coded = binascii.b2a_base64(b"\0" * offset + raw, newline=False).decode("ascii")
        first, last = -(-offset * 8 // 6), (offset + len(raw)) * 8 // 6
        core = coded[first:last]
        yield core
        yield core.replace("+", "-").replace("/", "_")
