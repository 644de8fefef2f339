"""``undo``: take a write of ours back, byte for byte."""

import argparse
import os

from openhands_memory.commands._arguments import places_of
from openhands_memory.commands._writes import now
from openhands_memory.commands.history import (
    add_write_arguments,
    place_of,
    report_missing,
    what_files_hold,
    workspace_history,
)
from openhands_memory.layout import SELECTION_NAME
from openhands_memory.upkeep.change import newest_undoable, undo

EXAMPLE = "openhands-memory undo"

_DONE, _NOTHING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_write_arguments(parser)


def run(args: argparse.Namespace) -> int:
    entries = workspace_history(args)
    if args.id is None:
        entry = newest_undoable(entries, what_files_hold(args))
    else:
        entry = next((e for e in entries if e.id == args.id), None)
    if entry is None:
        report_missing(args.id, otherwise="nothing to undo here")
        return _NOTHING
    place = place_of(entry, places_of(args))
    undone = undo(place, entry, now=now(), writer=_WRITER)
    selection = place._replace(below=(*place.below[:-1], SELECTION_NAME))
    if undone.after is None and os.path.exists(selection.path):
        from openhands_memory.generation.files import note_absent  # late: rarely needed

        note_absent(selection, place.below[-1], now=now())
    print(f"took back {entry.id} ({entry.reason}): {entry.path}")
    return _DONE


_WRITER = "undo"
