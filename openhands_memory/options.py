"""What reading memory needs to know, without the weight of the settings.

The command line starts with this; `openhands_memory.config` has the settings that
people write, and checks them.
"""

from typing import Final, Literal, NamedTuple

__all__ = [
    "CHAR_BUDGET",
    "MIN_CHAR_BUDGET",
    "MOST_RAW_MEMORIES",
    "RAW_MEMORIES_CONSIDERED",
    "ProjectTrust",
    "ReadOptions",
]

#: Characters of the whole memory text (OpenHands SDK 1.58.2, MEMORY_CHAR_BUDGET).
CHAR_BUDGET: Final = 6000

#: Below this the two headings and their notices leave no room for memory itself.
MIN_CHAR_BUDGET: Final = 200

#: Raw memories that a consolidation considers, and the most that it can be told to (OpenAI
#: Agents SDK 0.22, sandbox/config.py).
RAW_MEMORIES_CONSIDERED: Final = 256
MOST_RAW_MEMORIES: Final = 4096

ProjectTrust = Literal["always", "ask", "never"]


class ReadOptions(NamedTuple):
    """How memory is read; see `openhands_memory.MemoryReadConfig`.

    Attributes: *memories_dir* is the sandbox layout's directory, None for the OpenHands
    layout.
    """

    char_budget: int = CHAR_BUDGET
    project_trust: ProjectTrust = "always"
    search_parents: bool = False
    memories_dir: str | None = None

    def read_options(self) -> "ReadOptions":
        """These: so that they can stand where settings are asked for."""
        return self
