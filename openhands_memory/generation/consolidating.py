"""Raw memories become the index: selected, staged, edited, judged, put in place.

Flow: asks the second model, and writes only what `judge` accepts. The selection is
recorded last, so that nothing is skipped after a failure.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from openhands_memory.errors import MemoryToolError
from openhands_memory.generation.consolidation import (
    consolidation_system,
    consolidation_task,
    is_writable,
    stage_files,
)
from openhands_memory.generation.files import (
    damaged_raw_memories,
    digest,
    load_consolidated,
    load_edited,
    load_raw_memories,
    load_summaries,
    replace_text,
)
from openhands_memory.generation.judging import Verdict, judge
from openhands_memory.generation.ledger import Ledger
from openhands_memory.generation.models import CapReachedError, ModelCallError
from openhands_memory.generation.placing import settle, still_fits
from openhands_memory.generation.raw_memory import Kept, render_memory
from openhands_memory.generation.selection import (
    Consolidated,
    Selected,
    Selection,
    render_consolidated,
    render_merged,
    select,
)
from openhands_memory.generation.shown import file_problem
from openhands_memory.generation.stage import Stage
from openhands_memory.generation.state import (
    Proposal,
    keep_proposal,
    keep_refused,
    load_ledger,
    load_proposal,
    save_ledger,
)
from openhands_memory.generation.work import Tally, Work
from openhands_memory.layout import (
    MERGED_NAME,
    RAW_MEMORIES,
    SUMMARIES,
    GeneratedFiles,
)
from openhands_memory.writing import Written

__all__ = ["Pending", "consolidate", "find_pending", "why_held"]

_WAITS = "a proposal waits for 'openhands-memory review'"
_DAMAGED = (
    "{path}: its header is damaged, and its rollout is gone. Restore it; or remove it, "
    "and what it alone supports goes too"
)
_GAVE_UP = (
    "the same raw memories were refused {attempts} times, the last time because "
    "{reason}; 'openhands-memory generate --retry' tries again"
)


class RefusedError(MemoryToolError):
    """The result is not one that may be put in place; the message says why."""


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


def find_pending(files: GeneratedFiles, ledger: Ledger, *, most: int) -> Pending:
    """What differs from the last consolidation.

    Where an index is missing, and a person wants one, all raw memories are new to it.

    Raises:
        MemoryFileError: A file could not be read.
    """
    last = load_consolidated(files)
    raws = load_raw_memories(files)
    before = load_edited(files)
    since = last
    if any(before[n] is None for n in files.written if n not in last.absent):
        since = last._replace(selected=(), written=None)
    headers = {i: kept.header for i, kept in raws.items()}
    digests = {i: digest(kept) for i, kept in raws.items()}
    lost = damaged_raw_memories(files)
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
        return _WAITS
    if ledger.waits(pending.key):
        last = ledger.consolidation
        return _GAVE_UP.format(attempts=last.attempts, reason=last.reason)
    return None


def consolidate(work: Work, ledger: Ledger, tally: Tally) -> None:
    """Bring the index in step with the raw memories, if it is not.

    Raises:
        CapReachedError: A cap is reached; memory is as it was.
        MemoryFileError: What it starts from could not be read.
    """
    pending = find_pending(work.files, ledger, most=work.most)
    if not pending.selection.differs:
        _settle(work.files)
        return
    if reason := why_held(work.files, ledger, pending):
        tally.consolidated, tally.reason = "skipped", reason
        return
    done = tally.extracted + tally.empty + len(tally.failed)
    work.progress(done, done + 1, "consolidating")
    try:
        _consolidate(work, pending, tally)
    except CapReachedError as error:
        _refuse(work, ledger, pending, str(error))
        raise
    except (RefusedError, ModelCallError, MemoryToolError) as error:
        tally.consolidated, tally.reason = "refused", str(error)
        _refuse(work, ledger, pending, str(error))
    else:
        _settle(work.files)


def _settle(files: GeneratedFiles) -> None:
    """Forget failures: they are told as long as they are not made good."""
    ledger = load_ledger(files.directory)
    if ledger.consolidation.attempts:
        save_ledger(files.directory, ledger.settled())


def _refuse(work: Work, ledger: Ledger, pending: Pending, reason: str) -> None:
    save_ledger(work.files.directory, ledger.with_refusal(pending.key, reason))


def _consolidate(work: Work, pending: Pending, tally: Tally) -> None:
    """Stage, edit, judge, and put in place or propose."""
    for name in work.files.written:
        if problem := file_problem(pending.before[name]):
            raise RefusedError(f"{name}: {problem}")
    draft = _Draft(work, pending)
    problem = draft.edit()
    verdict = draft.verdict()
    problems = (problem,) if problem else verdict.problems
    if problems:
        _keep_aside(work, pending, verdict, "; ".join(problems))
        raise RefusedError("; ".join(problems))
    selection = _recorded(work, pending, verdict)
    wanted = {p: Written(pending.before.get(p), d) for p, d in verdict.files.items()}
    tally.reason = "; ".join(verdict.notes) or None
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
    )
    return render_consolidated(done, now=work.now())


def _reason(pending: Pending) -> str:
    parts = ("added", "changed", "removed")
    counts = ((part, len(getattr(pending.selection, part))) for part in parts)
    told = ", ".join(f"{number} {part}" for part, number in counts if number)
    return f"consolidated raw memories: {told}"


def _keep_aside(work: Work, pending: Pending, verdict: Verdict, reason: str) -> None:
    """Keep what was refused, without its secrets, for whoever wants to know why."""
    files = {
        path: Written(_masked(work, pending.before.get(path)), _masked(work, data))
        for path, data in verdict.files.items()
    }
    with work.meter.writing():
        time = work.now().isoformat()
        kept = Proposal(time, reason, files, "", pending.key)
        keep_refused(work.files.directory, kept)


def _masked(work: Work, data: bytes | None) -> bytes | None:
    if data is None:
        return None
    return work.mask(data.decode("utf-8", "replace")).encode("utf-8", "replace")


class _Draft:
    """The staged files, from what they were to what the agent left of them."""

    def __init__(self, work: Work, pending: Pending) -> None:
        self._work = work
        self._pending = pending
        self._raws = _by_ref(pending)
        evidence = _evidence(work.files, pending)
        with work.meter.writing():
            replace_text(work.files.place(MERGED_NAME), evidence[MERGED_NAME])
        self._shown = stage_files(pending.before, evidence, mask=work.mask)
        self._stage = Stage(
            self._shown, writable=lambda path: is_writable(path, work.files)
        )

    def edit(self) -> str | None:
        """Let the agent edit; why there is no result, if there is none.

        Rollouts that only left take with them what is theirs without any agent.
        """
        work, pending = self._work, self._pending
        if not (pending.selection.added or pending.selection.changed):
            return None
        task = consolidation_task(
            pending.selection,
            {ref: work.mask(text) for ref, text in self._raws.items()},
            files=work.files,
            before=pending.before,
            room=work.room,
        )
        system = consolidation_system(work.extra_prompt, work.files)
        return work.models.edit(system, task, self._stage, self._problems)

    def verdict(self) -> Verdict:
        """What is taken of the result."""
        return self._judge(self._pending.before, self._shown, self._stage.files)

    def again(self, path: str, found: bytes | None) -> bytes:
        """What is written to *path*, which has changed to *found* since."""
        old = self._shown[path].split("\n")
        new = stage_files({path: found}, {}, mask=self._work.mask)[path]
        gone = frozenset(old) - frozenset(new.split("\n"))
        lines = self._stage.files[path].split("\n")
        after = "\n".join(line for line in lines if line not in gone)
        verdict = self._judge(
            {**self._pending.before, path: found},
            {**self._shown, path: new},
            {**self._stage.files, path: after},
        )
        if verdict.problems:
            raise RefusedError("; ".join(verdict.problems))
        return verdict.files.get(path) or found or b""

    def _problems(self) -> str | None:
        problems = self.verdict().problems
        return "\n".join(problems) if problems else None

    def _judge(
        self,
        before: Mapping[str, bytes | None],
        shown: Mapping[str, str],
        after: Mapping[str, str],
    ) -> Verdict:
        return judge(
            before,
            shown,
            after,
            self._pending.selection,
            files=self._work.files,
            last=self._pending.last,
            raws=self._raws,
            room=self._work.room,
            mask=self._work.mask,
        )


def _by_ref(pending: Pending) -> dict[str, str]:
    """The bodies of the selected raw memories by ref."""
    kept = ((s.ref, pending.raws[s.rollout_id]) for s in pending.selection.selected)
    return {ref: k.body for ref, k in kept}


def _evidence(files: GeneratedFiles, pending: Pending) -> dict[str, str]:
    """What the agent may read, by path."""
    kept = [pending.raws[s.rollout_id] for s in pending.selection.selected]
    names = {k.header.rollout_summary_file for k in kept}
    summaries = {f"{SUMMARIES}/{n}": t for n, t in load_summaries(files).items()}
    return {
        MERGED_NAME: render_merged(kept),
        **{
            f"{RAW_MEMORIES}/{k.header.rollout_id}.md": render_memory(k.header, k.body)
            for k in kept
        },
        **{path: text for path, text in summaries.items() if path in names},
    }
