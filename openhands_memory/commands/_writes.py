"""What the writing commands share: whose file, what is refused, what is said after."""

import argparse
import sys
from datetime import date, datetime
from typing import Any

from openhands_memory.commands._arguments import add_json, add_tier, add_workspace
from openhands_memory.context.report import Memory, TierReport
from openhands_memory.context.resolve import resolve_memory, tier_places
from openhands_memory.layout import TierPlace

__all__ = [
    "add_line_arguments",
    "now",
    "refuses_secrets",
    "remark_on",
    "report_write",
    "tier_place",
]


def now() -> datetime:
    """The user's local time, asked for at each write: a process may live past midnight."""
    return datetime.now().astimezone()


def add_line_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    """What ``add`` and ``log`` take: one line of text, and whose memory it is for."""
    parser.add_argument("text", metavar="TEXT", help=f"{what}; it becomes one line")
    add_tier(parser)
    add_workspace(parser)
    parser.add_argument(
        "--force", action="store_true", help="write it although it looks like a secret"
    )
    add_json(parser)


def tier_place(args: argparse.Namespace) -> TierPlace:
    """The index that ``--workspace`` and ``--tier`` mean.

    A tier is missing only where nobody knows the user's home; the project's is there.
    """
    places = tier_places(args.workspace)
    return next((p for p in places if p.name == args.tier), places[-1])


def refuses_secrets(text: str, *, force: bool) -> bool:
    """Say which kinds of secret *text* holds; True if it must not be written."""
    from openhands_memory.secrets import find_secrets

    kinds = sorted({secret.kind for secret in find_secrets(text)})
    if not kinds:
        return False
    what = f"it looks like it holds a secret ({', '.join(kinds)})"
    if force:
        print(f"written although {what}", file=sys.stderr)
        return False
    print(f"refused: {what}; use --force if it does not", file=sys.stderr)
    return True


def remark_on(fact: str, day: date) -> None:
    """Say what lint finds in *fact*, which is written all the same."""
    from openhands_memory.upkeep.lint import lint_text

    for found in lint_text(f"{fact}\n", path="", today=day):
        if found.category != "secret":  # that was said before
            print(f"note: {found.code} {found.message}", file=sys.stderr)


def report_write(place: TierPlace, workspace: str, line: int) -> dict[str, Any]:
    """Where the fact stands, and what the budget will now drop (said on stderr)."""
    memory = resolve_memory(workspace)
    tier = next((t for t in memory.tiers if t.file == place.path), None)
    over = -memory.headroom if memory.headroom is not None else None
    dropped = tier.dropped_lines if tier else None
    if tier and tier.status == "truncated":
        print(_will_not_load(memory, tier), file=sys.stderr)
    return {
        "path": place.path,
        "line": line,
        "over_budget": over,
        "dropped_lines": None if dropped is None else [list(pair) for pair in dropped],
    }


def _will_not_load(memory: Memory, tier: TierReport) -> str:
    ranges = ", ".join(
        str(first) if first == last else f"{first}-{last}"
        for first, last in tier.dropped_lines or ()
    )
    over = -(memory.headroom or 0)
    return f"over budget by {over:,} characters: lines {ranges} will not load"
