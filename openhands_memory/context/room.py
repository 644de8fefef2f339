"""How long an index may be so that all of it is shown, whatever the other tier holds.

Flow: asks where the tiers are.
"""

from openhands_memory.context.locate import locate_tiers
from openhands_memory.context.surroundings import surroundings_of
from openhands_memory.options import ReadOptions

__all__ = ["room_for_index"]


def room_for_index(workspace: str, options: ReadOptions) -> int:
    """Characters of the project's index that the prompt has room for in any case.

    What is left of the budget without headings and blank lines, shared equally: see
    `render_text`.
    """
    headings = [
        place.heading for place in locate_tiers(surroundings_of(workspace), options)
    ]
    taken = sum(len(heading) + 1 for heading in headings) + 2 * (len(headings) - 1)
    return max(0, options.char_budget - taken) // len(headings)
