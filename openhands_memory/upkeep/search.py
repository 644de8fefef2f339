"""Words into ranked entries: how text is cut, compared and weighed.

Pure: texts and numbers in, values out. `search_index` finds and reads the files. There
is no model, no list of languages and no query language here: quotes and operators are
ordinary characters, any word may match, and the order says how well.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date as Day
from math import log
from os import PathLike
from pathlib import PurePath
from typing import Final

from openhands_memory.errors import MemoryToolError
from openhands_memory.upkeep.document import Entry
from openhands_memory.upkeep.terms import (
    MONTHS,
    RUN,
    STOP_WORDS,
    date_terms,
    split_words,
    terms,
    word_terms,
)

__all__ = [
    "MAX_QUERY_TERMS",
    "MAX_TEXT",
    "REACH",
    "Corpus",
    "EmptyQueryError",
    "EntryTerms",
    "Hit",
    "NotSearched",
    "QueryTerm",
    "SearchFile",
    "SearchFolder",
    "SearchResult",
    "entry_terms",
    "file_terms",
    "parse_query",
    "score_entries",
]


# --- Values ---------------------------------------------------------------------------


class EmptyQueryError(MemoryToolError, ValueError):
    """A query holds no letter, digit or symbol that could be looked for."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words

    def __str__(self) -> str:
        return f"nothing to search for in {self.words!r}: give at least one word"


@dataclass(frozen=True, slots=True)
class SearchFile:
    """One file to search; *date* is that of its name, None for an index."""

    path: str | PathLike[str]
    shown_as: str
    tier: str
    date: Day | None = None


@dataclass(frozen=True, slots=True)
class SearchFolder:
    """A directory whose own Markdown files are searched, dated by their names.

    Attributes: *without* are names of files that say what others say as well.
    """

    path: str | PathLike[str]
    shown_as: str
    tier: str
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry that matches; lines are numbered from 1, as an editor does.

    A *text* of more than `MAX_TEXT` characters is cut and ends with ``[...]``.
    """

    path: str
    line: int
    end_line: int
    tier: str
    date: Day | None
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class NotSearched:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found, and what was not looked at.

    Attributes: *total* counts the hits before the limit, *searched* the files;
    *read* counts the files that had to be read now, the others came from the index.
    """

    hits: tuple[Hit, ...]
    total: int
    searched: int
    not_searched: tuple[NotSearched, ...]
    read: int = field(default=0, compare=False)


#: A hit is there to be read; the line numbers lead to the rest.
MAX_TEXT: Final = 2_000


# --- Queries and their order ----------------------------------------------------------

#: More distinct terms than this are a pasted text; the first ones say what it is about.
MAX_QUERY_TERMS: Final = 64
_PREFIX_FROM: Final = 5
_PREFIX_WEIGHT: Final = 0.3

# Weights chosen on conversations 1 to 5 of LoCoMo, see benchmarks/search_quality.py.
_SATURATION: Final = 1.2  # BM25's k1
_LENGTH: Final = 0.3  # BM25's b
_NEIGHBOURS: Final = ((-2, 0.2), (-1, 0.4), (1, 0.3))  # places away, weight
#: So far from the best entries stand all that are weighed, and their neighbours.
REACH: Final = 3
_LABEL_WEIGHT: Final = 3.0  # for "label" in "- label: text", beside its own weight
_ABOUT_WEIGHT: Final = 1.0
_COVERAGE: Final = 0.5

_LABEL: Final = re.compile(r"\W{0,8}([^:\n]{1,40}):\s")
_DATE: Final = re.compile(
    rf"(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?({'|'.join(MONTHS)})"
    r"(?:,? (\d{1,2})(?:st|nd|rd|th)?(?!\d))?,? (\d{4})\b"
)


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term to look for; *prefix* is the weight of terms that only begin with it."""

    term: str
    prefix: float = 0.0


@dataclass(frozen=True, slots=True)
class Corpus:
    """All that is searched, in numbers; *found_in* counts the entries with a term."""

    entries: int
    mean_length: float
    found_in: Mapping[str, int]

    def rarity(self, term: str) -> float:
        found = self.found_in[term]
        return log(1 + (self.entries - found + 0.5) / (found + 0.5))

    def norm(self, length: int) -> float:
        return 1 - _LENGTH + _LENGTH * length / self.mean_length


@dataclass(frozen=True, slots=True)
class EntryTerms:
    """An entry as it is weighed: its terms, the first *label* of them its label.

    *about* are terms from around it: headings, the date and the name of the file.
    """

    own: list[str]
    label: int
    about: list[str]


def entry_terms(entry: Entry, about: Iterable[str] = ()) -> EntryTerms:
    """The terms of *entry*, with those *about* its file and its headings."""
    label = _LABEL.match(entry.text)
    above = [term for title in entry.headings for term in terms(title)]
    return EntryTerms(
        terms(entry.text), len(terms(label[1])) if label else 0, [*about, *above]
    )


def file_terms(file: SearchFile) -> list[str]:
    """What the name of *file* says: its date, or the words of a summary's slug."""
    if file.date:
        return date_terms(file.date)
    name = PurePath(file.path).stem
    return [] if name.isupper() else terms(name)


