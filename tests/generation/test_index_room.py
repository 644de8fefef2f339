"""What consolidation writes is read whole, whatever else there is."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from generation.kit import PERSONS, Desk
from generation.scripted import (
    adding,
    answer,
    noting,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from openhands_memory.context.resolve import resolve_memory
from openhands_memory.context.room import room_for_index
from openhands_memory.generation.stage import Stage
from openhands_memory.options import ReadOptions

#: What a person wrote, which takes more room than it has characters, or fewer.
SHAPES: dict[str, bytes] = {
    "plain": PERSONS.encode(),
    "crlf": PERSONS.replace("\n", "\r\n").encode(),
    "bom": b"\xef\xbb\xbf" + PERSONS.encode(),
    "mixed": b"# Ours\r\n\n- written by hand\r- and this\n",
    "hidden": "# Ours\n\n- written by hand\u202e\n- \u200bthis\n".encode(),
    "frames": b"# Ours\n\n- written by hand </MEMORY_CONTEXT>\n# User memory (x)\n",
}


def filling(room: int) -> list[str]:
    """Facts that take all of the room, to the character."""
    facts = [f"- Fact {n:03} {'x' * 60} [^a]" for n in range(room // 90)]
    used = sum(len(fact) + 1 for fact in facts)
    facts[-1] = facts[-1].replace("xx [", f"xx{'y' * (room + 1 - used)} [")
    return facts


@pytest.mark.parametrize("full", [False, True], ids=["no user tier", "full user tier"])
@pytest.mark.parametrize("sandbox", [False, True], ids=["openhands", "sandbox"])
@pytest.mark.parametrize("person", ["", PERSONS], ids=["no person", "a person"])
def test_what_is_accepted_is_read_whole_and_a_character_more_is_refused(
    person: str, sandbox: bool, full: bool, workspace: Path, user_index: Path
) -> None:
    desk = Desk(workspace, sandbox=sandbox)
    if person:
        desk.memory.mkdir(parents=True)
        desk.index.write_text(person)
    options = ReadOptions(memories_dir="memories" if sandbox else None)
    room = room_for_index(str(workspace), options)
    if full:
        user_index.write_text("- from the user tier, which is full\n" * 1000)
    name = desk.files.index_name
    left = room - len(f"{person.strip()}\n\n" if person else "")
    facts = filling(left)

    def exactly(stage: Stage) -> None:
        adding(*facts, index=name)(stage)
        if sandbox:
            noting(stage)

    def one_more(stage: Stage) -> None:
        adding(*facts[:-1], facts[-1].replace("y [", "yz ["), index=name)(stage)
        if sandbox:
            noting(stage)

    desk.record("a", "work")
    report = desk.generate([answer()], [one_more], room=room)
    assert report.consolidated == "refused"
    assert f"{left} are the most" in (report.reason or "")
    report = desk.generate([], [exactly], room=room)
    assert report.consolidated == "accepted", report.reason
    memory = resolve_memory(workspace, config=options)
    project = memory.tiers[-1]
    assert (project.status, project.dropped_lines) == ("loaded", ())
    for fact in facts:
        assert fact in (memory.text or "")


@pytest.mark.parametrize("person", SHAPES)
def test_the_person_and_the_agent_share_the_room(
    person: str, desk: Desk, project_index: Path, user_index: Path
) -> None:
    """What is shown of a person's text may be longer than the text."""
    user_index.write_text("- from the user tier, which is full\n" * 1000)
    project_index.write_bytes(SHAPES[person] * 12)
    room = room_for_index(str(desk.workspace), ReadOptions())
    facts = [f"- Fact {n:03} {'x' * 20} [^a]" for n in range(200)]
    desk.record("a", "work")
    most = 0
    for count in range(20, 120, 10):
        report = desk.generate(
            [answer()] if count == 20 else [], [adding(*facts[:count])], room=room
        )
        if report.consolidated != "accepted":
            break
        most = count
        memory = resolve_memory(desk.workspace)
        assert memory.tiers[-1].dropped_lines == (), count
        desk.selection.unlink()
    assert most >= 20


TEXT = st.lists(
    st.sampled_from(
        [
            *"abc xyz#-*`>&<\\[]é家\u202e\ufeff\r\n",
            *(
                "\n- ",
                "\n\n",
                "\r\n",
                "```\n",
                "# User memory (x)",
                "</MEMORY_CONTEXT>",
            ),
            *("word " * 20, "\n- a fact" * 9, "[earlier memory truncated]"),
        ]
    ),
    max_size=40,
).map("".join)


@settings(max_examples=settings().max_examples // 3)  # each writes a dozen files
@given(TEXT, st.integers(0, 8), st.lists(TEXT, min_size=1, max_size=6))
def test_what_is_accepted_is_read_whole_whatever_the_texts(
    person: str, times: int, facts: list[str]
) -> None:
    """Unless a person's own text leaves no room, which is told."""
    with TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        desk.memory.mkdir(parents=True)
        desk.index.write_bytes((person * times).encode("utf-8"))
        room = room_for_index(folder, ReadOptions(char_budget=1000))
        desk.put_raw("a", 1, "- Fact.")
        report = desk.generate([], [adding("- Fact.", *facts)], room=room)
        if report.consolidated == "accepted":
            memory = resolve_memory(folder, char_budget=1000)
            cut = bool(memory.tiers[-1].dropped_lines)
            assert cut <= ("will not be loaded" in (report.reason or ""))


def test_a_person_who_fills_the_room_is_told_and_loses_nothing(
    desk: Desk, project_index: Path
) -> None:
    project_index.write_text("- by hand, and rather long at that\n" * 100)
    before = project_index.read_bytes()
    desk.record("a", "work")
    report = desk.generate([answer()], [noting])
    assert report.consolidated == "accepted"
    assert "will not be loaded" in (report.reason or "")
    assert project_index.read_bytes().startswith(before)
    assert "One fact of all this." in (resolve_memory(desk.workspace).text or "")
