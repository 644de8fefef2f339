"""Hidden characters shown, forgeries of our frame neutralised.

A memory file is untrusted text that will stand inside a frame: a block with tags and a
heading for each tier. This module keeps two promises about any text, and no others:
what a person cannot see is made visible, and no line can end or imitate the frame. It
does not judge what the text *says*; nothing here stops prompt injection by meaning.

Ordinary text comes through byte-identical, whatever its script. What counts as an
imitation is what a reader could take for ours at the start of a line: a heading of any
kind, a notice in brackets, also in a quotation, a list or in bold. What a person plainly
quotes does not: a code span in a sentence, a hashtag, a sentence about user memory.
"""

import re
from functools import cache
from itertools import islice, takewhile
from typing import Final

from openhands_memory.hidden import HIDDEN, is_spelling
from openhands_memory.lookalikes import DRAWN_LIKE, as_seen

__all__ = [
    "COMPOUND_TAGS",
    "NOTICES",
    "TRUNCATION_NOTICE",
    "WORD_TAGS",
    "neutralise",
    "normalise_newlines",
    "show_hidden",
    "show_line",
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

#: The tags of the block itself, caught without their underscore as well.
_OWN_TAGS: Final = ("MEMORY_CONTEXT", "UNTRUSTED_CONTENT")

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


def show_hidden(text: str) -> str:
    """Show every character that a reader could not see as ``[U+XXXX]``.

    Tabs and line feeds stay; so do invisible characters where they are spelling: joiners
    beside letters of scripts that use them or between emoji, word breaks of scripts
    without spaces, variation selectors after a base that takes them, flags of regions,
    soft hyphens inside words.
    """
    if _is_plain(text):
        return text
    return HIDDEN.sub(
        lambda m: m[0] if is_spelling(m.string, m.start()) else _code_point(m), text
    )


def show_line(text: str) -> str:
    """*text*, say a path, as a part of one line of ours: it cannot end that line."""
    return re.sub(r"[\n\t]", _code_point, show_hidden(_escape_tags(text)))


def _is_plain(text: str) -> bool:
    return text.isascii() and text.replace("\n", "").replace("\t", "").isprintable()


def _code_point(found: re.Match[str]) -> str:
    return f"[U+{ord(found[0]):04X}]"


def _in_capitals(text: str, chars: int) -> str:
    """The beginning of *text* as an eye takes it, in capitals: at least *chars*."""
    return (text if _is_plain(text) else "".join(islice(as_seen(text), chars))).upper()


def neutralise(text: str) -> str:
    """Take from every line the power to end or imitate the frame.

    The ``<`` of a reserved tag becomes ``&lt;``; a line that imitates a tier heading or
    one of our notices gets a backslash in front. Expects ``\\n`` line ends; applying it
    twice changes nothing more.
    """
    return _escape_lines(_escape_tags(text))


# --- Forged tags ----------------------------------------------------------------------

#: What reads as the "<" of a tag: the character, its compatible forms, and the brackets
#: and signs that stand in for it.
_OPENING: Final = (
    "<\uff1c\ufe64\u226e\u2039\u2329\u27e8\u3008\u276c\u276e\u2770\u02c2\u1438\u16b2"
    "\u29fc\ufe3f\u227a\u22d6\U0001d236\u00ab\u226a\u27ea\u300a\ufe3d"
)
_OPENERS: Final = re.compile(f"[{_OPENING}]")
#: Where a tag ends, or another begins.
_TAG_STOPS: Final = frozenset(f">{_OPENING}")
#: Of the openings, quotation marks and signs that people do write before a word in capitals.
_QUOTES: Final = frozenset("\u00ab\u226a\u27ea\u300a\ufe3d")

#: Characters of a tag that are looked at: twice the longest name, for spaces in it.
_TAG_CHARS: Final = 96
#: What is seen as it is, as most tags are.
_PLAIN_TAG: Final = rf"[ -;=?-~]{{0,{_TAG_CHARS}}}(?=[<>])"

#: What may stand between the letters of a word: a space, or marks of Markdown.
_GAP: Final = r"[\s\\*~`]*"
#: What stands for the underscore of the block's own tags, or for nothing.
_JOINT: Final = r"(?:[\s\\*~`_.-]|&#?\w{1,8};)*"
#: Digits and letters that look alike, once in capitals.
_TWINS: Final = {"O": "[O0]", "I": "[I1L]", "L": "[L1I]"}


def _spelled(words: str, joint: str) -> str:
    """A pattern for *words* in capitals, whatever stands between their letters."""
    return joint.join(
        _GAP.join(_TWINS.get(letter, letter) for letter in word)
        for word in re.split("[_ ]", words)
    )


@cache
def _compound_tag() -> re.Pattern[str]:
    """What follows the opening of a compound tag, in capitals.

    A few signs or entities, a namespace, then a name; the block's own tags have no need of their
    underscore, if the name ends there.
    """
    joint = rf"{_GAP}_[\s\\*~`_]*"
    names = [
        joint.join(map(r"\s*".join, name.split("_"))) for name in sorted(COMPOUND_TAGS)
    ]
    own = "|".join(_spelled(name, _JOINT) for name in _OWN_TAGS)
    return re.compile(
        r"(?:\s*+(?:&(?!LT;)#?\w{1,8};|[^\w\s<>]|_)){0,8}+\s*+(?:[^\W_][\w.-]{0,31}:){0,3}?"
        rf"(?:{'|'.join(names)}|(?:{own})(?![-.:]?[^\W_]))"
    )


@cache
def _word_tag() -> re.Pattern[str]:
    """What follows the opening of a one-word tag.

    Closing tags with any signs before the name, opening ones unless they are put to use
    in a comparison. A name that goes on is another tag's.
    """
    name = "|".join(r"\s*".join(tag) for tag in sorted(WORD_TAGS))
    name = rf"(?:{name})(?![-_.:]*[^\W_])"
    return re.compile(
        rf"(?P<closing>(?=[^\w<>]*/)(?:[^\w<>]|_)*+{name})"
        rf"|[\s\\!?|]*+{name}(?!\s*(?:&&|\|\||[),;]))"
    )


def _escape_tags(text: str) -> str:
    if text.isascii() and "<" not in text:
        return text
    capitals = text.upper() if _is_plain(text) else None
    return _OPENERS.sub(
        lambda m: "&lt;" if _opens_reserved_tag(m, capitals) else m[0], text
    )


def _opens_reserved_tag(opener: re.Match[str], capitals: str | None) -> bool:
    """Whether a reserved tag follows *opener*; *capitals* is its text if it is plain."""
    text, at = opener.string, opener.end()
    if capitals is None:
        plain = re.match(_PLAIN_TAG, text[at : at + _TAG_CHARS + 1])
        seen = takewhile(lambda c: c not in _TAG_STOPS, as_seen(text, at))
        text = plain[0] if plain else "".join(islice(seen, _TAG_CHARS))
        capitals, at = text.upper(), 0
    if _compound_tag().match(capitals, at):
        return True
    found = None if opener[0] in _QUOTES else _word_tag().match(text, at)
    if found is None or found["closing"]:
        return found is not None
    before = opener.string[opener.start() - 1 : opener.start()]
    return not before.isalnum() and before != "_"  # else a generic type: List<ROLE>


# --- Forged headings and notices ------------------------------------------------------

#: Letters in circles and squares: symbols that are read as letters.
_ENCLOSED: Final = "\u2460-\u24ff\U0001f100-\U0001f1ff"
#: Where the words of a line may begin with the first letter of a title or notice, as
#: seen: the blocks whose characters are Latin letters at heart, and the lookalikes.
_FIRST: Final = (
    f"[uUpPeE\u00c0-\u02af\u1d00-\u1dbf\u1e00-\u1eff\u2070-\u214f{_ENCLOSED}"
    "\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f\uff21-\uff5a\U0001d400-\U0001d7ff"
    "\u0388\u03ad\u03b0\u03cb\u03cd\u03f1\u03f5\u0400\u0401\u0450\u0451\u04d6\u04d7"
    "\u1f10-\u1fec\U0001e035-\U0001e056"
    + "".join(chr(c) for c, drawn in DRAWN_LIKE.items() if chr(drawn) in "uUpPeE")
    + "]"
)
#: What a line may hold before its words: spaces, quote marks, bullets, hashes, emphasis,
#: brackets, letters that nobody sees, flags, numbers, tags and entities. Each character
#: has one way to match, so that a line is read once.
_SIGNS: Final = rf"[^\w\n{_ENCLOSED}]*+"
_LEAD: Final = (
    rf"{_SIGNS}(?:(?:[_\u115f\u1160\u3164\uffa0]|[{_ENCLOSED}]{{1,2}}(?=[^\S\n])"
    r"|\d{1,3}(?=[.:)\ufe0f\u20e3])|(?<=\.)\d{1,3}(?![\w.:)\ufe0f\u20e3])"
    r"|(?:(?<=<)|(?<=</))[A-Za-z][^<>\n]*>|(?<=[&#])[A-Za-z0-9]{1,8};"
    rf"|(?<!<)(?<!</)[A-Za-z]{{1,3}}(?=[.)\]])){_SIGNS})*"
)
#: Ends of lines before such a line. One that begins with a backslash is escaped.
#: Most lines begin with an ordinary word of four letters, or of fewer and a space.
_CANDIDATE: Final = re.compile(
    r"\n(?!\\|[-*+ ]*[A-DF-OQ-TV-Za-df-oq-tv-z][a-z ]{3})"
    rf"(?=({_LEAD}){_FIRST})"
)

#: Characters of a line's words that are looked at: twice the longest notice, and tags.
_LINE_CHARS: Final = 128

_HEADING_SIGN: Final = r"(?i)(?<![&\\#])#|<h[1-6]\b"
_NOTICE_SIGN: Final = r"(?<!\\)\[[^\]]*\Z"
_SETEXT_RULE: Final = r"[\s>]*(?:=+|-+)\s*\Z"
_BULLET: Final = r"[-+*]\s"
_HASHTAG: Final = r"(?ai)#+(?:user|project)memory"
#: A code span that is a part of its sentence: a person quotes.
_QUOTED: Final = r"[^`\n]*`+[^\w\n`]*\w"


@cache
def _title() -> re.Pattern[str]:
    joint = r"(?:[\s\\*~`]|</?\w[^<>]*>|&#?\w{1,8};)*"
    titles = ("USER MEMORY", "PROJECT MEMORY")
    return re.compile("|".join(_spelled(title, joint) for title in titles))


@cache
def _notice() -> re.Pattern[str]:
    notices = (notice.strip("[]").upper() for notice in NOTICES)
    return re.compile("|".join(_spelled(notice, _GAP) for notice in notices))


def _escape_lines(text: str) -> str:
    return _CANDIDATE.sub(
        lambda m: "\n\\" if _imitates_frame(m) else "\n", f"\n{text}"
    ).removeprefix("\n")


def _imitates_frame(found: re.Match[str]) -> bool:
    """Whether a reader could take the line that begins at *found* for one of ours."""
    text, words = found.string, found.end(1)
    end = text.find("\n", words)
    line = text[words:] if end < 0 else text[words:end]
    capitals = _in_capitals(line, _LINE_CHARS)
    lead = "".join(as_seen(found[1]))
    if not (_notice().match(capitals) and re.search(_NOTICE_SIGN, lead)):
        if not _title().match(capitals):
            return False
        if not re.search(_HEADING_SIGN, lead):
            return not re.search(_BULLET, lead) and _is_underlined(text, end)
        if lead.endswith("#") and re.match(
            _HASHTAG, text[words - 1 : end if end >= 0 else None]
        ):
            return False  # it has no space: nobody's heading
    return not (
        "`" in re.split("[#[]", lead, maxsplit=1)[0] and re.match(_QUOTED, line)
    )


def _is_underlined(text: str, end: int) -> bool:
    """Whether the line of *text* that ends at *end* has a rule below it."""
    if end < 0:
        return False
    below = text.find("\n", end + 1)
    rule = text[end + 1 : below if below >= 0 else None]
    return re.match(_SETEXT_RULE, rule) is not None
