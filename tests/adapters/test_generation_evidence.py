"""What the models of generation are shown, and what never comes back or out."""

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openhands.sdk", reason="what is recorded is the SDK's")

from adapters.generation_kit import (
    FINISH,
    adds,
    all_bytes,
    edits,
    generates,
    index_of,
    learns,
    open_with,
    plays,
    talk,
    tell,
)
from adapters.sdk_kit import PROJECT_INDEX, USER_INDEX, call, say, write
from openhands.sdk.llm import Message
from openhands.sdk.skills import KeywordTrigger, Skill
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.terminal import TerminalTool

from openhands_memory.adapters.events import KNOWN_MEMORY

# --- Memory does not feed itself (public report B40) ------------------------------------

CANARY = "CANARY-9 prefers blue"
NOTES = f"# Notes\n\n- {CANARY}\n- the build needs make 4.4\n"


def looks_away(_: Path) -> list[Message]:
    return []


def reads_the_file(index: Path) -> list[Message]:
    return [call("file_editor", command="view", path=str(index))]


def prints_the_file(index: Path) -> list[Message]:
    return [call("terminal", command=f"cat {index}; grep -n prefers {index}")]


def edits_the_file(index: Path) -> list[Message]:
    old = f"- {CANARY}\n"
    new = f"{old}- the user prefers tea\n"
    path = {"command": "str_replace", "path": str(index)}
    return [call("file_editor", **path, old_str=old, new_str=new)]


def rewrites_the_file(index: Path) -> list[Message]:
    text = f"{NOTES}- the user prefers tea\n"
    index.unlink()
    return [call("file_editor", command="create", path=str(index), file_text=text)]


@pytest.mark.parametrize(
    ("acts", "tool"),
    [
        (looks_away, None),
        (reads_the_file, FileEditorTool.name),
        (prints_the_file, TerminalTool.name),
    ],
)
def test_the_memory_in_the_prompt_is_no_evidence_in_three_rounds(
    acts: Callable[[Path], list[Message]],
    tool: str | None,
    workspace: Path,
    memory_home: Path,
) -> None:
    index = write(workspace / PROJECT_INDEX, NOTES)
    write(memory_home / USER_INDEX, "- CANARY-9 is the user's too\n")
    before = index.stat()
    llm = plays([])
    for _ in range(3):
        llm.play("chat", [*acts(index), say("It is noon.")])
        tools = [tool] if tool else []
        done = talk(llm, workspace, "What time is it?", tools=tools)
        assert (done.generation.consolidated, done.generation.empty) == ("none", 1)
    assert len(llm.sent("extraction")) == 3
    assert all(CANARY in sent for sent in llm.sent("chat"))
    assert not [sent for sent in llm.sent("extraction") if "CANARY" in sent]
    if tool:
        assert all(KNOWN_MEMORY in sent for sent in llm.sent("extraction"))
    assert llm.sent("consolidation") == []
    after = index.stat()
    assert index.read_text() == NOTES
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


def test_what_was_generated_does_not_come_back_as_new(workspace: Path) -> None:
    llm = plays()
    talk(llm, workspace, f"remember: {CANARY}.")
    index = index_of(workspace)
    for _ in range(3):
        path = workspace / PROJECT_INDEX
        llm.play("chat", [*reads_the_file(path), say("Noted long ago.")])
        done = talk(llm, workspace, "go on", tools=[FileEditorTool.name])
        assert done.generation.consolidated == "none"
    assert not [sent for sent in llm.sent("extraction")[1:] if "CANARY" in sent]
    assert index_of(workspace) == index
    assert len(llm.sent("consolidation")) == 2


