"""The command line: what is printed where, and with which exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from openhands_memory import __version__
from openhands_memory.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent


@pytest.fixture
def project(memory_home: Path, workspace: Path) -> Path:
    """A workspace whose project tier holds two facts."""
    index = workspace / ".openhands" / "memory" / "MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_text("- tides in millimetres\n- pages by cursor\n")
    return workspace


def run(*argv: object) -> int:
    return main([str(word) for word in argv])


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, "--help") == 0
    out = capsys.readouterr().out
    assert "example:\n  " in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["no-such-command"],
        ["show", "--no-such-option"],
        ["show", "--workspace", "/no/such/directory"],
        ["show", "--budget", "199"],
        ["show", "--budget", "many"],
        ["show", "--tier", "team"],
    ],
)
def test_wrong_use_says_so_on_stderr_and_exits_with_2(
    argv: list[str], memory_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "error: " in err
    assert "Traceback" not in err


def test_show_prints_exactly_the_text(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", "--workspace", project) == 0
    assert capsys.readouterr().out == (
        "# Project memory (.openhands/memory/MEMORY.md)\n"
        "- tides in millimetres\n- pages by cursor\n"
    )


def test_show_block_ends_with_the_blocks_own_tag(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", "--block", "--workspace", project) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[-1]) == ("<MEMORY_CONTEXT>", "</MEMORY_CONTEXT>")
    assert lines[-2] == "- pages by cursor"


def test_show_tier_prints_that_tier_alone(
    project: Path, memory_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = memory_home / ".openhands" / "memory" / "MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_text("- prefers uv\n")
    assert run("show", "--tier", "user", "--workspace", project) == 0
    assert capsys.readouterr().out == (
        "# User memory (~/.openhands/memory/MEMORY.md)\n- prefers uv\n"
    )


def test_show_without_memory_prints_nothing_and_exits_with_1(
    memory_home: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", "--workspace", workspace) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "openhands-memory status" in err
    assert list(workspace.iterdir()) == []
    assert list(memory_home.iterdir()) == []


@pytest.mark.parametrize("command", ["show", "status"])
def test_json_is_the_report_with_its_stable_names(
    command: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, "--json", "--workspace", project) == 0
    report = json.loads(capsys.readouterr().out)
    assert {"text", "block", "char_budget", "chars", "hints", "tiers"} <= report.keys()
    user, tier = report["tiers"]
    names = {"name", "path", "shown_as", "status", "chars", "lines", "kept_lines"}
    names |= {"dropped_lines", "encoding", "warnings", "sha256", "modified"}
    assert names <= tier.keys()
    assert (user["status"], user["lines"], user["sha256"]) == ("absent", None, None)
    assert (tier["status"], tier["lines"], tier["kept_lines"]) == ("loaded", 2, 2)
    assert tier["dropped_lines"] == []
    assert report["chars"] == len(report["text"])


def test_json_of_no_memory_has_null_for_text_and_block(
    memory_home: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", "--json", "--workspace", workspace) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["text"] is None
    assert report["block"] is None


def test_status_names_dropped_lines_and_lost_headings(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = project / ".openhands" / "memory" / "MEMORY.md"
    rules = "# Always\n- never write to the billing database\n\n# Log\n"
    index.write_text(rules + "".join(f"- {n:03} {'x' * 34}\n" for n in range(250)))
    assert run("status", "--workspace", project) == 0
    out = capsys.readouterr().out
    # 250 lines of 41 characters, of which 144 fit beside the heading and the notice.
    assert "dropped     lines 1-110 do not reach the agent" in out
    assert "2 headings lost: Always, Log" in out
    assert "never write to the billing database" not in out


def test_status_dates_come_from_text_and_git_not_from_the_clone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = project / ".openhands" / "memory" / "MEMORY.md"
    index.write_text("- 2026-02-11 the old rule\n")
    _git(project, "init", "-q")
    _git(project, "add", ".")
    noon = "2026-02-12T12:00:00"
    when = {"GIT_AUTHOR_DATE": noon, "GIT_COMMITTER_DATE": noon}
    _git(project, "commit", "-qm", "memory", **when)
    assert run("status", "--workspace", project) == 0
    out = capsys.readouterr().out
    assert "newest date in the text 2026-02-11; last commit 2026-02-12" in out
    assert "git         tracked" in out


def test_status_runs_no_program_that_the_repository_names(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _git(project, "init", "-q")
    witness = project / "witness"
    script = project / "monitor.sh"
    script.write_text(f"#!/bin/sh\ntouch {witness}\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "gpg.program", "core.pager", "diff.external"):
        _git(project, "config", key, str(script))
    _git(project, "config", "log.showSignature", "true")
    assert run("status", "--workspace", project) == 0
    assert not witness.exists()


def test_output_with_characters_that_the_terminal_lacks_does_not_fail(
    project: Path,
) -> None:
    index = project / ".openhands" / "memory" / "MEMORY.md"
    index.write_text("- naïve 日本\n", encoding="utf-8")
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "openhands_memory", "show"]
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "na\\xefve" in done.stdout


def test_a_closed_pipe_ends_the_command_without_a_word(project: Path) -> None:
    index = project / ".openhands" / "memory" / "MEMORY.md"
    index.write_text("- fact\n" * 20_000)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "openhands_memory", "show", "--budget", "90000"]
    with subprocess.Popen(
        command,
        cwd=project,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout and running.stderr
        running.stdout.read(1)
        running.stdout.close()
        assert running.stderr.read() == b""


def test_init_creates_both_tiers_and_never_overwrites(
    memory_home: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("init", "--workspace", workspace) == 0
    user = memory_home / ".openhands" / "memory" / "MEMORY.md"
    project = workspace / ".openhands" / "memory" / "MEMORY.md"
    assert capsys.readouterr().out == f"created {user}\ncreated {project}\n"
    project.write_text("- mine\n")
    assert run("init", "--workspace", workspace) == 0
    assert capsys.readouterr().out == f"kept    {user}\nkept    {project}\n"
    assert project.read_text() == "- mine\n"


def test_init_private_keeps_the_project_tier_out_of_git(
    memory_home: Path, workspace: Path
) -> None:
    _git(workspace, "init", "-q")
    assert run("init", "--private", "--workspace", workspace) == 0
    assert _git(workspace, "status", "--porcelain") == ""


def test_init_share_leaves_rollouts_out_and_the_index_in(
    memory_home: Path, workspace: Path
) -> None:
    _git(workspace, "init", "-q")
    assert run("init", "--share", "--workspace", workspace) == 0
    memory = workspace / ".openhands" / "memory"
    (memory / "sessions").mkdir()
    (memory / "sessions" / "one.jsonl").write_text("{}\n")
    (memory / "2026-11-29.md").write_text("- note\n")
    shown = _git(workspace, "status", "--porcelain", "--untracked-files=all")
    names = {line.rpartition("/")[2] for line in shown.splitlines()}
    assert names == {"MEMORY.md", "2026-11-29.md", ".gitignore", ".gitattributes"}


def test_an_unknown_command_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("serch", "x") == 2
    err = capsys.readouterr().err
    assert "did you mean 'search'?" in err


def test_a_full_disk_behind_the_output_is_one_clear_error(project: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "openhands_memory", "show"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command,
            cwd=project,
            env=env,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr == "openhands-memory: No space left on device\n"


def test_init_private_says_when_another_gitignore_is_in_the_way(
    memory_home: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("init", "--share", "--workspace", workspace) == 0
    assert run("init", "--private", "--workspace", workspace) == 1
    assert "not private" in capsys.readouterr().err
    ignore = workspace / ".openhands" / "memory" / ".gitignore"
    ignore.write_text("*\n")
    assert run("init", "--private", "--workspace", workspace) == 0


def test_trust_without_a_terminal_never_waits(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path(os.devnull).open() as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        assert run("trust", "--workspace", project) == 1
    assert "use --yes" in capsys.readouterr().err


def test_trust_and_revoke_are_told_apart_by_their_exit_codes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("trust", "--revoke", "--workspace", project) == 1
    assert run("trust", "--yes", "--workspace", project) == 0
    assert run("trust", "--revoke", "--workspace", project) == 0


def test_trust_without_a_project_tier_approves_nothing(
    memory_home: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("trust", "--yes", "--workspace", workspace) == 1
    assert "(absent)" in capsys.readouterr().err


def _git(directory: Path, *arguments: str, **env: str) -> str:
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    return subprocess.run(
        ["git", *identity, *arguments],
        cwd=directory,
        env={**os.environ, **env},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
