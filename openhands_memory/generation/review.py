"""A result that waits for a person: applied as it was shown, or rejected.

Flow: a proposal is put in place only if it is the one that was shown, and if every file
still has the bytes it was made from.
"""

from datetime import datetime

from openhands_memory.errors import MemoryToolError
from openhands_memory.generation.files import read_or_none, replace_text
from openhands_memory.generation.placing import settle
from openhands_memory.generation.selection import (
    parse_consolidated,
    render_consolidated,
)
from openhands_memory.generation.state import (
    Proposal,
    alone_in,
    drop_proposal,
    load_proposal,
)
from openhands_memory.layout import SELECTION_NAME, GeneratedFiles

__all__ = ["ReplacedError", "apply_proposal", "reject_proposal"]


class ReplacedError(MemoryToolError):
    """The proposal that was shown is not the one that waits any more."""

    def __str__(self) -> str:
        return (
            "what was shown does not wait any more: it was applied, rejected or replaced "
            "meanwhile"
        )


def apply_proposal(files: GeneratedFiles, proposal: Proposal, *, now: datetime) -> None:
    """Put exactly the bytes of *proposal* in place.

    Raises:
        BusyError: Memory is being generated. In this and all other cases nothing is
            written.
        ReplacedError: It does not wait any more.
        ChangedMeanwhileError: A file is not what it was.
        MemoryFileError: A file could not be written.
    """
    with alone_in(files.directory):
        _check(files, proposal)
        settle(files, proposal, now=now, reason=f"{proposal.reason}, reviewed")


def reject_proposal(files: GeneratedFiles, proposal: Proposal) -> None:
    """Drop *proposal*; what it was made of is not proposed again until it changes.

    Raises:
        BusyError: Memory is being generated.
        ReplacedError: It does not wait any more.
        MemoryFileError: That could not be written down.
    """
    with alone_in(files.directory):
        _check(files, proposal)
        replace_text(files.place(SELECTION_NAME), _rejected(files, proposal))
        drop_proposal(files.directory)


def _rejected(files: GeneratedFiles, proposal: Proposal) -> str:
    """The selection of *proposal*, which says what is not there and not to be."""
    done = parse_consolidated(proposal.selection)
    absent = (n for n in files.written if read_or_none(files.place(n)) is None)
    time = datetime.fromisoformat(proposal.time)
    return render_consolidated(done._replace(absent=tuple(absent)), now=time)


def _check(files: GeneratedFiles, proposal: Proposal) -> None:
    if load_proposal(files.directory) != proposal:
        raise ReplacedError
