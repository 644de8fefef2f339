"""A rollout that is forgotten, with all that was made of it.

Flow: `judge` takes out of the index, the handbook and skills what the rollout alone
supported, as it does when a rollout leaves a consolidation; no model is asked. Files that
people read change first, and all or none of them; who dies after that, asks again. What
only the history knows still, or undo has brought back, can be forgotten as well.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from openhands_memory import writing
from openhands_memory.errors import MemoryFileError
from openhands_memory.generation.consolidation import stage_files
from openhands_memory.generation.files import (
    find_ids,
    load_consolidated,
    load_edited,
    load_raw_memories,
    load_summaries,
    read_or_none,
    replace_text,
)
from openhands_memory.generation.judging import Verdict, digest_of_file, judge
from openhands_memory.generation.merging import digest_of
from openhands_memory.generation.naming import NoSuchRolloutError, resolve_name
from openhands_memory.generation.placing import finish_begun, put_in_place
from openhands_memory.generation.raw_memory import Header, parse_memory, render_memory
from openhands_memory.generation.rollout import is_safe_id
from openhands_memory.generation.selection import (
    Consolidated,
    Selected,
    Selection,
    parse_consolidated,
    render_consolidated,
)
from openhands_memory.generation.shown import file_problem
from openhands_memory.generation.skills import skill_name
from openhands_memory.generation.state import (
    alone_in,
    drop_proposal,
    drop_refused,
    load_ledger,
    load_proposal,
    save_ledger,
)
from openhands_memory.generation.support import Refs, without_refs
from openhands_memory.layout import (
    GENERATED_END,
    GENERATED_START,
    MERGED_NAME,
    RAW_MEMORIES,
    SELECTION_NAME,
    SUMMARIES,
    GeneratedFiles,
    TierPlace,
)
from openhands_memory.upkeep.change import drop_writes, history_of
from openhands_memory.upkeep.document import decode_file
from openhands_memory.upkeep.history import HistoryEntry
from openhands_memory.writing import Written

__all__ = ["Forgotten", "NoSuchRolloutError", "forget_rollout"]

_WRITER: Final = "forget"
#: Whoever removes needs no room; nobody's result is judged here.
_ANY_ROOM: Final = 1 << 40
#: What the history says of such a write; the id is behind it.
_FORGOT: Final = "forgot rollout "
#: Refs from here on are the beginning of their rollout's id, and of no other one.
_REF_CHARS: Final = 8
_REF: Final = re.compile(r"\[\^([A-Za-z0-9][A-Za-z0-9._-]{0,127})\]")


class Forgotten(NamedTuple):
    """What was forgotten.

    Attributes: *removed* are the files that are gone, *changed* the others with their
    bytes before and after, by their paths in the memory directory; *dropped_proposal*
    says that a result that waited for review went with it; *purged* is the number of
    writes that the history lost.
    """

    rollout_id: str
    removed: tuple[TierPlace, ...]
    changed: Mapping[str, Written]
    dropped_proposal: bool = False
    purged: int = 0

    @property
    def is_nothing(self) -> bool:
        """Whether nothing was left to be forgotten."""
        return not (
            self.removed or self.changed or self.dropped_proposal or self.purged
        )


def forget_rollout(
    files: GeneratedFiles,
    name: str,
    *,
    mask: Callable[[str], str],
    now: datetime,
    purges: bool = False,
) -> Forgotten:
    """Remove the rollout with the id or ref *name*, and what it alone supported.

    With *purges* also what the history keeps of it.

    Raises:
        NoSuchRolloutError: There is none, or more than one. In this and all other cases
            the index, the handbook and skills are as they were.
        BusyError: Memory is being generated.
        MemoryFileError: A file could not be read, written or removed.
    """
    with alone_in(files.directory):
        finish_begun(files, now=now)
        trace = _Trace(files, name)
        return trace.forget(mask, now, purges=purges)


class _Trace:
    """All that there is of one rollout."""

    def __init__(self, files: GeneratedFiles, name: str) -> None:
        self._files = files
        self._last = load_consolidated(files)
        self._ledger = load_ledger(files.directory)
        self._summaries = load_summaries(files)
        self._before = load_edited(files)
        self._history = history_of(files.directory)
        self._ids = self._known_ids()
        self._id = self._resolve(name)
        known = (s for s in self._last.selected if s.rollout_id == self._id)
        #: Facts may name it also where the selection was lost.
        unknown = Selected(Header(self._id, "", "", "", ""), self._id, "")
        self._selected = next(known, unknown)
        others = (s for s in self._last.selected if s != self._selected)
        self._refs = Refs(
            {s.ref: s.rollout_id for s in others}, {self._selected.ref: self._id}
        )
        self._forgettings = [e for e in self._history if _forgotten(e) == self._id]
        self._last = self._with_forgotten(self._last)

    def _known_ids(self) -> tuple[str, ...]:
        found = find_ids(self._files) | self._ledger.rollouts.keys()
        found |= {s.rollout_id for s in self._last.selected}
        summaries = map(parse_memory, self._summaries.values())
        found |= {kept.header.rollout_id for kept in summaries if kept}
        found |= set(map(_forgotten, self._history))
        return tuple(sorted(filter(is_safe_id, found)))

    def _resolve(self, name: str) -> str:
        """The id that *name* means; itself if only refs are left of what it means."""
        files = self._files
        looked_in = files.directory
        if not files.sessions_dir.startswith(f"{files.memories_dir}/"):
            sessions = os.path.join(files.workspace, *files.sessions_dir.split("/"))
            looked_in += f" and {sessions}"
        refs = {s.ref: s.rollout_id for s in self._last.selected}
        try:
            return resolve_name(name, self._ids, refs, looked_in=looked_in)
        except NoSuchRolloutError:
            begins = any(known.startswith(name) for known in self._ids)
            if begins or not is_safe_id(name):
                raise
            if not any(_means(name, ref) for ref in self._stray_refs(refs)):
                raise
            return name

    def _stray_refs(self, refs: Mapping[str, str]) -> tuple[str, ...]:
        """Refs in what was generated, or is remembered, of rollouts that nobody knows."""
        data = [*self._before.values()]
        for entry in self._history:
            data += (entry.written.before, entry.written.after)
        found = {ref for text in map(_generated, data) for ref in _REF.findall(text)}
        return Refs({**{i: i for i in self._ids}, **refs}).unknown(found)

    def _with_forgotten(self, last: Consolidated) -> Consolidated:
        """*last* with what this rollout lost when it was forgotten before.

        What undo has brought back of it is no person's.
        """
        written: set[str] = set()
        skills = {*last.skills}
        for entry in self._forgettings:
            path = _path_below(entry.path)
            before, after = map(_text, entry.written)
            if skill := skill_name(path):
                skills.add(skill)
                written.add(digest_of_file(path, entry.written.before or b""))
            gone = frozenset(before.splitlines()) - frozenset(after.splitlines())
            written |= {digest_of(path, "line", line.rstrip()) for line in gone}
        if last.written is not None:
            last = last._replace(written=last.written | written)
        return last._replace(skills=tuple(sorted(skills)))

    def forget(
        self, mask: Callable[[str], str], now: datetime, *, purges: bool
    ) -> Forgotten:
        files = self._files
        for path in files.written:
            if problem := file_problem(self._before[path]):
                raise MemoryFileError(files.place(path).path, problem)
        verdict = self._without(self._before, mask)
        changed = {p: Written(self._before[p], d) for p, d in verdict.files.items()}
        dropped = self._drop_proposal()
        put_in_place(
            files,
            changed,
            now=now,
            writer=_WRITER,
            reason=f"{_FORGOT}{self._id}",
            again=lambda path, found: self._again(path, found, mask),
        )
        places = (
            files.rollout(self._id),
            files.place(RAW_MEMORIES, f"{self._id}.md"),
            *(files.place(SUMMARIES, name) for name in self._own_summaries()),
        )
        removed = tuple(place for place in places if writing.remove_file(place))
        _shorten_merged(files)
        if changed or self._selected in self._last.selected:
            left = self._recorded(verdict)
            replace_text(
                files.place(SELECTION_NAME), render_consolidated(left, now=now)
            )
        save_ledger(files.directory, self._ledger.without(self._id))
        purged = self._purge(changed) if purges else 0
        return Forgotten(self._id, removed, changed, dropped, purged)

    def _without(
        self, before: Mapping[str, bytes | None], mask: Callable[[str], str]
    ) -> Verdict:
        """The files without what the rollout alone supported.

        What else is wrong with them is no reason to keep that.
        """
        kept = tuple(s for s in self._last.selected if s != self._selected)
        shown = stage_files(before, {}, mask=mask)
        return judge(
            before,
            shown,
            shown,
            Selection(selected=kept, retained=kept, removed=(self._selected,)),
            files=self._files,
            last=self._last,
            raws={},
            room=_ANY_ROOM,
            mask=mask,
        )

    def _again(
        self, path: str, found: bytes | None, mask: Callable[[str], str]
    ) -> bytes | None:
        """What is written to a file that somebody has changed to *found*."""
        return self._without({**self._before, path: found}, mask).files.get(path, found)

    def _recorded(self, verdict: Verdict) -> Consolidated:
        """The last consolidation without this rollout.

        What a person took out of a file is not known where the file is gone.
        """
        kept = tuple(s for s in self._last.selected if s != self._selected)
        left = self._last._replace(selected=kept, skills=verdict.skills)
        if any(self._before[name] is None for name in self._files.written):
            return left
        return left._replace(written=verdict.written, unwanted=verdict.unwanted)

    def _drop_proposal(self) -> bool:
        """Drop what waits for review, if this rollout has a part in it."""
        proposal = load_proposal(self._files.directory)
        if proposal is None:
            return False
        selected = parse_consolidated(proposal.selection).selected
        texts = (_text(w.after) for w in proposal.files.values())
        is_part = any(s.rollout_id == self._id for s in selected)
        if not is_part and not any(map(self._is_in, texts)):
            return False
        drop_proposal(self._files.directory)
        return True

    def _own_summaries(self) -> Iterator[str]:
        """Names of its summaries: as the header says, or the name where there is none."""
        for name, text in self._summaries.items():
            kept = parse_memory(text)
            owners = (i for i in self._ids if name.startswith(f"{i}_"))
            owner = kept.header.rollout_id if kept else max(owners, key=len, default="")
            if owner == self._id and name.startswith(f"{owner}_"):
                yield name

    # --- The history ----------------------------------------------------------------------

    def _purge(self, changed: Mapping[str, Written]) -> int:
        """Remove from the history and from what was refused all that holds it."""
        writes = (*changed.values(), *(e.written for e in self._forgettings))
        gone = {line for written in writes for line in _lost(written)}
        ours = {entry.id for entry in self._forgettings}

        def holds(entry: HistoryEntry) -> bool:
            texts = (_text(entry.written.before), _text(entry.written.after))
            if entry.id in ours or self._is_in(entry.path):
                return True
            return any(
                self._is_in(text) or not gone.isdisjoint(_bare_lines(text))
                for text in texts
            )

        drop_refused(self._files.directory)
        return drop_writes(self._files.directory, holds)

    def _is_in(self, text: str) -> bool:
        """Whether *text* names it, as a ref or as a file; an id alone may be a word."""
        name = self._id
        files = (f"/{name}_", f"/{name}.md", f"/{name}.jsonl")
        return any(mark in text for mark in files) or any(
            map(self._refs.is_removed, _REF.findall(text))
        )


def _forgotten(entry: HistoryEntry) -> str:
    """The rollout that a write forgot; nothing for any other write."""
    is_ours = entry.writer == _WRITER and entry.reason.startswith(_FORGOT)
    return entry.reason.removeprefix(_FORGOT) if is_ours else ""


def _path_below(path: str) -> str:
    """The *path* of an index or a skill's file, from the memory directory on."""
    parts = path.split(os.sep)
    below = "/".join(parts[-3:])
    return below if skill_name(below) else parts[-1]


