"""``trust``: approve a repository's project memory, or take that back."""

import argparse
import sys

from openhands_memory.commands._arguments import add_reading, add_workspace, reading_of
from openhands_memory.context.resolve import resolve_memory, tier_places
from openhands_memory.trust import approve, is_approved, revoke

EXAMPLE = "openhands-memory trust --yes"

_DONE, _NOTHING_DONE = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace(parser)
    add_reading(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--revoke", action="store_true", help="take an approval back instead"
    )


def run(args: argparse.Namespace) -> int:
    # To approve it a person must see it, whatever the agent's own setting says.
    options = reading_of(args)._replace(project_trust="always")
    place = tier_places(args.workspace, options)[-1]
    if args.revoke:
        revoked = revoke(place)
        state = "is no longer approved" if revoked else "was not approved"
        print(f"{place.path} {state}")
        return _DONE if revoked else _NOTHING_DONE
    project = resolve_memory(args.workspace, config=options).tiers[-1]
    if project.sha256 is None:
        what = "too large to approve" if project.size else "nothing to approve"
        print(f"{what}: {project.file} ({project.status})", file=sys.stderr)
        return _NOTHING_DONE
    if is_approved(place, project.sha256):
        print(f"{project.file} is approved already, as it is now")
        return _DONE
    if not args.yes and not _agreed(f"{project.heading}\n{project.text}"):
        return _NOTHING_DONE
    approve(place, project.sha256)
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
