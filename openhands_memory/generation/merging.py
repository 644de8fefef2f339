"""What the agent left of a file, merged with the file: the heart of consolidation.

Pure. Whatever the agent left, each byte outside the marks of the generated part is the
file's own, and so is each fact inside that a person wrote or edited. What is wrong with
the result is said, and whoever asked decides; the result is made in any case.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from openhands_memory.generation.matching import (
    as_document,
    match_old,
    read_agents_part,
)
from openhands_memory.generation.parts import (
    Item,
    Part,
    Piece,
    in_order,
    parse_part,
    put_back,
    render_part,
    take_out,
    without_empty,
)
from openhands_memory.generation.room import room_between, room_problem
from openhands_memory.generation.shown import (
    Marked,
    file_problem,
    mark_up,
    safe,
    show_file,
)
from openhands_memory.generation.support import (
    Refs,
    distinctive_words,
    holds_most,
    supporters,
)
from openhands_memory.upkeep.document import encode_file, parse_document

__all__ = ["Merged", "Rules", "digest_of", "merge"]

#: Fewer generated facts may all go at once.
_FEW_FACTS: Final = 4


class Rules(NamedTuple):
    """What a merge keeps to.

    Attributes: *name* is the file's; *room* are the characters that its whole text may
    take, None where it is not injected; *newest_last* lets new facts stand last; *fresh*
    are the refs of what was added or changed; *words* are those of the raw memories, by
    ref; *written* and *unwanted* are those of the last `Merged`, *written* None if that
    is not known; *mask* hides secrets.
    """

    name: str = "MEMORY.md"
    room: int | None = None
    newest_last: bool = True
    refs: Refs = Refs()
    fresh: tuple[str, ...] = ()
    words: Mapping[str, Collection[str]] = {}
    written: frozenset[str] | None = None
    unwanted: frozenset[str] = frozenset()
    mask: Callable[[str], str] = str


class Merged(NamedTuple):
    """A file as it would be.

    Attributes: *data* are its bytes, the very ones from before where nothing changed;
    *problems* are said to the agent, *notes* to a person; *new_text* is what the agent
    brought; *written* are digests of the generated lines and facts, *unwanted* those of
    facts that a person took out of the generated part.
    """

    data: bytes | None
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    new_text: str = ""
    written: frozenset[str] = frozenset()
    unwanted: frozenset[str] = frozenset()


def digest_of(name: str, kind: str, text: str) -> str:
    """A digest of *text* in the file *name*; *kind* tells what the text is."""
    data = text.encode("utf-8", "backslashreplace")
    return f"{name}:{kind}:{sha256(data).hexdigest()[:16]}"


def merge(before: bytes | None, shown: str, after: str, *, rules: Rules) -> Merged:
    """*before* with what the agent made of what it was *shown*, which is *after*.

    What removed rollouts alone supported goes, be it left or not; what a person wrote
    stays, be it left or not.
    """
    if problem := file_problem(before):
        return Merged(before, (f"{rules.name} {problem}.",))
    marked = mark_up(before)
    lines = parse_document(shown).lines
    if len(lines) != len(marked.document.lines):
        lines = parse_document(show_file(before, rules.mask)).lines
    old = _Old(marked, lines, rules)
    rules = rules._replace(refs=rules.refs.with_others(old.refs))
    root = read_agents_part(parse_document(safe(after, rules.mask)), old.persons)
    found = match_old(root, old.root, rules.refs)
    notes = [
        *_admit_new(root, old, rules),
        *_keep_old(root, old, found, rules),
    ]
    without_empty(root, may_go=(h for h in old.root if h not in old.bare_headings))
    if rules.newest_last:
        in_order(root)
    return _result(before, root, old, rules, notes)


# --- What was there -----------------------------------------------------------------------


class _Old:
    """The file before: its generated part, and what is known about that.

    Attributes: *root* is the generated part, as it was shown and with the file's bytes;
    *facts* are its facts with the refs that they had; *persons* are the lines outside as
    they were shown; *unwanted* are digests of facts that shall not come again.
    """

    def __init__(self, marked: Marked, shown: Sequence[str], rules: Rules) -> None:
        inside = range(marked.start, marked.stop)
        document = marked.document
        self.marked = marked
        self.pieces: tuple[Piece, ...] = tuple(
            (document.lines[n], document.ends[n] or marked.newline) for n in inside
        )
        lines = as_document(shown[n] for n in inside)
        self.left_open = lines.fences.left_open is not None
        self.root = parse_part(lines, source="before", pieces=self.pieces)
        self.persons = [shown[n] for n in marked.outside]
        persons = parse_part(as_document(self.persons), source="person")
        self.persons_keys = [item.key for item in persons if item.is_fact]
        for item in self.root:
            item.is_new = False
            item.is_kept = _is_a_persons(item, rules)
        self.facts = {item: item.refs for item in self.root if item.is_fact}
        self.bare_headings = frozenset(
            part.heading
            for part in self.root.all_parts()
            if part.heading and (part.heading.is_kept or not (part.items or part.parts))
        )
        self.unwanted = self._unwanted(rules)

    @property
    def refs(self) -> Iterator[str]:
        """All refs that stand in the generated part."""
        return (ref for refs in self.facts.values() for ref in refs)

    def _unwanted(self, rules: Rules) -> frozenset[str]:
        start = digest_of(rules.name, "fact", "").rpartition(":")[0]
        known = (rules.written or frozenset()) | rules.unwanted
        here = (*(item.key for item in self.facts), *self.persons_keys)
        facts = {digest for digest in known if digest.startswith(f"{start}:")}
        return frozenset(facts - {digest_of(rules.name, "fact", key) for key in here})


def _is_a_persons(item: Item, rules: Rules) -> bool:
    """Whether a person wrote or edited *item* since it was generated."""
    return rules.written is not None and any(
        digest_of(rules.name, "line", line.rstrip()) not in rules.written
        for line, _ in item.pieces
        if line.strip()
    )


# --- What comes and what goes -------------------------------------------------------------


def _admit_new(root: Part, old: _Old, rules: Rules) -> Iterator[str]:
    """Let those new facts in that say something new, and only those; say how many not."""
    known = {i.key: i for i in root if i.is_fact and not i.is_new}
    staying = (i for i in old.facts if i.is_kept or known.get(i.key) is i)
    stays = [i.key for i in staying if i.is_kept or not _lost_support(i, rules)]
    stands = _Keys([*old.persons_keys, *stays])
    refused: set[Item] = set()
    counts: Counter[str] = Counter()
    # The longest first: a shorter one may be contained in it.
    for item in sorted(root, key=lambda item: -len(item.key)):
        if not item.is_new or item.kind == "heading":
            continue
        reason = "" if item.is_fact and item.key else "no fact"
        kept = rules.refs.without_removed(item.refs)
        if _lost_support(item, rules):
            reason = "only removed rollouts support them"
        elif digest_of(rules.name, "fact", item.key) in old.unwanted:
            reason = "a person had removed them"
        elif item.key in known or item.key in stands:
            reason = "they were there already"
            _add_support(known.get(item.key), kept, rules)
        if reason:
            refused.add(item)
            counts[reason] += 1
        else:
            stands.add(item.key)
            _finish_new(item, rules)
    for part in root.all_parts():
        part.items = [item for item in part.items if item not in refused]
    for reason in sorted(counts.keys() - {"no fact"}):
        yield f"{counts[reason]} new facts were left out: {reason}"


class _Keys:
    """Keys of facts, and whether one of them is, or contains, another."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.text = "\0".join(keys)

    def add(self, key: str) -> None:
        self.text += f"\0{key}"

    def __contains__(self, key: str) -> bool:
        if key not in self.text:
            return False
        return re.search(rf"(?<!\w){re.escape(key)}(?!\w)", self.text) is not None


