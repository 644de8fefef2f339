"""Read each tier's index and return what the agent will see, and a report.

Flow: locate, read, decode, make safe, share the budget, render. Best effort: whatever
lies on disk ends up in the report, and nothing raises.
"""

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from openhands_memory import store
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
from openhands_memory.context.tail import fitting_lines
from openhands_memory.errors import FileRefusedError
from openhands_memory.fences import fenced_blocks, has_fences
from openhands_memory.layout import TierPlace
from openhands_memory.options import CHAR_BUDGET, ReadOptions
from openhands_memory.sanitize import neutralise, show_hidden

if TYPE_CHECKING:
    from openhands_memory.config import MemoryConfig, MemoryReadConfig

__all__ = ["load_memory", "resolve_memory", "tier_places"]

#: Bytes of a file's end that are read at least: room for lines that are dropped by
#: themselves, so that they do not take their neighbours with them.
_MIN_WINDOW: Final = 32 * 1024
#: UTF-8 and UTF-16 take at most four bytes for a character.
_BYTES_PER_CHAR: Final = 4
#: Bytes up to which a report measures the whole file.
SURVEY_LIMIT: Final = 16 * 1024 * 1024
#: Bad lines that a warning names; the count is always complete.
_NAMED_LINES: Final = 5


def _current_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed; a relative path then leads nowhere
        return os.sep


#: Where a relative OH_PERSISTENCE_DIR starts: captured once, as OpenHands SDK 1.58.2
#: does (utils/path.py), so that a later chdir does not move the user tier.
_START_DIR: Final = _current_directory()


def load_memory(
    working_dir: str | os.PathLike[str], char_budget: int = CHAR_BUDGET
) -> str | None:
    """The memory text for *working_dir*, or None when there is none.

    A drop-in for ``openhands.sdk.context.memory.load_memory``. *char_budget* is in
    characters; headings and notices survive even where it is smaller than they are.
    """
    return resolve_memory(working_dir, char_budget=char_budget).text


def resolve_memory(
    workspace: str | os.PathLike[str],
    *,
    config: "MemoryConfig | MemoryReadConfig | ReadOptions | None" = None,
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
    options = config.read_options() if config else ReadOptions()
    if options is None:
        return Memory(None, char_budget or CHAR_BUDGET)
    if char_budget is not None:
        options = options._replace(char_budget=char_budget)
    around = _surroundings(workspace)
    tiers = [_read_tier(place, options) for place in locate_tiers(around, options)]
    text, reports = _render(_drop_duplicate(tiers), options.char_budget)
    hints = lambda: tuple(find_hints(around, options))  # noqa: E731
    return Memory(text, options.char_budget, reports, hints)


def tier_places(
    workspace: str | os.PathLike[str], options: ReadOptions | None = None
) -> list[TierPlace]:
    """Where the tiers of *workspace* are, whether or not there is anything."""
    return locate_tiers(_surroundings(workspace), options or ReadOptions())


def _surroundings(workspace: str | os.PathLike[str]) -> Surroundings:
    home = os.path.expanduser("~")
    persistence = os.environ.get("OH_PERSISTENCE_DIR")
    if persistence:
        persistence = os.path.join(_START_DIR, os.path.expanduser(persistence))
    workspace = os.path.join(_current_directory(), os.path.expanduser(workspace))
    # Where a link is followed by "..", only the file system knows the way.
    tidy = os.path.realpath if ".." in workspace else os.path.normpath
    return Surroundings(
        workspace=tidy(workspace),
        home=home if os.path.isabs(home) else None,
        persistence_dir=os.path.normpath(persistence) if persistence else None,
    )


class _Tier(NamedTuple):
    """A tier between reading and rendering: what is reported, and what is shown."""

    report: TierReport
    body: Body | None = None
    identity: tuple[int, int] | None = None


def _read_tier(place: TierPlace, options: ReadOptions) -> _Tier:
    report = TierReport(place.name, place.path, place.shown_as, "absent")
    window = max(_MIN_WINDOW, _BYTES_PER_CHAR * options.char_budget)
    try:
        tail = store.read_tail(place, window)
    except FileNotFoundError:
        return _Tier(report)
    except FileRefusedError as error:
        return _Tier(report._replace(status="refused", warnings=(error.problem,)))
    except OSError as error:
        return _Tier(
            report._replace(status="unreadable", warnings=(_problem(place, error),))
        )
    return _tier_from(place, report, tail, options)


def _problem(place: TierPlace, error: OSError) -> str:
    problem = (error.strerror or type(error).__name__).lower()
    if not isinstance(error, PermissionError):
        return problem
    try:
        found = os.lstat(place.path)
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
    options: ReadOptions,
) -> _Tier:
    decoded = decode(tail.data, head=tail.head, whole=tail.whole)
    report = report._replace(
        size=tail.stat.size,
        modified_ns=tail.stat.modified_ns,
        encoding=_encoding(decoded, whole=tail.whole),
        warnings=tuple(_warnings(decoded, tail)),
        take_survey=lambda: _survey(place, tail),
    )
    if decoded.looks_binary:
        problem = "is no UTF-8 text: it is full of NUL bytes (UTF-16 needs a mark)"
        return _Tier(report._replace(status="unreadable", warnings=(problem,)))
    text = decoded.text.rstrip()
    end = decoded.text[len(text) :]
    if tail.whole:
        text = text.lstrip()
    if tail.whole and not text:
        return _Tier(report._replace(status="empty"), None, tail.stat.identity)
    if place.name == "project" and not _is_trusted(place, report, options):
        return _untrusted(place, report, options, tail.stat.identity)
    report = report._replace(blank_end=max(0, count_lines(end) - 1))
    body = _safe_body(place, text, options.char_budget, whole=tail.whole)
    return _Tier(report, body, tail.stat.identity)


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
    text = decoded.text
    # One character first: it is found many times as fast as eight.
    if ">" in text and "\n>>>>>>> " in text and "<<<<<<< " in text:
        warnings.append("has merge-conflict markers: both sides are loaded; resolve it")
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
    if data is None or not data.endswith(tail.data):
        return None
    from hashlib import sha256  # late: loading does not need it

    text = decode(data, head=data[:4], whole=True).text
    return survey_text(text, sha256(data).hexdigest())


