"""Words into the terms under which they are found.

Pure. Any script: words of scripts with spaces, pieces of scripts without; names of code
by their parts; English endings and irregular forms folded. Knows no other language.
"""

import re
import unicodedata
from collections.abc import Mapping
from datetime import date as Day
from functools import cache, lru_cache
from typing import Final

__all__ = [
    "MONTHS",
    "RUN",
    "STOP_WORDS",
    "date_terms",
    "split_words",
    "terms",
    "word_terms",
]

STOP_WORDS: Final = frozenset(
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
MONTHS: Final = (
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
RUN: Final = re.compile(
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
    for word in split_words(text):
        usual = len(word) <= _USUAL_LENGTH
        found.extend(_usual_terms(word) if usual else word_terms(word))
    return found


def date_terms(day: Day) -> list[str]:
    """What a person may call *day*: its year, month, weekday, and their sums."""
    names = (MONTHS[day.month - 1], _WEEKDAYS[day.weekday()])
    return [f"{day:%Y}", f"{day:%Y%m}", f"{day:%Y%m%d}", *map(_stem, names)]


def split_words(text: str) -> list[str]:
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
    return word_terms(word)


def word_terms(word: str, *, whole_pieces: bool = False) -> tuple[str, ...]:
    found: list[str] = []
    parts = re.split(r"[-_.]", re.sub(r"'[sS]$", "", word))
    for part in parts:
        for run in RUN.finditer(part.replace("'", "")):
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
