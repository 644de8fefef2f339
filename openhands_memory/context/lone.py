"""What the reader would drop of one index that is judged by itself.

Pure. A file in an editor or in a pre-commit hook has no other tier beside it that
depends on the machine: it gets the whole budget.
"""

from openhands_memory.context.render import Body, render_text
from openhands_memory.context.report import line_gaps
from openhands_memory.fences import fenced_blocks
from openhands_memory.layout import project_place
from openhands_memory.sanitize import neutralise, show_hidden

__all__ = ["dropped_alone"]


def dropped_alone(text: str, char_budget: int) -> tuple[tuple[int, int], ...]:
    """Lines of *text* that do not fit, as (first, last) ranges counted from 1.

    *text* has ``\\n`` line ends.
    """
    above = text[: len(text) - len(text.lstrip())].count("\n")
    lines = show_hidden(neutralise(text.strip())).split("\n")
    heading = project_place("").heading
    body = Body(heading, lines, blocks=fenced_blocks(lines))
    kept = render_text([body], char_budget)[1][0].kept
    if len(kept) == len(lines):
        return ()
    return line_gaps((above + index + 1 for index in kept), above + len(lines))
