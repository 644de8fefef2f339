"""Words into ranked entries: how text is cut, compared and weighed.

Pure: texts and numbers in, values out. `search_index` finds and reads the files. There
is no model, no list of languages and no query language here: quotes and operators are
ordinary characters, any word may match, and the order says how well.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date as Day
from functools import cache, lru_cache
from math import log
from os import PathLike
from pathlib import PurePath
from typing import Final

from openhands_memory.errors import MemoryToolError

__all__ = [
    "MAX_QUERY_TERMS",
    "MAX_TEXT",
    "REACH",
    "Corpus",
    "EmptyQueryError",
    "Entry",
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
    "split_entries",
    "terms",
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
    """A directory whose own Markdown files are searched, dated by their names."""

    path: str | PathLike[str]
    shown_as: str
    tier: str


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


# --- Entries --------------------------------------------------------------------------

#: A bullet that never ends would be one hit of thousands of lines.
_MAX_ENTRY_LINES: Final = 40

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_BULLET: Final = re.compile(r"(\s*)(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
#: Rules, empty bullets and the lines that fence off the generated part, stripped.
_SILENT: Final = re.compile(
    r"(?:[-*_][ \t]*){3,}|[-*+]|<!-- /?openhands-memory: \w+ -->"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A bullet, a paragraph, or a heading with its paragraph, and where it stands."""

    line: int
    end_line: int
    text: str
    headings: tuple[str, ...] = ()


def split_entries(text: str) -> Iterator[Entry]:
    """Cut *text* into entries; nested bullets and fenced code stay with theirs."""
    lines = _LINE_END.split(text)
    headings: list[tuple[int, str]] = []
    for start, end in _spans(lines):
        above = tuple(title for _, title in headings)
        if heading := _HEADING.match(lines[start]):
            depth = len(heading[1])
            headings = [h for h in headings if h[0] < depth] + [(depth, heading[2])]
            above = tuple(title for _, title in headings[:-1])
        yield Entry(start + 1, end, "\n".join(lines[start:end]).rstrip(), above)


def _spans(lines: list[str]) -> Iterator[tuple[int, int]]:
    start, end, kind, fence = -1, 0, "", ""
    for number, line in enumerate(lines):
        found = "inside" if fence else _kind(line, kind, gap=end < number)
        mark = _FENCE.match(line)
        if fence and mark and mark[1].startswith(fence) and not line.strip(" \t`~"):
            fence = ""
        elif not fence and mark:
            fence = mark[1]
        full = start >= 0 and number - start >= _MAX_ENTRY_LINES
        if start >= 0 and (full or found not in ("inside", "blank")):
            yield start, end
            start = -1
        if found in ("blank", "silent"):
            continue
        if start < 0:
            start, kind = number, kind if found == "inside" else found
        elif kind == "heading":
            kind = "text"
        if line.strip():
            end = number + 1
    if start >= 0:
        yield start, end


def _kind(line: str, kind: str, *, gap: bool) -> str:
    """What *line* is, standing after an entry of *kind*, perhaps after a *gap*."""
    if not line.strip():
        return "blank"
    if _HEADING.match(line):
        return "heading"
    if _SILENT.fullmatch(line.strip()):
        return "silent"
    nested = kind == "bullet" and line.startswith(("  ", "\t"))
    if nested or (not gap and kind and not _BULLET.match(line)):
        return "inside"
    if _BULLET.match(line):
        return "bullet"
    return "inside" if kind == "heading" else "text"


# --- Terms ----------------------------------------------------------------------------

_STOP_WORDS: Final = frozenset(
    """a about after again all also am an and any are aren't as at be because been
    before being both but by can can't could couldn't did didn't do does doesn't doing
    don't down during each few for from further had has have haven't having he her here
    hers him his how how's i i'm i've if in into is isn't it it's its just let let's me
    more most my no nor not of off on once only or other our out over own same she
    should so some such than that that's the their them then there there's these they
    this those through to too under until up us very was wasn't we were what what's when
    where where's which while who who's whom whose why will with won't would you your
    yes""".split()
)

