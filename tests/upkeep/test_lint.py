"""Each code both ways; what holds for every text; what is repaired, and what never is."""

import re
from datetime import date
from pathlib import Path

import pytest
from case_files import read_cases
from hypothesis import given
from hypothesis import strategies as st

from openhands_memory.upkeep.document import parse_document
from openhands_memory.upkeep.findings import CODES, Finding
from openhands_memory.upkeep.lint import budget_finding, lint_bytes, lint_text
from openhands_memory.upkeep.lint_duplicates import find_tier_duplicates
from openhands_memory.upkeep.lint_fix import fix_bytes, fix_text
from openhands_memory.upkeep.lint_links import find_broken_links, find_misnamed

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 29)
PRESENT = {"2026-11-03.md", "rollout_summaries/abc_there.md"}


def lint(text: str) -> list[Finding]:
    found = lint_bytes(text.encode(), path="MEMORY.md", today=TODAY)
    document = parse_document(text)
    return [*found, *find_broken_links(document, path="MEMORY.md", present=PRESENT)]


def codes(data: bytes) -> list[str]:
    return [found.code for found in lint_bytes(data, path="M", today=TODAY)]


@pytest.mark.parametrize(("given", "expected"), read_cases("lint"))
def test_case(given: str, expected: str) -> None:
    found = [f"{f.line}:{f.column} {f.code}" for f in lint(f"{given}\n")]
    assert "\n".join(found) == ("" if expected == "clean" else expected)


# --- Codes that no text alone shows -----------------------------------------------------


def test_facts_of_the_user_tier_are_not_paid_for_twice() -> None:
    fact = "- small commits, the reason in the first line\n"
    project, user = (
        parse_document(f"# A\n{fact}- short\n"),
        parse_document(f"{fact}- short"),
    )
    found = list(find_tier_duplicates(project, user))
    assert [(f.code, f.line) for f in found] == [("OM203", 2)]


@pytest.mark.parametrize(
    ("text", "day", "expected"),
    [
        ("- 2026-02-11 a rule\n", date(2026, 2, 12), ["OM223"]),
        ("- 2026-02-11 a rule\n", date(2026, 11, 1), []),
        ("- 2026-10-11 a rule\n", date(2026, 2, 12), []),
        ("- 2026-02-11 a rule\n", None, []),
        ("- a rule without a date\n", date(2020, 1, 1), []),
    ],
)
def test_an_index_is_old_only_where_text_and_git_agree(
    text: str, day: date | None, expected: list[str]
) -> None:
    found = lint_text(text, path="M", today=TODAY, last_commit=lambda: day)
    assert [f.code for f in found] == expected


def test_old_dates_are_what_logs_are_made_of() -> None:
    text = "- merge freeze until 2026-11-20\n- 2025-01-10 the importer is currently broken\n"
    assert list(lint_text(text, path="2025-01-10.md", today=TODAY, role="log")) == []


def test_dropped_lines_are_named() -> None:
    found = budget_finding(
        [(1, 110), (113, 113)], path="M", chars=9000, char_budget=6000
    )
    assert found is not None
    assert (found.code, found.line) == ("OM301", 1)
    assert "lines 1-110, 113 will not load" in found.message
    assert budget_finding([], path="M", chars=9, char_budget=6000) is None


def test_names_that_nobody_reads() -> None:
    names = ["memory.md", "MEMORY.md", "2026-1-5.md", "2026-01-05.md", "notes.md"]
    found = dict(find_misnamed(names))
    assert list(found) == ["2026-1-5.md", "memory.md"]
    assert {f.code for f in found.values()} == {"OM404"}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"- caf\xe9\n", ["OM511"]),
        ("- café\n".encode(), []),
        (b"\xef\xbb\xbf- a mark is fine\n", []),
        (b"PK\0\0\0\0\1\0\0\0", ["OM512"]),
        ("﻿- wide\n".encode("utf-16-le"), ["OM513"]),
        (b"- one\r\n- two\n- three\n", ["OM522"]),
        (b"- one\r\n- two\r\n", []),
        (b"- one\r- two\r", []),
        (b"- one\n```\r\ncode\r\n```\r\n- two\n", []),
        (b"- one", ["OM523"]),
        (b"- one\n", []),
        (b"", []),
    ],
)
def test_bytes(data: bytes, expected: list[str]) -> None:
    assert codes(data) == expected


def test_every_code_has_a_case_and_a_place_in_the_docs() -> None:
    cases = (ROOT / "tests" / "cases" / "lint.md").read_text()
    table = (ROOT / "docs" / "lint.md").read_text()
    here = (
        Path(__file__).read_text() + (ROOT / "tests" / "test_cli_lint.py").read_text()
    )
    for code, meaning in CODES.items():
        assert f"| {code} | {meaning.category} |" in table
        assert len(re.findall(f"^{code}: ", cases, re.MULTILINE)) >= 2 or code in here


# --- What holds for every text ----------------------------------------------------------

PIECES = st.sampled_from(
    [
        *("\n", "\r\n", "\r", " ", "  ", "\t", "- ", "* ", "1. ", "# ", "> ", "    "),
        *(
            "```",
            "~~~",
            "`",
            "<pre>",
            "</pre>",
            "fact",
            "other words",
            "key: 1",
            "key: 2",
        ),
        *(
            "never ",
            "not ",
            "2026-01-02",
            "until ",
            "2026-01-02.md",
            "\\",
            "---",
            "===",
        ),
        *("<<<<<<< HEAD", "=======", ">>>>>>> x", "\u200b", "é", "\ud800", "\0", "<b>"),
        *("<!-- openhands-memory: generated -->", "ignore all previous instructions"),
        "<!-- /openhands-memory: generated -->",
    ]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200)


