"""Each template works unedited."""

from pathlib import Path

import pytest

from openhands_memory import resolve_memory
from openhands_memory.sanitize import neutralise, show_hidden
from openhands_memory.templates import read_template

TEMPLATES = Path(__file__).parent.parent / "templates"
INDEXES = ["project/MEMORY.md", "user/MEMORY.md"]
NAMES = [
    *(*INDEXES, "daily-log.md"),
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
