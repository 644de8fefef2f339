"""What a generation would do, and about what it would cost.

Flow: looks at what is on disk; asks no model and writes nothing.
"""

from typing import Any, Final, NamedTuple

from openhands_memory.generation.files import (
    Rollout,
    current_ledger,
    find_rollouts,
)
from openhands_memory.generation.ledger import Ledger
from openhands_memory.generation.pending import Pending, find_pending, why_held
from openhands_memory.generation.selection import Selected, Selection
from openhands_memory.layout import GeneratedFiles

__all__ = ["Plan", "PlannedRollout", "plan"]

#: About this many bytes of a rollout are a token, and no more of them are sent.
_BYTES_PER_TOKEN: Final = 3
_MOST_TOKENS: Final = 200_000
#: Tokens of a prompt around a rollout, and of an answer.
_PROMPT_TOKENS: Final = 1_500
_ANSWER_TOKENS: Final = 1_000
#: Turns that a consolidation takes as a rule, each of which sends all before it again.
_TURNS: Final = 6


class PlannedRollout(NamedTuple):
    """A rollout that would be extracted: its *size* in bytes, about so many *tokens*."""

    rollout_id: str
    size: int
    tokens: int


class Plan(NamedTuple):
    """What would be done.

    Attributes: *waiting* are rollouts that failed too often to be tried again;
    *consolidates* says of what, empty if the index is in step, or if *held* says why it
    is not brought in step; *tokens_in* and *tokens_out* are estimates for all of it.
    """

    rollouts: tuple[PlannedRollout, ...]
    waiting: tuple[str, ...]
    consolidates: str
    tokens_in: int
    tokens_out: int
    held: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self.rollouts and not self.consolidates

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def cost(self, price: tuple[float, float] | None) -> float | None:
        """US dollars, for the *price* of a token in and a token out."""
        if price is None:
            return None if self.tokens else 0.0
        return self.tokens_in * price[0] + self.tokens_out * price[1]

    def as_dict(self) -> dict[str, Any]:
        return {
            "rollouts": [rollout._asdict() for rollout in self.rollouts],
            "waiting": list(self.waiting),
            "consolidates": self.consolidates or None,
            "held": self.held,
            "estimated_tokens": self.tokens,
        }


def plan(files: GeneratedFiles, *, retry: bool = False, most: int) -> Plan:
    """What a generation in *files* would do now.

    Raises:
        MemoryFileError: A file or directory could not be read.
    """
    ledger = current_ledger(files)
    if retry:
        ledger = ledger.retried()
    found = find_rollouts(files)
    todo = [r for r in found if ledger.is_pending(r.rollout_id, r.size)]
    rollouts = tuple(
        PlannedRollout(r.rollout_id, r.size, _tokens_of(r.size)) for r in todo
    )
    pending = find_pending(files, ledger, most=most)
    held = None
    if pending.selection.differs and not rollouts:
        held = why_held(files, ledger, pending)
    differs = pending.selection.differs and not held
    asks = bool(rollouts) or (differs and bool(_fresh(pending)))
    turns = _TURNS if asks else 0
    turn = _turn_tokens(pending) + _ANSWER_TOKENS * len(rollouts)
    return Plan(
        rollouts,
        tuple(r.rollout_id for r in found if r not in todo and _failed(ledger, r)),
        _told(pending.selection, len(rollouts)) if differs or rollouts else "",
        sum(rollout.tokens for rollout in rollouts) + turns * turn,
        _ANSWER_TOKENS * (len(rollouts) + turns),
        held,
    )


def _failed(ledger: Ledger, rollout: Rollout) -> bool:
    return ledger.rollouts[rollout.rollout_id].state == "failed"


def _fresh(pending: Pending) -> tuple[Selected, ...]:
    return (*pending.selection.added, *pending.selection.changed)


def _turn_tokens(pending: Pending) -> int:
    """What a turn of a consolidation sends, about."""
    shown = sum(len(data or b"") for data in pending.before.values())
    shown += sum(len(pending.raws[s.rollout_id].body) for s in _fresh(pending))
    return _PROMPT_TOKENS + shown // _BYTES_PER_TOKEN


def _tokens_of(size: int) -> int:
    return _PROMPT_TOKENS + min(_MOST_TOKENS, size // _BYTES_PER_TOKEN)


def _told(selection: Selection, rollouts: int) -> str:
    told = selection.told
    told += [f"up to {rollouts} to be extracted"] if rollouts else []
    return f"raw memories: {', '.join(told)}"