def _means(name: str, ref: str) -> bool:
    """Whether *name* is *ref*, or an id that it is the ref of."""
    return name == ref or (len(ref) >= _REF_CHARS and name.startswith(ref))


def _generated(data: bytes | None) -> str:
    """What of a file may have been generated: a part, or all where none is marked."""
    text = _text(data)
    _, mark, below = text.partition(GENERATED_START)
    return below.partition(GENERATED_END)[0] if mark else text


def _shorten_merged(files: GeneratedFiles) -> None:
    """Leave in ``raw_memories.md`` what there is a raw memory for still."""
    place = files.place(MERGED_NAME)
    text = _text(read_or_none(place))
    if not text:
        return
    raws = load_raw_memories(files).values()
    parts = [render_memory(kept.header, kept.body) for kept in raws]
    left = sorted((part for part in parts if part in text), key=text.index)
    replace_text(place, "\n".join(left))


def _text(data: bytes | None) -> str:
    return decode_file(data or b"").text


def _bare_lines(text: str) -> Iterator[str]:
    bare = (without_refs(line).strip(" \t-*+.") for line in text.splitlines())
    return (line for line in bare if line)


def _lost(written: Written) -> frozenset[str]:
    """The lines that a file lost, whatever refs they had."""
    after = frozenset(_bare_lines(_text(written.after)))
    return frozenset(_bare_lines(_text(written.before))) - after
