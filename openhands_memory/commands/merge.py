"""``merge``: another checkout's facts, once; and the driver that git calls."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from openhands_memory.commands._arguments import (
    add_json,
    add_tier,
    add_workspace,
    print_json,
)
from openhands_memory.commands._transfer import (
    fact_as_dict,
    print_fact,
    remark_secrets,
    take,
)
from openhands_memory.commands._words import count
from openhands_memory.commands._writes import report_write, tier_place
from openhands_memory.errors import ConfigError, MemoryFileError
from openhands_memory.layout import TierPlace
from openhands_memory.upkeep.document import decode_file, encode_file
from openhands_memory.upkeep.sections import Fact
from openhands_memory.upkeep.three_way import merge_texts
from openhands_memory.upkeep.tier_files import (
    file_place,
    is_log,
    places_there,
    read_file,
)
from openhands_memory.upkeep.transfer import TransferRefusedError, bring_in

EXAMPLE = "openhands-memory merge ../shop-worktree --dry-run"

_DONE, _LEFT_OVER, _FAILED = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        help="another checkout or worktree, a memory directory, or one file",
    )
    what.add_argument(
        "--driver",
        metavar="FILE",
        nargs="+",
        help="for git, which merges with this: %%O %%A %%B %%P",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be taken, take nothing"
    )
    add_tier(parser)
    add_workspace(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.driver:
        return _drive(args.driver)
    index = tier_place(args)
    path = os.path.abspath(os.path.expanduser(args.path))
    done = _Done([], [], 0)
    for there in places_there(path, index.below[-1]):
        name = there.below[-1] if is_log(there.below[-1]) else index.below[-1]
        here = file_place(index, name)
        if os.path.realpath(there.path) == os.path.realpath(here.path):
            raise ConfigError("PATH", args.path, "that is this memory itself")
        done = _merge(done, there, here, dry_run=args.dry_run)
    _report(args, index, done)
    return _LEFT_OVER if done.missed else _DONE


class _Done(NamedTuple):
    taken: list[tuple[str, Fact]]
    missed: list[tuple[str, str]]
    present: int


def _merge(done: _Done, there: TierPlace, here: TierPlace, *, dry_run: bool) -> _Done:
    """Merge one file; one that cannot be merged does not stop the others."""
    try:
        theirs = read_file(there) or b""
        brought = take(
            here,
            lambda mine: bring_in(mine, theirs),
            writer="merge",
            reason=f"merged from {there.path}",
            dry_run=dry_run,
        )
    except TransferRefusedError as error:
        done.missed.append((there.shown_as, str(error)))
        return done
    except MemoryFileError as error:
        reason = error.problem if error.path == there.path else str(error)
        done.missed.append((there.shown_as, reason))
        return done
    done.taken.extend((there.shown_as, fact) for fact in brought.taken)
    return done._replace(present=done.present + brought.present)


def _report(args: argparse.Namespace, index: TierPlace, done: _Done) -> None:
    if args.json:
        print_json(_as_dict(done))
    for path, fact in [] if args.json else done.taken:
        print_fact(f"{path}:{fact.line}: ", fact.text)
    for path, reason in done.missed:
        print(f"not merged: {path}: {reason}", file=sys.stderr)
    for path, fact in done.taken:
        remark_secrets(path, [fact])
    took = "would take" if args.dry_run else "took"
    print(f"{took} {count(len(done.taken), 'fact')}; {_present(done)}", file=sys.stderr)
    if done.taken and not args.dry_run:
        report_write(index, args.workspace, 0)


def _present(done: _Done) -> str:
    return f"{done.present:,} {'was' if done.present == 1 else 'were'} here already"


def _as_dict(done: _Done) -> dict[str, Any]:
    return {
        "taken": [fact_as_dict(path, fact) for path, fact in done.taken],
        "present": done.present,
        "not_merged": [{"path": path, "reason": why} for path, why in done.missed],
    }


# --- The driver -------------------------------------------------------------------------


def _drive(files: Sequence[str]) -> int:
    """Merge as git asks (gitattributes(5)): the result goes where ours was."""
    if len(files) not in (3, 4):
        raise ConfigError("--driver", " ".join(files), "give it %O %A %B %P")
    base, ours, theirs = files[:3]
    name = files[3] if len(files) > 3 else ours
    try:
        versions = [decode_file(_read(path)) for path in (base, ours, theirs)]
        if any(file.looks_binary or not file.exact for file in versions):
            raise TransferRefusedError("is no text")
        merged = merge_texts(*(file.text for file in versions))
        data = encode_file(versions[1], merged.text)
    except (TransferRefusedError, UnicodeEncodeError) as error:
        print(f"{name}: merged line by line, as {error}", file=sys.stderr)
        return _merge_lines(base, ours, theirs)
    with open(ours, "wb") as file:  # git's own temporary file
        file.write(data)
    if merged.conflicts:
        facts = count(merged.conflicts, "fact")
        print(f"{name}: {facts} changed on both sides", file=sys.stderr)
    return _LEFT_OVER if merged.conflicts else _DONE


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        problem = f"could not be read: {(error.strerror or str(error)).lower()}"
        raise MemoryFileError(path, problem) from error


def _merge_lines(base: str, ours: str, theirs: str) -> int:
    """What git does with any text (git-merge-file(1))."""
    labels = ["-L", "ours", "-L", "base", "-L", "theirs"]
    command = ["git", "merge-file", "-q", *labels, "--", ours, base, theirs]
    code = subprocess.run(command, check=False).returncode  # noqa: S603
    if not code:
        return _DONE
    return _LEFT_OVER if 0 < code < 128 else _FAILED  # a count, or an error
