"""Which rollout a person means.

Pure.
"""

from collections.abc import Mapping
from typing import Final

from openhands_memory.errors import MemoryToolError

__all__ = ["NoSuchRolloutError", "resolve_name"]

#: Fewer characters of an id are no name for it.
_ENOUGH: Final = 6
_MOST_NAMED: Final = 20


class NoSuchRolloutError(MemoryToolError):
    """No rollout, or more than one, is called so.

    Attributes: *name* is what was asked for, *known* are the ids that it could be:
    those that it begins, else all; *looked_in* says where there are none.
    """

    def __init__(
        self,
        name: str,
        ids: tuple[str, ...],
        near: tuple[str, ...] = (),
        looked_in: str = "",
    ) -> None:
        super().__init__(name, ids, near, looked_in)
        self.looked_in = looked_in
        self.name = name
        self.known = near or ids
        self._several = bool(near)

    def __str__(self) -> str:
        what = (
            "begins the ids of several rollouts" if self._several else "is no rollout"
        )
        if not self.known:
            place = f" in {self.looked_in}" if self.looked_in else ""
            return f"{self.name} {what} here: there are none{place}"
        if self._is_short:
            what += f": the beginning of an id takes {_ENOUGH} characters"
        else:
            what += " here"
        named = "".join(f"\n  {rollout_id}" for rollout_id in self.known[:_MOST_NAMED])
        more = len(self.known) - _MOST_NAMED
        rest = f"\n  and {more} more" if more > 0 else ""
        return f"{self.name} {what}; name one of:{named}{rest}"

    @property
    def _is_short(self) -> bool:
        begins = any(rollout_id.startswith(self.name) for rollout_id in self.known)
        return 0 < len(self.name) < _ENOUGH and begins


def resolve_name(
    name: str, ids: tuple[str, ...], refs: Mapping[str, str], *, looked_in: str = ""
) -> str:
    """The one of *ids* that *name* is, is the ref of, or begins.

    *looked_in* says where, for who has to be told that there are none.

    Raises:
        NoSuchRolloutError: There is none, or more than one.
    """
    if name in ids:
        return name
    if refs.get(name) in ids:
        return refs[name]
    near = tuple(i for i in ids if len(name) >= _ENOUGH and i.startswith(name))
    if len(near) != 1:
        raise NoSuchRolloutError(name, ids, near, looked_in)
    return near[0]
