"""From each tier's lines to the one text that stands in the prompt.

Headings, notices and blank lines count; the whole text keeps within its budget as long
as headings and notices alone do.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from openhands_memory.context.budget import share_budget
from openhands_memory.context.tail import fitting_lines, keep_tail
from openhands_memory.fences import FencedBlock
from openhands_memory.sanitize import (
    TRUNCATION_NOTICE,
    neutralise,
    show_hidden,
    show_line,
)

__all__ = ["Body", "Rendered", "harden_text", "render_block", "render_text"]


class Body(NamedTuple):
    """One tier's text on its way into the prompt, safe to show.

    Attributes: *heading* stands above it, or alone if there is no more; lines above
    *first* are only context, *blocks* are fenced code (see `keep_tail`); *complete* says
    that *lines* are all there is.
    """

    heading: str
    lines: Sequence[str] = ()
    first: int = 0
    blocks: Sequence[FencedBlock] = ()
    complete: bool = True

    @property
    def chars(self) -> int:
        return sum(map(len, self.lines)) + max(0, len(self.lines) - 1)

    @property
    def has_text(self) -> bool:
        """Whether anything stands below the heading, be it only the notice."""
        return bool(self.lines) or not self.complete


class Rendered(NamedTuple):
    """A tier's part of the text: which of the body's *lines* were *kept*."""

    kept: Sequence[int]
    lines: int
    text: str

    @property
    def truncated(self) -> bool:
        return self.text.startswith(TRUNCATION_NOTICE)


def render_text(bodies: Sequence[Body], char_budget: int) -> tuple[str, list[Rendered]]:
    """The memory text and each body's part of it, in *char_budget* characters."""
    headings = sum(len(body.heading) + body.has_text for body in bodies)
    room = char_budget - headings - 2 * max(0, len(bodies) - 1)
    wanted = [body.chars if body.complete else max(room, 0) + 1 for body in bodies]
    shares = share_budget(wanted, room)
    fits = [_fit(body, share, room) for body, share in zip(bodies, shares, strict=True)]
    parts = [_render(fit, share) for fit, share in zip(fits, shares, strict=True)]
    # Whole lines leave a rest: the last tier gets it first, it has more attention. What
    # was dropped by itself stays so: it would take more with it than it brings.
    for index in reversed(range(len(bodies))):
        rest = room - sum(len(part.text) for part in parts)
        share = len(parts[index].text) + rest
        if parts[index].truncated and share > shares[index]:
            parts[index] = _render(fits[index], share)
    blocks = (
        f"{body.heading}\n{part.text}" if part.text else body.heading
        for body, part in zip(bodies, parts, strict=True)
    )
    return "\n\n".join(blocks), parts


class _Fit(NamedTuple):
    """A body, its *lines* as they are shown, and which of them can be."""

    body: Body
    lines: Sequence[str]
    fitting: list[int]


#: Times that lines which moved together are made safe, before only the last lines that
#: stood together already are kept.
_SAFE_ROUNDS: Final = 8


def _fit(body: Body, share: int, room: int) -> _Fit:
    """The lines of *body* that fit *share* by themselves, safe beside each other.

    At least as many as fit *room*, which no share exceeds. A line that is dropped by
    itself brings its neighbours together, and with them what may be two halves of a tag;
    to escape it takes characters, which may not fit in turn.
    """
    lines = body.lines
    if body.complete and body.chars <= share:
        return _Fit(body, lines, [])
    fitting: list[int] = []
    for _ in range(_SAFE_ROUNDS):
        fitting = fitting_lines(lines, share, first=body.first, blocks=body.blocks)
        while fitting and not lines[fitting[-1]].strip():
            del fitting[-1]  # blank, and only the last since others are dropped
        if fitting and not _stand_together(fitting):
            fitting = keep_tail(lines, room, blocks=body.blocks, fitting=fitting)
        if not fitting or _stand_together(fitting):
            return _Fit(body, lines, fitting)
        joined = "\n".join(map(lines.__getitem__, fitting))
        safe = neutralise(joined)
        if safe == joined:
            return _Fit(body, lines, fitting)
        lines = list(lines)
        for index, line in zip(fitting, safe.split("\n"), strict=True):
            lines[index] = line
    start = len(fitting) - 1
    while start and fitting[start - 1] == fitting[start] - 1:
        start -= 1
    return _Fit(body, lines, fitting[start:])


def _stand_together(indexes: Sequence[int]) -> bool:
    return indexes[-1] - indexes[0] == len(indexes) - 1


def _render(fit: _Fit, share: int) -> Rendered:
    body, lines, fitting = fit
    if body.complete and body.chars <= share:
        every = range(len(body.lines))
        return Rendered(every, len(body.lines), "\n".join(body.lines))
    kept = keep_tail(lines, share, blocks=body.blocks, fitting=fitting)
    text = "\n".join([TRUNCATION_NOTICE, *map(lines.__getitem__, kept)])
    return Rendered(kept, len(lines), text)


def render_block(text: str) -> str:
    """The ``<MEMORY_CONTEXT>`` block that the SDK makes of *text*, byte for byte.

    Its format is the SDK's (1.37.0 to 1.58.2, context/prompts/sections/dynamic.py), kept
    here so that the command line shows it without importing the SDK; a test compares.
    """
    from openhands_memory.prompts import fill  # late: loading fills no prompt

    return fill("memory_block", memory=text)


_USER_START: Final = "# User memory ("
_PROJECT_START: Final = "# Project memory ("


def harden_text(text: str) -> str:
    """Make a text safe that the SDK's own loader put together.

    Its headings and a notice right below one are the loader's; every other line that
    imitates them is escaped, as are reserved tags. The user heading can only be the
    first line. Of several project headings nobody can tell which is the loader's, and
    the first counts: so the user's own file can pass for the project's, which is trusted
    less, but nothing in the project's file can pass for the user's.
    """
    given = text.split("\n")
    safe = show_hidden(neutralise(text)).split("\n")
    in_project = below_heading = False
    for number, line in enumerate(given):
        is_user = number == 0 and line.startswith(_USER_START)
        is_project = (
            not in_project
            and line.startswith(_PROJECT_START)
            and (number == 0 or not given[number - 1])
        )
        if is_user or is_project:
            safe[number] = show_line(line)
        elif below_heading and line == TRUNCATION_NOTICE:
            safe[number] = line
        in_project = in_project or is_project
        below_heading = is_user or is_project
    return "\n".join(safe)
