"""One fact is one line: how text becomes a fact, and how it is appended.

Pure: bytes in, bytes out. What is already in a file is never decoded and written again,
so bad bytes, marks and line ends stay as they are.
"""

from typing import Final

from openhands_memory.encoding import sniff
from openhands_memory.errors import ConfigError

__all__ = ["append_line", "as_fact", "newline_of"]

_BULLETS: Final = ("- ", "* ", "+ ")


def as_fact(text: str) -> str:
    """*text* as one line: white space folded, a bullet if it is none already.

    Raises:
        ConfigError: There is no text.
    """
    line = " ".join(text.split())
    if not line.strip("-*+ "):
        raise ConfigError("TEXT", text, "there is nothing to remember; give some words")
    return line if line.startswith(_BULLETS) else f"- {line}"


def append_line(data: bytes | None, line: str) -> bytes:
    """*data* with *line* at its end, in the file's own encoding and line ends.

    A last line without its end is given one first.
    """
    data = data or b""
    mark, codec = sniff(data)
    newline = newline_of(data, codec).encode(codec)
    torn = data and not data.endswith("\n".encode(codec)) and data != mark
    return data + (newline if torn else b"") + line.encode(codec) + newline


def newline_of(data: bytes, codec: str = "utf-8") -> str:
    r"""The line end that most lines of *data* have: ``\r\n`` or ``\n``."""
    windows = data.count("\r\n".encode(codec))
    return "\r\n" if windows * 2 > data.count("\n".encode(codec)) else "\n"
