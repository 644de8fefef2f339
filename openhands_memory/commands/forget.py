"""``forget``: a fact, or a whole rollout, removed, and what search kept of it."""

import argparse
import os
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from openhands_memory.commands._arguments import add_workspace, places_of
from openhands_memory.commands._generation import add_layout
from openhands_memory.commands._search_cache import remove_caches
from openhands_memory.commands._transfer import print_fact
from openhands_memory.commands._words import count
from openhands_memory.commands._writes import now
from openhands_memory.errors import MemoryFileError
from openhands_memory.git import ask_git
from openhands_memory.layout import TierPlace
from openhands_memory.upkeep.change import change, purge
from openhands_memory.upkeep.document import decode_file, encode_file, parse_document
from openhands_memory.upkeep.items import Item, items_of, without_item
from openhands_memory.upkeep.tier_files import file_place, names_of, read_file

EXAMPLE = "openhands-memory forget .openhands/memory/MEMORY.md:12"

_DONE, _NOTHING = 0, 1
#: As search and lint print it, with a column or without.
_PATH_AND_LINE = re.compile(r"(.+?):(\d{1,9})(?::\d{1,9})?:?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "what",
        metavar="WHAT",
        nargs="?",
        help="path:line, or words that only one fact contains",
    )
    what.add_argument(
        "--rollout",
        metavar="ID",
        help="a conversation's record, by its id or ref, and what it alone supported",
    )
    parser.add_argument(
        "--tier",
        choices=("user", "project"),
        help="look for the fact only there (default: both)",
    )
    parser.add_argument(
        "--purge",
        action="store_true",
        help="also remove it from the history, with all that undo could do for the file",
    )
    add_workspace(parser)
    add_layout(parser)


class _Place(NamedTuple):
    """An item in a file, and the file's bytes as they were read."""

    file: TierPlace
    data: bytes
    item: Item

    def __str__(self) -> str:
        return f"{self.file.shown_as}:{self.item.line}"


def run(args: argparse.Namespace) -> int:
    if args.rollout is not None:
        from openhands_memory.commands._forget_rollout import forget_rollout

        return forget_rollout(args)
    index_places = [p for p in places_of(args) if args.tier in (None, p.name)]
    files = [file_place(p, name) for p in index_places for name in names_of(p)]
    found = list(_find(args.what, files, args.workspace))
    if len(found) == 1:
        _forget(found[0], purges=args.purge)
        return _DONE
    if not found:
        print(f"no fact there: {args.what}", file=sys.stderr)
        return _NOTHING
    for place in found:
        print_fact(f"{place}: ", _masked(place.item.text))
    facts = count(len(found), "fact")
    print(f"{facts} contain that; name one of them by path:line", file=sys.stderr)
    return _NOTHING


def _masked(text: str) -> str:
    from openhands_memory.secrets import mask_secrets

    return mask_secrets(text).text


def _find(what: str, files: list[TierPlace], workspace: str) -> Iterator[_Place]:
    if named := _PATH_AND_LINE.fullmatch(what):
        there = [file for file in files if _is(file, named[1], workspace)]
        if there:
            line = int(named[2])
            yield from (
                place
                for place in _items(there[:1])
                if place.item.line <= line <= place.item.own_end
            )
            return
    words = " ".join(what.casefold().split())
    for place in _items(files) if words else ():
        if words in place.item.text.casefold():
            yield place


def _is(file: TierPlace, path: str, workspace: str) -> bool:
    if path == file.shown_as:
        return True
    real = os.path.realpath(file.path)
    path = os.path.expanduser(path)
    return real in (
        os.path.realpath(path),
        os.path.realpath(os.path.join(workspace, path)),
    )


def _items(files: list[TierPlace]) -> Iterator[_Place]:
    for file in files:
        try:
            data = read_file(file) or b""
        except MemoryFileError as error:
            print(f"not looked at: {error}", file=sys.stderr)
            continue
        for item in items_of(parse_document(decode_file(data).text)):
            yield _Place(file, data, item)


def _forget(place: _Place, *, purges: bool) -> None:
    text = decode_file(place.data)
    if not text.exact:
        problem = "is no text that can be written back as it was"
        raise MemoryFileError(place.file.path, problem, "Save it as UTF-8.")
    document = parse_document(text.text)
    data = encode_file(text, without_item(document, place.item))

    def by(found: bytes | None) -> bytes:
        if found != place.data:
            raise MemoryFileError(
                place.file.path, "was changed meanwhile", "Try again."
            )
        return data

    change(
        place.file,
        by,
        now=now(),
        writer="forget",
        reason=f"forgot the fact at line {place.item.line}",
    )
    print(f"forgot {place}")
    remove_caches()
    if purges:
        words = document.lines[place.item.line - 1].strip(" \t-*+")
        gone = purge(place.file, words.encode("utf-8", "surrogateescape"))
        print(f"removed {count(gone, 'write')} from the history", file=sys.stderr)
    else:
        print("undo can bring it back, unless you use --purge", file=sys.stderr)
    if ask_git(place.file.path).tracked:
        print("git still has it in what was committed", file=sys.stderr)