def _add_support(item: Item | None, refs: Sequence[str], rules: Rules) -> None:
    if item and not item.is_kept and (more := rules.refs.known(refs)):
        item.set_refs((*item.refs, *more))


def _finish_new(item: Item, rules: Rules) -> None:
    """Bring a new fact in line: nothing before its marker, and the refs of its support."""
    first = item.lines[0]
    indent = len(first) - len(first.lstrip())
    lines = tuple(line[_indent(line, indent) :].rstrip() for line in item.lines)
    item.lines = lines
    item.pieces = tuple((line, "") for line in lines)
    item.gap, item.place = (), ("", -1)
    if rules.refs.unknown(item.refs):
        return  # that is told, and not corrected here
    refs = rules.refs.known(item.refs)
    refs = refs or supporters(item.key, rules.words, fresh=rules.fresh)
    if refs:
        item.set_refs(refs)


def _indent(line: str, most: int) -> int:
    return min(most, len(line) - len(line.lstrip()))


def _keep_old(
    root: Part, old: _Old, found: frozenset[Item], rules: Rules
) -> Iterator[str]:
    """Let go what only removed rollouts support, and put back what must not go."""
    new = [(i, distinctive_words(i.key)) for i in root if i.is_fact and i.is_new]
    generated = [item for item in old.root if not item.is_kept]
    gone = frozenset(item for item in generated if _lost_support(item, rules))
    lost = [i for i in old.root if i not in found and i not in gone]
    back = frozenset(item for item in lost if _must_stay(item, new, rules))
    put_back(root, old.root, back)
    for item in generated:
        kept = rules.refs.without_removed(item.refs)
        if item not in gone and kept != item.refs:
            item.set_refs(kept)
    take_out(root, gone)
    if back:
        yield f"put back: {_count(back)} of a person's, or with other support"
    if rules.written is None and len(lost) > len(back):
        yield (
            f"changed or removed: {_count(set(lost) - back)}; whether a person had edited any "
            "of that is not known"
        )


