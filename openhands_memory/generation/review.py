"""A result that waits for a person: applied as it was shown, or rejected.

Flow: a proposal is put in place only if every file still has the bytes it was made from.
"""

from datetime import datetime

from openhands_memory.generation.files import replace_text
from openhands_memory.generation.placing import put_in_place
from openhands_memory.generation.state import Proposal, drop_proposal
from openhands_memory.layout import SELECTION_NAME, GeneratedFiles

__all__ = ["apply_proposal", "reject_proposal"]


def apply_proposal(files: GeneratedFiles, proposal: Proposal, *, now: datetime) -> None:
    """Put exactly the bytes of *proposal* in place.

    Raises:
        ChangedMeanwhileError: A file is not what it was; nothing is written.
        MemoryFileError: A file could not be written; nothing is.
    """
    put_in_place(files, proposal.files, now=now, reason="reviewed by a person")
    _settle(files, proposal)


def reject_proposal(files: GeneratedFiles, proposal: Proposal) -> None:
    """Drop *proposal*; what it was made of is not proposed again until it changes.

    Raises:
        MemoryFileError: That could not be written down.
    """
    _settle(files, proposal)


def _settle(files: GeneratedFiles, proposal: Proposal) -> None:
    replace_text(files.place(SELECTION_NAME), proposal.selection)
    drop_proposal(files.directory)
