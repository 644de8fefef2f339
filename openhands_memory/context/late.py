"""A fact that is found out when it is first asked for."""

from collections.abc import Callable
from typing import Any

__all__ = ["Late"]


class Late[T]:
    """Part of a frozen value that compares by its other parts.

    How it is found out is not pickled: what is found out is.
    """

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], T]) -> None:
        self._find = find
        self._found: list[T] = []

    def get(self) -> T:
        if not self._found:
            self._found.append(self._find())
        return self._found[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Late)

    def __hash__(self) -> int:
        return hash(Late)

    def __repr__(self) -> str:
        return "..."

    def __deepcopy__(self, _memo: object) -> "Late[T]":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _known, (self.get(),)


def _known[T](found: T) -> Late[T]:
    return Late(lambda: found)
