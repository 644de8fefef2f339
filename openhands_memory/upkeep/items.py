"""Facts cut smaller: each bullet of a list within a list by itself.

Pure. `sections` keeps a bullet with all that is nested below it; here each one is an
item, with its own lines and with those below it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from openhands_memory.upkeep.document import BULLET, Document, render_document
from openhands_memory.upkeep.sections import Fact, facts_of

__all__ = ["Item", "items_of", "without_item"]


class Item(NamedTuple):
    """A bullet or paragraph.

    Attributes: *line* to *own_end* are its own lines, *line* to *end_line* also those of
    the bullets below it, all numbered from 1; *text* is its own, on one line, without
    its marker; *above* are the texts of the bullets that it is nested in.
    """

    line: int
    own_end: int
    end_line: int
    text: str
    fact: Fact
    above: tuple[str, ...] = ()
    leaf: bool = True


def items_of(document: Document) -> Iterator[Item]:
    """All items, in their order."""
    for fact in facts_of(document):
        yield from _items(document, fact)


def _items(document: Document, fact: Fact) -> Iterator[Item]:
    starts = [
        line
        for line in range(fact.line, fact.end_line + 1)
        if line == fact.line or _begins(document, line, fact)
    ]
    depths = [_indent(document.lines[line - 1]) for line in starts]
    ends = [*starts[1:], fact.end_line + 1]
    lasts = _ends_with_nested(starts, depths, fact.end_line)
    above: list[tuple[int, str]] = []
    for number, (line, end) in enumerate(zip(starts, ends, strict=True)):
        depth, last = depths[number], lasts[number]
        above = [(d, text) for d, text in above if d < depth]
        text = _folded(document, line, end)
        texts = tuple(text for _, text in above)
        leaf = number + 1 == len(starts) or depths[number + 1] <= depth
        yield Item(
            line,
            _last_full(document, line, end - 1),
            _last_full(document, line, last),
            text,
            fact,
            texts,
            leaf,
        )
        above.append((depth, text))


def _ends_with_nested(starts: list[int], depths: list[int], end: int) -> list[int]:
    """The last line before a bullet that is not nested deeper, for each one."""
    lasts = [end] * len(starts)
    waiting: list[int] = []
    for number, depth in enumerate(depths):
        while waiting and depths[waiting[-1]] >= depth:
            lasts[waiting.pop()] = starts[number] - 1
        waiting.append(number)
    return lasts


def _begins(document: Document, line: int, fact: Fact) -> bool:
    nested = fact.kind == "bullet" and not document.code[line - 1]
    return nested and bool(BULLET.match(document.lines[line - 1]))


def _indent(line: str) -> int:
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip())


def _folded(document: Document, line: int, end: int) -> str:
    first, *more = document.lines[line - 1 : end - 1]
    return " ".join(" ".join([BULLET.sub("", first, count=1), *more]).split())


def _last_full(document: Document, line: int, last: int) -> int:
    while last > line and not document.lines[last - 1].strip():
        last -= 1
    return last


def without_item(document: Document, item: Item) -> str:
    """The text of *document* without *item* and what is nested in it."""
    cut = slice(item.line - 1, item.end_line)
    lines, ends = list(document.lines), list(document.ends)
    del lines[cut], ends[cut]
    return render_document(Document(tuple(lines), tuple(ends)))
