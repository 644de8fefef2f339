"""Whole lines from the end; what can never fit is dropped by itself."""

import pytest
from case_files import read_cases

from openhands_memory.context.tail import fitting_lines, keep_tail
from openhands_memory.fences import fenced_blocks, has_fences
from openhands_memory.sanitize import TRUNCATION_NOTICE

NOTICE = len(TRUNCATION_NOTICE)


@pytest.mark.parametrize(("given", "expected"), read_cases("tail"))
def test_the_tail_is_kept(given: str, expected: str) -> None:
    room, *lines = given.split("\n")
    blocks = fenced_blocks(lines)
    kept = keep_tail(lines, int(room.removeprefix("room: ")), blocks=blocks)
    assert [TRUNCATION_NOTICE, *(lines[i] for i in kept)] == expected.split("\n")


def test_lines_above_the_first_are_never_kept() -> None:
    assert keep_tail(["a", "b", "c"], 1000, first=2) == [2]


def test_a_block_that_begins_above_the_first_line_is_not_torn() -> None:
    lines = ["```", "code", "```", "after"]
    assert keep_tail(lines, 1000, first=1, blocks=fenced_blocks(lines)) == [3]


def test_no_lines_keep_nothing() -> None:
    assert keep_tail([], 1000) == []


@pytest.mark.parametrize("room", [-5, 0, NOTICE - 1, NOTICE, NOTICE + 1])
def test_without_room_nothing_is_kept(room: int) -> None:
    assert keep_tail(["a", "b"], room) == []


def test_a_line_fits_with_its_line_end() -> None:
    assert keep_tail(["four"], NOTICE + 4) == []
    assert keep_tail(["four"], NOTICE + 5) == [0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("a `b` ~c~", False),
        ("``x``", False),
        ("```", True),
        ("~~~", True),
    ],
)
def test_only_texts_with_fences_are_looked_at_twice(text: str, expected: bool) -> None:
    assert has_fences(text) is expected


def test_blocks_are_found_in_order() -> None:
    lines = ["```", "x", "```", "text", "~~~", "```", "~~~~", "```"]
    assert fenced_blocks(lines) == [(0, 2), (4, 6)]


def test_a_beginning_inside_a_block_is_inferred_from_the_fences() -> None:
    inside = ["code", "```", "text", "```sh", "code", "```"]
    assert fenced_blocks(inside, whole=False) == [(-1, 1), (3, 5)]
    assert fenced_blocks(["text", "```sh", "code", "```"], whole=False) == [(1, 3)]


def test_a_block_fits_whole_or_not_at_all() -> None:
    lines = ["a", "```", "123456789", "123456789", "```", "b"]
    blocks = fenced_blocks(lines)
    assert fitting_lines(lines, NOTICE + 28, blocks=blocks) == [0, 1, 2, 3, 4, 5]
    assert fitting_lines(lines, NOTICE + 27, blocks=blocks) == [0, 5]


def test_thousands_of_blocks_take_no_longer_than_lines_do() -> None:
    lines = ["```", "```"] * 20_000
    kept = keep_tail(lines, 1000, blocks=fenced_blocks(lines))
    assert len(kept) % 2 == 0
    assert kept[-1] == len(lines) - 1


@pytest.mark.parametrize("lead", ["  - ", "> ", "    ", "1. "])
def test_a_cut_never_opens_a_code_block_in_a_list_or_a_quote(lead: str) -> None:
    below = lead if ">" in lead else "  "
    code = [f"{below}make {n}" for n in range(9)]
    lines = ["- a fact", f"{lead}```py", *code, f"{below}```", "- last"]
    blocks = fenced_blocks(lines)
    everything = sum(len(line) + 1 for line in lines)
    for room in range(NOTICE, NOTICE + everything + 1):
        kept = keep_tail(lines, room, blocks=blocks)
        assert kept in ([], [12], list(range(1, 13)), list(range(13)), [0, 12])
