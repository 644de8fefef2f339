"""``review``: what generation proposes, as a diff, to be applied or rejected."""

import argparse
import sys
from datetime import datetime
from typing import Any, Final

from openhands_memory.commands._arguments import (
    add_json,
    add_workspace,
    print_json,
)
from openhands_memory.commands._diff import diff_lines
from openhands_memory.commands._generation import add_layout, files_of
from openhands_memory.commands._transfer import agreed
from openhands_memory.commands._words import count
from openhands_memory.commands._writes import now
from openhands_memory.generation.placing import ChangedMeanwhileError
from openhands_memory.generation.review import (
    ReplacedError,
    apply_proposal,
    reject_proposal,
)
from openhands_memory.generation.state import Proposal, load_proposal
from openhands_memory.layout import GeneratedFiles

EXAMPLE = "openhands-memory review --apply"

_DONE, _NOT_DONE = 0, 1
_ASK_NOBODY = "not applied: there is no terminal to ask at; use --apply or --reject"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace(parser)
    verdict = parser.add_mutually_exclusive_group()
    verdict.add_argument(
        "--apply", action="store_true", help="put it in place, and do not ask"
    )
    verdict.add_argument(
        "--reject",
        action="store_true",
        help="drop it; the same is not proposed again",
    )
    add_layout(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    files = files_of(args)
    proposal = load_proposal(files.directory)
    if proposal is None:
        if args.json:
            print_json(_NOTHING_WAITS)
        else:
            print("nothing waits for review", file=sys.stderr)
        return _NOT_DONE
    if not (args.json or args.reject):
        _print(files, proposal)
    outcome = _decide(args, files, proposal)
    if args.json:
        print_json(_as_dict(files, proposal, outcome))
    looked = args.json and outcome == "waiting"
    return _DONE if looked or outcome in ("applied", "rejected") else _NOT_DONE


def _decide(args: argparse.Namespace, files: GeneratedFiles, proposal: Proposal) -> str:
    """Do what *args*, or the person at the terminal, want; what became of it."""
    try:
        if args.reject:
            reject_proposal(files, proposal)
            print("rejected: memory is as it was", file=sys.stderr)
            return "rejected"
        if not args.apply and (args.json or not _wanted(files, proposal)):
            return "waiting"
        apply_proposal(files, proposal, now=now())
    except ReplacedError as error:
        print(f"nothing done: {error}", file=sys.stderr)
        return "replaced"
    except ChangedMeanwhileError as error:
        print(
            f"not applied: {error.path} was changed after this was proposed.\n"
            "Nothing was written. The next generation proposes anew; --reject drops "
            "this one.",
            file=sys.stderr,
        )
        return "outdated"
    each = "" if len(proposal.files) == 1 else ", one file at a time"
    print(f"applied; {files.command('undo')} takes it back{each}", file=sys.stderr)
    return "applied"


def _wanted(files: GeneratedFiles, proposal: Proposal) -> bool:
    many = count(len(proposal.files), "file")
    if agreed(f"Apply this to {many} in {files.memories_dir}?", otherwise=_ASK_NOBODY):
        return True
    if sys.stdin.isatty():
        print("not applied: it waits; --reject drops it", file=sys.stderr)
    return False


def _print(files: GeneratedFiles, proposal: Proposal) -> None:
    time = datetime.fromisoformat(proposal.time).astimezone()
    print(f"proposed {time:%Y-%m-%d %H:%M}: {proposal.reason}")
    for path in proposal.files:
        for line in _diff(files, proposal, path):
            print(line)


def _diff(files: GeneratedFiles, proposal: Proposal, path: str) -> list[str]:
    written = proposal.files[path]
    shown = files.place(*path.split("/")).shown_as
    before = f"{shown}  " + ("before" if written.before is not None else "(no file)")
    after = f"{shown}  " + ("proposed" if written.after is not None else "(no file)")
    return list(diff_lines(written, before=before, after=after))


def _as_dict(files: GeneratedFiles, proposal: Proposal, outcome: str) -> dict[str, Any]:
    """As JSON values; the names are stable."""
    return {
        "outcome": outcome,
        "time": proposal.time,
        "reason": proposal.reason,
        "files": [
            {"path": path, "diff": "\n".join(_diff(files, proposal, path))}
            for path in proposal.files
        ],
    }


_NOTHING_WAITS: Final[dict[str, Any]] = {
    "outcome": "none",
    "time": None,
    "reason": None,
    "files": [],
}
