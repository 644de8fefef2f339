"""The staged files, from what they were to what the agent left of them.

Flow: reads what the agent may read, lets it edit, and has the result judged.
"""

from collections.abc import Mapping

from openhands_memory.errors import MemoryToolError
from openhands_memory.generation.consolidation import (
    consolidation_system,
    consolidation_task,
    is_writable,
    stage_files,
)
from openhands_memory.generation.files import (
    load_summaries,
    replace_text,
)
from openhands_memory.generation.judging import Verdict, judge
from openhands_memory.generation.pending import Pending
from openhands_memory.generation.raw_memory import render_memory
from openhands_memory.generation.selection import (
    render_merged,
)
from openhands_memory.generation.stage import Stage
from openhands_memory.generation.work import Work
from openhands_memory.layout import (
    MERGED_NAME,
    RAW_MEMORIES,
    SUMMARIES,
    GeneratedFiles,
)

__all__ = ["Draft", "RefusedError"]


class RefusedError(MemoryToolError):
    """The result is not one that may be put in place; the message says why."""


class Draft:
    """The staged files, from what they were to what the agent left of them."""

    def __init__(self, work: Work, pending: Pending) -> None:
        self._work = work
        self._pending = pending
        self._raws = _by_ref(pending)
        evidence = _evidence(work.files, pending)
        with work.meter.writing():
            replace_text(work.files.place(MERGED_NAME), evidence[MERGED_NAME])
        self._shown = stage_files(pending.before, evidence, mask=self._mask)
        self._stage = Stage(
            self._shown, writable=lambda path: is_writable(path, work.files)
        )

    def _mask(self, text: str) -> str:
        self._work.meter.check()  # masking takes long where there is much of it
        return self._work.mask(text)

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
    paths = (k.header.rollout_summary_file.partition("/") for k in kept)
    names = {name for folder, _, name in paths if folder == SUMMARIES}
    return {
        MERGED_NAME: render_merged(kept),
        **{
            f"{RAW_MEMORIES}/{k.header.rollout_id}.md": render_memory(k.header, k.body)
            for k in kept
        },
        **{f"{SUMMARIES}/{n}": t for n, t in load_summaries(files, names).items()},
    }
