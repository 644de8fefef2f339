"""The secret scanner: what it finds, what it leaves alone, what it never says."""

import base64
import json
import re
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import pytest
import secrets_corpus as first
import secrets_second_corpus as second
import secrets_third_corpus as third
from hypothesis import given, settings
from hypothesis import strategies as st

from openhands_memory.secrets import KINDS, find_secrets, mask_secrets, mask_value
from openhands_memory.secrets.assignments import find_assignments
from openhands_memory.secrets.contexts import RULES
from openhands_memory.secrets.judging import Assignment
from openhands_memory.secrets.rules import matches
from openhands_memory.secrets.scanning import lower_case
from openhands_memory.secrets.words import KEYWORDS


@cache
def samples(corpus: ModuleType, seed: int = 1) -> tuple[list[Any], list[Any]]:
    """Return what must be masked and what must survive."""
    return corpus.positives(seed), corpus.negatives(seed)


POSITIVES, NEGATIVES = samples(first)
SECRET = [s for corpus in (first, second, third) for s in samples(corpus)[0]]
INNOCENT = [s for corpus in (first, second, third) for s in samples(corpus)[1]]
TOKEN = "gh" + "p_" + "A" * 36


def survives(secret: str, text: str) -> bool:
    """Say whether 12 characters of *secret* in a row can still be read."""
    seen = re.sub("[\u00ad\u200b\u2060\u202e]", "", text)
    if len(secret) <= 12:
        return secret in seen
    return any(secret[at : at + 12] in seen for at in range(len(secret) - 11))


# --- The corpora ----------------------------------------------------------------------


def test_the_corpora_are_large_and_varied() -> None:
    """Of the contract: 300 texts with a secret, 300 without, 30 kinds; in each of two."""
    for corpus in (first, second):
        secret, innocent = samples(corpus)
        assert len(secret) >= 350
        assert len(innocent) >= 350
        assert len({sample.kind for sample in secret}) >= 40


@pytest.mark.parametrize("held_out", [False, True], ids=["development", "held-out"])
def test_the_first_corpus_stays_found(held_out: bool) -> None:
    secret, innocent = (
        [s for s in part if s.held_out == held_out] for part in samples(first)
    )
    hit = sum(not survives(s.secret or "", mask_secrets(s.text).text) for s in secret)
    wrong = sum(mask_secrets(s.text).text != s.text for s in innocent)
    assert hit / len(secret) >= 0.99
    assert hit / (hit + wrong) >= 0.995


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("corpus", "recall", "precision"),
    [(second, 0.98, 0.99), (third, 0.97, 0.99)],
    ids=["second", "third"],
)
def test_the_independent_corpora_stay_found(
    corpus: ModuleType, recall: float, precision: float, seed: int
) -> None:
    """No eight characters of a secret in a row are left, in any of its parts."""
    secret, innocent = samples(corpus, seed)
    missed = [s.text for s in secret if second.survives(s, mask_secrets(s.text).text)]
    wrong = [s.text for s in innocent if mask_secrets(s.text).text != s.text]
    hit = len(secret) - len(missed)
    assert hit / len(secret) >= recall, missed
    assert hit / (hit + len(wrong)) >= precision, wrong


def test_every_kind_found_in_the_corpora_is_a_stable_name() -> None:
    found = {secret.kind for s in SECRET for secret in find_secrets(s.text)}
    assert found <= KINDS
    assert len(found) >= 100


def test_a_masked_text_is_left_alone() -> None:
    for sample in SECRET[::3]:
        once = mask_secrets(sample.text).text
        assert once == mask_secrets(once).text
        assert find_secrets(once) == []


def test_all_samples_in_one_text_are_masked_as_they_are_alone() -> None:
    lines = [sample.text for sample in INNOCENT if "\n" not in sample.text]
    masked = mask_secrets("\n\n".join(lines))
    assert sum(masked.counts.values()) <= 0.01 * len(lines)


# --- Cases from the field -------------------------------------------------------------


def test_a_recorded_environment_leaves_no_secret_behind() -> None:
    """Case B24: the agent listed its environment, and memory was committed."""
    head, foot = (
        "-----BEGIN " + "RSA PRIVATE KEY-----",
        "-----END " + "RSA PRIVATE KEY-----",
    )
    sha = "3f2a9b1c" * 5
    text = (
        f"FAKE_TOKEN={TOKEN}\n{head}\ndummybody\n{foot}\npostgres://svc:notreal@db/x\n"
        f"commit {sha} of risk-based-approach-for-deployments\n"
    )
    masked = mask_secrets(text)
    assert masked.text == (
        "FAKE_TOKEN=[secret: github-token]\n[secret: private-key]\n"
        "postgres://svc:[secret: url-password]@db/x\n"
        f"commit {sha} of risk-based-approach-for-deployments\n"
    )
    assert masked.counts == {"github-token": 1, "private-key": 1, "url-password": 1}


