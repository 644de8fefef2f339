"""What generation did, in numbers that are true.

Pure.
"""

from typing import Any, Literal, NamedTuple

from openhands_memory.generation.models import Cap

__all__ = [
    "NOTHING_GENERATED",
    "ConsolidationState",
    "Damage",
    "Failure",
    "Generation",
]

ConsolidationState = Literal["accepted", "refused", "proposed", "skipped", "none"]


class Failure(NamedTuple):
    """A rollout that was not extracted: at which *stage*, and why."""

    rollout_id: str
    stage: str
    reason: str


class Damage(NamedTuple):
    """Lines of a rollout that were no records: the numbers of the first of them."""

    rollout_id: str
    lines: tuple[int, ...]


class Generation(NamedTuple):
    """The outcome of recording and generating.

    Attributes:
        recorded: Segments that were appended to rollouts.
        damaged_lines: Lines of the rollouts read that were no records.
        damaged: Which lines of which rollouts those are.
        extracted: Rollouts whose raw memory and summary were written.
        empty: Rollouts in which nothing was worth keeping.
        failed: Rollouts that were not extracted, and why.
        consolidated: What became of the index.
        reason: Why it was refused or skipped, or what a person should know.
        llm_calls, tokens: What the models were asked, and what it took.
        cost: US dollars; None where a model's price is not known.
        seconds: Seconds that it took.
        capped_by: The cap that stopped the work, if one did.
        pending: Rollouts that are left for the next time.
    """

    recorded: int = 0
    damaged_lines: int = 0
    extracted: int = 0
    empty: int = 0
    failed: tuple[Failure, ...] = ()
    consolidated: ConsolidationState = "none"
    reason: str | None = None
    llm_calls: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    capped_by: Cap | None = None
    pending: int = 0
    damaged: tuple[Damage, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON has it; the names are stable."""
        return {
            **self._asdict(),
            "failed": [failure._asdict() for failure in self.failed],
            "damaged": [d._asdict() for d in self.damaged],
        }


NOTHING_GENERATED = Generation()
