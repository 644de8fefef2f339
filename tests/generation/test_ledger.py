"""What is pending, and how often it is tried."""

from hypothesis import given
from hypothesis import strategies as st

from openhands_memory.generation.ledger import (
    ATTEMPTS,
    EMPTY_LEDGER,
    Attempt,
    Ledger,
    Outcome,
    parse_ledger,
    render_ledger,
)

outcomes = st.builds(
    Outcome,
    st.integers(0),
    st.sampled_from(["extracted", "empty", "failed"]),
    st.integers(0, 9),
    st.text(),
)
ledgers = st.builds(
    Ledger,
    st.dictionaries(st.text(), outcomes),
    st.builds(Attempt, st.text(), st.integers(0, 9), st.text()),
)


@given(ledgers)
def test_a_ledger_comes_back_as_it_was_written(ledger: Ledger) -> None:
    assert parse_ledger(render_ledger(ledger)) == ledger


def test_a_damaged_ledger_forgets_only_what_cannot_be_read() -> None:
    for text in ("", "[]", "nul", "[" * 100_000):
        assert parse_ledger(text) == EMPTY_LEDGER
    found = parse_ledger('{"rollouts": {"a": {"size": 3, "state": "empty"}, "b": 1}}')
    assert set(found.rollouts) == {"a"}


def test_a_rollout_is_pending_when_it_is_new_or_has_grown() -> None:
    ledger = EMPTY_LEDGER.with_outcome("a", 10, "extracted")
    assert EMPTY_LEDGER.is_pending("a", 10)
    assert not ledger.is_pending("a", 10)
    assert ledger.is_pending("a", 11)
    assert not EMPTY_LEDGER.with_outcome("a", 10, "empty").is_pending("a", 10)


def test_a_failure_is_tried_three_times_in_all_until_the_rollout_grows() -> None:
    ledger = EMPTY_LEDGER
    for _ in range(ATTEMPTS):
        assert ledger.is_pending("a", 10)
        ledger = ledger.with_outcome("a", 10, "failed", "no answer")
    assert not ledger.is_pending("a", 10)
    assert ledger.is_pending("a", 20)
    again = ledger.with_outcome("a", 20, "failed")
    assert again.rollouts["a"].attempts == 1
    assert ledger.retried().is_pending("a", 10)


def test_a_selection_is_refused_three_times_until_it_is_another() -> None:
    ledger = EMPTY_LEDGER
    for _ in range(ATTEMPTS):
        assert not ledger.waits("one")
        ledger = ledger.with_refusal("one", "too long")
    assert ledger.waits("one")
    assert not ledger.waits("two")
    assert ledger.with_refusal("two", "").consolidation.attempts == 1
