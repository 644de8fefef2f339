"""What only a whole file tells, in time that grows as the file does."""

import time

import pytest

from openhands_memory.context.decode import Decoded
from openhands_memory.context.survey import Survey, survey_file


def survey(text: str) -> Survey:
    return survey_file(Decoded(text, "utf-8"))


def test_a_survey_counts_as_an_editor_does() -> None:
    found = survey("# One\n\ntext 2026-02-03\n ## Two ##\n2025-11")
    assert found.lines == 5
    assert found.headings == ((1, "One"), (4, "Two"))
    assert found.newest_date == "2026-02-03"
    assert survey("").lines == 0
    assert survey("x\n").lines == 1
    assert survey("no date 12026-02-031").newest_date is None


def test_blank_lines_and_marks_around_the_text_do_not_count() -> None:
    mark = "<!-- openhands-memory: generated -->"
    found = survey(f"\n \n{mark}\n\n- a fact\n\n")
    assert found.first_line == 5
    assert found.chars == len("- a fact")
    assert found.lines == 6


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# C#", "C#"),
        ("# C #", "C"),
        ("###### six", "six"),
        ("   #\tthree blanks", "three blanks"),
        ("# # #", "#"),
        ("#", None),
        ("# ", None),
        ("## ##", None),
        ("#none", None),
        ("####### seven", None),
        ("    # code", None),
    ],
)
def test_a_heading_is_one_as_in_markdown(line: str, title: str | None) -> None:
    expected = ((2, title),) if title else ()
    assert survey(f"- a\n{line}\n- b").headings == expected


def seconds(text: str) -> float:
    def once() -> float:
        start = time.perf_counter()
        survey(text)
        return time.perf_counter() - start

    return min(once() for _ in range(3))


@pytest.mark.parametrize(
    "unit", ["# ", "# \t", "#", " #", "# x\n", "\n", "2026-", "<!-- "]
)
def test_four_times_the_text_takes_about_four_times_as_long(unit: str) -> None:
    """Quadratic, it would be sixteen times; short times say nothing."""
    small = max(seconds("# " + unit * 30_000), 0.002)
    assert seconds("# " + unit * 120_000) < 10 * small