def parse_query(words: str) -> tuple[QueryTerm, ...]:
    """The terms to look for in *words*, without stop words if others are left.

    Raises:
        EmptyQueryError: There is none.
    """
    spelt = split_words(words)
    kept = [w for w in spelt if w.casefold() not in STOP_WORDS] or spelt
    found = [t for word in kept for t in word_terms(word, whole_pieces=True)]
    found += _named_dates(words)
    if not found:
        raise EmptyQueryError(words)
    distinct = list(dict.fromkeys(found))[:MAX_QUERY_TERMS]
    return tuple(QueryTerm(term, _prefix_weight(term)) for term in distinct)


def _named_dates(words: str) -> Iterator[str]:
    """``May 2023`` and ``8 May 2023`` as `date_terms` has them: 202305, 20230508."""
    for before, name, after, year in _DATE.findall(" ".join(words.lower().split())):
        month = f"{year}{MONTHS.index(name) + 1:02}"
        yield month
        if before or after:
            yield f"{month}{int(before or after):02}"


def _prefix_weight(term: str) -> float:
    run = RUN.match(term)
    if run and not run[3]:  # shorter than the pieces that are indexed
        return 1.0 if len(term) < (2 if run[1] else 3) else 0.0
    return _PREFIX_WEIGHT if len(term) >= _PREFIX_FROM and not term.isdigit() else 0.0


def score_entries(
    query: Sequence[QueryTerm],
    best: Iterable[int],
    entries: Mapping[int, EntryTerms],
    corpus: Corpus,
) -> dict[int, float]:
    """How well the *best* entries and those beside them answer *query*.

    *entries* also holds the neighbours, whose numbers are next to theirs. An entry that
    has no term of its own is no answer, whatever stands beside it. The weight is BM25
    over weighted fields (Robertson, Zaragoza, Taylor, CIKM 2004) with the neighbours as
    further fields, raised by the share of the query that is met.
    """
    rarity = {q.term: corpus.rarity(q.term) for q in query}
    most = sum(rarity.values()) or 1.0
    own = {
        number: _count(query, found.own, corpus.norm(len(found.own)))
        for number, found in entries.items()
    }
    beside = {n - away for n in best for away, _ in (*_NEIGHBOURS, (0, 0.0))}
    scores: dict[int, float] = {}
    for number in beside & entries.keys():
        counts = _with_context(query, number, entries[number], own)
        met = sum(rarity[term] for term in counts)
        weight = sum(
            rarity[term] * n * (_SATURATION + 1) / (n + _SATURATION)
            for term, n in counts.items()
        )
        if weight:
            scores[number] = weight * (1 + _COVERAGE * met / most)
    return scores


def _with_context(
    query: Sequence[QueryTerm],
    number: int,
    entry: EntryTerms,
    own: Mapping[int, Mapping[str, float]],
) -> dict[str, float]:
    about = _count(query, entry.about)
    if not own[number] and not about:
        return {}
    counts = dict(own[number])
    fields = [(own.get(number + away, {}), weight) for away, weight in _NEIGHBOURS]
    fields.append((_count(query, entry.own[: entry.label]), _LABEL_WEIGHT))
    fields.append((about, _ABOUT_WEIGHT))
    for found, weight in fields:
        for term, n in found.items():
            counts[term] = counts.get(term, 0.0) + weight * n
    return counts


def _count(
    query: Sequence[QueryTerm], found: Iterable[str], norm: float = 1.0
) -> dict[str, float]:
    exact = {q.term for q in query}
    begins = tuple(q.term for q in query if q.prefix)
    counts: dict[str, float] = {}
    for term in found:
        if term in exact:
            counts[term] = counts.get(term, 0.0) + 1 / norm
        elif begins and term.startswith(begins):
            for q in query:
                if q.prefix and term.startswith(q.term):
                    counts[q.term] = counts.get(q.term, 0.0) + q.prefix / norm
    return counts
