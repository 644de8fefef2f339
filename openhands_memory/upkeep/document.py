"""A memory file as lines and entries, positions kept.

Pure. `parse_document` and `render_document` are an exact pair: what nobody changed comes
back byte for byte, line ends and byte order mark included. Nothing here judges a text.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from openhands_memory.encoding import looks_binary, sniff
from openhands_memory.fences import Fences, has_fences, nested_fences
from openhands_memory.layout import GENERATED_END, GENERATED_START

__all__ = [
    "BULLET",
    "HEADING",
    "Document",
    "Entry",
    "FileText",
    "decode_file",
    "encode_file",
    "fact_key",
    "parse_document",
    "render_document",
    "split_entries",
]

#: A bullet that never ends would be one entry of thousands of lines.
_MAX_ENTRY_LINES: Final = 40

BULLET: Final = re.compile(r"(\s*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_LINE_END: Final = re.compile(r"(\r\n|\r|\n)")
HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
#: Rules, empty bullets and the lines that fence off the generated part, stripped.
_SILENT: Final = re.compile(
    r"(?:[-*_][ \t]*){3,}|[-*+]|<!-- /?openhands-memory: \w+ -->"
)
_PRE: Final = re.compile(r"(?i)<(/?)pre\b")
#: What may stand before a block in its line: quotes and the markers of lists.
_LEAD: Final = " \t>-*+0123456789.)"
#: What is in both marks of the generated part.
_SIGN: Final = "openhands-memory: generated -->"


# --- Bytes and text -------------------------------------------------------------------


class FileText(NamedTuple):
    """A file's bytes as text.

    Attributes: *mark* is its byte order mark; invalid UTF-8 stands in *text* as lone
    surrogates (PEP 383), so that it can be written back; *exact* says that
    `encode_file` gives the same bytes; *looks_binary* says that it is no text.
    """

    text: str
    mark: bytes
    codec: str
    exact: bool
    looks_binary: bool


def decode_file(data: bytes) -> FileText:
    """Decode a whole file: UTF-8 unless a byte order mark says otherwise."""
    mark, codec = sniff(data)
    errors = "surrogateescape" if codec == "utf-8" else "replace"
    text = data[len(mark) :].decode(codec, errors)
    found = FileText(text, mark, codec, exact=True, looks_binary=looks_binary(text))
    return found._replace(exact=encode_file(found, text) == data)


def encode_file(file: FileText, text: str) -> bytes:
    """*text* as bytes in the encoding of *file*, with its mark."""
    errors = "surrogateescape" if file.codec == "utf-8" else "strict"
    return file.mark + text.encode(file.codec, errors)


# --- Lines and entries ----------------------------------------------------------------


class Entry(NamedTuple):
    """A bullet, a paragraph, or a heading with its paragraph, and where it stands.

    Attributes: *line* and *end_line* are numbered from 1, both inclusive; *headings*
    are the titles above, the outermost first; *kind* is ``bullet``, ``heading`` or
    ``text``.
    """

    line: int
    end_line: int
    text: str
    headings: tuple[str, ...] = ()
    kind: str = "text"


class _Lines(NamedTuple):
    lines: tuple[str, ...]
    ends: tuple[str, ...]


class Document(_Lines):
    r"""A text's *lines* and their *ends* (``\n``, ``\r\n``, ``\r``, or none at the end).

    Lines are counted as an editor counts them; indexes start at 0.
    """

    @cached_property
    def body(self) -> str:
        r"""The lines with ``\n`` between them, whatever their ends."""
        return "\n".join(self.lines)

    @cached_property
    def fences(self) -> Fences:
        """Fenced code, in lists and quotes too."""
        return (
            nested_fences(self.lines) if has_fences(self.body) else Fences([], None, 0)
        )

    @cached_property
    def code(self) -> bytearray:
        """A 1 for each line of code: fenced, its fences included, or in ``<pre>``.

        An open fence takes everything below it.
        """
        mask = bytearray(len(self.lines))
        blocks = list(self.fences.blocks)
        if self.fences.left_open is not None:
            blocks.append((self.fences.left_open, len(self.lines) - 1))
        for top, bottom in [*blocks, *_pre_blocks(self, at_start=False)]:
            mask[top : bottom + 1] = b"\1" * (bottom + 1 - top)
        return mask

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, however long."""
        return tuple(_entries(self, len(self.lines) + 1))

    @cached_property
    def marks(self) -> tuple[int | None, int | None]:
        """Indexes of the lines that begin and end the generated part; None if missing.

        Code that shows the marks is passed over, but an open fence hides nothing below.
        """
        if _SIGN not in self.body:
            return None, None
        begins = [
            n for n, line in enumerate(self.lines) if line.strip() == GENERATED_START
        ]
        ends = [n for n, line in enumerate(self.lines) if line.strip() == GENERATED_END]
        code: set[int] = set()
        for top, bottom in [*self.fences.blocks, *_pre_blocks(self, at_start=True)]:
            code.update(range(top, bottom + 1))
        start = next((n for n in begins if n not in code), None)
        least = -1 if start is None else start
        end = next((n for n in ends if n > least and n not in code), None)
        if start is None and end is not None:
            above = next((n for n in reversed(begins) if n < end), None)
            start = above if self._is_caught(above, end, begins + ends) else None
        elif start is not None and end is None:
            below = next((n for n in ends if n > start), None)
            end = below if self._is_caught(below, None, begins + ends) else None
        return start, None if start is None else end

    def _is_caught(self, mark: int | None, end: int | None, marks: list[int]) -> bool:
        """Whether *mark* stands in a block of code that is none.

        A fence that somebody left open takes one across the mark for its end: then what
        follows, up to *end*, is whole without it. Code with two of *marks* shows them.
        """
        if mark is None:
            return False
        around = next((b for b in self.fences.blocks if b[0] < mark < b[1]), None)
        if around is None or sum(around[0] < n < around[1] for n in marks) > 1:
            return False
        return nested_fences(self.lines[mark + 1 : end]).oddities == 0

    @cached_property
    def generated(self) -> range:
        """Indexes of the lines between the marks of the generated part; empty if none."""
        start, end = self.marks
        if start is None:
            return range(0)
        return range(start + 1, start + 1 if end is None else end)


