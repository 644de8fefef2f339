"""``history``: every write of ours, newest first."""

import argparse
import os
import sys

from openhands_memory.commands._arguments import (
    add_json,
    add_memories_dir,
    add_workspace,
    places_of,
    print_json,
    whole_number,
)
from openhands_memory.errors import MemoryFileError
from openhands_memory.layout import TierPlace
from openhands_memory.upkeep.change import Holds, history_of
from openhands_memory.upkeep.history import HistoryEntry
from openhands_memory.upkeep.tier_files import read_file

EXAMPLE = "openhands-memory history --limit 5"

_SHOWN, _NOTHING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace(parser)
    add_memories_dir(parser)
    parser.add_argument(
        "--limit", metavar="N", type=whole_number, help="only the newest N writes"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    entries = workspace_history(args)[: args.limit]
    if args.json:
        print_json([_as_dict(entry) for entry in entries])
    for entry in [] if args.json else entries:
        print(f"{entry.id}  {entry.time:%Y-%m-%d %H:%M}  {entry.writer}")
        print(f"  {entry.reason}: {entry.path}")
    if not entries and not args.json:
        print("no writes of openhands-memory here", file=sys.stderr)
    return _SHOWN if entries else _NOTHING


def workspace_history(args: argparse.Namespace) -> list[HistoryEntry]:
    """Our writes in all tiers that *args* mean, newest first."""
    found = [e for place in places_of(args) for e in history_of(place.directory)]
    return sorted(found, key=lambda entry: (entry.time, entry.id), reverse=True)


def place_of(entry: HistoryEntry, places: list[TierPlace]) -> TierPlace:
    """The place that the entry's write was made at, in the tier that it belongs to.

    Raises:
        MemoryFileError: It is in none of them.
    """
    directory, name = os.path.split(entry.path)
    real = os.path.join(os.path.realpath(directory), "")
    for place in places:
        start = os.path.join(os.path.realpath(place.directory), "")
        if real.startswith(start):
            below = (*real[len(start) : -1].split(os.sep), name)
            return place._replace(below=(*place.below[:-1], *filter(None, below)))
    raise MemoryFileError(entry.path, "is in none of the tiers here")


def what_files_hold(args: argparse.Namespace) -> Holds:
    """Tells the bytes of a write's file; None where it cannot be read."""
    places = places_of(args)

    def holds(entry: HistoryEntry) -> bytes | None:
        try:
            return read_file(place_of(entry, places))
        except MemoryFileError:
            return None

    return holds


def add_write_arguments(parser: argparse.ArgumentParser) -> None:
    """What ``diff`` and ``undo`` take: one write of ours."""
    parser.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        help="a write, from 'history' (default: the last)",
    )
    add_workspace(parser)
    add_memories_dir(parser)


def report_missing(write: str | None, *, otherwise: str) -> None:
    """Say that there is no such *write*, or *otherwise* if none was named."""
    print(f"no write {write} here" if write else otherwise, file=sys.stderr)


def _as_dict(entry: HistoryEntry) -> dict[str, str | None]:
    return {
        "id": entry.id,
        "time": entry.time.isoformat(),
        "writer": entry.writer,
        "reason": entry.reason,
        "path": entry.path,
        "undoes": entry.undoes,
    }
