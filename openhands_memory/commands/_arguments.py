"""Arguments that several commands share, and what they mean."""

import argparse
import os
from typing import Any, Protocol, get_args

from openhands_memory.context.resolve import tier_places
from openhands_memory.layout import TierPlace
from openhands_memory.options import (
    CHAR_BUDGET,
    MIN_CHAR_BUDGET,
    ProjectTrust,
    ReadOptions,
)

__all__ = [
    "Options",
    "add_budget",
    "add_json",
    "add_memories_dir",
    "add_reading",
    "add_settings",
    "add_tier",
    "add_workspace",
    "places_of",
    "print_json",
    "reading_of",
    "whole_number",
]


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """``--workspace``: an existing directory, the current one by default."""
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        type=_directory,
        default=".",
        help="the project's directory (default: the current one)",
    )


def _directory(value: str) -> str:
    path = os.path.expanduser(value)
    if not os.path.isdir(path):
        found = "is a file, no directory" if os.path.exists(path) else "does not exist"
        raise argparse.ArgumentTypeError(f"{value} {found}")
    return path


class Options(Protocol):
    """What takes options: a parser, or a group of one."""

    def add_argument(self, *names: str, **settings: Any) -> object: ...


def add_settings(parser: argparse.ArgumentParser) -> Options:
    """A group for how an agent's own settings differ from the default ones."""
    return parser.add_argument_group("settings of the agent, if not the default ones")


def add_memories_dir(parser: Options) -> None:
    """``--memories-dir``: the sandbox layout, and where it keeps memory."""
    parser.add_argument(
        "--memories-dir",
        metavar="DIR",
        help="the sandbox layout's directory, such as 'memories'",
    )


def add_reading(parser: argparse.ArgumentParser) -> Options:
    """The settings that decide what is read, in a group that others may join."""
    group = add_settings(parser)
    group.add_argument(
        "--search-parents",
        action="store_true",
        help="use a parent's project memory, up to git's root",
    )
    add_memories_dir(group)
    group.add_argument(
        "--project-trust",
        choices=get_args(ProjectTrust),
        default="always",
        help="whether project memory needs approval (default: always trusted)",
    )
    return group


def reading_of(args: argparse.Namespace) -> ReadOptions:
    """The options that `add_reading` and `add_budget` took."""
    return ReadOptions(
        char_budget=getattr(args, "budget", None) or CHAR_BUDGET,
        project_trust=args.project_trust,
        search_parents=args.search_parents,
        memories_dir=_memories_dir(args),
    )


def places_of(args: argparse.Namespace) -> list[TierPlace]:
    """The tiers that ``--workspace`` and ``--memories-dir`` mean."""
    return tier_places(args.workspace, ReadOptions(memories_dir=_memories_dir(args)))


def _memories_dir(args: argparse.Namespace) -> str | None:
    if args.memories_dir is None:
        return None
    from openhands_memory.config import MemoryLayoutConfig  # late: rarely needed

    return MemoryLayoutConfig(memories_dir=args.memories_dir).memories_dir


def add_budget(parser: argparse.ArgumentParser) -> None:
    """``--budget``: characters of the whole text."""
    parser.add_argument(
        "--budget",
        metavar="N",
        type=_budget,
        help="characters for the whole text (default: 6000, at least 200)",
    )


def _budget(value: str) -> int:
    budget = whole_number(value)
    if budget < MIN_CHAR_BUDGET:
        msg = f"{value} characters are too few; give at least {MIN_CHAR_BUDGET}"
        raise argparse.ArgumentTypeError(msg)
    return budget


def whole_number(value: str) -> int:
    """A number above 0, for an option such as ``--limit``."""
    if not value.isdecimal() or not int(value):
        raise argparse.ArgumentTypeError(f"{value!r} is no number such as 10")
    return int(value)


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json``: for programs."""
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def print_json(value: Any) -> None:
    """Print *value* as JSON with its own characters, indented."""
    import json  # late: most calls print no JSON

    print(json.dumps(value, ensure_ascii=False, indent=2))


def add_tier(parser: argparse.ArgumentParser) -> None:
    """``--tier``: whose memory is written; the project's by default."""
    parser.add_argument(
        "--tier",
        choices=("user", "project"),
        default="project",
        help="whose memory (default: the project's)",
    )
