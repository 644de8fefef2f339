"""Cases that a person can read and add without Python: title, input, expected.

Each part ends with a line that holds only a dot, as in mdformat's test data.
``{U+XXXX}`` stands for the character with that code point.
"""

import re
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).with_name("cases")
_CASE = re.compile(
    r"^(?P<title>[^\n]+)\n\.\n(?P<given>.*?)^\.\n(?P<expected>.*?)^\.\n",
    re.MULTILINE | re.DOTALL,
)


def read_cases(name: str) -> list[Any]:
    """The cases of ``cases/<name>.md`` as parameters *given*, *expected*."""
    text = (CASES / f"{name}.md").read_text(encoding="utf-8")
    found = [
        pytest.param(_text(case["given"]), _text(case["expected"]), id=case["title"])
        for case in _CASE.finditer(text)
    ]
    rest = _CASE.sub("", text).strip()
    assert found and not rest, f"{name}.md: no case reads {rest[:60]!r}"
    return found


def _text(part: str) -> str:
    part = re.sub(r"\{U\+([0-9A-F]+)\}", lambda m: chr(int(m[1], 16)), part)
    return part.removesuffix("\n")
