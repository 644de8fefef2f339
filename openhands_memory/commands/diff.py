"""``diff``: what one write of ours changed."""

import argparse

from openhands_memory.commands.history import (
    add_write_arguments,
    report_missing,
    workspace_history,
)
from openhands_memory.sanitize import show_hidden

EXAMPLE = "openhands-memory diff"

_SHOWN, _NOTHING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_write_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from difflib import unified_diff

    entries = workspace_history(args.workspace)
    entry = next((e for e in entries if args.id in (None, e.id)), None)
    if entry is None:
        report_missing(args.id, otherwise="no writes of openhands-memory here")
        return _NOTHING
    before, after = map(_lines, entry.written)
    names = (f"{entry.path}  before", f"{entry.path}  after {entry.id}")
    for line in unified_diff(before, after, *names, lineterm=""):
        print(show_hidden(line))
    return _SHOWN


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()
