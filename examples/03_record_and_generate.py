"""A conversation becomes memory: recorded, extracted, consolidated when it closes.

One scripted model plays the agent and both models of generation, so this runs offline.
"""

import difflib
from pathlib import Path

from _scripted import adds, finishes, learned, says
from _world import sample_world, tree
from openhands.sdk import Agent
from openhands.sdk.testing import TestLLM

from openhands_memory import (
    AgentContext,
    Conversation,
    MemoryConfig,
    MemoryGenerateConfig,
)

SUSPECT = "The gauge at Brest sends local time since its update on 14 November."
FACT = "Brest's gauge sends local time since firmware 4.2: read its heights as UTC+1"

llm = TestLLM.from_messages(
    [
        says(SUSPECT),  # the agent answers
        learned(  # phase one, when the conversation closes
            "brest-gauge-hour",
            "Brest was an hour off. Cause: firmware 4.2. The user confirmed it.",
            FACT,
        ),
        adds("MEMORY.md", f"- {FACT} [^brest-hour]"),  # phase two: an agent edits
        finishes("one fact added"),
    ]
)

with sample_world() as workspace:
    index = Path(workspace, ".openhands/memory/MEMORY.md")
    before = index.read_text().splitlines()
    memory = MemoryConfig(generate=MemoryGenerateConfig())
    context = AgentContext(load_memory=True, memory=memory)
    with Conversation(
        agent=Agent(llm=llm, tools=[], agent_context=context),
        workspace=workspace,
        memory_conversation_id="brest-hour",  # the rollout's name; else the SDK's id
        visualizer=None,
    ) as conversation:
        conversation.send_message("Why is Brest an hour off since last week?")
        conversation.run()

    report = conversation.generation
    print(f"extracted {report.extracted}, index {report.consolidated}", end=", ")
    print(f"{report.llm_calls} calls of the models of generation\n")
    print(*tree(workspace), sep="\n", end="\n\n")
    print(
        *difflib.unified_diff(before, index.read_text().splitlines(), lineterm="", n=1),
        sep="\n",
    )
