"""The secret scanner: what it finds, what it leaves alone, what it never says."""

import base64
import json
import re
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from secrets_corpus import negatives, positives

from openhands_memory.secret_rules import KEYWORDS, KINDS, RULES, Rule, find_assignments
from openhands_memory.secrets import (
    find_secrets,
    lower_case,
    mask_secrets,
    mask_value,
    matches,
)

POSITIVES = positives()
NEGATIVES = negatives()
TOKEN = "gh" + "p_" + "A" * 36


def survives(secret: str, text: str) -> bool:
    """Say whether 12 characters of *secret* in a row can still be read."""
    seen = re.sub("[\u00ad\u200b\u2060\u202e]", "", text)
    if len(secret) <= 12:
        return secret in seen
    return any(secret[at : at + 12] in seen for at in range(len(secret) - 11))


def scores(held_out: bool, seed: int = 1) -> tuple[float, float]:
    """Return recall and precision over one half of the corpus."""
    secret = [s for s in positives(seed) if s.held_out == held_out]
    innocent = [s for s in negatives(seed) if s.held_out == held_out]
    hit = sum(not survives(s.secret or "", mask_secrets(s.text).text) for s in secret)
    wrong = sum(mask_secrets(s.text).text != s.text for s in innocent)
    return hit / len(secret), hit / (hit + wrong)


# --- The corpus -----------------------------------------------------------------------


def test_the_corpus_is_large_and_varied() -> None:
    assert len(POSITIVES) >= 300
    assert len(NEGATIVES) >= 300
    assert len({sample.kind for sample in POSITIVES}) >= 30
    assert len(KINDS) >= 35


@pytest.mark.parametrize("held_out", [False, True], ids=["development", "held-out"])
@pytest.mark.parametrize("seed", [1, 2])
def test_recall_and_precision_meet_the_contract(held_out: bool, seed: int) -> None:
    recall, precision = scores(held_out, seed)
    assert recall >= 0.95
    assert precision >= 0.98


def test_every_kind_found_in_the_corpus_is_a_stable_name() -> None:
    found = {secret.kind for s in POSITIVES for secret in find_secrets(s.text)}
    assert found <= KINDS
    assert len(found) >= 35


def test_a_masked_text_is_left_alone() -> None:
    for sample in POSITIVES:
        once = mask_secrets(sample.text).text
        assert once == mask_secrets(once).text
        assert find_secrets(once) == []


def test_all_samples_in_one_text_are_masked_as_they_are_alone() -> None:
    text = "\n\n".join(sample.text for sample in NEGATIVES if "\n" not in sample.text)
    masked = mask_secrets(text)
    assert sum(masked.counts.values()) <= 0.02 * len(NEGATIVES)


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
    [sample.text for sample in POSITIVES[::5]]
    + [sample.text for sample in NEGATIVES[::5]]
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

RULE_NAMES = [f"{at}-{rule.kind}" for at, rule in enumerate(RULES)]
EVERYTHING = "\n".join(sample.text for sample in (*POSITIVES, *NEGATIVES))


@pytest.mark.parametrize("rule", RULES, ids=RULE_NAMES)
def test_the_prefilter_finds_all_that_the_pattern_alone_finds(rule: Rule) -> None:
    plain = [found.span() for found in rule.pattern.finditer(EVERYTHING)]
    quick = [
        found.span() for found in matches(rule, EVERYTHING, lower_case(EVERYTHING))
    ]
    assert plain == quick


@pytest.mark.parametrize("rule", RULES, ids=RULE_NAMES)
def test_every_rule_has_literals_that_its_text_cannot_avoid(rule: Rule) -> None:
    for literal in rule.literals:
        assert len(literal) >= 1
        assert not rule.fold or literal == literal.lower()


@settings(max_examples=80, deadline=None)
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
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_with_the_text_and_not_faster(unit: str) -> None:
    def seconds(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        best = 9e9
        for _ in range(3):
            start = time.process_time()
            find_secrets(text)
            best = min(best, time.process_time() - start)
        return best

    # Eight times the text: 64 times the time if it were quadratic.
    assert seconds(32_000) <= 24 * max(seconds(4_000), 0.0005)


def test_importing_the_scanner_loads_nothing_heavy() -> None:
    code = (
        "import sys, openhands_memory.secrets; "
        "print([m for m in ('openhands', 'pydantic', 'json', 'urllib.parse') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
