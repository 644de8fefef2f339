"""Is the value beside a name that promises a secret one?

First what it may be instead: a placeholder, a name, a path, code. Then what the name
asks for: a password may be any word, a token must look like chance. No search here.
"""

import re
from typing import Final, NamedTuple

from openhands_memory.secrets.keys import key_class, key_words, kind_of
from openhands_memory.secrets.values import (
    MASK,
    decoded_text,
    is_placeholder,
    is_wordy,
    looks_random,
    variety,
)
from openhands_memory.secrets.words import (
    COMMON,
    PROSE_ENDS,
    PROSE_WORDS,
    STOP,
    VERB_BEFORE,
)

_MEASURE: Final = re.compile(
    r"[~<>\u2248]?[0-9]{1,5}(?:[-\u2013.,x/][0-9]{1,5})?[-+]?(?:%|[a-z]{1,2}|[-_]?(?:chars?|characters?"
    r"|days?|hours?|minutes?|seconds?|bytes?|bits?|digits?|words?|letters?|times?|min|sec"
    r"|tokens?|th|st|nd|rd|zeichen|jours|días|tage))?"
)
_DATE: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?(?:[T_ ][0-9:.]*Z?)?|v?[0-9]+(?:\.[0-9]+){1,3}"
)
_DOTTED: Final = re.compile(
    r"!?[A-Za-z_$][\w$]*(?:(?:\?|!)?\.[A-Za-z_$][\w$]*|->\w+|::\w+)+[?!]?"
)
_SNAKE: Final = re.compile(r"_?[A-Za-z]+(?:_[A-Za-z]+)+_?|_[A-Za-z]+|[A-Za-z]+_")
_CAMEL: Final = re.compile(r"[a-z]+(?:[A-Z][a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+")
_PATH: Final = re.compile(
    r"(?:~|\.{1,2})?/[\w.@%+~-]*(?:/[\w.@%+~-]*)*|[A-Za-z]:\\.*|~"
)
_FILE: Final = re.compile(
    r"[\w./-]+\.(?:txt|pem|key|crt|ya?ml|json|env|md|py|ts|js|go|rb|toml|ini|cfg|conf|sh|enc|gpg|age|kdbx|html?|java|rs|example)"
)
_CONSTANT: Final = re.compile(
    r"(?:null|none|nil|undefined|true|false)[)}\],;:|&?]", re.I
)
_COLOUR: Final = re.compile(r"#(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8});?")
_FINGERPRINT: Final = re.compile(r"(?:0x)?(?:[0-9A-Fa-f]{8}){1,5}")
# Words joined to a passphrase: four or more, and none of them the `by` of prose.
_CHAIN: Final = re.compile(r"[a-z]{3,12}(?:[-_.][a-z]{3,12}){3,7}")
# What minified and other code has after a name: `m}=(0,`, `c?l:null`, `a||b`, `y=c}`.
_CODE: Final = re.compile(
    r"[\w.$!]{1,60}(?:\}+[=)\],;.({]|\)+[.,;({:?]|=>|[!=]==?[\w\"'(]|&&|\|\||\?\?|\?\.\w|\?[\w.]{1,40}:)"
    r"|[\w$]{1,40}=[\w$]{1,40}[},)]|[\w$]{1,40}(?:\.[\w$]{1,40})+[,;]\w|[0-9]{1,4}\]"
    r"|[A-Za-z$]{1,3}\.[A-Za-z]\w{1,30}$|(?:return|function|typeof|new|await)[{( ]"
)
_CALL: Final = re.compile(r"([\w.$]+|[A-Z0-9-]+)(?:(?:->|::|\?\.)\w+)*[\[(]")
_CLASS_NAME: Final = re.compile(r"(?:[A-Z][a-z]{2,}|[A-Z][0-9]){3,8}")
_NAME: Final = re.compile(
    rf"{_SNAKE.pattern}|{_CAMEL.pattern}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
)
_TYPE_NAME: Final = re.compile(
    r"(?:\w+\.)*[A-Z]\w*(?:Key|Token|Secret|Password|Credentials?|Types?)"
)
_ANNOTATION: Final = re.compile(
    r"[\w.]{2,40}\[[\w., |\[\]]{1,80}\]|[a-z_]\w*(?:\.[A-Za-z_]\w*)*\.[A-Z][A-Za-z]*"
)
_ESCAPES: Final = re.compile(r"(?:\\x[0-9a-fA-F]{2})+")
_FIELD: Final = re.compile(r"[$#]?\{[A-Za-z_][^{}\n]{0,80}\}")
_SYMBOL_INSIDE: Final = re.compile(
    r"^(?=\w*[A-Z])(?=\w*[a-z])\w{2,40}[!#$%^&*+?~]\w{2,40}$"
)
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
# Links that say little: the value must look like nothing but a secret.
_WEAK: Final = ("space", "newline", "call")
_STRONG: Final = ("assign", "pair")


