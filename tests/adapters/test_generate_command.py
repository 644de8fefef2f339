"""``generate`` with the SDK and a model on loopback: what is done, said and left."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

pytest.importorskip("openhands.sdk", reason="the models are the SDK's")

from adapters.openai_server import (
    Answer,
    ScriptedServer,
    calls,
    fails,
    says,
    scripted_server,
    slow,
)
from generation.kit import Desk, contents
from generation.scripted import generated

import openhands_memory
from openhands_memory.cli import main

ROOT = Path(openhands_memory.__file__).parents[1]
KEY = "sk-test-0123456789abcdefghijklmnopqrstuvwxyzABCDEF"
ONE, TWO = (
    "3f2a91c0-1111-4222-8333-444455556666",
    "77aa01bc-1111-4222-8333-444455556666",
)
TOKENS = 15
LOADING = "loading the OpenHands SDK, which takes some seconds ...\n"
FINISH = calls("finish", message="done")
BAD = says("no object")


def extracts(fact: str) -> Answer:
    values = {"rollout_slug": "work", "rollout_summary": "Worked.", "raw_memory": fact}
    return says(json.dumps(values))


def writes(*lines: str, path: str = "MEMORY.md") -> Answer:
    text = generated(*lines)
    return calls("file_editor", command="create", path=path, file_text=text)


#: Two rollouts extracted, and a turn of consolidation.
EXTRACTED = [extracts("- uses uv"), extracts("- uses tabs")]
WROTE = writes("- uses uv [^3f2a91c0]", "- uses tabs [^77aa01bc]")


@pytest.fixture(params=["openhands", "sandbox"])
def desk(
    request: pytest.FixtureRequest, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> Desk:
    """A workspace with two rollouts that are pending."""
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("LOG_LEVEL", "CRITICAL")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LLM_API_KEY", KEY)
    monkeypatch.delenv("LLM_MODEL", raising=False)
    desk = Desk(workspace, sandbox=request.param == "sandbox")
    desk.clock.start = datetime(2020, 1, 1, tzinfo=UTC)  # before what commands write
    desk.record(ONE, "use uv")
    desk.record(TWO, "use tabs")
    return desk


only_openhands = pytest.mark.parametrize("desk", ["openhands"], indirect=True)


@contextmanager
def served(
    monkeypatch: pytest.MonkeyPatch, *answers: Answer
) -> Generator[ScriptedServer]:
    """A model that gives *answers*, all of which must be asked for."""
    with scripted_server(answers) as server:
        monkeypatch.setenv("LLM_MODEL", "openai/scripted")
        monkeypatch.setenv("LLM_BASE_URL", server.base_url)
        yield server
        assert not server.answers


def run(desk: Desk, *argv: str) -> int:
    sandbox = desk.files.handbook_name is not None
    return main([*argv, *(["--memories-dir", "memories"] if sandbox else [])])


def writes_all(desk: Desk) -> list[Answer]:
    """The turns of a model that edits each file of the layout."""
    facts = ("- uses uv [^3f2a91c0]", "- uses tabs [^77aa01bc]")
    return [*(writes(*facts, path=name) for name in desk.files.written), FINISH]


def test_what_is_pending_becomes_memory(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = writes_all(desk)
    with served(monkeypatch, *EXTRACTED, *edits) as server:
        assert run(desk, "generate") == 0
        assert len(server.requests) == 2 + len(edits)
    out, err = capsys.readouterr()
    extracted, index, used = out.splitlines()
    assert extracted == "extracted: 2 rollouts, 0 more with nothing worth keeping"
    assert index.startswith(f"index: updated in {desk.files.memories_dir}; ")
    calls, tokens = 2 + len(edits), TOKENS * (2 + len(edits))
    assert used.startswith(f"used: {calls} calls, {tokens} tokens, cost unknown, ")
    assert err == LOADING  # and no bar, where there is no terminal
    assert desk.facts == ["uses uv", "uses tabs"]
    assert (desk.raw_memories, desk.selected) == ([ONE, TWO], [TWO, ONE])
    with served(monkeypatch):
        assert run(desk, "generate") == 0
    assert capsys.readouterr().out.startswith("nothing is pending in ")


@only_openhands
def test_the_counts_of_its_json_are_those_on_disk(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = {"rollout_slug": "", "rollout_summary": "", "raw_memory": ""}
    desk.record("worthless", "hello")
    desk.record("failing", "hello")
    answers = [*EXTRACTED, says(json.dumps(nothing)), BAD, BAD, WROTE, FINISH]
    with served(monkeypatch, *answers):
        assert run(desk, "generate", "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["extracted"] == len(desk.raw_memories) == len(desk.summaries) == 2
    assert (report["empty"], report["consolidated"]) == (1, "accepted")
    [failure] = report["failed"]
    assert (failure["rollout_id"], failure["stage"]) == ("failing", "extraction")
    assert (report["llm_calls"], report["tokens"]) == (7, 7 * TOKENS)
    assert report["cost"] is None
    assert report["pending"] == 1


def test_with_review_the_result_waits_and_is_then_applied(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(monkeypatch, *EXTRACTED, *writes_all(desk)):
        assert run(desk, "generate", "--review") == 0
    said = re.search(r"'openhands-memory (review.*)' shows", capsys.readouterr().out)
    assert said
    assert not desk.index.exists()
    assert main([*said[1].split(), "--apply"]) == 0
    assert "+- uses uv [^3f2a91c0]" in capsys.readouterr().out
    assert desk.facts == ["uses uv", "uses tabs"]


@only_openhands
def test_a_cap_on_seconds_stops_it_with_memory_as_it_was(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.index.write_text("- by hand\n")
    with served(monkeypatch, *EXTRACTED, slow(60)):
        assert run(desk, "generate", "--max-seconds", "2") == 1
    assert "stopped at the cap on seconds" in capsys.readouterr().out
    assert desk.index.read_text() == "- by hand\n"
    assert desk.raw_memories == [ONE, TWO]
    # What was done is not done again.
    with served(monkeypatch, WROTE, FINISH):
        assert run(desk, "generate") == 0
    assert desk.facts == ["uses uv", "uses tabs"]


@only_openhands
def test_a_cap_that_is_too_low_for_anything_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(desk.workspace)
    with served(monkeypatch) as server:
        assert run(desk, "generate", "--max-tokens", "10", "--json") == 1
        assert server.requests == []
    report = json.loads(capsys.readouterr().out)
    assert (report["capped_by"], report["pending"]) == ("tokens", 2)
    assert contents(desk.workspace) == before


@only_openhands
def test_a_key_that_is_refused_is_told_and_never_shown(
    desk: Desk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for _ in range(3):
        with served(monkeypatch, *[fails(401, f"no such key: {KEY}")] * 2):
            assert run(desk, "generate") == 1
    out, err = capsys.readouterr()
    assert out.count(f"failed: {ONE} (model)\n") == 3
    assert "no such key" in out
    assert KEY not in out + err
    assert not [p for p, data in contents(tmp_path).items() if KEY.encode() in data]
    # That is no fault of the rollouts: they are tried until there is a key.
    with served(monkeypatch, *EXTRACTED, WROTE, FINISH):
        assert run(desk, "generate") == 0
    assert desk.facts == ["uses uv", "uses tabs"]


@only_openhands
def test_what_failed_three_times_waits_for_a_retry(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        with served(monkeypatch, *[BAD] * 4):
            assert run(desk, "generate") == 1
    with served(monkeypatch):
        assert run(desk, "generate") == 1
    assert "not tried again: 2 rollouts" in capsys.readouterr().out
    with served(monkeypatch, *EXTRACTED, WROTE, FINISH):
        assert run(desk, "generate", "--retry") == 0
    assert desk.facts == ["uses uv", "uses tabs"]


@only_openhands
def test_what_is_refused_is_told_with_its_reason(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    leaks = writes(f"- the token is ghp_{'A1b2' * 9}")
    with served(monkeypatch, *EXTRACTED, leaks, FINISH, FINISH):
        assert run(desk, "generate") == 1
    out = capsys.readouterr().out
    assert "index: as it was: the result was refused\n" in out
    assert "holds a secret (github-token)" in " ".join(out.split())
    assert not desk.index.exists()
    assert run(desk, "status") == 0
    out = capsys.readouterr().out
    assert "\n  last error  " in out
    assert "MEMORY.md: line 2 holds a secret (github-token)" in " ".join(out.split())


@only_openhands
def test_a_dry_run_knows_the_price_and_sends_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(monkeypatch) as server:
        assert run(desk, "generate", "--dry-run", "--model", "openai/gpt-4o") == 0
        assert server.requests == []
    last = capsys.readouterr().out.splitlines()[-1]
    found = re.fullmatch(
        r"in all about [\d,]+ tokens, about (.+) US dollars; nothing was sent", last
    )
    assert found
    assert 0 < float(found[1]) < 1


@only_openhands
def test_a_model_that_cannot_be_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(desk.workspace)
    assert run(desk, "generate", "--model", "no-such-provider/x") == 1
    out = capsys.readouterr().out
    assert f"failed: {ONE} (model)\n" in out
    assert contents(desk.workspace) == before


@only_openhands
def test_at_a_terminal_a_bar_says_how_far_it_is(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = pty.openpty()
    monkeypatch.setenv("COLUMNS", "60")
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with served(monkeypatch, *EXTRACTED, WROTE, FINISH):
            assert run(desk, "generate") == 0
        terminal.flush()
        shown = os.read(ours, 65536).decode()
    os.close(ours)
    bar = shown.partition("\n")[2]
    lines = [line for line in bar.split("\r") if line.strip()]
    assert [line.split(" extracting")[0].strip() for line in lines] == [
        "[--------------------] 0/1 waiting until nobody else genera",
        "[--------------------] 0/3",
        "[######--------------] 1/3",
        "[#############-------] 2/3 consolidating",
    ]
    assert max(map(len, lines)) <= 59
    assert shown.endswith("\r")
    assert "\x1b" not in shown
    assert capsys.readouterr().out.startswith("extracted: 2 rollouts")


@only_openhands
def test_who_stops_it_finds_memory_as_it_was(desk: Desk) -> None:
    desk.index.write_text("- by hand\n")
    before = contents(desk.workspace)
    ours, theirs = pty.openpty()
    with scripted_server([slow(60)]) as server:
        environment = {
            "LLM_MODEL": "openai/scripted",
            "LLM_BASE_URL": server.base_url,
            "PYTHONPATH": str(ROOT),
        }
        with subprocess.Popen(
            [sys.executable, "-m", "openhands_memory", "generate"],
            env=os.environ | environment,
            cwd=desk.workspace,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
        ) as generating:
            os.close(theirs)
            told = ""
            while "0/3" not in told:
                told += os.read(ours, 4096).decode()
            while not server.requests:
                time.sleep(0.05)
            generating.send_signal(signal.SIGINT)
            out, _ = generating.communicate(timeout=60)
        told += os.read(ours, 65536).decode()
    os.close(ours)
    assert generating.returncode == 130
    assert out == ""
    assert "stopped; what is not done is still pending" in told
    assert "Traceback" not in told
    assert contents(desk.workspace) == before
