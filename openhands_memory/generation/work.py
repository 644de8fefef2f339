"""One generation: what it works with, and what it has done so far.

Pure: types only.
"""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from openhands_memory.generation.meter import Meter
from openhands_memory.generation.models import Cap, Models
from openhands_memory.generation.report import (
    ConsolidationState,
    Damage,
    Failure,
    Generation,
)
from openhands_memory.layout import GeneratedFiles

__all__ = ["Progress", "Tally", "Work", "no_progress"]


#: Told how many of how many steps are done, and what is done next.
Progress = Callable[[int, int, str], None]


def no_progress(done: int, steps: int, what: str) -> None:
    """Tell nobody."""


class Work(NamedTuple):
    """What one generation works with.

    Attributes: *mask* hides secrets in a text; *now* tells the time; *room* are the
    characters of the index that are sure to be shown; *most* is the number of raw
    memories that are considered. The rollout *own* comes first; those that are *foreign*
    are left to a person, and raw memories that are *untrusted* to nobody.
    """

    files: GeneratedFiles
    models: Models
    meter: Meter
    mask: Callable[[str], str]
    now: Callable[[], datetime]
    room: int
    most: int
    extra_prompt: str | None = None
    review: bool = False
    own: str | None = None
    foreign: frozenset[str] = frozenset()
    untrusted: frozenset[str] = frozenset()
    progress: Progress = no_progress


class Tally:
    """Counts what was done while it is done, so that they hold wherever it stops."""

    def __init__(self) -> None:
        self.damaged_lines = 0
        self.damaged: list[Damage] = []
        self.extracted = 0
        self.empty = 0
        self.failed: list[Failure] = []
        self.consolidated: ConsolidationState = "none"
        self.reason: str | None = None
        self.capped_by: Cap | None = None
        self.pending = 0

    def report(self, meter: Meter, *, recorded: int = 0) -> Generation:
        """The counts as they are now."""
        return Generation(
            recorded=recorded,
            damaged_lines=self.damaged_lines,
            extracted=self.extracted,
            empty=self.empty,
            failed=tuple(self.failed),
            consolidated=self.consolidated,
            reason=self.reason,
            llm_calls=meter.calls,
            tokens=meter.tokens,
            cost=meter.cost,
            seconds=round(meter.seconds, 3),
            capped_by=self.capped_by,
            pending=self.pending,
            damaged=tuple(self.damaged),
        )
