"""Memory merged by git itself: real repositories, branches and conflicts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openhands_memory.cli import main

ROOT = Path(__file__).parents[1]
MEMORY = ".openhands/memory/MEMORY.md"
LOG = ".openhands/memory/2026-11-29.md"
DRIVER = f"'{sys.executable}' -m openhands_memory merge --driver %O %A %B %P"


@pytest.fixture
def repository(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository set up by ``init --share``, the driver turned on, one fact in it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "config", "user.name", "Tester")
    git(workspace, "config", "user.email", "tester@example.org")
    git(workspace, "config", "merge.openhands-memory.driver", DRIVER)
    assert main(["init", "--share", "--workspace", str(workspace)]) == 0
    write(
        workspace, MEMORY, "# Traps\n- tides in millimetres\n- port is 80\n\n# People\n"
    )
    commit(workspace)
    return workspace


def git(directory: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def write(directory: Path, name: str, text: str | bytes) -> None:
    (directory / name).write_bytes(text.encode() if isinstance(text, str) else text)


def commit(directory: Path) -> None:
    git(directory, "add", "-A")
    git(directory, "commit", "-qm", "memory")


def branches(
    repository: Path, name: str, ours: str | bytes, theirs: str | bytes
) -> None:
    """*theirs* in a branch of that name, *ours* in main."""
    git(repository, "checkout", "-qb", "theirs")
    write(repository, name, theirs)
    commit(repository)
    git(repository, "checkout", "-q", "main")
    write(repository, name, ours)
    commit(repository)


def test_what_both_branches_added_is_kept_once(repository: Path) -> None:
    branches(
        repository,
        MEMORY,
        "# Traps\n- tides in millimetres\n- port is 80\n- ours\n- both\n\n# People\n",
        "# Traps\n- tides in millimetres\n- port is 80\n- both\n- theirs\n\n# People\n- ada\n",
    )
    git(repository, "merge", "-q", "--no-edit", "theirs")
    assert (repository / MEMORY).read_text() == (
        "# Traps\n- tides in millimetres\n- port is 80\n- ours\n- both\n- theirs\n\n"
        "# People\n- ada\n"
    )
    assert git(repository, "status", "--porcelain") == ""


def test_without_the_driver_git_calls_the_same_branches_a_conflict(
    repository: Path,
) -> None:
    """What the driver is for; and the attribute alone does no harm."""
    git(repository, "config", "--unset", "merge.openhands-memory.driver")
    branches(repository, MEMORY, "# Traps\n- a\n- ours\n", "# Traps\n- a\n- theirs\n")
    out = git(repository, "merge", "-q", "theirs", code=1)
    assert f"CONFLICT (content): Merge conflict in {MEMORY}" in out
    assert "<<<<<<< HEAD" in (repository / MEMORY).read_text()


def test_a_deletion_and_an_edit_on_one_side_each_are_taken(repository: Path) -> None:
    branches(
        repository,
        MEMORY,
        "# Traps\n- port is 80\n\n# People\n",
        "# Traps\n- tides in millimetres\n- port is 8080\n- new\n\n# People\n",
    )
    git(repository, "merge", "-q", "--no-edit", "theirs")
    assert (repository / MEMORY).read_text() == (
        "# Traps\n- port is 8080\n- new\n\n# People\n"
    )


def test_a_fact_that_both_edited_is_a_conflict_and_nothing_else_is(
    repository: Path,
) -> None:
    branches(
        repository,
        MEMORY,
        "# Traps\n- tides in millimetres\n- port is 81\n- ours\n\n# People\n",
        "# Traps\n- tides in millimetres\n- port is 82\n- theirs\n\n# People\n",
    )
    out = git(repository, "merge", "-q", "theirs", code=1)
    assert f"{MEMORY}: 1 fact changed on both sides" in out
    assert (repository / MEMORY).read_text() == (
        "# Traps\n- tides in millimetres\n<<<<<<< ours\n- port is 81\n=======\n"
        "- port is 82\n>>>>>>> theirs\n- ours\n- theirs\n\n# People\n"
    )
    assert git(repository, "diff", "--name-only", "--diff-filter=U").strip() == MEMORY
    git(repository, "merge", "--abort")
    assert "- ours\n" in (repository / MEMORY).read_text()


def test_a_rebase_takes_one_commit_after_the_other(repository: Path) -> None:
    start = (repository / MEMORY).read_text()
    branches(repository, MEMORY, start + "- one\n", start + "- three\n")
    write(repository, MEMORY, start + "- one\n- two\n")
    commit(repository)
    git(repository, "rebase", "-q", "theirs")
    assert (repository / MEMORY).read_text() == start + "- three\n- one\n- two\n"


def test_a_file_that_both_branches_created_is_merged(repository: Path) -> None:
    git(repository, "config", "core.attributesFile", "all-logs")
    write(repository, "all-logs", "*.md merge=openhands-memory\n")
    (repository / ".openhands/memory/.gitattributes").unlink()
    commit(repository)
    branches(repository, LOG, "# Done\n- a\n- b\n", "# Done\n- b\n- c\n")
    git(repository, "merge", "-q", "--no-edit", "theirs")
    assert (repository / LOG).read_text() == "# Done\n- a\n- b\n- c\n"


def test_daily_logs_keep_both_sides_without_the_driver(repository: Path) -> None:
    branches(repository, LOG, "- a\n", "- b\n")
    git(repository, "merge", "-q", "--no-edit", "theirs")
    assert sorted((repository / LOG).read_text().splitlines()) == ["- a", "- b"]


@pytest.mark.parametrize("end", ["```\ncode that never ends\n", "- naïve\xff\n"])
def test_an_untidy_file_is_merged_all_the_same(repository: Path, end: str) -> None:
    start = f"- a\n- b\n- c\n- d\n{end}".encode("latin-1")
    write(repository, MEMORY, start)
    commit(repository)
    branches(repository, MEMORY, b"- x\n" + start, start.replace(b"- c\n", b"- c2\n"))
    git(repository, "merge", "-q", "--no-edit", "theirs")
    assert (repository / MEMORY).read_bytes() == (
        b"- x\n" + start.replace(b"- c\n", b"- c2\n")
    )


def test_an_untidy_file_with_a_conflict_has_gits_own_marks(repository: Path) -> None:
    branches(repository, MEMORY, "- a\n```\nours\n", "- a\n```\ntheirs\n")
    out = git(repository, "merge", "-q", "theirs", code=1)
    assert "merged line by line, as a code fence never closes" in out
    assert ">>>>>>> theirs\n" in (repository / MEMORY).read_text()


def test_utf_16_and_windows_line_ends_come_through(repository: Path) -> None:
    def text(*facts: str) -> bytes:
        return "".join(f"- {fact}\r\n" for fact in facts).encode("utf-16")

    write(repository, MEMORY, text("a"))
    commit(repository)
    branches(repository, MEMORY, text("a", "ours"), text("a", "日本"))
    git(repository, "merge", "-q", "--no-edit", "theirs")
    assert (repository / MEMORY).read_bytes() == text("a", "ours", "日本")


def test_the_driver_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", "--driver", "one", "two"]) == 2
    assert "give it %O %A %B %P" in capsys.readouterr().err
    assert main(["merge", "--driver", "no-1", "no-2", "no-3"]) == 2
    assert "no-1: could not be read" in capsys.readouterr().err


@pytest.mark.parametrize("installed", [True, False])
def test_the_command_that_init_shows_works_with_and_without_the_program(
    installed: bool,
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without it git's own merge is used, so that neither side is lost in silence."""
    assert main(["init", "--share", "--workspace", str(repository)]) == 0
    shown = capsys.readouterr().err.partition("git config ")[2]
    subprocess.run(["sh", "-c", f"git config {shown}"], cwd=repository, check=True)
    if installed:
        program = tmp_path / "bin" / "openhands-memory"
        program.parent.mkdir()
        program.write_text(
            f"#!/bin/sh\nexec '{sys.executable}' -m openhands_memory \"$@\"\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    else:
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
    start = "# Traps\n- tides in millimetres\n- port is 80\n"
    branches(repository, MEMORY, f"{start}- ours\n", f"{start}- theirs\n")
    git(repository, "merge", "-q", "--no-edit", "theirs", code=0 if installed else 1)
    merged = (repository / MEMORY).read_text()
    assert "- ours\n" in merged
    assert "- theirs\n" in merged
    assert ("<<<<<<<" in merged) is not installed
