"""Conversations that generate side by side: layouts, workspaces, threads."""

import threading
from pathlib import Path

import pytest

pytest.importorskip("openhands.sdk", reason="what is recorded is the SDK's")

from adapters.generation_kit import (
    MEMORY,
    SANDBOX,
    all_bytes,
    asked,
    generates,
    index_of,
    open_with,
    plays,
    raws_of,
    rollouts,
    talk,
    tell,
)
from adapters.sdk_kit import PROJECT_INDEX

from openhands_memory import LocalConversation, MemoryLayoutConfig

OTHER = MemoryLayoutConfig(memories_dir="team/notes", sessions_dir="team/talks")
#: Of each layout: its settings, the file that is injected, where its rollouts are.
LAYOUTS: dict[str, tuple[MemoryLayoutConfig | None, str, str]] = {
    "openhands": (None, PROJECT_INDEX, f"{MEMORY}/sessions"),
    "sandbox": (SANDBOX, "memories/memory_summary.md", "sessions"),
    "other": (OTHER, "team/notes/memory_summary.md", "team/talks"),
}


# --- Layouts and workspaces -------------------------------------------------------------


def test_layouts_in_one_workspace_stay_apart(workspace: Path) -> None:
    opened = {
        name: open_with(plays(), workspace, generates(layout))
        for name, (layout, _, _) in LAYOUTS.items()
    }
    for turn in ("first", "second"):
        for name, conversation in opened.items():
            tell(conversation, f"remember: {turn} of {name}.")
    for conversation in opened.values():
        conversation.close()
        assert conversation.generation.consolidated == "accepted"
    for name, (_, index, sessions) in LAYOUTS.items():
        [segments_of] = rollouts(workspace, sessions).values()
        assert [asked(s) for s in segments_of] == [
            [f"remember: first of {name}."],
            [f"remember: second of {name}."],
        ]
        text = index_of(workspace, index)
        for other in LAYOUTS:
            assert (f"- first of {other} [^" in text) is (other == name)
            assert (f"- second of {other} [^" in text) is (other == name)


def test_the_sandbox_layout_has_its_summary_in_the_next_prompt(
    workspace: Path,
) -> None:
    llm = plays()
    talk(llm, workspace, "remember: it is so.", generates(SANDBOX))
    for name in ("memory_summary.md", "MEMORY.md"):
        assert "- it is so [^" in index_of(workspace, f"memories/{name}")
    assert {path.name for path in (workspace / "memories").iterdir()} == {
        *("MEMORY.md", "memory_summary.md", "phase_two_selection.json"),
        *("raw_memories", "raw_memories.md", "rollout_summaries"),
    }
    assert not (workspace / ".openhands").exists()
    later = talk(llm, workspace, "hello", generates(SANDBOX))
    assert "# Project memory (memories/memory_summary.md)" in (later.memory.text or "")
    assert "it is so" in llm.sent("chat")[-1]
    assert "generated -->" not in llm.sent("chat")[-1]


def test_two_workspaces_of_one_process_do_not_mix(
    tmp_path: Path, memory_home: Path
) -> None:
    """Public report B27."""
    places = [tmp_path / name for name in ("here", "there")]
    llm = plays()
    opened = [open_with(llm, place, memory_conversation_id="same") for place in places]
    for turn in ("first", "second"):
        for place, conversation in zip(places, opened, strict=True):
            tell(conversation, f"remember: {turn} of {place.name}.")
    for conversation in opened:
        conversation.close()
    for place, other in (places, places[::-1]):
        left = b"".join(all_bytes(place).values())
        assert f"second of {place.name}".encode() in left
        assert f"of {other.name}".encode() not in left
        assert f"- first of {place.name} [^same]" in index_of(place)
    for place, other in (places, places[::-1]):
        later = talk(llm, place)
        assert f"of {place.name}" in (later.memory.text or "")
        assert f"of {other.name}" not in (later.memory.text or "")
    assert not (memory_home / ".openhands").exists()


@pytest.mark.parametrize("layout", [None, SANDBOX])
def test_conversations_that_close_at_the_same_moment_are_all_remembered(
    layout: MemoryLayoutConfig | None, workspace: Path
) -> None:
    opened = [open_with(plays(), workspace, generates(layout)) for _ in range(4)]
    for number, conversation in enumerate(opened):
        tell(conversation, f"remember: number {number}.")
    barrier = threading.Barrier(len(opened))

    def close(conversation: LocalConversation) -> None:
        barrier.wait()
        conversation.close()

    threads = [threading.Thread(target=close, args=(one,)) for one in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    index = "memories/memory_summary.md" if layout else PROJECT_INDEX
    for number in range(len(opened)):
        assert index_of(workspace, index).count(f"- number {number} [^") == 1
    reports = [conversation.generation for conversation in opened]
    assert sum(report.extracted for report in reports) == 4
    assert not [report for report in reports if report.failed or report.pending]
    memory = "memories" if layout else MEMORY
    assert raws_of(workspace, memory).keys() == {str(one.id) for one in opened}
