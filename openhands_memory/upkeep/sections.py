"""A memory file as sections of facts: what stands under which heading.

Pure. A fact is a bullet with all that belongs to it, or a paragraph; a heading is none.
The marks of the generated part begin a section too, so that what a person wrote and what
was generated are kept apart.
"""

from typing import NamedTuple

from openhands_memory.upkeep.document import (
    HEADING,
    Document,
    Entry,
    fact_key,
)

__all__ = [
    "Fact",
    "Heading",
    "Section",
    "as_heading",
    "facts_of",
    "sections_of",
]


class Heading(NamedTuple):
    """A heading's *line* as it stands; *key* is what the same title elsewhere shares."""

    depth: int
    key: str
    line: str


class Fact(NamedTuple):
    """A fact and where it stands.

    Attributes: *line* and *end_line* are numbered from 1, both inclusive; *key* is what
    the same fact elsewhere shares; *kind* is ``bullet`` or ``text``; *lines* are its
    own, without what all of them are indented by; *generated* says that it stands in
    the generated part.
    """

    line: int
    end_line: int
    key: str
    kind: str
    lines: tuple[str, ...]
    headings: tuple[Heading, ...] = ()
    generated: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


class Section:
    """What stands from one heading, or mark, to the *next*.

    Attributes: *path* are the keys of the headings above and its own; *lines* are its
    lines with their ends; *marked* says that it begins with a mark, *new* that it was
    brought along; *added* are the facts that are to go there.
    """

    __slots__ = (
        *("added", "facts", "first_line", "generated", "heading", "lines"),
        *("marked", "new", "next", "path"),
    )

    def __init__(
        self,
        path: tuple[str, ...] = (),
        heading: Heading | None = None,
        *,
        generated: bool = False,
        first_line: int = 1,
        new: bool = False,
    ) -> None:
        self.path = path
        self.heading = heading
        self.generated = generated
        self.first_line = first_line
        self.new = new
        self.marked = False
        self.lines: list[tuple[str, str]] = []
        self.facts: list[Fact] = []
        self.added: list[Fact] = []
        self.next: Section | None = None

    @property
    def end_of_facts(self) -> int:
        """Where one more fact goes, as an index of *lines*."""
        if self.facts:
            return self.facts[-1].end_line - self.first_line + 1
        return 1 if self.heading or self.marked else len(self.lines)


def as_heading(line: str) -> Heading | None:
    """*line* as a heading, if it is one."""
    found = HEADING.match(line)
    if not found:
        return None
    title = found[2].rstrip()
    without = title.rstrip("#")  # what may close a heading, but not the end of "C#"
    title = without if without.endswith((" ", "\t")) else title
    return Heading(len(found[1]), " ".join(title.split()).casefold(), line)


def facts_of(document: Document) -> list[Fact]:
    """All facts, in their order."""
    return [fact for section in sections_of(document) for fact in section.facts]


def sections_of(document: Document) -> list[Section]:
    """All sections, the first of which may be empty."""
    return _Reading(document).sections


class _Reading:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.above: list[Heading] = []
        self.sections = [Section()]
        generated = document.generated
        marks = [generated.start - 1, generated.stop] if generated else []
        todo = sorted(
            [(mark + 1, None) for mark in marks]
            + [(entry.line, entry) for entry in document.entries],
            key=lambda found: found[0],
        )
        for line, entry in todo:
            if entry is None:
                self._begin(line, None)
            else:
                self._read(entry)
        self._end(len(document.lines))

    def _read(self, entry: Entry) -> None:
        heading = as_heading(self.document.lines[entry.line - 1])
        if entry.kind != "heading" or not heading:
            kind = "bullet" if entry.kind == "bullet" else "text"
            self._add(entry.line, entry.end_line, kind)
            return
        self.above = [h for h in self.above if h.depth < heading.depth] + [heading]
        self._begin(entry.line, heading)
        below = entry.line + 1
        while below <= entry.end_line and not self.document.lines[below - 1].strip():
            below += 1
        if below <= entry.end_line:
            self._add(below, entry.end_line, "text")

    def _begin(self, line: int, heading: Heading | None) -> None:
        self._end(line - 1)
        path = tuple(h.key for h in self.above)
        inside = self.document.generated
        # Its indexes are the lines' numbers, and the mark's above them, less one.
        generated = bool(inside) and inside.start <= line <= inside.stop
        section = Section(path, heading, generated=generated, first_line=line)
        section.marked = heading is None
        self.sections.append(section)

    def _end(self, line: int) -> None:
        section = self.sections[-1]
        span = slice(section.first_line - 1, line)
        pairs = zip(self.document.lines[span], self.document.ends[span], strict=True)
        section.lines = list(pairs)

    def _add(self, line: int, end_line: int, kind: str) -> None:
        lines = self.document.lines[line - 1 : end_line]
        indent = len(lines[0]) - len(lines[0].lstrip())
        own = tuple(_without_indent(text, indent) for text in lines)
        key = fact_key(Entry(line, end_line, "\n".join(own).rstrip()))
        section = self.sections[-1]
        section.facts.append(
            Fact(line, end_line, key, kind, own, tuple(self.above), section.generated)
        )


def _without_indent(line: str, indent: int) -> str:
    found = len(line) - len(line.lstrip())
    return line[min(found, indent) :]
