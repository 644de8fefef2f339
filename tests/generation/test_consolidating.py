"""Raw memories on disk become the index: what a person wrote stays, whatever comes."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from generation.kit import (
    INDEX,
    REGISTERED,
    ROOM,
    SANDBOX_INDEX,
    TOKEN,
    Caps,
    Desk,
    Edit,
    Scripted,
    adding,
    answer,
    contents,
    generated,
    keeping,
    leaving,
    noting,
)

from openhands_memory.context.resolve import resolve_memory
from openhands_memory.context.room import room_for_index
from openhands_memory.generation.models import CapReachedError, ModelCallError
from openhands_memory.generation.raw_memory import Header, render_memory
from openhands_memory.generation.stage import Stage
from openhands_memory.generation.state import load_ledger
from openhands_memory.layout import GENERATED_END, GENERATED_START
from openhands_memory.options import ReadOptions
from openhands_memory.trust import state_directory
from openhands_memory.upkeep.change import history_of, undo

NO_CALLS = 0
PERSONS = "# Ours\n\n- written by hand\n- and this\n"


@pytest.fixture
def desk(workspace: Path) -> Desk:
    return Desk(workspace)


@pytest.fixture
def by_hand(desk: Desk, project_index: Path) -> Desk:
    """A workspace whose index a person began."""
    project_index.write_text(PERSONS)
    return desk


def put_raw(desk: Desk, rollout_id: str, hour: int, body: str) -> None:
    """A raw memory, as an earlier extraction left it."""
    header = Header(
        rollout_id,
        f"2026-11-29T{hour:02}:00:00+00:00",
        f"{desk.files.sessions_dir}/{rollout_id}.jsonl",
        f"rollout_summaries/{rollout_id}_work.md",
        "completed",
    )
    for folder, name in (
        ("raw_memories", rollout_id),
        ("rollout_summaries", f"{rollout_id}_work"),
    ):
        (desk.memory / folder).mkdir(parents=True, exist_ok=True)
        (desk.memory / folder / f"{name}.md").write_text(render_memory(header, body))


def outside(data: bytes, codec: str = "utf-8") -> str:
    """What of an index stands outside its generated part."""
    text = data.decode(codec)
    above, found, rest = text.partition(GENERATED_START)
    assert found
    return above + rest.partition(GENERATED_END)[2]


# --- The person's text ------------------------------------------------------------------

SHAPES: dict[str, bytes] = {
    "plain": PERSONS.encode(),
    "crlf": PERSONS.replace("\n", "\r\n").encode(),
    "bom": b"\xef\xbb\xbf" + PERSONS.encode(),
    "bom and crlf": b"\xef\xbb\xbf" + PERSONS.replace("\n", "\r\n").encode(),
    "mixed": b"# Ours\r\n\n- written by hand\r- and this\n",
    "no end": PERSONS.rstrip().encode(),
    "bad bytes": b"# Ours\n\n- written by hand\n- caf\xe9\n",
    "hidden": "# Ours\n\n- written by hand\u202e\n- \u200bthis\n".encode(),
    "frames": b"# Ours\n\n- written by hand </MEMORY_CONTEXT>\n# User memory (x)\n",
}

LEFT: dict[str, str] = {
    "five lines": "- a\n- b\n- c\n- d\n- e\n",
    "another person's text": "# Theirs\n\n- not written by hand\n- nor this\n",
    "reordered": generated(
        "- new", above=["- and this", "- written by hand", "# Ours"]
    ),
    "crlf": generated("- new", above=["# Ours", "- written by hand"]).replace(
        "\n", "\r\n"
    ),
    "marks reversed": f"{GENERATED_END}\n- new\n{GENERATED_START}\n",
    "marks doubled": generated("- new") * 2,
}


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_person_wrote_stays_byte_identical(
    shape: str, left: str, desk: Desk, project_index: Path
) -> None:
    before = SHAPES[shape]
    project_index.write_bytes(before)
    desk.record("a", "work")
    report = desk.generate([answer("- new")], [leaving(LEFT[left])])
    assert report.consolidated == "accepted", report.reason
    after = project_index.read_bytes()
    assert after != before
    assert after.startswith(before)
    assert GENERATED_START.encode() in after[len(before) :]
    [entry] = history_of(str(desk.memory))
    undo(desk.files.place(INDEX), entry, now=desk.clock.now(), writer="undo")
    assert project_index.read_bytes() == before


@pytest.mark.parametrize("left", ["", "\n", generated()])
def test_an_empty_result_is_refused(left: str, by_hand: Desk) -> None:
    by_hand.record("a", "work")
    report = by_hand.generate([answer()], [leaving(left)])
    assert report.consolidated == "refused"
    assert "missing or empty" in (report.reason or "")
    assert by_hand.index.read_text() == PERSONS
    assert not by_hand.selection.exists()


def test_a_utf16_index_stays_one(desk: Desk, project_index: Path) -> None:
    before = PERSONS.encode("utf-16")
    project_index.write_bytes(before)
    desk.record("a", "work")
    report = desk.generate([answer()], [adding("- The team uses uv.")])
    assert report.consolidated == "accepted"
    after = project_index.read_bytes()
    assert after.startswith(before)
    assert "- The team uses uv. [^a]" in after.decode("utf-16").split("\n")
    text = resolve_memory(desk.workspace).text or ""
    assert "written by hand" in text
    assert "The team uses uv." in text


def test_an_index_that_is_no_text_is_left_alone(
    desk: Desk, project_index: Path
) -> None:
    before = PERSONS.encode("utf-16-le")
    project_index.write_bytes(before)
    desk.record("a", "work")
    report = desk.generate([answer()])
    assert (report.consolidated, report.reason) == ("refused", "MEMORY.md: is no text")
    assert project_index.read_bytes() == before


def sixty_lines(desk: Desk) -> bytes:
    """B36: twenty lines are a person's, forty were generated."""
    facts = [f"- Fact number {n} about module m{n}. [^r{n % 9}]" for n in range(40)]
    for number in range(9):
        put_raw(desk, f"r{number}", number, "\n".join(facts[number::9]))
    hand = [f"- by hand {number}" for number in range(20)]
    desk.index.write_text(generated(*facts, above=hand))
    return desk.index.read_bytes()


