"""Refs at the end of facts, and support that is worked out from words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openhands_memory.generation.support import (
    Refs,
    distinctive_words,
    refs_of,
    supporters,
    with_refs,
    without_refs,
)

IDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)


@pytest.mark.parametrize(
    ("line", "bare", "refs"),
    [
        ("- uses uv [^3f2a91c0]", "- uses uv", ("3f2a91c0",)),
        ("- uses uv [^a1] [^b2]", "- uses uv", ("a1", "b2")),
        ("- uses uv[^a1], [^b2].", "- uses uv.", ("a1", "b2")),
        ("- uses uv. [^a1]  ", "- uses uv.", ("a1",)),
        ("- twice [^a1] [^a1]", "- twice", ("a1",)),
        ("- a class `[^a-z]`", "- a class `[^a-z]`", ()),
        ("- [^a1] says so", "- [^a1] says so", ()),
        ("- not one [^ a] [^]", "- not one [^ a] [^]", ()),
        ("- path [^../x]", "- path [^../x]", ()),
        ("[^a1]: a footnote", "[^a1]: a footnote", ()),
        ("", "", ()),
    ],
)
def test_refs_stand_at_the_end(line: str, bare: str, refs: tuple[str, ...]) -> None:
    assert refs_of(line) == refs
    assert without_refs(line) == bare


@given(st.text(max_size=30), st.lists(IDS, unique=True, max_size=4))
def test_refs_that_are_given_are_the_refs(line: str, refs: list[str]) -> None:
    whole = with_refs(line, refs)
    assert refs_of(whole) == tuple(refs)
    assert with_refs(whole, refs) == whole
    assert without_refs(without_refs(line)) == without_refs(line)


def test_a_ref_is_known_by_its_rollout_too() -> None:
    refs = Refs(
        {"3f2a91c0": "3f2a91c0-7a11-4c", "user-42": "user-42"}, {"gone": "gone"}
    )
    wanted = ("3f2a91c0", "user-42")
    assert (
        refs.known(("3f2a91c0-7a11-4c", "3f2a91c0-7a11-4c_slug", "user-42")) == wanted
    )
    assert refs.unknown(("3f2", "gone", "nobody")) == ("3f2", "nobody")
    assert refs.without_removed(("gone", "user-42", "nobody")) == ("user-42", "nobody")


def test_a_ref_that_fits_two_rollouts_is_unknown() -> None:
    refs = Refs({"aaaaaa1": "aaaaaa1", "aaaaaa2": "aaaaaa2"})
    assert refs.unknown(("aaaaaa",)) == ("aaaaaa",)


RAWS = {
    "one": distinctive_words("- Tests need Redis on port 6380, or they hang"),
    "two": distinctive_words("- The release branch is cut on Tuesdays from kestrel"),
    "three": distinctive_words("- 测试需要端口六三八零"),
}


@pytest.mark.parametrize(
    ("fact", "refs"),
    [
        ("start redis on port 6380 for tests", ("one",)),
        ("release branches are cut from kestrel", ("two",)),
        ("测试需要端口", ("three",)),
        ("prefers short answers", ()),
        ("", ()),
    ],
)
def test_a_fact_is_supported_by_what_holds_its_words(
    fact: str, refs: tuple[str, ...]
) -> None:
    assert supporters(fact, RAWS) == refs


def test_where_words_tell_nothing_the_only_fresh_rollout_supports() -> None:
    assert supporters("prefers short answers", RAWS, fresh=("two",)) == ("two",)
    assert supporters("prefers short answers", RAWS, fresh=("one", "two")) == ()


def test_a_ref_of_one_that_was_removed_is_not_taken_for_how_another_begins() -> None:
    refs = Refs({"rollout-b": "rollout-b-long-id"}, {"rollout-": "rollout-a-long-id"})
    assert refs.is_removed("rollout-")
    assert refs.known(("rollout-",)) == ()
    assert refs.without_removed(("rollout-", "rollout-b")) == ("rollout-b",)
    assert refs.known(("rollout-b-long-id", "rollout-b-l")) == ("rollout-b",)
