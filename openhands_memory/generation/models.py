"""What generation asks of models.

Types only: who answers, and over which wire, is an edge's business.
"""

from collections.abc import Callable
from typing import Literal, Protocol

from openhands_memory.errors import MemoryToolError
from openhands_memory.generation.stage import Stage

__all__ = [
    "Cap",
    "CapReachedError",
    "ContextTooLongError",
    "ModelAwayError",
    "ModelCallError",
    "Models",
]

Cap = Literal["turns", "seconds", "tokens", "cost"]


class ModelCallError(MemoryToolError):
    """A model did not answer; the message is a short reason without any secret."""


class ModelAwayError(ModelCallError):
    """It could not be reached, has no time, or wants another key.

    Nothing is wrong with what it was sent.
    """


class ContextTooLongError(ModelCallError):
    """What a model was sent is more than it takes."""


class CapReachedError(MemoryToolError):
    """The work stopped at a cap.

    Attributes: *cap* is which.
    """

    def __init__(self, cap: Cap) -> None:
        super().__init__(cap)
        self.cap: Cap = cap

    def __str__(self) -> str:
        setting = "phase_two_max_turns" if self.cap == "turns" else f"max_{self.cap}"
        return f"stopped at the cap on {self.cap} ({setting})"


class Models(Protocol):
    """The two models, with all calls metered."""

    def rollout_chars(self) -> int:
        """Characters of a rollout that the first model takes, and that are left to it.

        Raises:
            CapReachedError: Too few are left for a rollout to say anything.
        """
        ...

    def complete(self, system: str, user: str) -> str:
        """The first model's answer: one completion without tools.

        Raises:
            CapReachedError: A cap is reached; nothing more is sent.
            ContextTooLongError: It was too much for the model.
            ModelCallError: The model did not answer.
        """
        ...

    def edit(
        self, system: str, task: str, stage: Stage, check: Callable[[], str | None]
    ) -> str | None:
        """Let the second model edit *stage* until it is finished.

        *check* says what is wrong with the result, which the model is told once.
        Returns None, or why the result is not one: the model never finished.

        Raises:
            CapReachedError: A cap is reached; nothing more is sent.
            ModelCallError: The model did not answer.
        """
        ...
