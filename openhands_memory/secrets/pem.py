"""Finds private keys in armour, whole or cut off, also on one line with `\\n`."""

import re
from collections.abc import Iterator
from typing import Final, cast

from openhands_memory.secrets.rules import hits
from openhands_memory.secrets.spans import Span

_PEM_HEAD: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40})PRIVATE KEY( BLOCK)?-----")
_PEM_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,60}-----")
_PEM_GAP: Final = re.compile(r"(?:[\s>|#*\"',-]|\\[nrt\"\\]){0,60}")
_PEM_LINE: Final = re.compile(r"[A-Za-z0-9+/=]{16,20000}")
_PEM_BODY: Final = re.compile(r"(?:\n|\\[nr]|\r).{0,20}?[A-Za-z0-9]|[A-Za-z0-9+/=]{16}")
_PUTTY: Final = re.compile(r"Private-Lines: ?[0-9]{1,4}(?:\r?\n|\\[nr]){1,2}")
MAX_PEM_CHARS: Final = 65_536


def private_keys(text: str) -> Iterator[Span]:
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
            yield Span(at, after, "private-key")
    for at in hits(("Private-Lines:",), text):
        if head := _PUTTY.match(text, at):
            yield Span(head.end(), _body_end(text, head.end()), "private-key")


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
