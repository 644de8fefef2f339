"""The first and the last of many lines, in a room that is given.

Pure. Lines are JSON objects; one is kept whole or with its texts shortened.
"""

import json
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from openhands_memory.generation.shortening import compact, map_strings, shorten

__all__ = ["Line", "Window"]

#: Characters to which the texts of an item are shortened at most.
_SHORTEST: Final = 64


class Line(NamedTuple):
    """A line; an *is_item* is counted when it is left out."""

    text: str
    is_item: bool

    @property
    def size(self) -> int:
        return len(self.text) + 1


class Window:
    """Lines as they come, of which the first and the last are kept once they are many.

    An item that would fill the room is shortened when all is there, so that others fit
    beside it.
    """

    def __init__(self, room: int) -> None:
        self.head: list[Line] = []
        self.tail: deque[Line] = deque()
        self.omitted = self.total = self.kept = 0
        self._room = max(0, room)
        self._is_full = False

    def add(self, line: Line) -> None:
        self.total += line.size
        if not self._is_full and self.kept + line.size <= self._room:
            self.head.append(line)
            self.kept += line.size
            return
        if not self._is_full:
            self._split()
        self._append(line)
        self._drop()

    def settle(self, change: Callable[[str], str]) -> None:
        """Make *change* to each line that is kept, whatever length that gives it."""
        self._change(change)
        if self.kept > self._room and not self._is_full:
            self._split()
            self._change(str)
        self._drop()

    def _change(self, change: Callable[[str], str]) -> None:
        self.head = [self._changed(line, change) for line in self.head]
        self.tail = deque(self._changed(line, change) for line in self.tail)
        self.kept = sum(line.size for line in (*self.head, *self.tail))

    def _changed(self, line: Line, change: Callable[[str], str]) -> Line:
        text = change(line.text)
        self.total += len(text) - len(line.text)
        return line._replace(
            text=_in_room(text, self._share) if self._is_full else text
        )

    @property
    def _share(self) -> int:
        """What a line takes at most of a room that is full."""
        return self._room // 4

    def _split(self) -> None:
        """Leave in the head what fits in half of the room; the rest is a tail."""
        self._is_full = True
        lines, self.head, self.kept = self.head, [], 0
        for line in lines:
            self._append(line)
        left = self._room // 2
        while self.tail and (left := left - self._takes(self.tail[0])) >= 0:
            self.head.append(self.tail.popleft())

    def _append(self, line: Line) -> None:
        self.tail.append(line)
        self.kept += self._takes(line)

    def _takes(self, line: Line) -> int:
        return min(line.size, max(1, self._share))

    def _drop(self) -> None:
        while self.kept > self._room and self.tail:
            dropped = self.tail.popleft()
            self.kept -= self._takes(dropped)
            self.omitted += dropped.is_item


def _in_room(line: str, room: int) -> str:
    """The item on *line* with its texts so short that it takes *room* characters."""
    if len(line) < room:
        return line
    limit = room
    while limit > _SHORTEST:
        limit //= 2
        short = compact(map_strings(json.loads(line), partial(shorten, limit=limit)))
        if len(short) < room:
            return short
    return shorten(line, max(0, room - 1))
