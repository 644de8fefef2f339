"""``merge``, ``import`` and ``export``: facts that come from elsewhere, and go there."""

import base64
import hashlib
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openhands_memory.cli import main

ROOT = Path(__file__).parents[1]
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def run(*argv: object) -> int:
    return main([str(word) for word in argv])


@pytest.fixture(autouse=True)
def nobody_at_the_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with Path(os.devnull).open() as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        yield


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another checkout, with an index and a daily log."""
    memory = tmp_path / "other" / ".openhands" / "memory"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("# Traps\n- tides\n- pages\n")
    (memory / "2026-11-29.md").write_text("- load test\n")
    return tmp_path / "other"


# --- merge ------------------------------------------------------------------------------


def test_merge_brings_the_facts_of_another_checkout_once(
    workspace: Path,
    project_index: Path,
    other: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project_index.write_text("# Traps\n- tides\n\n# People\n- ada\n")
    assert run("merge", other, "--workspace", workspace) == 0
    memory = other / ".openhands" / "memory"
    out, err = capsys.readouterr()
    assert (
        out == f"{memory}/MEMORY.md:3: - pages\n{memory}/2026-11-29.md:1: - load test\n"
    )
    assert err == "took 2 facts; 1 was here already\n"
    assert project_index.read_text() == "# Traps\n- tides\n- pages\n\n# People\n- ada\n"
    assert (project_index.parent / "2026-11-29.md").read_text() == "- load test\n"
    assert run("merge", other, "--workspace", workspace) == 0
    assert capsys.readouterr() == ("", "took 0 facts; 3 were here already\n")


def test_merge_can_be_seen_first_and_taken_back_after(
    workspace: Path,
    project_index: Path,
    other: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project_index.write_text("- mine\n")
    assert run("merge", other, "--dry-run", "--workspace", workspace) == 0
    assert "would take 3 facts" in capsys.readouterr().err
    assert project_index.read_text() == "- mine\n"
    assert list(project_index.parent.iterdir()) == [project_index]
    assert run("merge", other / ".openhands/memory", "--workspace", workspace) == 0
    assert run("undo", "--workspace", workspace) == 0
    assert run("undo", "--workspace", workspace) == 0
    assert project_index.read_text() == "- mine\n"
    assert list(project_index.parent.iterdir()) == [project_index]


def test_merge_takes_one_file_and_reports_as_json(
    workspace: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = other / "NOTES.md"
    notes.write_text("- one\n  more\n")
    assert run("merge", notes, "--json", "--workspace", workspace) == 0
    assert json.loads(capsys.readouterr().out) == {
        "taken": [{"path": str(notes), "line": 1, "text": "- one\n  more"}],
        "present": 0,
        "not_merged": [],
    }
    index = workspace / ".openhands" / "memory" / "MEMORY.md"
    assert index.read_text() == "- one\n  more\n"


def test_merge_saves_a_worktrees_memory_before_it_goes(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case B34, with git's own refusal."""

    def git(*arguments: object, code: int = 0) -> str:
        words = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org"]
        done = subprocess.run(
            [*words, *map(str, arguments)],
            cwd=workspace,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done.stderr

    git("init", "-q")
    git("commit", "-qm", "start", "--allow-empty")
    tree = tmp_path / "wt"
    git("worktree", "add", "-q", tree)
    assert run("add", "the lesson", "--workspace", tree) == 0
    assert "untracked files" in git("worktree", "remove", tree, code=128)
    assert run("merge", tree, "--workspace", workspace) == 0
    git("worktree", "remove", "--force", tree)
    index = workspace / ".openhands" / "memory" / "MEMORY.md"
    assert index.read_text() == "- the lesson\n"


def test_merge_goes_on_where_one_file_cannot_be_read(
    workspace: Path,
    other: Path,
    link: Callable[[Path, str | Path], Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    memory = other / ".openhands" / "memory"
    outside = other.parent / "outside.md"
    outside.write_text("- stolen\n")
    link(memory / "2026-11-28.md", outside)
    os.mkfifo(memory / "2026-11-27.md")
    (memory / "2026-11-26.md").write_text("```\nopen\n")
    assert run("merge", other, "--workspace", workspace) == 1
    out, err = capsys.readouterr()
    assert "stolen" not in out
    assert "2026-11-28.md: a link leads outside the workspace" in err
    assert "2026-11-27.md: is not a regular file (a FIFO)" in err
    assert "2026-11-26.md: the code fence at line 1 never closes" in err
    assert "took 3 facts" in err


@pytest.mark.parametrize("broken", ["code", "read-only"])
def test_merge_says_when_the_file_here_is_in_the_way(
    broken: str,
    workspace: Path,
    project_index: Path,
    other: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project_index.write_text("```\nopen\n" if broken == "code" else "- a\n")
    project_index.chmod(0o444 if broken == "read-only" else 0o644)
    before = project_index.read_bytes()
    assert run("merge", other, "--workspace", workspace) == 1
    err = capsys.readouterr().err
    assert f"not merged: {other}/.openhands/memory/MEMORY.md: " in err
    problem = f"{project_index}: is read-only (mode 0444"
    assert ("in the file here" if broken == "code" else problem) in err
    assert project_index.read_bytes() == before


@pytest.mark.parametrize("path", ["no-such", ".", "empty"])
def test_merge_says_what_is_wrong_with_the_path(
    path: str,
    workspace: Path,
    project_index: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project_index.write_text("- a\n")
    (workspace / "empty").mkdir()
    monkeypatch.chdir(workspace)
    assert run("merge", path) == 2
    problem = {"no-such": "does not exist", ".": "this memory itself"}
    assert problem.get(path, "holds no memory") in capsys.readouterr().err


def test_merge_names_secrets_by_kind_alone(
    workspace: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (other / "N.md").write_text(f"- fine\n- token {TOKEN}\n")
    assert run("merge", other / "N.md", "--workspace", workspace) == 0
    err = capsys.readouterr().err
    assert f"{other}/N.md:2: looks like it holds a secret (github-token)" in err
    assert TOKEN not in err


# --- import -----------------------------------------------------------------------------

CLAUDE = f"""\
---
title: x
---
# CLAUDE.md

This file provides guidance to Claude Code (claude.ai/code) when working with code here.

- [Build](#build)

## Build
Run it with:

```bash
- not a fact
```

- use `pnpm`,
  never npm
- When testing:
  - run pytest
- token {TOKEN}
- hid\u200bden
<!-- - a
comment -->
@docs/more.md

| a | b |
|---|---|

Releases go out on
Tuesdays.
"""


def test_import_shows_what_it_would_take_and_takes_nothing_unasked(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "CLAUDE.md"
    source.write_text(CLAUDE)
    assert run("import", source, "--workspace", workspace) == 1
    out, err = capsys.readouterr()
    assert out == (
        f"   1  {source}:17: - use `pnpm`, never npm\n"
        f"   2  {source}:20: - When testing: run pytest\n"
        f"   3  {source}:30: - Releases go out on Tuesdays.\n"
    )
    assert "nothing taken: there is no terminal to ask at; use --yes" in err
    assert f"refused: {source}:21: looks like it holds a secret (github-token)" in err
    assert f"refused: {source}:22: has hidden characters" in err
    assert "hid[U+200B]den" in err
    assert f"{source}:25: @docs/more.md is not followed" in err
    assert "1 × front matter" in err
    assert "1 × table of contents" in err
    assert TOKEN not in out + err
    assert list(workspace.iterdir()) == []


def test_import_takes_them_below_their_headings_and_leaves_the_source_alone(
    workspace: Path, project_index: Path, tmp_path: Path
) -> None:
    source = tmp_path / "CLAUDE.md"
    source.write_text(CLAUDE)
    project_index.write_text("## Build\n- use `pnpm`, never npm\n")
    assert run("import", source, "--yes", "--workspace", workspace) == 1
    after = (
        "## Build\n- use `pnpm`, never npm\n- When testing: run pytest\n"
        "- Releases go out on Tuesdays.\n"
    )
    assert project_index.read_text() == after
    assert run("import", source, "--yes", "--workspace", workspace) == 1
    assert project_index.read_text() == after
    assert source.read_text() == CLAUDE
    assert run("import", source, "--yes", "--force", "--workspace", workspace) == 1
    assert project_index.read_text() == f"{after}- token {TOKEN}\n"


def test_import_exits_with_0_when_all_of_it_is_there(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "AGENTS.md"
    source.write_text("- use uv\n- use uv\n")
    for _ in range(2):
        assert run("import", source, "--yes", "--workspace", workspace) == 0
    assert "nothing to take; 2 here already" in capsys.readouterr().err


def test_import_reads_codex_memory_without_its_own_pointers(
    workspace: Path, tmp_path: Path
) -> None:
    source = tmp_path / "MEMORY.md"
    source.write_text(
        "# Task Group: shop / checkout\n\nscope: the checkout\napplies_to: cwd=/shop\n\n"
        "## Task 1: fix totals, success\n### rollout_summary_files\n"
        "- rollout_summaries/a.md (cwd=/shop)\n### keywords\n- totals, tax\n"
        "## User preferences\n- asks for small commits [Task 1] [Task 2]\n"
        "# Task Group: shop / search\n## Reusable knowledge\n- the index is rebuilt hourly\n"
    )
    assert run("import", source, "--yes", "--workspace", workspace) == 0
    index = workspace / ".openhands" / "memory" / "MEMORY.md"
    assert index.read_text() == (
        "# shop / checkout\n\n## User preferences\n- asks for small commits\n\n"
        "# shop / search\n\n## Reusable knowledge\n- the index is rebuilt hourly\n"
    )


def test_import_reports_as_json(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "GEMINI.md"
    source.write_text(f"- a\n- token {TOKEN}\n")
    assert run("import", source, "--json", "--yes", "--workspace", workspace) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["facts"] == [{"path": str(source), "line": 1, "text": "- a"}]
    assert [(r["line"], r["path"]) for r in report["refused"]] == [(2, str(source))]
    assert (report["present"], report["taken"]) == (0, 1)


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("\x04", 1)])
def test_import_asks_the_person_at_the_terminal(
    answer: str, code: int, workspace: Path, tmp_path: Path
) -> None:
    source = tmp_path / "CLAUDE.md"
    source.write_text("- a fact\n")
    main_end, terminal = pty.openpty()
    command = [sys.executable, "-m", "openhands_memory", "import", str(source)]
    running = subprocess.Popen(
        command,
        cwd=workspace,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(terminal)
    os.write(main_end, f"{answer}\n".encode())
    out, _ = running.communicate(timeout=60)
    os.close(main_end)
    assert running.returncode == code
    assert re.search(rb"Take 1 fact into .*/MEMORY.md\? \[y/N\]", out)
    assert (workspace / ".openhands").exists() == (code == 0)


@pytest.mark.parametrize("kind", ["fifo", "directory", "device", "absent", "binary"])
def test_import_never_waits_for_what_is_no_file(
    kind: str, workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "CLAUDE.md"
    if kind == "fifo":
        os.mkfifo(source)
    elif kind == "directory":
        source.mkdir()
    elif kind == "device":
        source = Path("/dev/zero")
    elif kind == "binary":
        source.write_bytes(b"\0" * 99)
    assert run("import", source, "--yes", "--workspace", workspace) == 2
    err = capsys.readouterr().err
    assert err.startswith("openhands-memory: ")
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize("argv", [[], ["a.md", "--bundle", "b.json"]])
def test_import_takes_files_or_a_bundle(
    argv: list[str], workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("import", *argv, "--workspace", workspace) == 2
    assert "give files, or one with --bundle" in capsys.readouterr().err


# --- export and bundles -----------------------------------------------------------------


def write_tier(root: Path, files: dict[str, bytes]) -> Path:
    memory = root / ".openhands" / "memory"
    for name, data in files.items():
        (memory / name).parent.mkdir(parents=True, exist_ok=True)
        (memory / name).write_bytes(data)
    return memory


def read_tier(root: Path) -> dict[str, bytes]:
    memory = root / ".openhands" / "memory"
    files = (path for path in memory.rglob("*") if path.is_file())
    return {path.relative_to(memory).as_posix(): path.read_bytes() for path in files}


NAMES = st.sampled_from(
    ["MEMORY.md", "2026-11-29.md", "2025-01-01.md", "rollout_summaries/a-1_b.md"]
)
CONTENT = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
)


@given(st.dictionaries(NAMES, CONTENT, min_size=1))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_tier_comes_back_from_its_bundle_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory,
    memory_home: Path,
    files: dict[str, bytes],
) -> None:
    root = tmp_path_factory.mktemp("bundle")
    here, there = root / "here", root / "there"
    there.mkdir()
    write_tier(here, files)
    bundle = root / "bundle.json"
    assert run("export", "--workspace", here, "--output", bundle) == 0
    for _ in range(2):
        assert run("import", "--bundle", bundle, "--yes", "--workspace", there) == 0
        assert read_tier(there) == files


def test_export_prints_a_bundle_that_a_person_can_read(
    workspace: Path, project_index: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    project_index.write_text("- naïve 日本\r\n- b", newline="")
    (project_index.parent / "sessions").mkdir()
    (project_index.parent / "sessions" / "one.jsonl").write_text("{}\n")
    assert run("export", "--workspace", workspace) == 0
    out = capfdbinary.readouterr().out
    assert '    "- naïve 日本\\r\\n",\n    "- b"\n'.encode() in out
    assert [file["path"] for file in json.loads(out)["files"]] == ["MEMORY.md"]


def test_export_never_overwrites_and_tells_when_there_is_nothing(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "bundle.json"
    assert run("export", "--workspace", workspace, "--output", output) == 1
    assert "nothing to export" in capsys.readouterr().err
    write_tier(workspace, {"MEMORY.md": b"- a\n"})
    output.write_text("mine")
    assert run("export", "--workspace", workspace, "--output", output) == 2
    assert "exists already" in capsys.readouterr().err
    assert output.read_text() == "mine"


def test_export_leaves_no_hole_where_a_file_cannot_be_read(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = write_tier(workspace, {"MEMORY.md": b"- a\n"})
    (memory / "2026-11-29.md").mkdir()
    assert run("export", "--workspace", workspace) == 2
    out, err = capsys.readouterr()
    assert (out, "is a directory" in err) == ("", True)


def test_a_bundle_is_merged_into_what_is_there(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = "rollout_summaries/one_x.md"
    write_tier(tmp_path / "a", {"MEMORY.md": b"- a\n- b\n", summary: b"one\n"})
    bundle = tmp_path / "bundle.json"
    assert run("export", "--workspace", tmp_path / "a", "--output", bundle) == 0
    write_tier(workspace, {"MEMORY.md": b"- c\n- a\n", summary: b"two\n"})
    assert run("import", "--bundle", bundle, "--workspace", workspace) == 1
    out, err = capsys.readouterr()
    assert out == "MEMORY.md:2: - b\n"
    assert "use --yes" in err
    assert f"kept as it is here: {summary}, which differs" in err
    assert run("import", "--bundle", bundle, "--yes", "--workspace", workspace) == 1
    assert read_tier(workspace) == {"MEMORY.md": b"- c\n- a\n- b\n", summary: b"two\n"}


def bundle_of(*files: dict[str, Any], **more: Any) -> bytes:
    head = {"format": "openhands-memory bundle", "version": 1, "tier": "project"}
    return json.dumps({**head, "files": list(files), **more}).encode()


def file_of(path: Any, text: str = "- a\n", **more: Any) -> dict[str, Any]:
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return {"path": path, "sha256": sha256, "lines": [text], **more}


GOOD = file_of("2026-11-29.md")
HOSTILE = {
    "above": file_of("../MEMORY.md"),
    "absolute": file_of("/etc/cron.d/x"),
    "inner": file_of("rollout_summaries/../../../x.md"),
    "dots": file_of("rollout_summaries/..md"),
    "backslash": file_of("rollout_summaries\\x.md"),
    "drive": file_of("C:MEMORY.md"),
    "reserved": file_of("rollout_summaries/con.md"),
    "foreign": file_of(".gitattributes"),
    "sessions": file_of("sessions/x.jsonl"),
    "nul": file_of("MEMORY.md\0"),
    "newline": file_of("2026-11-29.md\n"),
    "digits": file_of("٢٠٢٦-١١-٢٩.md"),
    "long": file_of(f"rollout_summaries/{'x' * 999}.md"),
    "number": file_of(7),
    "sum": file_of("MEMORY.md", sha256="0" * 64),
    "no sum": {"path": "MEMORY.md", "lines": ["- a\n"]},
    "no text": {"path": "MEMORY.md", "sha256": ""},
    "lines": file_of("MEMORY.md", lines=[1, 2]),
    "surrogate": file_of("MEMORY.md", lines=["\ud800"]),
    "base64": file_of("MEMORY.md", base64="!!"),
    "twice": GOOD,
    "large": file_of("MEMORY.md", "x" * (8 * 1024 * 1024 + 1)),
    "no object": "MEMORY.md",
}


@pytest.mark.parametrize("record", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_bundle_is_refused_whole(
    record: Any, workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "bundle.json"
    bundle.write_bytes(bundle_of(GOOD, record))
    assert run("import", "--bundle", bundle, "--yes", "--workspace", workspace) == 2
    out, err = capsys.readouterr()
    assert "not a bundle to be trusted: " in err
    assert err.endswith("; nothing was taken\n")
    assert len(err) < 300
    assert out == ""
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        b"[]",
        b"{}",
        bundle_of(version=2),
        bundle_of(files={}),
        b"1" * 5_000,
    ],
    ids=["empty", "bytes", "deep", "list", "object", "version", "files", "number"],
)
def test_what_is_no_bundle_is_refused(
    data: bytes, workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "bundle.json"
    bundle.write_bytes(data)
    assert run("import", "--bundle", bundle, "--yes", "--workspace", workspace) == 2
    assert "not a bundle to be trusted: " in capsys.readouterr().err


def test_a_bundle_never_writes_through_a_link(
    workspace: Path, tmp_path: Path, link: Callable[[Path, str | Path], Path]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link(workspace / ".openhands" / "memory", outside)
    bundle = tmp_path / "bundle.json"
    bundle.write_bytes(bundle_of(GOOD))
    assert run("import", "--bundle", bundle, "--yes", "--workspace", workspace) == 2
    assert list(outside.iterdir()) == []


def test_bytes_that_are_no_text_are_in_the_bundle_as_base64(
    workspace: Path, tmp_path: Path
) -> None:
    write_tier(workspace, {"MEMORY.md": b"- \xff\n"})
    output = tmp_path / "bundle.json"
    assert run("export", "--workspace", workspace, "--output", output) == 0
    (file,) = json.loads(output.read_bytes())["files"]
    assert base64.b64decode(file["base64"]) == b"- \xff\n"