def test_hand_written_passwords_are_told_by_line_and_kind() -> None:
    """Case B25: plain-text passwords in a memory file."""
    text = (
        "- tests run with `make check`\n- nas login: user ops, pass=Swordfish9\n"
        "- the CI cache is per branch\n- admin pw is hunter-two\n- deploys on Friday\n"
    )
    found = [(s.line, s.column, s.kind) for s in find_secrets(text)]
    assert found == [(2, 29, "password"), (4, 15, "password")]


def test_a_secret_never_shows_its_value() -> None:
    (secret,) = find_secrets(f"a\nb {TOKEN}")
    assert "AAAA" not in repr(secret) + str(secret)
    assert (secret.line, secret.column, secret.kind) == (2, 3, "github-token")
    assert "hunter" not in repr(Assignment("password", "hunter2", "assign"))
    assert f"a\nb {TOKEN}"[secret.start : secret.end] == TOKEN


def test_positions_are_those_of_the_original_with_invisible_characters() -> None:
    text = "\ufeffx \u200b" + TOKEN[:9] + "\u200b\u00ad" + TOKEN[9:] + "\u200b end"
    (secret,) = find_secrets(text)
    masked = mask_secrets(text).text
    assert text[secret.start : secret.end] == TOKEN[:9] + "\u200b\u00ad" + TOKEN[9:]
    assert masked == "\ufeffx \u200b[secret: github-token]\u200b end"


def test_a_private_key_is_masked_as_a_whole() -> None:
    dashes = "-" * 5
    key = (
        f"{dashes}BEGIN PRIVATE KEY{dashes}\nTUlJQg==\n{dashes}END PRIVATE KEY{dashes}"
    )
    assert mask_secrets(f"a {key} b").text == "a [secret: private-key] b"
    quoted = json.dumps({"k": key})
    assert mask_secrets(quoted).text == '{"k": "[secret: private-key]"}'


