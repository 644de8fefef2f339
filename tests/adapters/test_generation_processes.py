"""Generation in processes of their own: at their exit, at the same moment, after a hang."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openhands.sdk", reason="what closes is the SDK's conversation")

from adapters import generation_program
from adapters.generation_kit import (
    index_of,
    open_with,
    plays,
    raws_of,
    rollouts,
)
from adapters.sdk_kit import write

Process = subprocess.Popen[str]
TIMEOUT = 120


@contextmanager
def program(end: str, workspace: Path, text: str) -> Generator[Process]:
    command = [sys.executable, str(Path(generation_program.__file__))]
    environment = {**os.environ, "LOG_LEVEL": "WARNING"}
    pipes: dict[str, Any] = dict.fromkeys(
        ("stdin", "stdout", "stderr"), subprocess.PIPE
    )
    with subprocess.Popen(
        [*command, end, str(workspace), text], text=True, env=environment, **pipes
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until_ready(process: Process) -> None:
    assert process.stdout
    if process.stdout.readline() != "ready\n":
        pytest.fail(process.communicate(timeout=TIMEOUT)[1])


def go_on(process: Process) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def end_of(process: Process) -> tuple[str, str]:
    """What a program that ended well has printed and said."""
    printed, said = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, said
    assert "Traceback" not in said, said
    return printed, said


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    """A plugin with hooks that a user has installed, and the file they write to."""
    log = tmp_path / "hooks.log"
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd")
    entries = {
        event: [
            {
                "matcher": "*",
                "hooks": [{"type": "command", "command": f"echo {event} >> {log}"}],
            }
        ]
        for event in events
    }
    manifest = json.dumps({"name": "loud"})
    write(tmp_path / "plugin/.plugin/plugin.json", manifest)
    write(tmp_path / "plugin/hooks/hooks.json", json.dumps({"hooks": entries}))
    return log


def test_what_one_process_left_two_others_work_off_and_none_is_forgotten(
    workspace: Path, hooks: Path
) -> None:
    """Public reports B38, B42: an exit without a close, then two closes at once."""
    with program("leave", workspace, "remember: left behind.") as process:
        wait_until_ready(process)
        _, said = end_of(process)
    assert "the interpreter is exiting" in said
    [left] = rollouts(workspace)
    assert (index_of(workspace), raws_of(workspace)) == ("", {})

    texts = ("remember: from the first.", "remember: from the second.")
    with ExitStack() as stack:
        both = [
            stack.enter_context(program("close", workspace, text)) for text in texts
        ]
        for process in both:
            wait_until_ready(process)
        for process in both:
            go_on(process)
        reports = [json.loads(end_of(process)[0]) for process in both]
    assert len(rollouts(workspace)) == 3 and left in raws_of(workspace)
    assert raws_of(workspace).keys() == rollouts(workspace).keys()
    for fact in ("left behind", "from the first", "from the second"):
        assert index_of(workspace).count(f"- {fact} [^") == 1
    assert sum(report["extracted"] for report in reports) == 3
    assert {report["consolidated"] for report in reports} <= {"accepted", "none"}
    assert not [report for report in reports if report["failed"] or report["capped_by"]]

    ran = hooks.read_text().split()
    assert {event: ran.count(event) for event in set(ran)} == dict.fromkeys(
        ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"), 3
    )


def test_a_process_ends_although_a_model_of_its_close_hangs(workspace: Path) -> None:
    with program("hang", workspace, "remember: it is so.") as process:
        wait_until_ready(process)
        report = json.loads(end_of(process)[0])
    assert (report["capped_by"], report["extracted"]) == ("seconds", 1)
    assert index_of(workspace) == ""
    with open_with(plays(), workspace) as conversation:
        pass
    assert conversation.generation.consolidated == "accepted"
    assert "- it is so [^" in index_of(workspace)
