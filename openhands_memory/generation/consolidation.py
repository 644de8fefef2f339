"""Raw memories become the index: what the agent is told, and what of its work is taken.

Pure. Deliberately not done: no call of a model, and nothing is written. A result is
accepted as a whole or not at all.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from openhands_memory.generation.guards import path_problems, secret_problems
from openhands_memory.generation.merging import Merged, Rules, digest_of, merge
from openhands_memory.generation.raw_memory import parse_memory
from openhands_memory.generation.room import room_inside
from openhands_memory.generation.selection import Consolidated, Selected, Selection
from openhands_memory.generation.shown import (
    MARKS,
    as_plain,
    file_problem,
    safe,
    show_file,
)
from openhands_memory.generation.skills import (
    is_skill,
    skill_name,
    skill_problem,
    sources_of,
    with_sources,
)
from openhands_memory.generation.support import Refs, distinctive_words, supporters
from openhands_memory.layout import (
    GENERATED_END,
    GENERATED_START,
    RAW_MEMORIES,
    SKILLS,
    SUMMARIES,
    GeneratedFiles,
)
from openhands_memory.prompts import fill

__all__ = [
    "Verdict",
    "consolidation_system",
    "consolidation_task",
    "file_problem",
    "is_writable",
    "judge",
    "show_file",
    "stage_files",
]

#: Characters of raw memories that the task itself holds; the others are to be viewed.
_INLINE_CHARS: Final = 24_000
#: So many selected rollouts are listed; the others are known by their facts.
_MOST_LISTED: Final = 300
#: Rollouts that a skill is said to come from, where its words do not tell.
_MOST_SOURCES: Final = 3


class Verdict(NamedTuple):
    """What came of a consolidation.

    Attributes: *files* are the bytes of the files that change, None for one that goes;
    *problems* are why the result cannot be accepted, said to the agent; *notes* are for a
    person; *written*, *unwanted* and *skills* are for the next `Consolidated`.
    """

    files: Mapping[str, bytes | None] = {}
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    written: frozenset[str] = frozenset()
    unwanted: frozenset[str] = frozenset()
    skills: tuple[str, ...] = ()


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

    *raws* are the selected raw memories by ref; *room* are the characters that the whole
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
        text = as_plain(_body(raws.get(item.ref, "")))
        part = f"{_marked(item)} {_plain(_TIME, item.header.updated_at)}\n{text}"
        if len(part) > room:
            left.append(item)
        else:
            shown.append(part)
            room -= len(part)
    return shown[::-1], left


def _body(text: str) -> str:
    kept = parse_memory(text)
    return kept.body if kept else text.strip()


# --- What is taken of its work ------------------------------------------------------------


def judge(
    before: Mapping[str, bytes | None],
    shown: Mapping[str, str],
    after: Mapping[str, str],
    selection: Selection,
    *,
    files: GeneratedFiles,
    last: Consolidated,
    raws: Mapping[str, str],
    room: int,
    mask: Callable[[str], str],
) -> Verdict:
    """What the agent made, *after*, of the files *before*, as they were *shown*.

    *raws* are the selected raw memories by ref; *room* are the characters that the whole
    text of the index may take.
    """
    rules = Rules(
        refs=Refs(_ids(selection.selected), _ids(selection.removed)),
        fresh=tuple(s.ref for s in (*selection.added, *selection.changed)),
        words={ref: distinctive_words(_body(text)) for ref, text in raws.items()},
        written=last.written,
        unwanted=last.unwanted,
        mask=mask,
    )
    work = _Judged(before, shown, after, rules, last)
    for name in files.written:
        is_index = name == files.index_name
        work.judge_index(
            rules._replace(
                name=name,
                room=room if is_index else None,
                newest_last=is_index and files.handbook_name is None,
            ),
            may_be_empty=not (selection.added or selection.changed),
        )
    for path in sorted({*shown, *after}):
        if path in files.written or shown.get(path) == after.get(path):
            continue
        if path.startswith(f"{SKILLS}/"):
            work.judge_skill(path)
        else:
            work.problems.append(
                f"{path} is only there to be read; leave it as it was."
            )
    work.settle_skills()
    return work.verdict()


def _ids(selected: Iterable[Selected]) -> dict[str, str]:
    return {item.ref: item.rollout_id for item in selected}


class _Judged:
    """The verdict while it is made."""

    def __init__(
        self,
        before: Mapping[str, bytes | None],
        shown: Mapping[str, str],
        after: Mapping[str, str],
        rules: Rules,
        last: Consolidated,
    ) -> None:
        self.before = before
        self.shown = shown
        self.after = after
        self.rules = rules
        self.last = last
        self.files: dict[str, bytes | None] = {}
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.written: set[str] = set()
        self.unwanted: set[str] = set()

    def verdict(self) -> Verdict:
        paths = {p for p, data in self.before.items() if data is not None}
        paths = (paths | self.files.keys()) - {
            p for p, data in self.files.items() if data is None
        }
        ours = {*self.last.skills, *map(skill_name, self.files)}
        skills = {name for path in paths if (name := skill_name(path)) in ours and name}
        return Verdict(
            dict(self.files),
            tuple(dict.fromkeys(map(self.rules.mask, self.problems))),
            tuple(map(self.rules.mask, self.notes)),
            frozenset(self.written),
            frozenset(self.unwanted),
            tuple(sorted(skills)),
        )

    # --- Indexes --------------------------------------------------------------------------

    def judge_index(self, rules: Rules, *, may_be_empty: bool) -> None:
        """Merge one index into what it was."""
        name = rules.name
        text, data = self.after.get(name, ""), self.before.get(name)
        shown = self.shown.get(name, "")
        merged = merge(data, shown, text, rules=rules)
        self._take_index(name, merged, data)
        lines = (line.strip() for line in text.split("\n"))
        if not any(line for line in lines if line not in MARKS) and not may_be_empty:
            self.problems.append(f"{name} is missing or empty; it must hold the facts.")
        self.problems += secret_problems(name, text, shown, rules.mask)
        self.problems += path_problems(name, merged.new_text, self.after.keys())

    def _take_index(self, name: str, merged: Merged, data: bytes | None) -> None:
        if merged.data is not None and merged.data != data:
            self.files[name] = merged.data
        self.problems += merged.problems
        self.notes += merged.notes
        self.written |= merged.written
        self.unwanted |= merged.unwanted

    # --- Skills ---------------------------------------------------------------------------

    def judge_skill(self, path: str) -> None:
        """Take one file of a skill, if it may be one and is not a person's."""
        text, data = self.after.get(path, ""), self.before.get(path)
        if data is not None and not self._is_ours(path, data):
            self.notes.append(f"{path}: left as it was, since a person wrote it.")
        elif problem := skill_problem(path, self.after):
            self.problems.append(problem)
        elif self.rules.mask(path) != path:
            self.problems.append("The name of a skill holds a secret; give another.")
        else:
            shown, mask = self.shown.get(path, ""), self.rules.mask
            self.problems += secret_problems(path, text, shown, mask)
            self.problems += path_problems(path, text, self.after.keys())
            rules = self.rules
            refs = supporters(text, rules.words) or rules.fresh[:_MOST_SOURCES]
            self.files[path] = with_sources(safe(text, mask), refs).encode()

    def settle_skills(self) -> None:
        """Let skills go that only removed rollouts support; remember what is ours."""
        for path, data in self.before.items():
            if data is None or not is_skill(path) or not self._is_ours(path, data):
                continue
            refs = sources_of(self.files.get(path, data) or b"")
            if refs and not self.rules.refs.without_removed(refs):
                self.files[path] = None
            elif path not in self.files:
                self.written.add(_digest(path, data))
        self.written |= {
            _digest(path, data)
            for path, data in self.files.items()
            if data is not None and is_skill(path)
        }

    def _is_ours(self, path: str, data: bytes) -> bool:
        """Whether consolidation wrote the skill's file, and nobody edited it since."""
        written = self.last.written
        is_known = written is None or _digest(path, data) in written
        return skill_name(path) in self.last.skills and is_known


def _digest(path: str, data: bytes) -> str:
    return digest_of(path, "file", data.decode("utf-8", "backslashreplace"))
