"""The commands about generation that need no SDK: plan, review, forget, status."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from generation.kit import Desk, contents
from generation.scripted import INDEX, NOTHING, TOKEN, Scripted, adding, answer, noting
from hypothesis import given
from hypothesis import strategies as st
from test_import_cost import WITHOUT_SDK

import openhands_memory
from openhands_memory.cli import main
from openhands_memory.commands._diff import diff_lines
from openhands_memory.generation.models import ModelAwayError, ModelCallError
from openhands_memory.generation.stage import Stage
from openhands_memory.generation.state import load_proposal
from openhands_memory.upkeep.change import change, create
from openhands_memory.writing import Written

ROOT = Path(openhands_memory.__file__).parents[1]
ONE = "3f2a91c0-1111-4222-8333-444455556666"
TWO = "77aa01bc-1111-4222-8333-444455556666"
BAD = ["no object", "still no object"]


@pytest.fixture
def desk(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return desk_in(workspace, monkeypatch)


def desk_in(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, *, sandbox: bool = False
) -> Desk:
    for name in ("LLM_MODEL", "LLM_API_KEY", "LLM_BASE_URL", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(workspace)
    desk = Desk(workspace, sandbox=sandbox)
    desk.clock.start = datetime(2020, 1, 1, tzinfo=UTC)  # before what commands write
    return desk


def run(*argv: object) -> int:
    return main([str(word) for word in argv])


def as_json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def propose(
    desk: Desk, *facts: str, edit: Callable[[Stage], None] | None = None
) -> None:
    """Let a first conversation's facts, or *edit*, wait for review."""
    desk.record(ONE, "work")
    edit = edit or adding(*(f"- {fact} [^3f2a91c0]" for fact in facts))
    report = desk.generate([answer("- work")], [edit], review=True)
    assert report.consolidated == "proposed", report


def proposed(desk: Desk) -> dict[str, bytes | None]:
    proposal = load_proposal(desk.files.directory)
    assert proposal
    return {path: written.after for path, written in proposal.files.items()}


# --- generate, without a model ----------------------------------------------------------


