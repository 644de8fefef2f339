"""A file of which the end was read, read whole for what only that tells.

Flow: asks `store`. What was read may have changed since: bytes that were added at the
end are left out, and after any other change nothing is told.
"""

from typing import Final

from openhands_memory import store
from openhands_memory.context.decode import decode
from openhands_memory.context.survey import Survey, survey_file
from openhands_memory.layout import TierPlace

__all__ = ["hash_whole", "survey_whole"]

#: Bytes up to which a file is read whole.
_LIMIT: Final = 16 * 1024 * 1024


def survey_whole(place: TierPlace, tail: store.Tail) -> Survey | None:
    data = _content(place, tail)
    if data is None:
        return None
    return survey_file(decode(data, head=data[:4], whole=True))


def hash_whole(place: TierPlace, tail: store.Tail) -> str | None:
    """SHA-256, in hexadecimal."""
    from hashlib import sha256  # late: loading does not need it

    data = _content(place, tail)
    return None if data is None else sha256(data).hexdigest()


def _content(place: TierPlace, tail: store.Tail) -> bytes | None:
    if tail.whole:
        return tail.data
    try:
        data = store.read_all(place, _LIMIT, seen=tail.stat)
    except OSError:
        return None
    return data if data and data.endswith(tail.data) else None