#: Forms that no suffix rule leads back to the first of their line.
_IRREGULAR: Final = """become became|begin began begun|bite bit bitten|bleed bled
    |blow blew blown|break broke broken|breed bred|bring brought|build built
    |burn burnt|buy bought|catch caught|choose chose chosen|cling clung|come came
    |creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk
    |drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought
    |find found|flee fled|fly flew flown|forbid forbade forbidden
    |forget forgot forgotten|forgive forgave forgiven|freeze froze frozen
    |get got gotten|give gave given|go went gone|grow grew grown|hang hung|hear heard
    |hide hid hidden|hold held|keep kept|kneel knelt|know knew known|lay laid|lead led
    |learn learnt|leave left|lend lent|light lit|lose lost|make made|mean meant
    |meet met|mistake mistook mistaken|pay paid|prove proven|ride rode ridden
    |ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought|sell sold
    |send sent|shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk
    |sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken
    |spend spent|spin spun|stand stood|steal stole stolen|stick stuck|strike struck
    |swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken
    |teach taught|tear tore torn|tell told|think thought|throw threw thrown
    |understand understood|wake woke woken|wear wore worn|win won|write wrote written
    |child children|man men|woman women|person people|mouse mice|foot feet|tooth teeth
    |life lives|wife wives|knife knives|leaf leaves|good better best|bad worse worst"""
_LEMMAS: Final = {
    form: forms[0]
    for forms in map(str.split, _IRREGULAR.split("|"))
    for form in forms[1:]
}
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_WEEKDAYS: Final = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
)

