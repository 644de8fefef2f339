"""Finds a word for a secret, a separator and a value; `judging` says whether it is one."""

import re
from collections.abc import Iterator
from typing import Final

from openhands_memory.secrets.judging import Assignment, judge_assignment
from openhands_memory.secrets.keys import key_class
from openhands_memory.secrets.rules import hits
from openhands_memory.secrets.spans import Span
from openhands_memory.secrets.values import compiled, looks_mixed
from openhands_memory.secrets.words import KEYWORDS

_TAIL: Final = re.compile(r"[\w-]{0,48}(?:\.\w[\w-]{0,40}){0,3}")
_QUOTE: Final = r"(?:\\{0,7}[\"'`]|&quot;|&\#3[49];|&apos;)"
_CLOSE: Final = rf"(?:{_QUOTE}|[\u201d\u2019\u00bb]){{0,1}}[\]\"']{{0,2}}[*_]{{0,3}}"
_NOTE: Final = r"(?:[ ]?[(\[][^()\[\]\n]{0,40}[)\]])?"
_FOR: Final = (
    r"(?:[ ](?:for|of|on|in|at|from|to|für|vom|von|zum|de|del|du|pour|para|da|do|di"
    r"|della|des|от|для|к|на)"
    r"(?:(?:[ ]key)?[ ]['\"][^'\"\n]{1,100}['\"]|(?:[ ][\w./@'-]{1,24}){1,4}?))"
)
_SET: Final = (
    r"(?:now|currently|still|re)?[ -]?(?:set|changed|reset|rotated|updated)[ ]to"
)
_BE: Final = (
    r"is|was|are|remains|to|as|will[ ]be|should[ ]be|used[ ]to[ ]be|equals|ist|war|wird"
    r"|lautet|heißt|c'est|auf|est|sera|es|era|será|é|è|sarà|это|[-\u2013\u2014]"
)
_ADVERB: Final = (
    r"now|currently|still|just|jetzt|nun|noch|maintenant|ahora|literally|simply"
)
_LINKS: Final = (
    (
        "assign",
        rf"""{_CLOSE}{_NOTE}{_CLOSE}(?P<more>(?:[ ][\w-]{{1,16}}){{0,2}}?)
            (?:[ ](?:is|was|has[ ]been)[ ](?:generated|created|issued|set))?(?:{_FOR})?{_NOTE}
            [ \t]{{0,12}}
            (?::[ ]?&?[A-Za-z]{{2,12}}(?:[ ]\|[ ]None)?[ \t]{{0,4}}=(?!=)
            |=>|:=|\?{{1,2}}=|\|\|=|={{1,3}}(?![=>~])|:(?!:)|\u2192|->|\uff1a)
            [ \t]{{0,12}}[*_]{{0,2}}[ \t]{{0,2}}""",
    ),
    (
        "assign",
        rf"""(?:{_QUOTE},?\s{{0,40}}|,?\s{{1,40}}-?\s?)\\{{0,2}}["']?[Vv]alue
            \\{{0,2}}["']?\s?[:=]\s?""",
    ),
    (  # Terraform: `variable "db_password" { default = "..." }`
        "assign",
        rf"""{_QUOTE}\s?\{{[^{{}}]{{0,200}}?\bdefault[ ]{{0,8}}=[ ]?(?={_QUOTE})""",
    ),
    (  # `gh secret set NAME --body ...`, `aws ssm put-parameter --name NAME --value ...`
        "assign",
        rf"""{_CLOSE}(?:[ ]--?[\w-]{{1,24}}[ =][\w./:-]{{1,40}}){{0,3}}?
            [ ](?:--body|--value|--secret-string|--plaintext|-b|-v)[ =]""",
    ),
    ("pair", rf"""{_CLOSE},[ ]?(?=\\{{0,7}}[\"'])"""),
    ("call", rf"""{_CLOSE}[ \t]{{0,3}}\([ ]?(?={_QUOTE})"""),
    (
        "assign",
        r"""(?P<xml>(?:\\?["'])?(?:\s[^<>\n]{0,100})?>)(?:\s{0,4}</t[dh]>\s{0,20}<t[dh][^<>\n]{0,40}>)?""",
    ),
    (
        "assign",
        r"""(?P<xml></(?:t[dh]|dt|key|name)>)\s{0,20}
            <(?:t[dh]|dd|string|value)[^<>\n]{0,40}>""",
    ),
    ("assign", r"""(?P<cell>[*_`]{0,2}[ \t]{1,20}\|[ \t]{1,20})"""),
    ("assign", r"""(?:%2[02]){0,2}%3[dDaA](?:%2[02]){0,2}|\\{1,3}u003[dD]"""),
    (
        "prose",
        rf"""{_CLOSE}{_NOTE}(?:{_FOR})?,?[ ]
            (?:(?:is|was|are|has[ ]been|got|will[ ]be)[ ])?
            (?:{_SET}|{_BE})(?:[ ](?:{_ADVERB}))?[ ]?:?[ ]{{1,3}}[*_]{{0,2}}""",
    ),
    ("prose", r"""['\u2019]s[ ]"""),
    ("space", rf"""{_CLOSE}(?:{_FOR})?(?:[ ]\(|,?[ \t]{{1,40}})[*_]{{0,2}}"""),
    (
        "newline",
        rf"""(?:{_FOR})?[*_]{{0,2}}[:?]?[*_]{{0,2}}[ ]?(?:[|>][+-]?)?\r?\n[ \t]{{0,12}}
            (?:(?:A|Answer|Antwort|R):[ ])?""",
    ),
)
_OPEN: Final = re.compile(
    rf"[fFbBrRuU@$]{{0,2}}(?P<q>{_QUOTE}|[\u201c\u201e\u00ab\u2018\u201a])"
)
_CLOSERS: Final = {
    "\u201c": "\u201d",
    "\u201e": "\u201c",
    "\u00ab": "\u00bb",
    "\u2018": "\u2019",
    "\u201a": "\u2018",
}
_BARE: Final = re.compile(r"<[^<>\n]{0,60}>?|[^\s\"'`\u201c\u201d\u00ab\u00bb]{1,512}")
_BARE_REST: Final = re.compile(r"[^\s\"'`]{0,65536}")
# What ends a bare value before the next space: the next pair, a tag, a bracket, a stop.
_BARE_END: Final = re.compile(
    r"&(?:amp;)?[\w.\[\]-]{1,40}=|&(?:quot|apos|\#[0-9]{2});|%2[26]|;(?=$|[\w ]{1,40}=)"
    r"|;$|,(?=$|[\w.-]{1,40}[=:])|</|<br|\\[nrt](?![a-z]?[0-9])|\\{1,3}$|\|\|?$"
    r"|\)[.,;:]?$|\]\]?[.,;]?$|\}\}?[.,;]?$|[.,:]$|\*\*"
)
_CLAUSE_END: Final = re.compile(
    r"[\"'`*_]{0,3}[.!?]?\s{0,4}(?:$|[,;.)|#(\n<\\}&]|//|--|\u2013|\u2014)"
)
_HEADER: Final = re.compile(
    r"[^\n\\]{1,400}(?:\r?\n|\\n)[ \t>]{0,8}\|?[ \t]{0,4}:?-{2}"
)
_ENDS_LINE: Final = re.compile(r"[ \t]{0,8}(?:$|\r?\n)")
_AS: Final = re.compile(
    r"(?P<s>[^\s\"'`(]{6,64})[\"'`]?"
    r"(?: (?:as|is|was|ist|est|es) (?:the |a |my |its |our |das |le |la )?(?:\w{1,12} )?| \()$"
)


