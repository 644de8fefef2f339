"""A real model learns from a conversation. Needs LLM_API_KEY; says first what it costs.

LLM_MODEL and LLM_BASE_URL say which model, if it is not OpenAI's.
"""

import os
import sys

from _world import sample_world

MODEL = os.environ.get("LLM_MODEL", "gpt-5.5")
KEY = os.environ.get("LLM_API_KEY")
MOST_TOKENS, MOST_DOLLARS = 100_000, 0.50


def converse(key: str) -> None:
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    from openhands.sdk import LLM, Agent  # takes seconds

    from openhands_memory import (
        AgentContext,
        Conversation,
        MemoryConfig,
        MemoryGenerateConfig,
    )

    llm = LLM(model=MODEL, api_key=key, base_url=os.environ.get("LLM_BASE_URL"))
    caps = MemoryGenerateConfig(max_tokens=MOST_TOKENS, max_cost=MOST_DOLLARS)
    context = AgentContext(load_memory=True, memory=MemoryConfig(generate=caps))
    agent = Agent(llm=llm, tools=[], agent_context=context)
    with sample_world() as workspace:
        with Conversation(
            agent=agent, workspace=workspace, visualizer=None
        ) as conversation:
            conversation.send_message(
                "For the future: I never want a release on a Monday. Two had to be taken "
                "back, since the harbour office reads the tables that morning. OK?"
            )
            conversation.run()
        print(conversation.generation.as_dict())
        print((workspace / ".openhands/memory/MEMORY.md").read_text())


print(f"""\
One message to {MODEL}, which then makes memory of that conversation: 5 to 10 calls, and
15,000 to 30,000 tokens in all, nearly all of them input. What comes after the
conversation stops at {MOST_TOKENS:,} tokens, and at {MOST_DOLLARS:.2f} US dollars if the
model's price is known.""")
if not KEY:
    print("LLM_API_KEY is not set: nothing was sent.")
elif input("Go on? [y/N] ").strip().lower() in ("y", "yes"):
    converse(KEY)
else:
    sys.exit("Nothing was sent.")
