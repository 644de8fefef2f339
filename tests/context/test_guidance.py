"""The maintenance instructions, and their one place in a system prompt."""

import re

import pytest

from openhands_memory.context.guidance import (
    carries_instructions,
    render_instructions,
    with_instructions,
)
from openhands_memory.context.report import TierReport

USER = TierReport("user", "/h/.openhands/memory/MEMORY.md", "~/m/MEMORY.md", "absent")
PROJECT = TierReport(
    "project", "/w/m/MEMORY.md", ".openhands/memory/MEMORY.md", "loaded"
)
SANDBOX = TierReport(
    "project", "/w/memories/memory_summary.md", "memories/memory_summary.md", "loaded"
)


def instructions(*tiers: TierReport, live_update: bool = True) -> str:
    return render_instructions(tiers, char_budget=1234, live_update=live_update)


def test_the_instructions_name_both_tiers_and_the_budget() -> None:
    text = instructions(USER, PROJECT)
    assert "`~/m/`" in text
    assert "`.openhands/memory/`" in text
    assert "1234 characters" in text
    assert "/h/.openhands" not in text
    assert "$" not in text


@pytest.mark.parametrize(
    "subject",
    [
        "end of a task|nears its end",
        "newest line stands last",
        "daily log",
        "merge duplicates",
        "Never write down secrets",
        "`AGENTS.md`",
        "may be stale or wrong",
        "without checking, say so",
        "Four to six steps at most",
    ],
)
def test_the_instructions_cover(subject: str) -> None:
    assert re.search(subject, instructions(USER, PROJECT))


def test_without_live_update_the_files_are_left_alone() -> None:
    text = instructions(USER, PROJECT, live_update=False)
    assert "Leave these files alone" in text
    assert "Append" not in text


def test_the_sandbox_layout_has_words_of_its_own() -> None:
    text = instructions(SANDBOX)
    assert "`memories/`" in text
    assert "memory_summary.md" in text
    assert "daily log" not in text


def test_a_tier_that_is_the_other_one_is_named_once() -> None:
    text = instructions(USER, PROJECT._replace(status="duplicate"))
    assert "* User memory" in text
    assert "* Project memory" not in text


@pytest.mark.parametrize("status", ["untrusted", "refused"])
def test_a_tier_that_was_kept_out_is_off_limits(status: str) -> None:
    text = instructions(USER, PROJECT._replace(status=status))
    assert "neither read nor change it" in text


def test_the_one_section_is_replaced_where_it_stands() -> None:
    prompt = (
        "<ROLE>\nr\n</ROLE>\n\n<MEMORY>\nold\n</MEMORY>\n\n<SECURITY>\ns\n</SECURITY>"
    )
    assert with_instructions(prompt, "new") == prompt.replace("old", "new")


def test_a_prompt_without_the_section_gets_it_at_the_end() -> None:
    assert with_instructions("You plan.\n", "new") == (
        "You plan.\n\n<MEMORY>\nnew\n</MEMORY>"
    )


def test_there_is_exactly_one_section_afterwards() -> None:
    prompt = "<MEMORY>\na\n</MEMORY>\n\nx\n\n<MEMORY>\nb\n</MEMORY>\n\ny"
    result = with_instructions(prompt, "new")
    assert result.count("<MEMORY>") == result.count("</MEMORY>") == 1
    assert "x" in result
    assert result.endswith("y")


def test_what_looks_like_a_replacement_is_text() -> None:
    assert r"\1 \g<0> $x" in with_instructions("<MEMORY>\na\n</MEMORY>", r"\1 \g<0> $x")


def test_a_prompt_that_carries_our_instructions_is_recognised() -> None:
    assert carries_instructions(with_instructions("You.", instructions(PROJECT)))
    assert not carries_instructions("<MEMORY>\nAGENTS.md is your memory\n</MEMORY>")
