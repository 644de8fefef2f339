"""``forget``: one fact gone, all else byte for byte as it was."""

import os
import subprocess
from pathlib import Path

import pytest

from openhands_memory.cli import main

TEXT = (
    b"\xef\xbb\xbf# Traps\r\n- tides in millimetres\r\n- pages by cursor\n"
    b"  not by offset\n\n  - at most 100\n    a page\n  - oldest first\n"
    b"\nA paragraph of\ntwo lines.\n# People\nada is on call\n- bad \xff byte"
)
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def run(*argv: object) -> int:
    return main([str(word) for word in argv])


@pytest.fixture
def index(
    project_index: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    project_index.write_bytes(TEXT)
    monkeypatch.chdir(workspace)
    return project_index


@pytest.mark.parametrize(
    ("what", "gone"),
    [
        # A fact goes with all that belongs to it, named by any line of its own.
        (2, b"- tides in millimetres\r\n"),
        (3, TEXT[TEXT.index(b"- pages") : TEXT.index(b"\nA para")]),
        (4, TEXT[TEXT.index(b"- pages") : TEXT.index(b"\nA para")]),
        # One bullet of a list within it goes alone.
        (6, b"  - at most 100\n    a page\n"),
        (7, b"  - at most 100\n    a page\n"),
        (8, b"  - oldest first\n"),
        (10, b"A paragraph of\ntwo lines.\n"),
        # The heading stays.
        (13, b"ada is on call\n"),
        (14, b"- bad \xff byte"),
        ("TIDES  in", b"- tides in millimetres\r\n"),
        ("at most 100 a page", b"  - at most 100\n    a page\n"),
        ("paragraph of two", b"A paragraph of\ntwo lines.\n"),
    ],
)
def test_a_fact_is_removed_and_nothing_else(
    what: int | str, gone: bytes, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = f".openhands/memory/MEMORY.md:{what}" if isinstance(what, int) else what
    assert run("forget", named) == 0
    assert index.read_bytes() == TEXT.replace(gone, b"")
    assert len(TEXT) - len(index.read_bytes()) == len(gone)
    assert capsys.readouterr().out.startswith("forgot .openhands/memory/MEMORY.md:")
    assert run("undo") == 0
    assert index.read_bytes() == TEXT


@pytest.mark.parametrize(
    "what",
    [
        ".openhands/memory/MEMORY.md:1",
        ".openhands/memory/MEMORY.md:5",
        ".openhands/memory/MEMORY.md:12",
        ".openhands/memory/MEMORY.md:99",
        ".openhands/memory/2026-11-29.md:1",
        "no such words",
        "  ",
    ],
)
def test_what_is_no_fact_changes_nothing(
    what: str, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("forget", what) == 1
    assert "no fact there" in capsys.readouterr().err
    assert index.read_bytes() == TEXT


def test_words_of_several_facts_are_listed_by_path_and_line(
    index: Path, user_index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_index.write_text(f"- a page, token {TOKEN}\n")
    log = index.parent / "2026-11-29.md"
    log.write_text("- pages were slow\n")
    assert run("forget", "page") == 1
    out, err = capsys.readouterr()
    assert out == (
        "~/.openhands/memory/MEMORY.md:1: a page, token [secret: github-token]\n"
        ".openhands/memory/MEMORY.md:3: pages by cursor not by offset\n"
        ".openhands/memory/MEMORY.md:6: at most 100 a page\n"
        ".openhands/memory/2026-11-29.md:1: pages were slow\n"
    )
    assert "4 facts contain that; name one of them by path:line" in err
    assert index.read_bytes() == TEXT
    assert run("forget", "page", "--tier", "user") == 0
    assert user_index.read_bytes() == b""
    assert run("forget", f"{log}:1:3") == 0
    assert log.read_bytes() == b""


def test_paths_are_understood_as_shown_and_as_they_are(
    index: Path, user_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_index.write_text("- a\n- b\n")
    assert run("forget", "~/.openhands/memory/MEMORY.md:1") == 0
    assert run("forget", f"{user_index}:1") == 0
    monkeypatch.chdir(tmp_path)
    shown = ".openhands/memory/MEMORY.md:2"
    assert run("forget", shown, "--workspace", "workspace") == 0
    assert run("forget", f"workspace/{shown}", "--workspace", "workspace") == 0
    assert user_index.read_bytes() == b""


def test_what_reads_like_a_place_can_be_words(index: Path) -> None:
    index.write_text("- staging:8080 is slow\n- b\n")
    assert run("forget", "staging:8080") == 0
    assert index.read_text() == "- b\n"


def files_with(root: Path, words: bytes) -> list[str]:
    import base64

    coded = [base64.b64encode(b"x" * n + words)[4:-4] for n in range(3)]
    return [
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and any(w in path.read_bytes() for w in (words, *coded))
    ]


def test_a_secret_leaves_no_trace_with_purge(
    index: Path, memory_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index.write_text("- a\n")
    for number in range(20):  # enough for search to keep an index
        (index.parent / f"2026-11-{number + 1:02}.md").write_text("- note\n")
    assert run("add", f"token {TOKEN}", "--force") == 0
    assert run("add", "b") == 0
    assert run("log", "unrelated") == 0
    assert run("search", "token") == 0
    traces = files_with(tmp_path, TOKEN.encode())
    assert len(traces) == 4, traces  # the file, two writes in the history, search
    capsys.readouterr()
    assert run("forget", TOKEN, "--purge") == 0
    assert files_with(tmp_path, TOKEN.encode()) == []
    out, err = capsys.readouterr()
    assert "removed 3 writes from the history" in err
    assert TOKEN not in out + err
    assert index.read_text() == "- a\n- b\n"
    assert run("history") == 0
    assert "  log\n" in capsys.readouterr().out
    assert run("search", "token") == 1


def test_without_purge_it_says_that_undo_has_it(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("forget", "tides") == 0
    assert "undo can bring it back" in capsys.readouterr().err
    assert files_with(tmp_path, b"tides in millimetres") != []


def test_it_says_when_git_has_it(
    index: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=workspace, check=True)
    assert run("forget", "tides") == 0
    assert "git still has it in what was committed" in capsys.readouterr().err


def test_a_fact_in_a_rollout_summary_can_be_forgotten_and_brought_back(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = index.parent / "rollout_summaries" / "one_x.md"
    summary.parent.mkdir()
    summary.write_text("- wrong\n- right\n")
    assert run("forget", "wrong") == 0
    assert summary.read_text() == "- right\n"
    assert run("undo") == 0
    assert summary.read_text() == "- wrong\n- right\n"


def test_a_read_only_file_is_refused(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index.chmod(0o444)
    assert run("forget", "tides") == 2
    assert "is read-only (mode 0444" in capsys.readouterr().err
    assert index.read_bytes() == TEXT


def test_a_file_that_cannot_be_read_is_named(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(index.parent / "2026-11-29.md")
    assert run("forget", "tides") == 0
    assert "not looked at: " in capsys.readouterr().err


def test_utf_16_is_cut_as_well(index: Path) -> None:
    index.write_bytes("- a\r\n- b\r\n".encode("utf-16"))
    assert run("forget", ".openhands/memory/MEMORY.md:1") == 0
    assert index.read_bytes() == "- b\r\n".encode("utf-16")
