"""What was loaded, what was dropped, and why: the values that people and programs read.

What takes reading the whole file is worked out when it is asked for, so that loading
stays constant; it is None where the file is too large or has changed since.
"""

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from openhands_memory.context.excerpt import line_gaps
from openhands_memory.context.late import Late
from openhands_memory.context.render import render_block
from openhands_memory.layout import TierName

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from openhands_memory.context.survey import Survey

__all__ = ["Memory", "Status", "TierReport"]

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


_UNKNOWN: Final = Late[Any](lambda: None)


class _TierFields(NamedTuple):
    name: TierName
    file: str
    shown_as: str
    status: Status
    text: str = ""
    kept_lines: int = 0
    encoding: str | None = None
    warnings: tuple[str, ...] = ()
    size: int | None = None
    modified_ns: int | None = None
    #: Only the end of the file was read, so lines are counted from there: blank lines
    #: at the end, and how far each kept line is above the last line with text.
    blank_end: int = 0
    distances: tuple[int, ...] = ()
    late_survey: "Late[Survey | None]" = _UNKNOWN
    late_sha256: "Late[str | None]" = _UNKNOWN


class TierReport(_TierFields):
    """One tier: what is known of its index and what became of it.

    Attributes:
        name: ``"user"`` or ``"project"``.
        file: Where it is, as text; `path` is the same.
        shown_as: The path that the model is told.
        status: What became of it.
        text: Its text in the prompt, without the heading.
        kept_lines: Lines of the file that are in the prompt.
        encoding: How it was decoded, and which bytes were not; None if it was not.
        warnings: What a person should know, without any text of the file.
        size: Bytes of the file; None if unknown.
        modified_ns: When the file was last changed, in nanoseconds of the epoch.
    """

    __slots__ = ()  # nothing can be set

    # No dataclass, and its path no Path until asked: their imports take as long as Python
    # takes to start.

    @property
    def path(self) -> "Path":
        """Where the file is."""
        from pathlib import Path

        return Path(self.file)

    @property
    def chars(self) -> int:
        """Characters of the tier's text in the prompt, without the heading."""
        return len(self.text)

    @property
    def modified(self) -> "datetime | None":
        """When the file was last changed, in UTC; None if unknown."""
        from datetime import UTC, datetime

        if self.modified_ns is None:
            return None
        try:
            return datetime.fromtimestamp(self.modified_ns / 1e9, UTC)
        except (OSError, OverflowError, ValueError):
            return None  # file systems know times that the calendar does not

    @property
    def heading(self) -> str:
        """The line above the tier's text, as OpenHands SDK 1.58.2 writes it."""
        return f"# {self.name.capitalize()} memory ({self.shown_as})"

    @property
    def survey(self) -> "Survey | None":
        """What only the whole file tells; None if it was not read or is too large."""
        return self.late_survey.get()

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the file's bytes, in hexadecimal; None when unknown."""
        return self.late_sha256.get()

    @property
    def lines(self) -> int | None:
        """Lines of the file; None when unknown."""
        return self.survey.lines if self.survey else None

    @property
    def dropped_lines(self) -> tuple[tuple[int, int], ...] | None:
        """Lines that are not in the prompt, as (first, last) ranges counted from 1.

        None where the file is too large to count its lines.
        """
        if self.status != "truncated":
            return ()
        if self.survey is None:
            return None
        last = self.survey.lines - self.blank_end
        marks = [last - mark for mark in self.survey.marks]
        there = self.distances
        if marks:  # also those above all that was read
            there = sorted({*there, *marks}, reverse=True)
        return line_gaps(there, first=self.survey.first_line, last=last)

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
            "path": self.file,
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


_NO_HINTS: Final = Late[tuple[str, ...]](tuple)


class _MemoryFields(NamedTuple):
    text: str | None
    char_budget: int
    tiers: tuple[TierReport, ...] = ()
    late_hints: Late[tuple[str, ...]] = _NO_HINTS


class Memory(_MemoryFields):
    """What an agent sees of its memory, and the report on it.

    Attributes: *text* is None when there is nothing to inject; *char_budget* and
    `chars` are characters; *tiers* stand in the order of the prompt.
    """

    __slots__ = ()

    @property
    def block(self) -> str | None:
        """The block as it stands in the system prompt; None when nothing does."""
        return render_block(self.text) if self.text else None

    @property
    def chars(self) -> int:
        return len(self.text or "")

    @property
    def hints(self) -> tuple[str, ...]:
        """What looks like a mistake around the files, and what to do about it."""
        return self.late_hints.get()

    def with_hint(self, hint: str) -> "Memory":
        """The same with one more hint."""
        return self._replace(late_hints=Late(lambda: (*self.hints, hint)))

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
        return tuple(f"{t.file}: {text}" for t in self.tiers for text in t.warnings)

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
