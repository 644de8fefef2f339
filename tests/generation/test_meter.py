"""Caps, and what was used."""

import pytest

from openhands_memory.generation.meter import Meter
from openhands_memory.generation.models import CapReachedError


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def meter(clock: Clock | None = None) -> Meter:
    return Meter(max_seconds=10, max_tokens=100, max_cost=1, clock=clock or Clock())


def test_each_cap_stops_the_work_and_says_which() -> None:
    clock = Clock()
    by_time, by_tokens, by_cost = meter(clock), meter(), meter()
    by_tokens.add(tokens=100)
    by_cost.add(cost=1.0)
    clock.seconds = 10
    for stopped, cap in (
        (by_time, "seconds"),
        (by_tokens, "tokens"),
        (by_cost, "cost"),
    ):
        with pytest.raises(CapReachedError, match=cap):
            stopped.check()


def test_what_is_left_is_never_less_than_nothing() -> None:
    clock = Clock()
    used = meter(clock)
    used.add(calls=2, tokens=130, cost=0.25)
    clock.seconds = 12
    assert (used.tokens_left, used.seconds_left) == (0, 0)
    assert (used.calls, used.tokens, used.cost) == (2, 130, 0.25)


def test_an_unknown_cost_stays_unknown_and_tokens_hold_by_themselves() -> None:
    used = meter()
    used.add(tokens=60, cost=None)
    used.add(tokens=60, cost=0.1)
    assert used.cost is None
    with pytest.raises(CapReachedError, match="tokens"):
        used.check()


def test_after_a_stop_nothing_begins_and_what_began_is_done() -> None:
    used, done = meter(), list[str]()
    with used.writing():
        used.stop("seconds")
        done.append("written")
    with pytest.raises(CapReachedError, match="seconds"), used.writing():
        done.append("too late")
    with pytest.raises(CapReachedError, match="seconds"):
        used.check()
    assert done == ["written"]