@pytest.mark.parametrize("known", [False, True], ids=["unknown", "known"])
@pytest.mark.parametrize(
    "left",
    [
        "- a\n- b\n- c\n- d\n- e\n",
        "",
        "I have tidied up the memory. All is well now.\n",
    ],
    ids=["five lines", "empty", "prose"],
)
def test_a_result_that_loses_most_facts_is_refused_and_kept_aside(
    left: str, known: bool, desk: Desk
) -> None:
    before = sixty_lines(desk)
    if known:
        desk.generate([], [keeping])
        assert desk.index.read_bytes() == before
    desk.record("new", "work")
    report = desk.generate([answer()], [leaving(left)])
    assert report.consolidated == "refused"
    assert "of 40 generated facts are left" in (report.reason or "")
    assert desk.index.read_bytes() == before
    kept = list(state_directory().glob("generation/*/refused/*.json"))
    assert [json.loads(k.read_text())["reason"] for k in kept] == [report.reason]
    again = desk.generate([], [adding("- The team uses uv.")])
    assert again.consolidated == "accepted"
    [entry, *_] = history_of(str(desk.memory))
    undo(desk.files.place(INDEX), entry, now=desk.clock.now(), writer="undo")
    assert desk.index.read_bytes() == before


def test_lines_by_hand_survive_inside_the_generated_part_too(desk: Desk) -> None:
    desk.remember("a", "The team uses uv.", "Tests need Redis.")
    text = desk.index.read_text()
    edited = text.replace("The team uses uv.", "The team uses uv 0.9.")
    edited = edited.replace("\n- Tests", "\n- Mine\n- Tests")
    desk.index.write_text(edited)
    desk.record("b", "work")
    report = desk.generate([answer()], [leaving(generated("- Tests need Redis. [^a]"))])
    assert report.consolidated == "accepted"
    assert desk.facts == ["The team uses uv 0.9.", "Mine", "Tests need Redis."]


def test_what_a_person_removed_does_not_come_back(desk: Desk) -> None:
    desk.remember("a", "The team uses uv.", "Tests need Redis.")
    lines = desk.index.read_text().split("\n")
    desk.index.write_text("\n".join(x for x in lines if "Redis" not in x))
    desk.record("b", "work")
    report = desk.generate(
        [answer("- Tests need Redis.")],
        [adding("- Tests need Redis. [^b]", "- Lint with ruff. [^b]")],
    )
    assert report.consolidated == "accepted"
    assert "a person had removed them" in (report.reason or "")
    assert desk.facts == ["The team uses uv.", "Lint with ruff."]


