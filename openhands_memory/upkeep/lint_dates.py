"""Dates that say a fact is stale: judged by the text and by git, never by file times.

Pure rules of `lint`. A date alone is no claim: only deadlines that have passed, claims
about the present with an old date, and an index whose newest date and last commit are
both old. What has no date is left alone.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Final

from openhands_memory.upkeep.document import Document, Entry
from openhands_memory.upkeep.findings import Finding, finding

__all__ = ["STALE_DAYS", "LastCommit", "find_stale"]

#: Days after which a claim about the present wants a second look.
STALE_DAYS: Final = 180

#: Asked only where the text is old: it runs git.
LastCommit = Callable[[], date | None]

_MONTHS: Final[tuple[str, ...]] = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_MONTH: Final = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY: Final = (
    r"(?:(?P<iso>(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)(?![\w-])(?!\.md)"
    rf"|(?:(?P<d>\d\d?)(?:st|nd|rd|th)? )?(?P<m>{_MONTH}) (?:(?P<d2>\d\d?)(?:st|nd|rd|th)?,? )?"
    r"(?P<y>(?:19|20)\d\d)\b)"
)
_GAP: Final = r"[\s*_`(]{1,4}(?:the )?(?:end of )?"
_DEADLINE: Final = re.compile(
    r"(?i)\b(?P<word>until|till|valid through|expires?(?: on)?|expir(?:ing|y)(?: on| date)?:?"
    r"|deadline(?: is| of)?:?|due(?: on| date| by)?:?|freeze (?:through|ends(?: on)?):?"
    rf"|ends on|sunset(?: on)?:?|end of life:?|eol:?){_GAP}{_DAY}"
)
_DEADLINE_WORDS: Final = (
    *("until", "till", "through", "expir", "deadline", "due", "freeze", "ends on"),
    *("sunset", "end of life", "eol"),
)
#: A sentence about the past may name any date.
_PAST: Final = re.compile(
    r"(?i)\b(?:was|were|had|did|ran|used|lived|lasted|stayed|kept|remained|worked|broke"
    r"|moved|switched|changed|fixed|since then|from|between|after|once|previously"
    r"|formerly|historically|done|removed|resolved|closed|past|passed|over)\b"
)
_AS_OF: Final = re.compile(
    rf"(?i)(?<!effective )\bas (?:of|at|per){_GAP}{_DAY}(?!\s*(?:on|onwards?|forward))"
)
_NOW: Final = re.compile(
    r"(?i)\b(?:currently|at the moment|right now|for now|for the time being"
    r"|temporar(?:y|ily)|at present|as of now|this (?:week|month|sprint|quarter)"
    r"|next (?:week|month|sprint|quarter)|tomorrow|until further notice)\b"
)
_NOW_WORDS: Final = (
    *(
        "currently",
        "moment",
        "now",
        "time being",
        "temporar",
        "present",
        "this ",
        "next ",
    ),
    *("tomorrow", "further notice"),
)
_STAMP: Final = re.compile(rf"(?i)\s*(?:[-*+]\s+)?[\[(*_`]*{_DAY}")
_ISO: Final = re.compile(
    r"\b(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?\b"
)


def find_stale(
    document: Document,
    *,
    today: date,
    last_commit: LastCommit = lambda: None,
    stale_days: int = STALE_DAYS,
) -> Iterator[Finding]:
    """Facts that their own dates make doubtful.

    *last_commit* gives the day when git last saw the file change; None if that is not
    known, or if the file was changed since.
    """
    old = today - timedelta(days=stale_days)
    if not re.search(r"(?:19|20)\d\d", document.body):
        return
    for entry in document.entries:
        if entry.kind != "heading" and re.search(r"(?:19|20)\d\d", entry.text):
            yield from _deadlines(document, entry, today)
            yield from _claims(document, entry, old)
    yield from _untouched(document, last_commit, old)


def _deadlines(document: Document, entry: Entry, today: date) -> Iterator[Finding]:
    if not any(word in entry.text.casefold() for word in _DEADLINE_WORDS):
        return
    for found in _DEADLINE.finditer(entry.text):
        day = _last_day(found)
        line, column = _position(entry, found.start())
        before = re.split(r"[.;!?]\s|[;\n]|~~", entry.text[: found.start()])[-1]
        if (
            day
            and day < today
            and not (document.code[line - 1] or _PAST.search(before))
        ):
            message = f"the deadline {day.isoformat()} has passed; say what holds now"
            yield finding("OM221", message, line=line, column=column)


def _claims(document: Document, entry: Entry, old: date) -> Iterator[Finding]:
    """Claims about the present, dated in themselves or by the entry's own stamp."""
    lowered = entry.text.casefold()
    if "as of" in lowered or "as at" in lowered or "as per" in lowered:
        for found in _AS_OF.finditer(entry.text):
            day = _last_day(found)
            line, column = _position(entry, found.start())
            if day and day < old and not document.code[line - 1]:
                yield _old_claim(day, line, column)
                return
    stamp = _STAMP.match(entry.text)
    if not stamp or not any(word in lowered for word in _NOW_WORDS):
        return
    days = [
        day
        for found in re.finditer(f"(?i){_DAY}", entry.text)
        if (day := _last_day(found))
    ]
    found = _NOW.search(entry.text)
    if found and days and max(days) < old:
        line, column = _position(entry, found.start())
        if not document.code[line - 1]:
            yield _old_claim(max(days), line, column)


def _old_claim(day: date, line: int, column: int) -> Finding:
    message = f"says how things are, as of {day.isoformat()}; check that it still holds"
    return finding("OM222", message, line=line, column=column)


def _untouched(
    document: Document, last_commit: LastCommit, old: date
) -> Iterator[Finding]:
    """The whole index is old: by the newest date in its text and by its last commit."""
    newest = max(_ISO.findall(document.body), default=None)
    if newest is None or newest >= old.isoformat():
        return
    day = last_commit()
    if day and day < old:
        message = (
            f"the newest date in the text is {newest}, the last commit was on "
            f"{day.isoformat()}; check that it still holds"
        )
        yield finding("OM223", message)


def _last_day(found: re.Match[str]) -> date | None:
    """The last day that a matched date can mean; None for a day that does not exist."""
    if found["iso"]:
        year, month, *day = map(int, found["iso"].split("-"))
    else:
        year, month = int(found["y"]), _MONTHS.index(found["m"][:3].casefold()) + 1
        given = found["d"] or found["d2"]
        day = [int(given)] if given else []
    try:
        if day:
            return date(year, month, day[0])
        return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def _position(entry: Entry, at: int) -> tuple[int, int]:
    above = entry.text.count("\n", 0, at)
    return entry.line + above, at - entry.text.rfind("\n", 0, at)
