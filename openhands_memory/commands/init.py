"""``init``: memory files from templates, never overwriting any."""

import argparse
import sys

from openhands_memory.commands._arguments import add_workspace
from openhands_memory.context.resolve import tier_places
from openhands_memory.layout import TierPlace
from openhands_memory.templates import read_template
from openhands_memory.writing import create_file

EXAMPLE = "openhands-memory init --share"

_IGNORE_ALL = b"# Private: nothing in this directory is committed.\n*\n"
_NEXT = """\
next: git add .openhands/memory, and commit it
then, once in each clone, to have git merge the index fact by fact:
  git config merge.openhands-memory.driver \\
    'openhands-memory merge --driver %O %A %B %P'"""
_SHARED = {".gitignore": "gitignore", ".gitattributes": "gitattributes"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace(parser)
    parser.add_argument(
        "--tier", choices=("user", "project"), help="only this tier (default: both)"
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--private",
        action="store_true",
        help="keep the project memory out of git, with a .gitignore inside it",
    )
    kind.add_argument(
        "--share",
        action="store_true",
        help="set up what a team commits: .gitignore and .gitattributes inside it",
    )


def run(args: argparse.Namespace) -> int:
    for place in tier_places(args.workspace):
        if args.tier in (None, place.name):
            _create(place, read_template(f"{place.name}/{place.below[-1]}"))
            if place.name == "project":
                _set_up_git(place, private=args.private, share=args.share)
    if args.share:
        print(_NEXT, file=sys.stderr)
    return 0


def _set_up_git(place: TierPlace, *, private: bool, share: bool) -> None:
    if private and not _create(_beside(place, ".gitignore"), _IGNORE_ALL):
        print("that .gitignore keeps memory out only if it says '*'", file=sys.stderr)
    if share:
        for name, template in _SHARED.items():
            _create(_beside(place, name), read_template(template))


def _beside(place: TierPlace, name: str) -> TierPlace:
    return place._replace(below=(*place.below[:-1], name))


def _create(place: TierPlace, data: bytes) -> bool:
    created = create_file(place, data)
    print(f"created {place.path}" if created else f"kept    {place.path}")
    return created
