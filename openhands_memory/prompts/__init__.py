"""The words that models read: one Markdown file each, filled in one pass."""

import os

__all__ = ["fill"]

_DIRECTORY = os.path.dirname(__file__)


def fill(name: str, **values: str) -> str:
    """The prompt *name* with *values* in place of its ``$placeholders``.

    One pass: what a value contains is never looked at again.

    Raises:
        KeyError: The prompt has a placeholder that no value was given for.
    """
    from string import Template  # late: loading memory fills nothing

    with open(os.path.join(_DIRECTORY, f"{name}.md"), encoding="utf-8") as file:
        text = file.read()
    return Template(text.rstrip("\n")).substitute(values)