class Assignment(NamedTuple):
    """A key that names a secret and the value beside it, not judged yet.

    *link* is how they are joined: `assign` (`=`, `:`), `prose` (is, was, set to) or
    `space`. *quoted*: in quotes or backticks. *ends*: nothing else follows in the
    clause. *tight*: no space around the separator.
    """

    key: str
    value: str
    link: str
    quoted: bool = True
    ends: bool = True
    tight: bool = True
    flag: bool = False

    def __repr__(self) -> str:
        """Say nothing of the value: tracebacks are logged."""
        return f"Assignment(key={self.key!r}, link={self.link!r})"


def judge_assignment(found: Assignment) -> str:
    """Return the kind of secret in *found*, or nothing if it holds none."""
    promised = key_class(found.key)
    if not promised or _is_innocent(found):
        return ""
    if promised in ("secret", "loose") and _CLASS_NAME.fullmatch(found.value):
        return ""
    accept = {
        "password": _accept_password,
        "short": _accept_short,
        "secret": _accept_secret,
        "loose": _accept_loose,
    }[promised]
    return kind_of(found.key, promised) if accept(found) else ""


def _is_innocent(found: Assignment) -> bool:
    value = found.value
    lower = value.lower().rstrip(".!?")
    if _CONSTANT.match(value) or _COLOUR.fullmatch(value):
        return True
    if _FINGERPRINT.fullmatch(value) and re.search(r"(?i)gpg|pgp", found.key):
        return True
    if is_placeholder(value) or MASK.search(value) or lower in STOP:
        return True
    if _DATE.fullmatch(value) or _EMAIL.fullmatch(value) or "://" in value:
        return True
    if key_words(value) == key_words(found.key):
        return True
    if _PATH.fullmatch(value) and (value[0] in "~." or is_wordy(value)):
        return True
    if _FILE.fullmatch(value) or re.match(
        r"/(?:etc|run|home|usr|var|opt|tmp|mnt)/", value
    ):
        return True
    if value.startswith(("--", "//")) or (_DOTTED.fullmatch(value) and is_wordy(value)):
        return True
    if found.link != "assign" and re.match(r"[A-Za-z_]{2,40}=", value):
        return True
    if (found.quoted and value[0] in ",);") or re.fullmatch(r"#[A-Za-z-]+", value):
        return True  # `"no token:", error)`; a CSS selector
    own = re.search(r"[\w-]+$", found.key)
    plain = not found.quoted and re.fullmatch(r"[A-Za-z_][\w.]*", value)
    if plain and own and re.search(rf"(?i)[._]{re.escape(own[0])}$", value):
        return True  # `api_key=self.s3_api_key`
    if plain and _TYPE_NAME.fullmatch(value):
        return True  # `private_key: ed25519.Ed25519PrivateKey`
    if found.link in ("pair", "call") and _NAME.fullmatch(value):
        return True
    if "***" in value or _ANNOTATION.fullmatch(value) or _ESCAPES.fullmatch(value):
        return True
    filled = _FIELD.sub("", value)
    if filled != value and not looks_random(filled, 12):
        return True
    if found.link not in _STRONG and re.match(r":|\w{2,40}[<>]=?\w", value):
        return True
    if re.search(r"\\[sSwWdD][+*{]|\(\?[:P<=!]|\[\^", value):  # a pattern
        return True
    return not found.quoted and _is_expression(value)


def _is_expression(value: str) -> bool:
    """Say whether an unquoted *value* is code: a call, an index, a name."""
    if _CODE.match(value) or _CLASS_NAME.fullmatch(value):
        return True
    called = _CALL.match(value)
    if called and (is_wordy(called[1].strip("$")) or len(called[1]) <= 3):
        return True
    if re.search(r"^[a-z_]{2,20}=[A-Za-z_.]*\d{0,4}$|[\w)]\(\)|^[(\[&|]", value):
        return True
    if _DOTTED.fullmatch(value) and is_wordy(value.strip("!?$")):
        return True
    return bool(_SNAKE.fullmatch(value))


def _accept_password(found: Assignment) -> bool:
    value = found.value
    if " " in value:
        return _is_passphrase(value)
    if len(value) < 3:
        return False
    if value.isdigit():
        return len(value) >= 4 and found.link not in _WEAK
    if _MEASURE.fullmatch(value.lower()):
        return False
    if found.link in _STRONG or found.flag:
        return _accept_assigned_word(found)
    return _accept_prose_word(found)


