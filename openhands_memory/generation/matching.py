"""What of the agent's text is the agent's, and which of it the file had before.

Pure. A line outside the marks that is one of the person's is theirs, wherever it stands
now; all else is the agent's, and goes inside. What the file had is taken from the file,
with its own bytes.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from textwrap import dedent

from openhands_memory.generation.parts import (
    Item,
    Part,
    add_below,
    parse_part,
    titles_of,
)
from openhands_memory.generation.shown import MARKS
from openhands_memory.generation.support import Refs
from openhands_memory.upkeep.document import HEADING, Document

__all__ = ["as_document", "match_old", "read_agents_part"]


def as_document(lines: Iterable[str]) -> Document:
    r"""*lines* as a document, each with a ``\n``."""
    held = tuple(lines)
    return Document(held, ("\n",) * len(held))


def read_agents_part(after: Document, persons: Sequence[str]) -> Part:
    """What the agent wrote in *after*, where lines of *persons* are a person's.

    What stands outside the marks is moved to the end, with the heading above it unless
    that is a title of the whole file.
    """
    inside, outside = _zones(after, persons)
    root = parse_part(as_document(inside), source="after")
    titles = frozenset(line.rstrip() for line in persons if line.startswith("# "))
    known = titles_of(root)
    for zone in outside:
        for part in parse_part(as_document(zone), source="outside").all_parts():
            heading = part.heading.lines[0].rstrip() if part.heading else None
            heading = None if heading in titles else heading
            if part.items:
                add_below(root, heading, part.items, known)
    return root


def _zones(
    after: Document, persons: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """The agent's lines inside the marks, and those above and below them.

    Without a pair of marks all that is not a person's counts as inside.
    """
    generated = after.generated
    end = after.lines[generated.stop : generated.stop + 1]
    left = Counter(line.rstrip() for line in persons if line.strip())
    if not generated.start or not end or end[0].strip() not in MARKS:
        return _left_aligned(_without(after.lines, left, keep_headings=False)), []
    above = _left_aligned(_without(after.lines[: generated.start], left))
    below = _left_aligned(_without(after.lines[generated.stop :], left))
    return list(after.lines[generated.start : generated.stop]), [above, below]


def _without(
    lines: Iterable[str], left: Counter[str], *, keep_headings: bool = True
) -> Iterator[str]:
    """*lines* with a blank one for each mark and each that is *left* of a person's."""
    for line in lines:
        key = line.rstrip()
        if left[key]:
            left[key] -= 1
            yield line if keep_headings and HEADING.match(line) else ""
        else:
            yield "" if key.strip() in MARKS else line


def _left_aligned(lines: Iterable[str]) -> list[str]:
    """*lines* where what lost the line that it was nested in stands at the margin."""
    found: list[str] = []
    for has_text, run in groupby(lines, key=lambda line: bool(line.strip())):
        block = "\n".join(run)
        found += (dedent(block) if has_text else block).split("\n")
    return found


def match_old(root: Part, old: Part, refs: Refs) -> frozenset[Item]:
    """Put the items of *old* in place of those of *root* that say the same.

    Where only the refs are others, the old item gets those that *refs* knows. Returns
    the items that were found.
    """
    found: set[Item] = set()
    for by_key in (False, True):
        known: dict[tuple[str, ...], deque[Item]] = defaultdict(deque)
        for item in old:
            if item not in found and (item.key or not by_key):
                known[_name(item, by_key=by_key)].append(item)
        for part in list(root.all_parts()):
            if part.heading and part.heading not in found:
                part.heading = _twin(part.heading, known, by_key, found)
            for at, item in enumerate(part.items):
                if item in found:
                    continue
                twin = part.items[at] = _twin(item, known, by_key, found)
                if twin is not item and by_key and item.refs and not twin.is_kept:
                    twin.set_refs(refs.known(item.refs) or twin.refs)
    root.tail = old.tail
    return frozenset(found)


def _twin(
    item: Item,
    known: dict[tuple[str, ...], deque[Item]],
    by_key: bool,
    found: set[Item],
) -> Item:
    twins = known.get(_name(item, by_key=by_key))
    if not twins:
        return item
    twin = twins.popleft()
    found.add(twin)
    return twin


def _name(item: Item, *, by_key: bool) -> tuple[str, ...]:
    """What the same item has; the same lines, or a fact without its refs."""
    if by_key and item.is_fact:
        return ("fact", item.key)
    return (item.kind, *chain(line.rstrip() for line in item.lines))
