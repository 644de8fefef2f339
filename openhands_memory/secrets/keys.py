"""What a name promises about the value beside it: `db_password`, `token_count`."""

import re
from typing import Final

from openhands_memory.secrets.words import (
    BEFORE_BAD,
    KEY_BAD,
    KEY_BEFORE,
    KEY_OK,
    LOOSE,
    NOT_SHORT,
    PASSWORD,
    SECRET,
    SHORT,
    SHORT_ENDS,
)

_WORD: Final = re.compile(r"[A-Z]+(?![a-z\u00df-\u00ff])|[^\W\d_][^\W\d_A-Z]*|[0-9]+")


def key_words(key: str) -> list[str]:
    """Split an identifier or a phrase: `dbPassword`, `DB_PASSWORD`, `db password`."""
    return [word.lower() for word in _WORD.findall(key)]


def key_class(key: str) -> str:
    """Say what *key* promises: password, short, secret, loose, or nothing.

    `short` words (pass, pw) mean other things as well; `loose` keys need a value that
    could be nothing but a secret.
    """
    words = key_words(key)
    for at in range(len(words) - 1, -1, -1):
        found = _word_class(words, at)
        if found:
            return _after_suffix(found, words[at + 1 :], words[:at])
    return ""


def _word_class(words: list[str], at: int) -> str:
    word = words[at]
    if word in PASSWORD or word.endswith(("password", "passwd", "passwort")):
        return "password"
    if word in SHORT or (word.endswith(SHORT_ENDS) and word not in NOT_SHORT):
        return "short"
    if word in LOOSE:
        return "loose"
    if word in SECRET or word.endswith(("secret", "token", "apikey", "schlüssel")):
        return "secret"
    if word in ("clé", "chave", "chiave"):
        return "secret" if "api" in words[at + 1 : at + 2] else "loose"
    if word == "key":
        return "secret" if at and words[at - 1] in KEY_BEFORE else "loose"
    return ""


def _after_suffix(found: str, suffix: list[str], before: list[str]) -> str:
    if before and before[-1] in BEFORE_BAD:
        return ""
    if any(word in KEY_BAD for word in suffix):
        return ""
    known = all(word in KEY_OK or word.isdigit() for word in suffix)
    return found if known else "loose"


KIND_BY_KEY: Final = (
    (re.compile(r"aws.*secret|secret.?access.?key"), "aws-secret-key"),
    (re.compile(r"client.?key.?data"), "kubeconfig-key"),
    (re.compile(r"shared.?access.?key"), "azure-shared-key"),
    (re.compile(r"account.?key|azure.*(?:storage|key)"), "azure-storage-key"),
    (re.compile(r"heroku"), "heroku-key"),
    (re.compile(r"twilio"), "twilio-key"),
    (re.compile(r"npm|_authtoken"), "npm-token"),
    (re.compile(r"datadog|^dd_"), "datadog-key"),
    (re.compile(r"cloudflare|^cf_"), "cloudflare-key"),
    (re.compile(r"private.?key"), "private-key"),
    (re.compile(r"api.?key|app.?key|apikey"), "api-key"),
    (re.compile(r"cookie|session"), "session-token"),
    (re.compile(r"token|jeton"), "token"),
    (re.compile(r"key|schlüssel"), "key"),
    (re.compile(r"auth"), "auth-header"),
    (re.compile(r"cred"), "credentials"),
)


def kind_of(key: str, promised: str) -> str:
    if promised in ("password", "short"):
        return "password"
    lower = key.lower()
    return next((kind for found, kind in KIND_BY_KEY if found.search(lower)), "secret")
