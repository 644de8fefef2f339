"""Raw memories become the index: selected, staged, edited, judged, put in place.

Flow: asks the second model, and writes only what `judge` accepts. The selection is
recorded last, so that nothing is skipped after a failure.
"""

from openhands_memory.errors import MemoryToolError
from openhands_memory.generation.draft import Draft, RefusedError
from openhands_memory.generation.judging import Verdict
from openhands_memory.generation.ledger import Ledger
from openhands_memory.generation.models import CapReachedError, ModelAwayError
from openhands_memory.generation.pending import Pending, find_pending, why_held
from openhands_memory.generation.placing import settle
from openhands_memory.generation.selection import (
    Consolidated,
    render_consolidated,
)
from openhands_memory.generation.shown import file_problem
from openhands_memory.generation.state import (
    Proposal,
    keep_proposal,
    keep_refused,
    load_ledger,
    save_ledger,
)
from openhands_memory.generation.work import Tally, Work
from openhands_memory.layout import (
    GeneratedFiles,
)
from openhands_memory.writing import Written

__all__ = ["consolidate"]


def consolidate(work: Work, ledger: Ledger, tally: Tally) -> None:
    """Bring the index in step with the raw memories, if it is not.

    Raises:
        CapReachedError: A cap is reached; memory is as it was.
        MemoryFileError: What it starts from could not be read.
    """
    pending = find_pending(work.files, ledger, most=work.most, untrusted=work.untrusted)
    if not pending.selection.differs:
        _settle(work.files)
        return
    if reason := why_held(work.files, ledger, pending):
        tally.consolidated, tally.reason = "skipped", reason
        return
    done = tally.extracted + tally.empty + len(tally.failed)
    work.progress(done, done + 1, "consolidating")
    calls = work.meter.calls
    try:
        _consolidate(work, pending, tally)
    except CapReachedError as error:
        # Turns are its own. Of the rest, it takes all there is each time, if nothing
        # came before it.
        alone = not calls and work.meter.calls > 0
        counts = alone or error.cap == "turns"
        _refuse(work, ledger, pending, error, counts=counts)
        raise
    except ModelAwayError as error:
        tally.consolidated, tally.reason = "refused", str(error)
        _refuse(work, ledger, pending, error, counts=False)
    except MemoryToolError as error:
        tally.consolidated, tally.reason = "refused", str(error)
        _refuse(work, ledger, pending, error)
    else:
        _settle(work.files)


def _settle(files: GeneratedFiles) -> None:
    """Forget failures: they are told as long as they are not made good."""
    ledger = load_ledger(files.directory)
    if ledger.consolidation.key:
        save_ledger(files.directory, ledger.settled())


def _refuse(
    work: Work,
    ledger: Ledger,
    pending: Pending,
    error: MemoryToolError,
    *,
    counts: bool = True,
) -> None:
    ledger = ledger.with_refusal(pending.key, str(error), counts=counts)
    with work.meter.writing():
        save_ledger(work.files.directory, ledger)


def _consolidate(work: Work, pending: Pending, tally: Tally) -> None:
    """Stage, edit, judge, and put in place or propose."""
    for name in work.files.written:
        if problem := file_problem(pending.before[name]):
            raise RefusedError(f"{name}: {problem}")
    draft = Draft(work, pending)
    problem = draft.edit()
    verdict = draft.verdict()
    problems = (problem,) if problem else verdict.problems
    if problems:
        told = "; ".join(p.rstrip(".") for p in problems)
        path = _keep_aside(work, pending, verdict, told)
        raise RefusedError(f"the model's result was not taken: {told} (kept in {path})")
    selection = _recorded(work, pending, verdict)
    wanted = {p: Written(pending.before.get(p), d) for p, d in verdict.files.items()}
    told = filter(None, (tally.reason, *verdict.notes))
    tally.reason = "; ".join(told) or None
    time = work.now()
    result = Proposal(
        time.isoformat(), _reason(pending), wanted, selection, pending.key
    )
    with work.meter.writing():
        if work.review and wanted:
            keep_proposal(work.files.directory, result)
            tally.consolidated = "proposed"
            return
        settle(work.files, result, now=time, again=draft.again)
    tally.consolidated = "accepted"


def _recorded(work: Work, pending: Pending, verdict: Verdict) -> str:
    done = Consolidated(
        (*pending.selection.selected, *pending.elsewhere),
        verdict.written,
        verdict.unwanted,
        verdict.skills,
        most=work.most,
    )
    return render_consolidated(done, now=work.now())


def _reason(pending: Pending) -> str:
    return f"consolidated raw memories: {', '.join(pending.selection.told)}"


def _keep_aside(work: Work, pending: Pending, verdict: Verdict, reason: str) -> str:
    """Keep what was refused, without its secrets, for whoever wants to know why.

    Returns the path of what is kept.
    """
    files = {
        path: Written(_masked(work, pending.before.get(path)), _masked(work, data))
        for path, data in verdict.files.items()
    }
    with work.meter.writing():
        time = work.now().isoformat()
        kept = Proposal(time, reason, files, "", pending.key)
        return keep_refused(work.files.directory, kept)


def _masked(work: Work, data: bytes | None) -> bytes | None:
    if data is None:
        return None
    return work.mask(data.decode("utf-8", "replace")).encode("utf-8", "replace")
