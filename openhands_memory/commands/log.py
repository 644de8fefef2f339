"""``log``: one note at the end of today's daily log."""

import argparse

from openhands_memory.commands._arguments import print_json
from openhands_memory.commands._writes import (
    add_line_arguments,
    now,
    refuses_secrets,
    remark_on,
    tier_place,
)
from openhands_memory.layout import log_place
from openhands_memory.upkeep.change import append_to
from openhands_memory.upkeep.facts import as_fact

EXAMPLE = 'openhands-memory log "load test at 05:00 UTC: 120 requests a second"'

_DONE, _REFUSED = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_line_arguments(parser, "the note")


def run(args: argparse.Namespace) -> int:
    note = as_fact(args.text)
    if refuses_secrets(note, force=args.force):
        return _REFUSED
    moment = now()
    remark_on(note, moment.date())
    place = log_place(tier_place(args), moment)
    written = append_to(
        place,
        f"{note}\n".encode(),
        now=moment,
        writer="log",
        reason="noted in the daily log",
    )
    line = (written.after or b"").count(b"\n")
    if args.json:
        report = {"path": place.path, "line": line}
        print_json({**report, "over_budget": None, "dropped_lines": []})
    else:
        print(f"{place.path}:{line}")
    return _DONE
