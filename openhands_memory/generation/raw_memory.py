"""What extraction keeps of one rollout: a header, and Markdown below it.

Pure. Header keys stand in the header only; a body that imitates one is a body. A file's
name says whose it is, and the header must agree: nothing read from a file becomes a path.
"""

import re
from typing import Final, NamedTuple

__all__ = ["Header", "Kept", "parse_memory", "render_memory", "summary_name"]

_UNKNOWN: Final = "unknown"


class Header(NamedTuple):
    """The five lines above a raw memory or a rollout summary (OpenAI Agents SDK 0.22).

    Attributes: *updated_at* and *terminal_state* are those of the rollout's last
    segment; *rollout_path* is relative to the workspace, *rollout_summary_file* to the
    memory directory.
    """

    rollout_id: str
    updated_at: str
    rollout_path: str
    rollout_summary_file: str
    terminal_state: str


class Kept(NamedTuple):
    """A parsed file: its *header* and its *body*."""

    header: Header
    body: str


_LINES: Final = re.compile(
    "".join(rf"{name}: (?P<{name}>[^\n]*)\n" for name in Header._fields)
)


def render_memory(header: Header, body: str) -> str:
    """The text of a raw memory or rollout summary; *body* stands below a blank line."""
    values = (" ".join(value.split()) or _UNKNOWN for value in header)
    lines = [f"{n}: {v}" for n, v in zip(Header._fields, values, strict=True)]
    return "\n".join((*lines, "", body.strip("\n").rstrip(), ""))


def parse_memory(text: str) -> Kept | None:
    """The header and body of *text*; None if it begins with no such header."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = _LINES.match(text)
    if not found:
        return None
    header = Header(
        **{name: value.strip() for name, value in found.groupdict().items()}
    )
    if not all((header.rollout_id, header.rollout_summary_file)):
        return None
    return Kept(header, text[found.end() :].strip("\n").rstrip())


def summary_name(rollout_id: str, slug: str) -> str:
    """The name of a rollout summary, below ``rollout_summaries/``."""
    return f"{rollout_id}_{slug}.md"
