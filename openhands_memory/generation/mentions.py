"""Names of our files in generated lines, kept right as the files are renamed or go.

Pure. Only what was generated, and nobody edited since, is touched: a new name takes the
place of the old one, and a name that leads nowhere goes, with the "see" in front of it
and the parentheses around it. Deliberately not done: no other word is changed.
"""

import re
from collections.abc import Callable, Collection, Mapping, Set
from typing import Final, NamedTuple

from openhands_memory.generation.guards import OUR_PATH, named_path
from openhands_memory.generation.matching import as_document
from openhands_memory.generation.merging import digest_of
from openhands_memory.generation.parts import (
    Item,
    parse_part,
    render_part,
    take_out,
    without_empty,
)
from openhands_memory.generation.selection import Consolidated, Selection
from openhands_memory.generation.shown import mark_up
from openhands_memory.generation.support import refs_of, with_refs, without_refs
from openhands_memory.layout import RAW_MEMORIES, SUMMARIES
from openhands_memory.upkeep.document import encode_file

__all__ = ["Mended", "Names", "mend_part", "mend_text", "names_after"]

#: A summary's name tells whose it is if the id is no short word, which others begin with.
_LONG: Final = 16


class Names(NamedTuple):
    """What files are called now.

    Attributes: *now* are the names of those that were renamed, by the old ones, None for
    one that is gone; *summaries* are those of the rollouts that are known, by their ids,
    None for what was removed; *present* are the files that are there.
    """

    now: Mapping[str, str | None] = {}
    summaries: Mapping[str, str | None] = {}
    present: Collection[str] = ()

    def of(self, path: str) -> str | None:
        """What the file at *path* is called now; None if it is gone."""
        if path in self.now:
            return self.now[path]
        folder, _, name = path.partition("/")
        if path in self.present or folder != SUMMARIES:
            return path
        owners = (i for i in self.summaries if name.startswith(f"{i}_"))
        owner = max(owners, key=len, default="")
        return self.summaries[owner] if len(owner) >= _LONG else path

    def without(self, paths: Collection[str]) -> "Names":
        """These, where the files at *paths* are gone, too."""
        return self._replace(now={**self.now, **dict.fromkeys(paths)})

    def without_new(self) -> "Names":
        """These, where what was renamed counts as gone."""
        return self._replace(
            now=dict.fromkeys(self.now), summaries=dict.fromkeys(self.summaries)
        )

    def without_gone(self) -> "Names":
        """Only what was renamed."""
        return self._replace(
            now={old: new for old, new in self.now.items() if new},
            summaries={i: new for i, new in self.summaries.items() if new},
        )


def names_after(
    selection: Selection, last: Consolidated, present: Collection[str]
) -> Names:
    """What the files of the rollouts are called since the *last* consolidation."""
    selected = {s.rollout_id: s.header.rollout_summary_file for s in selection.selected}
    summaries: dict[str, str | None] = {
        i: name for i, name in selected.items() if name in present
    }
    now: dict[str, str | None] = {}
    for item in selection.removed:
        summaries[item.rollout_id] = None
        now[f"{RAW_MEMORIES}/{item.rollout_id}.md"] = None
    for item in (*last.selected, *selection.removed):
        old = item.header.rollout_summary_file
        if old and old not in present and item.rollout_id in summaries:
            now[old] = summaries[item.rollout_id]
    return Names(now, summaries, present)


# --- Texts --------------------------------------------------------------------------------


def mend_text(text: str, names: Names) -> str:
    """*text* with the files called as they are now; a line that says no more stays."""
    if not OUR_PATH.search(text):
        return text
    lines = text.split("\n")
    return "\n".join(_mend_line(line, names) for line in lines)


class Mended(NamedTuple):
    """A file's bytes, and the digests that go and come with what was mended in it."""

    data: bytes
    gone: frozenset[str] = frozenset()
    new: frozenset[str] = frozenset()


def mend_part(name: str, data: bytes, written: Set[str], names: Names) -> Mended:
    """The generated part of *data*, the bytes of *name*; *written* tells what is ours."""
    marked = mark_up(data)
    document, inside = marked.document, range(marked.start, marked.stop)
    lines = [document.lines[n] for n in inside]
    if not OUR_PATH.search("\n".join(lines)):
        return Mended(data)
    pieces = tuple((document.lines[n], document.ends[n]) for n in inside)
    root = parse_part(as_document(lines), source="before", pieces=pieces)
    bare = [p.heading for p in root.all_parts() if p.heading and not p.items]
    before, after = frozenset[str](), frozenset[str]()
    gone: set[Item] = set()
    mended: set[tuple[str, ...]] = set()
    for item in root:
        old = _digests(name, item.lines, item.key if item.is_fact else None)
        told = frozenset(digest for digest in old if ":line:" in digest)
        if item.kind == "heading" or not told <= written:
            continue
        if not (left := _mend_item(item, names)):
            gone.add(item)
            before |= old
            continue
        if left == item.lines:
            continue
        before, after = before | old, after | _digests(name, left, _key_of(left))
        ends = (end for _, end in item.pieces)
        mended.add(left)
        item.lines, item.pieces = left, tuple(zip(left, ends, strict=False))
    if not before:
        return Mended(data)
    take_out(root, gone)
    without_empty(root, may_go=(item for item in root if item not in bare))
    whole = list(zip(document.lines, document.ends, strict=True))
    part = render_part(root, marked.newline)
    text, last = "", ""
    for line, end in (*whole[: marked.start], *part, *whole[marked.stop :]):
        # A blank line below a lone CR would make it a CRLF.
        last = "\r" if last == "\r" and not line and end == "\n" else end
        text += line + last
    # The same line may stand elsewhere, in a fact that was not touched.
    stays = (_digests(name, i.lines, i.key) for i in root if i.lines not in mended)
    before -= frozenset[str]().union(*stays)
    return Mended(encode_file(marked.file, text), before, after)


