"""The search index: a cache that is always right and may always be deleted.

Touches disk: reads the files that it is given, keeps what it learnt in one SQLite file
in the cache directory. It has no ideas about words or their weight, those are in
`search`. Directory times are not trusted, since an edit in place leaves them alone:
each file is asked for its state on each search, and only those that changed are read.
"""

import errno
import marshal
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import date as Day
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unicodedata import unidata_version
from zlib import crc32

from openhands_memory.layout import DAILY_LOG_PATTERN, HEADER_START
from openhands_memory.upkeep.document import Entry, split_entries
from openhands_memory.upkeep.search import (
    MAX_TEXT,
    REACH,
    Corpus,
    EntryTerms,
    Hit,
    NotSearched,
    QueryTerm,
    SearchFile,
    SearchFolder,
    SearchResult,
    entry_terms,
    file_terms,
    parse_query,
    score_entries,
)

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["INDEX_NAME", "MAX_FILE_BYTES", "read_file", "search"]

MAX_FILE_BYTES: Final = 8 * 1024 * 1024
INDEX_NAME: Final = "search.sqlite3"
#: Fewer files are read and ranked within milliseconds: no copy of them is kept.
INDEX_FROM_FILES: Final = 16
#: A file that changed this shortly before it was read may change again without a trace
#: in its times (git, Documentation/technical/racy-git.txt).
RACY_NS: Final = 2_000_000_000

#: Raise it with every change to the tables, the entries or the terms.
_SCHEMA: Final = 2
#: So many entries, in SQLite's order, are weighed together with their neighbours.
_POOL: Final = 100
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

_TABLES: Final = {
    "entry": (
        "CREATE VIRTUAL TABLE entry USING fts5 (own, about, label UNINDEXED,"
        " line UNINDEXED, end_line UNINDEXED, text UNINDEXED, tokenize = 'ascii')"
    ),
    "file": (
        "CREATE TABLE file (path BLOB PRIMARY KEY, id INTEGER UNIQUE, mark TEXT,"
        " settled INTEGER, digest BLOB, entries INTEGER, terms INTEGER)"
    ),
    "checked": "CREATE TABLE checked (fingerprint BLOB)",
}

Reader = Callable[[str, int], bytes]


def read_file(path: str, most: int) -> bytes:
    """The bytes of the regular file at *path*; no link is followed, nothing waits.

    Raises:
        OSError: It cannot be read, is something else, or is larger than *most*.
    """
    with open(os.open(path, _OPEN), "rb") as file:
        _check(os.fstat(file.fileno()), path, most)
        return file.read(most)


def _check(state: os.stat_result, path: str, most: int) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file", path)
    if state.st_size > most:
        found = f"is too large: {state.st_size:,} bytes; the limit is {most:,}"
        raise OSError(errno.EFBIG, found, path)


# --- One search -----------------------------------------------------------------------

#: What the file system says of a file; some of it differs after any change.
_Mark = tuple[int, int, int, int, int]


@dataclass(slots=True)
class _Sources:
    """The files as they are now, by path, and why some of them are not read."""

    places: dict[str, SearchFile | SearchFolder]
    marks: dict[str, _Mark]
    refused: dict[str, str]
    read: Reader
    now: int
    reads: int = 0

    def file(self, path: str) -> SearchFile:
        place = self.places[path]
        if isinstance(place, SearchFile):
            return place
        name = os.path.basename(path)
        shown = f"{place.shown_as.rstrip('/')}/{name}"
        return SearchFile(path, shown, place.tier, _named_day(name))

    def settled(self, path: str) -> bool:
        """Whether a later change of the file would show in its mark."""
        return self.now - max(self.marks[path][:2]) > RACY_NS

    def all_settled(self) -> bool:
        # A refused file leaves no trace in the index, so it must be tried each time.
        readable = self.refused.keys().isdisjoint(self.marks)
        return readable and all(map(self.settled, self.marks))


@dataclass(frozen=True, slots=True)
class _Task:
    query: Sequence[QueryTerm]
    chosen: Set[str] | None
    limit: int


