"""What does not hold together among the facts: duplicates and contradictions.

Pure rules of `lint`. They claim only what can be shown from the words, since a false
alarm costs more than a miss: facts that differ in a name, a number or a "not" are not
alike, and values contradict each other only where one key has two.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from openhands_memory.upkeep.document import BULLET, Document, Entry, fact_key
from openhands_memory.upkeep.findings import Finding, finding

__all__ = [
    "find_contradictions",
    "find_duplicates",
    "find_tier_duplicates",
    "is_fact",
    "same_section",
]

#: Fewer words under another heading get their meaning from the heading.
_OWN_WORDS: Final = 6


def is_fact(entry: Entry) -> bool:
    """Whether *entry* is a bullet that stands for itself.

    A numbered one is a step: the same step may come twice.
    """
    return entry.kind == "bullet" and not entry.text.lstrip()[0].isdigit()


#: Comments, link definitions, tables, indented code.
_NO_PROSE: Final = ("<", "[", "|", "    ", "\t")


def _is_prose(document: Document, entry: Entry) -> bool:
    """Whether *entry* is a paragraph of words."""
    lines = range(entry.line - 1, entry.end_line)
    return (
        entry.kind == "text"
        and not entry.text.startswith(_NO_PROSE)
        and not any(document.code[index] for index in lines)
    )


def same_section(one: Entry, other: Entry) -> bool:
    return one.headings == other.headings


# --- Duplicates -------------------------------------------------------------------------


def find_duplicates(document: Document) -> Iterator[Finding]:
    """Facts that stand there twice, exactly or in nearly the same words."""
    seen: dict[str, list[Entry]] = defaultdict(list)
    fresh: list[Entry] = []
    for entry in document.entries:
        if not (is_fact(entry) or _is_prose(document, entry)):
            continue
        key = fact_key(entry)
        twin = next((e for e in seen[key] if _is_twin(e, entry, key)), None)
        if twin is None:
            seen[key] = [*seen[key][-_MOST_COMPARED:], entry]
            fresh.append(entry)
        else:
            message = f"the same fact stands in line {twin.line}"
            yield finding("OM201", message, line=entry.line)
    for entry, twin in _near_twins(fresh):
        message = f"nearly the same words stand in line {twin.line}; keep one"
        yield finding("OM202", message, line=entry.line)


def find_tier_duplicates(document: Document, user: Document) -> Iterator[Finding]:
    """Facts of a project's *document* that the *user* tier holds too."""
    known = {
        key: entry.line
        for entry in user.entries
        if is_fact(entry) and len((key := fact_key(entry)).split()) >= _OWN_WORDS
    }
    for entry in document.entries:
        if is_fact(entry) and (line := known.get(fact_key(entry))):
            message = f"the user tier says the same in line {line}; both are paid for"
            yield finding("OM203", message, line=entry.line)


def _is_twin(one: Entry, other: Entry, key: str) -> bool:
    words = len(key.split())
    if other.kind == "text" and words < _OWN_WORDS:
        return False  # a rule, a table's head, a label
    return same_section(one, other) or words >= _OWN_WORDS


class _Words(NamedTuple):
    """An entry's *words*, their stems, in order; *fixed* must be alike in a twin."""

    entry: Entry
    words: dict[str, None]
    fixed: frozenset[str]


#: An entry of fewer words says too little to be like another.
_MIN_WORDS: Final = 5
#: Under another heading a fact may be worded alike and mean another thing.
_MANY_WORDS: Final = 9
#: A longer entry is a text of its own.
_MAX_CHARS: Final = 2000
#: Words that one side may have more, as a part of what both have.
_SHARED: Final = 0.8
#: Entries with the same rare word that are compared; bounded, so that time is too.
_MOST_COMPARED: Final = 6

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
#: Code, and names with a number or a mark in them: what tells two facts apart that are worded alike.
_CODE: Final = re.compile(r"`[^`\n]+`")
_NAME: Final = re.compile(r"\d|[\w)][/._@:\\-]\w|[a-z][A-Z]|\A[A-Z]{2,}\Z")
_FILLER: Final = frozenset(
    """a an the this that these those it its of in on at to for from by with as is are
    was were be been being has have had and or so then also just please always should
    must will would can could may we our you your they their i my us there here which
    who do does did when""".split()
)
#: Words that turn a sentence around, or give it another range.
_TURNS: Final = frozenset(
    """not no never none nor neither without don't doesn't didn't isn't aren't wasn't
    can't cannot won't shouldn't mustn't wouldn't couldn't before after until unless
    except only but if else all any some every each more less most least under over above
    below true false yes enable disable enabled disabled on off instead""".split()
)
_DATE_LEAD: Final = re.compile(
    r"\s*(?:[-*+]|\d{1,9}[.)])?\s*[\[(*_]*\d{4}-\d{2}(?:-\d{2})?[\])*_]*[:,.]?\s+"
)


