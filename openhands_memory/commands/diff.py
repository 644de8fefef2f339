"""``diff``: what one write of ours changed."""

import argparse

from openhands_memory.commands.history import (
    add_write_arguments,
    report_missing,
    workspace_history,
)

EXAMPLE = "openhands-memory diff"

_SHOWN, _NOTHING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_write_arguments(parser)


def run(args: argparse.Namespace) -> int:
    entries = workspace_history(args)
    entry = next((e for e in entries if args.id in (None, e.id)), None)
    if entry is None:
        report_missing(args.id, otherwise="no writes of openhands-memory here")
        return _NOTHING
    from openhands_memory.commands._diff import diff_lines  # late: needs a write

    before, after = f"{entry.path}  before", f"{entry.path}  after {entry.id}"
    for line in diff_lines(entry.written, before=before, after=after):
        print(line)
    return _SHOWN