def _safe_body(place: TierPlace, text: str, char_budget: int, *, whole: bool) -> Body:
    # Somewhat more than fits, so that lines which are made longer here do not show.
    wanted = char_budget + char_budget // 8
    start = text.rfind("\n", 0, max(0, len(text) - wanted)) + 1
    body = _body_from(place, text, start, whole=whole)
    if start and not _is_plenty(body, char_budget):
        body = _body_from(place, text, 0, whole=whole)
    return body


def _body_from(place: TierPlace, text: str, start: int, *, whole: bool) -> Body:
    """The lines of *text* from *start* on, made safe."""
    complete = whole and not start
    if not text:
        return Body(place.heading, complete=complete)
    safe = show_hidden(neutralise(text[start:])).split("\n")
    if not has_fences(text):
        return Body(place.heading, safe, complete=complete)
    # Lines that are not needed stay for the sake of code blocks that begin in them.
    above = text[: start - 1].split("\n") if start else []
    lines = [*above, *safe]
    blocks = [b for b in fenced_blocks(lines, whole=whole) if b[1] >= len(above)]
    return Body(place.heading, lines, len(above), blocks, complete)


#: A line or code block this part of the budget long fits any share there may be.
_SURE_PART: Final = 4


def _is_plenty(body: Body, char_budget: int) -> bool:
    """Whether lines that are sure to fit fill the budget: then none above will."""
    room = char_budget // _SURE_PART
    if not body.blocks and max(map(len, body.lines)) < room:
        return True  # by far the most files; there is more than the budget of it
    sure = fitting_lines(body.lines, room, first=body.first, blocks=body.blocks)
    return sum(len(body.lines[i]) + 1 for i in sure) > char_budget


# --- Trust ------------------------------------------------------------------------------


def _is_trusted(place: TierPlace, report: TierReport, options: ReadOptions) -> bool:
    if options.project_trust != "ask":
        return options.project_trust == "always"
    # Late: finding the state directory costs more than everything else here.
    from openhands_memory.trust import is_approved

    return report.sha256 is not None and is_approved(place, report.sha256)


def _untrusted(
    place: TierPlace,
    report: TierReport,
    options: ReadOptions,
    identity: tuple[int, int],
) -> _Tier:
    report = report._replace(status="untrusted")
    if options.project_trust == "never":
        warning = "not loaded: project_trust is 'never'"
        return _Tier(report._replace(warnings=(warning,)), None, identity)
    warning = "not loaded: not approved; read it, then run openhands-memory trust"
    notice = f"[project memory not loaded: {place.shown_as} has not been approved]"
    return _Tier(report._replace(warnings=(warning,)), Body(notice), identity)


# --- From tiers to the text -------------------------------------------------------------


def _drop_duplicate(tiers: list[_Tier]) -> list[_Tier]:
    """Leave one tier of two that are the same file, reached by whatever path."""
    if len(tiers) < 2 or tiers[0].identity is None:
        return tiers
    if tiers[0].identity != tiers[1].identity:
        return tiers
    warning = f"is the same file as {tiers[0].report.file}; loaded once"
    report = tiers[1].report._replace(status="duplicate", warnings=(warning,))
    return [tiers[0], _Tier(report)]


def _render(
    tiers: list[_Tier], char_budget: int
) -> tuple[str | None, tuple[TierReport, ...]]:
    bodies = [tier.body for tier in tiers if tier.body is not None]
    text, parts = render_text(bodies, char_budget)
    shown = iter(parts)
    reports = (
        tier.report if tier.body is None else _reported(tier.report, next(shown))
        for tier in tiers
    )
    return text or None, tuple(reports)


def _reported(report: TierReport, part: Rendered) -> TierReport:
    if report.status == "untrusted":
        return report
    if not part.truncated:
        return report._replace(
            status="loaded",
            text=part.text,
            kept_lines=len(part.kept),
        )
    size = f"{report.size:,} bytes"
    warning = (
        f"over budget: only {len(part.kept)} lines at the end of {size} are loaded"
    )
    return report._replace(
        status="truncated",
        text=part.text,
        kept_lines=len(part.kept),
        warnings=(*report.warnings, warning),
        distances=[part.lines - 1 - index for index in part.kept],
    )
