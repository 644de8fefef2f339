"""Bytes of a memory file as text.

UTF-8 unless a byte order mark says otherwise. Bad bytes are replaced and counted, never
the reason to lose a tier. Guesses no legacy encoding.
"""

import codecs
import re
from typing import Final, NamedTuple

from openhands_memory.encoding import looks_binary, sniff
from openhands_memory.sanitize import normalise_newlines

__all__ = ["Decoded", "decode"]


class Decoded(NamedTuple):
    r"""Whole lines from the end of a file.

    Attributes: *text* has ``\n`` line ends; *encoding* is the codec's name, with
    ``-sig`` where a mark announced UTF-8; *bad_lines* are the lines with invalid bytes,
    counted from 0 at the beginning of *text*, one item per bad byte; *looks_binary*
    says that it is no text.
    """

    text: str
    encoding: str
    bad_lines: tuple[int, ...]
    looks_binary: bool


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
    bad: tuple[int, ...] = ()
    if stand_in:
        lines = enumerate(text.split("\n"))
        bad = tuple(
            number for number, line in lines for _ in re.findall(stand_in, line)
        )
        text = re.sub(stand_in, "\N{REPLACEMENT CHARACTER}", text)
    name = "utf-8-sig" if mark == codecs.BOM_UTF8 else codec
    return Decoded(text, name, bad, looks_binary(text))


def _after_first_line(data: bytes) -> bytes:
    ends = [at for at in (data.find(b"\n"), data.find(b"\r")) if at >= 0]
    if not ends:
        return data if looks_binary(data) else b""
    first = min(ends)
    return data[first + (2 if data[first : first + 2] == b"\r\n" else 1) :]


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
