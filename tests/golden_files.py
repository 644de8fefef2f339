"""Texts for models as they are sent, in ``tests/golden``: a change is seen and meant."""

import os
from pathlib import Path
from typing import Final

GOLDEN: Final = Path(__file__).with_name("golden")
UPDATE: Final = "OPENHANDS_MEMORY_UPDATE_GOLDEN"


def compare_with_golden(name: str, text: str) -> None:
    """Assert that *text* is what the file holds; with `UPDATE` set, write it there."""
    path = GOLDEN / name
    if os.environ.get(UPDATE):
        path.write_text(f"{text}\n", encoding="utf-8")
    wanted = path.read_text(encoding="utf-8") if path.exists() else ""
    hint = f"{name} differs; if that is meant, run the tests once with {UPDATE}=1"
    assert f"{text}\n" == wanted, hint