_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^A-Za-z\d]+")
_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9]+(?:[-_.'][A-Za-z0-9]+)*")
#: Accents and vowel points that people leave out; U+0300 and on only after a letter
#: that they decorate, so Hangul, kana and Indic signs come through.
_ACCENTS: Final = re.compile(r"[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670]")
_HIDDEN: Final = re.compile(r"[\u00ad\u200b-\u200f\u2060\ufeff]")
_LETTERS: Final = str.maketrans(
    {
        "\u2019": "'",
        "ø": "o",
        "Ø": "O",
        "ł": "l",
        "Ł": "L",
        "đ": "d",
        "Đ": "D",
        "\u0131": "i",
    }
)
#: Scripts without spaces between words, or with particles joined to them, are cut into
#: overlapping pieces: Han, kana, Hangul by two, Thai and its neighbours by three.
_BY_TWO: Final = "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7a3"
_BY_TWO_WIDE: Final = "\uf900-\ufaff\U00020000-\U0003ffff"
_BY_THREE: Final = "\u0e01-\u0e3a\u0e40-\u0edf\u1000-\u109f\u1780-\u17d3"
_RUN: Final = re.compile(
    rf"([{_BY_TWO}{_BY_TWO_WIDE}]+)|([{_BY_THREE}]+)"
    rf"|([^{_BY_TWO}{_BY_TWO_WIDE}{_BY_THREE}]+)"
)
#: Words that come again are worth remembering; the longest name is a hash or a key.
_USUAL_LENGTH: Final = 24
_LONGEST: Final = 128
_SYMBOL: Final = "\u2190-\u2bff\U0001f000-\U0001faff"


def terms(text: str) -> list[str]:
    """The terms under which *text* is found, in the order in which they stand."""
    found: list[str] = []
    for word in _words(text):
        usual = len(word) <= _USUAL_LENGTH
        found.extend(_usual_terms(word) if usual else _word_terms(word))
    return found


def date_terms(day: Day) -> list[str]:
    """What a person may call *day*: its year, month, weekday, and their sums."""
    names = (_MONTHS[day.month - 1], _WEEKDAYS[day.weekday()])
    return [f"{day:%Y}", f"{day:%Y%m}", f"{day:%Y%m%d}", *map(_stem, names)]


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text)
    plain = _HIDDEN.sub("", text.translate(_LETTERS))
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", plain))
    return _any_word().findall(unicodedata.normalize("NFKC", plain))


@cache
def _any_word() -> re.Pattern[str]:
    # Python's \w leaves out the signs without which Hindi falls into single letters.
    signs = (chr(n) for n in range(0x300, 0x12000))
    marks = "".join(c for c in signs if unicodedata.category(c) in ("Mn", "Mc"))
    letters = f"(?:[^\\W_]|[{marks}])+"
    return re.compile(f"{letters}(?:[-_.']{letters})*|[{_SYMBOL}]")


@lru_cache(maxsize=1 << 15)
def _usual_terms(word: str) -> tuple[str, ...]:
    return _word_terms(word)


def _word_terms(word: str, *, whole_pieces: bool = False) -> tuple[str, ...]:
    found: list[str] = []
    parts = re.split(r"[-_.]", re.sub(r"'[sS]$", "", word))
    for part in parts:
        for run in _RUN.finditer(part.replace("'", "")):
            if run[3]:
                found.extend(_name_terms(run[3]))
            else:
                size = 2 if run[1] else 3
                found.extend(_pieces(run[0], size, whole=whole_pieces))
    if 2 <= len(parts) <= 4:
        found.append(_stem("".join(parts).casefold()[:_LONGEST]))
    return tuple(found)


def _name_terms(name: str) -> list[str]:
    """The parts of ``loadMemory`` or ``HTTPServer2``, and the whole."""
    parts = _CAMEL.findall(name) if name.isascii() else [name]
    whole = _stem(name.casefold()[:_LONGEST])
    if len(parts) == 1 or len(parts) > 6:
        return [whole]
    return [*(_stem(part.casefold()) for part in parts), whole]


def _pieces(run: str, size: int, *, whole: bool) -> list[str]:
    last = len(run) - size + 1 if whole else len(run)
    return [run[at : at + size] for at in range(max(1, last))]


# --- Stemming: M. F. Porter, An algorithm for suffix stripping, 1980 ------------------

_SUFFIXES: Final = tuple(
    {pair.partition(":")[0]: pair.partition(":")[2] for pair in step.split()}
    for step in (
        """ational:ate tional:tion enci:ence anci:ance izer:ize abli:able alli:al
        entli:ent eli:e ousli:ous ization:ize ation:ate ator:ate alism:al iveness:ive
        fulness:ful ousness:ous aliti:al iviti:ive biliti:ble logi:log""",
        "icate:ic ative: alize:al iciti:ic ical:ic ful: ness:",
        """ement: ance: ence: able: ible: ment: ant: ent: ism: ate: iti: ous: ive: ize:
        al: er: ic: ou: ion:""",
    )
)


def _stem(word: str) -> str:
    word = _LEMMAS.get(word, word)
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _without_ending(_without_plural(word))
    if word.endswith("y") and _vowels(word[:-1]):
        word = word[:-1] + "i"
    for least, suffixes in zip((1, 1, 2), _SUFFIXES, strict=True):
        word = _without_suffix(word, suffixes, least)
    if word.endswith("e"):
        many = _measure(word[:-1])
        if many > 1 or (many == 1 and not _short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_ending(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    stem = re.sub("(ed|ing)$", "", word)
    if stem == word or not _vowels(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if re.search(r"([^aeioulsz])\1$", stem):
        return stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _short(stem) else stem


def _without_suffix(word: str, suffixes: Mapping[str, str], least: int) -> str:
    for size in range(min(7, len(word)), 1, -1):
        if (ending := suffixes.get(word[-size:])) is not None:
            stem = word[:-size]
            bare = word.endswith("ion") and not stem.endswith(("s", "t"))
            fits = _measure(stem) >= least and not bare
            return stem + ending if fits else word
    return word


def _vowels(stem: str) -> str:
    """*stem* with each y that sounds as a vowel written i; empty without a vowel."""
    spelt = re.sub("(?<=[^aeiou])y", "i", stem)
    return spelt if re.search("[aeiou]", spelt) else ""


def _measure(stem: str) -> int:
    return len(re.findall("[aeiou][^aeiou]", _vowels(stem)))


def _short(stem: str) -> bool:
    return bool(re.search("[^aeiou][aeiou][^aeiouwxy]$", _vowels(stem)))


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
    rf"(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?({'|'.join(_MONTHS)})"
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
    spelt = _words(words)
    kept = [w for w in spelt if w.casefold() not in _STOP_WORDS] or spelt
    found = [t for word in kept for t in _word_terms(word, whole_pieces=True)]
    found += _named_dates(words)
    if not found:
        raise EmptyQueryError(words)
    distinct = list(dict.fromkeys(found))[:MAX_QUERY_TERMS]
    return tuple(QueryTerm(term, _prefix_weight(term)) for term in distinct)


def _named_dates(words: str) -> Iterator[str]:
    """``May 2023`` and ``8 May 2023`` as `date_terms` has them: 202305, 20230508."""
    for before, name, after, year in _DATE.findall(" ".join(words.lower().split())):
        month = f"{year}{_MONTHS.index(name) + 1:02}"
        yield month
        if before or after:
            yield f"{month}{int(before or after):02}"


def _prefix_weight(term: str) -> float:
    run = _RUN.match(term)
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