def _accept_assigned_word(found: Assignment) -> bool:
    value = found.value
    if found.flag and value.isupper() and value.isalpha():
        return False
    if value.isalpha():
        if _CAMEL.fullmatch(value) and not found.quoted and not found.tight:
            return False
        return found.quoted or found.tight or found.ends
    return not _is_about(value)


def _is_about(value: str) -> bool:
    """Say whether *value* is a hyphenated adjective, as in `case-sensitive`."""
    parts = value.lower().split("-")
    if len(parts) < 2 or not all(part.isalpha() for part in parts[1:]):
        return False
    ends = ("ed", "ing", "able") if _CHAIN.fullmatch(value) else PROSE_ENDS
    return parts[-1] in PROSE_WORDS or parts[-1].endswith(ends)


def _accept_prose_word(found: Assignment) -> bool:
    value = found.value
    has_digit = any(c.isdigit() for c in value)
    symbols = [c for c in value if not c.isalnum() and c not in "-_'\u2019"]
    if found.link in _WEAK:
        if found.link == "newline" and not found.ends:
            return False
        if _is_about(value):
            return False
        if _CHAIN.fullmatch(value) or (found.ends and _SYMBOL_INSIDE.search(value)):
            return True
        return len(value) >= 6 and has_digit and any(c.isalpha() for c in value)
    if value.isalpha():
        mixed = value != value.lower() and not value.istitle() and not value.isupper()
        return found.quoted or (mixed and len(value) >= 6)
    if _is_about(value):
        return False
    if has_digit or symbols:
        return len(value) >= 4
    if _CHAIN.fullmatch(value):
        return True
    return "-" in value and found.ends and len(value) >= 6


def _is_passphrase(value: str) -> bool:
    words = value.split()
    if any(
        re.fullmatch(r"\S*\d\S*[^\s\w]\S*|\S*[a-z]\d\S*", word) for word in words[:1]
    ):
        return len(words) <= 2
    plain = all(word.isalpha() and word.islower() and len(word) >= 3 for word in words)
    told = any(word in STOP and word not in COMMON for word in words)
    return plain and 4 <= len(words) <= 8 and not told


def _accept_short(found: Assignment) -> bool:
    value = found.value
    words = key_words(found.key)
    if found.link not in _STRONG and words[-1:] == ["pass"] and not found.flag:
        if not any(c.isdigit() for c in value) and not _CHAIN.fullmatch(value):
            return False
        if words[-2] in VERB_BEFORE if words[1:] else not found.ends:  # `to pass x2`
            return False
    if found.link in _STRONG and not found.flag:
        if value.isalpha() and not (found.tight or found.quoted):
            return False
        if value.isdigit() and len(value) < 4:
            return False
        if "/" in value and is_wordy(value) and not any(c.isdigit() for c in value):
            return False
        if key_words(found.key)[-1:] == ["pin"] and not value.isdigit():
            return False
        if value.lower() in {"fail", "skip", "warn"} or value.startswith(("/", "~")):
            return False
    return _accept_password(found)


def _accept_secret(found: Assignment) -> bool:
    value = found.value
    if " " in value:
        return False
    if found.link == "newline" and not found.ends:
        return False
    if found.link in _WEAK and not found.flag:
        return looks_random(value, 12 if found.quoted else 16)
    if value.isalpha() and not found.quoted and not (found.tight and len(value) >= 16):
        return found.key.isupper() and found.tight and len(value) >= 8
    if looks_random(value):
        return found.link in _STRONG or any(c.isdigit() for c in value)
    if found.link not in _STRONG or len(value) < 6:
        return False
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    if mixed and not re.search(r"[-_.:/]", value) and not _MEASURE.fullmatch(value):
        return True
    if key_words(found.key)[-1:] == ["secret"] and re.fullmatch(r"[\w-]+", value):
        return variety(value) >= 3 and mixed
    if value.isdigit():
        return False
    return found.key.isupper() and value.isalpha() and len(value) >= 8 and found.tight


def _accept_loose(found: Assignment) -> bool:
    value = found.value
    if len(value) >= 8 and decoded_text(value).count(":") == 1:  # docker's `auth`
        return True
    if found.link not in _STRONG or not any(c.isdigit() for c in value):
        return False
    if " " in value:
        return False
    if not looks_random(value, 16) or key_words(found.key)[-1:] == ["key"]:
        return _accept_bare_key(found)
    return True


def _accept_bare_key(found: Assignment) -> bool:
    """`key` alone is mostly a name: only a mixture that no digest has will do."""
    if not looks_random(found.value, 24) or re.search(r"[-_.:]", found.value):
        return False
    hexed = re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", found.value)
    named = found.key.isupper() and "_" in found.key
    return named if hexed else variety(found.value) >= 3
