"""The README is true: its programs run, its commands exist and print what it says."""

import re
import shlex
from pathlib import Path

import pytest

from openhands_memory.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SESSIONS = re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def sessions() -> list[tuple[str, str]]:
    """Each command of ours in the README with the output below it."""
    found: list[tuple[str, str]] = []
    for session in SESSIONS:
        for part in session.split("$ ")[1:]:
            command, _, output = part.partition("\n")
            command = command.partition("  #")[0].strip()
            if command.startswith("openhands-memory "):
                found.append((command, output))
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_in_the_readme_runs(
    program: str, memory_home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openhands.sdk", reason="the README's programs need the SDK")
    monkeypatch.chdir(workspace)
    exec(compile(program, "README.md", "exec"), {})


@pytest.mark.parametrize(("command", "output"), sessions())
def test_a_command_in_the_readme_prints_what_stands_below_it(
    command: str,
    output: str,
    memory_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = shlex.split(command)[1:]
    assert words[0] in COMMANDS
    if not output:
        assert main([*words, "--help"]) == 0
        return
    monkeypatch.chdir(ROOT)
    assert main(words) == 0
    assert capsys.readouterr().out == output


def test_every_command_is_in_the_readme() -> None:
    named = {shlex.split(command)[1] for command, _ in sessions()}
    assert named >= set(COMMANDS)


def test_every_file_that_the_docs_link_to_exists() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_exported_name_can_be_imported_or_says_what_is_missing() -> None:
    import openhands_memory

    for name in openhands_memory.__all__:
        try:
            getattr(openhands_memory, name)
        except ModuleNotFoundError as error:
            assert 'pip install "openhands-memory[sdk]"' in str(error)
