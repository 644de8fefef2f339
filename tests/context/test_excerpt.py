"""Which lines of a file are shown, and which somebody may miss: no line is lost."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openhands_memory import resolve_memory
from openhands_memory.context.decode import Decoded
from openhands_memory.context.excerpt import line_gaps, take_excerpt

START = "<!-- openhands-memory: generated -->"
END = "<!-- /openhands-memory: generated -->"


@pytest.mark.parametrize(
    ("text", "shown", "lead", "blank_end"),
    [
        ("", "", 0, 0),
        ("- a", "- a", 0, 0),
        ("\n- a\n\n \n", "- a", 1, 2),
        (f"{START}\n- a\n{END}\n", "- a", 1, 1),
        (f"\n{START}\n\n- a\n\n- b\n \n{END}", "- a\n\n- b", 3, 2),
        (f"{START}\n{END}", "", 0, 2),
        (f"- a\n\t{START} \n- b", "- a\n- b", 0, 0),
    ],
)
def test_blank_ends_and_marks_are_left_out(
    text: str, shown: str, lead: int, blank_end: int
) -> None:
    found = take_excerpt(Decoded(text, "utf-8"))
    assert (found.text, found.lead, found.blank_end) == (shown, lead, blank_end)
    assert found.complete


def test_gaps_are_what_is_missing_between_two_lines() -> None:
    assert line_gaps([], first=1, last=0) == ()
    assert line_gaps([], first=3, last=5) == ((3, 5),)
    assert line_gaps([2, 1, 0], first=1, last=5) == ((1, 2),)
    assert line_gaps([4, 2], first=1, last=5) == ((2, 2), (4, 5))
    assert line_gaps([4, 3, 2, 1, 0], first=1, last=5) == ()


#: By name, so that a failure can be read.
KINDS = {
    "short": "short",
    "empty": "",
    "blank": " ",
    "start": START,
    "end": END,
    "x500": "x" * 500,
    "x3000": "x" * 3000,
    "x40000": "x" * 40_000,
    "hole": "\0" * 5000,
}
kinds = st.sampled_from([*["short"] * 5, *KINDS])


@settings(max_examples=100)
@given(
    st.lists(st.tuples(kinds, st.integers(1, 40)), min_size=1, max_size=12),
    st.sampled_from(["", "\n", "\n\n \n"]),
    st.sampled_from([300, 2000, 6000]),
)
def test_every_line_is_shown_or_named_as_dropped(
    runs: list[tuple[str, int]], end: str, budget: int
) -> None:
    """Marks are neither, however far up the file is read."""
    lines: list[str] = []
    for kind, count in runs:
        text = KINDS[kind]
        for _ in range(count if len(text) < 999 else 1):
            label = f"{len(lines)}:" if text.strip() and text[:1] != "<" else ""
            lines.append(f"{label}{text}")
    with tempfile.TemporaryDirectory() as directory:
        index = Path(directory, ".openhands", "memory", "MEMORY.md")
        index.parent.mkdir(parents=True)
        index.write_text("\n".join(lines) + end, encoding="utf-8")
        tier = resolve_memory(directory, char_budget=budget).tiers[-1]
        dropped_lines, total = tier.dropped_lines, tier.lines
    if tier.status in ("empty", "unreadable"):
        assert not any(line.endswith(":short") for line in lines)
        return
    assert total == len(("\n".join(lines) + end).splitlines())
    assert dropped_lines is not None
    dropped = {n for first, last in dropped_lines for n in range(first, last + 1)}
    shown = set(tier.text.split("\n"))
    for number, line in enumerate(lines, start=1):
        if line in (START, END):
            assert number not in dropped
            assert line not in shown
        elif line.strip():
            assert (number in dropped) == (line not in shown)
    assert max(dropped, default=0) <= len(lines)
