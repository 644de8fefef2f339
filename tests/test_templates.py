"""Each template works unedited."""

import subprocess
from pathlib import Path

import pytest

from openhands_memory import resolve_memory
from openhands_memory.layout import (
    MERGED_NAME,
    RAW_MEMORIES,
    SELECTION_NAME,
    SKILLS,
    SUMMARIES,
    generated_files,
)
from openhands_memory.sanitize import neutralise, show_hidden
from openhands_memory.templates import read_template

TEMPLATES = Path(__file__).parent.parent / "templates"
INDEXES = ["project/MEMORY.md", "user/MEMORY.md"]
NAMES = [
    *(*INDEXES, "daily-log.md", "extra-guidance.md"),
    *("gitignore", "gitattributes", "pre-commit-config.yaml"),
]


@pytest.mark.parametrize("name", NAMES)
def test_template_is_plain_and_fits_a_screen(name: str) -> None:
    text = read_template(name).decode("utf-8")
    assert text.endswith("\n")
    assert len(text.splitlines()) <= 24
    assert show_hidden(neutralise(text)) == text


def test_every_template_is_explained() -> None:
    explained = (TEMPLATES / "README.md").read_text()
    files = {p.relative_to(TEMPLATES).as_posix() for p in TEMPLATES.rglob("*.*")}
    files |= {"gitignore", "gitattributes"}
    for name in files - {"README.md"}:
        assert f"`{name}`" in explained


@pytest.mark.parametrize("name", INDEXES)
def test_an_index_template_is_loaded_as_it_stands(
    name: str, memory_home: Path, workspace: Path
) -> None:
    index = workspace / ".openhands" / "memory" / "MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_bytes(read_template(name))
    tier = resolve_memory(workspace).tiers[-1]
    assert (tier.status, tier.warnings) == ("loaded", ())
    assert tier.text == index.read_text().strip()


@pytest.mark.parametrize(
    "below", [{}, {"memories_dir": "memories", "sessions_dir": "sessions"}]
)
def test_git_takes_the_memory_and_no_conversation(
    below: dict[str, str], workspace: Path
) -> None:
    files = generated_files(str(workspace), **below)
    memory = Path(files.directory)
    kept = [*files.written, "2026-11-29.md", f"{SKILLS}/one/SKILL.md"]
    left_out = [
        f"{RAW_MEMORIES}/a.md",
        MERGED_NAME,
        SELECTION_NAME,
        f"{SUMMARIES}/a_b.md",
    ]
    places = [files.place(*name.split("/")) for name in (*kept, *left_out)]
    for place in (*places, files.rollout("a")):
        Path(place.path).parent.mkdir(parents=True, exist_ok=True)
        Path(place.path).write_text("x\n")
    (memory / ".gitignore").write_bytes(read_template("gitignore"))
    if below:  # as templates/README.md says
        (workspace / ".gitignore").write_text("/sessions/\n")
    subprocess.run(["git", "init", "--quiet", workspace], check=True)
    asked = ["git", "ls-files", "--others", "--exclude-standard"]
    seen = subprocess.run(
        asked, cwd=memory, check=True, capture_output=True, text=True
    ).stdout.split()
    assert set(seen) == {".gitignore", *kept}
    whole = subprocess.run(
        asked, cwd=workspace, check=True, capture_output=True, text=True
    ).stdout
    assert "jsonl" not in whole
