"""Hidden characters shown, forgeries of our frame neutralised.

A memory file is untrusted text that will stand inside a frame: a block with tags and a
heading for each tier. This module keeps two promises about any text, and no others:
what a person cannot see is made visible, and no line can end or imitate the frame. It
does not judge what the text *says*; nothing here stops prompt injection by meaning.

Ordinary text comes through byte-identical, whatever its script.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

__all__ = [
    "COMPOUND_TAGS",
    "NOTICES",
    "TRUNCATION_NOTICE",
    "WORD_TAGS",
    "neutralise",
    "normalise_newlines",
    "show_hidden",
]

#: The line that says that a tier lost lines (OpenHands SDK 1.58.2, context/memory.py).
TRUNCATION_NOTICE: Final = "[earlier memory truncated]"

#: Openings of the lines that only this package writes. A file's own are escaped.
NOTICES: Final = (TRUNCATION_NOTICE, "[project memory not loaded")

#: Tags of the memory block and of the SDK's prompt sections that hold an underscore:
#: nobody writes them by chance, so every spelling is neutralised. Read off the sections
#: of OpenHands SDK 1.37.0 to 1.58.2; a test compares with the installed release.
COMPOUND_TAGS: Final = frozenset(
    {
        "MEMORY_CONTEXT",
        "UNTRUSTED_CONTENT",
        "AVAILABLE_SKILLS",
        "BROWSER_TOOLS",
        "CODE_QUALITY",
        "CURRENT_DATETIME",
        "CUSTOM_SECRETS",
        "ENVIRONMENT_SETUP",
        "EXTERNAL_SERVICES",
        "EXTRA_INFO",
        "FILE_SYSTEM_GUIDELINES",
        "IMPORTANT_PRINCIPLES",
        "PLANNING_WORKFLOW",
        "PLAN_SCOPE",
        "PLAN_STRUCTURE",
        "PROBLEM_SOLVING_WORKFLOW",
        "PROCESS_MANAGEMENT",
        "PULL_REQUESTS",
        "REPO_CONTEXT",
        "SECURITY_RISK_ASSESSMENT",
        "SELF_DOCUMENTATION",
        "VERSION_CONTROL",
    }
)

#: The sections named by one ordinary word: neutralised in capitals only, since people
#: do write `<memory>` and `Vec<Role>`.
WORD_TAGS: Final = frozenset(
    {
        "EFFICIENCY",
        "MEMORY",
        "ROLE",
        "SECURITY",
        "SKILLS",
        "SOUL",
        "TROUBLESHOOTING",
    }
)


def normalise_newlines(text: str) -> str:
    r"""Turn ``\r\n`` and a lone ``\r`` into ``\n``, as Python's text mode does."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


# --- Hidden characters ----------------------------------------------------------------

#: Everything that a reader cannot see, plus the variation selectors: default-ignorable
#: code points (Unicode 15, DerivedCoreProperties), controls, bidi controls, separators
#: that are not spaces, interlinear marks and blanks that pose as letters.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U00013430-\U00013440\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)

_ZWNJ, _ZWJ = "\u200c", "\u200d"
_SOFT_HYPHEN: Final = "\u00ad"
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


