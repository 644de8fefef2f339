"""Facts of one memory file brought into another: once, in their order, below their
headings.

Pure: bytes in, bytes out. What stands here is never moved or changed, and the result is
read again before it is handed out: it holds all that was here and all that came, or
there is none.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from openhands_memory.errors import MemoryToolError
from openhands_memory.upkeep.document import (
    Document,
    decode_file,
    encode_file,
    parse_document,
    render_document,
)
from openhands_memory.upkeep.sections import (
    Fact,
    Section,
    facts_of,
    sections_of,
)

__all__ = [
    "Brought",
    "TransferRefusedError",
    "bring_facts",
    "bring_in",
    "facts_in",
    "newline_of",
]


class TransferRefusedError(MemoryToolError, ValueError):
    """A file's facts cannot be told apart safely; the message says why."""


class Brought(NamedTuple):
    """What came of it: the new bytes, the facts *taken*, and how many were here."""

    data: bytes | None
    taken: tuple[Fact, ...]
    present: int


def facts_in(data: bytes) -> list[Fact]:
    """All facts of a file's bytes, in their order.

    Raises:
        TransferRefusedError: It is no text, or its code never ends.
    """
    return facts_of(parse_document(_text_of(data)))


def bring_in(mine: bytes | None, theirs: bytes) -> Brought:
    """*mine* with the facts of *theirs* that it does not have.

    A file that is not here is taken as it is, unless there is no fact in it.

    Raises:
        TransferRefusedError: Either cannot be read or joined; nothing is changed.
    """
    facts = facts_in(theirs)
    if mine is None:
        return Brought(theirs if facts else None, tuple(facts), 0)
    return bring_facts(mine, facts)


def bring_facts(mine: bytes | None, facts: Sequence[Fact]) -> Brought:
    """*mine* with those of *facts* that it does not have yet, each one once.

    Each goes to the end of its own heading's part, and the heading is brought along if
    there is none; facts without one go to those without one, or else to the end.

    Raises:
        TransferRefusedError: The facts cannot be joined; nothing is changed.
    """
    data = mine or b""
    file = decode_file(data)
    try:
        here = parse_document(_text_of(data))
    except TransferRefusedError as error:
        raise TransferRefusedError(f"in the file here: {error}") from None
    if file.codec != "utf-8":
        facts = [_without_surrogates(fact) for fact in facts]
    before = facts_of(here)
    seen = {fact.key for fact in before}
    taken = [f for f in facts if f.key not in seen and not seen.add(f.key)]
    if not taken:
        return Brought(mine, (), len(facts))
    text = render_document(_with_facts(here, taken))
    after = Counter(fact.key for fact in facts_of(parse_document(text)))
    if not Counter(fact.key for fact in (*before, *taken)) <= after:
        msg = "what comes would read as part of what stands here, such as open HTML"
        raise TransferRefusedError(msg)
    return Brought(encode_file(file, text), tuple(taken), len(facts) - len(taken))


def _text_of(data: bytes) -> str:
    file = decode_file(data)
    if file.looks_binary or not file.exact:
        raise TransferRefusedError("what is no text cannot be taken apart")
    opened = parse_document(file.text).fences.left_open
    if opened is not None:
        msg = f"the code fence at line {opened + 1} never closes; close it first"
        raise TransferRefusedError(msg)
    return file.text


def _without_surrogates(fact: Fact) -> Fact:
    """Invalid UTF-8 cannot be written as UTF-16."""

    def clean(text: str) -> str:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    return fact._replace(key=clean(fact.key), lines=tuple(map(clean, fact.lines)))


# --- Where a fact goes ------------------------------------------------------------------


def _with_facts(here: Document, facts: Sequence[Fact]) -> Document:
    sections = sections_of(here)
    places = _Places(sections)
    for fact in facts:
        places.section_for(fact).added.append(fact)
    newline = newline_of(here)
    lines: list[str] = []
    ends: list[str] = []
    for line, end in _rendered(sections[0], newline):
        if ends and not ends[-1]:
            ends[-1] = newline
        lines.append(line)
        ends.append(end)
    return Document(tuple(lines), tuple(ends))


def newline_of(document: Document) -> str:
    """The line end that most lines have."""
    ends = [end for end in document.ends if end]
    return Counter(ends).most_common(1)[0][0] if ends else "\n"


#: In the generated part or outside it, and the headings' keys.
_Path = tuple[bool, tuple[str, ...]]


class _Places:
    """Sections by their headings; those that are brought along join the others."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self.at: dict[_Path, Section] = {}
        self.alike: dict[tuple[bool, str], list[Section]] = {}
        #: The last section at or below a path; at the empty one, the last of all.
        self.last: dict[_Path, Section] = {}
        self.bare: dict[bool, Section] = {}
        for section in sections:
            self._add(section)
            if section.facts and not section.path:
                self.bare[section.generated] = section
        for section, below in pairwise(sections):
            section.next = below

    def _add(self, section: Section, after: Section | None = None) -> None:
        zone, path = section.generated, section.path
        self.at[zone, path] = section
        if section.heading:
            self.alike.setdefault((zone, path[-1]), []).append(section)
        for length in range(len(path) + 1):
            if after is None or self.last.get((zone, path[:length]), after) is after:
                self.last[zone, path[:length]] = section
        if after:
            section.next, after.next = after.next, section

    def section_for(self, fact: Fact) -> Section:
        zone = fact.generated and (True, ()) in self.last
        path = tuple(heading.key for heading in fact.headings)
        if not path:
            return self.bare.get(zone, self.last[zone, ()])
        if (zone, path) in self.at:
            return self.at[zone, path]
        alike = self.alike.get((zone, path[-1]), ())
        if len(alike) == 1:
            return alike[0]
        known = len(path) - 1
        while (zone, path[:known]) not in self.last:
            known -= 1
        after = self.last[zone, path[:known]]
        for length in range(known + 1, len(path) + 1):
            heading = fact.headings[length - 1]
            section = Section(path[:length], heading, generated=zone, new=True)
            self._add(section, after)
            after = section
        return after


# --- Lines ------------------------------------------------------------------------------


def _rendered(first_section: Section, newline: str) -> Iterator[tuple[str, str]]:
    blank_before = True
    after_new = False
    section: Section | None = first_section
    while section:
        lines = list(_section_lines(section, newline))
        first = lines[0][0] if lines else ""
        if first.strip() and not blank_before and (section.new or after_new):
            yield "", newline
        yield from lines
        if lines:
            blank_before = not lines[-1][0].strip()
            after_new = section.new or (after_new and blank_before)
        section = section.next


def _section_lines(section: Section, newline: str) -> Iterator[tuple[str, str]]:
    lines = section.lines
    if section.new and section.heading:
        lines = [(section.heading.line, newline)]
    at = len(lines) if section.new else section.end_of_facts
    yield from lines[:at]
    standing = section.facts[-1].kind if section.facts else ""
    for fact in section.added:
        if standing and "text" in (standing, fact.kind):
            yield "", newline
        for line in fact.lines:
            yield line, newline
        standing = fact.kind
    below = lines[at:]
    if section.added and standing == "text" and below and below[0][0].strip():
        yield "", newline  # a rule right below it would make it a heading
    yield from below
