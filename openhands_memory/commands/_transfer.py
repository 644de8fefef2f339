"""What `merge` and `import` share: taking facts in, and saying which."""

import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from openhands_memory.commands._writes import now
from openhands_memory.layout import TierPlace
from openhands_memory.sanitize import show_hidden
from openhands_memory.upkeep.change import change
from openhands_memory.upkeep.sections import Fact
from openhands_memory.upkeep.tier_files import read_file
from openhands_memory.upkeep.transfer import Brought

__all__ = ["agreed", "fact_as_dict", "print_fact", "remark_secrets", "take"]

_NOT_TAKEN: Final = "nothing taken: there is no terminal to ask at; use --yes"


def take(
    here: TierPlace,
    bring: Callable[[bytes | None], Brought],
    *,
    writer: str,
    reason: str,
    dry_run: bool = False,
) -> Brought:
    """Replace the file *here* by what *bring* makes of it; what it took is returned.

    Raises:
        TransferRefusedError: The facts cannot be joined; nothing is changed.
        MemoryFileError: The file could not be read or written; it is as it was.
    """
    mine = read_file(here)
    brought = bring(mine)
    if dry_run or brought.data == mine:
        return brought  # not even a directory is made

    def by(found: bytes | None) -> bytes | None:
        nonlocal brought
        brought = bring(found)
        return brought.data

    change(here, by, now=now(), writer=writer, reason=reason)
    return brought


def agreed(question: str, *, otherwise: str = _NOT_TAKEN) -> bool:
    """Ask; without a terminal the answer is no, nobody waits, and *otherwise* is said."""
    if not sys.stdin.isatty():
        print(otherwise, file=sys.stderr)
        return False
    try:
        return input(f"{question} [y/N] ").strip() in ("y", "Y", "yes")
    except EOFError:
        print()  # the question has no end of its own
        return False


def print_fact(start: str, text: str) -> None:
    """The fact's first line behind *start*, the others indented, hidden parts shown."""
    first, *more = show_hidden(text).split("\n")
    print(f"{start}{first}")
    for line in more:
        print(f"    {line}")


def fact_as_dict(path: str, fact: Fact) -> dict[str, Any]:
    """As JSON values; the names are stable."""
    return {"path": path, "line": fact.line, "text": fact.text}


def remark_secrets(path: str, facts: Iterable[Fact]) -> None:
    """Say on stderr where one of *facts* looks like it holds a secret."""
    from openhands_memory.secrets import find_secrets

    for fact in facts:
        kinds = sorted({secret.kind for secret in find_secrets(fact.text)})
        if kinds:
            named = ", ".join(kinds)
            what = f"looks like it holds a secret ({named})"
            print(f"{path}:{fact.line}: {what}", file=sys.stderr)
