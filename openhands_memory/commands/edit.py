"""``edit``: an index in the person's own editor, linted when they are done."""

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence

from openhands_memory.commands import lint
from openhands_memory.commands._arguments import add_tier, add_workspace
from openhands_memory.commands._writes import tier_place
from openhands_memory.layout import TierPlace
from openhands_memory.templates import read_template
from openhands_memory.upkeep.tier_files import read_file
from openhands_memory.writing import create_file

EXAMPLE = 'EDITOR="code --wait" openhands-memory edit --tier user'

_NOT_POSSIBLE = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tier(parser)
    add_workspace(parser)


def run(args: argparse.Namespace) -> int:
    command = _editor()
    if not command:
        return _NOT_POSSIBLE
    place = tier_place(args)
    _prepare(place)
    try:
        code = subprocess.run([*command, place.path], check=False).returncode  # noqa: S603
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        print(f"could not start {command[0]}: {reason}", file=sys.stderr)
        return _NOT_POSSIBLE
    if code:
        print(f"{command[0]} ended with code {code}", file=sys.stderr)
        return _NOT_POSSIBLE
    return _lint(place, args.workspace)


def _editor() -> Sequence[str]:
    """The editor and its arguments, which no shell has read."""
    name = next(
        (n for n in ("VISUAL", "EDITOR") if os.environ.get(n, "").strip()), None
    )
    if name is None:
        print("no editor is set: EDITOR=nano openhands-memory edit", file=sys.stderr)
        return ()
    try:
        return shlex.split(os.environ[name])
    except ValueError as error:
        print(f"{name} is no command: {str(error).lower()}", file=sys.stderr)
        return ()


def _prepare(place: TierPlace) -> None:
    """See that what is opened is the index: no link leads anywhere else."""
    if read_file(place) is None:
        create_file(place, read_template(f"{place.name}/{place.below[-1]}"))
        print(f"created {place.path}", file=sys.stderr)


def _lint(place: TierPlace, workspace: str) -> int:
    parser = argparse.ArgumentParser(prog="openhands-memory lint")
    lint.add_arguments(parser)
    return lint.run(parser.parse_args(["--workspace", workspace, "--", place.path]))
