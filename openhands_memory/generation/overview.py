"""How generation stands, as far as the disk tells.

Flow. Deliberately not done: nothing that asks models is imported here, so that a person
who asks has the answer at once.
"""

from openhands_memory import store
from openhands_memory.generation.files import (
    current_ledger,
    digest,
    find_rollouts,
    load_consolidated,
    load_raw_memories,
)
from openhands_memory.generation.ledger import ATTEMPTS, Ledger
from openhands_memory.generation.standing import FailedRollout, Standing, Waiting
from openhands_memory.generation.state import load_proposal
from openhands_memory.layout import GeneratedFiles

__all__ = ["standing_of"]


def standing_of(files: GeneratedFiles) -> Standing:
    """How generation stands in *files*.

    Raises:
        MemoryFileError: Rollouts or raw memories could not be read.
    """
    ledger = current_ledger(files)
    rollouts = find_rollouts(files)
    sizes = {rollout.rollout_id: rollout.size for rollout in rollouts}
    failed = tuple(_failed(ledger, sizes))
    raws = load_raw_memories(files)
    last = load_consolidated(files)
    selected = last.selected if _has_indexes(files) else ()
    known = {one.rollout_id: one.digest for one in selected}
    proposal = load_proposal(files.directory)
    return Standing(
        rollouts=len(rollouts),
        pending=sum(ledger.is_pending(i, size) for i, size in sizes.items()),
        raw_memories=len(raws),
        consolidated=sum(known.get(i) == digest(kept) for i, kept in raws.items()),
        failed=failed,
        last_error=_last_error(ledger, failed),
        gave_up=ledger.consolidation.attempts >= ATTEMPTS,
        review=proposal
        and Waiting(proposal.time, proposal.reason, tuple(proposal.files)),
    )


def _failed(ledger: Ledger, sizes: dict[str, int]) -> list[FailedRollout]:
    return [
        FailedRollout(i, o.attempts, o.reason, not ledger.is_pending(i, o.size))
        for i, o in ledger.rollouts.items()
        if o.state == "failed" and sizes.get(i) == o.size
    ]


def _last_error(ledger: Ledger, failed: tuple[FailedRollout, ...]) -> str | None:
    last = ledger.consolidation
    if last.key:
        return last.reason
    return failed[-1].reason if failed else None


def _has_indexes(files: GeneratedFiles) -> bool:
    """A selection without an index is of no use: all is consolidated again, or none."""
    return all(store.exists(files.place(name).path) for name in files.written)
