"""Record, extract, select, consolidate, in that order.

Flow. What goes wrong is counted and told, never raised: a conversation that ends has
nobody left to catch it.
"""

from openhands_memory import writing
from openhands_memory.errors import MemoryToolError
from openhands_memory.generation.consolidating import consolidate
from openhands_memory.generation.extracting import extract_pending, pending_rollouts
from openhands_memory.generation.files import current_ledger
from openhands_memory.generation.models import CapReachedError
from openhands_memory.generation.placing import finish_begun
from openhands_memory.generation.report import Generation
from openhands_memory.generation.rollout import Segment, render_segment
from openhands_memory.generation.state import load_ledger, locked
from openhands_memory.generation.work import Tally, Work
from openhands_memory.layout import GeneratedFiles

__all__ = ["count_pending", "generate", "record"]

_LOCKED = "another process generates memory here"


def record(files: GeneratedFiles, segment: Segment) -> None:
    """Append *segment* to its rollout; it is on disk when this returns.

    Raises:
        MemoryFileError: It could not be written.
    """
    place = files.rollout(segment.rollout_id)
    writing.append_private_record(place, render_segment(segment))


def generate(
    work: Work, *, tally: Tally | None = None, retry: bool = False
) -> Generation:
    """Extract what is pending and consolidate it, within the caps of *work*.

    Counts in *tally* while it works. With *retry*, what failed too often is tried
    anew. Waits for another process that generates in the same directory.
    """
    tally = tally or Tally()
    directory = work.files.directory
    work.progress(0, 1, "waiting until nobody else generates here")
    try:
        with locked(directory, seconds=work.meter.seconds_left) as alone:
            if alone:
                _generate(work, tally, retry=retry)
            else:
                tally.consolidated, tally.reason = "skipped", _LOCKED
    except CapReachedError as error:
        tally.capped_by = error.cap
        tally.reason = tally.reason or str(error)
        if tally.consolidated == "none":
            tally.consolidated = "skipped"
    except MemoryToolError as error:
        tally.consolidated, tally.reason = "skipped", str(error)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        where = f"{error.filename}: " if error.filename else ""
        tally.consolidated, tally.reason = "skipped", f"{where}{problem}"
    tally.pending = count_pending(work.files)
    return tally.report(work.meter)


def count_pending(files: GeneratedFiles) -> int:
    """How many rollouts are to be extracted, as far as they can be listed."""
    try:
        return len(pending_rollouts(files, load_ledger(files.directory)))
    except OSError:
        return 0


def _generate(work: Work, tally: Tally, *, retry: bool) -> None:
    with work.meter.writing():
        finish_begun(work.files, now=work.now())
    ledger = current_ledger(work.files)
    if retry:
        ledger = ledger.retried()
    ledger = extract_pending(work, ledger, tally)
    consolidate(work, ledger, tally)
