"""What conversations leave behind: records of their runs, and memory made of them."""

import asyncio
import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openhands.sdk", reason="what is recorded is the SDK's")

from adapters.generation_kit import (
    MEMORY,
    NOTHING,
    adds,
    all_bytes,
    asked,
    edits,
    generates,
    index_of,
    learns,
    open_with,
    plays,
    raws_of,
    rollouts,
    segments,
    talk,
    tell,
)
from adapters.sdk_kit import (
    PROJECT_INDEX,
    agent,
    call,
    context,
    converse,
    converse_stock,
    files_below,
    model,
    say,
    write,
)
from openhands import sdk
from openhands.sdk.agent.utils import prepare_llm_messages  # noqa: F401
from openhands.sdk.llm import Message
from openhands.sdk.security.confirmation_policy import AlwaysConfirm
from openhands.sdk.skills import KeywordTrigger, Skill
from openhands.sdk.subagent import (
    AgentDefinition,
    agent_definition_to_factory,
    register_agent_if_absent,
)
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.task import TaskToolSet
from openhands.tools.terminal import TerminalTool

import openhands_memory
from openhands_memory import AgentContext, MemoryConfig, MemoryGenerateConfig
