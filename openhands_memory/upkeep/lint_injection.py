"""Instruction-like text: sentences that try to take the agent over.

Pure rule of `lint`. Patterns for what attacks on memory look like, chosen so that the
rules that people give an agent ("never write to the billing database") pass. What they
miss is not thereby safe: nothing here claims to stop injection by meaning.

A pattern is tried only around the literals that announce it.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from openhands_memory.sanitize import show_hidden
from openhands_memory.upkeep.document import Document
from openhands_memory.upkeep.findings import Finding, finding
from openhands_memory.upkeep.lint_patterns import PATTERNS

__all__ = ["find_injection"]

#: Characters around a literal in which its pattern may match.
_BEFORE, _AFTER = 160, 320

_MESSAGES: Final = {
    "OM131": "orders the agent to ignore its instructions; remove it",
    "OM132": "gives the agent a new role or lifts its limits; remove it",
    "OM133": "orders the agent to keep something from the user; remove it",
    "OM134": "orders the agent to always recommend or trust somebody; state a fact instead",
    "OM135": "orders the agent to send private data somewhere; remove it",
    "OM136": "holds encoded text and the order to follow it; remove it",
    "OM137": "is a control token of a chat template; remove it or spell it out",
}


def find_injection(document: Document) -> Iterator[Finding]:
    """Each place where the text tries to take the agent over, one a line and code."""
    text = document.body
    reported: set[tuple[int, str]] = set()
    for code, at in _hits(text):
        line = text.count("\n", 0, at) + 1
        if (line, code) not in reported:
            reported.add((line, code))
            column = at - text.rfind("\n", 0, at)
            yield finding(code, _MESSAGES[code], line=line, column=column)
    # Spelled with hidden or compatible characters it reads the same to a model.
    for number, plain in _unmasked(document):
        for code, _at in _hits(plain):
            if (number, code) not in reported:
                reported.add((number, code))
                yield finding(code, _MESSAGES[code], line=number)


def _unmasked(document: Document) -> Iterator[tuple[int, str]]:
    if document.body.isascii():
        return
    for number, line in enumerate(document.lines, 1):
        if line.isascii():
            continue
        plain = re.sub(r"\[U\+[0-9A-F]+\]", "", show_hidden(line))
        plain = unicodedata.normalize("NFKC", plain)
        if plain != line:
            yield number, plain


def _hits(text: str) -> Iterator[tuple[str, int]]:
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters have longer lower-case forms
        lowered = "".join(low if len(low := c.lower()) == 1 else c for c in text)
    for pattern in PATTERNS:
        for start, end in _windows(lowered, pattern.literals):
            found = re.compile(pattern.source, re.IGNORECASE | re.MULTILINE)
            for hit in found.finditer(text, start, end):
                if pattern.code not in _TURNED or not _is_denied(text, hit.start()):
                    yield pattern.code, hit.start()
    yield from _encoded(text, lowered)


#: Orders that a "never" before them turns into a good rule.
_TURNED: Final = frozenset({"OM131", "OM134", "OM135"})
_DENIAL: Final = r"(?i)\b(?:never|not|cannot|avoid|refuse)\b|n['\u2019]t\b"


def _is_denied(text: str, at: int) -> bool:
    clause = re.split(r"[.:;!?\n]", text[max(0, at - 60) : at])[-1]
    return re.search(_DENIAL, clause) is not None


def _windows(lowered: str, literals: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Where one of *literals* is near, as spans that do not overlap."""
    found: list[int] = []
    for literal in literals:
        at = lowered.find(literal)
        while at >= 0:
            found.append(at)
            at = lowered.find(literal, at + len(literal))
    start, end = 0, -1
    for at in sorted(found):
        if at - _BEFORE > end:
            if end >= 0:
                yield start, end
            start = max(0, at - _BEFORE)
        end = at + _AFTER
    if end >= 0:
        yield start, end


# --- Encoded orders ---------------------------------------------------------------------

_CODED: Final = r"(?<![\w+/=.-])[A-Za-z0-9+/]{28,4096}={0,2}(?![\w+/])"
_DECODE: Final = ("base64", "decod", "atob(")
_OBEY: Final = r"\b(?:follow|obey|execute|eval|exec|run)\b|\|\s*(?:ba|z)?sh\b"


def _encoded(text: str, lowered: str) -> Iterator[tuple[str, int]]:
    """Base64 between the words to decode it and the words to follow it."""
    for start, end in _windows(lowered, _DECODE):
        for run in re.finditer(_CODED, text[start:end]):
            if (
                run[0].islower()
                or run[0].isupper()
                or re.fullmatch("[0-9a-fA-F]+", run[0])
            ):
                continue  # a word, a hash
            at = start + run.start()
            near = lowered[max(0, at - _BEFORE) : start + run.end() + _BEFORE]
            if any(word in near for word in _DECODE) and re.search(_OBEY, near):
                yield "OM136", at
