"""A memory file as the consolidating agent is shown it, line by line.

Pure. Secrets are masked, hidden characters shown, forgeries of our frame neutralised, and
the marks of the generated part are there. The lines shown are as many as the file has, so
that what the agent leaves alone can be put back byte for byte.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from openhands_memory.layout import GENERATED_END, GENERATED_START
from openhands_memory.sanitize import neutralise, normalise_newlines, show_hidden
from openhands_memory.upkeep.document import (
    Document,
    FileText,
    decode_file,
    parse_document,
)

__all__ = [
    "MARKS",
    "Marked",
    "as_plain",
    "file_problem",
    "mark_up",
    "safe",
    "show_file",
]

MARKS: Final = frozenset({GENERATED_START, GENERATED_END})
#: Stands for each further line of a secret that takes several.
_MORE: Final = "[secret: continued]"
_SURROGATES: Final = dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}")


class Marked(NamedTuple):
    """A file's lines, its marks included, and those of its generated part.

    Attributes: *start* is the index of the line below the first mark, *stop* that of the
    second one; *newline* is the end of lines that join.
    """

    file: FileText
    document: Document
    start: int
    stop: int
    newline: str

    @property
    def outside(self) -> tuple[int, ...]:
        """Indexes of the lines that are a person's, without the marks."""
        lines = range(len(self.document.lines))
        return (*lines[: self.start - 1], *lines[self.stop + 1 :])


def file_problem(data: bytes | None) -> str | None:
    """Why the file cannot be consolidated into, whatever comes of it."""
    file = decode_file(data or b"")
    if file.looks_binary:
        return "is no text"
    return None if file.exact else "has bytes that cannot be written back as they were"


def mark_up(data: bytes | None) -> Marked:
    """The lines of *data* with the marks, which are added at its end if need be."""
    file = decode_file(data or b"")
    document = parse_document(file.text)
    pieces = list(zip(document.lines, document.ends, strict=True))
    newline = _newline(document)
    mark, stop = document.marks
    if mark is None:
        pieces += _beginning(pieces, newline)
        start = len(pieces)
    else:
        start = mark + 1
    if stop is None:
        stop = start
        # A lone CR would take a line feed below it for its own.
        joins = newline == "\r" and pieces[start:] and pieces[start] == ("", "\n")
        pieces.insert(start, (GENERATED_END, "\n" if joins else newline))
    ends = [end or newline for _, end in pieces[:-1]]
    marked = Document(tuple(line for line, _ in pieces), (*ends, pieces[-1][1]))
    return Marked(file, marked, start, stop, newline)


def _newline(document: Document) -> str:
    """The line end that most lines have."""
    ends = Counter(end for end in document.ends if end).most_common(1)
    return ends[0][0] if ends else "\n"


def _beginning(above: Sequence[tuple[str, str]], newline: str) -> list[tuple[str, str]]:
    """What goes below *above* so that the generated part begins."""
    start = (GENERATED_START, newline)
    if not above or not above[-1][0].strip():
        return [start]
    return [("", "\r" if above[-1][1] == "\r" else newline), start]


def show_file(data: bytes | None, mask: Callable[[str], str] = str) -> str:
    """The text of *data* as the agent is shown it; *mask* hides the secrets of a text."""
    marked = mark_up(data)
    lines = [line.translate(_SURROGATES) for line in marked.document.lines]
    # Once more: a hidden character that is shown may give a secret away.
    plain = as_plain("\n".join(_masked(lines, mask))).split("\n")
    shown = list(_masked(plain, mask))
    shown[marked.start - 1], shown[marked.stop] = GENERATED_START, GENERATED_END
    return "\n".join(shown) + "\n"


def safe(text: str, mask: Callable[[str], str]) -> str:
    """*text* plain and without secrets; what `show_file` returned comes back as it is."""
    return mask(as_plain(mask(text)))


def as_plain(text: str) -> str:
    r"""*text* safe to be shown, with ``\n`` line ends; doing it twice changes nothing."""
    text = normalise_newlines(text).translate(_SURROGATES)
    return show_hidden(neutralise(text))


def _masked(lines: Sequence[str], mask: Callable[[str], str]) -> Sequence[str]:
    """*lines* without secrets, as many as before."""
    masked = _in_step(lines, mask("\n".join(lines)).split("\n"))
    return masked or [" ".join(mask(line).split("\n")) for line in lines]


def _in_step(lines: Sequence[str], masked: Sequence[str]) -> Sequence[str] | None:
    """*masked* with as many lines as *lines*, where a mask took several into one.

    Each line is one of *masked*, or says that the secret goes on; None if that fails.
    """
    if len(lines) == len(masked):
        return masked
    places: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        places[line].append(number)
    found: list[str] = []
    run: list[str] = []
    for line in masked:
        here = places.get(line, [])
        least = len(found) + len(run)
        at = bisect_left(here, least)
        if at == len(here) or (run and not line.strip()):
            run.append(line)
            continue
        found += run + [_MORE] * (here[at] - least)
        found.append(line)
        run.clear()
    found += run + [_MORE] * (len(lines) - len(found) - len(run))
    return found if len(found) == len(lines) else None
