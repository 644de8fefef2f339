"""A memory file as lines and entries: nothing is lost, and positions are an editor's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openhands_memory.fences import fenced_blocks, nested_fences
from openhands_memory.upkeep.document import (
    Entry,
    decode_file,
    encode_file,
    fact_key,
    parse_document,
    render_document,
    split_entries,
)

PIECES = st.sampled_from(
    [
        "\n",
        "\r\n",
        "\r",
        " ",
        "- ",
        "1. ",
        "# ",
        "```",
        "~~~",
        "a",
        "b c",
        "<pre>",
        "\t",
    ]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200)


@given(TEXTS)
def test_a_document_is_rendered_as_it_was_parsed(text: str) -> None:
    document = parse_document(text)
    assert render_document(document) == text
    assert len(document.lines) == len(document.ends) == len(document.code)


@given(st.binary(max_size=200))
def test_bytes_come_back_exactly_or_it_is_said(data: bytes) -> None:
    file = decode_file(data)
    assert not file.exact or encode_file(file, file.text) == data


@given(TEXTS)
def test_entries_are_in_order_and_hold_every_word(text: str) -> None:
    document = parse_document(text)
    last = 0
    for entry in document.entries:
        assert last < entry.line <= entry.end_line
        lines = document.lines[entry.line - 1 : entry.end_line]
        assert entry.text == "\n".join(lines).rstrip()
        last = entry.end_line
    inside = {n for e in document.entries for n in range(e.line, e.end_line + 1)}
    for number, line in enumerate(document.lines, 1):
        if any(char.isalpha() for char in line) and "openhands-memory" not in line:
            assert number in inside


def test_lines_end_as_in_an_editor() -> None:
    document = parse_document("one\r\ntwo\rthree\nfour")
    assert document.lines == ("one", "two", "three", "four")
    assert document.ends == ("\r\n", "\r", "\n", "")
    assert parse_document("one\n").lines == ("one",)
    assert parse_document("").lines == ()


def test_entries_are_bullets_paragraphs_and_headings_with_what_is_above_them() -> None:
    text = """# Rules
- one
  goes on
  - nested

  and on
- two
lazily
## Inner
A paragraph
of two lines.

