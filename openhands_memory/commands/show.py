"""``show``: exactly the text that the agent will see."""

import argparse
import sys

from openhands_memory.commands._arguments import (
    add_budget,
    add_json,
    add_workspace,
    print_json,
)
from openhands_memory.context.resolve import resolve_memory

EXAMPLE = "openhands-memory show --budget 2000"

_SHOWN, _NOTHING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace(parser)
    add_budget(parser)
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
    memory = resolve_memory(args.workspace, char_budget=args.budget)
    if args.json:
        print_json(memory.as_dict())
        return _SHOWN if memory.text else _NOTHING
    text = memory.block if args.block else memory.text
    if args.tier:
        parts = [tier for tier in memory.tiers if tier.name == args.tier and tier.text]
        text = f"{parts[0].heading}\n{parts[0].text}" if parts else None
    if text is None:
        print("no memory to show; 'openhands-memory status' says why", file=sys.stderr)
        return _NOTHING
    print(text)
    return _SHOWN
