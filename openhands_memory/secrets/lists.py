"""Finds passwords in a list below a heading that announces them.

`## Passwords` and then `- nas: ...`; also `Passwords: nas=..., router=...` on one line.
Below `Credentials` only pairs count: `- nas: ops / ...`.
"""

import re
from collections.abc import Iterator
from typing import Final

from openhands_memory.secrets.judging import Assignment, judge_assignment
from openhands_memory.secrets.keys import key_class, key_words
from openhands_memory.secrets.rules import hits
from openhands_memory.secrets.spans import Span

MAX_ITEMS: Final = 60
MAX_HEAD_CHARS: Final = 80
_WORDS: Final = (
    *(
        "passwords",
        "passwörter",
        "kennwörter",
        "contraseñas",
        "mots de passe",
        "senhas",
    ),
    *("password", "passwort", "credentials", "creds", "logins", "zugangsdaten"),
    *("identifiants", "credenciales", "密码", "账号"),
)
_PAIRS_ONLY: Final = re.compile(
    r"(?i)cred|login|zugangsdaten|identifiants|账号|account"
)
_HEAD: Final = re.compile(
    r"[ \t>]{0,8}(?:#{1,6} .{1,72}|\*\*[^*\n]{1,72}\*\*:?[ \t]*|[^\n]{1,78}?[:：][*_]{0,2}[ \t]*)"
)
_FEED: Final = re.compile(r"\r?\n|\\n")
_ITEM: Final = re.compile(
    r"[ \t>]{0,12}(?:[-*+]|[0-9]{1,2}[.)])[ ]{1,4}[*_`]{0,3}(?P<k>[\w .@/()'-]{1,40}?)[*_`]{0,3}"
    r"[ ]?(?::|=|→|->|\u2013|\u2014|：|[ ]-)[*_]{0,2}[ ]{0,3}(?P<v>[^\n\\]{1,200})"
)
_PART: Final = re.compile(
    r"[ ]?(?P<k>[\w .-]{1,30}?)[ ]?(?:[:=→]|->)[ ]?(?P<v>[^\s,;]{1,80})"
)
_PAIR: Final = re.compile(
    r"[`\"']?[\w.@+-]{1,48}[`\"']?(?:[ ]?[/|:][ ]?|,[ ])(?P<q>[`\"']?)(?P<s>[^\s`\"',;]{5,64})"
)
_SINGLE: Final = re.compile(
    r"(?P<q>[`\"']?)(?P<s>[^\s`\"',;()]{5,64})[`\"']?(?=[ ]{0,4}(?:$|[(,;#.\u2013]|--|- ))"
)
# What else stands in such a list beside the passwords.
_OTHER: Final = frozenset(
    """
    user username login host hostname server url uri email mail port db database ip
    address account ssid domain region name id role scope file path env var variable
    where owner updated since expires rotation policy algorithm hash hashing min max
    length manager store storage note notes version cli tool source see field table
    column service endpoint type date contact website link
    """.split()
)


def find_in_lists(text: str, lowered: str) -> Iterator[Span]:
    """Yield the passwords of lists; a heading is a line of its own."""
    after = 0
    for at in hits(_WORDS, lowered):
        if at < after:
            continue
        start = _line_start(text, at)
        feed = _FEED.search(text, at, at + MAX_HEAD_CHARS)
        after = feed.end() if feed else at + 1
        head = text[start : feed.start()] if feed else ""
        if feed and _HEAD.fullmatch(head):
            yield from _item_values(text, feed.end(), _PAIRS_ONLY.search(head))
        else:
            yield from _inline_values(text, at)


def _line_start(text: str, at: int) -> int:
    low = max(0, at - MAX_HEAD_CHARS)
    feeds = list(_FEED.finditer(text, low, at))
    return feeds[-1].end() if feeds else low


def _item_values(
    text: str, at: int, pairs_only: re.Match[str] | None
) -> Iterator[Span]:
    for _ in range(MAX_ITEMS):
        item = _ITEM.match(text, at)
        if item:
            at = item.end()
            if key_words(item["k"])[-1:] and key_words(item["k"])[-1] not in _OTHER:
                yield from _value_of(item, bool(pairs_only))
        feed = _FEED.match(text, at)
        if not feed:
            return
        at = feed.end()


def _value_of(item: re.Match[str], pairs_only: bool) -> Iterator[Span]:
    found = _PAIR.match(item["v"])
    if not found and not pairs_only:
        found = _SINGLE.match(item["v"])
    if found:
        at = item.start("v")
        yield from _judged(found["s"], at + found.start("s"), bool(found["q"]))


def _inline_values(text: str, at: int) -> Iterator[Span]:
    """Read `Passwords: nas=..., router=...`."""
    head = re.compile(r"\w{4,20}[*_]{0,2}(?: \([^()\n]{0,40}\))?:[*_]{0,2}").match(
        text, at
    )
    end = head.end() if head else 0
    for _ in range(MAX_ITEMS if head else 0):
        part = _PART.match(text, end)
        if not part:
            return
        yield from _judged(part["v"].rstrip(".`"), part.start("v"), False)
        if text[part.end() : part.end() + 1] not in ",;":
            return
        end = part.end() + 1


def _judged(value: str, start: int, quoted: bool) -> Iterator[Span]:
    if key_class(value):  # `DB_PASSWORD_1` is a name of one
        return
    link = "prose" if quoted else "newline"
    kind = judge_assignment(Assignment("password", value, link, quoted=quoted))
    if kind:
        yield Span(start, start + len(value), kind)
