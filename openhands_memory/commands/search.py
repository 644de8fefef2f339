"""``search``: ranked entries of indexes, daily logs and rollout summaries."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from openhands_memory import store
from openhands_memory.commands._arguments import (
    add_json,
    add_workspace,
    print_json,
    whole_number,
)
from openhands_memory.commands._search_cache import cache_directory
from openhands_memory.context.resolve import tier_places
from openhands_memory.layout import MERGED_NAME, SUMMARIES, TierPlace
from openhands_memory.sanitize import show_hidden
from openhands_memory.upkeep.search import SearchFolder, SearchResult
from openhands_memory.upkeep.search_index import read_file, search

EXAMPLE = "openhands-memory search staging reset --since 2026-10-01"

_FOUND, _NOTHING = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words", metavar="WORDS", nargs="+", help="any of them may match"
    )
    parser.add_argument(
        "--since", metavar="DAY", type=_day, help="daily logs from this day on"
    )
    parser.add_argument(
        "--until", metavar="DAY", type=_day, help="daily logs up to this day"
    )
    parser.add_argument(
        "--tier", choices=("user", "project"), help="only this tier (default: both)"
    )
    parser.add_argument(
        "--limit", metavar="N", type=whole_number, default=10, help="hits (default: 10)"
    )
    add_workspace(parser)
    add_json(parser)


def _day(value: str) -> date:
    try:
        return date.fromisoformat(value)
    except ValueError:
        msg = f"{value} is no day; write it like 2026-11-29"
        raise argparse.ArgumentTypeError(msg) from None


def run(args: argparse.Namespace) -> int:
    places = [place for place in tier_places(args.workspace) if _may_search(place)]
    result = search(
        " ".join(args.words),
        [folder for place in places for folder in _folders(place)],
        cache_dir=cache_directory(places),
        since=args.since,
        until=args.until,
        tier=args.tier,
        limit=args.limit,
        read=_reader(places),
    )
    if args.json:
        print_json(_as_dict(result))
    else:
        _print(result)
    return _FOUND if result.hits else _NOTHING


def _may_search(place: TierPlace) -> bool:
    if store.leads_out(place):
        print(
            f"not searched: {place.directory} leads out of {place.base}",
            file=sys.stderr,
        )
        return False
    return True


def _folders(place: TierPlace) -> Iterator[SearchFolder]:
    shown = place.shown_as.rpartition("/")[0]
    yield SearchFolder(place.directory, shown, place.name, without=(MERGED_NAME,))
    directory = os.path.join(place.directory, SUMMARIES)
    yield SearchFolder(directory, f"{shown}/{SUMMARIES}", place.name)


def _reader(places: Sequence[TierPlace]) -> Any:
    """Read an index as it is loaded, links of a user's own included; logs follow none."""
    indexes = {place.path: place for place in places}

    def read(path: str, most: int) -> bytes:
        place = indexes.get(path)
        return read_file(path, most) if place is None else store.read_bytes(place, most)

    return read


def _print(result: SearchResult) -> None:
    for hit in result.hits:
        first, *more = show_hidden(hit.text).split("\n")
        print(f"{hit.path}:{hit.line}: {first}")
        for line in more:
            print(f"    {line}")
    files = "1 file" if result.searched == 1 else f"{result.searched} files"
    if result.hits:
        shown = f"{len(result.hits)} of {result.total} hits"
        print(f"{shown} in {files}", file=sys.stderr)
    else:
        print(f"nothing found in {files}", file=sys.stderr)
    for missed in result.not_searched:
        print(f"not searched: {missed.path} {missed.reason}", file=sys.stderr)


def _as_dict(result: SearchResult) -> dict[str, Any]:
    return {
        "hits": [
            {
                "path": hit.path,
                "line": hit.line,
                "end_line": hit.end_line,
                "tier": hit.tier,
                "date": hit.date.isoformat() if hit.date else None,
                "text": hit.text,
                "score": hit.score,
            }
            for hit in result.hits
        ],
        "total": result.total,
        "searched": result.searched,
        "not_searched": [
            {"path": missed.path, "reason": missed.reason}
            for missed in result.not_searched
        ],
    }