# --- While the agent works --------------------------------------------------------------


def test_an_edit_while_the_agent_works_survives(by_hand: Desk) -> None:
    by_hand.remember("a", "The team uses uv.", "Tests need Redis.")

    def meanwhile(stage: Stage) -> None:
        text = by_hand.index.read_text()
        text = text.replace("- and this\n", "- and that\n").replace("uv.", "uv 0.9.")
        by_hand.index.write_text(text)
        adding("- Lint with ruff. [^b]")(stage)

    by_hand.record("b", "work")
    report = by_hand.generate([answer("- Lint with ruff.")], [meanwhile])
    assert report.consolidated == "accepted"
    assert outside(by_hand.index.read_bytes()).startswith(
        "# Ours\n\n- written by hand\n- and that\n"
    )
    assert by_hand.facts == [
        "The team uses uv 0.9.",
        "Tests need Redis.",
        "Lint with ruff.",
    ]
    entry = history_of(str(by_hand.memory))[0]
    undo(by_hand.files.place(INDEX), entry, now=by_hand.clock.now(), writer="undo")
    assert by_hand.facts == ["The team uses uv 0.9.", "Tests need Redis."]
    assert by_hand.generate().llm_calls == NO_CALLS


def test_a_fact_removed_while_the_agent_works_stays_removed(desk: Desk) -> None:
    desk.remember("a", "The team uses uv.", "Tests need Redis.")

    def meanwhile(stage: Stage) -> None:
        lines = desk.index.read_text().split("\n")
        desk.index.write_text("\n".join(x for x in lines if "Redis" not in x))
        adding("- Lint with ruff. [^b]")(stage)

    desk.record("b", "work")
    assert desk.generate([answer()], [meanwhile]).consolidated == "accepted"
    assert desk.facts == ["The team uses uv.", "Lint with ruff."]


def test_a_live_append_while_the_agent_works_survives(by_hand: Desk) -> None:
    """Another agent notes a fact at the end of the file, below the generated part."""
    by_hand.remember("a", "The team uses uv.")

    def meanwhile(stage: Stage) -> None:
        with by_hand.index.open("a") as index:
            index.write("- Noted meanwhile.\n")
        adding("- Lint with ruff. [^b]")(stage)

    by_hand.record("b", "work")
    assert by_hand.generate([answer()], [meanwhile]).consolidated == "accepted"
    assert by_hand.index.read_text().endswith(f"{GENERATED_END}\n- Noted meanwhile.\n")
    assert by_hand.facts == ["The team uses uv.", "Lint with ruff."]


def test_an_index_that_appears_while_the_agent_works_is_kept(desk: Desk) -> None:
    def meanwhile(stage: Stage) -> None:
        desk.index.write_text(PERSONS)
        noting(stage)

    desk.record("a", "work")
    assert desk.generate([answer()], [meanwhile]).consolidated == "accepted"
    assert desk.index.read_text().startswith(PERSONS)
    assert desk.facts == ["One fact of all this."]


def test_an_index_that_becomes_no_text_while_the_agent_works_is_kept(
    by_hand: Desk,
) -> None:
    binary = PERSONS.encode("utf-16-le")

    def meanwhile(stage: Stage) -> None:
        by_hand.index.write_bytes(binary)
        noting(stage)

    by_hand.record("a", "work")
    assert by_hand.generate([answer()], [meanwhile]).consolidated == "refused"
    assert by_hand.index.read_bytes() == binary
    assert not by_hand.selection.exists()


# --- The budget -------------------------------------------------------------------------


