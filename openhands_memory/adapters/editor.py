"""The file editor of consolidation: the SDK's name and arguments, on a staged copy.

Touches the SDK, through public names only; it opens no file.
"""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Literal, Self, cast
from uuid import uuid4

from openhands.sdk.tool import (
    Action,
    Observation,
    Tool,
    ToolAnnotations,
    ToolDefinition,
    ToolExecutor,
    register_tool,  # pyright: ignore[reportUnknownVariableType] - the SDK's own
)
from pydantic import Field, field_validator

from openhands_memory.generation.stage import Stage, StageError
from openhands_memory.prompts import fill
from openhands_memory.sanitize import neutralise, show_hidden

__all__ = ["StagedEditAction", "StagedEditObservation", "StagedEditor", "editor_of"]


class StagedEditAction(Action):
    """Arguments as of the editor of openhands-tools 1.58.2."""

    command: Literal["view", "create", "str_replace", "insert", "undo_edit"] = Field(
        description="What to do."
    )
    path: str = Field(
        description="File or directory, relative to the memory directory."
    )
    file_text: str | None = Field(
        default=None, description="create: the whole text of the file."
    )
    old_str: str | None = Field(
        default=None, description="str_replace: the text to replace; it stands once."
    )
    new_str: str | None = Field(
        default=None,
        description="str_replace: the text instead, nothing if not given. insert: the "
        "lines to add.",
    )
    insert_line: int | None = Field(
        default=None, description="insert: the line below which to add; 0 is the top."
    )
    view_range: list[int] | None = Field(
        default=None,
        description="view: the first and the last line, from 1; -1 is the last.",
    )

    @field_validator("view_range", mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        """Some models write a list as text."""
        try:
            return json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            return value


class StagedEditObservation(Observation):
    """What the model is told of an edit, or shown of a file."""


class _Executor(ToolExecutor[StagedEditAction, StagedEditObservation]):
    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def __call__(
        self, action: StagedEditAction, conversation: object = None
    ) -> StagedEditObservation:
        try:
            shown = show_hidden(neutralise(_edit(self._stage, action)))
        except StageError as error:
            return StagedEditObservation.from_text(
                show_hidden(neutralise(str(error))), is_error=True
            )
        framed = f"<UNTRUSTED_CONTENT>\n{shown}\n</UNTRUSTED_CONTENT>"
        return StagedEditObservation.from_text(framed)


class StagedEditor(ToolDefinition[StagedEditAction, StagedEditObservation]):
    """An editor that reaches what its stage holds, and nothing else."""

    name: ClassVar[str] = "file_editor"
    user_selectable: ClassVar[bool] = False

    @classmethod
    def create(cls, conv_state: object = None, *, key: str = "") -> Sequence[Self]:
        """The editor of the stage that `editor_of` has lent under *key*."""
        stage = _lent[key]
        editor = cls(
            description=fill("editor_tool"),
            action_type=StagedEditAction,
            observation_type=StagedEditObservation,
            annotations=ToolAnnotations(title=cls.name, openWorldHint=False),
            executor=cast("ToolExecutor[Any, Any]", _Executor(stage)),
        )
        return [editor]


#: Stages of the agents that are at work: the SDK makes tools by name, from values that
#: it can write down.
_lent: Final[dict[str, Stage]] = {}


@contextmanager
def editor_of(stage: Stage) -> Generator[Tool]:
    """What an agent is given to have the editor of *stage*, within the block."""
    key = uuid4().hex
    _lent[key] = stage
    try:
        yield Tool(name=StagedEditor.__name__, params={"key": key})
    finally:
        del _lent[key]


register_tool(StagedEditor.__name__, StagedEditor)


def _edit(stage: Stage, action: StagedEditAction) -> str:
    match action.command:
        case "view":
            return stage.view(action.path, _range(action.view_range))
        case "create":
            text = _needed("create", file_text=action.file_text)
            return stage.create(action.path, text)
        case "str_replace":
            old = _needed("str_replace", old_str=action.old_str)
            return stage.replace(action.path, old, action.new_str or "")
        case "insert":
            text = _needed("insert", new_str=action.new_str)
            line = _needed("insert", insert_line=action.insert_line)
            return stage.insert(action.path, line, text)
        case "undo_edit":
            return stage.undo(action.path)


def _needed[T](command: str, **argument: T | None) -> T:
    [(name, value)] = argument.items()
    if value is None:
        raise StageError(f"{command} needs {name}.")
    return value


def _range(lines: list[int] | None) -> tuple[int, int] | None:
    if not lines:
        return None
    if len(lines) != 2:
        raise StageError("view_range takes two numbers: the first and the last line.")
    return lines[0], lines[1]
