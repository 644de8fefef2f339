"""Pending rollouts become raw memories and rollout summaries.

Flow: finds what is pending, asks the first model, writes two files for each rollout.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from openhands_memory import store
from openhands_memory.errors import MemoryFileError
from openhands_memory.generation.extraction import (
    Extracted,
    Nothing,
    Problem,
    extraction_system,
    extraction_task,
    masked,
    parse_extraction,
    repair_request,
)
from openhands_memory.generation.files import (
    Rollout,
    drop_earlier,
    find_rollouts,
    keep_extracted,
    load_raw_memories,
)
from openhands_memory.generation.gathering import LINE_LIMIT, Gathered, gather
from openhands_memory.generation.ledger import Ledger, State
from openhands_memory.generation.models import (
    CapReachedError,
    ContextTooLongError,
    ModelAwayError,
    ModelCallError,
)
from openhands_memory.generation.raw_memory import Header, Kept, summary_name
from openhands_memory.generation.report import Damage, Failure
from openhands_memory.generation.state import save_ledger
from openhands_memory.generation.work import Tally, Work
from openhands_memory.layout import RAW_MEMORIES, SUMMARIES, GeneratedFiles
from openhands_memory.writing import make_directory

__all__ = ["extract_pending", "pending_rollouts"]

_FOREIGN: Final = (
    "rollouts that came with the repository are left out ({left}); {command} takes them"
)
#: A model that did not answer this often in a row is not asked about the next rollout.
_MOST_SILENT: Final = 3
#: Bytes of the longest rollout that is read: months of work, read in some seconds.
_MOST_BYTES: Final = 1024**3
#: How often a rollout is halved that is too much for the model.
_HALVINGS: Final = 4


def pending_rollouts(files: GeneratedFiles, ledger: Ledger) -> list[Rollout]:
    """The rollouts that are to be extracted, in their order.

    Raises:
        MemoryFileError: The rollouts cannot be listed.
    """
    return [r for r in find_rollouts(files) if ledger.is_pending(r.rollout_id, r.size)]


class _Step(NamedTuple):
    """What became of one rollout."""

    state: State
    reason: str = ""
    stage: str = "extraction"
    counts: bool = True


def extract_pending(work: Work, ledger: Ledger, tally: Tally) -> Ledger:
    """Extract what is pending; the ledger after it, which is on disk at every moment.

    Raises:
        CapReachedError: A cap is reached; what was not done is pending still.
        MemoryFileError: Rollouts or raw memories cannot be listed.
    """
    kept = load_raw_memories(work.files)
    todo = _todo(work, ledger, tally)
    silent = 0
    for number, rollout in enumerate(todo):
        work.progress(number, len(todo) + 1, f"extracting {rollout.rollout_id}")
        calls = work.meter.calls
        try:
            known = kept.get(rollout.rollout_id)
            is_new = rollout.rollout_id not in ledger.rollouts
            step = _extract(work, rollout, known, tally, is_new=is_new)
            silent = 0
            if step is None and known:
                ledger = _known(work, ledger, rollout, known)
            if step is None:
                continue
        except ModelCallError as error:
            counts = not isinstance(error, ModelAwayError)
            step = _Step("failed", str(error), "model", counts=counts)
            silent += 1
        except MemoryFileError as error:
            step = _Step("failed", f"{error.path}: {error.problem}", "file")
        except CapReachedError as error:
            if work.meter.calls > calls:  # this one was begun
                # Where nothing came before it, it takes all there is each time.
                step = _Step("failed", str(error), "cap", counts=not calls)
                _note(work, ledger, tally, rollout, step)
            raise
        ledger = _note(work, ledger, tally, rollout, step)
        if silent == _MOST_SILENT:
            break
    return ledger


def _todo(work: Work, ledger: Ledger, tally: Tally) -> list[Rollout]:
    """What is pending, this conversation's own first, without what is foreign."""
    pending = pending_rollouts(work.files, ledger)
    todo = [r for r in pending if r.rollout_id not in work.foreign]
    if left := len(pending) - len(todo):
        command = work.files.command("generate")
        tally.reason = _FOREIGN.format(left=left, command=command)
    return sorted(todo, key=lambda rollout: rollout.rollout_id != work.own)


def _known(work: Work, ledger: Ledger, rollout: Rollout, kept: Kept) -> Ledger:
    """Finish what somebody began who died before it was written down."""
    with work.meter.writing():
        drop_earlier(work.files, kept.header)
        ledger = ledger.with_outcome(rollout.rollout_id, rollout.size, "extracted")
        save_ledger(work.files.directory, ledger)
    return ledger