LINE = "CANARY-9 prefers blue ink to pencils"
READERS = [
    "diff -u /dev/null {}",
    "git diff --no-index /dev/null {}",
    "sed 's/^/> /' {}",
    "cat -A {}",
    "cat -n {}",
    "grep -rn CANARY {}",
    "python3 -c 'import json; print(json.dumps(open(\"{}\").read()))'",
    "python3 -c 'print(open(\"{}\").readlines())'",
    'echo "It says: $(cat {}) and that is all"',
]


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize(
    "name",
    ["MEMORY.md", "2026-11-29.md", "raw_memories/old.md", "rollout_summaries/old_a.md"],
)
def test_however_memory_is_read_it_does_not_come_back(
    name: str, reads: bool, workspace: Path, memory_home: Path
) -> None:
    filler = "".join(f"- filler fact number {n} of many\n" for n in range(400))
    text = f"# Notes\n\n- {LINE}\n{filler if name == 'MEMORY.md' else ''}"
    path = write(workspace / ".openhands/memory" / name, text)
    lines = [reader.format(path) for reader in READERS]
    if name == "MEMORY.md":  # a tool's output loses its middle
        lines = [f"{line} | head -c 2000" for line in lines[:-1]]
    calls = [call("terminal", command=line) for line in lines]
    view = call("file_editor", command="view", path=str(path))
    llm = plays([view, *calls, say("It is noon.")])
    tools = [TerminalTool.name, FileEditorTool.name]
    memory = generates(reads=reads)
    talk(llm, workspace, "What time is it?", memory, tools=tools)
    [shown] = llm.sent("extraction")
    assert "prefers blue" not in shown
    assert shown.count(KNOWN_MEMORY) > len(lines)


@pytest.mark.parametrize("acts", [edits_the_file, rewrites_the_file])
def test_a_fact_that_the_agent_wrote_itself_is_not_added_again(
    acts: Callable[[Path], list[Message]], workspace: Path
) -> None:
    index = write(workspace / PROJECT_INDEX, NOTES)
    llm = plays([], extraction=[learns("the user prefers tea")])
    conversation = open_with(llm, workspace, tools=[FileEditorTool.name])
    conversation.send_message("I prefer tea")
    llm.play("chat", [*acts(index), say()])
    conversation.run()
    conversation.close()
    assert conversation.generation.extracted == 1
    assert index_of(workspace).count("prefers tea") == 1
    [shown] = llm.sent("extraction")
    assert "prefers tea" in shown and "CANARY" not in shown


def test_prompts_and_the_text_of_skills_are_never_recorded(workspace: Path) -> None:
    skill = Skill(
        name="deploy",
        content="SKILL-TEXT: use the blue button.",
        trigger=KeywordTrigger(keywords=["deploy"]),
    )
    fields = {"skills": [skill], "system_message_suffix": "SUFFIX-TEXT"}
    llm = plays()
    talk(llm, workspace, "deploy it, and remember: I did.", fields=fields)
    assert all("SUFFIX-TEXT" in sent for sent in llm.sent("chat"))
    assert any("SKILL-TEXT" in sent for sent in llm.sent("chat"))
    left = b"".join(all_bytes(workspace).values())
    shown = "".join(llm.sent("extraction") + llm.sent("consolidation"))
    assert "I did" in shown and b"I did" in left
    for text in ("SUFFIX-TEXT", "SKILL-TEXT"):
        assert text not in shown and text.encode() not in left


# --- Secrets ----------------------------------------------------------------------------

SHA = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
WORD = "risk-based-approach-for-deployments"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{'QUJD' * 12}\n{'REVG' * 12}\n-----END RSA PRIVATE KEY-----"


def test_a_printed_environment_leaves_no_secret(workspace: Path) -> None:
    """Public report B24."""
    token = "ghp_" + "A" * 36
    env = write(
        workspace / "env.txt",
        f"FAKE_TOKEN={token}\n{PEM}\nDB=postgres://svc:notreal@db/x\n"
        f"HEAD is {SHA}\n{WORD}\n",
    )
    printed = env.read_text()
    llm = plays(
        [call("file_editor", command="view", path=str(env)), say(f"I saw:\n{printed}")],
        extraction=[learns(printed.replace("\n", " "), summary=printed)],
        consolidation=[adds(f"deploys at {SHA} by {WORD}"), FINISH],
    )
    done = talk(llm, workspace, printed, tools=[FileEditorTool.name])
    assert done.generation.consolidated == "accepted"
    env.unlink()
    left = all_bytes(workspace)
    assert {path.parent.name for path in left} >= {
        *("sessions", "raw_memories", "rollout_summaries", "memory")
    }
    shown = "\n".join(llm.sent("extraction") + llm.sent("consolidation"))
    for secret in (token, "QUJDQUJD", "REVGREVG", "notreal"):
        assert secret not in shown
        assert not [path for path, data in left.items() if secret.encode() in data]
    for innocent in (SHA, WORD):
        assert innocent in shown
        without = [p for p, data in left.items() if innocent.encode() not in data]
        assert [path.name for path in without] == ["phase_two_selection.json"]


REGISTERED = "correct-horse-77-battery"
TOKEN = "ghp_" + "a1B2c3" * 6


