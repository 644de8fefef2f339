"""``lint``: what a person should know about memory files, and what may be repaired."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import date, datetime

from openhands_memory.commands._arguments import (
    add_budget,
    add_json,
    add_workspace,
    print_json,
)
from openhands_memory.context.lone import dropped_alone
from openhands_memory.context.resolve import resolve_memory, tier_places
from openhands_memory.errors import MemoryFileError
from openhands_memory.options import CHAR_BUDGET
from openhands_memory.sanitize import show_hidden
from openhands_memory.upkeep.findings import CODES, Finding
from openhands_memory.upkeep.lint import STALE_DAYS, budget_finding
from openhands_memory.upkeep.lint_duplicates import find_tier_duplicates
from openhands_memory.upkeep.lint_fix import fix_bytes
from openhands_memory.upkeep.lint_run import (
    MAX_BYTES,
    Checked,
    Target,
    check_directory,
    check_names,
    check_target,
    check_text,
    memory_directories,
    repair_target,
    target_at,
    targets_below,
    targets_of_tier,
)

EXAMPLE = "openhands-memory lint --fix .openhands/memory"

_NOTHING, _FOUND, _WRONG_USE = 0, 1, 2
_STDIN = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="files or directories; - is standard input (default: both tiers)",
    )
    add_workspace(parser)
    parser.add_argument(
        "--fix",
        action="store_true",
        help="repair what cannot change the meaning; from stdin to stdout",
    )
    parser.add_argument(
        "--ignore",
        metavar="CODE",
        type=_codes,
        action="extend",
        default=[],
        help="do not report this code, or several with commas; may be repeated",
    )
    parser.add_argument(
        "--stale-days",
        metavar="N",
        type=_days,
        default=STALE_DAYS,
        help=f"days after which a claim about the present is old (default: {STALE_DAYS})",
    )
    parser.add_argument(
        "--stdin-name",
        metavar="PATH",
        default=_STDIN,
        help="what findings call standard input; its name says what it is",
    )
    add_budget(parser)
    add_json(parser)


def _codes(value: str) -> list[str]:
    codes = value.upper().split(",")
    for code in codes:
        if code not in CODES:
            raise argparse.ArgumentTypeError(f"there is no code {code}")
    return codes


def _days(value: str) -> int:
    if not value.isdecimal() or not 0 < int(value) < 100_000:
        raise argparse.ArgumentTypeError(f"{value} is no number of days, such as 180")
    return int(value)


def run(args: argparse.Namespace) -> int:
    if _STDIN in args.paths and len(args.paths) > 1:
        print("lint: - stands for standard input, alone", file=sys.stderr)
        return _WRONG_USE
    if _STDIN in args.paths and args.fix and args.json:
        print(
            "lint: --fix prints the text from standard input, no JSON", file=sys.stderr
        )
        return _WRONG_USE
    missing = [p for p in args.paths if p != _STDIN and not os.path.lexists(p)]
    for path in missing:
        print(f"lint: no such file or directory: {show_hidden(path)}", file=sys.stderr)
    if missing:
        return _WRONG_USE
    found = [f for f in _all_findings(args) if f.code not in args.ignore]
    out = sys.stderr if args.fix and _STDIN in args.paths else sys.stdout
    if args.json:
        print_json([f.as_dict() for f in found])
    else:
        for finding in found:
            print(show_hidden(str(finding)), file=out)
    return _FOUND if found else _NOTHING


def _all_findings(args: argparse.Namespace) -> list[Finding]:
    if _STDIN in args.paths:
        found = _from_stdin(args)
    elif args.paths:
        found = list(_from_paths(args))
    else:
        found = list(_from_workspace(args))
    order = {
        path: number for number, path in enumerate(dict.fromkeys(f.path for f in found))
    }
    return sorted(found, key=lambda f: (order[f.path], f.line, f.column, f.code))


# --- Where texts come from --------------------------------------------------------------


def _from_stdin(args: argparse.Namespace) -> list[Finding]:
    stream = getattr(sys.stdin, "buffer", None)
    data = stream.read(MAX_BYTES) if stream else sys.stdin.read().encode()
    if args.fix:
        data, done = fix_bytes(data)
        _say_fixed(args.stdin_name, done)
        sys.stdout.flush()
        if out := getattr(sys.stdout, "buffer", None):
            out.write(data)
        else:
            sys.stdout.write(data.decode("utf-8", "replace"))
    checked = check_text(
        data, path=args.stdin_name, today=_today(), stale_days=args.stale_days
    )
    return [*checked.findings, *_budget_alone(checked, args)]


def _from_paths(args: argparse.Namespace) -> Iterator[Finding]:
    for path in args.paths:
        if os.path.isdir(path):
            targets = list(targets_below(path))
            for directory in memory_directories(
                [path, *(t.place.base for t in targets)]
            ):
                yield from check_names(directory, str)
        else:
            targets = [target_at(path)]
        for target in targets:
            checked = _check(target, args)
            yield from checked.findings
            yield from _budget_alone(checked, args)


def _from_workspace(args: argparse.Namespace) -> Iterator[Finding]:
    places = tier_places(args.workspace)
    indexes: dict[str, Checked] = {}
    any_file = False
    for place in places:
        yield from check_directory(place, _shown)
        for target in targets_of_tier(place, _shown):
            any_file = True
            checked = _check(target, args)
            yield from checked.findings
            if target.role == "index":
                indexes[place.name] = checked
    if not any_file:
        where = " or ".join(place.directory for place in places)
        print(f"no memory files in {where}", file=sys.stderr)
    yield from _budget_together(indexes, args)
    user, project = indexes.get("user"), indexes.get("project")
    if user and project and user.document and project.document:
        for found in find_tier_duplicates(project.document, user.document):
            yield found._replace(path=project.target.shown)


def _shown(path: str) -> str:
    """*path* as a person here would write it."""
    here = os.path.join(os.getcwd(), "")
    return path.removeprefix(here) if path.startswith(here) else path


def _check(target: Target, args: argparse.Namespace) -> Checked:
    if args.fix:
        _fix(target, args)
    return check_target(
        target,
        today=_today(),
        stale_days=args.stale_days,
        last_commit=lambda data: _last_commit(target.place.path, data),
    )


def _today() -> date:
    return datetime.now().astimezone().date()


def _last_commit(path: str, data: bytes) -> date | None:
    """The day of the last commit of *path*, if the file is as it was committed."""
    from openhands_memory.git import (
        is_committed,
        last_commit_date,
    )  # late: rarely asked

    if not is_committed(path, data):
        return None
    day = last_commit_date(path)
    return date.fromisoformat(day) if day else None


# --- What the reader drops --------------------------------------------------------------


def _budget_alone(checked: Checked, args: argparse.Namespace) -> Sequence[Finding]:
    if checked.document is None or checked.target.role != "index":
        return ()
    text = checked.document.body
    char_budget = args.budget or CHAR_BUDGET
    found = budget_finding(
        dropped_alone(text, char_budget),
        path=checked.target.shown,
        chars=len(text.strip()),
        char_budget=char_budget,
    )
    return [found] if found else []


def _budget_together(
    indexes: dict[str, Checked], args: argparse.Namespace
) -> Iterator[Finding]:
    memory = resolve_memory(args.workspace, char_budget=args.budget)
    for tier in memory.tiers:
        checked = indexes.get(tier.name)
        if tier.status != "truncated" or checked is None or checked.document is None:
            continue
        found = budget_finding(
            tier.dropped_lines,
            path=checked.target.shown,
            chars=len(checked.document.body.strip()),
            char_budget=memory.char_budget,
        )
        if found:
            yield found


# --- Repairs ----------------------------------------------------------------------------


def _fix(target: Target, args: argparse.Namespace) -> None:
    """Repair the file in place; what cannot be written is said, and left as it was."""
    # A tier's index is written as such, so that an approval of it is kept.
    path = os.path.abspath(target.place.path)
    place = next((p for p in tier_places(args.workspace) if p.path == path), None)
    target = target._replace(place=place or target.place)
    try:
        done = repair_target(target, now=datetime.now().astimezone())
    except MemoryFileError as error:
        print(f"lint: not repaired: {error}", file=sys.stderr)
    else:
        _say_fixed(target.shown, done)


def _say_fixed(path: str, done: Sequence[str]) -> None:
    if done:
        print(f"fixed {show_hidden(path)}: {'; '.join(done)}", file=sys.stderr)