def search(
    words: str,
    places: Iterable[SearchFile | SearchFolder],
    *,
    cache_dir: Path | None,
    since: Day | None = None,
    until: Day | None = None,
    tier: str | None = None,
    limit: int = 10,
    read: Reader = read_file,
    clock: Callable[[], int] = time.time_ns,
) -> SearchResult:
    """Rank the entries in *places* by *words*: any word may match, the best come first.

    *cache_dir* belongs to these places alone; None, or one that cannot be used, costs
    time and changes nothing else. With *since* or *until*, both inclusive, files that
    have no date are left out, and named. *read* takes a path and the most bytes to
    return, and raises OSError. What is absent is neither searched nor missed.

    Raises:
        EmptyQueryError: *words* holds nothing to look for.
    """
    query = parse_query(words)
    sources = _look(places, read, clock())
    chosen = undated = None
    if since or until or tier is not None:
        span = (since or Day.min, until or Day.max) if since or until else None
        chosen, undated = _chosen(sources, tier, span)
    task = _Task(query, chosen, max(0, limit))
    hits, total = _indexed(sources, task, cache_dir) or _scanned(sources, task)
    all_files = sources.places if chosen is None else chosen
    missed = {
        p: why for p, why in sources.refused.items() if chosen is None or p in chosen
    }
    searched = sum(path not in missed for path in all_files)
    missed |= dict.fromkeys(undated or (), _UNDATED)
    named = sorted((sources.file(path).shown_as, why) for path, why in missed.items())
    not_searched = tuple(NotSearched(shown, why) for shown, why in named)
    return SearchResult(hits, total, searched, not_searched, read=sources.reads)


def _look(
    places: Iterable[SearchFile | SearchFolder], read: Reader, now: int
) -> _Sources:
    sources = _Sources({}, {}, {}, read, now)
    singles: dict[str, SearchFile | SearchFolder] = {}
    for place in places:
        path = os.fspath(place.path)
        if isinstance(place, SearchFile):
            singles.setdefault(path, place)
        else:
            sources.places |= dict.fromkeys(_names_below(path, sources, place), place)
    sources.places |= singles
    _ask_states(sources)
    return sources


def _names_below(path: str, sources: _Sources, place: SearchFolder) -> list[str]:
    base = os.path.join(path, "")
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        return []
    except OSError as error:
        sources.refused[base] = _reason(error)
        return [base]
    return [
        base + name
        for name in names
        if name.endswith((".md", ".MD")) and name not in place.without
    ]


def _ask_states(sources: _Sources) -> None:
    ask, marks, regular = os.stat, sources.marks, stat.S_IFREG
    absent: list[str] = []
    for path in sources.places:
        try:
            s = ask(path)
            if s.st_mode & 0o170000 != regular or s.st_size > MAX_FILE_BYTES:
                _check(s, path, MAX_FILE_BYTES)
        except FileNotFoundError:
            absent.append(path)
        except OSError as error:
            sources.refused.setdefault(path, _reason(error))
        else:
            marks[path] = (s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_ino, s.st_dev)
    for path in absent:
        if os.path.islink(path):
            sources.refused[path] = "is a symbolic link to nothing"
        else:
            del sources.places[path]


def _chosen(
    sources: _Sources, tier: str | None, span: tuple[Day, Day] | None
) -> tuple[set[str], list[str]]:
    """The paths that a filter leaves, and those that it cannot judge."""
    chosen: set[str] = set()
    undated: list[str] = []
    for path, place in sources.places.items():
        if tier is not None and place.tier != tier:
            continue
        day = sources.file(path).date if span else None
        if span and day is None:
            undated.append(path)
        elif not span or not day or span[0] <= day <= span[1]:
            chosen.add(path)
    return chosen, undated


def _named_day(name: str) -> Day | None:
    if re.fullmatch(DAILY_LOG_PATTERN, name):
        with suppress(ValueError):
            return Day.fromisoformat(name[:10])
    return None


def _reason(error: OSError) -> str:
    if error.errno == errno.ELOOP:  # what O_NOFOLLOW says of every link
        return "is a symbolic link"
    return error.strerror or str(error)


Found = tuple[tuple[Hit, ...], int]


def _scanned(sources: _Sources, task: _Task) -> Found:
    """The answer of an index that is built in memory and forgotten."""
    import sqlite3

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        return _answer(db, sources, task)


def _indexed(sources: _Sources, task: _Task, cache_dir: Path | None) -> Found | None:
    """The answer of the index in *cache_dir*, or None if it cannot be used now."""
    import sqlite3

    if cache_dir is None or len(sources.marks) < INDEX_FROM_FILES:
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
        except (sqlite3.Error, AttributeError, LookupError, TypeError, ValueError) as e:
            # A damaged index can hold anything; a fault of ours shows in `_scanned`.
            sources.refused = before
            if getattr(e, "sqlite_errorcode", 0) & 0xFF in not_now:
                return None
            _remove(cache_dir / INDEX_NAME)
    return None


