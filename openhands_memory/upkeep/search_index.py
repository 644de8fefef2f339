"""The search index: a cache that is always right and may always be deleted.

Touches disk: reads the files that it is given, keeps what it learnt in one SQLite file
below the cache directory. It has no ideas about words or order, those are in `search`.
Directory times are not trusted (an edit in place does not change them), so every file
is asked for its state on every search; only those that changed are read.
"""

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unicodedata import unidata_version

from openhands_memory.layout import DAILY_LOG_PATTERN
from openhands_memory.upkeep.search import (
    Corpus,
    Entry,
    EntryTerms,
    Hit,
    NotSearched,
    QueryTerm,
    SearchFile,
    SearchResult,
    date_terms,
    entry_terms,
    parse_query,
    score_entries,
    split_entries,
    terms,
)

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["MAX_FILE_BYTES", "files_in", "read_file", "search"]

MAX_FILE_BYTES: Final = 8 * 1024 * 1024
INDEX_NAME: Final = "search.sqlite3"
#: Raise it with every change to the tables, the entries or the terms.
_SCHEMA: Final = 1
#: Fewer files are read and ranked as fast as a database is opened.
INDEX_FROM_FILES: Final = 32
#: A file that changed this shortly before it was read may change again without a trace
#: in its times ("racy git", Documentation/technical/racy-git.txt).
RACY_NS: Final = 2_000_000_000
#: How many entries SQLite's own order passes on to be weighed with their neighbours.
_POOL: Final = 300
#: Another process that is building the index is waited for this long.
_BUSY_SECONDS: Final = 5.0
_MAX_TEXT: Final = 2_000

#: An entry's number: its file's number, then its place in the file.
_PLACE_BITS: Final = 22
_HASH_BITS: Final = 25

Reader = Callable[[str, int], bytes]
Clock = Callable[[], int]


def files_in(directory: Path, *, shown_as: str, tier: str) -> list[SearchFile]:
    """The Markdown files of *directory*, dated by their names; none if it is absent.

    Raises:
        OSError: It cannot be listed.
    """
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".md"))
    except FileNotFoundError:
        return []
    base, shown = os.fspath(directory), shown_as.rstrip("/")
    return [
        SearchFile(os.path.join(base, name), f"{shown}/{name}", tier, _named_date(name))
        for name in names
    ]


def read_file(path: str, most: int) -> bytes:
    """The bytes of the regular file at *path*, no link, without ever waiting.

    Raises:
        OSError: It cannot be read, is something else, or larger than *most*.
    """
    descriptor = os.open(path, _OPEN)
    with open(descriptor, "rb", closefd=True) as file:
        state = os.fstat(descriptor)
        if problem := _problem(state, most):
            raise OSError(errno.EINVAL, problem, path)
        return file.read(most)


def search(
    words: str,
    files: Iterable[SearchFile],
    *,
    cache_dir: Path | None,
    since: Day | None = None,
    until: Day | None = None,
    tier: str | None = None,
    limit: int = 10,
    read: Reader = read_file,
    clock: Clock = time.time_ns,
) -> SearchResult:
    """Rank the entries of *files* by *words*: any word may match, the best come first.

    *cache_dir* belongs to this set of files alone; None, or one that cannot be used,
    costs time and changes nothing else. With *since* or *until*, both inclusive, files
    without a date are left out, and named. *read* takes a path and the most bytes to
    return, and raises OSError.

    Raises:
        EmptyQueryError: *words* holds nothing to look for.
    """
    query = parse_query(words)
    now = clock()
    given = {os.fspath(file.path): file for file in files}
    states, refused = _states(given)
    chosen = {
        path
        for path, file in given.items()
        if (tier is None or file.tier == tier) and _within(file.date, since, until)
    }
    sources = _Sources(given, states, read, now)
    task = _Task(query, None if len(chosen) == len(given) else chosen, limit)
    found = None
    if cache_dir and len(states) >= INDEX_FROM_FILES:
        found = _indexed(sources, task, cache_dir)
    found = found or _scanned(sources, task)
    missed = {p: why for p, why in (refused | found.refused).items() if p in chosen}
    searched = len(chosen) - len(missed)
    if since or until:
        missed |= {
            path: _UNDATED
            for path, file in given.items()
            if file.date is None and tier in (None, file.tier)
        }
    return SearchResult(
        tuple(_hit(given, hit) for hit in found.hits),
        found.total,
        searched,
        tuple(NotSearched(given[path].shown_as, why) for path, why in missed.items()),
        read=found.read,
    )
