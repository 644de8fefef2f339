"""The generated part of a file as headings and facts that can be moved.

Pure. What is not touched comes back line by line, blank ones included. Deliberately not
done: nothing here decides which facts there are to be.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Final

from openhands_memory.generation.support import refs_of, with_refs, without_refs
from openhands_memory.upkeep.document import BULLET, HEADING, Document, Entry, fact_key
from openhands_memory.upkeep.sections import Section, as_heading, sections_of

__all__ = [
    "Item",
    "Part",
    "Piece",
    "add_below",
    "in_order",
    "parse_part",
    "put_back",
    "render_part",
    "take_out",
    "titles_of",
    "without_empty",
]

#: A line and its end.
Piece = tuple[str, str]

#: What new facts without a heading stand under, where other facts have headings.
_NO_HEADING: Final = "Other"


@dataclass(eq=False, slots=True)
class Item:
    """A heading, a fact, or lines that are neither.

    Attributes: *kind* is ``heading``, ``bullet``, ``text`` or ``other``; *lines* are what
    it says, *pieces* what is written for it, *gap* the blank lines above; *place* says
    where it was read, so that neighbours are known; *key* is what the same fact elsewhere
    shares, whatever its refs; *is_new* that the file did not have it; *is_kept* that it
    is a person's.
    """

    kind: str
    lines: tuple[str, ...]
    pieces: tuple[Piece, ...]
    gap: tuple[Piece, ...] = ()
    place: tuple[str, int] = ("", -1)
    key: str = ""
    refs: tuple[str, ...] = ()
    is_new: bool = True
    is_kept: bool = False

    @property
    def is_fact(self) -> bool:
        return self.kind in ("bullet", "text")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def set_refs(self, refs: Iterable[str]) -> None:
        """Let *refs*, and no others, stand at its end."""
        at = _place_of_refs(self.lines)
        wanted = tuple(dict.fromkeys(refs))
        if at is None:
            return
        lines = list(self.lines)
        for number in _prose(self.lines):
            lines[number] = without_refs(lines[number])
        lines[at] = with_refs(lines[at], wanted)
        if tuple(lines) != self.lines:
            pairs = zip(lines, self.lines, self.pieces, strict=True)
            # A line of nothing but refs goes with them.
            left = [
                (new, end) for new, old, (_, end) in pairs if new.strip() or not old
            ]
            self.pieces = tuple(left)
            self.lines = tuple(line for line, _ in left)
        self.refs = wanted


@dataclass(eq=False, slots=True)
class Part:
    """What stands under one heading: facts, and *parts* with headings of their own.

    The root has no heading; *tail* are the blank lines at its end.
    """

    heading: Item | None = None
    depth: int = 0
    items: list[Item] = field(default_factory=list[Item])
    parts: list["Part"] = field(default_factory=list["Part"])
    tail: tuple[Piece, ...] = ()

    def __iter__(self) -> Iterator[Item]:
        """All items, headings included, in their order."""
        for part in self.all_parts():
            if part.heading:
                yield part.heading
            yield from part.items

    def all_parts(self) -> Iterator["Part"]:
        """This part and all below it, in their order."""
        todo: list[Part] = [self]
        while todo:
            part = todo.pop()
            yield part
            todo.extend(reversed(part.parts))

    @property
    def is_new(self) -> bool:
        """Whether a new fact stands in it."""
        return any(item.is_new for item in self if item.is_fact)


# --- Reading ----------------------------------------------------------------------------


def parse_part(
    document: Document, *, source: str, pieces: Sequence[Piece] | None = None
) -> Part:
    """Read *document*; *pieces*, if given, are written for its lines in their stead."""
    written = pieces or tuple(zip(document.lines, document.ends, strict=True))
    root = Part()
    above = [root]
    gap: list[Piece] = []
    number = 0
    for section in sections_of(document):
        for kind, first, last in _spans(section):
            lines = document.lines[first:last]
            if kind == "blank":
                gap += written[first:last]
                continue
            own = tuple(written[first:last])
            item = Item(kind, lines, own, tuple(gap), (source, number))
            gap.clear()
            number += 1
            if kind == "heading":
                part = Part(item, section.heading.depth if section.heading else 1)
                item.key = section.heading.key if section.heading else ""
                while above[-1].depth >= part.depth:
                    above.pop()
                above[-1].parts.append(part)
                above.append(part)
                continue
            item.key = _bare_key(lines)
            item.refs = _refs(lines) if item.is_fact else ()
            above[-1].items.append(item)
    root.tail = tuple(gap)
    return root


def _spans(section: Section) -> Iterator[tuple[str, int, int]]:
    """What stands in *section*, with indexes of the document's lines."""
    first = section.first_line - 1
    starts = {fact.line - 1: fact for fact in section.facts}
    at, end = first, first + len(section.lines)
    if section.heading and at < end:
        yield "heading", at, at + 1
        at += 1
    while at < end:
        if fact := starts.get(at):
            yield fact.kind, at, fact.end_line
            at = fact.end_line
        else:
            kind = "other" if section.lines[at - first][0].strip() else "blank"
            yield kind, at, at + 1
            at += 1


def _refs(lines: Sequence[str]) -> tuple[str, ...]:
    found = (ref for number in _prose(lines) for ref in refs_of(lines[number]))
    return tuple(dict.fromkeys(found))


def _bare_key(lines: Sequence[str]) -> str:
    bare = list(lines)
    for number in _prose(lines):
        bare[number] = without_refs(bare[number])
    return fact_key(Entry(0, 0, "\n".join(bare))).rstrip(".").rstrip()


