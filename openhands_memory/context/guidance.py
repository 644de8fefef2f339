"""The maintenance instructions, and their place in a system prompt.

The words are in ``prompts/``; here is which of them apply. Exactly one ``<MEMORY>``
section carries them, also in prompts that have none of their own.
"""

import re
from collections.abc import Sequence
from typing import Final

from openhands_memory.context.report import TierReport
from openhands_memory.layout import SANDBOX_INDEX_NAME
from openhands_memory.prompts import fill

__all__ = ["carries_instructions", "render_instructions", "with_instructions"]

#: A section with the blank lines below it; a tag that is named inside a line is none.
_SECTION: Final = r"(?ms)^[ \t]*<MEMORY>.*?</MEMORY>[ \t]*(\n*)"

_PURPOSES: Final = {
    "user": "what holds for this user in every project, preferences above all",
    "project": "what holds for this project",
}

#: What is said of a tier that was kept out of the prompt for its own sake.
_OFF_LIMITS: Final = {
    "untrusted": " No person has approved it: neither read nor change it.",
    "refused": " It was refused as unsafe: neither read nor change it.",
}


def render_instructions(
    tiers: Sequence[TierReport], *, char_budget: int, live_update: bool
) -> str:
    """What the agent is told about its memory in *tiers*, without a tag around it."""
    sandbox = any(tier.file.endswith(SANDBOX_INDEX_NAME) for tier in tiers)
    layout = "sandbox" if sandbox else "openhands"
    places = (
        f"* {tier.name.capitalize()} memory, `{tier.shown_as.rpartition('/')[0]}/`: "
        f"{_PURPOSES[tier.name]}.{_OFF_LIMITS.get(tier.status, '')}"
        for tier in tiers
        if tier.status != "duplicate"
    )
    return fill(
        "instructions",
        tiers="\n".join(places),
        files=fill(f"files_{layout}", char_budget=str(char_budget)),
        upkeep=fill(f"upkeep_{layout if live_update else 'none'}"),
    )


def carries_instructions(prompt: str) -> bool:
    """Whether *prompt* was given instructions of ours, by this release or its like."""
    return fill("instructions", tiers="", files="", upkeep="").split("\n")[0] in prompt


def with_instructions(prompt: str, instructions: str) -> str:
    """*prompt* with *instructions* in its one ``<MEMORY>`` section.

    The first such section is replaced and any other removed; a prompt without one gets
    it at the end.
    """
    section = f"<MEMORY>\n{instructions}\n</MEMORY>"
    found = re.search(_SECTION, prompt)
    if not found:
        return f"{prompt.rstrip()}\n\n{section}"
    rest = re.sub(_SECTION, "", prompt[found.end() :])
    return (prompt[: found.start()] + section + found[1] + rest).rstrip()
