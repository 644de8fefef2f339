"""``add``: one fact at the end of an index."""

import argparse
import sys

from openhands_memory.commands._arguments import print_json
from openhands_memory.commands._writes import (
    add_line_arguments,
    now,
    refuses_secrets,
    remark_on,
    report_write,
    tier_place,
)
from openhands_memory.context.decode import decode
from openhands_memory.upkeep.change import change
from openhands_memory.upkeep.facts import append_line, as_fact

EXAMPLE = 'openhands-memory add "staging resets its database at 04:00 UTC"'

_DONE, _REFUSED = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_line_arguments(parser, "the fact")


def run(args: argparse.Namespace) -> int:
    fact = as_fact(args.text)
    if refuses_secrets(fact, force=args.force):
        return _REFUSED
    moment = now()
    remark_on(fact, moment.date())
    place = tier_place(args)
    written = change(
        place,
        lambda found: found if _line_of(found, fact) else append_line(found, fact),
        now=moment,
        writer="add",
        reason="added a fact",
    )
    line = _line_of(written.after, fact)
    if written.after == written.before:
        print(f"already there, at line {line}", file=sys.stderr)
    report = report_write(place, args.workspace, line)
    if args.json:
        print_json(report)
    else:
        print(f"{place.path}:{line}")
    return _DONE


def _line_of(data: bytes | None, fact: str) -> int:
    """The line of *data* that is *fact* but for white space; 0 if there is none."""
    data = data or b""
    lines = decode(data, head=data[:4], whole=True).text.split("\n")
    same = (n for n, line in enumerate(lines, 1) if " ".join(line.split()) == fact)
    return next(same, 0)
