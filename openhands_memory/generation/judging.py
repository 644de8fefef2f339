"""What is taken of the consolidating agent's work.

Pure. A result is accepted as a whole or not at all, and nothing is written here.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from openhands_memory.generation.guards import (
    missing_paths,
    path_problems,
    secret_problems,
)
from openhands_memory.generation.mentions import (
    Names,
    mend_part,
    mend_text,
    names_after,
)
from openhands_memory.generation.merging import Merged, Rules, digest_of, merge
from openhands_memory.generation.room import room_problem
from openhands_memory.generation.selection import Consolidated, Selected, Selection
from openhands_memory.generation.shown import MARKS, file_problem, mark_up, safe
from openhands_memory.generation.skills import (
    is_skill,
    skill_name,
    skill_problem,
    with_sources,
    without_removed,
)
from openhands_memory.generation.support import Refs, distinctive_words, supporters
from openhands_memory.layout import SKILLS, GeneratedFiles

__all__ = ["Verdict", "digest_of_file", "judge"]

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

    *raws* are the bodies of the selected raw memories by ref; *room* are the characters that the whole
    text of the index may take.
    """
    rules = Rules(
        refs=Refs(_ids(selection.selected), _ids(selection.removed)),
        fresh=tuple(s.ref for s in (*selection.added, *selection.changed)),
        words={ref: distinctive_words(text) for ref, text in raws.items()},
        written=last.written,
        unwanted=last.unwanted,
        mask=mask,
    )
    names = names_after(selection, last, after.keys())
    work = _Judged(before, shown, after, rules, last, names)
    is_asked = bool(selection.added or selection.changed)
    for name in files.written:
        is_index = name == files.index_name
        work.judge_index(
            rules._replace(
                name=name,
                room=room if is_index else None,
                newest_last=is_index and files.handbook_name is None,
            ),
            may_be_empty=not is_asked,
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
    for name in files.written:
        work.settle_names(
            name, room if name == files.index_name else None, is_asked=is_asked
        )
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
        names: Names,
    ) -> None:
        self.before = before
        self.shown = shown
        self.after = after
        self.rules = rules
        self.last = last
        self.names = names
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
        new_text = mend_text(merged.new_text, self.names.without_gone())
        self.problems += path_problems(name, new_text, self.after.keys())

    def _take_index(self, name: str, merged: Merged, data: bytes | None) -> None:
        if merged.data is not None and merged.data != data:
            self.files[name] = merged.data
        self.problems += merged.problems
        self.notes += merged.notes
        self.written |= merged.written
        self.unwanted |= merged.unwanted

    def settle_names(self, name: str, room: int | None, *, is_asked: bool) -> None:
        """Call files in the generated part of an index as they are now.

        Of the others that it names, those that are not there are told.
        """
        data = self.files.get(name, self.before.get(name))
        if data is None or file_problem(data):
            return
        gone = [path for path, left in self.files.items() if left is None]
        names = self.names.without(gone)
        mended = mend_part(name, data, self.written, names)
        if len(mended.data) > len(data) and not _fits(mended.data, room):
            mended = mend_part(name, data, self.written, names.without_new())
        if mended.data != data:
            self.files[name] = mended.data
            self.written = (self.written - mended.gone) | mended.new
        marked = mark_up(mended.data)
        lines = marked.document.lines[marked.start : marked.stop]
        present = {*self.after, *self.before} - {*gone}
        for path in missing_paths("\n".join(lines), present):
            theirs = (line for line in lines if path in line)
            digests = {digest_of(name, "line", line.rstrip()) for line in theirs}
            # What others' conversations left, whose files came with no clone, is right.
            if is_asked and digests <= self.written and path.startswith(f"{SKILLS}/"):
                self.problems += path_problems(name, path, present)
            else:
                self.notes.append(
                    f"{name}: names {path[:100]}, which was not there to be read."
                )

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
            text = mend_text(text, self.names.without_gone())
            self.problems += path_problems(path, text, self.after.keys())
            rules = self.rules
            refs = supporters(text, rules.words) or rules.fresh[:_MOST_SOURCES]
            self.files[path] = with_sources(safe(text, mask), refs).encode()

    def settle_skills(self) -> None:
        """Let skills go that only removed rollouts support; remember what is ours."""
        for path, data in self.before.items():
            if data is None or not is_skill(path) or not self._is_ours(path, data):
                continue
            text = self.files.get(path, data) or b""
            left = without_removed(text, self.rules.refs)
            left = left and self._with_names(left)
            if left != text:
                self.files[path] = left
            elif path not in self.files:
                self.written.add(digest_of_file(path, data))
        self.written |= {
            digest_of_file(path, data)
            for path, data in self.files.items()
            if data is not None and is_skill(path)
        }

    def _with_names(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        return mend_text(text, self.names).encode("utf-8", "surrogateescape")

    def _is_ours(self, path: str, data: bytes) -> bool:
        """Whether consolidation wrote the skill's file, and nobody edited it since."""
        written = self.last.written
        is_known = written is None or digest_of_file(path, data) in written
        return skill_name(path) in self.last.skills and is_known


def _fits(data: bytes, room: int | None) -> bool:
    marked = mark_up(data)
    lines = marked.document.lines[marked.start : marked.stop]
    return not room_problem(marked, lines, room)[0]


def digest_of_file(path: str, data: bytes) -> str:
    """A digest of a skill's file, as `Consolidated.written` holds it."""
    return digest_of(path, "file", data.decode("utf-8", "backslashreplace"))
