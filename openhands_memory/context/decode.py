"""Bytes of a memory file as text.

UTF-8 unless a byte order mark says otherwise. Bad bytes are replaced and counted, never
the reason to lose a tier. Guesses no legacy encoding.
"""

import codecs
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from openhands_memory.encoding import looks_binary, sniff
from openhands_memory.sanitize import normalise_newlines

__all__ = ["Decoded", "decode", "decode_far"]

#: UTF-8 takes at most four bytes for a character.
_MOST_BYTES: Final = 4
#: Bytes that are decoded at once where it is done only to encode them again.
_PIECE: Final = 32 * 1024
#: So many NUL in a row are no text but a hole in a sparse file: one block of it.
_HOLE: Final = 4096


class Decoded(NamedTuple):
    r"""Whole lines from the end of a file.

    Attributes: *text* has ``\n`` line ends; *encoding* is the codec's name, with
    ``-sig`` where a mark announced UTF-8; *bad_lines* are the lines with invalid bytes,
    counted from 0 at the first line that was read, one item per bad byte;
    *looks_binary* says that it is no text; *whole* that nothing stands above what was
    read; *left_out* are lines that were read and are not in *text*: holes, and those
    that `decode_far` was told to leave out; where there are any, *total* counts all
    lines that were read.
    """

    text: str
    encoding: str
    bad_lines: tuple[int, ...] = ()
    looks_binary: bool = False
    whole: bool = True
    left_out: Sequence[int] = ()
    total: int = 0

    @property
    def lines(self) -> int:
        """Lines that were read, as an editor counts them."""
        if self.left_out:
            return self.total
        ended = self.text.endswith("\n") or not self.text
        return self.text.count("\n") + (not ended)

    @property
    def numbers(self) -> list[int]:
        """Which of the lines that were read those of *text* are."""
        count = self.text.count("\n") + 1
        missing = frozenset(self.left_out)
        every = range(count + len(missing))
        return (
            [n for n in every if n not in missing][:count] if missing else list(every)
        )


def decode(data: bytes, *, head: bytes, whole: bool) -> Decoded:
    """Decode the end of a file; *head* are the file's first bytes.

    Unless *data* is the *whole* file it begins at an even offset, and its first line is
    taken for the rest of a line and left out, so that no text starts in the middle of
    one.
    """
    mark, codec = sniff(head)
    wide = codec != "utf-8"
    if whole:
        data = data[len(mark) :]
    elif not wide:
        data = _after_first_line(data)
    text, stand_in = _decode(data, codec)
    if wide and not whole:
        text = text.partition("\n")[2]
    found = Decoded(text, _name(mark, codec), whole=whole)
    if "\0" in text:
        found = _without_holes(found)
    return _with_bad_lines(found, stand_in) if stand_in else found


def decode_far(
    data: bytes, *, head: bytes, whole: bool, longest: int, enough: int
) -> Decoded:
    """As `decode`, without lines of more than *longest* characters.

    Takes *enough* bytes of the others from the end on, however many are left out: so
    that a few long lines, or blank ones, do not hide what stands above them, and memory
    stays bounded all the same.
    """
    mark, codec = sniff(head)
    data = data[len(mark) :] if whole else data
    if codec != "utf-8":
        pieces = (data[at : at + _PIECE] for at in range(0, len(data), _PIECE))
        texts = codecs.iterdecode(pieces, codec, "replace")
        data = b"".join([text.encode() for text in texts])
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    bare = data.rstrip()
    blank = data.count(b"\n", len(bare))
    taken, left_out = list[bytes](), list[int]()
    lines, end, size = blank, len(bare), 0
    while end >= 0 and size <= enough:
        start = bare.rfind(b"\n", 0, end) + 1
        if not start and not whole:
            break
        if _is_left_out(bare, start, end, longest):
            left_out.append(lines)
        else:
            taken.append(bare[start:end])
            size += end - start + 1
        lines += 1
        end = start - 1
    below = b"\n" * (blank if taken else blank - 1)
    if blank and not data.endswith(b"\n"):
        below += b" "  # a last line, be it blank
    text, stand_in = _decode(b"\n".join(reversed(taken)) + below, "utf-8")
    # Where nothing is left, what was left out tells at least whether it is text.
    any_text = b"\0" not in data or bool(text.strip())
    found = Decoded(
        text,
        _name(mark, codec),
        looks_binary=looks_binary(text if any_text else data),
        whole=whole and end < 0,
        left_out=[lines - 1 - number for number in reversed(left_out)],
        total=lines - (blank > 0 and data.endswith(b"\n")),
    )
    return _with_bad_lines(found, stand_in) if stand_in else found


def _is_left_out(data: bytes, start: int, end: int, longest: int) -> bool:
    size = end - start
    if size > longest * _MOST_BYTES:
        return True
    line = data[start:end]
    if size > longest and len(line.decode("utf-8", "replace")) > longest:
        return True
    return b"\0" * _HOLE in line


def _name(mark: bytes, codec: str) -> str:
    return "utf-8-sig" if mark == codecs.BOM_UTF8 else codec


def _without_holes(found: Decoded) -> Decoded:
    """*found* without the holes of a sparse file, and judged by the rest."""
    lines = found.text.split("\n")
    holes = [number for number, line in enumerate(lines) if "\0" * _HOLE in line]
    text = "\n".join([line for line in lines if "\0" * _HOLE not in line])
    nothing_else = bool(holes) and not text.strip()
    return found._replace(
        text=text,
        left_out=holes,
        total=found.lines,
        looks_binary=nothing_else or looks_binary(text),
    )


def _with_bad_lines(found: Decoded, stand_in: str) -> Decoded:
    lines = zip(found.numbers, found.text.split("\n"), strict=True)
    bad = [number for number, line in lines for _ in re.findall(stand_in, line)]
    text = re.sub(stand_in, _REPLACED, found.text)
    return found._replace(text=text, bad_lines=tuple(bad))


def _after_first_line(data: bytes) -> bytes:
    ends = [at for at in (data.find(b"\n"), data.find(b"\r")) if at >= 0]
    first = min(ends, default=len(data))
    rest = data[first + (2 if data[first : first + 2] == b"\r\n" else 1) :]
    # Where nothing is left, what was left out tells at least whether it is text.
    if (not rest or rest.isspace()) and looks_binary(data):
        return data
    return rest


#: How Python keeps a byte that is no UTF-8 (PEP 383): so it can be told from a
#: replacement character that was in the file already.
_BAD_BYTE: Final = "[\udc80-\udcff]"
_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"


def _decode(data: bytes, codec: str) -> tuple[str, str | None]:
    """The text, and a pattern of what stands in it for invalid bytes, if any."""
    try:
        return normalise_newlines(data.decode(codec)), None
    except UnicodeDecodeError:
        errors, stand_in = (
            ("surrogateescape", _BAD_BYTE)
            if codec == "utf-8"
            else ("replace", _REPLACED)
        )
        return normalise_newlines(data.decode(codec, errors)), stand_in
