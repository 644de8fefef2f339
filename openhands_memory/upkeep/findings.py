"""What lint can find: the codes, their categories, and one finding.

The table is the contract: a code keeps its meaning, and a retired one is not used again.
Messages never quote a file's text, so that no secret can get into a log by way of lint.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

__all__ = ["CODES", "Category", "Code", "Finding", "finding"]

Category = Literal[
    "secret",
    "hidden",
    "frame",
    "injection",
    "conflict",
    "duplicate",
    "contradiction",
    "budget",
    "link",
    "stale",
    "encoding",
    "structure",
]


class Code(NamedTuple):
    """A kind of finding; *fixed* says that ``--fix`` repairs it where that is safe."""

    category: Category
    title: str
    fixed: bool = False


CODES: Final[Mapping[str, Code]] = {
    # 1xx: what must not stand in memory.
    "OM101": Code("secret", "something that looks like a secret"),
    "OM111": Code("hidden", "an invisible or control character"),
    "OM121": Code("frame", "a tag of the prompt's own frame"),
    "OM122": Code("frame", "a line that imitates a tier heading or a notice"),
    "OM131": Code("injection", "an order to ignore the agent's instructions"),
    "OM132": Code("injection", "a new role for the agent"),
    "OM133": Code("injection", "an order to keep something from the user"),
    "OM134": Code("injection", "an order to always recommend or trust somebody"),
    "OM135": Code("injection", "an order to send private data somewhere"),
    "OM136": Code("injection", "encoded text with the order to decode and follow it"),
    "OM137": Code("injection", "a control token of a chat template"),
    # 2xx: facts that do not hold together.
    "OM201": Code("duplicate", "a fact that stands in the file already", fixed=True),
    "OM202": Code("duplicate", "nearly the same words as another entry"),
    "OM203": Code("duplicate", "a fact that the user tier holds already"),
    "OM211": Code("contradiction", "one key with two values"),
    "OM212": Code("contradiction", "a sentence and its opposite"),
    "OM221": Code("stale", "a deadline that has passed"),
    "OM222": Code("stale", "an old date on a claim about the present"),
    "OM223": Code("stale", "an index that nobody has touched for a long time"),
    # 3xx: what the prompt has room for.
    "OM301": Code("budget", "lines that will not load"),
    "OM302": Code("budget", "an entry that is too long"),
    # 4xx: what points nowhere.
    "OM401": Code("link", "a link to a daily log that does not exist"),
    "OM402": Code("link", "a link to a memory file that does not exist"),
    "OM403": Code("link", "a link that git checked out as text"),
    "OM404": Code("link", "a file whose name is not read"),
    # 5xx: the file itself.
    "OM501": Code("conflict", "a merge-conflict marker"),
    "OM511": Code("encoding", "bytes that are no UTF-8"),
    "OM512": Code("encoding", "a file that is no text"),
    "OM513": Code("encoding", "a file in UTF-16"),
    "OM514": Code("encoding", "text that was decoded wrongly before it was saved"),
    "OM521": Code("structure", "a code fence that never closes"),
    "OM522": Code("structure", "line ends of more than one kind", fixed=True),
    "OM523": Code("structure", "no line end at the end of the file", fixed=True),
    "OM524": Code("structure", "blanks at the end of a line", fixed=True),
    "OM525": Code("structure", "a mark of the generated part without its other"),
    "OM526": Code("structure", "a file that cannot be checked"),
}


class Finding(NamedTuple):
    """One thing that lint found; *line* and *column* are numbered from 1.

    Attributes: *kind* is that of the secret, None for all other categories.
    """

    path: str
    line: int
    column: int
    code: str
    category: Category
    kind: str | None
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.code} {self.message}"

    def as_dict(self) -> dict[str, Any]:
        """The finding as JSON values; the names are stable."""
        return self._asdict()


def finding(
    code: str, message: str, *, line: int = 1, column: int = 1, kind: str | None = None
) -> Finding:
    """A finding in a file whose path the caller fills in."""
    return Finding("", line, column, code, CODES[code].category, kind, message)
