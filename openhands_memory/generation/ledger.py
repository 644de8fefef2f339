"""Which rollouts are pending, which were extracted, and which failed how often.

Pure: `render_ledger` and `parse_ledger` are a pair. A ledger that is lost is no loss but
of the count of failures: what was extracted is seen in the files themselves.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, NamedTuple, cast, get_args

__all__ = [
    "ATTEMPTS",
    "EMPTY_LEDGER",
    "Attempt",
    "Ledger",
    "Outcome",
    "State",
    "parse_ledger",
    "render_ledger",
]

#: How often the same work is tried before it waits for something new.
ATTEMPTS: Final = 3

State = Literal["extracted", "empty", "failed"]


class Outcome(NamedTuple):
    """What became of a rollout when it had *size* bytes."""

    size: int
    state: State
    attempts: int = 1
    reason: str = ""


class Attempt(NamedTuple):
    """How often a selection failed to be consolidated; *key* says which it was."""

    key: str = ""
    attempts: int = 0
    reason: str = ""


class Ledger(NamedTuple):
    """The outcome of each rollout, by its id, and of the last consolidation."""

    rollouts: Mapping[str, Outcome] = {}
    consolidation: Attempt = Attempt()

    def is_pending(self, rollout_id: str, size: int) -> bool:
        """Whether a rollout of *size* bytes is new, has grown, or is to be retried."""
        known = self.rollouts.get(rollout_id)
        if known is None or known.size != size:
            return True
        return known.state == "failed" and known.attempts < ATTEMPTS

    def with_outcome(
        self,
        rollout_id: str,
        size: int,
        state: State,
        reason: str = "",
        *,
        counts: bool = True,
    ) -> "Ledger":
        """This and one more outcome; failures of what did not grow add up.

        One that does not count as an attempt is not the rollout's fault.
        """
        known = self.rollouts.get(rollout_id)
        again = known is not None and known.size == size and known.state == "failed"
        attempts = int(counts) + (known.attempts if known and again else 0)
        outcome = Outcome(size, state, attempts, reason)
        return self._replace(rollouts={**self.rollouts, rollout_id: outcome})

    def without(self, rollout_id: str) -> "Ledger":
        """This without a rollout that was forgotten."""
        kept = {i: o for i, o in self.rollouts.items() if i != rollout_id}
        return self._replace(rollouts=kept)

    def reopened(self, lost: Collection[str]) -> "Ledger":
        """This with the rollouts to be extracted anew whose raw memories were *lost*."""
        kept = {
            i: o
            for i, o in self.rollouts.items()
            if i not in lost or o.state != "extracted"
        }
        return self._replace(rollouts=kept)

    def with_refusal(self, key: str, reason: str, *, counts: bool = True) -> "Ledger":
        """This and one more failure to consolidate the selection *key*.

        One that does not count as an attempt is not the selection's fault.
        """
        last = self.consolidation
        attempts = int(counts) + (last.attempts if last.key == key else 0)
        return self._replace(consolidation=Attempt(key, attempts, reason))

    def settled(self) -> "Ledger":
        """This once a consolidation has succeeded."""
        return self._replace(consolidation=Attempt())

    def waits(self, key: str) -> bool:
        """Whether the selection *key* failed so often that it is not tried again."""
        last = self.consolidation
        return last.key == key and last.attempts >= ATTEMPTS

    def retried(self) -> "Ledger":
        """This with all failures to be tried anew."""
        kept = {i: o for i, o in self.rollouts.items() if o.state != "failed"}
        return Ledger(kept)


EMPTY_LEDGER: Final = Ledger()


def render_ledger(ledger: Ledger) -> str:
    """The JSON text of *ledger*."""
    record = {
        "rollouts": {i: o._asdict() for i, o in ledger.rollouts.items()},
        "consolidation": ledger.consolidation._asdict(),
    }
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"


def parse_ledger(text: str) -> Ledger:
    """What `render_ledger` wrote; what cannot be read of it counts as not there."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return EMPTY_LEDGER
    record = _mapping(record)
    found = {i: _outcome(o) for i, o in _mapping(record.get("rollouts")).items()}
    last = _mapping(record.get("consolidation"))
    return Ledger(
        {i: o for i, o in found.items() if o},
        Attempt(
            str(last.get("key") or ""),
            _number(last.get("attempts")),
            str(last.get("reason") or ""),
        ),
    )


def _outcome(value: Any) -> Outcome | None:
    record = _mapping(value)
    state = record.get("state")
    if state not in get_args(State):
        return None
    return Outcome(
        _number(record.get("size")),
        cast("State", state),
        _number(record.get("attempts")),
        str(record.get("reason") or ""),
    )


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
