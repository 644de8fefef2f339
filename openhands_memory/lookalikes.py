"""A text as an eye takes it: hidden characters left out, lookalikes as what they copy.

For comparing with a few words of ours, never for showing: what comes out is no spelling
of anything.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from openhands_memory.hidden import HIDDEN

__all__ = ["DRAWN_LIKE", "as_seen"]

#: Characters drawn like Latin letters and ASCII signs, script by script, for the letters
#: that the reserved words are made of (Unicode Technical Standard 39, confusables).
DRAWN_LIKE: Final = {
    copy: ord(original)
    for copies, originals in (
        # Cyrillic
        ("АВСЕНІЈКМОРЅТУХҮԌӀԜѴ", "ABCEHIJKMOPSTYXYGIWV"),
        ("аеорсухіјѕкмтвнпгԁԝүһӏь", "aeopcyxijskmtbhnrdwyhlb"),
        # Greek
        ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "ABEZHIKMNOPTYXC"),
        ("αβγεηικνορστυχωϲ", "abyenikvopotuxwc"),
        # Armenian, Cherokee, Lisu, Coptic
        ("ՍՏՕԼսոօհց", "USOLunohg"),
        ("ᎠᎡᎢᎪᎬᎳᎷᎻᎽᏀᏃᏒᏔᏚᏢᏟᏞᏙᏦᏴ", "DRTAEWMHYGZRWSPCLVKB"),
        ("ꓐꓑꓓꓔꓖꓗꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "BPDTGKCZFMNLSRVHWXYAEIOU"),
        ("ⲀⲂⲈⲎⲒⲔⲘⲚⲞⲢⲤⲦⲨⲬ", "ABEHIKMNOPCTYX"),
        ("ⲓⲕⲙⲛⲟⲣⲥⲧⲩⲭ", "ikmnopctyx"),
        # Signs
        ("∕⁄⧸╱⟋〳丿ノ", "////////"),
        ("ˍ▁⎽", "___"),
        ("【〔〖〘〚⟦⁅❲⟬⦋", "[[[[[[[[[["),
        ("♯⌗⋕", "###"),
    )
    for copy, original in zip(map(ord, copies), originals, strict=True)
}

#: Letters that Unicode does not take apart: small capitals, strokes and hooks, letters
#: in black squares and circles, regional indicators.
_LATIN: Final = (
    r"(?:LATIN|SYMBOL)( SMALL| CAPITAL)? LETTER (?:SMALL CAPITAL |DOTLESS )?([A-Z])"
    r"(?: WITH .+)?\Z"
)


def as_seen(text: str, at: int = 0) -> Iterator[str]:
    """The characters of *text* from *at* as an eye takes them, a space for many.

    Lazy, so that a caller stops at the first character that settles the question.
    """
    spaced = False
    for index in range(at, len(text)):
        char = text[index]
        if not char.isascii():
            char = _seen(char)
        elif not char.isprintable() and char not in "\n\t":
            continue
        if not char.isspace():
            spaced = spaced and not char
            yield from char
        elif not spaced:
            spaced = True
            yield " "


@lru_cache(maxsize=4096)
def _seen(char: str) -> str:
    """What a character outside ASCII is taken for: accents and the hidden are nothing."""
    if HIDDEN.match(char):
        return ""
    parts = unicodedata.normalize("NFKD", char.translate(DRAWN_LIKE))
    return "".join(map(_seen_part, parts.translate(DRAWN_LIKE)))


def _seen_part(char: str) -> str:
    category = unicodedata.category(char)
    if char.isascii():
        return char
    if category[0] == "M":
        return ""
    if category in ("Pc", "Pd", "Zs"):
        return {"Pc": "_", "Pd": "-", "Zs": " "}[category]
    letter = re.search(_LATIN, unicodedata.name(char, ""))
    if letter is None:
        return char
    return letter[2].lower() if letter[1] == " SMALL" else letter[2]
