"""``init``: memory files from templates, never overwriting any."""

import argparse
import sys

from openhands_memory import store
from openhands_memory.commands._arguments import add_workspace
from openhands_memory.commands._writes import now
from openhands_memory.context.resolve import tier_places
from openhands_memory.layout import TierPlace
from openhands_memory.templates import read_template
from openhands_memory.upkeep.change import create

EXAMPLE = "openhands-memory init --share"

_DONE, _NOT_DONE = 0, 1

_IGNORE_ALL = b"# Private: nothing in this directory is committed.\n*\n"
_NEXT = """\
next: git add .openhands/memory, and commit it
then, once in each clone, to have git merge the index fact by fact:
  git config merge.openhands-memory.driver 'if command -v openhands-memory \\
    >/dev/null; then openhands-memory merge --driver %O %A %B %P; \\
    else git merge-file %A %O %B; fi'"""
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
    code = _DONE
    for place in tier_places(args.workspace):
        if args.tier in (None, place.name):
            _create(place, read_template(f"{place.name}/{place.below[-1]}"))
            if place.name == "project" and args.private:
                code = _make_private(place)
            if place.name == "project" and args.share:
                _share(place)
    return code


def _make_private(place: TierPlace) -> int:
    ignore = _beside(place, ".gitignore")
    if _create(ignore, _IGNORE_ALL) or b"*" in store.read_bytes(ignore, 4096).split():
        return _DONE
    print(
        f"not private: {ignore.path} exists and does not ignore everything; add a line "
        "that says *",
        file=sys.stderr,
    )
    return _NOT_DONE


def _share(place: TierPlace) -> None:
    for name, template in _SHARED.items():
        _create(_beside(place, name), read_template(template))
    print(_NEXT, file=sys.stderr)


def _beside(place: TierPlace, name: str) -> TierPlace:
    return place._replace(below=(*place.below[:-1], name))


def _create(place: TierPlace, data: bytes) -> bool:
    created = create(place, data, now=now(), writer="init", reason="from a template")
    print(f"created {place.path}" if created else f"kept    {place.path}")
    return created
