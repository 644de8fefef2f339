"""Which encoding a file's bytes announce, and whether they are text at all."""

import codecs
from typing import Final

__all__ = ["looks_binary", "sniff"]

#: Byte order marks and the codec of what follows them.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

#: One NUL in so many characters is no accident any more: UTF-16 without a mark has one
#: in two, binary files about as many.
_NUL_SHARE: Final = 8


def sniff(head: bytes) -> tuple[bytes, str]:
    """The byte order mark that *head* begins with, if any, and the codec to use."""
    return next((m for m in _MARKS if head.startswith(m[0])), (b"", "utf-8"))


def looks_binary(content: str | bytes) -> bool:
    """Whether *content* is full of NUL, and so no text."""
    if isinstance(content, bytes):
        nuls = content.count(b"\0")
    else:
        # Whether there is one at all is asked first: it is found out much faster.
        nuls = content.count("\0") if "\0" in content else 0
    return nuls * _NUL_SHARE > len(content)
