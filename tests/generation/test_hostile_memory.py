"""Directories that lead elsewhere, files that are none, and secrets."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from generation.kit import Desk, contents
from generation.scripted import (
    INDEX,
    Scripted,
    answer,
    noting,
)

from openhands_memory.generation.report import Generation
from openhands_memory.generation.stage import Stage

Link = Callable[[Path, str | Path], Path]


# --- Rollouts ---------------------------------------------------------------------------


def test_what_is_no_rollout_is_passed_over(
    desk: Desk, link: Link, tmp_path: Path
) -> None:
    desk.record("good", "work")
    line = (desk.sessions / "good.jsonl").read_bytes().replace(b"good", b"CANARY")
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(line)
    link(desk.sessions / "link.jsonl", outside)
    link(desk.sessions / "dangling.jsonl", "nowhere")
    link(desk.sessions / "loop.jsonl", "loop.jsonl")
    os.mkfifo(desk.sessions / "fifo.jsonl")
    (desk.sessions / "directory.jsonl").mkdir()
    names = ("with space.jsonl", "-dash.jsonl", ".hidden.jsonl", "..jsonl", "ü.jsonl")
    for name in (*names, "con.jsonl", "new\nline.jsonl", "notes.txt", ".jsonl"):
        (desk.sessions / name).write_bytes(line)
    models = Scripted([answer()], [noting])
    report = desk.run(models)
    assert (report.extracted, report.failed, report.pending) == (1, (), 0)
    assert desk.raw_memories == ["good"]
    assert "CANARY" not in models.asked[0][1]


def test_a_directory_of_rollouts_that_leads_out_is_not_read(
    desk: Desk, link: Link, tmp_path: Path
) -> None:
    other = Desk(tmp_path / "other")
    other.workspace.mkdir()
    other.record("theirs", "work")
    desk.memory.mkdir(parents=True)
    link(desk.sessions, other.sessions)
    report = desk.generate()
    assert (report.consolidated, report.extracted) == ("skipped", 0)
    assert "leads outside the workspace" in (report.reason or "")


def test_summaries_that_would_be_written_elsewhere_are_not(
    desk: Desk, link: Link, tmp_path: Path
) -> None:
    desk.record("a", "work")
    outside = tmp_path / "outside"
    outside.mkdir()
    link(desk.memory / "rollout_summaries", outside)
    report = desk.generate()  # and nobody is paid for what cannot be written
    assert [(f.rollout_id, f.stage) for f in report.failed] == [("a", "file")]
    assert report.extracted == 0
    assert desk.raw_memories == []
    assert list(outside.iterdir()) == []


def test_a_header_that_lies_replaces_no_other_file(desk: Desk) -> None:
    """A summary that claims to be of another rollout is not that one's earlier one."""
    desk.record("a", "work")
    summaries = desk.memory / "rollout_summaries"
    summaries.mkdir()
    lies = {
        "a_lies.md": "rollout_id: b\nupdated_at: x\nrollout_path: ../../etc/passwd\n"
        "rollout_summary_file: ../../MEMORY.md\nterminal_state: x\n\n- body\n",
        "a_none.md": "a person's own\n",
        "ab_other.md": "rollout_id: ab\nupdated_at: x\nrollout_path: x\n"
        "rollout_summary_file: x\nterminal_state: x\n\n- body\n",
    }
    for name, text in lies.items():
        (summaries / name).write_text(text)
    report = desk.generate([answer()], [noting])
    assert report.extracted == 1
    assert {n: (summaries / n).read_text() for n in lies} == lies
    assert desk.summaries == sorted([*lies, "a_use-uv.md"])


# --- Raw memories -----------------------------------------------------------------------


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


# --- Directories ------------------------------------------------------------------------


LINKED = {
    "raw_memories": "skipped",
    "rollout_summaries": "none",
    "skills": "skipped",
    "raw_memories.md": "refused",
    INDEX: "skipped",
}


@pytest.mark.parametrize("name", LINKED)
def test_what_leads_out_of_the_workspace_is_neither_read_nor_written(
    name: str, by_hand: Desk, link: Link, tmp_path: Path
) -> None:
    by_hand.record("a", "work")
    outside = Desk(tmp_path / "outside")
    outside.put_raw("theirs", 1, "- CANARY")
    (outside.memory / "skills" / "deploy").mkdir(parents=True)
    for file in ("skills/deploy/SKILL.md", "raw_memories.md", INDEX):
        (outside.memory / file).write_text("- CANARY\n")
    before = contents(outside.workspace)
    by_hand.index.unlink()
    link(by_hand.memory / name, outside.memory / name)
    unpaid = ("raw_memories", "rollout_summaries")
    models = Scripted([] if name in unpaid else [answer()])
    report = by_hand.run(models)
    assert report.consolidated == LINKED[name]
    told = f"{report.reason} {report.failed}"
    assert "leads outside the workspace" in told or "is a link" in told
    assert contents(outside.workspace) == before
    assert (by_hand.memory / name).is_symlink()
    asked = (*models.asked, *models.tasks)
    assert not any("CANARY" in text for texts in asked for text in texts)


@pytest.mark.parametrize("name", ["with space.md", "-x.md", "..md", "a.txt", "ü.md"])
def test_what_no_rollout_is_called_is_no_raw_memory(name: str, desk: Desk) -> None:
    desk.remember("a", "The team uses uv.")
    own = (desk.memory / "raw_memories" / "a.md").read_text()
    (desk.memory / "raw_memories" / name).write_text(own.replace("uv", "CANARY"))
    assert desk.generate() == Generation()


def test_a_raw_memory_of_another_name_is_none(desk: Desk) -> None:
    """It claims to be of a rollout whose raw memory is there, and newer than that."""
    desk.remember("a", "The team uses uv.")
    own = (desk.memory / "raw_memories" / "a.md").read_text()
    forged = own.replace("2026", "2027").replace("uv", "CANARY")
    (desk.memory / "raw_memories" / "b.md").write_text(forged)
    assert desk.generate() == Generation()
    assert "CANARY" not in (desk.memory / "raw_memories.md").read_text()


def test_paths_in_a_header_lead_nowhere(desk: Desk, tmp_path: Path) -> None:
    """A header is text of a file; only names that we know become paths."""
    (tmp_path / "outside.md").write_text("CANARY")
    desk.put_raw("evil", 1, "- Fact.")
    path = desk.memory / "raw_memories" / "evil.md"
    lies = path.read_text().replace("rollout_summaries/", "../../../../outside.md/../")
    path.write_text(lies.replace("sessions/", "../../../outside.md\x0b"))
    seen: list[str] = []

    def look(stage: Stage) -> None:
        seen.extend(stage.files)
        noting(stage)

    models = Scripted([], [look])
    assert desk.run(models).consolidated == "accepted"
    assert sorted(seen) == [INDEX, "raw_memories.md", "raw_memories/evil.md"]
    assert "CANARY" not in models.tasks[0][1]
    (desk.memory / "raw_memories" / "evil.md").unlink()
    desk.generate()
    assert (tmp_path / "outside.md").read_text() == "CANARY"
