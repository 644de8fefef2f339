"""What was loaded, what was dropped, and why: the values that people and programs read.

What takes reading the whole file is worked out when it is asked for, so that loading
stays constant; it is None where the file is too large or has changed since.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from openhands_memory.context.render import render_block
from openhands_memory.layout import TierName

__all__ = ["Memory", "Status", "Survey", "TierReport", "survey_text"]

Status = Literal[
    "loaded",
    "truncated",
    "absent",
    "empty",
    "unreadable",
    "refused",
    "duplicate",
    "untrusted",
]

#: Characters of English text in one token of current models, roughly.
_CHARS_PER_TOKEN: Final = 4

_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_DATE: Final = re.compile(
    r"\b(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?\b"
)


@dataclass(frozen=True, slots=True)
class Survey:
    """What only the whole file tells.

    Attributes: *lines* and *chars* count the decoded text; *headings* are Markdown
    headings as (line, title); *newest_date* is the latest ISO date in the text.
    """

    sha256: str
    lines: int
    chars: int
    headings: tuple[tuple[int, str], ...]
    newest_date: str | None


def survey_text(text: str, sha256: str) -> Survey:
    """Measure a whole file's *text*, with ``\\n`` line ends."""
    headings: list[tuple[int, str]] = []
    line, at = 1, 0
    for found in _HEADING.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        headings.append((line, found[2]))
    dates = _DATE.findall(text)
    return Survey(
        sha256=sha256,
        lines=count_lines(text),
        chars=len(text.strip()),
        headings=tuple(headings),
        newest_date=max(dates, default=None),
    )


def count_lines(text: str) -> int:
    """Lines as an editor counts them: the last needs no line end."""
    return text.count("\n") + bool(text and not text.endswith("\n"))


@dataclass(frozen=True)
class TierReport:
    """One tier: what is known of its index and what became of it.

    Attributes:
        name: ``"user"`` or ``"project"``.
        path: Where it is.
        shown_as: The path that the model is told.
        status: What became of it.
        chars: Characters of its text in the prompt, without the heading.
        kept_lines: Lines of the file that are in the prompt.
        encoding: How it was decoded, and which bytes were not; None if it was not.
        warnings: What a person should know, without any text of the file.
        modified: When the file was last changed, with its time zone; None if unknown.
        size: Bytes of the file; None if unknown.

    Only the end of the file was read, so lines are counted from there: *_blank_end* are
    blank lines at the end, *_kept* how far above the last line with text each kept line
    is, the farthest first.
    """

    name: TierName
    path: Path
    shown_as: str
    status: Status
    chars: int = 0
    kept_lines: int = 0
    encoding: str | None = None
    warnings: tuple[str, ...] = ()
    modified: datetime | None = None
    size: int | None = None
    _kept: Sequence[int] = field(default=(), repr=False)
    _blank_end: int = field(default=0, repr=False)
    _survey: Callable[[], Survey | None] = field(
        default=lambda: None, repr=False, compare=False
    )

    @cached_property
    def survey(self) -> Survey | None:
        """What only the whole file tells; None if it was not read or is too large."""
        return self._survey()

    @property
    def lines(self) -> int | None:
        """Lines of the file; None when unknown."""
        return self.survey.lines if self.survey else None

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the file's bytes, in hexadecimal; None when unknown."""
        return self.survey.sha256 if self.survey else None

    @property
    def dropped_lines(self) -> tuple[tuple[int, int], ...] | None:
        """Lines that are not in the prompt, as (first, last) ranges counted from 1.

        None where the file is too large to count its lines.
        """
        if self.status != "truncated":
            return ()
        if self.survey is None:
            return None
        last = self.survey.lines - self._blank_end
        return _gaps((last - distance for distance in self._kept), last)

    @property
    def lost_headings(self) -> tuple[tuple[int, str], ...]:
        """Headings among the dropped lines, as (line, title)."""
        if not self.dropped_lines or not self.survey:
            return ()
        return tuple(
            heading
            for heading in self.survey.headings
            if any(first <= heading[0] <= last for first, last in self.dropped_lines)
        )

    def as_dict(self) -> dict[str, Any]:
        """The tier as JSON values; the names are stable."""
        dropped = self.dropped_lines
        return {
            "name": self.name,
            "path": str(self.path),
            "shown_as": self.shown_as,
            "status": self.status,
            "chars": self.chars,
            "lines": self.lines,
            "kept_lines": self.kept_lines,
            "dropped_lines": None if dropped is None else [list(d) for d in dropped],
            "lost_headings": [list(heading) for heading in self.lost_headings],
            "encoding": self.encoding,
            "warnings": list(self.warnings),
            "sha256": self.sha256,
            "modified": self.modified.isoformat() if self.modified else None,
            "newest_date": self.survey.newest_date if self.survey else None,
            "size": self.size,
        }


def _gaps(kept: Iterable[int], last: int) -> tuple[tuple[int, int], ...]:
    """The ranges from 1 to *last* that are missing in *kept*, which ascends."""
    gaps: list[tuple[int, int]] = []
    expected = 1
    for line in (*kept, last + 1):
        if line > expected:
            gaps.append((expected, line - 1))
        expected = line + 1
    return tuple(gaps)


@dataclass(frozen=True)
class Memory:
    """What an agent sees of its memory, and the report on it.

    Attributes: *text* is None when there is nothing to inject; *char_budget* and
    `chars` are characters; *tiers* stand in the order of the prompt.
    """

    text: str | None
    char_budget: int
    tiers: tuple[TierReport, ...] = ()
    _hints: Callable[[], tuple[str, ...]] = field(
        default=tuple, repr=False, compare=False
    )

    @property
    def block(self) -> str | None:
        """The block as it stands in the system prompt; None when nothing does."""
        return render_block(self.text) if self.text else None

    @property
    def chars(self) -> int:
        return len(self.text or "")

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """What looks like a mistake around the files, and what to do about it."""
        return self._hints()

    @property
    def headroom(self) -> int | None:
        """Characters that are still free; negative when the files want more.

        None when a file was too large to measure.
        """
        wanted = self.chars
        for tier in self.tiers:
            if tier.status == "truncated":
                if tier.survey is None:
                    return None
                wanted += tier.survey.chars - tier.chars
        return self.char_budget - wanted

    @property
    def tokens(self) -> int:
        """A rough estimate of the text's tokens: a quarter of its characters."""
        return -(-self.chars // _CHARS_PER_TOKEN)

    @property
    def warnings(self) -> tuple[str, ...]:
        """All tiers' warnings, each with its path."""
        return tuple(f"{t.path}: {text}" for t in self.tiers for text in t.warnings)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values; the names are stable."""
        return {
            "text": self.text,
            "block": self.block,
            "char_budget": self.char_budget,
            "chars": self.chars,
            "headroom": self.headroom,
            "tokens": self.tokens,
            "hints": list(self.hints),
            "tiers": [tier.as_dict() for tier in self.tiers],
        }
