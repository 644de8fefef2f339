"""Read each tier's index and return what the agent will see, and a report.

Flow: locate, read, decode, make safe, share the budget, render. Best effort: whatever
lies on disk ends up in the report, and nothing raises.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from openhands_memory import store
from openhands_memory.config import CHAR_BUDGET, MemoryConfig, MemoryReadConfig
from openhands_memory.context.decode import Decoded, decode
from openhands_memory.context.locate import Surroundings, find_hints, locate_tiers
from openhands_memory.context.render import Body, Rendered, render_text
from openhands_memory.context.report import (
    Memory,
    Survey,
    TierReport,
    count_lines,
    survey_text,
)
from openhands_memory.context.tail import has_fences
from openhands_memory.errors import FileRefusedError
from openhands_memory.layout import TierPlace
from openhands_memory.sanitize import neutralise, show_hidden

__all__ = ["load_memory", "resolve_memory"]

#: Bytes of a file's end that are read at least: room for lines that are dropped by
#: themselves, so that they do not take their neighbours with them.
_MIN_WINDOW: Final = 32 * 1024
#: UTF-8 and UTF-16 take at most four bytes for a character.
_BYTES_PER_CHAR: Final = 4
#: Bytes up to which a report measures the whole file.
SURVEY_LIMIT: Final = 16 * 1024 * 1024
#: Bad lines that a warning names; the count is always complete.
_NAMED_LINES: Final = 5

#: Where a relative OH_PERSISTENCE_DIR starts: captured once, as OpenHands SDK 1.58.2
#: does (utils/path.py), so that a later chdir does not move the user tier.
_START_DIR: Final = Path.cwd()

Approves = Callable[[TierPlace], bool]


def load_memory(working_dir: str | Path, char_budget: int = CHAR_BUDGET) -> str | None:
    """The memory text for *working_dir*, or None when there is none.

    A drop-in for ``openhands.sdk.context.memory.load_memory``. *char_budget* is in
    characters; headings and notices survive even where it is smaller than they are.
    """
    return resolve_memory(working_dir, char_budget=char_budget).text


def resolve_memory(
    workspace: str | Path,
    *,
    config: MemoryConfig | None = None,
    char_budget: int | None = None,
) -> Memory:
    """Read the tiers that *config* asks for and return what the agent will see.

    The user tier's place comes from OH_PERSISTENCE_DIR or the home directory. Never
    raises for what lies on disk, and creates nothing.

    Args:
        workspace: The project's directory; may start with ``~``.
        config: The settings; default both tiers of the OpenHands layout.
        char_budget: Characters of the whole text, instead of the configured ones.
    """
    config = config or MemoryConfig()
    if config.read is None:
        return Memory(None, char_budget or CHAR_BUDGET)
    if char_budget is None:
        char_budget = config.read.char_budget
    around = _surroundings(workspace)
    tiers = [
        _read_tier(place, char_budget, config.read)
        for place in locate_tiers(around, config)
    ]
    tiers = _drop_duplicate(tiers)
    return _render(tiers, char_budget, lambda: tuple(find_hints(around, config)))


def _surroundings(workspace: str | Path) -> Surroundings:
    # os.path rather than pathlib: it answers "~" where pathlib raises without a home.
    home = os.path.expanduser("~")
    persistence = os.environ.get("OH_PERSISTENCE_DIR")
    return Surroundings(
        workspace=Path(os.path.abspath(os.path.expanduser(workspace))),
        home=Path(home) if os.path.isabs(home) else None,
        persistence_dir=(
            _START_DIR / os.path.expanduser(persistence) if persistence else None
        ),
    )


@dataclass(frozen=True, slots=True)
class _Tier:
    """A tier between reading and rendering: what is reported, and what is shown."""

    report: TierReport
    body: Body | None = None
    identity: tuple[int, int] | None = None


def _read_tier(place: TierPlace, char_budget: int, read: MemoryReadConfig) -> _Tier:
    report = TierReport(place.name, place.path, place.shown_as, "absent")
    window = max(_MIN_WINDOW, _BYTES_PER_CHAR * char_budget)
    try:
        tail = store.read_tail(place, window)
    except FileNotFoundError:
        return _Tier(report)
    except FileRefusedError as error:
        return _Tier(replace(report, status="refused", warnings=(error.problem,)))
    except OSError as error:
        return _Tier(
            replace(report, status="unreadable", warnings=(_problem(place, error),))
        )
    return _tier_from(place, report, tail, char_budget, read)


def _problem(place: TierPlace, error: OSError) -> str:
    problem = (error.strerror or type(error).__name__).lower()
    if not isinstance(error, PermissionError):
        return problem
    try:
        found = place.path.lstat()
    except OSError:
        return f"{problem}; make its directories readable for this user"
    return (
        f"{problem} (mode {found.st_mode & 0o7777:04o}, owner {found.st_uid}); "
        "make it readable for this user"
    )


def _tier_from(
    place: TierPlace,
    report: TierReport,
    tail: store.Tail,
    char_budget: int,
    read: MemoryReadConfig,
) -> _Tier:
    decoded = decode(tail.data, head=tail.head, whole=tail.whole)
    report = replace(
        report,
        size=tail.stat.size,
        modified=datetime.fromtimestamp(tail.stat.modified_ns / 1e9, UTC),
        encoding=_encoding(decoded, whole=tail.whole),
        warnings=tuple(_warnings(decoded, tail)),
        _survey=lambda: _survey(place, tail),
    )
    if decoded.looks_binary:
        problem = "is no UTF-8 text: it is full of NUL bytes (UTF-16 needs a mark)"
        return _Tier(replace(report, status="unreadable", warnings=(problem,)))
    if place.name == "project" and not _is_trusted(place, read, report):
        return _untrusted(place, report, read)
    text = decoded.text.rstrip()
    end = decoded.text[len(text) :]
    if tail.whole:
        text = text.lstrip()
    if tail.whole and not text:
        return _Tier(replace(report, status="empty"))
    report = replace(report, _blank_end=max(0, count_lines(end) - 1))
    return _Tier(
        report,
        _safe_body(place, text, char_budget, whole=tail.whole),
        tail.stat.identity,
    )


def _encoding(decoded: Decoded, *, whole: bool) -> str:
    bad = decoded.bad_lines
    if not bad:
        return decoded.encoding
    total = count_lines(decoded.text)
    lines = [line + 1 if whole else total - line for line in sorted(set(bad))]
    named = ", ".join(map(str, lines[:_NAMED_LINES]))
    more = ", ..." if len(lines) > _NAMED_LINES else ""
    bytes_ = "1 invalid byte" if len(bad) == 1 else f"{len(bad)} invalid bytes"
    counted = "" if whole else " from the end"
    line = "line" if len(lines) == 1 else "lines"
    return f"{decoded.encoding} ({bytes_}, {line} {named}{more}{counted})"


def _warnings(decoded: Decoded, tail: store.Tail) -> list[str]:
    warnings: list[str] = []
    if decoded.bad_lines:
        warnings.append(
            f"{_encoding(decoded, whole=tail.whole)}: shown as U+FFFD; save it as UTF-8"
        )
    if tail.stat.links > 1:
        warnings.append(
            "has a hard link: another name writes to this file too; copy it if that "
            "is not meant"
        )
    return warnings


def _survey(place: TierPlace, tail: store.Tail) -> Survey | None:
    data: bytes | None = tail.data
    if not tail.whole:
        try:
            data = store.read_all(place, SURVEY_LIMIT, identity=tail.stat)
        except OSError:
            return None
    if data is None:
        return None
    text = decode(data, head=data[:4], whole=True).text
    return survey_text(text, hashlib.sha256(data).hexdigest())


def _safe_body(place: TierPlace, text: str, char_budget: int, *, whole: bool) -> Body:
    start = _start_of_needed(text, char_budget)
    safe = show_hidden(neutralise(text[start:])).split("\n")
    # Lines that are not needed stay for the sake of code blocks that begin in them.
    context = text[: start - 1].split("\n") if start and has_fences(text) else []
    return Body(
        place.heading,
        [*context, *safe],
        first=len(context),
        complete=whole and not start,
        whole=whole,
    )


def _start_of_needed(text: str, char_budget: int) -> int:
    """Where the lines begin that are all that *char_budget* characters can show.

    A quarter more than fits, for lines that become too long when they are made safe;
    making a line safe never makes it shorter. Lines beyond the budget do not count.
    """
    wanted = char_budget + char_budget // 4
    start = len(text) + 1
    while start > 0 and wanted > 0:
        end = start - 1
        start = text.rfind("\n", 0, end) + 1
        if end - start <= char_budget:
            wanted -= end - start + 1
    return start


# --- Trust ------------------------------------------------------------------------------


def _is_trusted(place: TierPlace, read: MemoryReadConfig, report: TierReport) -> bool:
    if read.project_trust != "ask":
        return read.project_trust == "always"
    # Late: finding the state directory costs more than everything else here.
    from openhands_memory.trust import is_approved

    return report.sha256 is not None and is_approved(place.base, report.sha256)


def _untrusted(place: TierPlace, report: TierReport, read: MemoryReadConfig) -> _Tier:
    if read.project_trust == "never":
        report = replace(report, warnings=("not loaded: project_trust is 'never'",))
        return _Tier(replace(report, status="untrusted"))
    warning = "not loaded: not approved; read it, then run openhands-memory trust"
    notice = f"[project memory not loaded: {place.shown_as} has not been approved]"
    report = replace(report, status="untrusted", warnings=(warning,))
    return _Tier(report, Body(notice))


# --- From tiers to the text -------------------------------------------------------------


def _drop_duplicate(tiers: list[_Tier]) -> list[_Tier]:
    """Leave one tier of two that are the same file, reached by whatever path."""
    if len(tiers) < 2 or tiers[0].identity is None:
        return tiers
    if tiers[0].identity != tiers[1].identity:
        return tiers
    warning = f"is the same file as {tiers[0].report.path}; loaded once"
    report = replace(tiers[1].report, status="duplicate", warnings=(warning,))
    return [tiers[0], _Tier(report)]


def _render(
    tiers: list[_Tier], char_budget: int, hints: Callable[[], tuple[str, ...]]
) -> Memory:
    shown = [tier for tier in tiers if tier.body is not None]
    bodies = [tier.body for tier in shown if tier.body is not None]
    text, parts = render_text(bodies, char_budget)
    by_tier = dict(zip(map(id, shown), parts, strict=True))
    reports = [
        _reported(tier, by_tier[id(tier)]) if id(tier) in by_tier else tier.report
        for tier in tiers
    ]
    return Memory(text or None, char_budget, tuple(reports), hints)


def _reported(tier: _Tier, part: Rendered) -> TierReport:
    report = tier.report
    if report.status == "untrusted":
        return report
    if not part.truncated:
        return replace(
            report, status="loaded", chars=len(part.text), kept_lines=len(part.kept)
        )
    size = f"{report.size:,} bytes"
    warning = (
        f"over budget: only {len(part.kept)} lines at the end of {size} are loaded"
    )
    return replace(
        report,
        status="truncated",
        chars=len(part.text),
        kept_lines=len(part.kept),
        warnings=(*report.warnings, warning),
        _kept=[part.lines - 1 - index for index in part.kept],
    )
