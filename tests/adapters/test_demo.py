"""The demo tells the whole story, with a scripted model and over real HTTP."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("openhands.tools", reason="the demo needs the SDK and its tools")

from adapters.openai_server import calls, says, scripted_server

ROOT = Path(__file__).parent.parent.parent


def demo(home: Path, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    keep = {k: v for k, v in os.environ.items() if not k.startswith("LLM_")}
    return subprocess.run(
        [sys.executable, "-m", "openhands_memory", "demo", *options],
        env={**keep, "PYTHONPATH": str(ROOT), "HOME": str(home), **env},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=180,
    )


def test_the_scripted_demo_shows_the_decision_in_the_second_prompt(
    memory_home: Path,
) -> None:
    done = demo(memory_home)
    assert done.returncode == 0, done.stdout + done.stderr
    said, _, prompt = done.stdout.partition("3. What the second agent had")
    assert "scripted" in said.splitlines()[1]
    assert "files changed: workspace/.openhands/memory/MEMORY.md" in said
    assert "<MEMORY_CONTEXT>" in prompt
    assert "- Python dependencies: uv, not pip or poetry" in prompt
    assert "The decision reached the second agent: yes." in prompt
    assert list(memory_home.iterdir()) == []


def test_with_a_key_the_model_behind_it_does_both(memory_home: Path) -> None:
    with scripted_server(
        [
            calls("terminal", command="mkdir -p .openhands/memory"),
            calls(
                "terminal", command="echo '- uv it is' > .openhands/memory/MEMORY.md"
            ),
            says("Done."),
            says("uv."),
        ]
    ) as server:
        done = demo(
            memory_home,
            LLM_API_KEY="a-key",
            LLM_MODEL="openai/scripted",
            LLM_BASE_URL=server.base_url,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "openai/scripted, a real one" in done.stdout.splitlines()[1]
    system = str(server.requests[-1]["messages"][0]["content"])
    assert "- uv it is" in system
    assert system.count("<MEMORY>") == 1


def test_a_model_that_writes_nothing_makes_the_demo_say_no(memory_home: Path) -> None:
    with scripted_server([says("Noted."), says("I do not know.")]) as server:
        done = demo(
            memory_home,
            LLM_API_KEY="a-key",
            LLM_MODEL="openai/scripted",
            LLM_BASE_URL=server.base_url,
        )
    assert done.returncode == 1
    assert "The decision reached the second agent: no." in done.stdout


def test_a_model_that_cannot_be_reached_is_one_clear_error(memory_home: Path) -> None:
    done = demo(
        memory_home,
        LLM_API_KEY="a-key",
        LLM_MODEL="openai/scripted",
        LLM_BASE_URL="http://127.0.0.1:9",
    )
    assert done.returncode == 2
    assert "the model did not answer" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
