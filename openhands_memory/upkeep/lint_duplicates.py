"""Facts that stand there twice, exactly or in nearly the same words.

Pure rule of `lint`. Facts that differ in a name, a number, a "not" or the order of their
words are not alike: a false alarm costs more than a miss.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from openhands_memory.upkeep.document import BULLET, Document, Entry, fact_key
from openhands_memory.upkeep.findings import Finding, finding

__all__ = [
    "fact_text",
    "find_duplicates",
    "find_tier_duplicates",
    "is_fact",
    "is_prose",
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


def is_prose(document: Document, entry: Entry) -> bool:
    """Whether *entry* is a paragraph of words."""
    lines = range(entry.line - 1, entry.end_line)
    return (
        entry.kind == "text"
        and not entry.text.startswith(_NO_PROSE)
        and not any(document.code[index] for index in lines)
    )


def _same_section(one: Entry, other: Entry) -> bool:
    return one.headings == other.headings


# --- Duplicates -------------------------------------------------------------------------


def find_duplicates(document: Document) -> Iterator[Finding]:
    """Facts that stand there twice, exactly or in nearly the same words."""
    seen: dict[str, list[Entry]] = defaultdict(list)
    fresh: list[Entry] = []
    for entry in document.entries:
        if not (is_fact(entry) or is_prose(document, entry)):
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
    return _same_section(one, other) or words >= _OWN_WORDS


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


def fact_text(entry: Entry) -> str:
    """The words of an entry, without its marker and the date it begins with."""
    text = entry.text
    for lead in (_DATE_LEAD, BULLET):
        if found := lead.match(text):
            text = text[found.end() :]
    return text.strip()


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
    order = sorted(common, key=lambda word: (common[word], word))
    rank = {word: number for number, word in enumerate(order)}
    for bag in bags:
        ranked = sorted(bag.words, key=rank.__getitem__)
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
    text = fact_text(entry)
    plain = text.casefold().replace("\u2019", "'")
    words = _WORD.findall(plain)
    # Most words are plain letters: those are seen at a glance.
    odd = (
        w for w in text.split() if not (w.isalpha() and (w.islower() or w.istitle()))
    )
    names = (token.strip("`.,;:!?()[]*_\"'") for token in odd)
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
    if not _same_section(one.entry, other.entry) and len(one.words) < _MANY_WORDS:
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
