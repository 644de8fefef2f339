"""Finds passwords in tables, whose header names them, and in CSV with a first row.

Also the tables that `psql` prints. Lines may end with an escaped line feed, as in JSON.
"""

import re
from collections.abc import Iterator
from typing import Final

from openhands_memory.secrets.judging import Assignment, judge_assignment
from openhands_memory.secrets.keys import key_class
from openhands_memory.secrets.rules import hits
from openhands_memory.secrets.spans import Span

MAX_ROWS: Final = 200
MAX_LINE_CHARS: Final = 1_000
_RULE: Final = re.compile(
    r"(?P<end>\n|\\n)[ \t>]{0,8}\|?[ \t]{0,4}:?-{2,200}:?"
    r"(?:[ \t]{0,4}[|+][ \t]{0,4}:?-{2,200}:?){1,30}[ \t]{0,4}\|?[ \t]{0,4}\r?(?P=end)"
)
_INSERT: Final = re.compile(
    r"(?i)insert into [\w.\"`\[\]]{1,80}\s?\((?P<names>[\w\s,\"`\[\]]{1,400})\)\s{0,8}values\s{0,8}"
)
_ROW: Final = re.compile(r"\((?P<cells>(?:'[^'\n]{0,400}'|[^'()]){1,800})\)[,\s]{0,8}")
_ROW_CELL: Final = re.compile(r"\s*(?:'(?P<s>[^'\n]*)'|[^,']+)\s*(?:,|$)")
_DRESS: Final = " \t\r\n*_`\"'[]"
_CSV_WORDS: Final = ("passw", "pwd", "secret", "token", "api_key", "apikey")
_CSV_NAME: Final = re.compile(r"[\"']?[\w .-]{1,30}[\"']?")


def find_in_tables(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values below a header that promises secrets."""
    if "|" in text and "--" in text:
        yield from _ruled_values(text)
    yield from _csv_values(text, lowered)
    for at in hits(("insert into ",), lowered):
        if insert := _INSERT.match(text, at):
            yield from _inserted_values(text, insert)


def _ruled_values(text: str) -> Iterator[Span]:
    end = 0
    for rule in _RULE.finditer(text):
        if rule.start() < end:
            continue  # each row is read once
        feed = rule["end"]
        low = max(0, rule.start() - MAX_LINE_CHARS)
        start = text.rfind(feed, low, rule.start())
        head = text[start + len(feed) if start >= 0 else low : rule.start()]
        names = _secret_columns(head.split("|"))
        for row, after in _rows(text, rule.end(), feed) if names else ():
            end = after
            if "|" not in text[row:after]:
                break
            yield from _row_values(text, (row, after), "|", names)


def _rows(text: str, at: int, feed: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of the lines from *at* on."""
    for _ in range(MAX_ROWS):
        end = text.find(feed, at, at + MAX_LINE_CHARS)
        end = min(len(text), at + MAX_LINE_CHARS) if end < 0 else end
        if end <= at:
            return
        yield at, end
        at = end + len(feed)


def _secret_columns(names: list[str]) -> dict[int, str]:
    plain = [name.strip(_DRESS) for name in names]
    return {at: name for at, name in enumerate(plain) if _promises(name)}


def _promises(name: str) -> bool:
    return len(name) <= 40 and key_class(name) in {"password", "short", "secret"}


def _row_values(
    text: str, row: tuple[int, int], between: str, names: dict[int, str]
) -> Iterator[Span]:
    start, end = row
    for at, cell in enumerate(text[start:end].split(between)):
        if at in names:
            yield from _cell_value(names[at], cell, start)
        start += len(cell) + len(between)


def _cell_value(name: str, cell: str, start: int) -> Iterator[Span]:
    value = cell.strip(_DRESS)
    if value.isdigit():
        return
    quoted = "`" in cell
    found = Assignment(name, value, "assign", quoted=quoted, ends=False, tight=False)
    if kind := judge_assignment(found):
        at = start + cell.index(value)
        yield Span(at, at + len(value), kind)


def _csv_values(text: str, lowered: str) -> Iterator[Span]:
    after = 0
    for at in hits(_CSV_WORDS, lowered):
        if at < after:
            continue
        start = text.rfind("\n", max(0, at - MAX_LINE_CHARS), at) + 1
        after = text.find("\n", at, at + MAX_LINE_CHARS) + 1
        if not after or at - start > MAX_LINE_CHARS:
            continue
        head = text[start : after - 1].rstrip("\r")
        between = next((mark for mark in ",;\t" if mark in head), "")
        names = head.split(between) if between else []
        columns = _secret_columns(names)
        if not columns or not all(map(_CSV_NAME.fullmatch, names)):
            continue
        for row, end in _rows(text, after, "\n"):
            if text.count(between, row, end) != len(names) - 1:
                break
            yield from _row_values(text, (row, end), between, columns)
            after = end


def _inserted_values(text: str, insert: re.Match[str]) -> Iterator[Span]:
    names = _secret_columns(insert["names"].split(","))
    at = insert.end()
    for _ in range(MAX_ROWS):
        row = _ROW.match(text, at)
        if not row:
            return
        cells = _ROW_CELL.finditer(text, row.start("cells"), row.end("cells"))
        for column, cell in enumerate(cells):
            if cell["s"] and column in names:
                found = Assignment(names[column], cell["s"], "assign", quoted=True)
                if kind := judge_assignment(found):
                    yield Span(cell.start("s"), cell.end("s"), kind)
        at = row.end()
