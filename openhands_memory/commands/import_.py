"""``import``: facts from the files of other agents, or a tier from a bundle."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from openhands_memory.commands._arguments import (
    add_json,
    add_tier,
    add_workspace,
    print_json,
)
from openhands_memory.commands._bundle import import_bundle
from openhands_memory.commands._transfer import agreed, fact_as_dict, take
from openhands_memory.commands._words import count
from openhands_memory.commands._writes import report_write, tier_place
from openhands_memory.errors import ConfigError, MemoryFileError
from openhands_memory.layout import TierPlace
from openhands_memory.sanitize import show_hidden
from openhands_memory.upkeep.document import decode_file, parse_document
from openhands_memory.upkeep.sections import Fact
from openhands_memory.upkeep.sources import Found, find_facts
from openhands_memory.upkeep.tier_files import place_at, read_file
from openhands_memory.upkeep.transfer import Brought, bring_facts

EXAMPLE = "openhands-memory import CLAUDE.md AGENTS.md"

_DONE, _NOT_ALL = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="CLAUDE.md, AGENTS.md, GEMINI.md, or memory of Codex or Claude Code",
    )
    parser.add_argument(
        "--bundle", metavar="FILE", help="bring back what 'export' wrote instead"
    )
    parser.add_argument("--yes", action="store_true", help="take it without asking")
    parser.add_argument(
        "--force", action="store_true", help="take also what looks like a secret"
    )
    add_tier(parser)
    add_workspace(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if bool(args.files) == bool(args.bundle):
        raise ConfigError("FILE", args.files, "give files, or one with --bundle")
    if args.bundle and args.json:
        raise ConfigError("--json", True, "there is none with --bundle")
    if args.bundle:
        return import_bundle(args)
    return _import_facts(args)


class _Candidates(NamedTuple):
    facts: list[tuple[str, Fact]]
    refused: list[tuple[str, Fact, str]]


def _import_facts(args: argparse.Namespace) -> int:
    found = _Candidates([], [])
    for path in args.files:
        _look(path, found, force=args.force)
    index = tier_place(args)
    reason = f"imported from {', '.join(map(os.path.basename, args.files))}"
    offered = _take(index, found, reason, dry_run=True)
    if not args.json:
        for number, (path, fact) in enumerate(_with_paths(offered, found), 1):
            print(f"{number:4}  {path}:{fact.line}: {fact.text}")
    for path, fact, why in found.refused:
        print(f"refused: {path}:{fact.line}: {why}", file=sys.stderr)
    question = f"Take {count(len(offered.taken), 'fact')} into {index.path}?"
    sure = bool(offered.taken) and (args.yes or (not args.json and agreed(question)))
    taken = _take(index, found, reason, dry_run=False).taken if sure else ()
    if args.json:
        print_json(_as_dict(offered, found, len(taken)))
    _say(offered, len(taken), index.path)
    if taken:
        report_write(index, args.workspace, 0)
    everything = len(taken) == len(offered.taken) and bool(found.facts)
    return _DONE if everything and not found.refused else _NOT_ALL


def _take(
    index: TierPlace, found: _Candidates, reason: str, *, dry_run: bool
) -> Brought:
    facts = [fact for _, fact in found.facts]
    return take(
        index,
        lambda mine: bring_facts(mine, facts),
        writer="import",
        reason=reason,
        dry_run=dry_run,
    )


def _with_paths(offered: Brought, found: _Candidates) -> Iterator[tuple[str, Fact]]:
    paths = {fact.key: path for path, fact in reversed(found.facts)}
    return ((paths[fact.key], fact) for fact in offered.taken)


def _say(offered: Brought, taken: int, path: str) -> None:
    if offered.taken and taken:
        print(f"took {count(taken, 'fact')} into {path}", file=sys.stderr)
    elif not offered.taken:
        here = f"; {offered.present:,} here already" if offered.present else ""
        print(f"nothing to take{here}", file=sys.stderr)


# --- What a file offers -----------------------------------------------------------------


def _look(path: str, candidates: _Candidates, *, force: bool) -> None:
    data = read_file(place_at(os.path.abspath(os.path.expanduser(path))))
    if data is None:
        raise MemoryFileError(path, "does not exist")
    file = decode_file(data)
    if file.looks_binary:
        raise MemoryFileError(path, "is no text")
    text = file.text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    found = find_facts(text)
    secrets = _secret_lines(text)
    for fact in found.facts:
        if why := _refusal(fact, secrets, force=force):
            candidates.refused.append((path, fact, why))
        else:
            candidates.facts.append((path, fact))
    _say_left_out(path, found)


def _secret_lines(text: str) -> dict[int, str]:
    """The kind of secret that stands on a line, also of one that takes several."""
    from openhands_memory.secrets import find_secrets

    body = parse_document(text).body
    return {
        secret.line + more: secret.kind
        for secret in find_secrets(body)
        for more in range(body.count("\n", secret.start, secret.end) + 1)
    }


def _refusal(fact: Fact, secrets: dict[int, str], *, force: bool) -> str:
    """Why *fact* must not be taken; empty if it may."""
    from openhands_memory.secrets import find_secrets

    if (shown := show_hidden(fact.text)) != fact.text:
        return f"has hidden characters, clean it first: {shown}"
    kinds = {secret.kind for secret in find_secrets(fact.text)}
    kinds |= {secrets[n] for n in range(fact.line, fact.end_line + 1) if n in secrets}
    if not kinds or force:
        return ""
    named = ", ".join(sorted(kinds))
    return f"looks like it holds a secret ({named}); use --force if it does not"


def _say_left_out(path: str, found: Found) -> None:
    for line, target in found.imports:
        print(f"{path}:{line}: @{target} is not followed", file=sys.stderr)
    if found.left_out:
        what = ", ".join(f"{n} × {name}" for name, n in found.left_out.items())
        print(f"left out of {path}: {what}", file=sys.stderr)


def _as_dict(offered: Brought, found: _Candidates, taken: int) -> dict[str, Any]:
    refused: Sequence[dict[str, Any]] = [
        {"path": path, "line": fact.line, "reason": why}
        for path, fact, why in found.refused
    ]
    return {
        "facts": [
            fact_as_dict(path, fact) for path, fact in _with_paths(offered, found)
        ],
        "refused": refused,
        "present": offered.present,
        "taken": taken,
    }