def find_assignments(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values that stand beside a word for a secret."""
    end = 0
    for at in hits(KEYWORDS, lowered):
        tail = _TAIL.match(text, at) if at >= end else None
        if not tail:
            continue
        end = tail.end()  # `secret_token` has two words, but is one key
        found = _assignment_at(text, at, tail)
        if found:
            end = max(end, found.end)
            yield found


def _assignment_at(text: str, at: int, tail: re.Match[str]) -> Span | None:
    start = _head(text, at)
    if text[start - 1 : start] == ":" and text[tail.end() : tail.end() + 1] == ":":
        return None  # inside `arn:...:secret:name` and its like
    if (
        text[max(0, start - 2) : start] == "${"
        and text[tail.end() : tail.end() + 1] not in ":-"
    ):
        return None
    before = text[max(0, start - 60) : start]
    if before.rfind("{{") > before.rfind("}}"):
        return None  # inside a template's braces
    if text.startswith((":?", ":+"), tail.end()):
        return None  # `${API_KEY:?missing}`
    key = _phrase(text, start) + text[start : tail.end()]
    if tail.end() - start > 24 and looks_mixed(text[start : tail.end()]):
        return None  # a line of base64 that ends with `PW`
    for name, pattern in _LINKS:
        if name == "pair" and text[max(0, start - 2) : start - 1] != "(":
            continue  # a list of names, not `define("DB_PASSWORD", "x")`
        if name == "newline" and text[start - 1 : start] == ",":
            continue  # the last name of a row: `tables` knows better
        link = compiled(pattern, re.VERBOSE).match(text, tail.end())
        if link and "cell" in link.re.groupindex and _HEADER.match(text, link.end()):
            continue  # the next column's name, not a value
        value = _value_at(text, link) if link else None
        if link and value and not _is_code(text, start, name, value):
            found = _described(text, key, start, name, link, value)
            kind = judge_assignment(found)
            if kind:
                return Span(value[0], value[1], kind)
    return _value_before(text, start, tail.end(), key)


def _is_code(text: str, start: int, name: str, value: tuple[int, int, bool]) -> bool:
    """Know `user, password = pair`, `self.secret = other`, `set_password(host, ...)`."""
    low, high, quoted = value
    if name == "call":
        reads = text.startswith(("get", "load", "read", "fetch", "find"), start)
        return reads or text[high + 1 : high + 2] != ")"
    if quoted or name != "assign" or not text[low:high].isalpha():
        return False
    spaced = text[low - 2 : low] == "= "
    return spaced and (
        text[max(0, start - 2) : start] == ", "
        or text.startswith(("self.", "cls.", "this."), start)
    )


def _value_before(text: str, start: int, end: int, key: str) -> Span | None:
    """Know `use hunter22 as the password`, and `hunter22 (password)`."""
    low = max(0, start - 90)
    before = _AS.search(text[low:start])
    if not before or key_class(key) not in ("password", "short", "secret"):
        return None
    if before[0].endswith("(") and text[end : end + 1] != ")":
        return None
    found = Assignment(key, before["s"], "space", quoted=False)
    kind = judge_assignment(found)
    return Span(low + before.start("s"), low + before.end("s"), kind) if kind else None


def _head(text: str, at: int) -> int:
    """Return where the identifier around *at* begins."""
    start = at
    while (
        start > 0
        and at - start < 64
        and (text[start - 1].isalnum() or text[start - 1] in "_.-")
    ):
        start -= 1
    return start


def _phrase(text: str, start: int) -> str:
    """Return up to two words before the key in prose: `deploy `key, `mot de `passe."""
    before = text[max(0, start - 50) : start]
    found = re.search(r"(?:[^\W\d][\w-]{0,23} ){1,2}$", before)
    return found[0] if found else ""


def _described(
    text: str,
    key: str,
    start: int,
    name: str,
    link: re.Match[str],
    value: tuple[int, int, bool],
) -> Assignment:
    low, high, quoted = value
    more = link["more"] if "more" in link.re.groupindex else ""
    ends = bool(_CLAUSE_END.match(text, high))
    if name == "newline":
        ends = bool(_ENDS_LINE.match(text, high))
    return Assignment(
        key=key + more,
        value=text[low:high],
        link=name,
        quoted=quoted,
        ends=ends,
        tight=not link[0][-1:].isspace() and " " not in link[0],
        flag=name == "space" and _is_flag(text, start, quoted),
    )


def _is_flag(text: str, start: int, quoted: bool) -> bool:
    """Know `--password x`, netrc (`login x password y`), redis and SQL."""
    line = text[max(0, start - 160) : start].rpartition("\n")[2]
    if "mysql" in line or "mariadb" in line:
        return False  # theirs need `=`: what follows a space is the database
    if text[start : start + 1] == "-" and text[start + 1 : start + 2] != " ":
        return True
    if text.startswith(("requirepass ", "masterauth "), start):
        return True
    before = text[max(0, start - 90) : start]
    if quoted and re.search(r"(?i)\b(?:user|role|login)\s+[^;\n]{1,60}$", before):
        return True
    return bool(re.search(r"login\s{1,8}\S{1,64}\s{1,8}$", before))


def _value_at(text: str, link: re.Match[str]) -> tuple[int, int, bool] | None:
    at = link.end()
    opened = _OPEN.match(text, at)
    if opened:
        closer = _CLOSERS.get(opened["q"], opened["q"])
        end = _closing(text, opened.end(), closer)
        if end >= opened.end():
            return (opened.end(), end, True) if end > opened.end() else None
        at = opened.end()
    if "==" in link[0]:
        return None  # a comparison with a name, not with a literal
    bare = _BARE.match(text, at)
    if not bare:
        return None
    if bare[0].endswith(("...", "\u2026")):
        return None
    xml = "xml" in link.re.groupindex
    cut = _bare_end(bare[0])
    if cut == 512:
        rest = _BARE_REST.match(text, at + cut)
        cut += len(rest[0]) if rest else 0
    if xml and not text.startswith("</", at + cut):
        return None
    return (at, at + cut, xml) if cut > 0 else None


def _closing(text: str, start: int, closer: str) -> int:
    """Return where the quoted value ends, or -1; the line bounds it."""
    stop = min(len(text), start + 4096)
    end = text.find(closer, start, stop)
    while end > start and closer in ('"', "'") and text[end - 1] == "\\":
        end = text.find(closer, end + 1, stop)
    return -1 if end < 0 or "\n" in text[start:end] else end


def _bare_end(value: str) -> int:
    if value.startswith("<"):
        return len(value)
    end = len(value)
    bracket = re.search(r"\)(?=[.,;:)\]}]|$)", value)
    if bracket and "(" not in value[: bracket.start()]:
        value = value[: bracket.start()]
        end = len(value)
    found = _BARE_END.search(value)
    while found and found.start() < end:
        end = found.start()
        found = _BARE_END.search(value[:end])
    return end