def _prose(lines: Sequence[str]) -> list[int]:
    """Which of *lines* are no code: what looks like refs there is none."""
    code = Document(tuple(lines), ("\n",) * len(lines)).code
    return [number for number in range(len(lines)) if not code[number]]


def _place_of_refs(lines: Sequence[str]) -> int | None:
    """The line at whose end refs stand: that of the first sentence; None for no prose."""
    if lines[0].lstrip().startswith(("|", "<", "```", "~~~", "    ", "\t")):
        return None
    at = 0
    for below, line in enumerate(lines[1:], 1):
        is_other = BULLET.match(line) or line.lstrip().startswith(
            ("|", "<", "```", "~~~", ">")
        )
        if not line.strip() or is_other:
            break
        at = below
    return at


# --- Order ------------------------------------------------------------------------------


def add_below(
    root: Part, heading: str | None, items: Sequence[Item], titles: dict[str, Part]
) -> None:
    """Put *items* under *heading* in *root*, wherever that is, or at its end.

    *titles* are those of `titles_of`, and are kept up.
    """
    found = as_heading(heading) if heading else None
    if not heading or not found:
        root.items += items
    elif found.key in titles:
        titles[found.key].items += items
    else:
        depth = min((part.depth for part in root.parts), default=found.depth)
        title = HEADING.match(heading)
        line = f"{'#' * depth} {title[2] if title else heading}"
        part = Part(_new_heading(line, found.key), depth, list(items))
        root.parts.append(part)
        titles[found.key] = part


def titles_of(root: Part) -> dict[str, Part]:
    """The first part with each title, by what the same title elsewhere shares."""
    found: dict[str, Part] = {}
    for part in root.all_parts():
        if part.heading:
            found.setdefault(part.heading.key, part)
    return found


def _new_heading(line: str, key: str) -> Item:
    return Item("heading", (line,), ((line, ""),), (("", ""),), key=key)


def put_back(root: Part, old: Part, items: Set[Item]) -> None:
    """Put *items* of *old* where they belong in *root*: below their neighbours there."""
    homes: dict[Item | None, Part] = {
        p.heading: p for p in root.all_parts() if p.heading
    }
    above: list[Part] = []
    for part in old.all_parts():
        while above and above[-1].depth >= part.depth:
            above.pop()
        if part.heading:
            above.append(part)
        if part.heading not in items and items.isdisjoint(part.items):
            continue
        home = root
        for outer in above:
            if outer.heading not in homes:
                homes[outer.heading] = Part(outer.heading, outer.depth)
                home.parts.append(homes[outer.heading])
            home = homes[outer.heading]
        home.items = list(_with_back(home.items, part.items, items))


def _with_back(
    here: Sequence[Item], old: Sequence[Item], items: Set[Item]
) -> Iterator[Item]:
    stands = frozenset(here)
    below: dict[Item | None, list[Item]] = defaultdict(list)
    last: Item | None = None
    for item in old:
        if item in stands:
            last = item
        elif item in items:
            below[last].append(item)
    yield from below[None]
    for item in here:
        yield item
        yield from below.get(item, ())


def take_out(root: Part, gone: Set[Item]) -> None:
    """Remove the items *gone*; what stands below one has the blank lines above it."""
    for part in root.all_parts():
        left: list[Item] = []
        gap: tuple[Piece, ...] = ()
        for item in part.items:
            if item in gone:
                gap = gap or item.gap
                continue
            item.gap = item.gap or gap
            gap = ()
            left.append(item)
        part.items = left


def in_order(root: Part) -> None:
    """Let new facts stand below the others, and what holds any at the end.

    A new fact without a heading would stand above all that have one: it gets one.
    """
    homeless = [item for item in root.items if item.is_new and item.is_fact]
    if homeless and root.parts:
        going = frozenset(homeless)
        root.items = [item for item in root.items if item not in going]
        add_below(root, f"# {_NO_HEADING}", homeless, titles_of(root))
    for part in root.all_parts():
        part.items.sort(key=lambda item: item.is_new and item.is_fact)
        # A deeper heading below another one would become a part of that.
        if len({below.depth for below in part.parts}) == 1:
            part.parts.sort(key=lambda below: below.is_new)


def without_empty(part: Part, *, may_go: Iterable[Item]) -> None:
    """Remove headings of *may_go* that nothing stands under any more."""
    going = frozenset(may_go)
    for below in reversed(list(part.all_parts())):
        below.parts = [
            p for p in below.parts if p.items or p.parts or p.heading not in going
        ]


# --- Lines ------------------------------------------------------------------------------


def render_part(root: Part, newline: str) -> tuple[Piece, ...]:
    """The lines of *root*; those without an end get *newline*."""
    pieces: list[Piece] = []
    last: Item | None = None
    for item in root:
        gap = item.gap if last or item.place == ("before", 0) else ()
        if last and not gap and _would_join(last, item):
            gap = (("", newline),)
        pieces += (*gap, *item.pieces)
        last = item
    pieces += root.tail
    return tuple((line, end or newline) for line, end in pieces)


def _would_join(last: Item, item: Item) -> bool:
    """Whether *item* needs a blank line above, so as not to be a part of *last*."""
    if last.place[0] == item.place[0] and last.place[1] + 1 == item.place[1]:
        return False
    kinds = {last.kind, item.kind}
    return item.kind == "heading" or (
        last.kind != "heading" and bool(kinds & {"text", "other"})
    )
