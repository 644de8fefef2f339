"""``lint`` from argv to what is printed, on files as people have them."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from openhands_memory import resolve_memory
from openhands_memory.cli import main

ROOT = Path(__file__).parent.parent
SECRET = "ghp_1x9QvRk3mTzYb7LdWc5NfHs2JgPa8UeK4oXr"

Capture = pytest.CaptureFixture[str]


def run(*argv: object) -> int:
    return main(["lint", *map(str, argv)])


def git(directory: Path, *arguments: str, day: str = "2026-11-29") -> None:
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    noon = f"{day}T12:00:00"
    when = {"GIT_AUTHOR_DATE": noon, "GIT_COMMITTER_DATE": noon}
    subprocess.run(
        ["git", *identity, *arguments],
        cwd=directory,
        env={**os.environ, **when},
        check=True,
        capture_output=True,
    )


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """Standard input; write to it, and it is read from its beginning."""
    data = io.BytesIO()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(data))
    return data


def feed(stdin: io.BytesIO, data: bytes) -> None:
    stdin.write(data)
    stdin.seek(0)


def test_nothing_found_is_0_and_silent(project_index: Path, capsys: Capture) -> None:
    project_index.write_text("# Rules\n- tides in millimetres\n")
    assert run(project_index) == 0
    assert capsys.readouterr() == ("", "")


def test_a_finding_is_one_line_with_its_place(
    project_index: Path, capsys: Capture
) -> None:
    project_index.write_text(f"- fine\n- deploy with {SECRET}\n")
    assert run(project_index) == 1
    out, err = capsys.readouterr()
    assert out == (
        f"{project_index}:2:15: OM101 looks like a secret (github-token); "
        "remove it, and revoke it\n"
    )
    assert err == ""


def test_json_has_the_stable_names_and_no_value(
    project_index: Path, capsys: Capture
) -> None:
    project_index.write_text(f"- {SECRET}\n- pages by cursor\n- pages by cursor\n")
    assert run("--json", project_index) == 1
    out = capsys.readouterr().out
    secret, duplicate = json.loads(out)
    names = ["path", "line", "column", "code", "category", "kind", "message"]
    assert list(secret) == names
    assert (secret["category"], secret["kind"]) == ("secret", "github-token")
    assert (duplicate["code"], duplicate["line"]) == ("OM201", 3)
    assert duplicate["kind"] is None
    assert SECRET not in out


def test_json_of_nothing_is_an_empty_array(
    project_index: Path, capsys: Capture
) -> None:
    project_index.write_text("- fine\n")
    assert run("--json", project_index) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_without_a_path_both_tiers_and_their_logs_are_read(
    user_index: Path, project_index: Path, workspace: Path, capsys: Capture
) -> None:
    fact = "- small commits, the reason in the first line\n"
    user_index.write_text(f"{fact}- one  \n")
    project_index.write_text(f"{fact}- see 2026-11-03.md and 2026-11-04.md\n")
    project_index.with_name("2026-11-03.md").write_text("- note  \n")
    project_index.with_name("notes.md").write_text("- not memory  \n")
    assert run("--workspace", workspace) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[:2] for line in lines] == [
        [f"{user_index}:2:6:", "OM524"],
        [f"{project_index}:1:1:", "OM203"],
        [f"{project_index}:2:25:", "OM401"],
        [f"{project_index.with_name('2026-11-03.md')}:1:7:", "OM524"],
    ]


def test_paths_below_the_current_directory_are_relative(
    project_index: Path,
    workspace: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project_index.write_text("- one  \n")
    monkeypatch.chdir(workspace)
    assert run() == 1
    assert capsys.readouterr().out.startswith(".openhands/memory/MEMORY.md:1:6: ")


def test_no_memory_is_nothing_found(
    memory_home: Path, workspace: Path, capsys: Capture
) -> None:
    assert run("--workspace", workspace) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "no memory files in" in err
    assert list(workspace.iterdir()) == []


def test_lines_that_will_not_load_are_those_of_the_reader(
    user_index: Path, project_index: Path, workspace: Path, capsys: Capture
) -> None:
    user_index.write_text("".join(f"- user fact {n} {'u' * n}\n" for n in range(90)))
    project_index.write_text("".join(f"- {n} {'p' * 80} {n}\n" for n in range(60)))
    assert run("--workspace", workspace, "--ignore", "OM202") == 1
    found = [x for x in capsys.readouterr().out.splitlines() if "OM301" in x]
    tiers = resolve_memory(workspace).tiers
    assert len(found) == len(tiers) == 2
    for line, tier in zip(found, tiers, strict=True):
        assert tier.dropped_lines
        ranges = ", ".join(
            f"{a}-{b}" if a < b else str(a) for a, b in tier.dropped_lines
        )
        assert f"lines {ranges} will not load" in line


def test_a_file_alone_has_the_whole_budget(
    user_index: Path, project_index: Path, workspace: Path, capsys: Capture
) -> None:
    project_index.write_text("".join(f"- {n} {'p' * 80} {n}\n" for n in range(80)))
    assert run(project_index, "--ignore", "OM202") == 1
    (dropped,) = resolve_memory(workspace).tiers[-1].dropped_lines or ()
    expected = f"lines {dropped[0]}-{dropped[1]} will not load"
    assert expected in capsys.readouterr().out


def test_stdin_is_an_index_unless_its_name_says_otherwise(
    stdin: io.BytesIO, capsys: Capture
) -> None:
    feed(stdin, b"- merge freeze until 2020-01-01\n")
    assert run("-") == 1
    assert capsys.readouterr().out.startswith("-:1:16: OM221 ")
    stdin.seek(0)
    assert run("-", "--stdin-name", "2020-01-01.md") == 0


def test_stdin_is_repaired_to_stdout() -> None:
    text = b"- a  \r\n- b\r\n- a\r\n- \xe9\r\n"
    program = "import sys; from openhands_memory.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, "lint", "--fix", "-"],
        input=text,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
    )
    assert done.returncode == 1
    assert done.stdout == b"- a\r\n- b\r\n- \xe9\r\n"
    assert b"fixed -: " in done.stderr
    assert b"-:3:3: OM511 " in done.stderr


def test_a_repair_is_said_kept_in_the_history_and_repeated_to_no_effect(
    project_index: Path, workspace: Path, capsys: Capture
) -> None:
    untidy = b"\xef\xbb\xbf- one  \r\n- two\r\n- one\r\n- last"
    project_index.write_bytes(untidy)
    assert run("--fix", "--workspace", workspace) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"fixed {project_index}: blanks at the end of 1 line; "
        "1 line with a fact that stands there twice; the missing line end at the end\n"
    )
    assert project_index.read_bytes() == b"\xef\xbb\xbf- one\r\n- two\r\n- last\r\n"
    assert run("--fix", project_index) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["undo", "--workspace", str(workspace)]) == 0
    assert project_index.read_bytes() == untidy


def test_a_repair_keeps_mode_and_link(
    workspace: Path, project_index: Path, link: Callable[[Path, str | Path], Path]
) -> None:
    real = workspace / "notes.md"
    real.write_text("- one  \n")
    real.chmod(0o640)
    link(project_index, real)
    assert run("--fix", "--workspace", workspace) == 0
    assert project_index.is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("- one\n", 0o640)


def test_a_file_that_may_not_be_written_is_said_and_checked_all_the_same(
    project_index: Path, capsys: Capture
) -> None:
    project_index.write_text("- one  \n")
    project_index.chmod(0o444)
    assert run("--fix", project_index) == 1
    out, err = capsys.readouterr()
    assert "OM524" in out
    assert "not repaired: " in err
    assert "read-only" in err


def test_a_file_in_conflict_is_never_repaired(project_index: Path) -> None:
    text = "<<<<<<< HEAD\n- a  \n=======\n- a\n>>>>>>> b\n"
    project_index.write_text(text)
    assert run("--fix", project_index) == 1
    assert project_index.read_text() == text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_what_cannot_be_read_is_a_finding_and_never_waited_for(
    workspace: Path, project_index: Path, capsys: Capture
) -> None:
    os.mkfifo(project_index)
    assert run("--workspace", workspace) == 1
    assert "MEMORY.md:1:1: OM526 cannot be checked: is not a" in capsys.readouterr().out
    assert run(project_index) == 1
    assert run(project_index.parent) == 1
    assert "OM526" in capsys.readouterr().out


def test_a_link_out_of_the_workspace_is_refused_as_the_reader_does(
    tmp_path: Path, workspace: Path, project_index: Path, capsys: Capture
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("- CANARY  \n")
    project_index.symlink_to(outside)
    assert run("--workspace", workspace) == 1
    assert "OM526 cannot be checked: a link leads outside" in capsys.readouterr().out


def test_names_that_nobody_reads_are_found(
    workspace: Path, project_index: Path, capsys: Capture
) -> None:
    project_index.with_name("memory.md").write_text("- lost\n")
    assert run("--workspace", workspace) == 1
    assert "memory.md:1:1: OM404 is not read" in capsys.readouterr().out
    assert run(project_index.parent) == 1


def test_a_directory_that_was_a_link_is_found(
    memory_home: Path, workspace: Path, capsys: Capture
) -> None:
    (workspace / ".openhands").mkdir()
    (workspace / ".openhands" / "memory").write_text("../shared/memory")
    assert run("--workspace", workspace) == 1
    assert "memory:1:1: OM403 holds only a path" in capsys.readouterr().out


def test_a_directory_is_its_markdown_files(tmp_path: Path, capsys: Capture) -> None:
    for name in ("MEMORY.md", "logs/2026-11-29.md", "a/b/x.md", "x.txt", ".git/x.md"):
        path = tmp_path / "all" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("- one  \n")
    assert run(tmp_path / "all") == 1
    found = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]
    names = ["MEMORY.md", "a/b/x.md", "logs/2026-11-29.md"]
    assert found == [str(tmp_path / "all" / name) for name in names]


def test_the_sandbox_layout_s_memory_is_no_index(tmp_path: Path) -> None:
    (tmp_path / "memory_summary.md").write_text("- see MEMORY.md\n")
    (tmp_path / "MEMORY.md").write_text(f"- {'x' * 700}\n" * 20)
    assert run(tmp_path, "--ignore", "om201") == 0


def test_stale_is_what_git_calls_old_and_never_the_file_s_time(
    workspace: Path, project_index: Path, capsys: Capture
) -> None:
    project_index.write_text("- 2026-01-11 the old rule\n")
    git(workspace, "init", "-q")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "memory", day="2026-01-12")
    os.utime(project_index)  # as a clone does
    assert run("--workspace", workspace, "--stale-days", 10) == 1
    out = capsys.readouterr().out
    assert "OM223 the newest date in the text is 2026-01-11" in out
    assert "last commit was on 2026-01-12" in out
    with project_index.open("a") as file:
        file.write("- a new rule without a date\n")
    assert run("--workspace", workspace, "--stale-days", 10) == 0


@pytest.mark.parametrize(
    "argv",
    [
        ["no-such-file.md"],
        ["-", "MEMORY.md"],
        ["--fix", "--json", "-"],
        ["--ignore", "OM999"],
        ["--stale-days", "0"],
        ["--stale-days", "soon"],
        ["--budget", "10"],
    ],
)
def test_wrong_use_is_2_and_says_why(
    argv: list[str], memory_home: Path, capsys: Capture
) -> None:
    assert run(*argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err
    assert "Traceback" not in err


def test_a_path_cannot_steer_the_terminal(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a\x1b[31m.md"
    path.write_text("- one  \n")
    assert run(path) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_lint_starts_without_what_it_does_not_need(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- fine\n")
    heavy = ("openhands", "pydantic", "rich", "platformdirs", "sqlite3", "subprocess")
    program = (
        "import sys; from openhands_memory.cli import main; main(['lint', 'MEMORY.md']);"
        f"print(*(m for m in {heavy!r} if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
