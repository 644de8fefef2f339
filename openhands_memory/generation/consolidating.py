"""Raw memories become the index: selected, staged, edited, judged, put in place.

Flow: asks the second model, and writes only what `judge` accepts. The selection is
recorded last, so that nothing is skipped after a failure.
"""

from collections.abc import Callable, Mapping
from datetime import UTC
from hashlib import sha256
from typing import NamedTuple

from openhands_memory.errors import MemoryFileError
from openhands_memory.generation.consolidation import (
    Verdict,
    consolidation_system,
    consolidation_task,
    judge,
    show_file,
)
from openhands_memory.generation.files import (
    digest,
    load_consolidated,
    load_raw_memories,
    load_skills,
    load_summaries,
    read_or_none,
    replace_text,
)
from openhands_memory.generation.ledger import Ledger
from openhands_memory.generation.models import CapReachedError, ModelCallError
from openhands_memory.generation.placing import put_in_place
from openhands_memory.generation.raw_memory import Kept
from openhands_memory.generation.selection import (
    Consolidated,
    Selection,
    render_consolidated,
    render_merged,
    select,
)
from openhands_memory.generation.stage import Stage
from openhands_memory.generation.state import (
    Proposal,
    drop_proposal,
    keep_proposal,
    keep_refused,
    load_proposal,
    save_ledger,
)
from openhands_memory.generation.work import Tally, Work
from openhands_memory.layout import MERGED_NAME, SELECTION_NAME
from openhands_memory.writing import Written

__all__ = ["consolidate"]
