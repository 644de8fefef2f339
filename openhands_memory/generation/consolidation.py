"""What the consolidating agent starts with, and what it is told.

Pure. Deliberately not done: no call of a model. What comes back is `judge`'s business.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from openhands_memory.generation.room import room_inside
from openhands_memory.generation.selection import Selected, Selection
from openhands_memory.generation.shown import as_plain, safe, show_file
from openhands_memory.generation.skills import is_skill
from openhands_memory.layout import (
    GENERATED_END,
    GENERATED_START,
    RAW_MEMORIES,
    SUMMARIES,
    GeneratedFiles,
)
from openhands_memory.prompts import fill

__all__ = [
    "consolidation_system",
    "consolidation_task",
    "is_writable",
    "stage_files",
]

#: Characters of raw memories that the task itself holds; the others are to be viewed.
_INLINE_CHARS: Final = 24_000
#: So many selected rollouts are listed; the others are known by their facts.
_MOST_LISTED: Final = 300

# --- The stage ----------------------------------------------------------------------------


def stage_files(
    before: Mapping[str, bytes | None],
    evidence: Mapping[str, str],
    *,
    mask: Callable[[str], str],
) -> dict[str, str]:
    """The texts that the agent starts with, by path.

    *before* are the files that it may edit: indexes, also those that do not exist yet,
    and skills; *evidence* those that it may read.
    """
    texts = {path: safe(text, mask) for path, text in evidence.items()}
    for path, data in before.items():
        if is_skill(path):
            texts[path] = safe((data or b"").decode("utf-8-sig", "replace"), mask)
        else:
            texts[path] = show_file(data, mask)
    return texts


def is_writable(path: str, files: GeneratedFiles) -> bool:
    """Whether the agent may edit the file at *path*."""
    return path in files.written or is_skill(path)


# --- What the agent is told ---------------------------------------------------------------


def consolidation_system(extra_prompt: str | None, files: GeneratedFiles) -> str:
    """The system prompt; *extra_prompt* is the owner's and stands at its end."""
    layout = "sandbox" if files.handbook_name else "openhands"
    names = {"index": files.index_name, "handbook": files.handbook_name or ""}
    system = fill(
        "consolidation",
        files=fill(f"consolidation_{layout}", **names),
        start=GENERATED_START,
        end=GENERATED_END,
    )
    extra = (extra_prompt or "").strip()
    return f"{system}\n\n{fill('extra', extra_prompt=extra)}" if extra else system


def consolidation_task(
    selection: Selection,
    raws: Mapping[str, str],
    *,
    files: GeneratedFiles,
    before: Mapping[str, bytes | None],
    room: int,
) -> str:
    """The user message: the difference, and the raw memories that make it.

    *raws* are the bodies of the selected raw memories by ref; *room* are the characters that the whole
    text of the index may take.
    """
    retained = frozenset(selection.retained)
    shown, left = _inline((s for s in selection.selected if s not in retained), raws)
    inside = room_inside(before.get(files.index_name), room)
    return fill(
        "consolidation_task",
        counts=_counts(selection),
        selected="\n".join(_listed(selection)) or "* none",
        removed="\n".join(_listed_removed(selection)) or "* none",
        index=files.index_name,
        room=f"{inside:,}",
        raws="\n\n".join(shown) or "(none)",
        rest="\n".join(f"* {_raw_path(s)}" for s in left) or "* none",
    )


def _counts(selection: Selection) -> str:
    parts = ("added", "changed", "retained", "removed")
    counts = (f"{part} {len(getattr(selection, part))}" for part in parts)
    return f"selected {len(selection.selected)}, {', '.join(counts)}"


def _listed(selection: Selection) -> Iterator[str]:
    added, changed = frozenset(selection.added), frozenset(selection.changed)
    for item in selection.selected[:_MOST_LISTED]:
        state = (
            "added" if item in added else "changed" if item in changed else "retained"
        )
        yield f"* {state} {_named(item)}"
    if (more := len(selection.selected) - _MOST_LISTED) > 0:
        yield f"* and {more} older ones, retained"


def _listed_removed(selection: Selection) -> Iterator[str]:
    for item in selection.removed[:_MOST_LISTED]:
        yield f"* removed {_marked(item)}"


#: What may stand outside the frame, although it was read from files.
_REF: Final = r"[\w.-]{1,128}"
_TIME: Final = r"[0-9T :.+Z-]{1,40}"
_SUMMARY: Final = rf"{SUMMARIES}/[\w.-]{{1,255}}"
_STATE: Final = r"[a-z_]{1,24}"


def _named(item: Selected) -> str:
    header = item.header
    summary = _plain(_SUMMARY, header.rollout_summary_file)
    time = _plain(_TIME, header.updated_at)
    return (
        f"{_marked(item)} {summary} ({time}, {_plain(_STATE, header.terminal_state)})"
    )


def _raw_path(item: Selected) -> str:
    return f"{RAW_MEMORIES}/{_plain(_REF, item.rollout_id)}.md"


def _marked(item: Selected) -> str:
    return f"[^{_plain(_REF, item.ref)}]"


def _plain(pattern: str, text: str) -> str:
    return text if re.fullmatch(pattern, text, re.ASCII) else "unknown"


def _inline(
    fresh: Iterable[Selected], raws: Mapping[str, str]
) -> tuple[list[str], list[Selected]]:
    """Of *fresh*, newest first: the raw memories that fit, oldest first, and the rest."""
    shown: list[str] = []
    left: list[Selected] = []
    room = _INLINE_CHARS
    for item in fresh:
        text = as_plain(raws.get(item.ref, ""))
        part = f"{_marked(item)} {_plain(_TIME, item.header.updated_at)}\n{text}"
        if len(part) > room:
            left.append(item)
        else:
            shown.append(part)
            room -= len(part)
    return shown[::-1], left
