"""Long texts keep both ends, and no secret is cut in two."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openhands_memory.generation.shortening import (
    MARGIN,
    map_strings,
    mask_and_shorten,
    shorten,
)
from openhands_memory.secrets import mask_secrets

TOKEN = "ghp_" + "a1B2c3" * 6


def mask(text: str) -> str:
    return mask_secrets(text, {"DEPLOY": "correct-horse-battery"}).text


@given(st.text(max_size=300), st.integers(-1, 300))
def test_a_shortened_text_is_no_longer_than_its_limit(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= max(0, limit)
    assert short == text or len(text) > limit


def test_a_long_text_keeps_both_ends_around_both_sizes() -> None:
    text = "first " + "x" * 2000 + " last"
    short = shorten(text, 500)
    assert short.startswith("first x")
    assert short.endswith("x last")
    [mark] = re.findall(r"\n\[… [\d,]+ of 2,011 characters left out …\]\n", short)
    left_out = int(mark.split()[1].replace(",", ""))
    assert left_out == 2011 - (len(short) - len(mark))


@pytest.mark.parametrize("secret", [TOKEN, "correct-horse-battery"])
def test_no_piece_of_a_secret_is_left_wherever_a_huge_text_is_cut(
    secret: str,
) -> None:
    limit = 1000
    for edge in (limit // 2, limit // 2 + MARGIN):
        for at in range(edge - 60, edge + 15, 9):
            text = "." * at + f" {secret} " + "." * 2 * (limit + 2 * MARGIN)
            for given_text in (text, text[::-1].replace(secret[::-1], secret)):
                short = mask_and_shorten(given_text, mask, limit)
                assert len(short) <= limit
                assert not re.search(re.escape(secret[:8]), short)
                assert not re.search(re.escape(secret[-8:]), short)


def test_masking_a_huge_text_looks_at_its_ends_only() -> None:
    seen: list[int] = []

    def counting(text: str) -> str:
        seen.append(len(text))
        return text

    mask_and_shorten("x" * 5_000_000, counting, 1000)
    assert sum(seen) <= 1000 + 2 * MARGIN


def test_strings_are_mapped_wherever_they_stand_and_never_too_deep() -> None:
    value = {"a": ["b", {"c": ("d", 1, None, True)}]}
    assert map_strings(value, str.upper) == {"A": ["B", {"C": ["D", 1, None, True]}]}
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    assert "nested too deeply" in str(map_strings(deep, str))
