"""Characters that a reader cannot see, and where they are ordinary spelling.

Nothing here changes a text; `sanitize` does. The rules ask for the direct neighbours
only, so that a run of hidden characters, which can carry a message, is never spelling.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

__all__ = ["HIDDEN", "is_spelling"]

#: Everything that a reader cannot see, plus the variation selectors: default-ignorable
#: code points (Unicode 15, DerivedCoreProperties), controls, bidi controls, separators
#: that are not spaces, interlinear marks and blanks that pose as letters.
HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U00013430-\U00013440\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)

_ZWSP, _ZWNJ, _ZWJ = "\u200b", "\u200c", "\u200d"
_SOFT_HYPHEN: Final = "\u00ad"
_MONGOLIAN_VOWEL_SEPARATOR: Final = "\u180e"
_BLACK_FLAG: Final = "\U0001f3f4"

#: A flag of a region: a black flag, tag letters that spell an ISO 3166-2 code, an end
#: tag (Unicode Technical Standard 51, "emoji tag sequence").
_REGION_FLAG: Final = (
    _BLACK_FLAG + "[\U000e0061-\U000e007a]{2}"
    "[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,3}\U000e007f"
)

#: Scripts whose spelling needs the joiners (Unicode 15, section 23.2): Arabic, Syriac,
#: N'Ko and their neighbours, the scripts of India, Sri Lanka, Tibet, Burma, Cambodia,
#: Mongolian, and the supplementary ones of the same families.
_JOINING_SCRIPTS: Final = (
    "[\u0600-\u08ff\u0900-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u18af\u1900-\u1aaf"
    "\u1b00-\u1c4f\ua800-\ua82f\ua840-\ua8ff\ua930-\uaaff\uabc0-\uabff\ufb50-\ufdff"
    "\ufe70-\ufefe\U00010a00-\U00010aff\U00010d00-\U00010fff\U00011000-\U00011fff"
    "\U0001e900-\U0001e95f]"
)

#: Scripts without spaces between words, which mark where a line may break (Unicode 15,
#: section 16): Thai, Lao, Burmese and its extensions, Khmer, and the Tai scripts.
_UNSPACED_SCRIPTS: Final = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua9e0-\ua9ff"
    "\uaa60-\uaadf]"
)

#: What has a text and an emoji form (Unicode 15, emoji-variation-sequences), by block,
#: and the other symbols of the same blocks.
_EMOJI_BASES: Final = (
    "[#*0-9\u00a9\u00ae\u203c\u2049\u2100-\u27ff\u2900-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001fbff]"
)

#: What has standardised variants (Unicode 16, StandardizedVariants.txt), by block: a
#: slashed zero, quotes of Sibe, letterlike and mathematical symbols, punctuation and
#: ideographs of Chinese, Japanese and Korean, Burmese, 'Phags-pa, Manichaean, Egyptian.
_VARIANT_BASES: Final = (
    "[0\u1000-\u109f\u2018\u2019\u201c\u201d\u2100-\u27ff\u2900-\u2bff\u3001\u3002"
    "\u3400-\u9fff\ua840-\ua877\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff01-\uff1f"
    "\U00010ac0-\U00010aff\U00013000-\U0001342f\U0001d49c-\U0001d4cf"
    "\U00020000-\U0003ffff]"
)


def is_spelling(text: str, at: int) -> bool:
    """Whether the hidden character at *at* is part of ordinary text where it stands."""
    char = text[at]
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if char in (_ZWJ, _ZWNJ):
        return _joins_letters(before, after) or (
            char == _ZWJ and _joins_emoji(before, after)
        )
    if char == _SOFT_HYPHEN:
        return _is_in_word(before) and _is_in_word(after)
    if char == _ZWSP:
        return _is_letter_of(before, _UNSPACED_SCRIPTS) and _is_letter_of(
            after, _UNSPACED_SCRIPTS
        )
    if "\ufe00" <= char <= "\ufe0f":
        return _takes_variation(before, char)
    if "\U000e0100" <= char <= "\U000e01ef":
        return unicodedata.name(before or " ", "").startswith("CJK ")
    if "\U000e0020" <= char <= "\U000e007f":
        return _in_region_flag(text, at)
    if char == _MONGOLIAN_VOWEL_SEPARATOR:
        word = "\u180b" <= before <= "\u18aa" and before != char
        return word and "\u1820" <= after <= "\u18aa"
    if "\u180b" <= char <= "\u180f":
        return "\u1820" <= before <= "\u18aa"
    if "\U00013430" <= char <= "\U00013440":
        return "\U00013000" <= before <= "\U0001342f"
    if char in "\u115f\u1160":
        return "\u1100" <= before <= "\u11ff" or "\u1100" <= after <= "\u11ff"
    if char == "\u2800":
        return "\u2801" <= before <= "\u28ff" or "\u2801" <= after <= "\u28ff"
    return False


def _is_in_word(char: str) -> bool:
    """Whether *char* is a letter, or an accent or a vowel sign on one, to be seen."""
    return (
        bool(char) and unicodedata.category(char)[0] in "LM" and not HIDDEN.match(char)
    )


@lru_cache(maxsize=1024)
def _is_letter_of(char: str, scripts: str) -> bool:
    return re.match(scripts, char) is not None and _is_in_word(char)


def _joins_letters(before: str, after: str) -> bool:
    return _is_letter_of(before, _JOINING_SCRIPTS) or _is_letter_of(
        after, _JOINING_SCRIPTS
    )


def _joins_emoji(before: str, after: str) -> bool:
    return _is_pictograph(before) and _is_pictograph(after, first=True)


def _is_pictograph(char: str, *, first: bool = False) -> bool:
    """Whether *char* can stand beside a joiner in an emoji sequence.

    Arrows are Sm, skin tones Sk; a selector or an end tag may close the left side.
    """
    if not char:
        return False
    if not first and char in "\ufe0f\U000e007f":
        return True
    return unicodedata.category(char) == "So" or (
        "\U0001f3fb" <= char <= "\U0001f3ff" or "\u2190" <= char <= "\u21ff"
    )


def _takes_variation(before: str, selector: str) -> bool:
    """Whether *before* has a form that *selector* asks for, roughly: by its block.

    Selectors 4 to 7 turn hieroglyphs, 8 to 14 have no use yet.
    """
    if selector >= "\ufe0e":
        return re.match(_EMOJI_BASES, before) is not None
    if selector >= "\ufe03":
        return selector <= "\ufe06" and "\U00013000" <= before <= "\U0001342f"
    return re.match(_VARIANT_BASES, before) is not None


def _in_region_flag(text: str, at: int) -> bool:
    start = text.rfind(_BLACK_FLAG, max(0, at - 6), at)
    flag = re.compile(_REGION_FLAG).match(text, start, at + 7) if start >= 0 else None
    return flag is not None and at < flag.end()
