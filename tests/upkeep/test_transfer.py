"""Facts brought from one file into another: once, in order, nothing else touched."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openhands_memory.upkeep.document import decode_file, parse_document
from openhands_memory.upkeep.transfer import (
    TransferRefusedError,
    bring_in,
    facts_in,
)


def bring(mine: str, theirs: str) -> str:
    data = bring_in(mine.encode(), theirs.encode()).data
    assert data is not None
    return data.decode()


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        ("- a\n", "- b\n", "- a\n- b\n"),
        ("- a\n- b\n", "- b\n- a\n- c\n", "- a\n- b\n- c\n"),
        ("", "- a\n", "- a\n"),
        ("- a", "- b", "- a\n- b\n"),
        ("- a\r\n", "- b\n", "- a\r\n- b\r\n"),
        # The marker and white space do not make another fact; case does.
        ("- a  b\n", "* a b\n- A b\n", "- a  b\n- A b\n"),
        # Below the same heading, whatever stands below it.
        ("# H\n- a\n\n# I\n- b\n", "# H\n- c\n", "# H\n- a\n- c\n\n# I\n- b\n"),
        ("# H\n\n# I\n", "# H\n- c\n", "# H\n- c\n\n# I\n"),
        ("# H ##\n- a\n", "#  h\n- c\n", "# H ##\n- a\n- c\n"),
        # Or with the heading, and with those above it.
        ("# H\n- a\n", "# I\n- c\n", "# H\n- a\n\n# I\n- c\n"),
        ("- a\n", "# I\n\n## J\n- c\n", "- a\n\n# I\n\n## J\n- c\n"),
        (
            "# A\n- a\n\n# B\n- b\n",
            "# A\n## C\n- c\n",
            "# A\n- a\n\n## C\n- c\n\n# B\n- b\n",
        ),
        # The only heading with that title is the same one, at whatever level.
        ("# M\n## T\n- a\n", "# T\n- b\n", "# M\n## T\n- a\n- b\n"),
        # Facts without a heading stay without one where there are some.
        ("- a\n\n# H\n- b\n", "- c\n", "- a\n- c\n\n# H\n- b\n"),
        ("# H\n- b\n", "- c\n", "# H\n- b\n- c\n"),
        # Empty headings, rules and comments of theirs are no facts.
        ("- a\n", "# Empty\n\n---\n- a\n", "- a\n"),
        # Entries come whole.
        ("- a\n", "- b\n  - c\n    d\n- e\n", "- a\n- b\n  - c\n    d\n- e\n"),
        ("- a\n", "```\n- x\n\n- y\n```\n", "- a\n\n```\n- x\n\n- y\n```\n"),
        ("one\n", "two\nlines\n", "one\n\ntwo\nlines\n"),
        ("# H\none\n", "# H\ntwo\n- b\n", "# H\none\n\ntwo\n\n- b\n"),
        ("- a\n---\n", "two\n", "- a\n\ntwo\n\n---\n"),
        # What a person wrote and what was generated stay apart.
        (
            "- a\n<!-- openhands-memory: generated -->\n# T\n- b\n"
            "<!-- /openhands-memory: generated -->\n",
            "- c\n<!-- openhands-memory: generated -->\n# T\n- d\n"
            "<!-- /openhands-memory: generated -->\n",
            "- a\n- c\n<!-- openhands-memory: generated -->\n# T\n- b\n- d\n"
            "<!-- /openhands-memory: generated -->\n",
        ),
        (
            "<!-- openhands-memory: generated -->\n# T\n- b\n"
            "<!-- /openhands-memory: generated -->\n",
            "# T\n- d\n",
            "<!-- openhands-memory: generated -->\n# T\n- b\n"
            "<!-- /openhands-memory: generated -->\n- d\n",
        ),
    ],
)
def test_facts_go_where_they_belong(mine: str, theirs: str, expected: str) -> None:
    assert bring(mine, theirs) == expected
    assert bring(expected, theirs) == expected


def test_what_was_taken_is_named_with_its_line_over_there() -> None:
    brought = bring_in(b"- a\n", b"# H\n- a\n\n- b\n")
    assert [(fact.line, fact.text) for fact in brought.taken] == [(4, "- b")]
    assert brought.present == 1


def test_a_file_that_is_not_here_is_taken_as_it_is() -> None:
    data = b"\xef\xbb\xbf# H\r\n\r\n- a\n---\n"
    assert bring_in(None, data).data == data
    assert bring_in(None, b"# H\n").data is None


@pytest.mark.parametrize(
    ("mine", "theirs", "problem"),
    [
        (b"- a\n```\nopen\n", b"- b\n", "in the file here: the code fence at line 2"),
        (b"- a\n", b"- b\n~~~\nopen\n", "line 2 never closes"),
        (b"- a\n", b"\0\0\0\0", "what is no text"),
        (b"\xff\xfe\x00\xd8a", b"- b\n", "what is no text"),
        (b"- a <pre>\n", b"- b\n- </pre>\n", "would read as part"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(
    mine: bytes, theirs: bytes, problem: str
) -> None:
    with pytest.raises(TransferRefusedError, match=problem):
        bring_in(mine, theirs)


def test_encodings_and_marks_of_this_side_stay() -> None:
    mine = codecs.BOM_UTF16_LE + "- naïve\r\n".encode("utf-16-le")
    brought = bring_in(
        mine, "- naïve\n- 日本\n- bad \udcff\n".encode(errors="surrogateescape")
    )
    assert brought.data == mine + "- 日本\r\n- bad \ufffd\r\n".encode("utf-16-le")
    again = bring_in(brought.data, b"- bad \xff\n")
    assert (again.data, again.taken) == (brought.data, ())
    mine = b"\xef\xbb\xbf- bad \xff\n"
    assert bring_in(mine, codecs.BOM_UTF16_BE + "- b\n".encode("utf-16-be")).data == (
        mine + b"- b\n"
    )


# --- For any files ----------------------------------------------------------------------

WORDS = st.sampled_from("alpha beta gamma delta `a  b` Ω é <pre> </pre> --- # ".split())
BODY = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
LINES = st.one_of(
    BODY.map("- {}".format),
    BODY.map("  - {}".format),
    BODY.map("* {}".format),
    BODY.map("  {}".format),
    BODY,
    st.sampled_from(
        ["# One", "## Two", "# Three", "### Two", "", "", "---", "```", "~~~"]
    ),
    st.sampled_from(
        [
            "<!-- openhands-memory: generated -->",
            "<!-- /openhands-memory: generated -->",
            "<!-- note -->",
        ]
    ),
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(LINES, max_size=12))
    newline = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    text = newline.join(lines) + newline * draw(st.integers(0, 2))
    mark, codec = draw(
        st.sampled_from(
            [
                (b"", "utf-8"),
                (b"", "utf-8"),
                (codecs.BOM_UTF8, "utf-8"),
                (codecs.BOM_UTF16_LE, "utf-16-le"),
                (codecs.BOM_UTF16_BE, "utf-16-be"),
            ]
        )
    )
    bad = draw(st.sampled_from([b"", b"", b"- bad \xff\xfe byte"]))
    return mark + text.encode(codec) + (bad if codec == "utf-8" else b"")


def lines_of(data: bytes) -> list[tuple[str, str]]:
    document = parse_document(decode_file(data).text)
    return list(zip(document.lines, document.ends, strict=True))


@given(files(), files())
def test_all_facts_are_there_once_in_order_and_what_was_here_is_untouched(
    mine: bytes, theirs: bytes
) -> None:
    try:
        brought = bring_in(mine, theirs)
    except TransferRefusedError:
        return
    assert brought.data is not None
    before, after = lines_of(mine), lines_of(brought.data)
    if before and not before[-1][1] and brought.taken:
        last = [line for line in after if line[0] == before[-1][0]]
        before[-1] = last[-1]
    rest = iter(after)
    assert all(line in rest for line in before), "a line was changed or moved"
    known = {fact.key for fact in facts_in(mine)}
    keys = [fact.key for fact in facts_in(brought.data)]
    assert set(keys) >= known
    new = [fact.key for fact in brought.taken]
    assert len(new) == len(set(new)), "a fact came twice"
    assert known.isdisjoint(new)
    assert set(new) <= set(keys)
    there = [fact.line for fact in brought.taken]
    assert there == sorted(there), "not in their order"


@given(files(), files())
def test_a_second_time_brings_nothing(mine: bytes, theirs: bytes) -> None:
    try:
        once = bring_in(mine, theirs)
    except TransferRefusedError:
        return
    assert once.data is not None
    again = bring_in(once.data, theirs)
    assert (again.data, again.taken) == (once.data, ())


@given(files())
def test_a_file_brings_itself_nothing(data: bytes) -> None:
    try:
        brought = bring_in(data, data)
    except TransferRefusedError:
        return
    assert (brought.data, brought.taken) == (data, ())
