"""The search index: a cache that is always right and may always be deleted.

Touches disk: reads the files that it is given, keeps what it learnt in one SQLite file
in the cache directory. It has no ideas about words or their weight, those are in
`search`. Directory times are not trusted, since an edit in place leaves them alone:
each file is asked for its state on each search, and only those that changed are read.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import date as Day
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unicodedata import unidata_version
from zlib import crc32

from openhands_memory.layout import DAILY_LOG_PATTERN
from openhands_memory.upkeep.search import (
    Corpus,
    EntryTerms,
    Hit,
    NotSearched,
    QueryTerm,
    SearchFile,
    SearchResult,
    entry_terms,
    file_terms,
    parse_query,
    score_entries,
    split_entries,
)

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["INDEX_NAME", "MAX_FILE_BYTES", "files_in", "read_file", "search"]

MAX_FILE_BYTES: Final = 8 * 1024 * 1024
INDEX_NAME: Final = "search.sqlite3"
#: Fewer files than this are read about as fast as a database is opened.
INDEX_FROM_FILES: Final = 32
#: A file that changed this shortly before it was read may change again without a trace
#: in its times (git, Documentation/technical/racy-git.txt).
RACY_NS: Final = 2_000_000_000

#: Raise it with every change to the tables, the entries or the terms.
_SCHEMA: Final = 1
#: So many entries, in SQLite's order, are weighed together with their neighbours.
_POOL: Final = 300
_BUSY_SECONDS: Final = 5.0
_UNDATED: Final = "has no date; --since and --until keep to files that have one"

#: An entry's number is its file's number and its place in the file. A file's number is
#: its age and a hash of its path, so that it does not depend on the order of reading.
_PLACE_BITS: Final = 22
_HASH_BITS: Final = 25
_LAST_DAY: Final = (1 << 16) - 1

_OPEN: Final = os.O_RDONLY | sum(
    getattr(os, name, 0)
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
)

Reader = Callable[[str, int], bytes]


def files_in(directory: Path, *, shown_as: str, tier: str) -> list[SearchFile]:
    """The Markdown files of *directory*, dated by their names; none if it is absent.

    Raises:
        OSError: It cannot be listed.
    """
    try:
        with os.scandir(directory) as found:
            names = sorted(entry.name for entry in found if entry.name.endswith(".md"))
    except FileNotFoundError:
        return []
    base, shown = os.path.join(directory, ""), shown_as.rstrip("/")  # noqa: PTH118 - 10,000 paths
    return [
        SearchFile(base + name, f"{shown}/{name}", tier, _named_day(name))
        for name in names
    ]


def _named_day(name: str) -> Day | None:
    with suppress(ValueError):
        return (
            Day.fromisoformat(name[:10]) if DAILY_LOG_PATTERN.fullmatch(name) else None
        )
    return None


def read_file(path: str, most: int) -> bytes:
    """The bytes of the regular file at *path*; no link is followed, nothing waits.

    Raises:
        OSError: It cannot be read, is something else, or is larger than *most*.
    """
    with open(os.open(path, _OPEN), "rb") as file:  # noqa: PTH123 - a descriptor
        _check(os.fstat(file.fileno()), path, most)
        return file.read(most)


def _check(state: os.stat_result, path: str | bytes, most: int) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file", path)
    if state.st_size > most:
        found = f"is too large: {state.st_size:,} bytes; the limit is {most:,}"
        raise OSError(errno.EFBIG, found, path)


# --- One search -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _State:
    """What the file system says of a file: a *mark* that differs after any change."""

    mark: str
    settled: bool


@dataclass(slots=True)
class _Sources:
    """The files by path, as they are now, and what became of them."""

    files: Mapping[bytes, SearchFile]
    states: Mapping[bytes, _State]
    refused: dict[bytes, str]
    read: Reader
    reads: int = 0


@dataclass(frozen=True, slots=True)
class _Task:
    query: Sequence[QueryTerm]
    chosen: Set[bytes]
    limit: int


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
    clock: Callable[[], int] = time.time_ns,
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
    given = {os.fsencode(file.path): file for file in files}
    in_tier = {p for p, f in given.items() if tier is None or f.tier == tier}
    chosen = in_tier
    if since or until:
        first, last = since or Day.min, until or Day.max
        chosen = {p for p in in_tier if (d := given[p].date) and first <= d <= last}
    sources = _look(given, read, clock())
    task = _Task(query, chosen, max(0, limit))
    found = _indexed(sources, task, cache_dir) or _scanned(sources, task)
    missed = {p: why for p, why in sources.refused.items() if p in chosen}
    undated = [p for p in in_tier - chosen if given[p].date is None]
    unsearched = missed | dict.fromkeys(undated, _UNDATED)
    return SearchResult(
        hits=found[0],
        total=found[1],
        searched=len(chosen) - len(missed),
        not_searched=tuple(
            NotSearched(shown, why)
            for shown, why in sorted(
                (given[p].shown_as, w) for p, w in unsearched.items()
            )
        ),
        read=sources.reads,
    )


def _look(files: Mapping[bytes, SearchFile], read: Reader, now: int) -> _Sources:
    states: dict[bytes, _State] = {}
    refused: dict[bytes, str] = {}
    for path, file in files.items():
        try:
            s = os.stat(path)  # noqa: PTH116 - 10,000 paths
            _check(s, path, MAX_FILE_BYTES)
        except OSError as error:
            refused[path] = _reason(error)
            continue
        day = file.date.toordinal() if file.date else 0
        mark = (
            f"{s.st_size} {s.st_mtime_ns} {s.st_ctime_ns} {s.st_ino} {s.st_dev} {day}"
        )
        settled = now - max(s.st_mtime_ns, s.st_ctime_ns) > RACY_NS
        states[path] = _State(mark, settled)
    return _Sources(files, states, refused, read)


def _reason(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "is a symbolic link"
    return error.strerror or str(error)


Found = tuple[tuple[Hit, ...], int]


def _scanned(sources: _Sources, task: _Task) -> Found:
    """The answer of an index that is built in memory and forgotten."""
    import sqlite3  # noqa: PLC0415 - only a search needs it

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        return _answer(db, sources, task)


def _indexed(sources: _Sources, task: _Task, cache_dir: Path | None) -> Found | None:
    """The answer of the index in *cache_dir*, or None if it cannot be used now."""
    import sqlite3  # noqa: PLC0415 - only a search needs it

    if cache_dir is None or len(sources.states) < INDEX_FROM_FILES:
        return None
    not_now = {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
    for _ in range(2):
        before = dict(sources.refused)
        try:
            with closing(_opened(cache_dir / INDEX_NAME)) as db:
                return _answer(db, sources, task)
        except OSError:
            return None
        except sqlite3.Error as error:
            sources.refused = before
            if error.sqlite_errorcode & 0xFF in not_now:
                return None
            _remove(cache_dir / INDEX_NAME)  # damaged: build it again
    return None


def _opened(path: Path) -> "Connection":
    import sqlite3  # noqa: PLC0415 - only a search needs it

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # it holds memory text
    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    return db


def _remove(path: Path) -> None:
    for ending in ("-wal", "-shm", ""):
        with suppress(OSError):
            path.with_name(path.name + ending).unlink()


# --- Keeping the index right ------------------------------------------------------------


def _answer(db: "Connection", sources: _Sources, task: _Task) -> Found:
    _prepare(db)
    db.execute("BEGIN")
    if any(_outdated(db, sources)):
        db.execute("ROLLBACK")
        db.execute("BEGIN IMMEDIATE")  # others may have written: compare again
        gone, stale = _outdated(db, sources)
        _update(db, sources, gone, stale)
    found = _find(db, sources, task)
    db.execute("COMMIT")
    return found


def _prepare(db: "Connection") -> None:
    import sqlite3  # noqa: PLC0415 - only a search needs it

    # Another Python cuts words by other Unicode tables, so its index is not ours.
    made_by = f"{_SCHEMA} {unidata_version} {sqlite3.sqlite_version}"
    version = crc32(made_by.encode()) & 0x7FFFFFFF
    if db.execute("PRAGMA user_version").fetchone() == (version,):
        return
    db.execute("BEGIN IMMEDIATE")
    if db.execute("PRAGMA user_version").fetchone() != (version,):
        db.execute("DROP TABLE IF EXISTS entry")
        db.execute("DROP TABLE IF EXISTS file")
        db.execute(
            "CREATE TABLE file (path BLOB PRIMARY KEY, id INTEGER UNIQUE, mark TEXT,"
            " settled INTEGER, digest BLOB, entries INTEGER, terms INTEGER)"
        )
        db.execute(
            "CREATE VIRTUAL TABLE entry USING fts5 (own, about, label UNINDEXED,"
            " line UNINDEXED, end_line UNINDEXED, text UNINDEXED, tokenize = 'ascii')"
        )
        db.execute(f"PRAGMA user_version = {version}")
    db.execute("COMMIT")


def _outdated(db: "Connection", sources: _Sources) -> tuple[list[bytes], list[bytes]]:
    """The files that are gone, and those that must be read."""
    rows = db.execute("SELECT path, mark FROM file WHERE settled")
    kept: dict[bytes, str] = dict(rows.fetchall())
    stale = [p for p, state in sources.states.items() if kept.get(p) != state.mark]
    known = db.execute("SELECT path FROM file")
    return [p for (p,) in known if p not in sources.states], stale


def _update(
    db: "Connection", sources: _Sources, gone: list[bytes], stale: list[bytes]
) -> None:
    for path in gone:
        _forget(db, path)
    taken: set[int] = {n for (n,) in db.execute("SELECT id FROM file")}
    for path in stale:
        try:
            sources.reads += 1
            content = sources.read(os.fsdecode(path), MAX_FILE_BYTES)
            text = _decoded(content)
        except OSError as error:
            sources.refused[path] = _reason(error)
            _forget(db, path)
            continue
        digest = blake2b(content, digest_size=16).digest()
        if not _confirmed(db, path, sources.states[path], digest):
            _forget(db, path)
            _learn(db, path, sources, text, digest, taken)


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    if content.count(0) * 10 > len(content):
        raise OSError(errno.EILSEQ, "is not UTF-8 text")
    return content.decode("utf-8-sig", errors="replace")


def _confirmed(db: "Connection", path: bytes, state: _State, digest: bytes) -> bool:
    """Note the new state of a file whose content and date are the same."""
    row = db.execute("SELECT mark, digest FROM file WHERE path = ?", (path,)).fetchone()
    if not row or row[1] != digest or row[0].split()[-1] != state.mark.split()[-1]:
        return False
    sql = "UPDATE file SET mark = ?, settled = ? WHERE path = ?"
    db.execute(sql, (state.mark, state.settled, path))
    return True


def _forget(db: "Connection", path: bytes) -> None:
    row = db.execute("SELECT id FROM file WHERE path = ?", (path,)).fetchone()
    if row:
        first = row[0] << _PLACE_BITS
        last = first + (1 << _PLACE_BITS) - 1
        db.execute("DELETE FROM entry WHERE rowid BETWEEN ? AND ?", (first, last))
        db.execute("DELETE FROM file WHERE path = ?", (path,))


def _learn(
    db: "Connection",
    path: bytes,
    sources: _Sources,
    text: str,
    digest: bytes,
    taken: set[int],
) -> None:
    state, file = sources.states[path], sources.files[path]
    number = _number(path, file.date, taken)
    taken.add(number)
    around = file_terms(file)
    rows: list[tuple[object, ...]] = []
    length = 0
    for place, entry in enumerate(split_entries(text)):
        found = entry_terms(entry, around)
        length += len(found.own)
        rows.append(
            (
                (number << _PLACE_BITS) + place,
                " ".join(found.own),
                " ".join(found.about),
                found.label,
                entry.line,
                entry.end_line,
                entry.text,
            )
        )
    db.executemany(
        "INSERT INTO entry (rowid, own, about, label, line, end_line, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    db.execute(
        "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?)",
        (path, number, state.mark, state.settled, digest, len(rows), length),
    )


def _number(path: bytes, day: Day | None, taken: Set[int]) -> int:
    """A number that sorts undated files first, then new before old."""
    age = 0
    if day:
        since_1970 = day.toordinal() - Day(1970, 1, 1).toordinal()
        age = _LAST_DAY - min(max(since_1970, 0), _LAST_DAY - 1)
    spread = int.from_bytes(blake2b(path, digest_size=4).digest())
    while (number := age << _HASH_BITS | spread % (1 << _HASH_BITS)) in taken:
        spread += 1
    return number


# --- Asking it --------------------------------------------------------------------------


def _find(db: "Connection", sources: _Sources, task: _Task) -> Found:
    where = "entry MATCH ?"
    if len(task.chosen) < len(sources.files):
        db.execute("CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)")
        db.executemany(
            "INSERT INTO chosen SELECT id FROM file WHERE path = ?",
            [(path,) for path in task.chosen],
        )
        where += f" AND rowid >> {_PLACE_BITS} IN (SELECT id FROM chosen)"
    match = " OR ".join(_phrase(q) for q in task.query)
    (total,) = db.execute(
        f"SELECT count(*) FROM entry WHERE {where}", (match,)
    ).fetchone()
    best = db.execute(
        f"SELECT rowid FROM entry WHERE {where} ORDER BY rank, rowid LIMIT ?",
        (match, max(_POOL, task.limit)),
    )
    pool: list[int] = [number for (number,) in best]
    scores = score_entries(task.query, pool, _around(db, pool), _corpus(db, task.query))
    ranked = sorted(pool, key=lambda number: (-round(scores[number], 6), number))
    found = [
        _hit(db, sources, number, scores[number]) for number in ranked[: task.limit]
    ]
    return tuple(found), total


def _phrase(term: QueryTerm) -> str:
    exact = f'"{term.term}"'
    return f"{exact} OR {exact} *" if term.prefix else exact


def _corpus(db: "Connection", query: Sequence[QueryTerm]) -> Corpus:
    entries, length = db.execute("SELECT sum(entries), sum(terms) FROM file").fetchone()
    count = "SELECT count(*) FROM entry WHERE entry MATCH ?"
    found_in: dict[str, int] = {}
    for q in query:
        (found_in[q.term],) = db.execute(count, (f'"{q.term}"',)).fetchone()
        if q.prefix and not found_in[q.term]:
            (found_in[q.term],) = db.execute(count, (f'"{q.term}" *',)).fetchone()
    return Corpus(entries or 0, (length or 0) / (entries or 1) or 1.0, found_in)


def _around(db: "Connection", pool: Sequence[int]) -> dict[int, EntryTerms]:
    near = "SELECT rowid, own, label, about FROM entry WHERE rowid BETWEEN ? AND ?"
    return {
        number: EntryTerms(own.split(), label, about.split())
        for middle in pool
        for number, own, label, about in db.execute(near, (middle - 2, middle + 1))
    }


def _hit(db: "Connection", sources: _Sources, number: int, score: float) -> Hit:
    line, end_line, text, path = db.execute(
        "SELECT line, end_line, text, path FROM entry JOIN file"
        f" ON file.id = entry.rowid >> {_PLACE_BITS} WHERE entry.rowid = ?",
        (number,),
    ).fetchone()
    file = sources.files[path]
    return Hit(
        file.shown_as, line, end_line, file.tier, file.date, text, round(score, 4)
    )
