"""The words that models read: one Markdown file each, filled in one pass."""

from pathlib import Path
from string import Template

__all__ = ["fill"]


def fill(name: str, **values: str) -> str:
    """The prompt *name* with *values* in place of its ``$placeholders``.

    One pass: what a value contains is never looked at again.

    Raises:
        KeyError: The prompt has a placeholder that no value was given for.
    """
    text = Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8")
    return Template(text.rstrip("\n")).substitute(values)
