"""What a write changes, as a unified diff in which nothing is hidden but secrets."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from openhands_memory.sanitize import show_hidden
from openhands_memory.secrets import find_secrets
from openhands_memory.upkeep.document import decode_file, parse_document
from openhands_memory.writing import Written

__all__ = ["diff_lines"]

#: Unchanged lines around a change.
_AROUND: Final = 3
_NO_END: Final = r"\ No newline at end of file"


def diff_lines(
    written: Written, *, before: str, after: str, around: int = _AROUND
) -> Iterator[str]:
    """The lines of the diff; *before* and *after* are what its sides are called.

    Lines are compared as they are, and masked only to be shown: a change within a secret
    is seen, the secret is not.
    """
    old, new = _Side(written.before), _Side(written.after)
    yield f"--- {show_hidden(before)}"
    yield f"+++ {show_hidden(after)}"
    if len(old.ends | new.ends) > 1:
        old.show_ends()
        new.show_ends()
    matcher = SequenceMatcher(None, old.lines, new.lines)
    changed = False
    for group in matcher.get_grouped_opcodes(around):
        changed = True
        (_, i, _, j, _), (_, _, i_end, _, j_end) = group[0], group[-1]
        yield f"@@ -{_range(i, i_end)} +{_range(j, j_end)} @@"
        for kind, i, i_end, j, j_end in group:
            if kind == "equal":
                yield from old.show(" ", i, i_end)
            else:
                yield from old.show("-", i, i_end)
                yield from new.show("+", j, j_end)
    if not changed and written.before != written.after:
        yield "(the same lines in other bytes, or a file without any)"


def _range(first: int, end: int) -> str:
    size = end - first
    start = first + 1 if size else first
    return f"{start}" if size == 1 else f"{start},{size}"


class _Side:
    """One version of a file: its *lines* with their ends, and how each is shown."""

    def __init__(self, data: bytes | None) -> None:
        document = parse_document(decode_file(data or b"").text)
        self._ends = document.ends
        self.lines = [
            line + end for line, end in zip(document.lines, document.ends, strict=True)
        ]
        self.ends = {end for end in document.ends if end}
        # Once more: a hidden character that is shown may give a secret away.
        shown = _masked([show_hidden(line) for line in _masked(document.lines)])
        self._shown = shown

    def show_ends(self) -> None:
        """Show line ends other than a line feed: lines may differ in nothing else."""
        self._shown = [
            line + show_hidden(end.rstrip("\n"))
            for line, end in zip(self._shown, self._ends, strict=True)
        ]

    def show(self, sign: str, first: int, end: int) -> Iterator[str]:
        for number in range(first, end):
            yield sign + self._shown[number]
            if not self._ends[number]:
                yield _NO_END


def _masked(lines: "tuple[str, ...] | list[str]") -> list[str]:
    """*lines* without secrets, as many as before."""
    text = "\n".join(lines)
    parts: list[str] = []
    at = 0
    for secret in find_secrets(text):
        more = text.count("\n", secret.start, secret.end)
        mark = f"[secret: {secret.kind}]" + "\n[secret: continued]" * more
        parts += [text[at : secret.start], mark]
        at = secret.end
    return "".join([*parts, text[at:]]).split("\n") if lines else []
