"""The docs are true: programs run, commands exist and print what the README says."""

import itertools
import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from openhands_memory import MemoryGenerateConfig
from openhands_memory.cli import COMMANDS, main
from openhands_memory.generation.report import Generation

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
GENERATION = (ROOT / "docs" / "generation.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = [
    pytest.param(program, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, program in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    )
]
SESSIONS = re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands_of(session: str) -> list[tuple[str, str]]:
    """Each command of ours in *session* with the output below it."""
    found: list[tuple[str, str]] = []
    for part in session.split("$ ")[1:]:
        command, _, output = part.partition("\n")
        command = command.partition("  #")[0].strip()
        if command.startswith("openhands-memory "):
            found.append((command, output))
    return found


ALL_COMMANDS = [pair for session in SESSIONS for pair in commands_of(session)]
FIRST_SESSION = next(s for s in SESSIONS if "init --share" in s)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_in_the_docs_runs(
    program: str, memory_home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openhands.sdk", reason="the programs of the docs need the SDK")
    monkeypatch.chdir(workspace)
    exec(compile(program, "docs", "exec"), {})


def test_the_first_session_in_the_readme_works(
    memory_home: Path,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(workspace)
    for command, _ in commands_of(FIRST_SESSION):
        assert main(shlex.split(command)[1:]) == 0
    assert "- staging resets its database at 04:00 UTC" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "output"),
    [pair for pair in ALL_COMMANDS if pair[1].strip()],
    ids=itertools.count(),
)
def test_a_command_in_the_readme_prints_what_stands_below_it(
    command: str,
    output: str,
    memory_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out == output


def test_the_readme_names_every_command_and_no_other() -> None:
    assert {shlex.split(command)[1] for command, _ in ALL_COMMANDS} == set(COMMANDS)


def test_every_setting_and_every_count_of_generation_is_explained() -> None:
    names = [*Generation._fields, *(f.name for f in fields(MemoryGenerateConfig))]
    explained = re.findall(r"`([a-z_]+)`|\b([a-z_]+)=", GENERATION)
    assert set(names) <= {name for pair in explained for name in pair}


def test_the_caps_that_the_docs_name_are_the_defaults() -> None:
    found = re.findall(r"^\| `(\w+)` \| ([\d.,]+) \|", GENERATION, re.MULTILINE)
    caps = {name: float(value.replace(",", "")) for name, value in found}
    given = MemoryGenerateConfig()
    assert caps == {name: getattr(given, name) for name in caps}
    assert len(caps) == 4


def test_every_file_that_the_docs_link_to_exists() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_exported_name_can_be_imported_or_says_what_is_missing() -> None:
    import openhands_memory

    for name in openhands_memory.__all__:
        try:
            getattr(openhands_memory, name)
        except ModuleNotFoundError as error:
            assert 'pip install "openhands-memory[sdk]"' in str(error)
