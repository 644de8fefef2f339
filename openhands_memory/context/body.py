"""The lines of one tier, made safe to stand in the prompt.

Pure. Only as many as the budget may need are looked at, since that takes most of the
time; lines above them are kept where code blocks begin in them.
"""

from typing import Final

from openhands_memory.context.excerpt import Excerpt
from openhands_memory.context.render import Body
from openhands_memory.context.tail import fitting_lines, keep_tail
from openhands_memory.fences import fenced_blocks, has_fences
from openhands_memory.sanitize import neutralise, show_hidden

__all__ = ["safe_body"]

#: A line or code block this part of the budget long fits any share there may be.
_SURE_PART: Final = 4


def safe_body(heading: str, excerpt: Excerpt, char_budget: int) -> tuple[Body, bool]:
    """The end of *excerpt* below its *heading*, and whether there is enough of it.

    There is, unless lines that stand above all that was read could fill more of the
    budget than is filled now.
    """
    text = excerpt.text
    # Somewhat more than fits, so that lines which are made longer here do not show.
    wanted = char_budget + char_budget // 8
    start = text.rfind("\n", 0, max(0, len(text) - wanted)) + 1
    if start:
        body = _body_from(heading, excerpt, start)
        if _is_plenty(body, char_budget):
            return body, True
    body = _body_from(heading, excerpt, 0)
    return body, excerpt.whole or not _is_thin(body, char_budget)


def _body_from(heading: str, excerpt: Excerpt, start: int) -> Body:
    """The lines of *excerpt* from *start* on, made safe."""
    text, complete = excerpt.text, excerpt.complete and not start
    if not text:
        return Body(heading, complete=complete)
    safe = show_hidden(neutralise(text[start:])).split("\n")
    if not has_fences(text):
        return Body(heading, safe, complete=complete)
    # Lines that are not needed stay for the sake of code blocks that begin in them.
    above = text[: start - 1].split("\n") if start else []
    lines = [*above, *safe]
    blocks = fenced_blocks(lines, whole=excerpt.whole)
    blocks = [block for block in blocks if block[1] >= len(above)]
    return Body(heading, lines, len(above), blocks, complete)


def _is_plenty(body: Body, char_budget: int) -> bool:
    """Whether lines that are sure to fit fill the budget: then none above will."""
    room = char_budget // _SURE_PART
    if not body.blocks and max(map(len, body.lines)) < room:
        return True  # by far the most files; there is more than the budget of it
    sure = fitting_lines(body.lines, room, first=body.first, blocks=body.blocks)
    return sum(len(body.lines[i]) + 1 for i in sure) > char_budget


def _is_thin(body: Body, char_budget: int) -> bool:
    """Whether a share of half the budget would be half empty."""
    kept = keep_tail(body.lines, char_budget // 2, first=body.first, blocks=body.blocks)
    return sum(len(body.lines[i]) + 1 for i in kept) < char_budget // 4
