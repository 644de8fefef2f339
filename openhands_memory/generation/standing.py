"""How generation stands: what is pending, what has failed, what waits for a person.

Pure: types only, and light ones, since ``status`` loads them at each start.
"""

from typing import Any, NamedTuple

__all__ = ["NOTHING_STANDS", "FailedRollout", "Standing", "Waiting"]


class FailedRollout(NamedTuple):
    """A rollout that was not extracted, how often, and why the last time.

    Attributes: *gave_up* says that it is not tried again by itself.
    """

    rollout_id: str
    attempts: int
    reason: str
    gave_up: bool


class Waiting(NamedTuple):
    """What waits for review: since when, why, and which files it changes."""

    time: str
    reason: str
    files: tuple[str, ...]


class Standing(NamedTuple):
    """How generation stands in one layout of a workspace.

    Attributes: *rollouts* are on disk, *pending* of them are to be extracted;
    *consolidated* are the raw memories that the index is made of, as they are now;
    *last_error* is why the last consolidation, or extraction, failed, until one succeeds;
    *gave_up* says that the consolidation is not tried again until something is new.
    """

    rollouts: int = 0
    pending: int = 0
    raw_memories: int = 0
    consolidated: int = 0
    failed: tuple[FailedRollout, ...] = ()
    last_error: str | None = None
    gave_up: bool = False
    review: Waiting | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON values; the names are stable."""
        return {
            **self._asdict(),
            "failed": [rollout._asdict() for rollout in self.failed],
            "review": self.review and self.review._asdict(),
        }


NOTHING_STANDS = Standing()
