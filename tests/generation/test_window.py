"""The first and the last of many lines, in a room that is given."""

import json

from hypothesis import given
from hypothesis import strategies as st

from openhands_memory.generation.shortening import compact
from openhands_memory.generation.window import Line, Window


def line(text: str, times: int, is_item: bool) -> Line:
    return Line(compact({"t": text * times}), is_item)


LINES = st.lists(
    st.builds(line, st.text(max_size=30), st.integers(0, 60), st.booleans()),
    max_size=30,
)


def longer(line: str) -> str:
    return compact({key: f"{value}{value}x" for key, value in json.loads(line).items()})


def shorter(line: str) -> str:
    return compact({key: value[::3] for key, value in json.loads(line).items()})


@given(LINES, st.integers(0, 3000), st.sampled_from([str, longer, shorter]))
def test_the_room_holds_whatever_is_made_of_the_lines(
    lines: list[Line], room: int, change: type[str]
) -> None:
    window = Window(room)
    for line in lines:
        window.add(line)
    window.settle(change)
    kept = [*window.head, *window.tail]
    assert window.kept == sum(line.size for line in kept) <= room
    items = sum(line.is_item for line in lines)
    assert window.omitted + sum(line.is_item for line in kept) == items
    changed = [Line(change(line.text), line.is_item) for line in lines]
    if len(kept) == len(lines) and not window.tail:
        assert kept == changed
        assert window.total == window.kept
    if sum(line.size for line in lines) <= room >= sum(line.size for line in changed):
        assert window.head == changed


@given(LINES, st.integers(0, 3000))
def test_no_more_is_changed_than_is_kept(lines: list[Line], room: int) -> None:
    """Masking is what takes long."""
    asked: list[str] = []

    def change(line: str) -> str:
        asked.append(line)
        return line

    window = Window(room)
    for line in lines:
        window.add(line)
    window.settle(change)
    assert len(asked) == len(window.head) + len(window.tail)
