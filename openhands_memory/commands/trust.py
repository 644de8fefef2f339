"""``trust``: approve a repository's project memory, or take that back."""

import argparse
import sys

from openhands_memory.commands._arguments import add_workspace
from openhands_memory.context.resolve import resolve_memory, tier_places
from openhands_memory.trust import approve, is_approved, revoke

EXAMPLE = "openhands-memory trust --yes"

_DONE, _NOTHING_DONE = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--revoke", action="store_true", help="take an approval back instead"
    )


def run(args: argparse.Namespace) -> int:
    base = tier_places(args.workspace)[-1].base
    if args.revoke:
        revoked = revoke(base)
        state = "is no longer approved" if revoked else "was not approved"
        print(f"the project memory of {base} {state}")
        return _DONE if revoked else _NOTHING_DONE
    project = resolve_memory(args.workspace).tiers[-1]
    if project.sha256 is None:
        print(
            f"nothing to approve: {project.file} is {project.status}", file=sys.stderr
        )
        return _NOTHING_DONE
    if is_approved(base, project.sha256):
        print(f"{project.file} is approved already, as it is now")
        return _DONE
    if not args.yes and not _agreed(f"{project.heading}\n{project.text}"):
        return _NOTHING_DONE
    approve(base, project.sha256)
    print(f"approved {project.file} as it is now")
    return _DONE


def _agreed(text: str) -> bool:
    """Show what would be approved and ask; without a terminal the answer is no."""
    if not sys.stdin.isatty():
        print(
            "not approved: there is no terminal to ask at; use --yes", file=sys.stderr
        )
        return False
    print(text)
    return input("Approve this memory for its repository? [y/N] ").strip() in ("y", "Y")