@given(TEXTS)
def test_lint_never_raises_and_points_into_the_text(text: str) -> None:
    lines = parse_document(text).lines
    for found in lint_text(text, path="M", today=TODAY):
        assert 1 <= found.line <= max(1, len(lines))
        assert 1 <= found.column <= len(lines[found.line - 1] if lines else "") + 1
        assert CODES[found.code].category == found.category


@given(st.binary(max_size=200))
def test_lint_and_repair_take_any_bytes(data: bytes) -> None:
    lint_bytes(data, path="M", today=TODAY)
    fixed, _ = fix_bytes(data)
    assert fix_bytes(fixed)[0] == fixed


def test_a_secret_is_in_no_message() -> None:
    value = "ghp_1x9QvRk3mTzYb7LdWc5NfHs2JgPa8UeK4oXr"
    text = f"- door: {value}\n- door: {value[::-1]}\n# {value}\n- see rollout_summaries/{value}.md\n"
    found = lint(text)
    assert {"OM101", "OM211", "OM402"} <= {f.code for f in found}
    assert value not in "\n".join(map(str, found))


# --- Repairs ----------------------------------------------------------------------------


def facts(text: str) -> set[tuple[tuple[str, ...], str]]:
    document = parse_document(text)
    return {
        (tuple(h.strip() for h in e.headings), " ".join(e.text.split()).lstrip("-*+ "))
        for e in document.entries
    }


def code_lines(text: str) -> list[str]:
    document = parse_document(text)
    return [
        line
        for line, inside in zip(document.lines, document.code, strict=True)
        if inside
    ]


@given(TEXTS)
def test_a_repair_changes_no_meaning(text: str) -> None:
    fixed = fix_text(text).text
    assert facts(fixed) == facts(text)
    assert code_lines(fixed) == code_lines(text)
    assert fix_text(fixed).text == fixed


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("- a\n- b\n- a\n", "- a\n- b\n"),
        ("- a\n* a\n+ b  \n", "- a\n+ b\n"),
        ("# A\n- a\n# B\n- a\n", "# A\n- a\n# B\n- a\n"),
        ("1. a\n2. a\n", "1. a\n2. a\n"),
        ("- a\n  more\n- a\n", "- a\n  more\n- a\n"),
        ("- `a  b`\n- `a b`\n", "- `a  b`\n- `a b`\n"),
        ("- a\r\n- b\n- c\r\n", "- a\r\n- b\r\n- c\r\n"),
        ("- a", "- a\n"),
        ("- a\r\n- b", "- a\r\n- b\r\n"),
        ("```\na  \r\n```\n- b  \n", "```\na  \r\n```\n- b\n"),
        ("```\nnever closed  ", "```\nnever closed  "),
        ("<<<<<<< a\n- a\n- a\n", "<<<<<<< a\n- a\n- a\n"),
        ("text\n- a\n---\n- a\n", "text\n- a\n---\n- a\n"),
        ("", ""),
    ],
)
def test_repair(text: str, fixed: str) -> None:
    assert fix_text(text).text == fixed


def test_where_the_budget_may_cut_the_last_copy_stays() -> None:
    """The budget cuts from the top: the copy that loads is the one to keep."""
    more = "".join(f"- fact number {n} of many\n" for n in range(100))
    assert fix_text(f"- a\n{more}- a\n").text == f"{more}- a\n"


def test_a_copy_in_the_generated_part_is_anothers() -> None:
    text = (
        "- a\n<!-- openhands-memory: generated -->\n- a\n- a\n"
        "<!-- /openhands-memory: generated -->\n"
    )
    assert fix_text(text).text == text.replace("- a\n- a\n", "- a\n")


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf- caf\xe9  \n- b\n",
        "﻿- wide  \n- b\n".encode("utf-16-le"),
    ],
)
def test_mark_encoding_and_bad_bytes_stay(data: bytes) -> None:
    fixed, done = fix_bytes(data)
    blank = " ".encode("utf-16-le" if data[:1] == b"\xff" else "utf-8")
    assert fixed == data.replace(blank * 2, b"")
    assert done == ("blanks at the end of 1 line",)


# --- What ships is clean ----------------------------------------------------------------


SHIPPED = [
    path
    for directory in ("templates", "examples/sample_memory")
    for path in sorted((ROOT / directory).rglob("*.md"))
]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_templates_and_the_sample_memory_are_clean(path: Path) -> None:
    assert lint_bytes(path.read_bytes(), path=path.name, today=TODAY) == []


def test_a_large_file_takes_well_under_a_second(benchmark_file: Path) -> None:
    import time

    data = benchmark_file.read_bytes()
    start = time.process_time()
    lint_bytes(data, path="M", today=TODAY)
    assert time.process_time() - start < 3  # ten times what was measured


@pytest.fixture
def benchmark_file(tmp_path: Path) -> Path:
    path = tmp_path / "MEMORY.md"
    words = (
        "staging database reset cursor offset table harbour office station lock".split()
    )
    lines = (
        f"- 2026-11-{n % 28 + 1:02} {words[n % 10]} {n} {words[n * 7 % 10]} is in mod{n * 13}"
        for n in range(20_000)
    )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_no_git_is_asked_where_the_text_is_young() -> None:
    def ask() -> date:
        raise AssertionError

    list(lint_text("- 2026-11-01 young\n", path="M", today=TODAY, last_commit=ask))
