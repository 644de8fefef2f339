"""A staged copy of the memory directory, which a model edits.

A mapping of relative path to text, and nothing else: whatever a path says, there is no
file behind it. It does not judge the result, and it does not neutralise what it shows:
that is for whoever passes it on.
"""

import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from openhands_memory.errors import MemoryToolError

__all__ = [
    "FILE_CHARS",
    "NEW_FILES",
    "TOTAL_CHARS",
    "VIEW_CHARS",
    "Stage",
    "StageError",
]

#: Characters of one file, and of all together, that an edit may leave behind.
FILE_CHARS: Final = 256 * 1024
TOTAL_CHARS: Final = 4 * 1024 * 1024
#: Files that an edit may add to those that were there.
NEW_FILES: Final = 64
#: Characters of a view; more is cut at a line, or within a line that alone is longer.
VIEW_CHARS: Final = 16_000
#: Characters of a path, and edits of one file that can be undone.
_PATH_CHARS: Final = 512
_UNDO_STEPS: Final = 10
#: Lines above and below an edit that its answer shows.
_AROUND: Final = 3
_LINE_MARK: Final = " [the rest of this line is not shown]"


class StageError(MemoryToolError, ValueError):
    """An edit that cannot be; the message tells the model what to do instead."""


class Stage:
    """The files of *files*, of which those that *writable* names may be edited.

    Lines end with ``\\n``, as the texts given do. Each edit happens whole or not at all.
    """

    def __init__(
        self, files: Mapping[str, str], *, writable: Callable[[str], bool]
    ) -> None:
        self._before = dict(files)
        self._files = dict(files)
        self._writable = writable
        self._undo: dict[str, deque[str | None]] = {}
        self._chars = sum(map(len, files.values()))
        self._is_frozen = False

    @property
    def files(self) -> dict[str, str]:
        """The texts as they are now, by path."""
        return dict(self._files)

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths whose text is not the one that was given, in order."""
        paths = sorted({*self._before, *self._files})
        return tuple(p for p in paths if self._before.get(p) != self._files.get(p))

    def freeze(self) -> None:
        """Let nobody edit any more, whoever still holds this."""
        self._is_frozen = True

    def view(self, path: str, view_range: tuple[int, int] | None = None) -> str:
        """The numbered lines of a file, or what a directory holds.

        *view_range* is the first and the last line, from 1; a last line of -1 is the
        file's.
        """
        name = _checked_path(path, root=True)
        if name in self._files:
            lines = _lines(self._files[name])
            first, last = _checked_range(view_range, len(lines))
            return _numbered(lines, first, last)
        if view_range is not None:
            raise StageError(f"{self._missing(name)} Only a file has a view_range.")
        return self._listing(name)

    def create(self, path: str, text: str) -> str:
        """Write a file, be it new or there already."""
        name = self._editable(_checked_path(path), exists=False)
        known = name in self._files
        self._put(name, text)
        return f"{'Replaced' if known else 'Created'} {name}: {_count(text)}."

    def replace(self, path: str, old: str, new: str) -> str:
        """Put *new* in the only place where *old* stands."""
        name = self._editable(_checked_path(path))
        text = self._files[name]
        old, new = self._found(name, old, new)
        if old == new:
            raise StageError("old_str and new_str are equal, so nothing would change.")
        at = text.index(old)
        self._put(name, text[:at] + new + text[at + len(old) :])
        first = text.count("\n", 0, at) + 1
        return self._answer(name, first, first + new.count("\n"))

    def insert(self, path: str, line: int, text: str) -> str:
        """Put *text* as lines of its own below line *line*; 0 is the beginning."""
        name = self._editable(_checked_path(path))
        lines = _lines(self._files[name])
        if not 0 <= line <= len(lines):
            raise StageError(f"insert_line must be from 0 to {len(lines)}, not {line}.")
        added = _lines(text) or [""]
        lines[line:line] = added
        self._put(name, "\n".join((*lines, "")))
        return self._answer(name, line + 1, line + len(added))

    def undo(self, path: str) -> str:
        """Take the last edit of a file back."""
        name = self._editable(_checked_path(path), exists=False)
        steps = self._undo.get(name)
        if not steps:
            raise StageError(f"There is no edit of {name} left to undo.")
        text = steps.pop()
        self._chars -= len(self._files.get(name, ""))
        if text is None:
            del self._files[name]
            return f"Undone: {name} is not there any more."
        self._files[name] = text
        self._chars += len(text)
        return f"Undone: {name} has {_count(text)} again."

    def _put(self, name: str, text: str) -> None:
        before = self._files.get(name)
        _check_text(text)
        chars = self._chars - len(before or "") + len(text)
        if chars > max(TOTAL_CHARS, self._chars):
            raise StageError(f"All files together may have {TOTAL_CHARS:,} characters.")
        if before is None and len(self._files) >= len(self._before) + NEW_FILES:
            raise StageError(f"No more than {NEW_FILES} files may be added.")
        self._undo.setdefault(name, deque(maxlen=_UNDO_STEPS)).append(before)
        self._files[name] = text
        self._chars = chars

    def _editable(self, name: str, *, exists: bool = True) -> str:
        if self._is_frozen:
            raise StageError("The work is over; nothing can be edited any more.")
        if not self._writable(name):
            raise StageError(f"{name} cannot be edited; it is only there to be read.")
        if exists and name not in self._files:
            raise StageError(self._missing(name))
        parents = name.split("/")
        if any("/".join(parents[:n]) in self._files for n in range(1, len(parents))):
            raise StageError(f"{name} would stand below a file.")
        if any(path.startswith(f"{name}/") for path in self._files):
            raise StageError(f"{name} is a directory.")
        return name

    def _found(self, name: str, old: str, new: str) -> tuple[str, str]:
        """What is to be replaced by what: with blank ends ignored if need be."""
        if not old:
            raise StageError("old_str is empty; use insert to add lines.")
        text = self._files[name]
        if old not in text and old.strip():
            old, new = old.strip(), new.strip()
        first = text.find(old)
        if first < 0:
            raise StageError(f"old_str does not stand in {name}; view it first.")
        if text.find(old, first + 1) >= 0:
            lines = [str(n) for n in _lines_of(text, old)]
            shown = ", ".join(lines[:10]) + (", ..." if len(lines) > 10 else "")
            raise StageError(
                f"old_str stands in {name} more than once, in lines {shown}; give more "
                "of the text around it."
            )
        return old, new

    def _answer(self, name: str, first: int, last: int) -> str:
        """What is told of an edit: the lines that it left, and a few around them."""
        lines = _lines(self._files[name])
        shown = _numbered(
            lines, max(1, first - _AROUND), min(len(lines), last + _AROUND)
        )
        return f"Edited {name}. These lines now read:\n{shown}"

    def _missing(self, name: str) -> str:
        near = [p for p in self._files if p.casefold() == name.casefold()]
        hint = f" Do you mean {near[0]}?" if near else ' View "." to see what is.'
        return f"There is no file {name}.{hint}"

    def _listing(self, name: str) -> str:
        start = f"{name}/" if name else ""
        below = sorted(path for path in self._files if path.startswith(start))
        if name and not below:
            raise StageError(self._missing(name))
        rows = (f"{path} ({len(self._files[path]):,} characters)" for path in below)
        return _clipped(list(rows), "files") or "There are no files yet."


# --- Checks -----------------------------------------------------------------------------


def _checked_path(path: str, *, root: bool = False) -> str:
    """*path* as a key of the stage: relative, with single slashes.

    Raises:
        StageError: It is no path below the memory directory.
    """
    problem = _path_problem(path)
    if problem:
        raise StageError(
            f"The path {problem}. Give one relative to the memory directory, such as "
            "MEMORY.md."
        )
    name = "/".join(part for part in path.split("/") if part not in ("", "."))
    if not name and not root:
        raise StageError("That is the memory directory itself; give a file in it.")
    return name


def _path_problem(path: str) -> str | None:
    if not path:
        return "is empty"
    if len(path) > _PATH_CHARS:
        return f"has more than {_PATH_CHARS} characters"
    if not path.isprintable():
        return "has a character that is not printable"
    if "\\" in path:
        return "has a backslash"
    if path.startswith(("/", "~")) or re.match(r"\w+:", path):
        return "is not relative"
    return 'has ".." in it' if ".." in path.split("/") else None


def _check_text(text: str) -> None:
    if len(text) > FILE_CHARS:
        raise StageError(
            f"The file would have {len(text):,} characters; {FILE_CHARS:,} are the most."
        )
    if "\0" in text:
        raise StageError("The text has a NUL character in it.")
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise StageError("The text has half of a surrogate pair in it.")


def _checked_range(view_range: tuple[int, int] | None, lines: int) -> tuple[int, int]:
    if view_range is None:
        return 1, lines
    first, last = view_range
    if last == -1 or last > lines:
        last = lines
    if not 1 <= first <= max(lines, 1) or last < first - (lines == 0):
        raise StageError(
            f"view_range {list(view_range)} names no lines; the file has {lines}."
        )
    return first, last


# --- Lines ------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _lines_of(text: str, old: str) -> list[int]:
    """The numbers of the lines in which *old* begins."""
    numbers, line, seen = list[int](), 1, 0
    at = text.find(old)
    while at >= 0:
        line += text.count("\n", seen, at)
        seen = at
        if not numbers or numbers[-1] != line:
            numbers.append(line)
        if len(numbers) > 10:
            break
        at = text.find(old, at + len(old))
    return numbers


def _numbered(lines: list[str], first: int, last: int) -> str:
    rows = [f"{n:6}\t{lines[n - 1]}" for n in range(first, last + 1)]
    return _clipped(rows, "lines, use view_range for more") or "(the file is empty)"


def _clipped(rows: list[str], what: str) -> str:
    """*rows* in one text of `VIEW_CHARS`, which says what it leaves out."""
    shown, room = list[str](), VIEW_CHARS
    for row in rows:
        if len(row) > room:
            if not shown:
                shown.append(row[:room] + _LINE_MARK)
            break
        shown.append(row)
        room -= len(row) + 1
    if len(shown) < len(rows):
        shown.append(f"[clipped: {len(shown)} of {len(rows)} {what}]")
    return "\n".join(shown)


def _count(text: str) -> str:
    return f"{len(_lines(text)):,} lines, {len(text):,} characters"