def _digests(name: str, lines: tuple[str, ...], key: str | None) -> frozenset[str]:
    told = (digest_of(name, "line", line.rstrip()) for line in lines if line.strip())
    return frozenset((*told, *([] if key is None else [digest_of(name, "fact", key)])))


def _key_of(lines: tuple[str, ...]) -> str | None:
    items = parse_part(as_document(lines), source="before")
    return next((item.key for item in items if item.is_fact), None)


def _mend_item(item: Item, names: Names) -> tuple[str, ...]:
    """The lines of *item* with the files called as they are now; none if that is all."""
    left = [(line, _mend_line(line, names)) for line in item.lines]
    kept = [new for old, new in left if new == old or _says_something(new)]
    if kept and left[0][1] != left[0][0] and not _says_something(left[0][1]):
        return tuple(new for _, new in left)  # what is nested needs what it stands in
    return tuple(kept)


_BULLET: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])?\s*")


def _says_something(line: str) -> bool:
    text = without_refs(line)
    return re.search(r"\w", _BULLET.sub("", text, count=1)) is not None


# --- Lines --------------------------------------------------------------------------------

#: Stands for a name that goes; no text that we show holds it.
_GONE: Final = "\0"
#: Words that say no more than that something is to be read.
_LEAD: Final = (
    r"(?:\b(?:for|more|details?|evidence|sources?|see|also|cf|from|in|at|the|summary)\b"
    r"[.:]?[ \t]*)+"
)
_SEPARATOR: Final = r"[ \t]*(?:,|;|&|\band\b|\bor\b)[ \t]*"
#: From the whole to its parts; what is left of a name goes in any case.
_EMPTY: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), new)
    for pattern, new in (
        (rf"(?:[a-z]+:/)?~?/{_GONE}", _GONE),
        (rf"{_GONE}(?:#[\w-]+|:\d+)", _GONE),
        (rf"[`<*]+{_GONE}[`>*]+", _GONE),
        (rf"\[{_GONE}\]\({_GONE}\)", _GONE),
        (rf"\[([^\[\]{_GONE}]*)\]\({_GONE}\)", r"\1"),
        (rf"{_GONE}(?:{_SEPARATOR}{_GONE})+", _GONE),
        (rf"{_GONE}{_SEPARATOR}(?=[`\[<]?[\w./-]*(?:{SUMMARIES}|{RAW_MEMORIES})/)", ""),
        (rf"(?<=\.md)([`>]?){_SEPARATOR}{_GONE}", r"\1"),
        (rf"[ \t]*[(\[][ \t]*(?:{_LEAD})?{_GONE}[ \t]*[.]?[)\]]", ""),
        (
            rf"[ \t]*[,;:(–—-]*[ \t]*\b(?:see(?: also)?|cf\.?|details?(?: in)?:?|"
            rf"sources?:|evidence:|summary:)[ \t]*{_GONE}(?=[ \t]*(?:[.,;)]|$))",
            "",
        ),
        (rf"[ \t]*[,;:–—-]*[ \t]*{_GONE}(?=[ \t]*[.]?[ \t]*$)", ""),
        (rf"[ \t]+{_GONE}(?=[ \t,;.)])", ""),
        (rf"{_GONE}[ \t]*", ""),
    )
)


def _mend_line(line: str, names: Names) -> str:
    """*line* with the files called as they are now."""
    if not OUR_PATH.search(line):
        return line
    renamed = OUR_PATH.sub(_calling(names), line.replace(_GONE, ""))
    if _GONE not in renamed:
        return renamed if renamed != line.replace(_GONE, "") else line
    text, refs = without_refs(renamed), refs_of(renamed)
    start = _BULLET.match(text)
    at = start.end() if start else 0
    marker, rest = text[:at], text[at:]
    for pattern, new in _EMPTY:
        rest = pattern.sub(new, rest)
    return with_refs(marker + rest.rstrip(), refs)


def _calling(names: Names) -> Callable[[re.Match[str]], str]:
    def called(found: re.Match[str]) -> str:
        path = named_path(found)
        if path is None or (now := names.of(path)) == path:
            return found[0]
        return _GONE if now is None else found[0].replace(path, now)

    return called
