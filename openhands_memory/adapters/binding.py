"""Memory bound to an agent, in the SDK's own fields.

Touches the SDK, through public names only. What is bound is an ordinary SDK agent: its
context carries the text in ``memory_context`` with ``load_memory`` off, so that the SDK's
own reader never opens the files, and its ``system_prompt`` carries the instructions.
Nothing of this package's own kinds is persisted.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from openhands import sdk
from openhands.sdk.agent import ACPAgent
from pydantic import BaseModel

from openhands_memory.adapters.context import (
    AgentContext,
    Binding,
    config_of,
    warn,
)
from openhands_memory.context.guidance import render_instructions, with_instructions
from openhands_memory.context.report import Memory
from openhands_memory.context.resolve import resolve_memory

__all__ = [
    "NO_MEMORY",
    "bind",
    "bind_and_report",
    "directory_of",
    "hand_over",
]

#: The built-in prompt's file name: an agent with a ``system_prompt`` must have it, or
#: the SDK refuses to validate it again (OpenHands SDK 1.58.2, agent/base.py).
_DEFAULT_PROMPT_FILE: Final = "system_prompt.j2"

#: The report on a conversation that asks for no memory.
NO_MEMORY: Final = Memory(None, 0)


def bind[A: sdk.AgentBase](agent: A, workspace: str | Path | sdk.LocalWorkspace) -> A:
    """An agent with the memory of *workspace*, for any conversation there.

    Returns a copy of *agent*, which stays as it is; *agent* itself if its context does
    not ask for memory, or is bound already. Never raises for what lies on disk.
    """
    bound, memory = bind_and_report(agent, workspace)
    if bound is not agent:
        warn(*memory.warnings)
    return bound


def bind_and_report[A: sdk.AgentBase](
    agent: A, workspace: str | Path | sdk.LocalWorkspace
) -> tuple[A, Memory]:
    context = agent.agent_context
    directory = directory_of(workspace)
    if context is None or not context.load_memory:
        return agent, _bound_memory(context, directory)
    memory = resolve_memory(directory, config=config_of(context))
    return _with_memory(agent, context, Binding(directory, memory)), memory


def _with_memory[A: sdk.AgentBase](
    agent: A, context: sdk.AgentContext, binding: Binding
) -> A:
    memory, read = binding.memory, config_of(context).read
    text = memory.text
    changes: dict[str, Any] = {}
    if read is not None:
        instructions = render_instructions(
            memory.tiers, char_budget=memory.char_budget, live_update=read.live_update
        )
        if isinstance(agent, ACPAgent):
            # Its prompt is its own: the block is all that reaches it.
            text = "\n\n".join(filter(None, (instructions, text)))
        else:
            prompt = with_instructions(agent.static_system_message, instructions)
            changes["system_prompt"] = prompt
            changes["system_prompt_filename"] = _DEFAULT_PROMPT_FILE
    context = _as_ours(context).model_copy(
        update={"memory_context": text, "load_memory": False}
    )
    if isinstance(context, AgentContext):
        context._memory_binding = binding  # pyright: ignore[reportPrivateUsage] - this module's
    changes["agent_context"] = context
    return agent.model_copy(update=changes)


def _as_ours(context: sdk.AgentContext) -> sdk.AgentContext:
    """The SDK's own context as ours, so that it can carry the report."""
    if type(context) is not sdk.AgentContext:
        return context
    # Nothing is validated again: that would load the user's skills a second time.
    values = {name: getattr(context, name) for name in type(context).model_fields}
    return AgentContext.model_construct(context.model_fields_set, **values)


def _bound_memory(context: sdk.AgentContext | None, directory: str) -> Memory:
    if context is None:
        return NO_MEMORY
    binding = None
    if isinstance(context, AgentContext):
        binding = context._memory_binding  # pyright: ignore[reportPrivateUsage] - this module's
    if binding is None:
        text = context.memory_context or None
        return Memory(text, len(text)) if text else NO_MEMORY
    if os.path.realpath(binding.directory) != os.path.realpath(directory):
        warn(
            f"the agent is bound to {binding.directory}, and that memory stays in "
            f"its prompt; to work in {directory}, bind the agent that you had before"
        )
    return binding.memory


def directory_of(workspace: str | Path | sdk.LocalWorkspace) -> str:
    if isinstance(workspace, sdk.LocalWorkspace):
        workspace = workspace.working_dir
    # pathlib would raise for a "~" where nobody has a home.
    return os.path.expanduser(workspace)


def hand_over(source: sdk.AgentBase, conversation: sdk.LocalConversation) -> None:
    """Give the memory that *source* is bound to to the agent of *conversation*."""
    agent, bound = conversation.agent, source.agent_context
    context = agent.agent_context
    if bound is None or context is None:
        return
    texts = {name: getattr(bound, name) for name in ("load_memory", "memory_context")}
    prompts = {
        name: getattr(source, name)
        for name in ("system_prompt", "system_prompt_filename")
    }
    if _has(context, texts) and _has(agent, prompts):
        return
    context = context.model_copy(update=texts)
    agent = agent.model_copy(update={"agent_context": context, **prompts})
    conversation.agent = agent
    with conversation.state:
        conversation.state.agent = agent


def _has(model: BaseModel, values: Mapping[str, Any]) -> bool:
    return all(getattr(model, name) == value for name, value in values.items())
