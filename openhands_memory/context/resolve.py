"""Read each tier's index and return what the agent will see, and a report.

Flow: locate, read, decode, make safe, share the budget, render. Best effort: whatever
lies on disk ends up in the report, and nothing raises.
"""

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from openhands_memory import store
from openhands_memory.context.body import safe_body
from openhands_memory.context.decode import Decoded, decode, decode_far
from openhands_memory.context.excerpt import Excerpt, take_excerpt
from openhands_memory.context.late import Late
from openhands_memory.context.locate import find_hints, locate_tiers
from openhands_memory.context.remarks import (
    BINARY,
    encoding_of,
    over_budget,
    remarks_on_file,
)
from openhands_memory.context.render import Body, Rendered, render_text
from openhands_memory.context.report import Memory, TierReport
from openhands_memory.context.surroundings import surroundings_of
from openhands_memory.errors import ConfigError, FileRefusedError
from openhands_memory.layout import TierPlace
from openhands_memory.options import CHAR_BUDGET, ReadOptions

if TYPE_CHECKING:
    from openhands_memory.config import MemoryConfig, MemoryReadConfig
    from openhands_memory.context.survey import Survey

__all__ = ["load_memory", "resolve_memory", "tier_places"]

#: Bytes of a file's end that are read at least: room for lines that are dropped by
#: themselves, so that they do not take their neighbours with them.
_MIN_WINDOW: Final = 32 * 1024
#: So many times as much is read where that leaves most of the budget free.
_FAR: Final = 8
_LEADS_NOWHERE: Final = (
    "not looked for: its path is relative, and the current directory was removed; "
    "give an absolute one"
)
#: UTF-8 and UTF-16 take at most four bytes for a character.
_BYTES_PER_CHAR: Final = 4


def load_memory(
    working_dir: str | os.PathLike[str], char_budget: int = CHAR_BUDGET
) -> str | None:
    """The memory text for *working_dir*, or None when there is none.

    A drop-in for ``openhands.sdk.context.memory.load_memory``. *char_budget* is in
    characters; headings and notices survive even where it is smaller than they are.
    """
    if isinstance(char_budget, int) and char_budget < 0:
        char_budget = 0  # to the SDK's function it is the same
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
        char_budget: Characters of the whole text, instead of the configured ones. Here
            it may be so small that only headings and notices stay.

    Raises:
        ConfigError: *char_budget* is no whole number, or negative.
    """
    options = config.read_options() if config else ReadOptions()
    if char_budget is not None:
        _check_budget(char_budget)
    if options is None:
        return Memory(None, CHAR_BUDGET if char_budget is None else char_budget)
    if char_budget not in (None, options.char_budget):
        options = options._replace(char_budget=char_budget)
    around = surroundings_of(workspace)
    tiers = [_read_tier(place, options) for place in locate_tiers(around, options)]
    text, reports = _render(_drop_duplicate(tiers), options.char_budget)
    hints = Late(lambda: tuple(find_hints(around, options)))
    return Memory(text, options.char_budget, reports, hints)


def _check_budget(char_budget: object) -> None:
    if isinstance(char_budget, bool) or not isinstance(char_budget, int):
        problem = "must be a whole number"
    elif char_budget < 0:
        problem = "must not be negative"
    else:
        return
    raise ConfigError("resolve_memory.char_budget", char_budget, problem)


def tier_places(
    workspace: str | os.PathLike[str], options: ReadOptions | None = None
) -> list[TierPlace]:
    """Where the tiers of *workspace* are, whether or not there is anything."""
    return locate_tiers(surroundings_of(workspace), options or ReadOptions())


class _Tier(NamedTuple):
    """A tier between reading and rendering: what is reported, and what is shown."""

    report: TierReport
    body: Body | None = None
    identity: tuple[int, int] | None = None
    excerpt: Excerpt | None = None
    #: Lines of the file, if it was read whole.
    lines: int | None = None
    #: Whether lines further up the file could change most of this.
    thin: bool = False


def _read_tier(place: TierPlace, options: ReadOptions) -> _Tier:
    report = TierReport(place.name, place.path, place.shown_as, "absent")
    if not os.path.isabs(place.base):
        return _Tier(report._replace(warnings=(_LEADS_NOWHERE,)))
    try:
        return _read(place, report, options)
    except FileNotFoundError:
        return _Tier(report)
    except FileRefusedError as error:
        return _Tier(report._replace(status="refused", warnings=(error.problem,)))
    except OSError as error:
        problem = _problem(place, error)
        return _Tier(report._replace(status="unreadable", warnings=(problem,)))


def _read(place: TierPlace, report: TierReport, options: ReadOptions) -> _Tier:
    window = max(_MIN_WINDOW, _BYTES_PER_CHAR * options.char_budget)
    tail = store.read_tail(place, window)
    decoded = decode(tail.data, head=tail.head, whole=tail.whole)
    tier = _tier_from(place, report, tail, decoded, options)
    if not tier.thin:
        return tier
    del tier, decoded  # before as much again is read
    tail = store.read_tail(place, _FAR * window)
    decoded = decode_far(
        tail.data,
        head=tail.head,
        whole=tail.whole,
        longest=options.char_budget,
        enough=window,
    )
    return _tier_from(place, report, tail, decoded, options)


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
    decoded: Decoded,
    options: ReadOptions,
) -> _Tier:
    report = report._replace(
        size=tail.stat.size,
        modified_ns=tail.stat.modified_ns,
        encoding=encoding_of(decoded),
        warnings=tuple(remarks_on_file(decoded, links=tail.stat.links)),
        late_survey=Late(lambda: _survey(place, tail)),
        late_sha256=Late(lambda: _sha256(place, tail)),
    )
    identity = tail.stat.identity
    if decoded.looks_binary:
        report = report._replace(status="unreadable", warnings=(BINARY,))
        return _Tier(report, thin=not decoded.whole)
    excerpt = take_excerpt(decoded)
    if excerpt.complete and not excerpt.text:
        return _Tier(report._replace(status="empty"), None, identity)
    if place.name == "project" and not _is_trusted(place, report, options):
        return _untrusted(place, report, options, identity)
    body, enough = safe_body(place.heading, excerpt, options.char_budget)
    lines = decoded.lines if decoded.whole else None
    return _Tier(report, body, identity, excerpt, lines, thin=not enough)


# What takes the whole file is asked for late, if at all; so is the code for it.


def _survey(place: TierPlace, tail: store.Tail) -> "Survey | None":
    from openhands_memory.context.whole import survey_whole

    return survey_whole(place, tail)


def _sha256(place: TierPlace, tail: store.Tail) -> str | None:
    from openhands_memory.context.whole import hash_whole

    return hash_whole(place, tail)


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
        tier.report if tier.body is None else _reported(tier, next(shown))
        for tier in tiers
    )
    return text or None, tuple(reports)


def _reported(tier: _Tier, part: Rendered) -> TierReport:
    report, excerpt, kept = tier.report, tier.excerpt, part.kept
    if excerpt is None:
        return report
    if not part.truncated:
        return report._replace(status="loaded", text=part.text, kept_lines=len(kept))
    distances = excerpt.distances(kept, part.lines)
    dropped = excerpt.gaps(distances, tier.lines) if tier.lines else None
    warning = over_budget(dropped, kept=len(kept), size=report.size or 0)
    return report._replace(
        status="truncated",
        text=part.text,
        kept_lines=len(kept),
        warnings=(*report.warnings, warning),
        blank_end=excerpt.blank_end,
        distances=distances,
    )