class Leak:
    """The two secrets in one text, which a model or a person says everywhere."""

    text = f"key {REGISTERED} and {TOKEN} end"
    parts = (REGISTERED, TOKEN, REGISTERED[:14], TOKEN[4:20])

    @classmethod
    def found_in(cls, *texts: str) -> list[str]:
        return [part for part in cls.parts if any(part in text for text in texts)]


def leaking_chat(workspace: Path) -> list[Any]:
    path = str(workspace / "leak.txt")
    viewing = call("file_editor", command="view", path=path, summary=Leak.text)
    creating = call(
        "file_editor", command="create", path=path + "2", file_text=Leak.text
    )
    unknown = call(f"no_{TOKEN}", **{Leak.text: Leak.text})
    return [viewing, creating, unknown, say(Leak.text)]


def leaking_extraction() -> Message:
    return learns(Leak.text, slug=f"slug {TOKEN} {REGISTERED}", summary=Leak.text)


SKILL = f"skills/{REGISTERED}/SKILL.md"
LEAKING_CONSOLIDATION = [
    edits("view", f"raw_memories/{TOKEN}.md"),
    adds(Leak.text),
    edits("create", SKILL, file_text=Leak.text),
    call("finish", message=Leak.text),
]
REPAIR = [
    edits("create", file_text="- the key is in the vault\n"),
    edits("undo_edit", SKILL),
    FINISH,
]


@pytest.mark.parametrize(
    ("then", "outcome"), [(REPAIR, "accepted"), ([FINISH], "refused")]
)
def test_no_secret_is_in_any_file_name_log_or_request(
    then: list[Message],
    outcome: str,
    workspace: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    leaks = [workspace / "leak.txt", workspace / "leak.txt2"]
    write(leaks[0], Leak.text)
    llm = plays(
        leaking_chat(workspace),
        extraction=[leaking_extraction()],
        consolidation=[*LEAKING_CONSOLIDATION, *then],
    )
    conversation = open_with(
        llm,
        workspace,
        tools=[FileEditorTool.name],
        memory_conversation_id=f"chat {TOKEN} {REGISTERED}",
        secrets={"VAULT_KEY": REGISTERED},
    )
    tell(conversation, Leak.text)
    caplog.clear()
    with conversation:
        """It is closed."""
    for leak in leaks:
        leak.unlink()

    assert conversation.generation.consolidated == outcome
    assert not Leak.found_in(*llm.sent("extraction"), llm.sent("consolidation")[0])
    files = all_bytes(tmp_path)
    for path, data in files.items():
        assert not Leak.found_in(str(path), data.decode("utf-8", "replace")), path
        assert not Leak.found_in(*kept_aside(data)), path
    assert any(map(kept_aside, files.values()))
    assert ("refused" in map(parent_name, files)) is (outcome == "refused")
    assert not Leak.found_in(caplog.text, repr(conversation.generation))


def parent_name(path: Path) -> str:
    return path.parent.name


def kept_aside(data: bytes) -> list[str]:
    """The texts that are kept in the state directory, which are base64 there."""
    words = re.findall(rb'"(?:before|after)": ?"([A-Za-z0-9+/=]+)"', data)
    return [base64.b64decode(word).decode("utf-8", "replace") for word in words]


def test_what_a_model_says_when_it_fails_is_masked_everywhere(
    workspace: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failure = RuntimeError(f"refused: {Leak.text}")
    llm = plays(extraction=[learns("it is so"), failure], consolidation=[failure])
    for _ in range(2):
        secrets = {"VAULT_KEY": REGISTERED}
        conversation = open_with(llm, workspace, secrets=secrets)
        tell(conversation)
        caplog.clear()
        conversation.close()
        assert "refused: " in repr(conversation.generation)
        assert not Leak.found_in(caplog.text, repr(conversation.generation))
    for path, data in all_bytes(tmp_path).items():
        assert not Leak.found_in(data.decode("utf-8", "replace")), path


def test_a_secret_that_a_person_keeps_in_memory_goes_to_no_model_of_ours(
    workspace: Path,
) -> None:
    text = f"- the key is {REGISTERED}\n- token {TOKEN}\n"
    write(workspace / PROJECT_INDEX, text)
    llm = plays()
    secrets = {"VAULT_KEY": REGISTERED}
    talk(llm, workspace, "remember: it rains.", secrets=secrets)
    assert not Leak.found_in(*llm.sent("extraction"), *llm.sent("consolidation"))
    assert index_of(workspace).startswith(text)
    assert "- it rains" in index_of(workspace)