def _count(items: Collection[Item]) -> str:
    return "1 line" if len(items) == 1 else f"{len(items)} lines"


def _lost_support(item: Item, rules: Rules) -> bool:
    """Whether all rollouts that support *item* were removed."""
    return bool(item.refs) and not rules.refs.without_removed(item.refs)


def _must_stay(
    item: Item, new: Sequence[tuple[Item, frozenset[str]]], rules: Rules
) -> bool:
    """Whether the agent must not let *item* go.

    It is a person's, or lost only a part of its support, and no new wording came for it.
    """
    if item.is_kept:
        return True
    kept = set(rules.refs.without_removed(item.refs))
    if not item.is_fact or not kept or len(kept) == len(item.refs):
        return False
    words = distinctive_words(item.key)
    known = set(rules.refs.known(kept)) or kept
    return not any(known & set(i.refs) and holds_most(w, words) for i, w in new)


# --- The result ---------------------------------------------------------------------------


def _result(
    before: bytes | None, root: Part, old: _Old, rules: Rules, notes: list[str]
) -> Merged:
    marked = old.marked
    inside = render_part(root, marked.newline)
    data = before if inside == old.pieces else _bytes(marked, inside)
    problems = [*_unknown_refs(root, rules), *_losses(root, old, rules)]
    if data != before:
        fits, remark = room_problem(marked, (line for line, _ in inside), rules.room)
        problems += fits
        notes += remark
        text = as_document(line for line, _ in inside)
        if text.fences.left_open is not None and not old.left_open:
            problems.append("a code fence in the generated part never closes")
    new = [item.text for item in root if item.is_new]
    return Merged(
        data,
        tuple(f"{rules.name}: {problem}." for problem in problems),
        tuple(f"{rules.name}: {note}." for note in notes),
        "\n".join(new),
        _written(root, rules),
        old.unwanted,
    )


def _bytes(marked: Marked, inside: Sequence[Piece]) -> bytes:
    document = marked.document
    outside = list(zip(document.lines, document.ends, strict=True))
    above, below = outside[: marked.start], outside[marked.stop :]
    last = above[-1][1]
    text = [line + end for line, end in above]
    for line, end in inside:
        # A blank line below a lone CR would make it a CRLF.
        joins = last == "\r" and not line and end.startswith("\n")
        last = "\r" if joins else end
        text += (line, last)
    text += [line + end for line, end in below]
    return encode_file(marked.file, "".join(text))


def _written(root: Part, rules: Rules) -> frozenset[str]:
    generated = [item for item in root if not item.is_kept]
    facts = (
        digest_of(rules.name, "fact", item.key) for item in generated if item.is_fact
    )
    lines = (
        digest_of(rules.name, "line", line.rstrip())
        for item in generated
        for line, _ in item.pieces
        if line.strip()
    )
    return frozenset((*facts, *lines))


# --- What is wrong with it ------------------------------------------------------------------


def _unknown_refs(root: Part, rules: Rules) -> Iterator[str]:
    new = (item for item in root if item.is_fact and item.is_new)
    unknown = dict.fromkeys(r for item in new for r in rules.refs.unknown(item.refs))
    if unknown:
        shown = ", ".join(f"[^{ref[:40]}]" for ref in list(unknown)[:5])
        yield f"no rollout has the ref {shown}; use the refs of the task"


def _losses(root: Part, old: _Old, rules: Rules) -> Iterator[str]:
    """More than half of what was generated must not go at once, but to make room."""
    base = [
        (item, distinctive_words(item.key))
        for item, refs in old.facts.items()
        if not item.is_kept and (not refs or rules.refs.without_removed(refs))
    ]
    if len(base) < _FEW_FACTS:
        return
    here = frozenset(root)
    words = [distinctive_words(i.key) for i in root if i.is_fact and i.is_new]
    left = sum(
        item in here or any(holds_most(text, fact) for text in words)
        for item, fact in base
    )
    takes = sum(len(line) + 1 for line, _ in old.pieces)
    fits = min(1.0, room_between(old.marked, rules.room) / max(1, takes))
    if left < len(base) / 2 * fits:
        yield (
            f"only {left} of {len(base)} generated facts are left that are still supported; "
            "keep them, and merge or correct single ones"
        )
