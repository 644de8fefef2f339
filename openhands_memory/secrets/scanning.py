"""Runs everything that finds secrets on one text.

Invisible characters are left out first. A rule runs only where `str.find` met one of
its literals, and time grows linearly with the text.
"""

import re
from collections.abc import Iterator
from typing import Final

from openhands_memory.secrets.assignments import find_assignments
from openhands_memory.secrets.contexts import RULES
from openhands_memory.secrets.kinds import KINDS
from openhands_memory.secrets.lists import find_in_lists
from openhands_memory.secrets.pem import private_keys
from openhands_memory.secrets.rules import Rule, matches
from openhands_memory.secrets.spans import GAPS, Span, merged, touches, without
from openhands_memory.secrets.tables import find_in_tables
from openhands_memory.secrets.values import MASK, decoded_text, looks_mixed


def rule_spans(text: str) -> list[Span]:
    """Return where the secrets stand, in order, not overlapping, masks left out."""
    view = without(text, GAPS)
    seen = view.text
    masks = [found.span() for found in MASK.finditer(seen) if _is_ours(found[0])]
    spans = merged(_all_spans(seen, lower_case(seen)))
    kept = [span for span in spans if not touches(span, masks)]
    return [view.span(span.start, span.end, span.kind) for span in kept]


def _is_ours(mask: str) -> bool:
    kind = mask[len("[secret: ") : -1]
    return kind in KINDS or kind.isidentifier()


def lower_case(text: str) -> str:
    """Return *text* in lower case, each character where it was."""
    lowered = text.lower()
    if len(lowered) != len(text):  # only U+0130 grows when lowered
        lowered = text.replace("\u0130", "I").lower()
    return lowered


def _all_spans(text: str, lowered: str) -> Iterator[Span]:
    for rule in RULES:
        yield from spans_of(rule, text, lowered)
    yield from private_keys(text)
    yield from _encoded(text)
    yield from find_in_tables(text, lowered)
    yield from find_in_lists(text, lowered)
    yield from find_assignments(text, lowered)


def spans_of(rule: Rule, text: str, lowered: str) -> Iterator[Span]:
    for found in matches(rule, text, lowered):
        if rule.check(found):
            yield Span(found.start(rule.group), found.end(rule.group), rule.kind)


_CODED_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
# A prefix and what nothing but chance makes: the token of a provider not in the table.
_PREFIXED: Final = re.compile(
    r"[a-z][a-z0-9]{1,11}(?:[_-][a-z0-9]{1,8}){0,3}[_-](?P<b>[A-Za-z0-9]{32,200})"
)
_TELLING: Final = re.compile(r"_(?:live|prod|test|secret|sk|pat|key|token)_$")
# Publishable keys, sessions of a checkout, digests.
_PUBLIC: Final = ("pk", "pub", "phc", "cs", "sha", "h1", "md5", "hash", "nonce", "id")


def _encoded(text: str, depth: int = 2) -> Iterator[Span]:
    for run in _CODED_RUN.finditer(text):
        inner = decoded_text(run[0])
        kind = _first_kind(inner, depth) if inner else _prefixed_kind(run[0])
        if kind:
            yield Span(run.start(), run.end(), kind)


def _prefixed_kind(run: str) -> str:
    found = _PREFIXED.fullmatch(run)
    if not found or run.startswith(_PUBLIC):
        return ""
    told = _TELLING.search(run[: found.start("b")])
    return "token" if told or looks_mixed(found["b"]) else ""


def _first_kind(text: str, depth: int) -> str:
    lowered = lower_case(text)
    for rule in RULES:
        for span in spans_of(rule, text, lowered):
            return span.kind
    for span in private_keys(text):
        return span.kind
    for span in find_assignments(text, lowered):
        return span.kind
    if depth > 1:
        return next((span.kind for span in _encoded(text, depth - 1)), "")
    return ""
