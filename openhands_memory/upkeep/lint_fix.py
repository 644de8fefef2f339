"""What lint may repair: what cannot change what a memory file says.

Pure. Facts that stand there twice in one section, line ends, blanks at line ends, a
missing last line end. Never inside code, never in a file with an unfinished merge, and a
second time changes nothing.
"""

from collections import Counter
from typing import Final, NamedTuple

from openhands_memory.options import CHAR_BUDGET
from openhands_memory.upkeep.document import (
    Document,
    Entry,
    decode_file,
    encode_file,
    parse_document,
    render_document,
)
from openhands_memory.upkeep.lint_duplicates import is_fact
from openhands_memory.upkeep.lint_files import (
    has_conflict,
    main_line_end,
    trailing_blanks,
)

__all__ = ["Fixed", "fix_bytes", "fix_text"]


class Fixed(NamedTuple):
    """A repaired text, and how much of what was repaired, in words."""

    text: str
    done: tuple[str, ...]


def fix_bytes(data: bytes, *, facts: bool = True) -> tuple[bytes, tuple[str, ...]]:
    """Repair a file's bytes; its encoding, its mark and its bad bytes stay.

    Unless it is a list of *facts* nothing is taken out.
    A file that is no text, or that could not be written back exactly, is left alone.
    """
    file = decode_file(data)
    if file.looks_binary or not file.exact:
        return data, ()
    fixed = fix_text(file.text, facts=facts)
    return (encode_file(file, fixed.text), fixed.done) if fixed.done else (data, ())


def fix_text(text: str, *, facts: bool = True) -> Fixed:
    """Repair *text*; unless it is a list of *facts* nothing is taken out."""
    document = parse_document(text)
    if not document.lines or has_conflict(document):
        return Fixed(text, ())
    done: Counter[str] = Counter()
    blanks = dict(trailing_blanks(document))
    main = main_line_end(document)
    removed = _repeated(document, last=len(text) > _NEVER_CUT) if facts else set[int]()
    lines: list[str] = []
    ends: list[str] = []
    for index, (line, end) in enumerate(
        zip(document.lines, document.ends, strict=True)
    ):
        if index in removed:
            continue
        if index in blanks:
            line = line[: len(line) - blanks[index]]
            done["blanks at the end of {} line{}"] += 1
        if end not in ("", main) and not document.code[index]:
            end = main
            done["{} line end{}"] += 1
        lines.append(line)
        ends.append(end)
    if removed:
        done["{} line{} with a fact that stands there twice"] = len(removed)
    if lines and not ends[-1] and document.fences.left_open is None:
        ends[-1] = main
        done["the missing line end at the end"] = 1
    said = tuple(
        what.format(count, "" if count == 1 else "s") for what, count in done.items()
    )
    return Fixed(render_document(Document(tuple(lines), tuple(ends))), said)


#: Characters of an index that fit beside any other tier: above, the budget may cut from
#: the top, so the last of two copies is the one that surely loads.
_NEVER_CUT: Final = CHAR_BUDGET // 3


def _repeated(document: Document, *, last: bool) -> set[int]:
    """Indexes of the lines of facts that stand in their section already.

    The first copy is kept, or the *last*. A copy on the other side of a mark of the
    generated part is another writer's, and stays.
    """
    seen: set[tuple[object, ...]] = set()
    removed: set[int] = set()
    entries = document.entries
    for entry in reversed(entries) if last else entries:
        if not _may_go(document, entry):
            continue
        generated = entry.line - 1 in document.generated
        key = (entry.headings, _exact_key(entry), generated)
        if key in seen:
            removed.update(range(entry.line - 1, entry.end_line))
        seen.add(key)
    return removed


def _may_go(document: Document, entry: Entry) -> bool:
    lines = range(entry.line - 1, entry.end_line)
    if not is_fact(entry) or any(document.code[index] for index in lines):
        return False
    below = "".join(document.lines[entry.end_line : entry.end_line + 1]).strip()
    # A rule below would become the underline of a heading.
    return not below or below.strip("-=") != ""


def _exact_key(entry: Entry) -> str:
    """The entry's text but for its marker and blanks at line ends."""
    marker, *rest = (line.rstrip() for line in entry.text.split("\n"))
    return "\n".join([marker.lstrip()[1:].strip(), *rest])