def _opened(path: Path) -> "Connection":
    import sqlite3

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


# --- Keeping the index right ----------------------------------------------------------


def _answer(db: "Connection", sources: _Sources, task: _Task) -> Found:
    _prepare(db)
    fingerprint = _fingerprint(sources)
    db.execute("BEGIN")
    if db.execute("SELECT * FROM checked").fetchone() != (fingerprint,):
        db.execute("ROLLBACK")
        db.execute("BEGIN IMMEDIATE")
        _update(db, sources)
        db.execute("DELETE FROM checked")
        if sources.all_settled():
            db.execute("INSERT INTO checked VALUES (?)", (fingerprint,))
    found = _find(db, sources, task)
    db.execute("COMMIT")
    return found


def _fingerprint(sources: _Sources) -> bytes:
    """One value that tells that nothing changed, ten times faster than 10,000 rows."""
    days = [
        p.date and p.date.toordinal()
        for p in sources.places.values()
        if isinstance(p, SearchFile)
    ]
    seen = (list(sources.marks), list(sources.marks.values()), days)
    return blake2b(marshal.dumps(seen, 2), digest_size=16).digest()


def _prepare(db: "Connection") -> None:
    import sqlite3

    # Another Python cuts words by other Unicode tables, so its index is not ours.
    made_by = f"{_SCHEMA} {unidata_version} {sqlite3.sqlite_version}"
    version = crc32(made_by.encode()) & 0x7FFFFFFF
    if db.execute("PRAGMA user_version").fetchone() == (version,):
        return
    db.execute("BEGIN IMMEDIATE")
    if db.execute("PRAGMA user_version").fetchone() != (version,):
        for table, definition in _TABLES.items():
            db.execute(f"DROP TABLE IF EXISTS {table}")
            db.execute(definition)
        db.execute(f"PRAGMA user_version = {version}")
    db.execute("COMMIT")


def _update(db: "Connection", sources: _Sources) -> None:
    """Read what is new or may have changed, forget what is gone."""
    known = {
        os.fsdecode(path): (number, mark if settled else None)
        for path, number, mark, settled in db.execute(
            "SELECT path, id, mark, settled FROM file"
        )
    }
    for path in known.keys() - sources.marks.keys():
        _forget(db, path)
    taken = {number for number, _ in known.values()}
    stale = [
        path
        for path in sources.marks
        if path not in known or known[path][1] != _mark(sources, path)
    ]
    # In the order of their numbers, so that SQLite fills its pages.
    for path in sorted(stale, key=lambda path: _number(sources.file(path), set())):
        _refresh(db, path, sources, taken)


def _refresh(db: "Connection", path: str, sources: _Sources, taken: set[int]) -> None:
    sources.reads += 1
    try:
        content = sources.read(path, MAX_FILE_BYTES)
        text = _decoded(content)
    except OSError as error:
        sources.refused[path] = _reason(error)
        _forget(db, path)
        return
    digest = blake2b(content, digest_size=16).digest()
    if not _confirmed(db, path, sources, digest):
        _forget(db, path)
        _learn(db, path, sources, text, digest, taken)


def _mark(sources: _Sources, path: str) -> str:
    place = sources.places[path]
    day = place.date if isinstance(place, SearchFile) else ""
    return f"{sources.marks[path]} {day}"


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    if content.count(0) * 10 > len(content):
        raise OSError(errno.EILSEQ, "is not UTF-8 text")
    return content.decode("utf-8-sig", errors="replace")


def _confirmed(db: "Connection", path: str, sources: _Sources, digest: bytes) -> bool:
    """Note the new mark of a file whose content and date are as before."""
    key, mark = os.fsencode(path), _mark(sources, path)
    row = db.execute("SELECT mark, digest FROM file WHERE path = ?", (key,)).fetchone()
    if (
        not row
        or row[1] != digest
        or row[0].rpartition(" ")[2] != mark.rpartition(" ")[2]
    ):
        return False
    sql = "UPDATE file SET mark = ?, settled = ? WHERE path = ?"
    db.execute(sql, (mark, sources.settled(path), key))
    return True