Another.
# Last
1. step
"""
    found = [(e.line, e.end_line, e.kind, e.headings) for e in split_entries(text)]
    assert found == [
        (1, 1, "heading", ()),
        (2, 6, "bullet", ("Rules",)),
        (7, 8, "bullet", ("Rules",)),
        (9, 11, "heading", ("Rules",)),
        (13, 13, "text", ("Rules", "Inner")),
        (14, 14, "heading", ()),
        (15, 15, "bullet", ("Last",)),
    ]


def test_an_endless_bullet_is_cut_where_a_most_is_given() -> None:
    text = "- one\n" + "  more\n" * 99
    assert len(list(split_entries(text))) == 3
    assert len(parse_document(text).entries) == 1


def test_code_belongs_to_its_bullet_and_is_no_heading() -> None:
    text = "- run\n  ```sh\n# no heading\n\n- no bullet\n  ```\n- next\n"
    assert [(e.line, e.end_line) for e in split_entries(text)] == [(1, 6), (7, 7)]
    assert bytes(parse_document(text).code) == bytes([0, 1, 1, 1, 1, 1, 0])


@pytest.mark.parametrize(
    ("text", "blocks", "left_open"),
    [
        ("```\na\n```", [(0, 2)], None),
        ("````\n```\n````", [(0, 2)], None),
        ("~~~\n```\n~~~", [(0, 2)], None),
        ("- ```sh\n  a\n  ```", [(0, 2)], None),
        ("> ```\n> a\n> ```", [(0, 2)], None),
        ("      ```\n      ```", [(0, 1)], None),
        ("``` a ` b\n```", [], 1),
        ("```\na", [], 0),
        ("```\n- ```\n```", [(0, 2)], None),
    ],
)
def test_fences(
    text: str, blocks: list[tuple[int, int]], left_open: int | None
) -> None:
    found = nested_fences(text.split("\n"))
    assert (found.blocks, found.left_open) == (blocks, left_open)


def test_the_reader_sees_the_same_fences() -> None:
    lines = ["- ```", "  a", "  ```", "b", "> ~~~", "> ~~~"]
    assert fenced_blocks(lines) == nested_fences(lines).blocks == [(0, 2), (4, 5)]


def test_an_open_fence_and_pre_are_code() -> None:
    assert bytes(parse_document("a\n```\nb").code) == bytes([0, 1, 1])
    assert bytes(parse_document("a\n<pre>\nb\n</pre>\nc").code) == bytes(
        [0, 1, 1, 1, 0]
    )


def test_the_generated_part_is_what_stands_between_its_marks() -> None:
    text = (
        "- mine\n<!-- openhands-memory: generated -->\n- made\n"
        "<!-- /openhands-memory: generated -->\n- mine\n"
    )
    document = parse_document(text)
    assert list(document.generated) == [2]
    assert [e.text for e in document.entries] == ["- mine", "- made", "- mine"]
    assert not parse_document("- mine").generated


#: S and E stand for the marks in what follows.
_MARKS = {
    "S": "<!-- openhands-memory: generated -->",
    "E": "<!-- /openhands-memory: generated -->",
}
_SHOWN = {
    "fence": "```|S|- x|E|```",
    "tildes": "~~~md|S|E|~~~",
    "listed": "- Like this:|  ```|  S|  E|  ```",
    "quoted": "> ```|S|E|> ```",
    "pre": "<pre>|S|E|</pre>",
    "begin alone": "```|S|```",
    "end alone": "```|E|```",
    "one by one": "Begins with|```|S|```|and ends with|```|E|```",
}


def marks_of(text: str) -> tuple[int | None, int | None]:
    lines = [_MARKS.get(line.strip(), line) for line in text.split("|")]
    return parse_document("\n".join(lines)).marks


@pytest.mark.parametrize("shown", _SHOWN.values(), ids=_SHOWN)
def test_code_that_shows_the_marks_is_no_generated_part(shown: str) -> None:
    assert marks_of(shown) == (None, None)
    size = shown.count("|") + 1
    assert marks_of(f"{shown}|S|- a|E") == (size, size + 2)
    assert marks_of(f"S|- a|E|{shown}") == (0, 2)
    assert marks_of(f"S|- a|{shown}|E") == (0, size + 2)
    assert marks_of(f"S|- a|{shown}") == (0, None)
    assert marks_of(f"{shown}|E") == (None, None)
    assert marks_of(f"{shown}|S|- a|E|{shown}") == (size, size + 2)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("```|S|- a|E", (1, 3)),
        ("<pre>|S|- a|E", (1, 3)),
        ("```|S|- a|  ```sh|  x|  ```|E|- b", (1, 6)),
        ("```|S|```|x|```|E", (1, 5)),
        ("S|- a|```|E|- b|```|x|```", (0, 3)),
        ("- no `<pre>`|S|- no `</pre>`|E", (1, 3)),
        ("S|- no `<pre>`|E|- no `</pre>`", (0, 2)),
        ("- use <pre>|S|- a|E|<pre>|x|</pre>", (1, 3)),
        ("S|- use <pre>|E|<pre>|x|</pre>", (0, 2)),
        ("```html|<pre>|```|S|- a|E|```|</pre>|```", (3, 5)),
        ("E|S", (1, None)),
        ("E", (None, None)),
    ],
)
def test_a_fence_left_open_does_not_hide_the_marks(
    text: str, marks: tuple[int | None, int | None]
) -> None:
    assert marks_of(text) == marks


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("- a  b", "*\ta b", True),
        ("- a\n  b", "- a b", True),
        ("- a", "- A", False),
        ("a - b", "a b", False),
        ("- a", "- a.", False),
        ("- run `a  b`", "- run `a b`", False),
        ("- [ ] a", "- [x] a", False),
    ],
)
def test_the_same_fact(one: str, other: str, same: bool) -> None:
    assert (fact_key(Entry(1, 1, one)) == fact_key(Entry(1, 1, other))) is same
