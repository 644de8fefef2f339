"""What ``status`` says of generation, if there is anything to say."""

import os
from collections.abc import Iterator

from openhands_memory import store
from openhands_memory.commands._words import count, hanging
from openhands_memory.errors import MemoryFileError
from openhands_memory.generation.standing import NOTHING_STANDS, Standing
from openhands_memory.git import takes_in
from openhands_memory.layout import (
    PROJECT_MEMORY_DIR,
    RAW_MEMORIES,
    SELECTION_NAME,
    GeneratedFiles,
)
from openhands_memory.sanitize import show_line

__all__ = ["standing_hint", "standing_in", "standing_lines"]

_LABEL_WIDTH = 12
_NAMED = 5


def standing_in(files: GeneratedFiles) -> Standing:
    """How generation stands in *files*; what cannot be read is its last error."""
    traces = (files.place(RAW_MEMORIES), files.place(SELECTION_NAME))
    paths = (_sessions(files), *(place.path for place in traces))
    if not any(map(store.exists, paths)):
        return NOTHING_STANDS
    from openhands_memory.generation.overview import standing_of  # late: rarely needed

    try:
        return standing_of(files)
    except MemoryFileError as error:
        return Standing(last_error=str(error))


def standing_lines(files: GeneratedFiles, standing: Standing) -> Iterator[str]:
    """The same for people; nothing where there is nothing."""
    if standing == NOTHING_STANDS:
        return
    yield f"generation: {files.sessions_dir}"
    for label, text in _labelled(files, standing):
        yield from hanging(f"  {label:{_LABEL_WIDTH}}", text)


def _labelled(files: GeneratedFiles, standing: Standing) -> Iterator[tuple[str, str]]:
    yield "rollouts", f"{standing.rollouts:,}, {standing.pending:,} pending"
    raw, consolidated = standing.raw_memories, standing.consolidated
    yield "memories", f"{raw:,} raw, {consolidated:,} consolidated"
    if standing.last_error not in (None, *(f.reason for f in standing.failed)):
        yield "last error", show_line(standing.last_error or "")
    for failed in standing.failed[:_NAMED]:
        # What was no fault of the rollout's is not counted.
        often = f" ({count(failed.attempts, 'time')})" if failed.attempts else ""
        yield "failed", f"{failed.rollout_id}{often}"
        yield "", show_line(failed.reason)
    if (more := len(standing.failed) - _NAMED) > 0:
        yield "", f"and {count(more, 'more rollout')}"
    if standing.gave_up or any(failed.gave_up for failed in standing.failed):
        yield "", f"{files.command('generate --retry')} tries again"
    if standing.review:
        many = count(len(standing.review.files), "file")
        yield "review", f"a change of {many} waits for {files.command('review')}"


def standing_hint(files: GeneratedFiles, standing: Standing) -> str | None:
    """What to do where whole conversations could be committed."""
    directory = _sessions(files)
    taken = takes_in(directory) if standing.rollouts else None
    if taken is None:
        return None
    if taken == "tracked":
        return (
            f"git tracks {directory}, which holds whole conversations: "
            f"'git rm -r --cached {files.sessions_dir}' takes them out of the next commit"
        )
    remedy = f"add the line /{files.sessions_dir}/ to .gitignore"
    if files.memories_dir == PROJECT_MEMORY_DIR:
        remedy = "'openhands-memory init --share', or --private, writes a .gitignore"
    return f"git does not ignore {directory}, which holds whole conversations: {remedy}"


def _sessions(files: GeneratedFiles) -> str:
    return os.path.dirname(files.rollout("x").path)
