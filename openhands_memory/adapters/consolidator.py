"""The agent of consolidation: the SDK's own, with one editor and nothing of the user's.

Touches the SDK, through public names only. It stands in an empty directory that is its
own and is gone afterwards; what it edits is a `Stage`. No hook, plugin, skill or server
of the user's reaches it, and nothing of it is recorded or persisted.
"""

import json
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from openhands.sdk import LLM, Agent, Event, LocalConversation
from openhands.sdk.conversation import ConversationExecutionStatus as Status
from openhands.sdk.event import ActionEvent, MessageEvent
from openhands.sdk.event.conversation_error import ConversationErrorEvent
from openhands.sdk.plugin import load_available_plugins
from openhands.sdk.tool import FinishTool

from openhands_memory.adapters.editor import editor_of
from openhands_memory.generation.models import Cap, CapReachedError
from openhands_memory.generation.stage import Stage

__all__ = ["REPEATS", "Consolidator", "consolidator"]

_UNFINISHED: Final = "the model ended without finishing and without a change"
REPEATS: Final = "the model repeated itself without getting on"
#: Answers in a row that do nothing; not every release stops a model that says nothing.
_MOST_IDLE: Final = 3
#: What the SDK says when an agent has had all its turns (1.37.0 to 1.58.2).
_MAX_TURNS: Final = "MaxIterationsReached"


class Consolidator:
    """An agent that works on a stage, and can be told something more.

    *counted* is called after each answer of the model, with the number of answers and
    of characters so far; it says which cap is reached.
    """

    def __init__(
        self,
        agent: Agent,
        directory: str,
        stage: Stage,
        *,
        max_turns: int,
        counted: Callable[[int, int], Cap | None],
    ) -> None:
        self._stage = stage
        self._max_turns = max_turns
        self._counted = counted
        self._turns = 0
        self._chars = 0
        self._cap: Cap | None = None
        self._is_finished = False
        self._idle = 0
        self._answer: str | None = None
        self._conversation = LocalConversation(
            agent,
            directory,
            callbacks=[self._notice],
            visualizer=None,
            max_iteration_per_run=max_turns,
        )

    def work(self, task: str) -> str | None:
        """Let it do *task*; why there is no result, if there is none.

        Raises:
            CapReachedError: It was stopped at a cap.
            openhands.sdk.conversation.ConversationRunError: The model did not answer.
        """
        turns_left = self._max_turns - self._turns
        if turns_left <= 0:
            raise CapReachedError("turns")
        self._conversation.max_iteration_per_run = turns_left
        self._is_finished = False
        self._conversation.send_message(task)
        self._conversation.run()
        if self._cap:
            raise CapReachedError(self._cap)
        if self._is_finished:
            return None
        if self._idle >= _MOST_IDLE or self._is_stuck:
            return REPEATS
        return None if self._stage.changed else _UNFINISHED

    @property
    def _is_stuck(self) -> bool:
        return self._conversation.state.execution_status == Status.STUCK

    def close(self) -> None:
        """Let go of what the SDK keeps for it."""
        self._conversation.close()

    def _notice(self, event: Event) -> None:
        if isinstance(event, ConversationErrorEvent):
            self._cap = "turns" if event.code == _MAX_TURNS else self._cap
            return
        self._chars += len(repr(event))
        if isinstance(event, ActionEvent | MessageEvent) and event.source == "agent":
            # One answer may be several events; some servers give all the same id.
            self._turns += self._answer != event.llm_response_id
            self._answer = event.llm_response_id
            self._is_finished |= _finishes(event)
            self._idle = 0 if isinstance(event, ActionEvent) else self._idle + 1
        else:
            self._answer = None
        cap = self._counted(self._turns, self._chars)
        if self._is_finished:
            return
        self._cap = cap or self._cap
        if cap or self._idle >= _MOST_IDLE:
            self._conversation.pause()


@contextmanager
def consolidator(
    llm: LLM,
    system: str,
    stage: Stage,
    *,
    max_turns: int,
    counted: Callable[[int, int], Cap | None],
) -> Generator[Consolidator]:
    """An agent of *llm* for *stage*, in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="openhands-memory-") as directory:
        _shut_out_plugins(Path(directory))
        with editor_of(stage) as editor:
            agent = Agent(
                llm=llm,
                tools=[editor],
                system_prompt=system,
                include_default_tools=[FinishTool.__name__],
            )
            worker = Consolidator(
                agent, directory, stage, max_turns=max_turns, counted=counted
            )
            try:
                yield worker
            finally:
                worker.close()


def _finishes(event: Event) -> bool:
    return isinstance(event, ActionEvent) and event.tool_name == FinishTool.name


def _shut_out_plugins(directory: Path) -> None:
    """Let no plugin of the user's run its hooks, servers and skills in *directory*.

    The SDK loads them into every local conversation; one of the same name in the project
    itself comes first (OpenHands SDK 1.37.0 to 1.58.2, plugin/discovery.py).
    """
    (directory / ".git").mkdir()  # no project further up is this one's
    plugins = directory / ".openhands" / "plugins"
    for number, name in enumerate(load_available_plugins(include_user=True)):
        manifest = plugins / f"shut-out-{number}" / ".plugin" / "plugin.json"
        manifest.parent.mkdir(parents=True)
        manifest.write_text(json.dumps({"name": name}), encoding="utf-8")
