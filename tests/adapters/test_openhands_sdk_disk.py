"""Nothing that lies on disk keeps a conversation from running, or gets into the log."""

import logging
import os
import sys
import time

import pytest

pytest.importorskip("openhands.sdk", reason="needs the extra: openhands-memory[sdk]")

from adapters.sdk_kit import (
    OURS,
    PROJECT_INDEX,
    USER_INDEX,
    USER_MARK,
    agent,
    context,
    converse,
    say,
    start,
    write,
)
from openhands.sdk.conversation import ConversationExecutionStatus

PRIVATE_MARK = "quietly-marked-4b7d"

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="files that only POSIX has"
)


def a_fifo(path):
    os.mkfifo(path)


def a_directory(path):
    path.mkdir()


def an_endless_device(path):
    path.symlink_to("/dev/zero")


def a_dangling_link(path):
    path.symlink_to(path.with_name("nowhere.md"))


def a_link_loop(path):
    path.symlink_to(path)


def a_link_out_of_the_workspace(path):
    outside = write(path.parents[4] / "outside.md", f"* {PRIVATE_MARK}\n")
    path.symlink_to(outside)


def an_unreadable_file(path):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    path.write_text(f"* {PRIVATE_MARK}\n")
    path.chmod(0)


def invalid_utf_8(path):
    path.write_bytes(f"* {PRIVATE_MARK} \xff\n".encode("latin-1"))


def many_nul_bytes(path):
    path.write_bytes(PRIVATE_MARK.encode() + bytes(5000))


def more_than_the_budget(path):
    path.write_text(f"* {PRIVATE_MARK}\n" * 5000)


HOSTILE = [
    a_fifo,
    a_directory,
    an_endless_device,
    a_dangling_link,
    a_link_loop,
    a_link_out_of_the_workspace,
    an_unreadable_file,
    invalid_utf_8,
    many_nul_bytes,
    more_than_the_budget,
]


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_hostile_file_warns_once_and_the_conversation_runs(
    make, memory_home, workspace, caplog
):
    caplog.set_level(logging.DEBUG)
    write(memory_home / USER_INDEX, f"* {USER_MARK}\n")
    path = workspace / PROJECT_INDEX
    path.parent.mkdir(parents=True)
    make(path)
    began = time.monotonic()
    with converse(agent(say(), say()), workspace) as conversation:
        static, dynamic = start(conversation)
        conversation.run()
        conversation.send_message("again")
        conversation.run()
    assert time.monotonic() - began < 10
    assert conversation.state.execution_status == ConversationExecutionStatus.FINISHED
    assert OURS in static and USER_MARK in dynamic
    assert dynamic.count("</MEMORY_CONTEXT>") == 1
    [warning] = [r for r in caplog.records if r.name == "openhands_memory"]
    assert warning.levelno == logging.WARNING
    assert str(path) in warning.getMessage()
    assert not [r for r in caplog.records if PRIVATE_MARK in r.getMessage()]


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_hostile_user_tier_costs_no_project_memory(make, memory_home, workspace):
    if make is a_link_out_of_the_workspace:
        pytest.skip("the user tier may be a link")
    write(workspace / PROJECT_INDEX, "* project\n")
    path = memory_home / USER_INDEX
    path.parent.mkdir(parents=True)
    make(path)
    conversation = converse(agent(), workspace)
    assert "* project" in start(conversation)[1]


def test_parent_that_is_a_file_is_no_obstacle(workspace):
    write(workspace / ".openhands", "a file\n")
    conversation = converse(agent(), workspace)
    static, dynamic = start(conversation)
    assert OURS in static and "MEMORY_CONTEXT" not in dynamic


def test_merge_conflict_does_not_end_the_task(workspace):
    """Public report B46: a headless run goes on; the markers are shown as they are."""
    conflict = "* a\n<<<<<<< HEAD\n* ours\n=======\n* theirs\n>>>>>>> branch\n* z\n"
    write(workspace / PROJECT_INDEX, conflict)
    with converse(agent(say()), workspace) as conversation:
        _, dynamic = start(conversation)
        conversation.run()
    assert conversation.state.execution_status == ConversationExecutionStatus.FINISHED
    assert conflict.strip() in dynamic


def test_warning_of_a_file_that_goes_bad_before_the_first_message(workspace, caplog):
    path = write(workspace / PROJECT_INDEX, "* good\n")
    conversation = converse(agent(), workspace)
    assert not [r for r in caplog.records if r.name == "openhands_memory"]
    path.unlink()
    path.mkdir()
    start(conversation)
    [warning] = [r for r in caplog.records if r.name == "openhands_memory"]
    assert str(path) in warning.getMessage()


def test_silent_truncation_is_none(workspace, caplog):
    """Public report B03: whole lines are kept, and a person is told once."""
    lines = [f"* {n:02} " + "x" * 894 for n in range(12)]
    write(workspace / PROJECT_INDEX, "\n".join(lines) + "\n")
    with converse(agent(say(), say()), workspace) as conversation:
        _, dynamic = start(conversation)
        for _ in range(2):
            conversation.run()
            conversation.send_message("again")
    kept = [line for line in lines if line in dynamic]
    assert kept == lines[-6:]
    [warning] = [r for r in caplog.records if r.name == "openhands_memory"]
    assert "over budget" in warning.getMessage()
    assert conversation.memory.tiers[1].dropped_lines == ((1, 6),)


def test_warning_of_the_budget_comes_once_when_memory_is_read_again(workspace, caplog):
    """Before the first message a line is added: other lines are over budget then."""
    lines = "".join(f"* {n:02} {'x' * 894}\n" for n in range(12))
    path = write(workspace / PROJECT_INDEX, lines)
    conversation = converse(agent(), workspace)
    path.write_text(f"{lines}* new\n")
    _, dynamic = start(conversation)
    assert "* new" in dynamic
    [warning] = [r for r in caplog.records if r.name == "openhands_memory"]
    assert warning.getMessage().endswith("over budget: lines 1-6 are not loaded")


def test_whole_log_has_no_memory_text(workspace, memory_home, caplog):
    caplog.set_level(logging.DEBUG)
    write(memory_home / USER_INDEX, f"* {PRIVATE_MARK} user\n")
    write(
        workspace / PROJECT_INDEX,
        f"* {PRIVATE_MARK} project\n\udcff".encode("utf-8", "replace").decode(),
    )
    with converse(agent(say()), workspace) as conversation:
        assert PRIVATE_MARK in start(conversation)[1]
        conversation.run()
    written = [f"{r.getMessage()} {r.exc_text or ''}" for r in caplog.records]
    assert written and not [line for line in written if PRIVATE_MARK in line]


def test_home_that_is_unknown_leaves_the_project_tier(workspace, monkeypatch):
    write(workspace / PROJECT_INDEX, "* project\n")
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("USERPROFILE")
    given = agent(agent_context=context())
    conversation = converse(given, workspace)
    assert "* project" in start(conversation)[1]
