"""What must not stand in what the agent wrote: secrets, and paths that lead nowhere.

Pure. Sentences name the file, the line and the kind, never the value.
"""

import re
from collections.abc import Callable, Collection, Iterator
from typing import Final

from openhands_memory.secrets import find_secrets

__all__ = [
    "OUR_PATH",
    "missing_paths",
    "named_path",
    "path_problems",
    "secret_problems",
]

#: Files of ours, wherever a text says that the memory directory is. What stands in
#: ``skills/`` may be the project's own, unless the path says whose it is.
OUR_PATH: Final = re.compile(
    r"(?<![\w.~-])((?:[\w.-]+/)*)"
    r"((?:rollout_summaries|raw_memories|skills)/[\w./-]*\w\.md)(?![\w/])"
)
_HIS: Final = re.compile(r"(?:\./|(?:[\w.-]+/)*memor(?:y|ies)/)?")
#: So many are told at once.
_MOST_TOLD: Final = 5


def secret_problems(
    name: str, after: str, shown: str, mask: Callable[[str], str]
) -> Iterator[str]:
    """The secrets in lines of *after* that the agent was not *shown*."""
    known = frozenset(shown.split("\n"))
    lines = after.split("\n")
    found: dict[int, str] = {}
    for secret in find_secrets(after):
        last = secret.line + after.count("\n", secret.start, secret.end)
        if not known.issuperset(lines[secret.line - 1 : last]):
            found.setdefault(secret.line, secret.kind)
    if not found and (line := _first_masked(lines, mask(after).split("\n"), known)):
        found[line] = "known-secret"
    for line, kind in list(found.items())[:_MOST_TOLD]:
        yield (
            f"{name}: line {line} holds a secret ({kind}); say what it is for, never "
            "the value."
        )


def _first_masked(
    lines: list[str], masked: list[str], known: Collection[str]
) -> int | None:
    for number, (line, safe) in enumerate(zip(lines, masked, strict=False), 1):
        if line != safe and line not in known:
            return number
    return None


def path_problems(name: str, text: str, present: Collection[str]) -> Iterator[str]:
    """The files below the memory directory that *text* names and that are not *present*."""
    for path in missing_paths(text, present)[:_MOST_TOLD]:
        yield f"{name}: there is no file {path[:100]}; correct the path or remove it."


def missing_paths(text: str, present: Collection[str]) -> list[str]:
    """The files of ours that *text* names and that are not *present*, each once."""
    found = dict.fromkeys(map(named_path, OUR_PATH.finditer(text)))
    return [path for path in found if path and path not in present]


def named_path(found: re.Match[str]) -> str | None:
    """The path below the memory directory that `OUR_PATH` *found*, if it is of ours."""
    path = found[2]
    is_ours = not path.startswith("skills/") or _HIS.fullmatch(found[1])
    return path if is_ours else None
