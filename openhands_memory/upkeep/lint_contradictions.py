"""Facts that contradict each other, where that can be shown.

Pure rule of `lint`: one key with two values, and a sentence with its opposite, in one
section. What a person could mean in two ways is left alone, since a false alarm costs
more than a miss.
"""

import re
from collections.abc import Iterator
from typing import Final

from openhands_memory.upkeep.document import Document, Entry
from openhands_memory.upkeep.findings import Finding, finding
from openhands_memory.upkeep.lint_duplicates import fact_text, is_fact, is_prose

__all__ = ["find_contradictions"]


def find_contradictions(document: Document) -> Iterator[Finding]:
    """One key with two values, and a sentence with its opposite, in one section."""
    values: dict[tuple[object, ...], tuple[str, Entry]] = {}
    claims: dict[tuple[object, ...], tuple[bool, Entry]] = {}
    denied = _last_words_denied(document)
    for entry in document.entries:
        if not (is_fact(entry) or is_prose(document, entry)):
            continue
        text = fact_text(entry)
        pair = _key_and_value(entry, text)
        if pair:
            key = (entry.headings, pair[0])
            value, first = values.setdefault(key, (pair[1], entry))
            if value != pair[1]:
                message = f"line {first.line} gives this key another value; keep one"
                yield finding("OM211", message, line=entry.line)
        claim = _claim(entry, text) if _last_word(entry) in denied else None
        if claim:
            key = (entry.headings, claim[0])
            positive, first = claims.setdefault(key, (claim[1], entry))
            if positive != claim[1]:
                message = f"line {first.line} says the opposite; keep what holds"
                yield finding("OM212", message, line=entry.line)


_MAX_PAIR: Final = 140
_JOINT: Final = re.compile(r"[:=]|\s(?:is|are)\s")
_KEY: Final = re.compile(
    r"(?P<key>[^\W\d_][\w ./'()-]{0,58}?|`[^`\n]{1,60}`|\*\*[^*\n]{1,60}\*\*)"
    r"(?:(?P<colon>\s*:\*{0,2}|\s*=)\s*|\s+(?:is|are)\s+(?:now\s+)?)"
    r"(?P<value>`[^`\n]{1,80}`|\S+(?: [^\W\d_]{1,12})?)\s*\Z"
)
#: What may have several values, or announces a remark.
_MANY_VALUED: Final = frozenset(
    """good bad do don't ok wrong right before after old new feature features note
    notes todo fixme example examples tip hint see also file files path paths host
    hosts url urls link links user users author authors owner owners name names ref
    refs reference references issue issues pr bug fix fixed fixes step steps warning
    decision rule why how what where when who question answer q a command commands
    cmd run usage test tests task tasks reason result output input error errors feat
    chore docs refactor perf style ci build revert item entry tag tags label labels
    alias dependency dependencies module package library tool option flag env added
    removed changed updated deprecated done wip key keys value member reviewer
    reviewers contact goto class function method table column field import include
    exclude ignore allow deny device server servers node service services page route
    endpoint header cookie alternative source sources target topic category type
    kind status""".split()
)
_PUNCTUATION: Final = "`*_\"'.,;:!"
_EXACT: Final = re.compile(r"`[^`]+`|v?\d[\w.:%/-]*(?: [^\W\d_]{1,12})?")


def _key_and_value(entry: Entry, text: str) -> tuple[str, str] | None:
    """The entry's key and its one value, if that is all that it says."""
    if "\n" in entry.text or len(text) > _MAX_PAIR or not _JOINT.search(text):
        return None
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


def _claim(entry: Entry, text: str) -> tuple[tuple[str, ...], bool] | None:
    """The first sentence without its negations, and whether it is positive.

    Those that follow lean on it: the same words can be about something else.
    """
    if len(entry.text) > 400 or "not only" in entry.text:
        return None
    sentence, *more = _SENTENCE_END.split(" ".join(text.split()), maxsplit=1)
    if sentence.endswith(("?", ":")):
        return None
    words, negations = _without_negations(sentence)
    alone = entry.kind == "bullet" and not more
    if len(words) < (_MIN_CLAIM if alone else _MIN_PART):
        return None
    return words, negations % 2 == 0


_NEGATIVE: Final = re.compile(r"(?i)\b(?:not|never|no|cannot)\b|n['\u2019]t\b")


def _last_words_denied(document: Document) -> set[str]:
    """The last words of sentences with a negation: only others like them matter."""
    if not _NEGATIVE.search(document.body):
        return set()
    return {_last_word(e) for e in document.entries if _NEGATIVE.search(e.text)}


def _last_word(entry: Entry) -> str:
    """The last word of the entry's first sentence, roughly, in its plain form."""
    sentence = _SENTENCE_END.split(entry.text, maxsplit=1)[0]
    word = sentence.rstrip(" \n.,;:!*_'\"").rpartition(" ")[2].rpartition("\n")[2]
    return _singular(word.casefold().strip("`*_"))


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