def _near_twins(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Pairs of a later and an earlier entry whose words are nearly the same.

    Each entry is looked up by its rarest words alone: two that share four words in five
    share one of those (prefix filtering).
    """
    short = (entry for entry in entries if len(entry.text) <= _MAX_CHARS)
    bags = [bag for bag in map(_words_of, short) if len(bag.words) >= _MIN_WORDS]
    common: dict[str, int] = defaultdict(int)
    for bag in bags:
        for word in bag.words:
            common[word] += 1
    index: dict[str, list[_Words]] = defaultdict(list)
    for bag in bags:
        ranked = sorted(bag.words, key=lambda word: (common[word], word))
        rare = ranked[: len(ranked) - int(len(ranked) * _SHARED) + 1]
        near = _first_near(bag, index, rare)
        if near:
            yield bag.entry, near.entry
        for word in rare:
            if common[word] > 1:
                index[word] = [*index[word][1 - _MOST_COMPARED :], bag]


def _first_near(
    bag: _Words, index: dict[str, list[_Words]], rare: Iterable[str]
) -> _Words | None:
    for word in rare:
        for other in index.get(word, ()):
            if other.fixed == bag.fixed and _are_near(bag, other):
                return other
    return None


def _words_of(entry: Entry) -> _Words:
    text = _DATE_LEAD.sub("", entry.text, count=1)
    words = [w.replace("\u2019", "'") for w in map(str.casefold, _WORD.findall(text))]
    names = (token.strip("`.,;:!?()[]*_\"'") for token in text.split())
    fixed = {name.casefold() for name in names if _NAME.search(name)}
    fixed |= {code.casefold() for code in _CODE.findall(text)}
    fixed |= _TURNS.intersection(words)
    stems = dict.fromkeys(_stem(word) for word in words if word not in _FILLER)
    return _Words(entry, stems, frozenset(fixed))


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    """*word* without the endings that change with its place in a sentence."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def _are_near(one: _Words, other: _Words) -> bool:
    """Whether one side only says a little more, or spells a word in another way."""
    if not same_section(one.entry, other.entry) and len(one.words) < _MANY_WORDS:
        return False
    here = one.words.keys() - other.words.keys()
    there = other.words.keys() - one.words.keys()
    if [w for w in one.words if w not in here] != [
        w for w in other.words if w not in there
    ]:
        return False  # "npm instead of pnpm" has the words of its opposite
    if here and there:
        return len(here) == len(there) == 1 and _is_spelling(*here, *there)
    smaller = min(len(one.words), len(other.words))
    return len(here | there) <= smaller * (1 - _SHARED)


def _is_spelling(one: str, other: str) -> bool:
    """Whether two words differ by one letter, in words long enough for a slip."""
    if min(len(one), len(other)) < 6 or abs(len(one) - len(other)) > 1:
        return False
    start = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    tails = one[start:], other[start:]
    return tails[0][1:] in (tails[1], tails[1][1:]) or tails[1][1:] == tails[0]


# --- Contradictions ---------------------------------------------------------------------


def find_contradictions(document: Document) -> Iterator[Finding]:
    """One key with two values, and a sentence with its opposite, in one section."""
    values: dict[tuple[object, ...], tuple[str, Entry]] = {}
    claims: dict[tuple[object, ...], tuple[bool, Entry]] = {}
    for entry in document.entries:
        if not (is_fact(entry) or _is_prose(document, entry)):
            continue
        pair = _key_and_value(entry)
        if pair:
            key = (entry.headings, pair[0])
            value, first = values.setdefault(key, (pair[1], entry))
            if value != pair[1]:
                message = f"line {first.line} gives this key another value; keep one"
                yield finding("OM211", message, line=entry.line)
        claim = _claim(entry)
        if claim:
            key = (entry.headings, claim[0])
            positive, first = claims.setdefault(key, (claim[1], entry))
            if positive != claim[1]:
                message = f"line {first.line} says the opposite; keep what holds"
                yield finding("OM212", message, line=entry.line)


_KEY: Final = re.compile(
    r"(?P<key>[^\W\d_][\w ./'()-]{0,58}?|`[^`\n]{1,60}`|\*\*[^*\n]{1,60}\*\*)"
    r"(?:(?P<colon>\s*:\*{0,2}|\s*=)\s*|\s+(?:is|are)\s+(?:now\s+)?)"
    r"(?P<value>`[^`\n]{1,80}`|\S+(?: [^\W\d_]{1,12})?)\s*\Z"
)
#: What may have several values, or announces a remark.
_MANY_VALUED: Final = frozenset(
    """feature features note notes todo fixme example examples tip hint see also file files path paths
    host hosts url urls link links user users author authors owner owners name names ref
    refs reference references issue issues pr bug fix fixed fixes step steps warning
    decision rule why how what where when who question answer q a command commands cmd
    run usage test tests task tasks reason result output input error errors feat chore
    docs refactor perf style ci build revert item entry tag tags label labels alias
    dependency dependencies module package library tool option flag env added removed
    changed updated deprecated done wip key keys value member reviewer reviewers contact
    goto class function method table column field import include exclude ignore allow
    deny device server servers node service services page route endpoint header cookie
    alternative source sources target topic category type kind status""".split()
)
_PUNCTUATION: Final = "`*_\"'.,;:!"
_EXACT: Final = re.compile(r"`[^`]+`|v?\d[\w.:%/-]*(?: [^\W\d_]{1,12})?")


def _key_and_value(entry: Entry) -> tuple[str, str] | None:
    """The entry's key and its one value, if that is all that it says."""
    if "\n" in entry.text or len(entry.text) > 160:
        return None
    text = _fact_text(entry)
    found = _KEY.fullmatch(text)
    if not found:
        return None
    key = found["key"].strip("* ")
    key = key if key[0] == "`" else key.casefold().removeprefix("the ")
    value = found["value"].rstrip(".,;")
    if key.strip("`") in _MANY_VALUED or key.startswith("`-") or "," in value:
        return None
    if value.startswith("//"):
        return None  # the key was a URL's scheme
    # "The build is slow" and "is flaky" go together; numbers and code do not.
    if not found["colon"] and not _EXACT.fullmatch(value):
        return None
    # A word of prose after a colon is a remark, unless it is all there is.
    if " " in value and not _EXACT.fullmatch(value):
        return None
    value = value.strip(_PUNCTUATION).casefold()
    return (key, value) if value else None


def _fact_text(entry: Entry) -> str:
    """The words of an entry, without its marker and the date it begins with."""
    text = _DATE_LEAD.sub("", entry.text, count=1)
    return BULLET.sub("", text, count=1).strip()


_SENTENCE_END: Final = re.compile(r"(?<=[.;!?])\s+")
_SHORT_FORMS: Final = (
    (re.compile(r"\b(can)not\b"), r"\1 not"),
    (re.compile(r"\bcan't\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bno longer\b"), "not"),
)
_NEGATIONS: Final = frozenset({"not", "never", "no"})
#: Words that a sentence and its opposite need not share.
_LIGHT: Final = frozenset("a an the any do does please always ever".split())
#: A bullet is a sentence; a few words of a paragraph, or before more, are a label.
_MIN_CLAIM: Final = 2
_MIN_PART: Final = 4
_CLAIM_WORD: Final = re.compile(r"`[^`\n]*`|[^\W_][\w./'@:+-]*|[<>=%$#&|]+")


def _claim(entry: Entry) -> tuple[tuple[str, ...], bool] | None:
    """The first sentence without its negations, and whether it is positive.

    Those that follow lean on it: the same words can be about something else.
    """
    if len(entry.text) > 400 or "not only" in entry.text:
        return None
    sentence, *more = _SENTENCE_END.split(
        " ".join(_fact_text(entry).split()), maxsplit=1
    )
    if sentence.endswith(("?", ":")):
        return None
    words, negations = _without_negations(sentence)
    alone = entry.kind == "bullet" and not more
    if len(words) < (_MIN_CLAIM if alone else _MIN_PART):
        return None
    return words, negations % 2 == 0


def _without_negations(sentence: str) -> tuple[tuple[str, ...], int]:
    parts = sentence.replace("\u2019", "'").split("`")
    parts[::2] = map(str.casefold, parts[::2])
    plain = "`".join(parts)
    if "not" in plain or "n't" in plain or "no longer" in plain:
        for pattern, full in _SHORT_FORMS:
            plain = pattern.sub(full, plain)
    words = [word.rstrip(".,;:!'") for word in _CLAIM_WORD.findall(plain)]
    kept = tuple(
        word if word[:1] == "`" else _singular(word)
        for word in words
        if word not in _NEGATIONS and word not in _LIGHT
    )
    return kept, sum(word in _NEGATIONS for word in words)


def _singular(word: str) -> str:
    """A verb without its "s": "supports" is "does not support" turned around."""
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] != "s" else word
