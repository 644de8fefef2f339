"""How many characters the generated part of a file may take.

Pure. Where a person's own part fills an injected file, the generated part gets a share
all the same, and that the file is cut then is said.
"""

from collections.abc import Iterable
from typing import Final

from openhands_memory.generation.shown import MARKS, Marked, as_plain, mark_up

__all__ = ["FILE_CHARS", "room_between", "room_inside", "room_problem"]

#: Characters of a file that is not injected.
FILE_CHARS: Final = 256 * 1024
#: The generated part may take so much of the room, whatever a person wrote.
_LEAST_SHARE: Final = 4


def room_inside(data: bytes | None, room: int | None) -> int:
    """Characters that the generated part of *data* may take.

    *room* are those of the whole text, None where it is not injected.
    """
    return room_between(mark_up(data), room)


def room_between(marked: Marked, room: int | None) -> int:
    """As `room_inside`, for a file that was marked up."""
    if room is None:
        return FILE_CHARS
    return max(room // _LEAST_SHARE, room - _persons_chars(marked))


def room_problem(
    marked: Marked, inside: Iterable[str], room: int | None
) -> tuple[list[str], list[str]]:
    """The problem if there is no room for *inside*, and a note if room was made."""
    most = room_between(marked, room)
    takes = len(_as_injected(inside))
    notes: list[str] = []
    if room is not None and most > room - _persons_chars(marked):
        notes = [
            f"what a person wrote leaves less than {most} characters, so that a part of "
            "the file will not be loaded"
        ]
    if takes <= most:
        return [], notes
    return [
        f"the generated part takes {takes} characters, {most} are the most; merge, "
        "shorten or remove the least useful facts"
    ], notes


def _persons_chars(marked: Marked) -> int:
    """What a person's part takes, with the line that parts it from the generated one."""
    chars = len(_as_injected(marked.document.lines[n] for n in marked.outside))
    return chars + 2 if chars else 0


def _as_injected(lines: Iterable[str]) -> str:
    held = (line for line in lines if line.strip() not in MARKS)
    return as_plain("\n".join(held)).strip()
