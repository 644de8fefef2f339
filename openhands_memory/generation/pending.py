"""What differs from the last consolidation, and whether it is to be consolidated now.

Flow: looks at what is on disk, and writes nothing.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from openhands_memory.generation.files import (
    digest,
    load_consolidated,
    load_edited,
    read_raw_memories,
)
from openhands_memory.generation.ledger import Ledger
from openhands_memory.generation.placing import still_fits
from openhands_memory.generation.raw_memory import Kept
from openhands_memory.generation.selection import (
    Consolidated,
    Selected,
    Selection,
    select,
)
from openhands_memory.generation.state import (
    load_proposal,
)
from openhands_memory.layout import (
    RAW_MEMORIES,
    GeneratedFiles,
)

__all__ = ["Pending", "find_pending", "why_held"]

_WAITS = "a proposal waits for {review}"
_DAMAGED = (
    "{path} cannot be read as a raw memory, and its rollout is gone. Restore it; or "
    "remove it, and what it alone supports goes too"
)
_GAVE_UP = (
    "the same raw memories were refused {attempts} times; {retry} tries again. The last "
    "time {reason}"
)


class Pending(NamedTuple):
    """What a consolidation starts from.

    Attributes: *raws* are all raw memories by rollout id; *before* are the files that
    may change, by path; *key* names the selection; *damaged* are removed raw memories
    that are there, and cannot be understood any more; *elsewhere* are selected ones that
    were never here: they came with a clone, and so did what they support.
    """

    last: Consolidated
    selection: Selection
    raws: Mapping[str, Kept]
    before: Mapping[str, bytes | None]
    key: str
    damaged: tuple[str, ...] = ()
    elsewhere: tuple[Selected, ...] = ()


def find_pending(
    files: GeneratedFiles,
    ledger: Ledger,
    *,
    most: int,
    untrusted: frozenset[str] = frozenset(),
) -> Pending:
    """What differs from the last consolidation.

    Of rollouts that are *untrusted* nothing enters that is not in the index already.
    Where an index is missing, and a person wants one, all raw memories are new to it.

    Raises:
        MemoryFileError: A file could not be read.
    """
    last = load_consolidated(files)
    raws, lost = read_raw_memories(files)
    before = load_edited(files)
    since = last
    if any(before[n] is None for n in files.written if n not in last.absent):
        since = last._replace(selected=(), written=None)
    selected = {s.rollout_id for s in last.selected}
    raws = {i: k for i, k in raws.items() if i not in untrusted or i in selected}
    headers = {i: kept.header for i, kept in raws.items()}
    digests = {i: digest(kept) for i, kept in raws.items()}
    here = raws.keys() | lost | ledger.rollouts.keys()
    elsewhere = tuple(s for s in since.selected if s.rollout_id not in here)
    ours = tuple(s for s in since.selected if s.rollout_id in here)
    selection = select(headers, digests, cap=most, last=since._replace(selected=ours))
    damaged = tuple(s.rollout_id for s in selection.removed if s.rollout_id in lost)
    return Pending(since, selection, raws, before, _key(selection), damaged, elsewhere)


def _key(selection: Selection) -> str:
    parts = [f"{s.rollout_id} {s.digest}" for s in selection.selected]
    parts += [f"-{s.rollout_id}" for s in selection.removed]
    return sha256("\n".join(parts).encode()).hexdigest()


def why_held(files: GeneratedFiles, ledger: Ledger, pending: Pending) -> str | None:
    """Why *pending* is not consolidated now, though it differs; None if it is.

    Raises:
        MemoryFileError: A file that waits for review could not be read.
    """
    if pending.damaged:
        path = files.place(RAW_MEMORIES, f"{pending.damaged[0]}.md").path
        return _DAMAGED.format(path=path)
    waiting = load_proposal(files.directory)
    if waiting and waiting.key == pending.key and still_fits(files, waiting):
        return _WAITS.format(review=files.command("review"))
    if ledger.waits(pending.key):
        last = ledger.consolidation
        retry = files.command("generate --retry")
        return _GAVE_UP.format(attempts=last.attempts, retry=retry, reason=last.reason)
    return None
