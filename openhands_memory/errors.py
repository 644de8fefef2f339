"""The errors that this package raises.

Each keeps its parts as attributes and builds its sentence from them: where, what was
found, what to do. Each is also the builtin that a caller would already catch. None is
raised while memory is being read for a conversation: reading reports, it never raises.
"""

from collections.abc import Iterable

__all__ = [
    "ConfigError",
    "FileRefusedError",
    "MemoryFileError",
    "MemoryToolError",
    "SdkMissingError",
    "UnknownFieldError",
]


class MemoryToolError(Exception):
    """Base of all errors of this package."""


class ConfigError(MemoryToolError, ValueError):
    """A setting has a value that cannot work.

    Attributes: *field* is the setting's dotted name, *found* the value it was given.
    """

    def __init__(self, field: str, found: object, problem: str) -> None:
        super().__init__(field, found, problem)
        self.field = field
        self.found = found
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.field}={self.found!r}: {self.problem}"


class UnknownFieldError(ConfigError, TypeError):
    """A setting does not exist; the message names the nearest one that does."""

    def __init__(self, owner: str, field: str, known: Iterable[str]) -> None:
        from difflib import get_close_matches  # late: only an error needs it

        names = sorted(known)
        near = get_close_matches(field, names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names)}"
        super().__init__(f"{owner}.{field}", None, hint)
        self.owner = owner
        self.known = tuple(names)

    def __str__(self) -> str:
        name = self.field.removeprefix(f"{self.owner}.")
        return f"{self.owner} has no field {name!r}; {self.problem}"

    def __reduce__(self) -> tuple[object, ...]:
        name = self.field.removeprefix(f"{self.owner}.")
        return type(self), (self.owner, name, self.known)


class SdkMissingError(MemoryToolError, ModuleNotFoundError):
    """What was asked for needs the OpenHands SDK, which is not installed."""

    def __str__(self) -> str:
        return (
            "this needs the OpenHands SDK, which is not installed: "
            'pip install "openhands-memory[sdk]" (in a checkout: pip install ".[sdk]")'
        )


class MemoryFileError(MemoryToolError, OSError):
    """A file could not be written, or not be read where reading is the task.

    Attributes: *path* is the file, *problem* what was found, *remedy* what to do.
    """

    def __init__(self, path: object, problem: str, remedy: str = "") -> None:
        super().__init__(path, problem, remedy)
        self.path = path
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        tail = f" {self.remedy}" if self.remedy else ""
        return f"{self.path}: {self.problem}.{tail}"


class FileRefusedError(MemoryFileError):
    """A path is not a file that may be read: *problem* says why."""
