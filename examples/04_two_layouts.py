"""Two layouts in one workspace: each generates its own files, and they never mix."""

from _scripted import adds, finishes, learned, says
from _world import sample_world, tree
from openhands.sdk import Agent
from openhands.sdk.testing import TestLLM

from openhands_memory import (
    AgentContext,
    Conversation,
    MemoryConfig,
    MemoryGenerateConfig,
    MemoryLayoutConfig,
    resolve_memory,
)

FACT = "- releases leave on Tuesdays: the harbour office reads them on Wednesdays"
POINTER = "- releases: see MEMORY.md, keywords: Tuesday, harbour office"

answers = [
    says("Then I tag it on Tuesday."),
    learned("release-day", "Asked for a release. Told to wait.", FACT[2:]),
]
openhands = [adds("MEMORY.md", f"{FACT} [^release]"), finishes("added")]
sandbox = [
    adds("MEMORY.md", "# Releases", f"{FACT} [^release]"),
    adds("memory_summary.md", f"{POINTER} [^release]"),
    finishes("added to both"),
]
layouts = {
    "OpenHands layout": (None, openhands),
    "sandbox layout": (MemoryLayoutConfig(), sandbox),  # memories/, sessions/
}

with sample_world() as workspace:
    for name, (layout, edits) in layouts.items():
        memory = MemoryConfig(layout=layout, generate=MemoryGenerateConfig())
        context = AgentContext(load_memory=True, memory=memory)
        llm = TestLLM.from_messages([*answers, *edits])
        with Conversation(
            agent=Agent(llm=llm, tools=[], agent_context=context),
            workspace=workspace,
            memory_conversation_id="release",
            visualizer=None,
        ) as conversation:
            conversation.send_message("Tag 2.4. No, wait: releases leave on Tuesdays.")
            conversation.run()
        print(f"{name}: {conversation.generation.consolidated}")

    print("", *tree(workspace), sep="\n")
    sandbox_only = MemoryConfig(layout=MemoryLayoutConfig())
    print(f"\n{resolve_memory(workspace, config=sandbox_only).text}")
    print("\nand what the OpenHands layout gained, at the end of its index:")
    print((resolve_memory(workspace).text or "").splitlines()[-1])
