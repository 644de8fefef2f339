"""What was loaded and what was dropped, in numbers that can be checked."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from openhands_memory import resolve_memory
from openhands_memory.config import MemoryConfig, MemoryReadConfig
from openhands_memory.context.decode import Decoded
from openhands_memory.context.report import Memory, TierReport
from openhands_memory.context.survey import Survey, survey_file

FIELDS = {
    "text",
    "block",
    "char_budget",
    "chars",
    "headroom",
    "hints",
    "tiers",
    "tokens",
}
TIER_FIELDS = {
    "chars",
    "dropped_lines",
    "encoding",
    "kept_lines",
    "lines",
    "lost_headings",
    "modified",
    "name",
    "newest_date",
    "path",
    "sha256",
    "shown_as",
    "size",
    "status",
    "warnings",
}


def test_the_report_has_its_stable_names(workspace: Path, project_index: Path) -> None:
    project_index.write_text("- fact\n")
    report = json.loads(json.dumps(resolve_memory(workspace).as_dict()))
    assert set(report) == FIELDS
    user, project = report["tiers"]
    assert set(user) == set(project) == TIER_FIELDS
    assert (user["name"], user["status"]) == ("user", "absent")
    assert (project["name"], project["status"]) == ("project", "loaded")
    assert project["path"] == str(project_index)
    assert project["lines"] == project["kept_lines"] == 1
    assert project["dropped_lines"] == []
    assert project["sha256"] == hashlib.sha256(b"- fact\n").hexdigest()
    assert project["modified"].endswith("+00:00")
    assert report["text"] in report["block"]


def test_without_memory_text_and_block_are_null(workspace: Path) -> None:
    report = resolve_memory(workspace).as_dict()
    assert report["text"] is None
    assert report["block"] is None
    assert report["chars"] == 0
    assert report["headroom"] == report["char_budget"] == 6000


@pytest.mark.parametrize("blank_end", ["", "\n", "\n\n\n", " \n\t\n", "   "])
@pytest.mark.parametrize("blank_start", ["", "\n\n"])
@pytest.mark.parametrize("lines", [170, 3000])
def test_dropped_lines_are_exactly_those_that_are_absent(
    workspace: Path, project_index: Path, blank_start: str, blank_end: str, lines: int
) -> None:
    """In files that are read whole, and in those of which only the end is."""
    text = blank_start + "\n".join(
        f"- fact {n:05d} padded to 40 chars...." for n in range(lines)
    )
    project_index.write_text(text + blank_end)
    memory = resolve_memory(workspace)
    (tier,) = (t for t in memory.tiers if t.name == "project")
    assert tier.status == "truncated"
    assert tier.dropped_lines is not None
    dropped = {n for first, last in tier.dropped_lines for n in range(first, last + 1)}
    assert memory.text is not None
    shown = set(memory.text.split("\n"))
    above = len(blank_start)
    for number, line in enumerate(text.split("\n"), start=1):
        assert (number in dropped) == (number > above and line not in shown)
    assert tier.lines == len((text + blank_end).splitlines())
    assert tier.kept_lines == text.count("\n") + 1 - len(dropped) - above


def test_a_line_that_is_dropped_by_itself_is_listed_by_itself(
    workspace: Path, project_index: Path
) -> None:
    project_index.write_text(f"- one\n{'x' * 7000}\n- two\n{'y' * 7000}\n- three\n")
    tier = resolve_memory(workspace).tiers[1]
    assert tier.dropped_lines == ((2, 2), (4, 4))
    assert tier.kept_lines == 3


def test_lost_headings_are_named(workspace: Path, project_index: Path) -> None:
    project_index.write_text(
        "# Always\n- rule\n" + "- log\n" * 2000 + "# Newest\n- x\n"
    )
    tier = resolve_memory(workspace).tiers[1]
    assert tier.lost_headings == ((1, "Always"),)


def test_headroom_says_how_many_characters_are_free(
    workspace: Path, project_index: Path
) -> None:
    project_index.write_text("- fact\n")
    memory = resolve_memory(workspace)
    assert memory.headroom == 6000 - len(memory.text or "")


@pytest.mark.parametrize("lines", [200, 3000])
def test_negative_headroom_is_what_must_go(
    workspace: Path, project_index: Path, lines: int
) -> None:
    text = "\n".join(f"-fact-{n:05d}-padded-to-40-chars" for n in range(lines))
    project_index.write_text(text)
    over = resolve_memory(workspace).headroom
    assert over is not None
    assert over < 0
    project_index.write_text(text[-over:])
    assert resolve_memory(workspace).headroom == 0
    assert resolve_memory(workspace).tiers[1].status == "loaded"
    project_index.write_text(text[-over - 1 :])
    assert resolve_memory(workspace).tiers[1].status == "truncated"


def test_what_takes_the_whole_file_is_none_once_it_changed(
    workspace: Path, project_index: Path
) -> None:
    project_index.write_text("- a fact\n" * 10_000)
    memory = resolve_memory(workspace)
    project_index.write_text("- other\n" * 10_000)
    tier = memory.tiers[1]
    assert tier.sha256 is None
    assert tier.lines is None
    assert tier.dropped_lines is None
    assert memory.headroom is None


def test_a_change_that_hides_behind_the_old_time_is_noticed(
    workspace: Path, project_index: Path
) -> None:
    project_index.write_text("- a fact\n" * 10_000)
    memory = resolve_memory(workspace)
    before = project_index.stat()
    with project_index.open("r+") as file:
        file.write("- a fact\n" * 9_999 + "- a lie!\n")
    os.utime(project_index, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert memory.tiers[1].sha256 is None


def test_a_small_files_report_is_of_the_text_that_was_read(
    workspace: Path, project_index: Path
) -> None:
    project_index.write_text("- a\n- b\n")
    tier = resolve_memory(workspace).tiers[1]
    project_index.unlink()
    assert tier.lines == 2


def test_no_memory_text_is_in_the_report_but_where_it_belongs(
    workspace: Path, project_index: Path
) -> None:
    project_index.write_bytes(b"- CANARY \xff\n" * 2000)
    memory = resolve_memory(workspace)
    report = memory.as_dict()
    del report["text"], report["block"]
    assert "CANARY" not in json.dumps(report)
    assert "CANARY" not in str(memory.warnings)


def test_a_time_that_no_calendar_has_is_unknown() -> None:
    for when in (10**21, -(10**21), 10**30):
        tier = TierReport("user", "/x", "x", "loaded", modified_ns=when)
        assert tier.modified is None
        assert tier.as_dict()["modified"] is None


def test_tokens_are_estimated() -> None:
    assert Memory("x" * 401, 6000).tokens == 101
    assert Memory(None, 6000).tokens == 0


def survey_text(text: str) -> Survey:
    return survey_file(Decoded(text, "utf-8"))


def test_a_survey_counts_as_an_editor_does() -> None:
    survey = survey_text("# One\n\ntext 2026-02-03\n ## Two ##\n2025-11")
    assert survey.lines == 5
    assert survey.headings == ((1, "One"), (4, "Two"))
    assert survey.newest_date == "2026-02-03"
    assert survey_text("").lines == 0
    assert survey_text("x\n").lines == 1
    assert survey_text("no date 12026-02-031").newest_date is None


def test_nothing_configured_to_be_read_is_nothing(workspace: Path) -> None:
    config = MemoryConfig(read=MemoryReadConfig(char_budget=300))
    assert resolve_memory(workspace, config=config).char_budget == 300
    assert resolve_memory(workspace, config=config, char_budget=400).char_budget == 400