def test_a_dry_run_tells_the_plan_and_touches_nothing(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.record(ONE, "work")
    desk.record(TWO, "more work")
    before = contents(tmp_path)
    assert run("generate", "--dry-run") == 0
    out, err = capsys.readouterr()
    size = (desk.sessions / f"{ONE}.jsonl").stat().st_size
    assert f"extract {ONE}: {size} bytes, about " in out
    assert "consolidate raw memories: up to 2 to be extracted" in out
    assert "cost unknown; nothing was sent" in out
    assert err == ""
    assert run("generate", "--dry-run", "--json") == 0
    plan = as_json(capsys)
    assert [rollout["rollout_id"] for rollout in plan["rollouts"]] == [ONE, TWO]
    assert plan["estimated_tokens"] > sum(r["tokens"] for r in plan["rollouts"]) > 0
    assert plan["estimated_cost"] is None
    assert contents(tmp_path) == before


def test_a_dry_run_of_raw_memories_alone_tells_what_differs(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.remember("a", "one thing")
    desk.record("b", "work")
    desk.generate([answer()], [ModelCallError("gone")])
    (desk.memory / "raw_memories" / "a.md").unlink()
    assert run("generate", "--dry-run") == 0
    assert capsys.readouterr().out.startswith(
        "consolidate raw memories: 1 added, 1 removed\n"
    )


def test_where_nothing_is_pending_no_model_is_needed(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("generate") == 0
    out = capsys.readouterr().out
    assert out == (
        "nothing is pending in .openhands/memory/sessions and .openhands/memory\n"
    )
    assert run("generate", "--dry-run") == 0
    assert capsys.readouterr().out == "nothing to do now\n"
    assert run("generate", "--json") == 0
    report = as_json(capsys)
    assert (report["consolidated"], report["llm_calls"], report["failed"]) == (
        *("none", 0),
        [],
    )
    assert list(desk.workspace.iterdir()) == []


def test_without_a_model_it_says_how_to_name_one(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.record(ONE, "work")
    assert run("generate") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "LLM_MODEL" in err
    assert "--model" in err


@pytest.mark.parametrize(
    "argv",
    [
        *(["--max-cost", "0"], ["--max-cost", "free"], ["--max-seconds", "nan"]),
        *(["--max-seconds", "inf"], ["--max-tokens", "-1"], ["--max-tokens", "1.5"]),
        *(["--budget", "10"], ["--model"], ["a"], ["--memories-dir", "../up"]),
        *(["--sessions-dir", "/abs"], ["--memories-dir", "x", "--sessions-dir", "x"]),
    ],
)
def test_wrong_use_of_generate_is_told(
    argv: list[str], desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("generate", *argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err
    assert "Traceback" not in err


def test_what_was_given_up_is_told_until_a_retry(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.record(ONE, "work")
    for _ in range(3):
        desk.generate(BAD)
    assert run("generate") == 1
    out = capsys.readouterr().out
    assert out == "not tried again: 1 rollout that failed three times (--retry)\n"
    assert run("generate", "--dry-run", "--json") == 0
    plan = as_json(capsys)
    assert (plan["rollouts"], plan["waiting"]) == ([], [ONE])
    assert run("generate", "--dry-run", "--retry") == 0
    assert f"extract {ONE}" in capsys.readouterr().out


def test_a_consolidation_that_was_given_up_is_told_until_a_retry(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.record(ONE, "work")
    desk.generate([answer()], [None])
    for _ in range(2):
        desk.generate([], [None])
    assert run("generate") == 1
    out = capsys.readouterr().out
    assert out.startswith(
        "not consolidated: the same raw memories were refused 3 times"
    )
    assert "\n                  'openhands-memory generate --retry'" in out
    assert max(map(len, out.splitlines()[:2])) <= 80
    assert "it ended without finishing" in " ".join(out.split())
    assert run("generate", "--json") == 1
    assert as_json(capsys)["consolidated"] == "skipped"
    assert run("generate", "--dry-run", "--retry") == 0
    assert "consolidate raw memories: 1 added" in capsys.readouterr().out


def without_sdk(desk: Desk, *argv: str) -> subprocess.CompletedProcess[str]:
    program = f"{WITHOUT_SDK}\nfrom openhands_memory.cli import main"
    return subprocess.run(
        [sys.executable, "-c", f"{program}\nsys.exit(main({list(argv)!r}))"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=desk.workspace,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_the_sdk_it_says_what_to_install_and_a_dry_run_works(
    desk: Desk, tmp_path: Path
) -> None:
    desk.record(ONE, "work")
    before = contents(tmp_path)
    done = without_sdk(desk, "generate", "--model", "x")
    assert done.returncode == 2
    assert 'pip install "openhands-memory[sdk]"' in done.stderr
    assert "Traceback" not in done.stderr
    done = without_sdk(desk, "generate", "--model", "x", "--dry-run")
    assert done.returncode == 0
    assert "cost unknown; nothing was sent" in done.stdout
    assert contents(tmp_path) == before


# --- review -----------------------------------------------------------------------------


def test_nothing_to_review_is_nothing_found(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    for flags in ([], ["--apply"], ["--reject"]):
        assert run("review", *flags) == 1
        out, err = capsys.readouterr()
        assert (out, err) == ("", "nothing waits for review\n")
    assert run("review", "--json") == 1
    found: dict[str, object] = {"outcome": "none", "time": None, "reason": None}
    assert as_json(capsys) == {**found, "files": []}
    assert list(desk.workspace.iterdir()) == []


def test_in_a_pipe_it_shows_what_is_proposed_and_changes_nothing(
    desk: Desk, project_index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project_index.write_text("# Ours\n\n- by hand\n")
    propose(desk, "uses tabs")
    before = contents(desk.workspace)
    assert run("review") == 1
    out, err = capsys.readouterr()
    first, *diff = out.splitlines()
    assert first.endswith("consolidated raw memories: 1 added")
    assert diff == [
        "--- .openhands/memory/MEMORY.md  before",
        "+++ .openhands/memory/MEMORY.md  proposed",
        "@@ -1,3 +1,7 @@",
        " # Ours",
        " ",
        " - by hand",
        "+",
        "+<!-- openhands-memory: generated -->",
        "+- uses tabs [^3f2a91c0]",
        "+<!-- /openhands-memory: generated -->",
    ]
    assert err == (
        "not applied: there is no terminal to ask at; use --apply or --reject\n"
    )
    assert contents(desk.workspace) == before


def test_what_is_applied_is_what_was_shown_and_undo_takes_it_back(
    desk: Desk, project_index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hand = b"\xef\xbb\xbf# Ours\r\n\r\n- caf\xe9 by hand"
    project_index.write_bytes(hand)
    propose(desk, "uses tabs")
    wanted = proposed(desk)
    assert run("review", "--json") == 0
    looked = as_json(capsys)
    assert run("review", "--apply", "--json") == 0
    applied = as_json(capsys)
    assert looked == {**applied, "outcome": "waiting"}
    assert applied["outcome"] == "applied"
    assert [file["path"] for file in applied["files"]] == [INDEX]
    assert "+- uses tabs [^3f2a91c0]" in applied["files"][0]["diff"]
    assert project_index.read_bytes() == wanted[INDEX]
    assert project_index.read_bytes().startswith(hand)
    assert desk.selected == [ONE]
    assert run("review") == 1
    assert run("undo") == 0
    assert project_index.read_bytes() == hand


def test_what_was_rejected_is_not_proposed_again(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    propose(desk, "uses tabs")
    assert run("review", "--reject") == 0
    assert capsys.readouterr().err == "rejected: memory is as it was\n"
    assert not desk.index.exists()
    assert load_proposal(desk.files.directory) is None


def test_a_file_that_changed_is_told_and_nothing_is_written(
    desk: Desk, project_index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project_index.write_text("- by hand\n")
    propose(desk, "uses tabs")
    project_index.write_text("- by hand, later\n")
    before = contents(desk.workspace)
    assert run("review", "--apply") == 1
    err = capsys.readouterr().err
    assert err.startswith(f"not applied: {project_index} was changed after this was")
    assert run("review", "--apply", "--json") == 1
    assert as_json(capsys)["outcome"] == "outdated"
    assert contents(desk.workspace) == before
    # Nobody has to reject it for the next generation to propose anew.
    again = desk.generate([], [adding("- uses tabs [^3f2a91c0]")], review=True)
    assert again.consolidated == "proposed"
    assert run("review", "--apply") == 0
    assert project_index.read_text().startswith("- by hand, later\n")
    assert desk.facts == ["uses tabs"]


def test_while_it_waits_generate_says_so_and_asks_no_model(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    propose(desk, "uses tabs")
    assert run("generate") == 1
    said = "not consolidated: a proposal waits for 'openhands-memory review'\n"
    assert capsys.readouterr().out == said


def test_all_files_are_shown_and_secrets_are_not(
    desk: Desk, project_index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"
    )
    project_index.write_text(f"{key}\n- a \x1b[31m red\n- by hand, {TOKEN}\n")

    def edit(stage: Stage) -> None:
        noting(stage)
        stage.create("skills/deploy/SKILL.md", "# Deploy\n\n1. build\n")

    propose(desk, edit=edit)
    assert run("review", "--apply") == 0
    out, err = capsys.readouterr()
    assert "+++ .openhands/memory/skills/deploy/SKILL.md  proposed" in out
    assert "--- .openhands/memory/skills/deploy/SKILL.md  (no file)" in out
    assert "+1. build" in out
    assert " - a [U+001B][31m red" in out
    assert " [secret: continued]\n - a" in out
    assert " - by hand, [secret: github-token]" in out
    for hidden in (TOKEN, "MIIEow", "IBAAKC", "\x1b"):
        assert hidden not in out + err
    assert "one file at a time" in err
    assert TOKEN in project_index.read_text()


def test_review_is_of_the_layout_that_is_named(
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    desk = desk_in(workspace, monkeypatch, sandbox=True)

    def edit(stage: Stage) -> None:
        for name in desk.files.written:
            adding("- uses tabs [^3f2a91c0]", index=name)(stage)

    propose(desk, edit=edit)
    wanted = proposed(desk)
    assert run("review") == 1
    assert run("review", "--apply", "--memories-dir", "memories") == 0
    assert {p: (desk.memory / p).read_bytes() for p in wanted} == wanted
    capsys.readouterr()
    assert run("history") == 1
    assert run("history", "--memories-dir", "memories", "--json") == 0
    names = ["MEMORY.md", "memory_summary.md"]
    entries = as_json(capsys)
    assert sorted(Path(entry["path"]).name for entry in entries) == names
    assert run("diff", "--memories-dir", "memories") == 0
    assert "+- uses tabs" in capsys.readouterr().out
    for _ in names:
        assert run("undo", "--memories-dir", "memories") == 0
    assert not (set(names) & {path.name for path in desk.memory.iterdir()})


def test_one_cannot_apply_and_reject(desk: Desk) -> None:
    assert run("review", "--apply", "--reject") == 2


def at_terminal(desk: Desk, said: bytes | None, *argv: str) -> tuple[int, str]:
    """The exit code and the output of a command at a terminal, where *said* is typed.

    None for the key that stops it.
    """
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "openhands_memory", *argv],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=desk.workspace,
        **dict.fromkeys(("stdin", "stdout", "stderr"), theirs),
    ) as asked:
        os.close(theirs)
        out = b""
        while part := _read(ours):
            out += part
            if out.endswith(b"[y/N] "):
                if said is None:
                    asked.send_signal(signal.SIGINT)
                # A line as well: the signal may come a moment before it reads.
                os.write(ours, said or b"\n")
        code = asked.wait(30)
    os.close(ours)
    return code, out.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux's way to say that the other side is closed
        return b""


@pytest.mark.parametrize("said", [b"y\n", b"n\n", b"\n", b"\x04", None])
def test_at_a_terminal_it_asks_and_only_a_yes_applies(
    said: bytes | None, desk: Desk
) -> None:
    propose(desk, "uses tabs")
    wanted = proposed(desk)
    code, out = at_terminal(desk, said, "review")
    assert "+- uses tabs [^3f2a91c0]" in out
    assert "Apply this to 1 file in .openhands/memory? [y/N] " in out
    assert "\x1b" not in out
    assert "Traceback" not in out
    if said == b"y\n":
        assert code == 0
        assert desk.index.read_bytes() == wanted[INDEX]
    else:
        assert code == (130 if said is None else 1)
        assert not desk.index.exists()
        assert proposed(desk) == wanted


# --- The diff ---------------------------------------------------------------------------

LINES = st.sampled_from(["- a", "- b", "", "# c", "- d", "+ e", "@@ f", "\\ g"])
SIDES = st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n"])), max_size=12)


@given(SIDES, SIDES, st.booleans())
def test_a_diff_holds_all_lines_of_both_sides(
    old: list[tuple[str, str]], new: list[tuple[str, str]], closed: bool
) -> None:
    before, after = ("".join(line + end for line, end in side) for side in (old, new))
    if not closed:
        before, after = before.rstrip("\r\n"), after.rstrip("\r\n")
    written = Written(before.encode(), after.encode())
    lines = list(diff_lines(written, before="x", after="y", around=10**6))[2:]
    assert bool(lines) == (before != after)
    shown = {"-": "", "+": ""}
    for line in lines[1:]:
        for side, text in shown.items():
            if line == r"\ No newline at end of file":
                continue
            if line[0] in (" ", side):
                shown[side] = f"{text}{line[1:].removesuffix('[U+000D]')}\n"
    if lines:
        assert shown["-"].splitlines() == before.splitlines()
        assert shown["+"].splitlines() == after.splitlines()


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (b"- a\n", b"- a\r\n", ["-- a", "+- a[U+000D]"]),
        (b"- a\n", b"- a", ["-- a", "+- a", r"\ No newline at end of file"]),
        (b"- a\n", b"\xef\xbb\xbf- a\n", ["(the same lines in other bytes, or a"]),
        (None, b"", ["(the same lines in other bytes, or a"]),
        (b"- caf\xe9\n", b"- caf\xe8\n", ["-- caf\udce9", "+- caf\udce8"]),
        (
            f"- {TOKEN}\n".encode(),
            f"- {TOKEN[:-1]}0\n".encode(),
            ["-- [secret: github-token]", "+- [secret: github-token]"],
        ),
        (
            b"",
            f"- {TOKEN[:9]}\u200b{TOKEN[9:]}\n".encode(),
            ["+- [secret: github-token]"],
        ),
        (
            b"",
            "- secret\u202eAKIAABCDEFGHIJKLMNOP\n".encode(),
            ["+- secret[U+202E][secret: aws-access-key-id]"],
        ),
        ("- a\n".encode("utf-16"), "- b\n".encode("utf-16"), ["-- a", "+- b"]),
    ],
)
def test_a_diff_shows_what_the_eye_would_miss(
    before: bytes | None, after: bytes, shown: list[str]
) -> None:
    lines = list(diff_lines(Written(before, after), before="x", after="y"))
    told = [line for line in lines[2:] if not line.startswith("@@")]
    assert len(told) == len(shown)
    assert all(line.startswith(part) for line, part in zip(told, shown, strict=True))


# --- forget -----------------------------------------------------------------------------


def remember_two(desk: Desk) -> None:
    desk.record(ONE, "uses tabs and uv")
    desk.generate(
        [answer("- uses tabs\n- uses uv")],
        [adding("- uses tabs [^3f2a91c0]", "- uses uv [^3f2a91c0]")],
    )
    desk.record(TWO, "uses uv")

    def edit(stage: Stage) -> None:
        stage.replace(INDEX, "uv [^3f2a91c0]", "uv [^3f2a91c0] [^77aa01bc]")

    assert desk.generate([answer("- uses uv")], [edit]).consolidated == "accepted"


@pytest.mark.parametrize("name", [ONE, "3f2a91c0"])
def test_forgetting_a_rollout_says_what_went(
    name: str, desk: Desk, project_index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project_index.write_text("- by hand [^3f2a91c0]\n")
    remember_two(desk)
    before = project_index.read_bytes()
    assert run("forget", "--rollout", name) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        f"forgot rollout {ONE}",
        f"removed .openhands/memory/sessions/{ONE}.jsonl",
        f"removed .openhands/memory/raw_memories/{ONE}.md",
        f"removed .openhands/memory/rollout_summaries/{ONE}_use-uv.md",
        "changed .openhands/memory/MEMORY.md",
        "  - - uses tabs [^3f2a91c0]",
        "  - - uses uv [^3f2a91c0] [^77aa01bc]",
        "  + - uses uv [^77aa01bc]",
    ]
    assert err == "undo can bring back what changed, unless you use --purge\n"
    assert desk.facts == ["uses uv"]
    assert project_index.read_text().startswith("- by hand [^3f2a91c0]\n")
    assert run("undo") == 0
    assert project_index.read_bytes() == before


def test_an_unknown_rollout_is_told_what_exists(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    remember_two(desk)
    before = contents(desk.workspace)
    assert run("forget", "--rollout", "no-such") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"no-such is no rollout here; name one of:\n  {ONE}\n  {TWO}\n"
    assert contents(desk.workspace) == before


def test_forget_takes_a_fact_or_a_rollout(desk: Desk) -> None:
    remember_two(desk)
    assert run("forget") == 2
    assert run("forget", "uses tabs", "--rollout", ONE) == 2
    assert desk.facts == ["uses tabs", "uses uv"]


def test_purging_a_rollout_leaves_no_trace_of_it(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remember_two(desk)
    assert run("search", "tabs") == 0
    capsys.readouterr()
    assert run("forget", "--rollout", ONE, "--purge") == 0
    assert "removed 3 writes from the history" in capsys.readouterr().err
    held = contents(tmp_path)
    assert not [p for p in held if ONE in p or b"tabs" in held[p]]
    assert run("history") == 1


def test_a_fact_of_the_sandbox_layout_is_forgotten(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_in(workspace, monkeypatch, sandbox=True)
    desk.memory.mkdir()
    desk.index.write_text("- a\n- b\n")
    assert run("forget", "memories/memory_summary.md:1") == 1
    line = "memories/memory_summary.md:1"
    assert run("forget", line, "--memories-dir", "memories") == 0
    assert desk.index.read_text() == "- b\n"


def git(desk: Desk, *words: str) -> None:
    subprocess.run(["git", *words], cwd=desk.workspace, check=True, capture_output=True)


def test_forgetting_says_that_git_has_it(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    remember_two(desk)
    git(desk, "init", "-q")
    assert run("forget", "--rollout", ONE) == 0
    assert "git" not in capsys.readouterr().err
    git(desk, "add", "-A")
    assert run("forget", "--rollout", TWO) == 0
    assert "git still has it in what was committed" in capsys.readouterr().err


# --- status -----------------------------------------------------------------------------


def generation_part(out: str) -> list[str]:
    """The lines about generation, without what stands around them."""
    lines = iter(out.splitlines())
    head = next((line for line in lines if line.startswith("generation: ")), None)
    rest = [line for line in lines if line.startswith("  ")]
    return [head, *rest] if head else []


def test_where_nothing_was_recorded_status_has_nothing_to_say(
    desk: Desk, project_index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project_index.write_text("- by hand\n")
    assert run("status") == 0
    assert "generat" not in capsys.readouterr().out
    assert run("status", "--json") == 0
    assert as_json(capsys)["generation"] == {
        "rollouts": 0,
        "pending": 0,
        "raw_memories": 0,
        "consolidated": 0,
        "failed": [],
        "last_error": None,
        "gave_up": False,
        "review": None,
    }


def test_raw_memories_without_an_index_are_told_with_the_last_error(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """B37: 24 raw memories, no index, and a selection that says all is done."""
    for number in range(24):
        desk.record(f"rollout-{number:02}", "work")
    answers = [answer(f"- fact {number}") for number in range(24)]
    facts = [f"- fact {n} [^rollout-{n:02}]" for n in range(24)]
    desk.generate(answers, [adding(*facts)])
    assert run("status") == 0
    assert generation_part(capsys.readouterr().out)[1:3] == [
        "  rollouts    24, 0 pending",
        "  memories    24 raw, 24 consolidated",
    ]
    desk.index.unlink()
    desk.generate([], [ModelCallError("gone fishing")])
    assert run("status") == 0
    assert generation_part(capsys.readouterr().out) == [
        "generation: .openhands/memory/sessions",
        "  rollouts    24, 0 pending",
        "  memories    24 raw, 0 consolidated",
        "  last error  gone fishing",
    ]
    assert desk.generate([], [adding(*facts)]).consolidated == "accepted"
    assert run("status", "--json") == 0
    found = as_json(capsys)["generation"]
    assert (found["consolidated"], found["last_error"]) == (24, None)


def test_what_failed_and_what_waits_is_told(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    propose(desk, "uses tabs")
    desk.record(TWO, "work")
    desk.record("new", "work")
    desk.run(Scripted([*BAD, ModelAwayError("gone")]))
    desk.record("newer", "work")
    assert run("status") == 0
    reason = "the answer holds no JSON object with the three strings"
    assert generation_part(capsys.readouterr().out) == [
        "generation: .openhands/memory/sessions",
        "  rollouts    4, 3 pending",
        "  memories    1 raw, 0 consolidated",
        f"  failed      {TWO} (1 time)",
        f"              {reason}",
        "  failed      new",
        "              gone",
        "  review      a change of 1 file waits for 'openhands-memory review'",
    ]
    desk.run(Scripted([*BAD, ModelAwayError("gone"), NOTHING]))
    desk.run(Scripted([*BAD, ModelAwayError("gone")]))
    assert run("status", "--json") == 0
    found = as_json(capsys)["generation"]
    assert [
        (f["rollout_id"], f["attempts"], f["gave_up"]) for f in found["failed"]
    ] == [
        (TWO, 3, True),
        ("new", 0, False),
    ]
    assert found["review"]["files"] == [INDEX]
    assert found["last_error"] == "gone"


def test_the_sandbox_layout_has_a_state_of_its_own(
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    desk = desk_in(workspace, monkeypatch, sandbox=True)
    desk.record(ONE, "work")
    assert run("status") == 0
    assert "generation" not in capsys.readouterr().out
    assert run("status", "--memories-dir", "memories") == 0
    assert "\ngeneration: sessions\n" in capsys.readouterr().out
    assert run("status", "--sessions-dir", "elsewhere", "--json") == 0
    assert as_json(capsys)["generation"]["rollouts"] == 0


def test_what_cannot_be_read_is_told_and_status_goes_on(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.record(ONE, "work")
    desk.sessions.rename(tmp_path / "outside")
    desk.sessions.symlink_to(tmp_path / "outside")
    assert run("status") == 0
    assert "last error" in capsys.readouterr().out


def hint_of(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    assert run("status", "--json", *flags) == 0
    return " ".join(as_json(capsys)["hints"])


def test_conversations_that_git_would_take_are_a_hint(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.record(ONE, "work")
    assert "conversations" not in hint_of(capsys)  # no repository
    git(desk, "init", "-q")
    assert "openhands-memory init --share" in hint_of(capsys)
    git(desk, "add", "-A")
    assert "git rm -r --cached .openhands/memory/sessions" in hint_of(capsys)
    git(desk, "rm", "-rq", "--cached", ".openhands")
    assert run("init", "--share") == 0
    capsys.readouterr()
    assert "conversations" not in hint_of(capsys)


@pytest.mark.parametrize("ignored", ["sessions", "/sessions/", "*.jsonl", "sessions/*"])
def test_the_sandbox_layout_s_conversations_are_a_hint_until_they_are_ignored(
    ignored: str,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    desk = desk_in(workspace, monkeypatch, sandbox=True)
    desk.record(ONE, "work")
    git(desk, "init", "-q")
    flags = ("--memories-dir", "memories")
    assert "add the line /sessions/ to .gitignore" in hint_of(capsys, *flags)
    (workspace / ".gitignore").write_text(f"{ignored}\n")
    assert "conversations" not in hint_of(capsys, *flags)


def test_status_of_what_was_generated_loads_no_sdk(desk: Desk) -> None:
    desk.remember(ONE, "one thing")
    program = "import sys; from openhands_memory.cli import main; main(['status'])"
    heavy = ("openhands", "pydantic", "litellm", "openhands_memory.secrets")
    check = f"print(*(m for m in {heavy!r} if m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{check}"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=desk.workspace,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "1 raw, 1 consolidated" in done.stdout
    assert done.stdout.splitlines()[-1] == ""


# --- history, diff, undo ----------------------------------------------------------------


def test_a_write_in_a_skill_is_seen_shown_and_taken_back(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    def edit(stage: Stage) -> None:
        noting(stage)
        stage.create("skills/deploy/SKILL.md", "# Deploy\n\n1. build [^3f2a91c0]\n")

    desk.record(ONE, "work")
    assert desk.generate([answer()], [edit]).consolidated == "accepted"
    assert run("history", "--json") == 0
    entries = {Path(e["path"]).name: e["id"] for e in as_json(capsys)}
    assert set(entries) == {INDEX, "SKILL.md"}
    assert run("diff", entries["SKILL.md"]) == 0
    assert "+1. build [^3f2a91c0]" in capsys.readouterr().out
    assert run("undo", entries["SKILL.md"]) == 0
    assert not (desk.memory / "skills" / "deploy" / "SKILL.md").exists()
    assert desk.facts == ["One fact of all this."]


def test_a_diff_of_a_write_masks_secrets(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("add", f"token {TOKEN}", "--force") == 0
    capsys.readouterr()
    assert run("diff") == 0
    out = capsys.readouterr().out
    assert "+- token [secret: github-token]" in out
    assert not re.search(r"ghp_", out)


def test_what_was_generated_and_undone_does_not_come_again(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where the undo leaves no index at all."""
    monkeypatch.chdir(workspace)
    desk = Desk(workspace)
    desk.remember("a", "The team uses uv.")
    assert main(["undo"]) == 0
    assert not desk.index.exists()
    assert desk.generate().llm_calls == 0
    assert not desk.index.exists()
    desk.remember("b", "Deploy with make ship.")
    assert desk.facts == ["Deploy with make ship."]


def test_a_write_is_undone_by_whatever_path_the_workspace_is_reached(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(workspace)
    Desk(link).remember("a", "The team uses uv.")
    monkeypatch.chdir(workspace)
    assert main(["undo"]) == 0
    assert not Desk(workspace).index.exists()


def test_search_finds_what_was_generated_once(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither in ``raw_memories.md`` again, nor in a header."""
    monkeypatch.chdir(workspace)
    Desk(workspace).remember("tides", "The tides stand in millimetres.")
    capsys.readouterr()
    assert main(["search", "--json", "tides"]) == 0
    hits = json.loads(capsys.readouterr().out)["hits"]
    paths = [hit["path"].rpartition("memory/")[2] for hit in hits]
    assert paths.count("MEMORY.md") == 1
    assert not [hit for hit in hits if "rollout_id" in hit["text"]]
    assert "raw_memories.md" not in paths


def test_generate_considers_as_many_raw_memories_as_the_agent_did(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own default would take in, or throw out, what the agent's settings do not."""
    monkeypatch.chdir(workspace)
    desk = Desk(workspace)
    for number in range(3):
        desk.put_raw(f"r{number}", number, f"- Fact {number}.")
    desk.generate([], [adding("- Fact 2. [^r2]")], most=1)
    assert main(["generate", "--dry-run"]) == 0
    assert capsys.readouterr().out == "nothing to do now\n"
    assert main(["generate", "--dry-run", "--max-raw-memories", "2"]) == 0
    assert "1 added" in capsys.readouterr().out


# --- What is left of a rollout, and the last write ----------------------------------------


def test_what_was_forgotten_is_purged_when_asked_again(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remember_two(desk)
    assert run("forget", "--rollout", ONE) == 0
    assert run("forget", "--rollout", ONE) == 1
    err = capsys.readouterr().err
    assert err.endswith(
        f"nothing is left of {ONE} but in the history: --purge empties that\n"
    )
    assert run("forget", "--rollout", ONE, "--purge") == 0
    assert "writes from the history" in capsys.readouterr().err
    held = contents(tmp_path)
    assert not [p for p in held if ONE in p or b"tabs" in held[p]]
    assert run("history") == 1


def test_a_rollout_is_forgotten_again_after_an_undo(desk: Desk) -> None:
    remember_two(desk)
    assert run("forget", "--rollout", ONE) == 0
    assert run("undo") == 0
    assert desk.facts == ["uses tabs", "uses uv"]
    assert run("forget", "--rollout", "3f2a91c0") == 0
    assert desk.facts == ["uses uv"]


def test_a_rollout_is_in_no_tier(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    remember_two(desk)
    assert run("forget", "--rollout", ONE, "--tier", "user") == 2
    assert "a rollout is in no tier" in capsys.readouterr().err
    assert desk.facts == ["uses tabs", "uses uv"]


def put_clock_back(desk: Desk) -> None:
    """Two facts, the first of them written at a later time than the second."""
    for number, fact in ((2, "first"), (1, "second")):
        change(
            desk.files.place(INDEX),
            lambda found, fact=fact: (found or b"") + f"- {fact}\n".encode(),
            now=datetime(2026, 1, number, tzinfo=UTC),
            writer="add",
            reason=f"added {fact}",
        )


def test_undo_takes_back_the_last_write_whatever_the_clock_said(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.memory.mkdir(parents=True)
    put_clock_back(desk)
    assert run("diff") == 0
    assert "+- second" in capsys.readouterr().out
    assert run("undo") == 0
    assert desk.index.read_text() == "- first\n"
    assert run("undo") == 0
    assert not desk.index.exists()


def test_undo_refuses_where_no_write_left_what_is_there(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.memory.mkdir(parents=True)
    other = desk.files.place("2026-01-01.md")
    now = datetime(2025, 1, 1, tzinfo=UTC)
    create(other, b"- by hand\n", now=now, writer="log", reason="logged")
    put_clock_back(desk)
    desk.index.write_text("- by hand\n")
    assert run("undo") == 2
    assert "was changed after" in capsys.readouterr().err
    assert desk.index.read_text() == "- by hand\n"
    assert Path(other.path).exists()
