"""``undo``: take a write of ours back, byte for byte."""

import argparse
import os

from openhands_memory.commands._arguments import places_of
from openhands_memory.commands._writes import now
from openhands_memory.commands.history import (
    add_write_arguments,
    report_missing,
    workspace_history,
)
from openhands_memory.errors import MemoryFileError
from openhands_memory.layout import SELECTION_NAME, TierPlace
from openhands_memory.upkeep.change import newest_undoable, undo
from openhands_memory.upkeep.history import HistoryEntry

EXAMPLE = "openhands-memory undo"

_DONE, _NOTHING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_write_arguments(parser)


def run(args: argparse.Namespace) -> int:
    entries = workspace_history(args)
    if args.id is None:
        entry = newest_undoable(entries)
    else:
        entry = next((e for e in entries if e.id == args.id), None)
    if entry is None:
        report_missing(args.id, otherwise="nothing to undo here")
        return _NOTHING
    place = _place_of(entry, places_of(args))
    undone = undo(place, entry, now=now(), writer=_WRITER)
    selection = place._replace(below=(*place.below[:-1], SELECTION_NAME))
    if undone.after is None and os.path.exists(selection.path):
        from openhands_memory.generation.files import note_absent  # late: rarely needed

        note_absent(selection, place.below[-1], now=now())
    print(f"took back {entry.id} ({entry.reason}): {entry.path}")
    return _DONE


_WRITER = "undo"


def _place_of(entry: HistoryEntry, places: list[TierPlace]) -> TierPlace:
    """The place that the entry's write was made at, in the tier that it belongs to."""
    directory, name = os.path.split(entry.path)
    real = os.path.join(os.path.realpath(directory), "")
    for place in places:
        start = os.path.join(os.path.realpath(place.directory), "")
        if real.startswith(start):
            below = (*real[len(start) : -1].split(os.sep), name)
            return place._replace(below=(*place.below[:-1], *filter(None, below)))
    raise MemoryFileError(entry.path, "is in none of the tiers here")
