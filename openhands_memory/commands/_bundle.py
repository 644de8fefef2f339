"""A bundle brought back: what `import --bundle` does."""

import argparse
import os
import sys

from openhands_memory import store
from openhands_memory.commands._transfer import (
    agreed,
    print_fact,
    remark_secrets,
    take,
)
from openhands_memory.commands._words import count
from openhands_memory.commands._writes import tier_place
from openhands_memory.errors import MemoryFileError
from openhands_memory.layout import TierPlace
from openhands_memory.upkeep.bundle import parse_bundle
from openhands_memory.upkeep.tier_files import (
    MAX_FILE_BYTES,
    file_place,
    is_tier_file,
    place_at,
    read_file,
)
from openhands_memory.upkeep.transfer import Brought, TransferRefusedError, bring_in

__all__ = ["import_bundle"]

_MAX_BUNDLE_BYTES = 64 * 1024 * 1024
_DONE, _NOT_ALL = 0, 1


def import_bundle(args: argparse.Namespace) -> int:
    """Bring the files of a bundle into a tier: new ones as they are, others merged."""
    index = tier_place(args)
    files = _read(args.bundle, index)
    changes = missed = 0
    for name, data in files.items():
        change, problem = _take(index, name, data, args, dry_run=True)
        changes += change
        missed += problem
    if not changes:
        print("nothing to take: all of it is here", file=sys.stderr)
        return _NOT_ALL if missed else _DONE
    question = f"Bring {count(changes, 'file')} into {index.directory}?"
    if not args.yes and not agreed(question):
        return _NOT_ALL
    for name, data in files.items():
        _take(index, name, data, args, dry_run=False)
    print(f"brought {count(changes, 'file')} into {index.directory}", file=sys.stderr)
    return _NOT_ALL if missed else _DONE


def _read(path: str, index: TierPlace) -> dict[str, bytes]:
    place = place_at(os.path.abspath(os.path.expanduser(path)))
    try:
        data = store.read_bytes(place, _MAX_BUNDLE_BYTES)
    except FileNotFoundError:
        raise MemoryFileError(path, "does not exist") from None
    return parse_bundle(
        data,
        is_allowed=lambda name: is_tier_file(name, index.below[-1]),
        most_bytes=MAX_FILE_BYTES,
    )


def _take(
    index: TierPlace, name: str, data: bytes, args: argparse.Namespace, *, dry_run: bool
) -> tuple[bool, bool]:
    """Whether the file is changed, and whether something of it cannot be taken."""
    here = file_place(index, name)
    mine = read_file(here)
    if mine is not None and mine != data and "/" in name:
        # A rollout summary is one text, no list of facts.
        if dry_run:
            print(f"kept as it is here: {name}, which differs", file=sys.stderr)
        return False, True
    try:
        brought = take(
            here,
            lambda found: _bring(found, data),
            writer="import",
            reason=f"brought back from {os.path.basename(args.bundle)}",
            dry_run=dry_run,
        )
    except TransferRefusedError as error:
        if dry_run:
            print(f"not merged: {name}: {error}", file=sys.stderr)
        return False, True
    if dry_run and mine is None:
        print(f"{name}: new, {count(len(data), 'byte')}")
    for fact in brought.taken if dry_run else ():
        print_fact(f"{name}:{fact.line}: ", fact.text)
    if dry_run:
        remark_secrets(name, brought.taken)
    return mine is None or bool(brought.taken), False


def _bring(mine: bytes | None, data: bytes) -> Brought:
    """A file that is not here comes byte for byte, whatever is in it."""
    if mine is None or mine == data:
        return Brought(data, (), 0)
    return bring_in(mine, data)
