"""What was loaded and what was dropped, in numbers that can be checked."""

import copy
import hashlib
import json
import os
import pickle
from pathlib import Path

import pytest

from openhands_memory import resolve_memory
from openhands_memory.config import MemoryConfig, MemoryReadConfig
from openhands_memory.context.report import Memory, TierReport

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
    assert tier.warnings == ("over budget: lines 2, 4 are not loaded",)


def test_blank_lines_above_all_text_are_not_dropped_lines(
    workspace: Path, project_index: Path
) -> None:
    project_index.write_text(f"\n \n- one\n{'x' * 7000}\n- two\n\n")
    tier = resolve_memory(workspace).tiers[1]
    assert tier.dropped_lines == ((4, 4),)
    project_index.write_text("\n\n" + "- a fact\n" * 9000)
    assert resolve_memory(workspace).tiers[1].dropped_lines == ((3, 8344),)


def test_the_warning_names_the_lines_where_they_are_known(
    workspace: Path, project_index: Path
) -> None:
    def warned(text: str) -> str:
        project_index.write_text(text)
        return resolve_memory(workspace).tiers[1].warnings[-1]

    line = "- a fact of 40 characters, all of them.\n"
    assert warned(line * 200) == "over budget: lines 1-52 are not loaded"
    assert warned("x" * 7000 + f"\n{line}") == "over budget: line 1 is not loaded"
    many = "".join(f"- {n}\n{'x' * 7000}\n" for n in range(4)) + "- end\n" * 4
    assert warned(f"\n{many}") == "over budget: lines 3, 5, 7, 9 are not loaded"
    assert warned(line * 2000) == (
        "over budget: only 148 lines at the end of 80,000 bytes are loaded"
    )


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


def test_two_reports_on_the_same_are_equal(
    workspace: Path, project_index: Path
) -> None:
    for text in ("- fact\n", "- fact\n" * 9000):
        project_index.write_text(text)
        one, two = resolve_memory(workspace), resolve_memory(workspace)
        assert one == two
        assert hash(one) == hash(two)
        assert one.tiers[1].sha256 is not None  # asked for or not
        assert one == two
    project_index.write_text("- other\n")
    assert resolve_memory(workspace) != one


def test_nothing_can_be_set(workspace: Path, project_index: Path) -> None:
    project_index.write_text("- fact\n")
    memory = resolve_memory(workspace)
    for value in (memory, memory.tiers[1]):
        for name in ("text", "hints", "sha256", "survey", "anything"):
            with pytest.raises(AttributeError):
                setattr(value, name, "x")


@pytest.mark.parametrize("lines", [1, 9000])
def test_a_report_can_be_copied_and_pickled(
    workspace: Path, project_index: Path, lines: int
) -> None:
    """What takes the files is found out first: they are not there where it arrives."""
    project_index.with_name("memory.md").write_text("- x\n")
    project_index.write_text("# Head\n" + "- fact\n" * lines)
    memory = resolve_memory(workspace).with_hint("one more")
    copies = [copy.copy(memory), copy.deepcopy(memory)]
    copies += [pickle.loads(pickle.dumps(memory, n)) for n in (2, 5)]  # noqa: S301
    expected = memory.as_dict()
    project_index.unlink()
    for other in copies:
        assert other == memory
        assert type(other.tiers[1]) is TierReport
        assert other.as_dict() == expected
    assert memory.hints[-1] == "one more"


def test_a_report_shows_no_way_to_find_things_out(workspace: Path) -> None:
    assert "lambda" not in repr(resolve_memory(workspace))


@pytest.mark.parametrize("lines", [20, 10_000])
def test_what_was_appended_since_changes_no_number(
    workspace: Path, project_index: Path, lines: int
) -> None:
    """An agent that remembers something must not make the report forget."""
    before = "".join(f"- fact {n:05d} {'x' * 400}\n" for n in range(lines))
    project_index.write_text(before)
    expected = resolve_memory(workspace).as_dict()
    memory = resolve_memory(workspace)
    with project_index.open("a") as file:
        file.write("- appended\n" * 50)
    assert memory.as_dict() == expected
    assert memory.tiers[1].sha256 == hashlib.sha256(before.encode()).hexdigest()
    assert memory.headroom is not None


def test_what_was_rewritten_since_is_unknown(
    workspace: Path, project_index: Path
) -> None:
    text = "- a fact\n" * 10_000
    project_index.write_text(text)
    for changed in ("- b\n" + text, text[:-9], "- A fact\n" + text[9:]):
        project_index.write_text(text)
        memory = resolve_memory(workspace)
        project_index.write_text(changed)
        os.utime(project_index, ns=(0, 0))
        assert memory.tiers[1].sha256 is None
        assert memory.headroom is None


def test_nothing_configured_to_be_read_is_nothing(workspace: Path) -> None:
    config = MemoryConfig(read=MemoryReadConfig(char_budget=300))
    assert resolve_memory(workspace, config=config).char_budget == 300
    assert resolve_memory(workspace, config=config, char_budget=400).char_budget == 400
