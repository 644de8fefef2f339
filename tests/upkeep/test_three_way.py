"""Two versions of a memory file made into one, fact by fact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openhands_memory.upkeep.document import parse_document
from openhands_memory.upkeep.sections import facts_of
from openhands_memory.upkeep.three_way import merge_texts
from openhands_memory.upkeep.transfer import TransferRefusedError


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        # Added on either side, or on both, at one place or at two.
        ("- a\n", "- a\n- b\n", "- a\n- c\n", "- a\n- b\n- c\n"),
        ("- a\n", "- a\n- b\n- c\n", "- c\n- a\n- d\n", "- a\n- b\n- c\n- d\n"),
        ("", "- a\n- b\n", "- b\n- c\n", "- a\n- b\n- c\n"),
        ("one\n", "one\n\ntwo\n", "one\n\nthree\n", "one\n\ntwo\n\nthree\n"),
        ("one\n", "one\ntwo\n", "one\n\nthree\n", "one\ntwo\n\nthree\n"),
        # Deleted on one side, next to what the other added.
        ("- a\n- b\n", "- a\n", "- a\n- b\n- c\n", "- a\n- c\n"),
        ("- a\n- b\n", "", "- a\n- b\n", ""),
        ("- a\n- b\n- c\n", "- a\n- c\n", "- b\n- c\n", "- c\n"),
        # Edited on one side, next to an edit of the other.
        (
            "- port is 80\n- host is x\n",
            "- port is 81\n- host is x\n",
            "- port is 80\n- host is y\n",
            "- port is 81\n- host is y\n",
        ),
        ("- a\n", "- the same\n", "- the same\n", "- the same\n"),
        ("- a b\n", "*  a b\n", "- a c\n", "- a c\n"),
        # Moved on one side.
        (
            "- a\n- b\n- c\n",
            "- c\n- a\n- b\n",
            "- a\n- b\n- c\n- d\n",
            "- c\n- a\n- b\n- d\n",
        ),
        # Headings: the same one once, with the facts of both.
        (
            "# A\n- a\n",
            "# A\n- a\n\n# N\n- x\n",
            "# A\n- a\n\n# N\n- y\n\n# O\n- z\n",
            "# A\n- a\n\n# N\n- x\n- y\n\n# O\n- z\n",
        ),
        (
            "# A\n\n# B\n",
            "# A\n- x\n\n# B\n",
            "# A\n- y\n\n# B\n- z\n",
            "# A\n- x\n- y\n\n# B\n- z\n",
        ),
        (
            "- a\n",
            "- a\n<!-- openhands-memory: generated -->\n- x\n"
            "<!-- /openhands-memory: generated -->\n",
            "- a\n<!-- openhands-memory: generated -->\n# T\n- y\n"
            "<!-- /openhands-memory: generated -->\n",
            "- a\n<!-- openhands-memory: generated -->\n- x\n\n# T\n- y\n\n"
            "<!-- /openhands-memory: generated -->\n",
        ),
        # Lists within a fact.
        (
            "- P:\n  - a\n- q\n",
            "- P:\n  - a\n  - b\n- q\n",
            "- P:\n  - a\n  - c\n- q\n",
            "- P:\n  - a\n  - b\n  - c\n- q\n",
        ),
        # Line ends of ours; a last one that somebody added.
        ("- a\r\n", "- a\r\n- b\r\n", "- a\n- c\n", "- a\r\n- b\r\n- c\r\n"),
        ("- a", "- a", "- a\n- b\n", "- a\n- b\n"),
        ("- a", "- a\n- b", "- a", "- a\n- b"),
    ],
)
def test_what_is_no_conflict_is_merged(
    base: str, ours: str, theirs: str, expected: str
) -> None:
    assert merge_texts(base, ours, theirs) == (expected, 0)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        (
            "- a\n- port is 80\n- z\n",
            "- a\n- port is 81\n- z\n",
            "- a\n- port is 82\n- z\n- y\n",
            "- a\n<<<<<<< ours\n- port is 81\n=======\n- port is 82\n>>>>>>> theirs\n"
            "- z\n- y\n",
        ),
        (
            "- one\n",
            "- uno\n",
            "- eins\n",
            "<<<<<<< ours\n- uno\n=======\n- eins\n>>>>>>> theirs\n",
        ),
        (
            "- a fact\n",
            "",
            "- a fact here",
            "<<<<<<< ours\n=======\n- a fact here\n>>>>>>> theirs\n",
        ),
        (
            "- P:\n  - port 80\n",
            "- P:\n  - port 81\n",
            "- P:\n  - port 82\n",
            "<<<<<<< ours\n- P:\n  - port 81\n=======\n- P:\n  - port 82\n>>>>>>> theirs\n",
        ),
    ],
)
def test_one_fact_made_two_things_of_is_a_conflict(
    base: str, ours: str, theirs: str, expected: str
) -> None:
    assert merge_texts(base, ours, theirs) == (expected, 1)


@pytest.mark.parametrize("broken", ["base", "ours", "theirs"])
def test_code_that_never_ends_is_refused(broken: str) -> None:
    texts = {name: f"- {name}\n" for name in ("base", "ours", "theirs")}
    texts[broken] += "```\n"
    with pytest.raises(TransferRefusedError, match="never closes"):
        merge_texts(**texts)


# --- For any files ----------------------------------------------------------------------

LINE = st.sampled_from(
    "- a|- b|- c|- port 80|- port 81|* a|  - d|  e|f|# A|## B|# C||---|```|<pre>".split(
        "|"
    )
)
TEXT = st.lists(LINE, max_size=8).map(lambda lines: "".join(f"{x}\n" for x in lines))
FACTS = st.lists(st.sampled_from("abcdefgh"), max_size=6, unique=True)


def flat(facts: list[str]) -> str:
    return "".join(f"- {fact * 9}\n" for fact in facts)


def keys(text: str) -> list[str]:
    return [fact.key for fact in facts_of(parse_document(text))]


@given(TEXT, TEXT)
def test_what_only_one_side_did_is_taken_as_it_is(base: str, side: str) -> None:
    try:
        assert merge_texts(base, side, base) == (side, 0)
        assert merge_texts(base, side, side) == (side, 0)
    except TransferRefusedError:
        return
    assert merge_texts(base, base, side).conflicts == 0
    assert sorted(set(keys(merge_texts(base, base, side).text))) == sorted(
        set(keys(side))
    )


@given(FACTS, FACTS, FACTS)
def test_nothing_new_is_lost_and_nothing_stands_twice(
    base: list[str], ours: list[str], theirs: list[str]
) -> None:
    merged = merge_texts(flat(base), flat(ours), flat(theirs))
    new = {fact * 9 for fact in {*ours, *theirs} - set(base)}
    kept = {fact * 9 for fact in {*base} & {*ours} & {*theirs}}
    lines = merged.text.splitlines()
    for fact in new | kept:
        assert f"- {fact}" in lines
    if not merged.conflicts:
        assert len(lines) == len(set(lines))
        gone = {fact * 9 for fact in set(base) - ({*ours} & {*theirs})}
        assert not gone & set(keys(merged.text))


@given(TEXT, TEXT, TEXT)
def test_it_never_fails_otherwise(base: str, ours: str, theirs: str) -> None:
    try:
        merged = merge_texts(base, ours, theirs)
    except TransferRefusedError:
        return
    assert merged.text.count("<<<<<<< ours\n") == merged.conflicts
