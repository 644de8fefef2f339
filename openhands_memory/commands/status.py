"""``status``: what was loaded, what was dropped, and why."""

import argparse
from collections.abc import Iterable, Iterator, Sequence

from openhands_memory.commands._arguments import (
    add_budget,
    add_json,
    add_reading,
    add_workspace,
    print_json,
    reading_of,
)
from openhands_memory.commands._generation import add_sessions_dir, files_of
from openhands_memory.commands._standing import (
    standing_hint,
    standing_in,
    standing_lines,
)
from openhands_memory.commands._words import count
from openhands_memory.context.report import Memory, TierReport
from openhands_memory.context.resolve import resolve_memory
from openhands_memory.git import GitFacts, ask_git
from openhands_memory.sanitize import show_hidden

EXAMPLE = "openhands-memory status --workspace ~/src/shop"

_LABEL_WIDTH = 12
_NAMED_HEADINGS = 5
_MEANINGS = {
    "absent": "there is no such file",
    "empty": "the file holds nothing to show",
    "unreadable": "the file could not be read",
    "refused": "this must not be read",
    "duplicate": "loaded once, with the other tier",
    "untrusted": "not loaded",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace(parser)
    add_budget(parser)
    add_sessions_dir(add_reading(parser))
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    memory = resolve_memory(args.workspace, config=reading_of(args))
    in_git = facts_of(memory)
    files = files_of(args)
    standing = standing_in(files)
    if hint := standing_hint(files, standing):
        memory = memory.with_hint(hint)
    if args.json:
        report = memory.as_dict()
        for tier, known in zip(report["tiers"], in_git, strict=True):
            tier.update(known._asdict())
        print_json({**report, "generation": standing.as_dict()})
        return 0
    for line in report_lines(memory, in_git, standing_lines(files, standing)):
        print(line)
    return 0


def facts_of(memory: Memory) -> list[GitFacts]:
    """What git knows of each tier's file."""
    return [GitFacts() if t.size is None else ask_git(t.file) for t in memory.tiers]


def report_lines(
    memory: Memory, in_git: Sequence[GitFacts], more: Iterable[str] = ()
) -> Iterator[str]:
    """The report on *memory* for people, with what git knows of each tier's file.

    *more* stands above the hints.
    """
    for tier, known in zip(memory.tiers, in_git, strict=True):
        yield f"{tier.name} memory: {tier.file}"
        for label, text in _tier_lines(tier, known, memory.char_budget):
            yield f"  {label:{_LABEL_WIDTH}}{text}"
    yield _total(memory)
    yield from more
    for hint in memory.hints:
        yield f"hint: {hint}"


def _tier_lines(
    tier: TierReport, in_git: GitFacts, char_budget: int
) -> Iterator[tuple[str, str]]:
    yield "status", _status(tier, char_budget)
    if tier.size is not None:
        lines = "lines not counted" if tier.lines is None else count(tier.lines, "line")
        yield "file", f"{count(tier.size, 'byte')}, {lines}, {tier.encoding}"
    if tier.status == "truncated":
        yield "dropped", _dropped(tier)
        yield from _lost_headings(tier)
    if tier.size is not None:
        yield "dates", _dates(tier, in_git)
    if in_git.tracked is not None:
        yield "git", "tracked" if in_git.tracked else "not tracked"
    for warning in tier.warnings:
        yield "warning", warning


def _status(tier: TierReport, char_budget: int) -> str:
    if not tier.text:
        return f"{tier.status}: {_MEANINGS.get(tier.status, 'nothing loaded')}"
    share = round(100 * tier.chars / char_budget)
    return (
        f"{tier.status}: {count(tier.kept_lines, 'line')}, {tier.chars:,} characters "
        f"({share} % of the budget)"
    )


def _dropped(tier: TierReport) -> str:
    if tier.dropped_lines is None:
        return "all lines above the last ones; the file is too large to count them"
    ranges = ", ".join(
        str(first) if first == last else f"{first}-{last}"
        for first, last in tier.dropped_lines
    )
    return f"lines {ranges} do not reach the agent"


def _lost_headings(tier: TierReport) -> Iterator[tuple[str, str]]:
    lost = tier.lost_headings
    if lost:
        titles = ", ".join(
            show_hidden(title)[:40] for _, title in lost[:_NAMED_HEADINGS]
        )
        more = ", ..." if len(lost) > _NAMED_HEADINGS else ""
        yield "", f"{count(len(lost), 'heading')} lost: {titles}{more}"


def _dates(tier: TierReport, in_git: GitFacts) -> str:
    """When the memory is from: by its text and by git, whose clones have new times."""
    newest = tier.survey.newest_date if tier.survey else None
    known = [f"newest date in the text {newest}" if newest else "no date in the text"]
    if in_git.last_commit:
        known.append(f"last commit {in_git.last_commit}")
    elif tier.modified:
        known.append(f"file changed {tier.modified.astimezone():%Y-%m-%d %H:%M}")
    return "; ".join(known)


def _total(memory: Memory) -> str:
    total = f"{memory.chars:,} of {memory.char_budget:,} characters"
    room = memory.headroom
    if room is None:
        left = "the files want more"
    elif room < 0:
        left = f"the files want {-room:,} more"
    else:
        left = f"{room:,} left"
    return f"in the prompt: {total}, about {memory.tokens:,} tokens; {left}"