FOUND = {
    "a table": (
        "| Host | Password | Notes |\n|---|---|---|\n| nas | lily-42 | first run |",
        "| Host | Password | Notes |\n|---|---|---|\n| nas | [secret: password] | first run |",
    ),
    "rows of psql": (
        " user | password \n------+----------\n ops  | lily-42",
        " user | password \n------+----------\n ops  | [secret: password]",
    ),
    "CSV": ("name,password\nops,lily-42\n", "name,password\nops,[secret: password]\n"),
    "SQL": (
        "INSERT INTO users (name, password) VALUES ('ops', 'lily42');",
        "INSERT INTO users (name, password) VALUES ('ops', '[secret: password]');",
    ),
    "a list below a heading": (
        "## Passwords\n\n- nas: lily-42\n- policy: 12 characters\n",
        "## Passwords\n\n- nas: [secret: password]\n- policy: 12 characters\n",
    ),
    "pairs on one line": (
        "Passwords: nas=lily42, router: see vault",
        "Passwords: nas=[secret: password], router: see vault",
    ),
    "what a command printed": (
        "$ pass show nas/ops\nlily-42\n",
        "$ pass show nas/ops\n[secret: printed-secret]\n",
    ),
    "an argument": (
        "ldapsearch -x -w lily42 -b dc=example",
        "ldapsearch -x -w [secret: login] -b dc=example",
    ),
    "escaped slashes": (
        r'{"dsn": "amqp:\/\/ops:lily42@mq\/v"}',
        r'{"dsn": "amqp:\/\/ops:[secret: url-password]@mq\/v"}',
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_secret_is_found_where_a_place_gives_it_away(name: str) -> None:
    text, masked = FOUND[name]
    assert mask_secrets(text).text == masked


# --- Known values ---------------------------------------------------------------------

KNOWN = {"DEPLOY": 'p/w"ä"&co+?=~xy', "LONG": "zebra-crossing-7781"}


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "url": lambda v: urllib.parse.quote(v, safe=""),
    "form": urllib.parse.quote_plus,
    "url, lower": lambda v: re.sub(
        "%..", lambda hit: hit[0].lower(), urllib.parse.quote(v, safe="")
    ),
    "json": lambda v: json.dumps(v)[1:-1],
    "json, unicode": lambda v: json.dumps(v, ensure_ascii=False)[1:-1],
    "json in json": lambda v: json.dumps(json.dumps(v)),
    "hex": lambda v: v.encode().hex(),
    "HEX": lambda v: v.encode().hex().upper(),
    "base64": lambda v: base64.b64encode(v.encode()).decode(),
    "base64url": lambda v: base64.urlsafe_b64encode(v.encode()).decode().rstrip("="),
    "two lines": lambda v: v[:5] + "\n" + v[5:],
    "three lines": lambda v: v[:5] + "\r\n    " + v[5:9] + "\n    " + v[9:],
    "quoted lines": lambda v: v[:6] + "\n> " + v[6:],
    "escaped newline": lambda v: v[:6] + "\\n" + v[6:],
    "zero width": "\u200b".join,
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", KNOWN)
def test_a_known_value_is_masked_in_every_spelling(name: str, spelling: str) -> None:
    spell = SPELLINGS[spelling]
    text = f"before {spell(KNOWN[name])} after"
    masked = mask_secrets(text, KNOWN)
    assert f"[secret: {name}]" in masked.text
    assert not survives(spell(KNOWN[name]), masked.text)
    assert masked.text.startswith("before ")
    assert masked.text.endswith(" after")


def test_a_known_passphrase_is_masked_where_a_line_was_wrapped() -> None:
    text = "it is blue horse\n  battery nail, really"
    masked = mask_secrets(text, {"P": "blue horse battery nail"}).text
    assert masked == "it is [secret: P], really"


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("after", ["", "z", "zy"])
def test_a_known_value_inside_base64_is_masked(before: str, after: str) -> None:
    coded = base64.b64encode(f"{before}zebra-crossing-7781{after}".encode()).decode()
    masked = mask_secrets(f"x {coded} y", KNOWN).text
    assert masked == "x [secret: LONG] y"


def test_the_longest_known_value_goes_first() -> None:
    known = {"SHORT": "abc12345", "WHOLE": "abc12345-TAIL-9876"}
    assert mask_secrets("abc12345-TAIL-9876", known).text == "[secret: WHOLE]"


def test_overlapping_known_values_leave_no_tail() -> None:
    masked = mask_secrets("alpha-beta-gamma", ["alpha-beta", "beta-gamma"]).text
    assert masked == "[secret: known-secret]"


def test_known_values_without_names_and_odd_names_are_masked_plainly() -> None:
    assert mask_secrets("a zebra-88", ["zebra-88"]).text == "a [secret: known-secret]"
    assert mask_secrets("a zebra-88", "zebra-88").text == "a [secret: known-secret]"
    odd = {"my key]": "zebra-88"}
    assert mask_secrets("a zebra-88", odd).text == "a [secret: known-secret]"


def test_a_short_known_value_is_masked_as_a_word_only() -> None:
    known = {"ENV": "prod", "FLAG": "on"}
    text = "the product is on prod."
    assert mask_secrets(text, known).text == "the product is on [secret: ENV]."


def test_a_known_value_never_breaks_a_mask() -> None:
    masked = mask_secrets("a secret token", {"WORD": "secret"}).text
    assert masked == "a [secret: WORD] token"
    assert masked == mask_secrets(masked, {"WORD": "secret"}).text


# --- Structures -----------------------------------------------------------------------


def test_keys_and_leaves_of_a_structure_are_masked() -> None:
    node = {TOKEN: [f"use {TOKEN}", {"n": (1, None, TOKEN)}], "plain": True}
    assert mask_value(node) == {
        "[secret: github-token]": [
            "use [secret: github-token]",
            {"n": (1, None, "[secret: github-token]")},
        ],
        "plain": True,
    }


def test_a_key_gives_its_value_away() -> None:
    node = {"user": "ops", "password": "tiger-lily-42", "token": "$TOKEN"}
    masked = {"user": "ops", "password": "[secret: password]", "token": "$TOKEN"}
    assert masked == mask_value(node)


def test_names_and_flags_give_the_next_value_away() -> None:
    assert mask_value({"name": "DB_PASSWORD", "value": "tiger-lily-42"}) == {
        "name": "DB_PASSWORD",
        "value": "[secret: password]",
    }
    assert mask_value(["login", "--password", "tiger-lily-42"]) == [
        "login",
        "--password",
        "[secret: password]",
    ]


def test_keys_that_become_one_mask_keep_their_values() -> None:
    masked = mask_value({TOKEN: 1, TOKEN.replace("A", "B"): 2})
    assert masked == {"[secret: github-token]": 1, "[secret: github-token] (2)": 2}


def test_known_values_are_masked_in_structures() -> None:
    assert mask_value(["x zebra-88"], {"N": "zebra-88"}) == ["x [secret: N]"]


def test_a_bottomless_structure_is_masked_and_does_not_overflow() -> None:
    node: object = TOKEN
    for _ in range(5000):
        node = [node]
    assert TOKEN not in repr(mask_value(node))


# --- Properties -----------------------------------------------------------------------

fragments = st.sampled_from(
    [sample.text for sample in SECRET[::5]]
    + [sample.text for sample in INNOCENT[::5]]
    + [
        "password",
        "=",
        ": ",
        "[secret: ",
        "token]",
        '"',
        "\\",
        "\n",
        "is ",
        "&",
        "$",
        "//",
    ]
)
texts = st.lists(st.one_of(fragments, st.text(max_size=6)), max_size=6).map("".join)


@settings(max_examples=150, deadline=None)
@given(texts)
def test_masking_is_idempotent_on_any_text(text: str) -> None:
    once = mask_secrets(text).text
    assert once == mask_secrets(once).text


@settings(max_examples=60, deadline=None)
@given(texts, st.lists(st.text(max_size=12), max_size=3))
def test_masking_known_values_is_idempotent_on_any_text(
    text: str, known: list[str]
) -> None:
    once = mask_secrets(text, known).text
    assert once == mask_secrets(once, known).text


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_spans_are_ordered_inside_the_text_and_told_truly(text: str) -> None:
    at = 0
    for secret in find_secrets(text):
        assert at <= secret.start < secret.end <= len(text)
        assert text.count("\n", 0, secret.start) + 1 == secret.line
        at = secret.end


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(max_size=9), inner, max_size=3)
        ),
    )
)
def test_masking_a_structure_is_idempotent(node: object) -> None:
    once = mask_value(node)
    assert once == mask_value(once)


