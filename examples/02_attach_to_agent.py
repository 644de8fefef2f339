"""Give an agent memory: one import line and one flag, in a real conversation.

The model is the SDK's scripted one, so this runs offline; any LLM takes its place.
"""

import os

os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", OPENHANDS_SUPPRESS_BANNER="1")
os.environ.setdefault("LOG_LEVEL", "ERROR")

from _world import sample_world
from openhands.sdk import Agent, Message, TextContent
from openhands.sdk.event import SystemPromptEvent
from openhands.sdk.testing import TestLLM

from openhands_memory import AgentContext, Conversation

answer = Message(role="assistant", content=[TextContent(text="After 04:00 UTC.")])

with sample_world() as workspace:
    agent = Agent(
        llm=TestLLM.from_messages([answer]),
        tools=[],
        agent_context=AgentContext(load_memory=True),
    )
    with Conversation(
        agent=agent, workspace=workspace, visualizer=None
    ) as conversation:
        conversation.send_message("When can I run a load test on staging?")
        conversation.run()
        prompt = next(
            event
            for event in conversation.state.events
            if isinstance(event, SystemPromptEvent)
        )
        memory = conversation.memory
        print(
            "block in the system prompt:", memory.block in prompt.dynamic_context.text
        )
        print("<MEMORY> sections:", prompt.system_prompt.text.count("<MEMORY>"))
        for tier in memory.tiers:
            print(f"{tier.name}: {tier.status}, {tier.kept_lines} lines")
        print(f"{memory.chars} of {memory.char_budget} characters")
