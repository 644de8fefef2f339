"""``show``: exactly the text that the agent will see."""

import argparse
import sys

from openhands_memory.commands._arguments import (
    add_budget,
    add_json,
    add_reading,
    add_workspace,
    print_json,
    reading_of,
)
from openhands_memory.context.report import Memory
from openhands_memory.context.resolve import resolve_memory

EXAMPLE = "openhands-memory show --budget 2000"

_SHOWN, _NOTHING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace(parser)
    add_budget(parser)
    add_reading(parser)
    parser.add_argument(
        "--tier", choices=("user", "project"), help="only this tier's part of the text"
    )
    parser.add_argument(
        "--block",
        action="store_true",
        help="the whole block, as it stands in the system prompt",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    memory = resolve_memory(args.workspace, config=reading_of(args))
    if args.tier:
        memory = _only(memory, args.tier)
    if args.json:
        print_json(memory.as_dict())
    elif memory.text is None:
        print("no memory to show; 'openhands-memory status' says why", file=sys.stderr)
    else:
        print(memory.block if args.block else memory.text)
    return _SHOWN if memory.text else _NOTHING


def _only(memory: Memory, tier: str) -> Memory:
    """*memory* with one tier's part of the text alone."""
    tiers = tuple(report for report in memory.tiers if report.name == tier)
    parts = [f"{report.heading}\n{report.text}" for report in tiers if report.text]
    return memory._replace(text="\n\n".join(parts) or None, tiers=tiers)
