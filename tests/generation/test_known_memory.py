"""What is told as known of what tools print, however they print it."""

import json
import time

import pytest

from openhands_memory.generation.known_memory import KNOWN_MEMORY, KnownMemory

FACT = "- the build needs make 4.4 or newer"
SHORT = "- use uv, not pip"
LINES = ["# Notes", FACT, "", SHORT, "- none", "## Commands"]


def without(text: str) -> str:
    return KnownMemory(LINES).without(text)


@pytest.mark.parametrize(
    "printed",
    [
        FACT,
        f"+{FACT}\n-{SHORT}",
        f"> {FACT}\n> \n> {SHORT}",
        f"{FACT}$\n{SHORT}$",
        f"     2\t{FACT}\n     3\t{SHORT}",
        f"MEMORY.md:2:{FACT}",
        json.dumps(f"{FACT}\n{SHORT}\n"),
        repr([f"{FACT}\n", "\n"]),
        json.dumps(json.dumps(f"{FACT}\n")),
        f'"{FACT}"',
        "the build needs\n   make 4.4 or newer",
        f"\x1b {FACT} ".replace("make", "`make`"),
    ],
)
def test_what_tools_print_of_a_line_is_the_line(printed: str) -> None:
    assert without(printed) == KNOWN_MEMORY


@pytest.mark.parametrize(
    ("printed", "left"),
    [
        (f"first: {FACT}, and more", f"first: - {KNOWN_MEMORY}, and more"),
        (f"raw/a.md:{FACT}", f"raw/a.md:- {KNOWN_MEMORY}"),
        (f"{FACT}XX", f"{KNOWN_MEMORY}XX"),
        (
            f"a\n{FACT}\n- new\n{FACT}.\nb",
            f"a\n{KNOWN_MEMORY}\n- new\n{KNOWN_MEMORY}\nb",
        ),
        (
            json.dumps(f"{FACT}\nthe build takes long\n{FACT}"),
            rf"{KNOWN_MEMORY}\nthe build takes long\n- {KNOWN_MEMORY}" + '"',
        ),
    ],
)
def test_what_is_new_beside_it_stays(printed: str, left: str) -> None:
    assert without(printed) == left


@pytest.mark.parametrize(
    "printed",
    [
        "# Notes\n- none\n",
        "Commands:\n  add   Use uv\n",
        "1. use uv, not pip",
        "you can use uv, not pip, here",
        "the build needs make 4.4\n",
        r"C:\new\table\notes \\\n x",
        "\\" * 50 + "n",
        "",
        "\n\n  \n",
    ],
)
def test_what_is_not_memory_stays_byte_for_byte(printed: str) -> None:
    assert without(printed) == printed


def test_a_number_that_goes_on_is_another_one() -> None:
    known = KnownMemory(["- the build needs make 4.4"])
    for text in ("the build needs make 4.4.1", "the build needs make 4.42"):
        assert known.without(text) == text
    assert known.without("the build needs make 4.4.") == KNOWN_MEMORY


def test_a_long_line_is_known_by_its_parts() -> None:
    line = " ".join(f"word{n}" for n in range(500))
    known = KnownMemory([line])
    assert known.without(f"- {line}") == KNOWN_MEMORY
    assert KNOWN_MEMORY in known.without(line[:1000])


def test_what_the_agent_says_first_is_its_own() -> None:
    known = KnownMemory([FACT])
    fresh, old = "- the user prefers tea at noon", "- the user prefers ink to pencils"
    known.add([fresh, old])
    assert known.without(FACT, said=True) == KNOWN_MEMORY
    assert known.without(fresh, said=True) == fresh
    assert known.without(old) == KNOWN_MEMORY
    assert known.without(old, said=True) == KNOWN_MEMORY
    assert known.without(f"+{fresh}") == f"+{fresh}"


@pytest.mark.parametrize(
    "text",
    [
        "ordinary words of an output, line by line\n" * 1200,
        "the user prefers number " * 2100,
        "the user prefers number 7 of many things\n" * 1200,
        "\\" * 50_000,
        "\\" * 50_000 + "n",
        "1:" * 25_000,
        "x" * 50_000,
        " " * 50_000,
    ],
)
def test_it_costs_no_more_than_it_should(text: str) -> None:
    filler = "of many things "
    lines = [
        f"- the user prefers number {n} {filler * (n % 19)}".strip()
        for n in range(20_000)
    ]
    known = KnownMemory(lines)
    start = time.perf_counter()
    known.without(text)
    assert time.perf_counter() - start < 1
