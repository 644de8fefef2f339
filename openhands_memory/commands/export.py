"""``export``: a tier as one file."""

import argparse
import os
import sys

from openhands_memory.commands._arguments import add_tier, add_workspace
from openhands_memory.commands._words import count
from openhands_memory.commands._writes import tier_place
from openhands_memory.errors import MemoryFileError
from openhands_memory.layout import TierPlace
from openhands_memory.upkeep.bundle import render_bundle
from openhands_memory.upkeep.tier_files import file_place, names_of, place_at, read_file
from openhands_memory.writing import create_file

EXAMPLE = "openhands-memory export --tier user --output memory.json"

_DONE, _NOTHING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tier(parser)
    parser.add_argument(
        "--output", metavar="FILE", help="a new file (default: print the bundle)"
    )
    add_workspace(parser)


def run(args: argparse.Namespace) -> int:
    index = tier_place(args)
    files = _read(index)
    if not files:
        print(f"nothing to export in {index.directory}", file=sys.stderr)
        return _NOTHING
    bundle = render_bundle(index.name, files)
    if args.output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(bundle)
        return _DONE
    path = os.path.abspath(os.path.expanduser(args.output))
    if not create_file(place_at(path), bundle):
        problem = "exists already, and is left as it is"
        raise MemoryFileError(path, problem, "Name another file.")
    print(f"wrote {count(len(files), 'file')} to {path}", file=sys.stderr)
    return _DONE


def _read(index: TierPlace) -> dict[str, bytes]:
    """Every file, or an error: a bundle with holes in it would be taken for whole."""
    files = ((name, read_file(file_place(index, name))) for name in names_of(index))
    return {name: data for name, data in files if data is not None}