def parse_document(text: str) -> Document:
    """Cut *text* into lines, each with its end."""
    parts = _LINE_END.split(text)
    lines, ends = parts[::2], [*parts[1::2], ""]
    if not lines[-1]:
        del lines[-1], ends[-1]
    return Document(tuple(lines), tuple(ends))


def render_document(document: Document) -> str:
    """The text of *document*."""
    pairs = zip(document.lines, document.ends, strict=True)
    return "".join(part for pair in pairs for part in pair)


def split_entries(text: str, *, most_lines: int = _MAX_ENTRY_LINES) -> Iterator[Entry]:
    """Cut *text* into entries; nested bullets and fenced code stay with theirs."""
    return _entries(parse_document(text), most_lines)


def fact_key(entry: Entry) -> str:
    """What two entries that state the same fact share.

    The bullet's marker and white space are folded, but not inside inline code; case and
    punctuation count.
    """
    marker = BULLET.match(entry.text)
    text = entry.text[marker.end() :] if marker else entry.text
    if "`" not in text:
        return " ".join(text.split())
    parts = text.split("`")
    parts[::2] = [re.sub(r"\s+", " ", part) for part in parts[::2]]
    return "`".join(parts).strip()


def _pre_blocks(document: Document, *, at_start: bool) -> Iterator[tuple[int, int]]:
    """What stands in ``<pre>``, which may have to begin a line that is no code."""
    if not _PRE.search(document.body):
        return
    fenced = {n for top, end in document.fences.blocks for n in range(top, end + 1)}
    opened: int | None = None
    for index, line in enumerate(document.lines):
        for tag in _PRE.finditer(line):
            spoken_of = index in fenced or line[: tag.start()].strip(_LEAD)
            if not tag[1]:
                if opened is None and not (at_start and spoken_of):
                    opened = index
            elif opened is not None:
                yield opened, index
                opened = None


def _entries(document: Document, most_lines: int) -> Iterator[Entry]:
    lines = document.lines
    headings: list[tuple[int, str]] = []
    for start, end, kind in _spans(document, most_lines):
        above = tuple(title for _, title in headings)
        if kind == "heading" and (heading := HEADING.match(lines[start])):
            depth = len(heading[1])
            headings = [h for h in headings if h[0] < depth]
            above = tuple(title for _, title in headings)
            headings.append((depth, heading[2]))
        text = "\n".join(lines[start:end]).rstrip()
        yield Entry(start + 1, end, text, above, kind)


def _spans(document: Document, most_lines: int) -> Iterator[tuple[int, int, str]]:
    code = document.code
    start, end, kind, standing = -1, 0, "", ""
    for number, line in enumerate(document.lines):
        inside_code = code[number] and number and code[number - 1]
        found = "inside" if inside_code else _kind(line, standing, gap=end < number)
        full = start >= 0 and number - start >= most_lines
        if start >= 0 and (full or found not in ("inside", "blank")):
            yield start, end, kind
            start = -1
        if found in ("blank", "silent"):
            continue
        if start < 0:
            start = number
            standing = standing if found == "inside" else found
            kind = standing or "text"
        elif standing == "heading":
            standing = "text"
        if line.strip():
            end = number + 1
    if start >= 0:
        yield start, end, kind


def _kind(line: str, kind: str, *, gap: bool) -> str:
    """What *line* is, standing after an entry of *kind*, perhaps after a *gap*."""
    if not line or line.isspace():
        return "blank"
    stripped = line.lstrip()
    first = stripped[0]
    if first == "#" and HEADING.match(line):
        return "heading"
    if first in "-*_+<" and _SILENT.fullmatch(stripped.rstrip()):
        return "silent"
    nested = kind == "bullet" and line.startswith(("  ", "\t"))
    bullet = (first in "-*+" or first.isdigit()) and BULLET.match(line)
    if nested or (not gap and kind and not bullet):
        return "inside"
    if bullet:
        return "bullet"
    return "inside" if kind == "heading" else "text"