def show_hidden(text: str) -> str:
    """Show every character that a reader could not see as ``[U+XXXX]``.

    Tabs and line feeds stay; so do invisible characters where they are spelling: joiners
    beside letters of scripts that use them or between emoji, variation selectors after a
    base that takes them, flags of regions, soft hyphens inside words.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _HIDDEN.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    if _is_spelling(found.string, found.start()):
        return found[0]
    return f"[U+{ord(found[0]):04X}]"


def _is_spelling(text: str, at: int) -> bool:
    """Whether the hidden character at *at* is part of ordinary text where it stands."""
    char = text[at]
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if char in (_ZWJ, _ZWNJ):
        return _joins_letters(before, after) or (
            char == _ZWJ and _joins_emoji(before, after)
        )
    if char == _SOFT_HYPHEN:
        return before.isalpha() and after.isalpha()
    if "\ufe00" <= char <= "\ufe0f":
        return _takes_variation(before)
    if "\U000e0100" <= char <= "\U000e01ef":
        return unicodedata.name(before or " ", "").startswith("CJK ")
    if "\U000e0020" <= char <= "\U000e007f":
        return _in_region_flag(text, at)
    if "\u180b" <= char <= "\u180f" and char != "\u180e":
        return "\u1820" <= before <= "\u18aa"
    if "\U00013430" <= char <= "\U00013440":
        return "\U00013000" <= before <= "\U0001342f"
    if char in "\u115f\u1160":
        return "\u1100" <= before <= "\u11ff" or "\u1100" <= after <= "\u11ff"
    if char == "\u2800":
        return "\u2801" <= before <= "\u28ff" or "\u2801" <= after <= "\u28ff"
    return False


def _joins_letters(before: str, after: str) -> bool:
    return any(
        re.match(_JOINING_SCRIPTS, side) and unicodedata.category(side)[0] in "LM"
        for side in (before, after)
        if side
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


def _takes_variation(before: str) -> bool:
    """Whether one variation selector after *before* is ordinary.

    Keycap bases, and any visible character outside ASCII: one selector cannot hide
    text, a run of them can, and the second has a selector before it.
    """
    if not before:
        return False
    return before in "0123456789#*" or not (
        before.isascii() or before.isspace() or _HIDDEN.match(before)
    )


def _in_region_flag(text: str, at: int) -> bool:
    start = text.rfind(_BLACK_FLAG, max(0, at - 6), at)
    flag = re.match(_REGION_FLAG, text[start : at + 7]) if start >= 0 else None
    return flag is not None and at < start + flag.end()


# --- Forgeries ------------------------------------------------------------------------

#: What reads as the "<" of a tag: the character, its compatible forms, and the angle
#: brackets that stand in for it.
_OPENERS: Final = re.compile(
    "[<\uff1c\ufe64\u226e\u2039\u2329\u27e8\u3008\u276c\u276e\u2770\u02c2\u1438\u16b2"
    "\u29fc\U0001d236]"
)

#: What a tag may hold between its "<" and its name, and still be read as that tag.
_BEFORE_NAME: Final = frozenset("/\\!?|")

#: Letters of other alphabets that are drawn like Latin ones, for the letters that the
#: reserved names are made of (Unicode Technical Standard 39, confusables).
_LOOKALIKES: Final = str.maketrans(
    "АВСЕНІЈКМОРЅТУХаеорсухіјѕΑΒΕΖΗΙΚΜΝΟΡΤΥΧο",
    "ABCEHIJKMOPSTYXaeopcyxijsABEZHIKMNOPTYXo",
)

#: Also as the text of a Markdown link.
_TIER_TITLES: Final = frozenset(
    {"usermemory", "projectmemory", "[usermemory", "[projectmemory"}
)
#: What a heading may hold between its letters and still read the same.
_EMPHASIS: Final = frozenset("*`~\\")
_BARE_NOTICES: Final = frozenset(n.rstrip("]").replace(" ", "") for n in NOTICES)
#: First characters of lines that cannot be a heading, a notice or a title of ours.
_PLAIN_STARTS: Final = frozenset(map(chr, range(0x21, 0x7F))) - set("#[uUpP")
_SETEXT_RULE: Final = r"[ \t]*(=+|-+)[ \t]*\Z"


def neutralise(text: str) -> str:
    """Take from every line the power to end or imitate the frame.

    The ``<`` of a reserved tag becomes ``&lt;``; a line that imitates a tier heading or
    one of our notices gets a backslash in front. Expects ``\\n`` line ends; applying it
    twice changes nothing more.
    """
    return _escape_lines(_escape_tags(text))


def _escape_tags(text: str) -> str:
    if text.isascii() and "<" not in text:
        return text
    return _OPENERS.sub(
        lambda m: "&lt;" if _opens_reserved_tag(m.string, m.end()) else m[0], text
    )


def _opens_reserved_tag(text: str, at: int) -> bool:
    letters = ""
    spaced = False
    for char in _skeleton(text, at):
        if char.isspace() or (not letters and char in _BEFORE_NAME):
            spaced = spaced or bool(letters)
            continue
        if letters in WORD_TAGS and (spaced or not _in_name(char)):
            return True
        letters += char
        upper = letters.upper()
        if upper in COMPOUND_TAGS:
            return True
        if upper not in _TAG_PREFIXES:
            return False
    return letters in WORD_TAGS


def _in_name(char: str) -> bool:
    return char.isalnum() or char == "_"


def _prefixes(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name[:end] for name in names for end in range(1, len(name) + 1))


_TAG_PREFIXES: Final = _prefixes(COMPOUND_TAGS | WORD_TAGS)
_MARK_PREFIXES: Final = _prefixes(_TIER_TITLES | _BARE_NOTICES)


def _skeleton(text: str, at: int) -> Iterator[str]:
    """The characters of *text* from *at* as an eye takes them.

    Hidden characters and accents are left out, compatible forms and lookalikes folded.
    Lazy, so that a caller stops at the first character that settles the question.
    """
    for index in range(at, len(text)):
        char = text[index]
        if char.isascii():
            if char.isprintable() or char in "\n\t":
                yield char
        elif not _HIDDEN.match(char):
            folded = unicodedata.normalize("NFKD", char).translate(_LOOKALIKES)
            yield from (c for c in folded if unicodedata.category(c)[0] != "M")


def _escape_lines(text: str) -> str:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line and line[0] not in _PLAIN_STARTS:
            below = lines[number + 1] if number + 1 < len(lines) else ""
            if _imitates_frame(line, below):
                lines[number] = "\\" + line
    return "\n".join(lines)


def _imitates_frame(line: str, below: str) -> bool:
    hashes = False
    mark = ""
    for char in _skeleton(line, 0):
        if char == "#" and not mark:
            hashes = True
            continue
        if char.isspace() or (hashes and _is_ornament(char, first=not mark)):
            continue
        mark += char.casefold()
        if mark in _BARE_NOTICES:
            return True
        if mark in _TIER_TITLES and (hashes or re.match(_SETEXT_RULE, below)):
            return True
        if mark not in _MARK_PREFIXES:
            return False
    return False


def _is_ornament(char: str, *, first: bool) -> bool:
    return char in _EMPHASIS or (first and char != "[" and not char.isalnum())