# --- The prefilter --------------------------------------------------------------------

EVERYTHING = "\n".join(sample.text for sample in (SECRET + INNOCENT)[::4])


def test_the_prefilter_finds_all_that_the_patterns_alone_find() -> None:
    lowered = lower_case(EVERYTHING)
    for rule in RULES:
        plain = [found.span() for found in rule.pattern.finditer(EVERYTHING)]
        quick = [found.span() for found in matches(rule, EVERYTHING, lowered)]
        assert plain == quick, rule.source


def test_every_rule_has_literals_that_its_text_cannot_avoid() -> None:
    for rule in RULES:
        assert all(rule.literals), rule.source
        if rule.fold:
            assert all(word == word.lower() for word in rule.literals), rule.source


@settings(max_examples=40, deadline=None)
@given(texts)
def test_the_prefilter_is_a_superset_on_any_text(text: str) -> None:
    low = lower_case(text)
    assert len(text) == len(low)
    for rule in RULES:
        plain = [found.span() for found in rule.pattern.finditer(text)]
        assert plain == [found.span() for found in matches(rule, text, low)]


def test_an_assignment_needs_one_of_the_keywords() -> None:
    innocent = "".join(w for w in EVERYTHING if w.isascii() and w in "xyz =:\n")
    assert not any(word in innocent for word in KEYWORDS)
    assert list(find_assignments(innocent, innocent)) == []


# --- Cost -----------------------------------------------------------------------------

HOSTILE = [
    "password", "password=", "password=$a ", 'password="', "password ", "token ",
    "key for a b c ", "eyJ", "eyJaaaaaaaa.", "://", "://a:b", "M", "a/", "1", "\\",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----AAAAAAAAAAAAAAAAAAA",
    "mysql ", "login ", "wifi ", "echo a|", "password=<", "key-", "token.b", "\u200ba",
    "[secret: token]", "aaaaaaaa as password ", "password (x) (", "aGVsbG8gd29ybGQg",
    "| password |\n|--|--|\n", "| a |", "a,password\n", "passwords:\n- nas: b1c2d3e4\n",
    "sess=", "cookie: sess=aaaaaaaaaaaaaaaa1; ", "AZDO", "JQQJ99", "00aA1_", "密码 ", "\\/",
    "cat /run/secrets/a", "mnemonic a ", "insert into a (password) values ('a'),",
    "password from a ", "wpa key of the ", "net use /user:a ", "account (a, ", "p: u: ",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_with_the_text_and_not_faster(unit: str) -> None:
    def seconds(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        best = 9e9
        for _ in range(2):
            start = time.process_time()
            find_secrets(text)
            best = min(best, time.process_time() - start)
        return best

    # Eight times the text: 64 times the time if it were quadratic.
    assert seconds(12_000) <= 24 * max(seconds(1_500), 0.0005)


def test_importing_the_scanner_loads_nothing_heavy() -> None:
    code = (
        "import sys, openhands_memory.secrets; "
        "print([m for m in ('openhands', 'pydantic', 'json', 'urllib.parse', 'dataclasses') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