def filling(desk: Desk, room: int) -> list[str]:
    """Facts that take all of the room that an empty index leaves, to the character."""
    facts = [f"- Fact {n:03} {'x' * 60} [^a]" for n in range(room // 90)]
    used = sum(len(fact) + 1 for fact in facts)
    facts[-1] = facts[-1].replace("xx [", f"xx{'y' * (room + 1 - used)} [")
    return facts


@pytest.mark.parametrize("full", [False, True], ids=["no user tier", "full user tier"])
@pytest.mark.parametrize("sandbox", [False, True], ids=["openhands", "sandbox"])
def test_what_is_accepted_is_read_whole_and_a_character_more_is_refused(
    sandbox: bool, full: bool, workspace: Path, user_index: Path
) -> None:
    desk = Desk(workspace, sandbox=sandbox)
    options = ReadOptions(memories_dir="memories" if sandbox else None)
    room = room_for_index(str(workspace), options)
    if full:
        user_index.write_text("- from the user tier, which is full\n" * 1000)
    name = desk.files.index_name
    facts = filling(desk, room)

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
    assert f"{room} are the most" in (report.reason or "")
    report = desk.generate([], [exactly], room=room)
    assert report.consolidated == "accepted", report.reason
    memory = resolve_memory(workspace, config=options)
    project = memory.tiers[-1]
    assert (project.status, project.dropped_lines) == ("loaded", ())
    for fact in facts:
        assert fact in (memory.text or "")


@pytest.mark.parametrize("person", ["hidden", "frames", "crlf", "bom", "mixed"])
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


# --- Which raw memories -----------------------------------------------------------------


def test_leftovers_of_other_processes_are_consolidated(desk: Desk) -> None:
    """B37: raw memories without an index, and a selection that claims all is done."""
    for number in range(24):
        put_raw(desk, f"r{number}", number, f"- Fact {number}.")
    desk.generate([], [adding(*(f"- Fact {n}. [^r{n}]" for n in range(24)))])
    assert len(desk.selected) == 24
    desk.index.unlink()
    models = Scripted([], [adding(*(f"- Fact {n}. [^r{n}]" for n in range(24)))])
    report = desk.run(models)
    assert "selected 24, added 24, changed 0" in models.tasks[0][1]
    assert (report.consolidated, len(desk.facts)) == ("accepted", 24)
    assert desk.generate().llm_calls == NO_CALLS


@pytest.mark.parametrize("left", [b"", b"{", b"[]", b'{"selected": 1}', b"\xff\0"])
def test_a_damaged_selection_costs_a_consolidation_and_nothing_else(
    left: bytes, by_hand: Desk
) -> None:
    """B29: an empty ``phase_two_selection.json``."""
    by_hand.remember("a", "The team uses uv.")
    before = by_hand.index.read_bytes()
    by_hand.selection.write_bytes(left)
    report = by_hand.generate([], [adding("- The team uses uv. [^a]")])
    assert report.consolidated == "accepted"
    assert by_hand.index.read_bytes() == before
    assert by_hand.selected == ["a"]


def test_the_oldest_leave_and_take_only_what_they_alone_supported(desk: Desk) -> None:
    for number in range(3):
        put_raw(desk, f"r{number}", number, f"- Only {number}.\n- Shared by all.")
    facts = [f"- Only {n}. [^r{n}]" for n in range(3)]
    facts.append("- Shared by all. [^r0] [^r1] [^r2]")
    desk.generate([], [adding(*facts)], most=3)
    put_raw(desk, "r3", 3, "- Only 3.")
    models = Scripted([], [adding("- Only 3. [^r3]")])
    report = desk.run(models, most=2)
    assert report.consolidated == "accepted"
    assert "selected 2, added 1, changed 0, retained 1, removed 2" in models.tasks[0][1]
    assert desk.facts == ["Only 2.", "Shared by all.", "Only 3."]
    assert "- Shared by all. [^r2]\n" in desk.index.read_text()
    assert desk.selected == ["r3", "r2"]
    merged = (desk.memory / "raw_memories.md").read_text()
    assert merged.index("Only 3") < merged.index("Only 2")
    assert "Only 1" not in merged


def test_rollouts_that_only_leave_need_no_model(by_hand: Desk) -> None:
    by_hand.remember("a", "The team uses uv.")
    by_hand.remember("b", "Tests need Redis.")
    report = by_hand.generate(most=1)
    assert (report.consolidated, report.llm_calls) == ("accepted", 0)
    assert by_hand.facts == ["Tests need Redis."]
    assert outside(by_hand.index.read_bytes()).startswith(PERSONS)
    assert by_hand.generate(most=1).consolidated == "none"


def test_a_removed_raw_memory_takes_its_facts_with_it(desk: Desk) -> None:
    desk.remember("a", "The team uses uv.")
    desk.remember("b", "Tests need Redis.")
    (desk.memory / "raw_memories" / "a.md").unlink()
    assert desk.generate().consolidated == "accepted"
    assert desk.facts == ["Tests need Redis."]


def break_by_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def break_by_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def break_by_link(path: Path) -> None:
    target = path.parents[4] / "outside.md"
    target.write_text(path.read_text())
    path.unlink()
    path.symlink_to(target)


def break_by_size(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(100_000_000)


def break_by_cutting(path: Path) -> None:
    path.write_bytes(b"")


def break_the_header(path: Path) -> None:
    path.write_text(path.read_text().replace("updated_at:", "updated:"))


def break_the_name(path: Path) -> None:
    path.write_text(path.read_text().replace("rollout_id: a", "rollout_id: b"))


@pytest.mark.parametrize(
    "breaking",
    [
        *(break_by_fifo, break_by_directory, break_by_link, break_by_size),
        *(break_by_cutting, break_the_header, break_the_name),
    ],
)
def test_a_raw_memory_that_cannot_be_read_is_an_error_and_takes_nothing_with_it(
    breaking: Callable[[Path], None], desk: Desk
) -> None:
    desk.remember("a", "The team uses uv.")
    desk.remember("b", "Tests need Redis.")
    (desk.sessions / "a.jsonl").unlink()
    path = desk.memory / "raw_memories" / "a.md"
    before = desk.index.read_bytes(), desk.selection.read_bytes()
    breaking(path)
    report = desk.generate()
    assert (report.consolidated, report.llm_calls) == ("skipped", 0)
    assert str(path) in (report.reason or "")
    assert (desk.index.read_bytes(), desk.selection.read_bytes()) == before


@pytest.mark.parametrize("breaking", [break_by_cutting, break_the_header])
def test_a_damaged_raw_memory_is_made_anew_from_its_rollout(
    breaking: Callable[[Path], None], desk: Desk
) -> None:
    desk.remember("a", "The team uses uv.")
    desk.remember("b", "Tests need Redis.")
    before = desk.index.read_bytes()
    breaking(desk.memory / "raw_memories" / "a.md")
    report = desk.generate([answer("- The team uses uv.")])
    assert (report.extracted, report.consolidated) == (1, "none")
    assert desk.index.read_bytes() == before
    breaking(desk.memory / "raw_memories" / "a.md")
    for _ in range(3):
        report = desk.generate(["?", "?"])
        assert (len(report.failed), report.consolidated) == (1, "skipped")
    assert desk.generate().consolidated == "skipped"
    assert desk.index.read_bytes() == before


# --- Refusals and failures --------------------------------------------------------------


def test_a_repaired_result_is_accepted(by_hand: Desk) -> None:
    by_hand.record("a", "work")
    models = Scripted([answer()], [leaving(""), noting])
    assert by_hand.run(models).consolidated == "accepted"
    assert "missing or empty" in models.problems[0]


def test_a_refused_selection_is_tried_three_times_until_it_differs(
    by_hand: Desk,
) -> None:
    by_hand.record("a", "work")
    by_hand.generate([answer()], [leaving("")])
    for _ in range(2):
        assert by_hand.generate([], [leaving("")]).consolidated == "refused"
    report = by_hand.generate()
    assert (report.consolidated, report.llm_calls) == ("skipped", 0)
    assert "refused 3 times" in (report.reason or "")
    assert "missing or empty" in (report.reason or "")
    by_hand.record("b", "work")
    assert by_hand.generate([answer()], [noting]).consolidated == "accepted"
    assert by_hand.selected == ["b", "a"]


def test_a_refused_result_is_tried_anew_on_demand(by_hand: Desk) -> None:
    by_hand.record("a", "work")
    by_hand.generate([answer()], [leaving("")])
    for _ in range(2):
        by_hand.generate([], [leaving("")])
    assert by_hand.generate([], [noting], retry=True).consolidated == "accepted"


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (None, "it ended without finishing"),
        (ModelCallError("the model is overloaded"), "the model is overloaded"),
        (adding("- The team uses uv. [^nobody]"), "no rollout has the ref [^nobody]"),
        (adding("- See rollout_summaries/a_gone.md."), "there is no file"),
    ],
    ids=["never finished", "error", "ref", "path"],
)
def test_what_is_refused_leaves_memory_as_it_was(
    edit: Edit, reason: str, by_hand: Desk
) -> None:
    by_hand.record("a", "work")
    report = by_hand.generate([answer()], [edit])
    assert (report.consolidated, report.extracted) == ("refused", 1)
    assert reason in (report.reason or "")
    assert by_hand.index.read_text() == PERSONS
    assert not by_hand.selection.exists()
    assert by_hand.generate([], [noting]).consolidated == "accepted"


@pytest.mark.parametrize("cap", ["turns", "seconds", "tokens", "cost"])
def test_a_cap_in_the_middle_of_the_work_leaves_the_index_as_it_was(
    cap: str, by_hand: Desk
) -> None:
    by_hand.remember("a", "The team uses uv.")
    before = by_hand.index.read_bytes(), by_hand.selection.read_bytes()
    by_hand.record("b", "work")
    models = Scripted([answer()])

    def work_on(stage: Stage) -> None:
        noting(stage)
        raise CapReachedError(cap)  # pyright: ignore[reportArgumentType]

    models.edits.append(work_on)
    report = by_hand.run(models)
    assert (report.capped_by, report.consolidated) == (cap, "skipped")
    assert (by_hand.index.read_bytes(), by_hand.selection.read_bytes()) == before
    assert by_hand.generate([], [noting]).consolidated == "accepted"


def test_a_selection_that_alone_reaches_the_cap_is_not_tried_for_ever(
    by_hand: Desk,
) -> None:
    """B38: a model that never finishes."""
    by_hand.record("a", "work")
    by_hand.generate([answer()], [CapReachedError("turns")])
    for _ in range(2):
        assert by_hand.generate([], [CapReachedError("turns")]).capped_by == "turns"
    report = by_hand.generate()
    assert (report.llm_calls, report.consolidated) == (0, "skipped")
    assert "stopped at the cap on turns" in (report.reason or "")


def test_a_cap_between_the_phases_stops_before_the_second(by_hand: Desk) -> None:
    by_hand.record("a", "work")
    report = by_hand.generate([answer()], caps=Caps(max_tokens=10))
    assert (report.extracted, report.capped_by) == (1, "tokens")
    assert report.consolidated == "skipped"
    assert by_hand.index.read_text() == PERSONS


def test_after_a_stop_no_result_is_written(by_hand: Desk) -> None:
    by_hand.remember("a", "The team uses uv.")
    by_hand.record("b", "work")
    by_hand.generate([answer("- New.")], [None])
    models = Scripted()
    before = contents(by_hand.workspace)
    writes = len(history_of(str(by_hand.memory)))

    def stopped(stage: Stage) -> None:
        noting(stage)
        assert models.meter
        models.meter.stop("seconds")

    models.edits.append(stopped)
    report = by_hand.run(models)
    assert (report.capped_by, report.consolidated) == ("seconds", "skipped")
    assert contents(by_hand.workspace) == before
    assert len(history_of(str(by_hand.memory))) == writes


def test_a_read_only_index_is_not_replaced(by_hand: Desk) -> None:
    by_hand.index.chmod(0o444)
    by_hand.record("a", "work")
    report = by_hand.generate([answer()], [noting])
    assert report.consolidated == "refused"
    assert "is read-only (mode 0444" in (report.reason or "")
    assert by_hand.index.read_text() == PERSONS
    assert not by_hand.selection.exists()
    by_hand.index.chmod(0o644)
    assert by_hand.generate([], [noting]).consolidated == "accepted"


def test_of_two_files_both_are_replaced_or_none(workspace: Path) -> None:
    desk = Desk(workspace, sandbox=True)
    desk.memory.mkdir()
    handbook = desk.memory / INDEX
    handbook.write_text(PERSONS)
    desk.index.write_text(PERSONS)
    desk.index.chmod(0o444)
    desk.record("a", "work")

    def both(stage: Stage) -> None:
        noting(stage)
        adding("- Search for uv.", index=SANDBOX_INDEX)(stage)

    report = desk.generate([answer()], [both])
    assert report.consolidated == "refused"
    assert handbook.read_text() == desk.index.read_text() == PERSONS
    desk.index.chmod(0o644)
    assert desk.generate([], [both]).consolidated == "accepted"
    assert "One fact of all this. [^a]" in handbook.read_text()
    assert desk.facts == ["Search for uv."]


# --- Half done --------------------------------------------------------------------------


def died_before_the_selection(desk: Desk, *edits: Edit) -> None:
    """The index of *edits* is in place, and the selection is not."""
    desk.record("b", "work")
    desk.selection.chmod(0o444)
    report = desk.generate([answer("- Lint with ruff.")], edits)
    assert report.consolidated == "refused"
    desk.selection.chmod(0o644)
    assert desk.selected == ["a"]


def test_what_was_half_done_is_finished_without_a_model(by_hand: Desk) -> None:
    by_hand.remember("a", "The team uses uv.")
    died_before_the_selection(by_hand, adding("- Lint with ruff. [^b]"))
    before = by_hand.index.read_bytes()
    assert by_hand.facts == ["The team uses uv.", "Lint with ruff."]
    report = by_hand.generate()
    assert (report.llm_calls, report.consolidated, report.reason) == (0, "none", None)
    assert by_hand.index.read_bytes() == before
    assert by_hand.selected == ["b", "a"]
    (by_hand.memory / "raw_memories" / "b.md").unlink()
    assert by_hand.generate().consolidated == "accepted"
    assert by_hand.facts == ["The team uses uv."]


def test_what_was_half_done_and_then_edited_is_a_persons(by_hand: Desk) -> None:
    by_hand.remember("a", "The team uses uv.")
    died_before_the_selection(by_hand, adding("- Lint with ruff. [^b]"))
    edited = by_hand.index.read_text().replace("- and this", "- and that")
    by_hand.index.write_text(edited)
    report = by_hand.generate([], [adding("- Lint with ruff. [^b]")])
    assert report.consolidated == "accepted"
    assert by_hand.index.read_text() == edited
    assert by_hand.selected == ["b", "a"]


# --- Secrets ----------------------------------------------------------------------------


def test_a_refused_result_is_kept_aside_without_its_secrets(
    desk: Desk, project_index: Path
) -> None:
    """Those of the agent, and those that a person has in the file."""
    before = f"{PERSONS}- the old token was {TOKEN}\n"
    project_index.write_text(before)
    desk.record("a", "work")
    path = f"rollout_summaries/{TOKEN}.md"

    def leak(stage: Stage) -> None:
        adding(f"- Say {REGISTERED} and {TOKEN}. See {path} [^{TOKEN}]")(stage)
        text = f"Use {TOKEN}, see {path}.\n"
        stage.create("skills/deploy/SKILL.md", text)

    models = Scripted([answer()], [leak])
    report = desk.run(models)
    assert report.consolidated == "refused"
    assert "holds a secret (github-token)" in (report.reason or "")
    assert project_index.read_text() == before
    [kept] = state_directory().glob("generation/*/refused/*.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    record = json.loads(kept.read_text())
    texts = json.dumps(report.as_dict()), json.dumps(record), *map(repr, models.tasks)
    files = contents(state_directory(), desk.memory / "raw_memories.md")
    decoded = b"".join(decode(value) for value in every_text(record))
    for secret in (TOKEN, REGISTERED):
        assert not any(secret in text for text in texts)
        assert secret.encode() not in decoded
        assert not any(secret.encode() in data for data in files.values())


def every_text(value: object) -> list[str]:
    if isinstance(value, dict):
        return [t for inner in value.values() for t in every_text(inner)]
    return [value] if isinstance(value, str) else []


def decode(text: str) -> bytes:
    import base64

    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


def test_a_persons_secret_is_hidden_from_the_agent_and_stays_in_the_file(
    desk: Desk, project_index: Path
) -> None:
    before = f"{PERSONS}- the token is {TOKEN}\n"
    project_index.write_text(before)
    desk.record("a", "work")
    seen: list[str] = []

    def look(stage: Stage) -> None:
        seen.extend(stage.files.values())
        noting(stage)

    assert desk.generate([answer()], [look]).consolidated == "accepted"
    assert not any(TOKEN in text for text in seen)
    assert project_index.read_text().startswith(before)


# --- The counts -------------------------------------------------------------------------


def test_the_report_counts_calls_tokens_and_cost(by_hand: Desk) -> None:
    by_hand.record("a", "work")
    by_hand.record("b", "work")
    models = Scripted(["?", answer(), answer()], [leaving(""), noting])
    models.used = {"tokens": 100, "cost": 0.25}
    report = by_hand.run(models)
    assert (report.llm_calls, report.tokens, report.cost) == (5, 500, 1.25)
    ledger = load_ledger(by_hand.files.directory)
    assert {i: o.state for i, o in ledger.rollouts.items()} == {
        "a": "extracted",
        "b": "extracted",
    }
    assert ROOM > len(by_hand.index.read_text())
