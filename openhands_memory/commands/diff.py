"""``diff``: what one write of ours changed."""

import argparse

from openhands_memory.commands.history import (
    add_write_arguments,
    report_missing,
    what_files_hold,
    workspace_history,
)
from openhands_memory.upkeep.change import last_write

EXAMPLE = "openhands-memory diff"

_SHOWN, _NOTHING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_write_arguments(parser)


def run(args: argparse.Namespace) -> int:
    entries = workspace_history(args)
    if args.id is None:
        entry = last_write(entries, what_files_hold(args))
    else:
        entry = next((e for e in entries if e.id == args.id), None)
    if entry is None:
        report_missing(args.id, otherwise="no writes of openhands-memory here")
        return _NOTHING
    from openhands_memory.commands._diff import diff_lines  # late: needs a write

    before, after = f"{entry.path}  before", f"{entry.path}  after {entry.id}"
    for line in diff_lines(entry.written, before=before, after=after):
        print(line)
    return _SHOWN
