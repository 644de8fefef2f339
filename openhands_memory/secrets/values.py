"""What a value looks like: a placeholder, words, chance, or base64 of something.

Deliberately no dictionary of leaked passwords, and no entropy: what people choose has
little of it, and digests, which are no secrets, have much.
"""

import binascii
import re
from functools import cache
from typing import Final

from openhands_memory.secrets.words import PLACEHOLDER_WORDS

MASK: Final = re.compile(r"\[secret: [A-Za-z][\w.-]{0,63}\]")


@cache
def compiled(source: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(source, flags)


_ALPHA: Final = re.compile(r"[^\W\d_]+")
_PARTS: Final = re.compile(r"[-_.:/+@ ]+")
# Words of a name or of prose; camelCase is two words, `v2` and `1234` are no secret.
_PLAIN_PART: Final = re.compile(
    r"[A-Z]?[a-z\u00df-\u00ff]{1,30}(?:[A-Z][a-z]{2,20})*|[A-Z]{1,24}|[0-9]{1,8}"
    r"|[A-Z]{2,6}[a-z]{2,20}(?:[A-Z][a-z]{1,20})*|[vV][0-9]{1,4}"
    r"|[A-Za-z]{2,12}[0-9]{1,2}|[0-9]{1,3}[a-z]{1,2}"
)
_CAPITAL_WORDS: Final = re.compile(r"[A-Z]{2,20}(?:_[A-Z]{2,20})+")  # `PROMPT_ME`
_LONG_WORD: Final = re.compile(r"[A-Z]?[a-z]{9}")
ONE_CHARACTER: Final = re.compile(r"(.)\1*", re.DOTALL)
FILLERS: Final = frozenset("xX*.•·…#?-_=~0")
REFERENCE: Final = re.compile(
    r"\$[{(]|\$[A-Z_][A-Z0-9_]*(?:$|[^a-z0-9])|\$[A-Za-z_]+(?::[A-Za-z_]+|->\w+)?$"
    r"|<[^<>]*>?|\{\{?|%(?:env)?[({]|(?:process|import\.meta|Deno)\.env\b|os\.environ\b|%[A-Za-z_]+%$|#\{|@[A-Za-z_.]+@?$|@Microsoft\.KeyVault"
    r"|!(?:vault|Ref|Sub|GetAtt|secret|env|ENV|ImportValue)\b|&[A-Za-z_]+$|\*[A-Za-z_]+$"
    r"|(?:op|vault|ssm|awssm|gcpsm|gcp-sm|keyring|keychain|secretref|env|file|arn"
    r"|sops|bws|akv|doppler|infisical|secretsmanager|kv|azkv|pass|gopass|ref)"
    r"(?::|://|\+)[\w/@:]|ENC\[|ENC\(|projects/[\w-]+/secrets/|__\w+__$|%[srd](?:$|\W)"
    r"|\[(?:secret|redacted|hidden|masked|removed|omitted|filtered|your|insert)"
    r"|secret-hidden|\\?u003[cC]|&lt;|%3[cC]|\\[SwWd][+*{]|\.[*+][?)\]\\]?$|\[\^"
)


def is_placeholder(value: str) -> bool:
    """Say whether *value* stands for a secret instead of being one."""
    bare = value.strip("\"'`")
    if len(bare) < 2 or REFERENCE.match(bare):
        return True
    if not any(c.isalnum() and c not in FILLERS for c in bare):
        return True
    if bare.endswith(("...", "…", "***", "xxxx", "XXXX")):
        return True
    if _CAPITAL_WORDS.fullmatch(bare):
        return True
    if bare.endswith(("EXAMPLE", "EXAMPLEKEY")):  # AWS documentation
        return True
    words = {word.lower() for word in _ALPHA.findall(bare[:200])}
    if words & PLACEHOLDER_WORDS:
        return True
    return "change" in words and "me" in words


def is_wordy(value: str) -> bool:
    """Say whether *value* is made of words and small numbers, as names are."""
    parts = [part for part in _PARTS.split(value) if part]
    return all(_PLAIN_PART.fullmatch(part) for part in parts)


def variety(value: str) -> int:
    return (
        any(c.isdigit() for c in value)
        + any(c.islower() for c in value)
        + any(c.isupper() for c in value)
        + any(not c.isalnum() for c in value)
    )


def looks_random(value: str, length: int = 8) -> bool:
    """Say whether *value* is too irregular to be a name, a number or words."""
    if len(value) < length or is_placeholder(value):
        return False
    if len(set(value)) < min(5, length) or value.isdigit() or is_wordy(value):
        return False
    return variety(value) >= 2


def looks_mixed(value: str) -> bool:
    """Say whether capitals, small letters and digits alternate as chance has it."""
    if len(re.findall(r"[0-9]", value)) < 3 or _LONG_WORD.search(value):
        return False
    small, capital = re.findall(r"[a-z]", value), re.findall(r"[A-Z]", value)
    return len(small) >= 3 and len(capital) >= 3


def decoded_text(coded: str) -> str:
    """Return what base64 *coded* says if that is printable text, otherwise nothing."""
    padded = coded.rstrip("=").replace("-", "+").replace("_", "/")
    if len(padded) % 4 == 1:
        return ""
    try:
        head = binascii.a2b_base64(padded[:24] + "=" * (-len(padded[:24]) % 4))
        if not _is_printable(head):
            return ""
        raw = binascii.a2b_base64(padded + "=" * (-len(padded) % 4))
    except (binascii.Error, ValueError):
        return ""
    return raw.decode("ascii") if _is_printable(raw) else ""


def _is_printable(raw: bytes) -> bool:
    return bool(raw) and all(32 <= byte < 127 or byte in b"\n\r\t" for byte in raw)
