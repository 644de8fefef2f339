"""One kind of secret that its own shape, or the words around it, give away.

Every quantifier is bounded, and every pattern starts at, or lies around, one of the
rule's literals, which `str.find` looks for first.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from openhands_memory.secrets.values import (
    FILLERS,
    ONE_CHARACTER,
    REFERENCE,
    compiled,
    decoded_text,
    is_placeholder,
    is_wordy,
    looks_mixed,
    looks_random,
)
from openhands_memory.secrets.words import STOP


class Rule(NamedTuple):
    """One kind of secret: literals that announce it, the pattern, and a last check.

    *pattern* starts at a literal, or, when *lead* is not 0, at most *lead* characters
    before one. *fold* looks for the literals in lower-cased text. The group `s`, where
    there is one, is the secret; *check* sees the match and may still say no.
    """

    kind: str
    literals: tuple[str, ...]
    source: str
    check: Callable[[re.Match[str]], bool]
    lead: int = 0
    fold: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled when a literal was met: most never are."""
        # ASCII: no Kelvin sign is a `k` to the pattern but not to the literal.
        return compiled(self.source, re.IGNORECASE | re.ASCII if self.fold else 0)

    @property
    def group(self) -> int | str:
        return "s" if "(?P<s>" in self.source else 0


def hits(literals: Iterable[str], text: str) -> list[int]:
    """Return where any of *literals* stands in *text*, in order."""
    found: list[int] = []
    for literal in literals:
        at = text.find(literal)
        while at >= 0:
            found.append(at)
            at = text.find(literal, at + 1)
    return sorted(found)


def matches(rule: Rule, text: str, lowered: str) -> Iterator[re.Match[str]]:
    """Yield what the rule's pattern finds at, or around, each of its literals."""
    end = 0
    for at in hits(rule.literals, lowered if rule.fold else text):
        if at < end:
            continue
        if rule.lead:
            found = rule.pattern.search(text, max(end, at - rule.lead), at + 256)
        else:
            found = rule.pattern.match(text, at)
        if found:
            end = found.end()
            yield found


def always(_match: re.Match[str]) -> bool:
    return True


def _secret_of(match: re.Match[str]) -> str:
    found: str = match["s"] if "s" in match.re.groupindex else match[0]
    return found


def body_is_random(match: re.Match[str]) -> bool:
    """A token's body is neither a filler nor words after an unlucky prefix."""
    body = match["b"] if "b" in match.re.groupindex else _secret_of(match)
    if ONE_CHARACTER.fullmatch(body):
        return body[0] not in FILLERS
    return not is_placeholder(body) and not is_wordy(body)


def body_is_no_filler(match: re.Match[str]) -> bool:
    """For prefixes that nothing else has: letters alone are enough."""
    body = match["b"] if "b" in match.re.groupindex else _secret_of(match)
    if ONE_CHARACTER.fullmatch(body):
        return body[0] not in FILLERS
    if is_placeholder(body):
        return False
    return not (body == body.lower() and is_wordy(body) and not re.search(r"\d", body))


def is_random(match: re.Match[str]) -> bool:
    return looks_random(_secret_of(match).rstrip("="))


def is_basic_pair(match: re.Match[str]) -> bool:
    text = decoded_text(match["s"])
    user, colon, password = text.partition(":")
    return bool(colon) and bool(user or password)


def is_url_password(match: re.Match[str]) -> bool:
    value = match["s"]
    if value.lower() in {"password", "pass", "passwd", "pw", "pwd", "secret", "token"}:
        return False
    if value.endswith("[") or match["u"].startswith("["):  # XPath; `[user]:[password]`
        return False
    return not is_placeholder(value) and not REFERENCE.match(match["u"])


def is_login(match: re.Match[str]) -> bool:
    value = match["s"].rstrip(".,;)")
    return len(value) >= 3 and not is_placeholder(value) and value.lower() not in STOP


def has_digit(match: re.Match[str]) -> bool:
    return is_login(match) and bool(re.search(r"\d", match["s"]))


def is_login_word(match: re.Match[str]) -> bool:
    """After `login:` a pair is enough if the second half has a digit, and no path."""
    value = match["s"].rstrip(".,;)")
    return (
        (has_digit(match) or value.count("-") >= 3)
        and is_login(match)
        and bool(re.search(r"[A-Za-z]", value))
        and "://" not in match[0]
    )


def is_login_symbols(match: re.Match[str]) -> bool:
    """Without `login:` it must look like nothing but a password."""
    return has_digit(match) and bool(re.search(r"[!$#%&*^+?]", match["s"]))


def is_option_value(match: re.Match[str]) -> bool:
    """A number after an option is a port or a count."""
    return is_login(match) and not match["s"].isdigit()


def is_mixed_body(match: re.Match[str]) -> bool:
    """For heads that say little: capitals, small letters and digits, as chance mixes."""
    return body_is_random(match) and looks_mixed(match["b"])


def is_mixed_run(match: re.Match[str]) -> bool:
    return looks_mixed(_secret_of(match))


def is_pair_password(match: re.Match[str]) -> bool:
    """`-u ops:x`, but not the user and the group of `docker run -u 1000:1000`."""
    value = match["s"]
    return is_login(match) and not value.isdigit() and value != match["u"]


def is_old_password(match: re.Match[str]) -> bool:
    """`from x to y`: words and numbers alone say something else."""
    return has_digit(match) and not match["s"].isdigit() and is_login(match)


def is_wifi_key(match: re.Match[str]) -> bool:
    quoted = match["q"] != "" or "-" in match["s"].strip("-")
    return is_login(match) and (quoted or has_digit(match))


_SESSION_NAMES: Final = frozenset(
    {
        *("phpsessid", "jsessionid", "connect.sid", "laravel_session"),
        *("asp.net_sessionid", "sessid"),
    }
)


def is_cookie(match: re.Match[str]) -> bool:
    """The value of a cookie that says who somebody is: random, and no plain UUID."""
    line = match.string[max(0, match.start() - 600) : match.start()]
    line = line.rpartition("\n")[2].lower()
    told = "cookie" in line or " -b " in line or match["n"].lower() in _SESSION_NAMES
    return told and looks_random(match["s"], 16)


def is_spoken(match: re.Match[str]) -> bool:
    """In scripts without spaces, a password stands out by being ASCII."""
    value = match["s"]
    if not is_login(match) or value.isdigit():
        return False
    return bool(re.search(r"[0-9!#$%&*+?@^_~-]", value)) or value != value.lower()


def is_database_password(match: re.Match[str]) -> bool:
    """A password with `/` in it, but not `host:5432/path@x`."""
    return is_url_password(match) and not re.match(r"[0-9]{2,5}[/?]", match["s"])


def is_printed(match: re.Match[str]) -> bool:
    """A line of one word, of letters and digits, that is no path."""
    value = match["s"]
    if value.startswith(("/", "~", "-", "[", "(")) or not has_digit(match):
        return False
    return bool(re.search(r"[A-Za-z]", value)) and "://" not in value
