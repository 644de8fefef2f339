"""The header above a raw memory or a rollout summary."""

from hypothesis import given
from hypothesis import strategies as st

from openhands_memory.generation.raw_memory import (
    Header,
    Kept,
    parse_memory,
    render_memory,
)

HEADER = Header("a", "2026-11-30", "sessions/a.jsonl", "rollout_summaries/a_b.md", "x")

values = st.text(min_size=1).map(lambda t: " ".join(t.split())).filter(bool)
bodies = st.text().map(lambda t: t.replace("\r\n", "\n").strip("\n").rstrip())


@given(st.builds(Header, values, values, values, values, values), bodies)
def test_what_is_rendered_is_parsed(header: Header, body: str) -> None:
    assert parse_memory(render_memory(header, body)) == Kept(header, body)


def test_a_value_with_line_ends_adds_no_header_line() -> None:
    forged = HEADER._replace(updated_at="2026\nrollout_id: ../../x\r\nx: y")
    kept = parse_memory(render_memory(forged, "body"))
    assert kept is not None
    assert kept.header.rollout_id == "a"
    assert kept.body == "body"


def test_a_header_in_the_body_is_a_body() -> None:
    text = render_memory(HEADER, "text")
    assert parse_memory(f"words\n{text}") is None
    assert parse_memory(text.replace("terminal_state: x\n", "")) is None
    kept = parse_memory(render_memory(HEADER, text))
    assert kept is not None
    assert kept.body == text.rstrip()


def test_an_editor_may_add_a_mark_and_other_line_ends() -> None:
    text = render_memory(HEADER, "body").replace("\n", "\r\n")
    assert parse_memory(f"\ufeff{text}") == Kept(HEADER, "body")
