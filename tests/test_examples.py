"""Each example runs offline and prints what stands beside it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(EXAMPLES.glob("[0-9]*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example_prints_what_stands_beside_it(script: Path) -> None:
    if "openhands.sdk" in script.read_text():
        pytest.importorskip("openhands.sdk", reason="this example needs the SDK")
    # No model is asked, whatever key the environment holds.
    env = {name: v for name, v in os.environ.items() if not name.startswith("LLM_")}
    env["PYTHONPATH"] = str(EXAMPLES.parent)
    done = subprocess.run(
        [sys.executable, script], env=env, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, script.with_suffix(".out").read_text())


def test_every_example_is_in_the_list_and_short() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    assert SCRIPTS
    for script in SCRIPTS:
        assert f"`{script.name}`" in listed
        assert len(script.read_text().splitlines()) < 60
