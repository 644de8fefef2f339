"""Lint: what a person should know about a memory file before an agent reads it.

Pure: bytes or text in, findings out, all of them and never an exception. What lies
beside the file, what git knows and what the reader loads come in as arguments. The rules
are in ``lint_*``, each about one thing; the codes are in `findings`.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final, Literal

from openhands_memory.layout import DAILY_LOG_PATTERN, INDEX_NAME, SANDBOX_INDEX_NAME
from openhands_memory.sanitize import neutralise, show_hidden
from openhands_memory.upkeep.document import Document, decode_file, parse_document
from openhands_memory.upkeep.findings import Finding, finding
from openhands_memory.upkeep.lint_contradictions import find_contradictions
from openhands_memory.upkeep.lint_dates import STALE_DAYS, LastCommit, find_stale
from openhands_memory.upkeep.lint_duplicates import find_duplicates
from openhands_memory.upkeep.lint_files import (
    find_conflicts,
    find_encoding,
    find_structure,
    has_conflict,
)
from openhands_memory.upkeep.lint_injection import find_injection
from openhands_memory.upkeep.lint_links import find_link_as_text

__all__ = [
    "MAX_ENTRY_CHARS",
    "STALE_DAYS",
    "Role",
    "budget_finding",
    "lint_bytes",
    "lint_text",
    "role_of",
]

#: What a file is: the index is injected, a log is history and may hold old dates.
Role = Literal["index", "log", "other"]

#: Characters of an entry in an index: a tenth of the budget for one fact is plenty.
MAX_ENTRY_CHARS: Final = 600


def role_of(name: str) -> Role:
    """What a file is by its name alone."""
    if name in (INDEX_NAME, SANDBOX_INDEX_NAME):
        return "index"
    return "log" if re.fullmatch(DAILY_LOG_PATTERN, name) else "other"


def lint_bytes(
    data: bytes,
    *,
    path: str,
    today: date,
    role: Role = "index",
    last_commit: LastCommit = lambda: None,
    stale_days: int = STALE_DAYS,
) -> list[Finding]:
    """All findings in a file's bytes, in the order of its lines."""
    file = decode_file(data)
    if file.looks_binary:
        message = "is no text: it is full of NUL bytes (UTF-16 needs a mark)"
        return [finding("OM512", message)._replace(path=path)]
    document = parse_document(file.text)
    found = [
        *(f._replace(path=path) for f in find_encoding(file, document)),
        *lint_text(
            file.text,
            path=path,
            today=today,
            role=role,
            last_commit=last_commit,
            stale_days=stale_days,
            document=document,
        ),
    ]
    return sorted(found, key=lambda f: (f.line, f.column, f.code))


def lint_text(
    text: str,
    *,
    path: str,
    today: date,
    role: Role = "index",
    last_commit: LastCommit = lambda: None,
    stale_days: int = STALE_DAYS,
    document: Document | None = None,
) -> Iterator[Finding]:
    """All findings in *text*, rule by rule.

    Args:
        text: The file's text; *document* is the same, if it was parsed already.
        path: What the findings call the file.
        today: The day for which deadlines are judged.
        role: Only in an index old claims and long entries are findings.
        last_commit: Gives the day of the file's last commit, if that is its text.
        stale_days: Days after which a claim about the present is old.
    """
    document = document or parse_document(text)
    rules = [
        _find_secrets(document),
        _find_hidden(document),
        _find_frame(document),
        find_injection(document),
        find_conflicts(document),
        find_structure(document),
    ]
    if not has_conflict(document):  # else it holds two versions of each fact
        rules += [find_duplicates(document), find_contradictions(document)]
    if role == "index":
        rules += [
            _find_long_entries(document),
            find_link_as_text(document),
            find_stale(
                document, today=today, last_commit=last_commit, stale_days=stale_days
            ),
        ]
    for rule in rules:
        for found in rule:
            yield found._replace(path=path)


# --- What must not be seen, or not stand there ------------------------------------------


def _find_secrets(document: Document) -> Iterator[Finding]:
    from openhands_memory.secrets import find_secrets  # late: --help does without

    for secret in find_secrets(document.body):
        message = f"looks like a secret ({secret.kind}); remove it, and revoke it"
        yield finding(
            "OM101", message, line=secret.line, column=secret.column, kind=secret.kind
        )


def _find_hidden(document: Document) -> Iterator[Finding]:
    if show_hidden(document.body) == document.body:
        return
    for number, line in enumerate(document.lines, 1):
        shown = show_hidden(line)
        if shown != line:
            column, names = _hidden_in(line, shown)
            message = f"hidden characters, shown to the agent as {names}; remove them"
            yield finding("OM111", message, line=number, column=column)


def _hidden_in(line: str, shown: str) -> tuple[int, str]:
    """The column of the first hidden character, and the code points of the first few."""
    column = _first_difference(line, shown)
    names = list(dict.fromkeys(re.findall(r"\[U\+[0-9A-F]{4,6}\]", shown)))
    return column, ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _find_frame(document: Document) -> Iterator[Finding]:
    safe = neutralise(document.body)
    if safe == document.body:
        return
    pairs = zip(document.lines, safe.split("\n"), strict=True)
    for number, (line, shown) in enumerate(pairs, 1):
        if shown == line:
            continue
        if shown.startswith("\\") and not line.startswith("\\"):
            shown = shown[1:]
            if not _is_title(document, number, line):
                message = (
                    "imitates a heading or notice of the prompt; put it another way"
                )
                yield finding("OM122", message, line=number)
        if shown != line:
            column = _first_difference(line, shown)
            message = (
                "a tag of the prompt's own frame, shown with &lt;; write it without"
            )
            yield finding("OM121", message, line=number, column=column)


def _first_difference(line: str, shown: str) -> int:
    """The column where *shown* leaves *line*; it is longer, so there is one."""
    pairs = zip(line, shown, strict=False)
    same = (column for column, (a, b) in enumerate(pairs, 1) if a != b)
    return next(same, len(line))


def _is_title(document: Document, number: int, line: str) -> bool:
    """Whether *line* is the file's own title, as most people write it.

    It is shown with a backslash, and it can mislead nobody: our heading names a path.
    """
    return "(" not in line and not any(map(str.strip, document.lines[: number - 1]))


# --- What the prompt has room for -------------------------------------------------------


def budget_finding(
    dropped: Sequence[tuple[int, int]] | None,
    *,
    path: str,
    chars: int,
    char_budget: int,
) -> Finding | None:
    """The lines that the reader drops, as ranges from 1; None where it could not count.

    *chars* are those of the text, *char_budget* those of all tiers together.
    """
    if dropped is None:
        lines, first = "all but the last lines", 1
    elif dropped:
        ranges = (str(a) if a == b else f"{a}-{b}" for a, b in dropped)
        lines, first = f"lines {', '.join(ranges)}", dropped[0][0]
    else:
        return None
    message = (
        f"{lines} will not load: the file is {chars:,} characters, the budget for all "
        f"tiers is {char_budget:,}; move detail to a daily log"
    )
    return finding("OM301", message, line=first)._replace(path=path)


def _find_long_entries(document: Document) -> Iterator[Finding]:
    for entry in document.entries:
        if len(entry.text) > MAX_ENTRY_CHARS:
            message = (
                f"entry is {len(entry.text):,} characters; the limit is "
                f"{MAX_ENTRY_CHARS}. Move detail to a daily log"
            )
            yield finding("OM302", message, line=entry.line)
