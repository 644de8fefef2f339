"""Words for people that several commands use."""

import re
from collections.abc import Iterator

__all__ = ["count", "hanging"]


def count(number: int, word: str) -> str:
    """``1 fact``, ``2 facts``."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def hanging(label: str, text: str, *, width: int = 80) -> Iterator[str]:
    """*text* behind *label*, in lines of *width* that stand below each other.

    No path is taken apart, and no command of ours.
    """
    from textwrap import wrap  # late: few texts are that long

    room = width - len(label)
    whole = re.sub(r"'openhands-memory [^']*'", lambda m: m[0].replace(" ", "\0"), text)
    lines = wrap(whole, room, break_long_words=False, break_on_hyphens=False)
    for line in lines or [""]:
        yield f"{label}{line}".rstrip().replace("\0", " ")
        label = " " * len(label)
