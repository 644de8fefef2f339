"""What is wrong with a memory file as a file: bytes, line ends, fences, conflicts.

Pure rules of `lint`; each yields findings and does not know about the others.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from openhands_memory.layout import GENERATED_END, GENERATED_START
from openhands_memory.upkeep.document import Document, FileText
from openhands_memory.upkeep.findings import Finding, finding

__all__ = [
    "find_conflicts",
    "find_encoding",
    "find_structure",
    "has_conflict",
    "main_line_end",
    "trailing_blanks",
]

_BAD_BYTE: Final = "[\udc80-\udcff]"
#: What UTF-8 becomes when it is read as Latin-1, Windows-1252 or Mac Roman and saved
#: again: accents, quotes and dashes, a byte order mark, Cyrillic.
_WINDOWS: Final = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
_TWICE_DECODED: Final = re.compile(
    f"Ã[{_WINDOWS}]|â€[\u0080-\u00bf™œ“”˜¦¢]|‚Ä[îìúùôòì¶]|ï»¿|(?:[ÐÑ][{_WINDOWS}]){{2,}}"
)
_NAMED: Final = 5


# --- Encoding ---------------------------------------------------------------------------


def find_encoding(file: FileText, document: Document) -> Iterator[Finding]:
    """Bytes that are no UTF-8, text in UTF-16, text that was decoded twice."""
    if file.codec != "utf-8":
        message = (
            "is UTF-16, which git and most tools take for binary; save it as UTF-8"
        )
        yield finding("OM513", message)
        bad = "�" if not file.exact else ""
    else:
        bad = _BAD_BYTE
    ascii_only = document.body.isascii()
    for number, line in enumerate([] if ascii_only else document.lines, 1):
        if line.isascii():
            continue
        if bad and (hit := re.search(bad, line)):
            count = len(re.findall(bad, line))
            bytes_ = "1 byte is" if count == 1 else f"{count} bytes are"
            message = f"{bytes_} no valid UTF-8 and shown as U+FFFD; save it as UTF-8"
            yield finding("OM511", message, line=number, column=hit.start() + 1)
        elif hit := _TWICE_DECODED.search(line):
            message = (
                "looks like UTF-8 that was read as Latin-1; type these letters anew"
            )
            yield finding("OM514", message, line=number, column=hit.start() + 1)


# --- Conflicts --------------------------------------------------------------------------

_CONFLICT: Final = re.compile(r"(<{7}|\|{7}|>{7})(?: .*)?")
_SIDES: Final = {"<": "begins", "|": "goes on", ">": "ends"}


def find_conflicts(document: Document) -> Iterator[Finding]:
    """Each marker of a merge that was not finished."""
    inside = False
    for number, line in enumerate(document.lines, 1):
        if line[:7] == "=======":
            side = "goes on" if inside and line == "=======" else ""
        else:
            marker = _CONFLICT.fullmatch(line) if line[:1] in _SIDES else None
            side = _SIDES[line[0]] if marker else ""
            inside = side != "ends" and (inside or side == "begins")
        if side:
            message = f"a merge conflict {side} here; both sides would be loaded"
            yield finding("OM501", message, line=number)


def has_conflict(document: Document) -> bool:
    """Whether what stands in the file is two versions of it."""
    if "<<<<<<<" not in document.body and ">>>>>>>" not in document.body:
        return False
    return next(find_conflicts(document), None) is not None


# --- Structure --------------------------------------------------------------------------


def find_structure(document: Document) -> Iterator[Finding]:
    """Fences, line ends, blanks at line ends, marks of the generated part."""
    if document.fences.left_open is not None:
        message = "this code fence never closes: all below it reads as code"
        yield finding("OM521", message, line=document.fences.left_open + 1)
    yield from _line_ends(document)
    for index, blanks in trailing_blanks(document):
        column = len(document.lines[index]) - blanks + 1
        yield finding(
            "OM524", "blanks at the end of the line", line=index + 1, column=column
        )
    yield from _unpaired_marks(document)


def main_line_end(document: Document) -> str:
    """The line end that most lines outside code have; the first one seen wins a tie."""
    counts = Counter(
        end
        for end, code in zip(document.ends, document.code, strict=True)
        if end and not code
    )
    return max(counts, key=lambda end: counts[end], default="") or next(
        (end for end in document.ends if end), "\n"
    )


def _line_ends(document: Document) -> Iterator[Finding]:
    if len({*document.ends} - {""}) > 1:
        main = main_line_end(document)
        odd = [
            number
            for number, (end, code) in enumerate(
                zip(document.ends, document.code, strict=True), 1
            )
            if end not in (main, "") and not code
        ]
        if odd:
            names = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}
            message = f"{_lines(odd)} not with {names[main]} as the others do"
            yield finding("OM522", message, line=odd[0])
    if document.lines and not document.ends[-1]:
        last = document.lines[-1]
        message = "the last line has no line end; what is appended would join it"
        yield finding("OM523", message, line=len(document.lines), column=len(last) + 1)


def _lines(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"line {numbers[0]} ends"
    named = ", ".join(map(str, numbers[:_NAMED]))
    more = ", ..." if len(numbers) > _NAMED else ""
    return f"{len(numbers)} lines ({named}{more}) end"


def trailing_blanks(document: Document) -> Iterator[tuple[int, int]]:
    """Lines with blanks at their end that mean nothing, as (index, how many).

    Not in code, be it fenced or indented, and no hard line breaks.
    """
    above_indented = False
    found: list[tuple[int, int]] = []
    lines, code = document.lines, document.code
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        text = line.rstrip(" \t")
        if text:
            indented = line.startswith(("    ", "\t"))
            above_indented = indented
        else:
            indented = above_indented
        blanks = len(line) - len(text)
        if blanks and not (
            code[index] or indented or _means_something(document, index)
        ):
            found.append((index, blanks))
    return reversed(found)


_BLOCK_START: Final = re.compile(
    r"\s*(?:$|#{1,6}\s|[-*+>|]|\d{1,9}[.)]\s|`{3}|~{3}|<|=)"
)


def _means_something(document: Document, index: int) -> bool:
    """Whether the blanks at the end of a line may be more than blanks.

    They break the line within a paragraph, stand in a code span that goes on below, or
    keep a backslash from breaking the line.
    """
    line = document.lines[index]
    if line.count("`") % 2 or line.rstrip().endswith("\\"):
        return True
    if not line.endswith("  ") or line.isspace() or index + 1 >= len(document.lines):
        return False
    return not _BLOCK_START.match(document.lines[index + 1])


def _unpaired_marks(document: Document) -> Iterator[Finding]:
    if "openhands-memory: generated -->" not in document.body:
        return
    opened = 0
    for number, line in enumerate(document.lines, 1):
        mark = line.strip()
        if mark == GENERATED_START:
            if opened:
                yield _unpaired("begins", opened)
            opened = number
        elif mark == GENERATED_END:
            if not opened:
                yield _unpaired("ends", number)
            opened = 0
    if opened:
        yield _unpaired("begins", opened)


def _unpaired(what: str, line: int) -> Finding:
    message = f"a generated part {what} here, without the mark at its other end"
    return finding("OM525", message, line=line)
