"""Words for a scripted model: what it says, what it learned, what it edits.

The SDK's `TestLLM` gives them back in this order; any LLM takes its place.
"""

import json
import os

os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", OPENHANDS_SUPPRESS_BANNER="1")
os.environ.setdefault("LOG_LEVEL", "ERROR")

from openhands.sdk.llm import Message, MessageToolCall, TextContent


def says(text: str) -> Message:
    return Message(role="assistant", content=[TextContent(text=text)])


def learned(slug: str, summary: str, *facts: str) -> Message:
    """What extraction answers: one JSON object with three texts."""
    memory = "\n".join(f"- {fact}" for fact in facts)
    answer = {"rollout_slug": slug, "rollout_summary": summary, "raw_memory": memory}
    return says(json.dumps(answer))


def adds(path: str, *lines: str) -> Message:
    """A turn of consolidation: lines put in at the top of a file."""
    arguments = {"command": "insert", "path": path, "insert_line": 0}
    return _calls("file_editor", **arguments, new_str="\n".join(lines))


def finishes(message: str) -> Message:
    return _calls("finish", message=message)


def _calls(tool: str, **arguments: object) -> Message:
    call = MessageToolCall(
        id=f"call_{tool}",
        name=tool,
        arguments=json.dumps(arguments),
        origin="completion",
    )
    return Message(role="assistant", content=[], tool_calls=[call])
