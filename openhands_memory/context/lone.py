"""What the reader would drop of one index that is judged by itself.

Pure. A file in an editor or in a pre-commit hook has no other tier beside it that
depends on the machine: it gets the whole budget.
"""

from openhands_memory.context.body import safe_body
from openhands_memory.context.decode import Decoded
from openhands_memory.context.excerpt import take_excerpt
from openhands_memory.context.render import render_text
from openhands_memory.layout import project_place

__all__ = ["dropped_alone"]


def dropped_alone(text: str, char_budget: int) -> tuple[tuple[int, int], ...]:
    """Lines of *text* that do not fit, as (first, last) ranges counted from 1.

    *text* has ``\\n`` line ends.
    """
    decoded = Decoded(text, "utf-8")
    excerpt = take_excerpt(decoded)
    body, _ = safe_body(project_place("").heading, excerpt, char_budget)
    part = render_text([body], char_budget)[1][0]
    if not part.truncated:
        return ()
    return excerpt.gaps(excerpt.distances(part.kept, part.lines), decoded.lines)
