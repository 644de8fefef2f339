"""What a person should know about a file that was read, without any text of it.

Pure. Each is one sentence that names lines where it can and says what to do.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from openhands_memory.context.decode import Decoded

__all__ = ["BINARY", "OVER_BUDGET", "encoding_of", "over_budget", "remarks_on_file"]

BINARY: Final = "is no UTF-8 text: it is full of NUL bytes (UTF-16 needs a mark)"
#: What every warning about lines that do not fit begins with; its numbers may change
#: when memory is read again.
OVER_BUDGET: Final = "over budget"

#: Lines, or ranges of lines, that a warning names.
_NAMED_LINES: Final = 5


def encoding_of(decoded: Decoded) -> str:
    """How a file was decoded, and which bytes were not."""
    bad = decoded.bad_lines
    if not bad:
        return decoded.encoding
    total, whole = decoded.lines, decoded.whole
    lines = [line + 1 if whole else total - line for line in sorted(set(bad))]
    bytes_ = "1 invalid byte" if len(bad) == 1 else f"{len(bad)} invalid bytes"
    named = _named([(line, line) for line in lines])
    counted = "" if whole else " from the end"
    return f"{decoded.encoding} ({bytes_}, {named}{counted})"


def remarks_on_file(decoded: Decoded, *, links: int) -> Iterator[str]:
    """Warnings about a file's text, and about its *links*."""
    if decoded.bad_lines:
        yield f"{encoding_of(decoded)}: shown as U+FFFD; save it as UTF-8"
    text = decoded.text
    # One character first: it is found many times as fast as eight.
    if ">" in text and "\n>>>>>>> " in text and "<<<<<<< " in text:
        yield "has merge-conflict markers: both sides are loaded; resolve it"
    if links > 1:
        yield (
            "has a hard link: another name writes to this file too; copy it if that "
            "is not meant"
        )


def over_budget(
    dropped: Sequence[tuple[int, int]] | None, *, kept: int, size: int
) -> str:
    """Which lines were *dropped*; if that is unknown, how many of the end are *kept*."""
    if not dropped:
        lines = "1 line" if kept == 1 else f"{kept} lines"
        return f"{OVER_BUDGET}: only {lines} at the end of {size:,} bytes are loaded"
    one = len(dropped) == 1 and dropped[0][0] == dropped[0][1]
    return f"{OVER_BUDGET}: {_named(dropped)} {'is' if one else 'are'} not loaded"


def _named(ranges: Sequence[tuple[int, int]]) -> str:
    word = "line" if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else "lines"
    named = ", ".join(
        str(first) if first == last else f"{first}-{last}"
        for first, last in ranges[:_NAMED_LINES]
    )
    return f"{word} {named}{', ...' if len(ranges) > _NAMED_LINES else ''}"
