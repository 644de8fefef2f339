"""What a person wrote in an index stays, whatever a model leaves, and whenever."""

import json
from pathlib import Path

import pytest
from generation.kit import PERSONS, Desk
from generation.scripted import (
    INDEX,
    adding,
    answer,
    generated,
    keeping,
    leaving,
    noting,
)

from openhands_memory.context.resolve import resolve_memory
from openhands_memory.generation.stage import Stage
from openhands_memory.layout import GENERATED_END, GENERATED_START
from openhands_memory.trust import state_directory
from openhands_memory.upkeep.change import history_of, undo

NO_CALLS = 0


# --- Whatever the model leaves ----------------------------------------------------------

SHAPES: dict[str, bytes] = {
    "plain": PERSONS.encode(),
    "crlf": PERSONS.replace("\n", "\r\n").encode(),
    "bom": b"\xef\xbb\xbf" + PERSONS.encode(),
    "bom and crlf": b"\xef\xbb\xbf" + PERSONS.replace("\n", "\r\n").encode(),
    "mixed": b"# Ours\r\n\n- written by hand\r- and this\n",
    "no end": PERSONS.rstrip().encode(),
    "bad bytes": b"# Ours\n\n- written by hand\n- caf\xe9\n",
    "hidden": "# Ours\n\n- written by hand\u202e\n- \u200bthis\n".encode(),
    "sample": f"# Ours\n```\n{generated('- x')}```\n- written by hand\n".encode(),
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
        desk.put_raw(f"r{number}", number, "\n".join(facts[number::9]))
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
    [path] = kept
    assert json.loads(path.read_text())["reason"] in (report.reason or "")
    assert str(path) in (report.reason or "")
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
    assert by_hand.index.read_text().startswith(PERSONS.replace("this", "that"))
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