def _forget(db: "Connection", path: str) -> None:
    key = (os.fsencode(path),)
    row = db.execute("SELECT id FROM file WHERE path = ?", key).fetchone()
    if row:
        first = row[0] << _PLACE_BITS
        last = first + (1 << _PLACE_BITS) - 1
        db.execute("DELETE FROM entry WHERE rowid BETWEEN ? AND ?", (first, last))
        db.execute("DELETE FROM file WHERE path = ?", key)


def _is_header(entry: Entry) -> bool:
    """Whether *entry* says where a rollout summary comes from, and nothing of its own."""
    return entry.line == 1 and entry.text.startswith(HEADER_START)


def _learn(
    db: "Connection",
    path: str,
    sources: _Sources,
    text: str,
    digest: bytes,
    taken: set[int],
) -> None:
    file = sources.file(path)
    number = _number(file, taken)
    taken.add(number)
    around = file_terms(file)
    rows: list[tuple[object, ...]] = []
    length = 0
    entries = (e for e in split_entries(text) if not _is_header(e))
    for place, entry in enumerate(entries, start=number << _PLACE_BITS):
        found = entry_terms(entry, around)
        length += len(found.own)
        own, about = " ".join(found.own), " ".join(found.about)
        lines = (entry.line, entry.end_line, entry.text)
        rows.append((place, own, about, found.label, *lines))
    db.executemany(
        "INSERT INTO entry (rowid, own, about, label, line, end_line, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    state = (_mark(sources, path), sources.settled(path), digest)
    db.execute(
        "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?)",
        (os.fsencode(path), number, *state, len(rows), length),
    )


def _number(file: SearchFile, taken: Set[int]) -> int:
    """A number that sorts undated files first, then new before old."""
    age = 0
    if file.date:
        since_1970 = file.date.toordinal() - Day(1970, 1, 1).toordinal()
        age = _LAST_DAY - min(max(since_1970, 0), _LAST_DAY - 1)
    digest = blake2b(os.fsencode(file.path), digest_size=4).digest()
    spread = int.from_bytes(digest)
    while (number := age << _HASH_BITS | spread % (1 << _HASH_BITS)) in taken:
        spread += 1
    return number


# --- Asking it ------------------------------------------------------------------------


def _find(db: "Connection", sources: _Sources, task: _Task) -> Found:
    where = "entry MATCH ?"
    if task.chosen is not None:
        db.execute("CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)")
        db.executemany(
            "INSERT INTO chosen SELECT id FROM file WHERE path = ?",
            [(os.fsencode(path),) for path in task.chosen],
        )
        where += " AND rowid >> ? IN (SELECT id FROM chosen)"
    match = " OR ".join(_phrase(q) for q in task.query)
    given = (match,) if task.chosen is None else (match, _PLACE_BITS)
    count = f"SELECT count(*) FROM entry WHERE {where}"  # noqa: S608 - ours
    (total,) = db.execute(count, given).fetchone()
    best = f"SELECT rowid FROM entry WHERE {where} ORDER BY rank, rowid LIMIT ?"  # noqa: S608 - ours
    rows = db.execute(best, (*given, max(_POOL, task.limit)))
    pool: list[int] = [number for (number,) in rows]
    scores = score_entries(task.query, pool, _around(db, pool), _corpus(db, task.query))
    ranked = sorted(scores, key=lambda number: (-round(scores[number], 6), number))
    hits = [_hit(db, sources, n, scores[n]) for n in ranked[: task.limit]]
    return tuple(hits), total


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


def _around(db: "Connection", pool: Iterable[int]) -> dict[int, EntryTerms]:
    near = "SELECT rowid, own, label, about FROM entry WHERE rowid BETWEEN ? AND ?"
    found: dict[int, EntryTerms] = {}
    seen = -1
    for middle in sorted(pool):
        first, last = max(seen + 1, middle - REACH), middle + REACH
        for number, own, label, about in db.execute(near, (first, last)):
            found[number] = EntryTerms(own.split(), label, about.split())
        seen = last
    return found


def _hit(db: "Connection", sources: _Sources, number: int, score: float) -> Hit:
    line, end_line, text, path = db.execute(
        "SELECT line, end_line, text, path FROM entry, file"
        " WHERE entry.rowid = ? AND file.id = ?",
        (number, number >> _PLACE_BITS),
    ).fetchone()
    file = sources.file(os.fsdecode(path))
    shown = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} [...]"
    where = (file.shown_as, line, end_line, file.tier, file.date)
    return Hit(*where, text=shown, score=round(score, 4))