def _note(
    work: Work, ledger: Ledger, tally: Tally, rollout: Rollout, step: _Step
) -> Ledger:
    if step.state == "failed":
        tally.failed.append(Failure(rollout.rollout_id, step.stage, step.reason))
    elif step.state == "empty":
        tally.empty += 1
    else:
        tally.extracted += 1
    ledger = ledger.with_outcome(
        rollout.rollout_id,
        rollout.size,
        step.state,
        step.reason,
        counts=step.counts,
    )
    with work.meter.writing():
        save_ledger(work.files.directory, ledger)
    return ledger


def _extract(
    work: Work, rollout: Rollout, known: Kept | None, tally: Tally, *, is_new: bool
) -> _Step | None:
    """Extract one rollout; None if that was done before, and only the ledger lost.

    *is_new* says that the ledger does not know it.
    """
    work.meter.check()
    if rollout.size > _MOST_BYTES:
        reason = f"has {rollout.size:,} bytes; {_MOST_BYTES:,} are the most"
        return _Step("failed", reason, "file")
    room = work.models.rollout_chars()
    gathered = _gather(work, rollout, room)
    if gathered.damaged_count:
        tally.damaged_lines += gathered.damaged_count
        tally.damaged.append(Damage(rollout.rollout_id, gathered.damaged))
    if not gathered.segments:
        if gathered.damaged_count:
            return _Step("failed", "no line of it could be read", "file")
        return _Step("empty")
    if is_new and known and known.header.updated_at == gathered.updated_at:
        return None
    _prepare(work.files, rollout.rollout_id)
    answer = _ask(work, rollout, gathered, room)
    if isinstance(answer, Problem):
        return _Step("failed", answer.reason)
    if isinstance(answer, Nothing):
        if known:  # what it was worth when it was shorter, it still is
            header = _header(rollout, gathered, known.header.rollout_summary_file)
            with work.meter.writing():
                keep_extracted(work.files, header, raw_memory=known.body, summary=None)
        return _Step("empty")
    answer = masked(answer, work.mask)
    name = summary_name(rollout.rollout_id, answer.rollout_slug)
    header = _header(rollout, gathered, f"{SUMMARIES}/{name}")
    earlier = known.header if known else None
    with work.meter.writing():
        keep_extracted(
            work.files,
            header,
            raw_memory=answer.raw_memory,
            summary=answer.rollout_summary,
            earlier=earlier,
        )
    return _Step("extracted")


def _prepare(files: GeneratedFiles, rollout_id: str) -> None:
    """See that there will be room for the result, before anybody is paid for it.

    Raises:
        MemoryFileError: There is none.
    """
    raw = files.place(RAW_MEMORIES, f"{rollout_id}.md")
    for place in (raw, files.place(SUMMARIES, "x")):
        make_directory(place)
    with contextlib.suppress(FileNotFoundError, PermissionError):
        store.stat_file(raw)


def _gather(work: Work, rollout: Rollout, room: int) -> Gathered:
    try:
        lines = store.read_lines(rollout.place, limit=LINE_LIMIT)
        return gather(_timed(work, lines), room=room, mask=work.mask)
    except MemoryFileError:
        raise
    except OSError as error:
        problem = f"could not be read: {(error.strerror or str(error)).lower()}"
        raise MemoryFileError(rollout.place.path, problem) from error


def _timed(work: Work, lines: Iterable[bytes | None]) -> Iterator[bytes | None]:
    """*lines*, as long as there is time to read them."""
    for line in lines:
        work.meter.check()
        yield line


def _ask(
    work: Work, rollout: Rollout, gathered: Gathered, room: int
) -> Extracted | Nothing | Problem:
    """What the model makes of a rollout, asked once more if its answer has a problem."""
    system = extraction_system(work.extra_prompt)
    for halving in range(_HALVINGS + 1):
        task = extraction_task(gathered)
        try:
            answer = parse_extraction(work.models.complete(system, task))
            if isinstance(answer, Problem):
                again = f"{task}\n\n{repair_request(answer)}"
                answer = parse_extraction(work.models.complete(system, again))
        except ContextTooLongError:
            if halving == _HALVINGS:
                raise
            room = min(room, gathered.total_chars) // 2
            gathered = _gather(work, rollout, room)
        else:
            return answer
    raise AssertionError


def _header(rollout: Rollout, gathered: Gathered, summary: str) -> Header:
    return Header(
        rollout_id=rollout.rollout_id,
        updated_at=gathered.updated_at,
        rollout_path=rollout.place.shown_as,
        rollout_summary_file=summary,
        terminal_state=gathered.terminal_state,
    )
