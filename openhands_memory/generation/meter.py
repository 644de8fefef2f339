"""The caps on what generation may use, and what it has used.

Pure but for the clock that it is given. A meter that was stopped lets nothing happen
any more: neither a call nor a write, whoever still holds it.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from openhands_memory.generation.models import Cap, CapReachedError

__all__ = ["Meter"]


class Meter:
    """Counts calls, tokens, US dollars and seconds, and stops the work at a cap.

    *clock* gives seconds, from any beginning. May be used by several threads.
    """

    def __init__(
        self,
        *,
        max_seconds: float,
        max_tokens: int,
        max_cost: float,
        clock: Callable[[], float],
    ) -> None:
        self._clock = clock
        self._began = clock()
        self._lock = threading.RLock()
        self._stopped: Cap | None = None
        self.max_seconds = max_seconds
        self.max_tokens = max_tokens
        self.max_cost = max_cost
        self.calls = 0
        self.tokens = 0
        self._cost = 0.0
        self._cost_is_known = True

    @property
    def seconds(self) -> float:
        """Seconds since the meter was made."""
        return self._clock() - self._began

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.max_seconds - self.seconds)

    @property
    def tokens_left(self) -> int:
        return max(0, self.max_tokens - self.tokens)

    @property
    def cost(self) -> float | None:
        """US dollars; None where a model's price is not known."""
        return self._cost if self._cost_is_known else None

    @property
    def reached(self) -> Cap | None:
        """The cap that there is nothing left of."""
        return self._stopped or self._used_up()

    def add(self, *, calls: int = 0, tokens: int = 0, cost: float | None = 0.0) -> None:
        """Count what was used; a *cost* of None is one that nobody knows."""
        with self._lock:
            self.calls += calls
            self.tokens += tokens
            if cost is None:
                self._cost_is_known = False
            else:
                self._cost += cost

    def check(self) -> None:
        """Go on.

        Raises:
            CapReachedError: There is nothing left of something.
        """
        if cap := self.reached:
            raise CapReachedError(cap)

    def stop(self, cap: Cap) -> None:
        """Let nothing begin any more; a write that has begun is done as a whole."""
        self._stopped = self._stopped or cap

    @contextmanager
    def writing(self) -> Generator[None]:
        """Around a write, which happens whole, or not at all after a stop.

        Raises:
            CapReachedError: The work was stopped.
        """
        with self._lock:
            if self._stopped:
                raise CapReachedError(self._stopped)
            yield

    def _used_up(self) -> Cap | None:
        if self.seconds >= self.max_seconds:
            return "seconds"
        if self.tokens >= self.max_tokens:
            return "tokens"
        return "cost" if self._cost >= self.max_cost else None
