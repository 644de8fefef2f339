"""``edit``: a real editor that is a script, and lint's findings after it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from openhands_memory.cli import main
from openhands_memory.templates import read_template

Editor = Callable[..., Path]


def run(*argv: object) -> int:
    return main([str(word) for word in argv])


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """Make a script the editor; it notes what it was called with."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)

    def make(does: str = ":", *, name: str = "EDITOR", arguments: str = "") -> Path:
        script = tmp_path / "my editor"
        script.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$@" > "$0.args"\n'
            f"for file; do :; done\n{does}\n"
        )
        script.chmod(0o755)
        monkeypatch.setenv(name, f"'{script}' {arguments}")
        return Path(f"{script}.args")

    return make


def test_the_index_is_opened_and_linted(
    editor: Editor,
    workspace: Path,
    project_index: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project_index.write_text("- a\n")
    called = editor('printf -- "- b\\n" >> "$file"', arguments="--wait -n '$(x) y'")
    assert run("edit", "--workspace", workspace) == 0
    assert called.read_text() == f"--wait\n-n\n$(x) y\n{project_index}\n"
    assert project_index.read_text() == "- a\n- b\n"
    assert capsys.readouterr().out == ""


def test_findings_are_printed_and_exit_with_1(
    editor: Editor,
    workspace: Path,
    project_index: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project_index.write_text("- a\n")
    editor('printf -- "- a\\n" >> "$file"')
    assert run("edit", "--workspace", workspace) == 1
    assert f"{project_index}:2:1: OM201" in capsys.readouterr().out


def test_an_index_that_is_not_there_comes_from_the_template(
    editor: Editor, workspace: Path, memory_home: Path
) -> None:
    editor()
    assert run("edit", "--tier", "user", "--workspace", workspace) == 0
    index = memory_home / ".openhands" / "memory" / "MEMORY.md"
    assert index.read_bytes() == read_template("user/MEMORY.md")
    assert index.stat().st_mode & 0o777 == 0o600
    assert list(workspace.iterdir()) == []


def test_visual_comes_before_editor(
    editor: Editor, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(name="VISUAL")
    monkeypatch.setenv("EDITOR", "false")
    assert run("edit", "--workspace", workspace) == 0
    monkeypatch.setenv("VISUAL", " ")
    assert run("edit", "--workspace", workspace) == 2


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "no editor is set"),
        ("", "no editor is set"),
        ("no-such-editor --wait", "could not start no-such-editor"),
        ("vi 'open", "EDITOR is no command: no closing quotation"),
        ("false", "false ended with code 1"),
    ],
)
def test_without_an_editor_that_works_it_says_so(
    value: str | None,
    problem: str,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    if value is not None:
        monkeypatch.setenv("EDITOR", value)
    assert run("edit", "--workspace", workspace) == 2
    assert problem in capsys.readouterr().err


def test_what_is_no_index_is_never_opened(
    editor: Editor, workspace: Path, project_index: Path, tmp_path: Path
) -> None:
    called = editor()
    outside = tmp_path / "authorized_keys"
    outside.write_text("key\n")
    project_index.symlink_to(outside)
    assert run("edit", "--workspace", workspace) == 2
    project_index.unlink()
    os.mkfifo(project_index)
    assert run("edit", "--workspace", workspace) == 2
    assert not called.exists()
