"""Bytes become text; a bad byte never costs the rest."""

import codecs

import pytest

from openhands_memory.context.decode import Decoded, decode, decode_far

TEXT = "# Facts\n- café ☃ 🙂\n- two\n"


def whole(data: bytes) -> Decoded:
    return decode(data, head=data[:4], whole=True)


@pytest.mark.parametrize(
    ("mark", "codec", "name"),
    [
        (b"", "utf-8", "utf-8"),
        (codecs.BOM_UTF8, "utf-8", "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16-be"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_byte_order_mark_decides(
    mark: bytes, codec: str, name: str, newline: str
) -> None:
    data = mark + TEXT.replace("\n", newline).encode(codec)
    assert whole(data) == Decoded(TEXT, name)


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_tail_is_whole_lines_wherever_it_begins(codec: str, newline: str) -> None:
    mark = {"utf-8": b"", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}[codec]
    data = mark + (TEXT * 3).replace("\n", newline).encode(codec)
    lines = (TEXT * 3).splitlines(keepends=True)
    tails = {"".join(lines[first:]) for first in range(len(lines) + 1)}
    for start in range(len(mark), len(data), 2):
        decoded = decode(data[start:], head=data[:4], whole=False)
        # Between a CR and its LF there is one more line end to see.
        assert decoded.text in tails
        assert decoded.bad_lines == ()


def test_one_byte_before_a_line_is_enough_to_keep_it() -> None:
    assert decode(b"\none\ntwo\n", head=b"xxxx", whole=False).text == "one\ntwo\n"
    assert decode(b"\r\none\n", head=b"xxxx", whole=False).text == "one\n"
    assert decode(b"xone\ntwo\n", head=b"xxxx", whole=False).text == "two\n"


def test_a_tail_without_a_line_end_is_nothing() -> None:
    assert decode(b"x" * 100, head=b"xxxx", whole=False).text == ""


def test_invalid_bytes_are_replaced_and_their_lines_named() -> None:
    found = whole(b"- good\n- caf\xe9 \x93x\x94\n- good\n\xff")
    assert found.text == "- good\n- caf\ufffd \ufffdx\ufffd\n- good\n\ufffd"
    assert found.bad_lines == (1, 1, 1, 3)


def test_a_replacement_character_of_the_file_itself_is_no_invalid_byte() -> None:
    found = whole("- \ufffd\n- ".encode() + b"\xe9\n")
    assert found.text == "- \ufffd\n- \ufffd\n"
    assert found.bad_lines == (1,)


@pytest.mark.parametrize(
    "data", [b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\x80"]
)
def test_no_invalid_sequence_becomes_a_surrogate_or_an_ascii_character(
    data: bytes,
) -> None:
    assert set(whole(b"a\n" + data).text) == {"a", "\n", "\ufffd"}


def test_half_a_utf_16_character_costs_only_itself() -> None:
    found = whole(codecs.BOM_UTF16_LE + "a\nb\n".encode("utf-16-le") + b"x")
    assert found.text == "a\nb\n\ufffd"
    assert found.bad_lines == (2,)


def test_a_utf_16_tail_that_begins_inside_a_pair_has_no_invalid_bytes() -> None:
    data = "🙂x\n- two\n".encode("utf-16-le")
    found = decode(data[2:], head=codecs.BOM_UTF16_LE, whole=False)
    assert found == Decoded("- two\n", "utf-16-le", whole=False)


def test_bad_lines_of_a_utf_16_tail_count_from_its_first_whole_line() -> None:
    data = "x\none\n".encode("utf-16-le") + b"\x00\xdc" + "\n".encode("utf-16-le")
    found = decode(data, head=codecs.BOM_UTF16_LE, whole=False)
    assert found.text == "one\n\ufffd\n"
    assert found.bad_lines == (1,)


@pytest.mark.parametrize(
    "data",
    [
        "- a fact\n".encode("utf-16-le"),
        "- a fact\n".encode("utf-16-be"),
        "- a fact\n".encode("utf-32"),
        b"\0" * 100,
        b"\x7fELF\x02\x01\x01" + b"\0" * 40,
    ],
)
def test_bytes_full_of_nul_are_no_text(data: bytes) -> None:
    assert whole(data).looks_binary


def test_a_single_nul_does_not_cost_the_text() -> None:
    found = whole(b"- one fact\n- two\0 facts\n")
    assert not found.looks_binary
    assert found.text == "- one fact\n- two\0 facts\n"


def test_a_tail_of_nul_without_any_line_is_no_text() -> None:
    assert decode(b"\0" * 100, head=b"\0" * 4, whole=False).looks_binary


def test_only_the_first_mark_is_one() -> None:
    found = whole(codecs.BOM_UTF8 * 2 + b"x")
    assert found.text == "\ufeffx"


def test_nothing_is_empty_text() -> None:
    assert whole(b"") == Decoded("", "utf-8")
    assert whole(codecs.BOM_UTF8).text == ""


# --- Holes ------------------------------------------------------------------------------

HOLE = b"\0" * 5000


def test_a_line_with_a_hole_is_left_out_by_itself() -> None:
    found = whole(b"- one\n" + HOLE + b"\n- two\n")
    assert found.text == "- one\n- two\n"
    assert list(found.left_out) == [1]
    assert not found.looks_binary
    assert found.lines == 3


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("end", [b"", b"- last", b"- last\n", b"\n", b"\n \n"])
def test_a_hole_and_no_whole_line_is_no_text(is_whole: bool, end: bytes) -> None:
    found = decode(HOLE + end, head=HOLE[:4], whole=is_whole)
    assert found.looks_binary


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_hole_and_whole_lines_below_it_are_text(is_whole: bool) -> None:
    found = decode(HOLE + b"\n- last\n", head=HOLE[:4], whole=is_whole)
    assert not found.looks_binary
    assert found.text == "- last\n"


def test_nul_all_over_is_no_text_even_beside_a_hole() -> None:
    data = "- a fact\n".encode("utf-16-le") * 50 + HOLE + b"\n"
    assert whole(data).looks_binary


# --- Far up -----------------------------------------------------------------------------


def far(
    data: bytes, *, head: bytes = b"", is_whole: bool = True, **limits: int
) -> Decoded:
    limits = {"longest": 10, "enough": 1000, **limits}
    return decode_far(data, head=head, whole=is_whole, **limits)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be"])
def test_long_lines_are_left_out(codec: str, newline: str) -> None:
    mark = {"utf-8": b"", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}[codec]
    lines = ["x" * 11, "ééééé éééé", "y" * 99, "- two", "", "中" * 11, ""]
    data = mark + newline.join(lines).encode(codec)
    found = far(data, head=data[:4])
    assert found.text == "ééééé éééé\n- two\n\n"
    assert list(found.left_out) == [0, 2, 5]
    assert found.numbers == [1, 3, 4, 6]
    assert found.lines == 6
    assert found.whole


def test_only_so_much_is_taken_and_the_first_part_of_a_line_never() -> None:
    found = far(b"torn\n- one\n- two\n- three\n", is_whole=False)
    assert (found.text, found.whole) == ("- one\n- two\n- three\n", False)
    found = far(b"- one\n- two\n- three\n", enough=8)
    assert (found.text, found.whole) == ("- two\n- three\n", False)


def test_a_blank_end_is_counted_and_not_taken_for_text() -> None:
    found = far(b"- one\n" + b" " * 99 + b"\n\t\n")
    assert found.text == "- one\n\n\n"
    assert found.lines == 3
    assert far(b" \n" * 9).text.strip() == ""
    for data in (b"- a\n\n ", b"x" * 99 + b"\n ", b"- a  ", b"x" * 99 + b"  "):
        assert far(data).lines == len(data.splitlines())


def test_bad_lines_count_those_that_are_left_out() -> None:
    found = far(b"- a\n" + b"x" * 99 + b"\n- \xff\n")
    assert found.text == "- a\n- \ufffd\n"
    assert found.bad_lines == (2,)


@pytest.mark.parametrize(
    "data", [b"", b"x" * 99, b"\n", b"\xef\xbb\xbf", b"x" * 99 + b"\n\n"]
)
def test_where_nothing_is_left_the_lines_are_counted(data: bytes) -> None:
    found = far(data, head=data[:4])
    assert not found.text.strip()
    assert found.lines == len(data.decode("utf-8-sig").splitlines())
