"""Facts and rules in the files that other agents are instructed with, or remember in.

Pure. Knows ``CLAUDE.md``, ``AGENTS.md``, ``GEMINI.md``, the memory of Codex and of
Claude Code. One fact is one line. What is none is left out and counted: code, comments,
front matter, tables, tables of contents. Nothing that a file points to is ever opened.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from openhands_memory.errors import ConfigError
from openhands_memory.upkeep.document import Document, Entry, fact_key, parse_document
from openhands_memory.upkeep.facts import as_fact
from openhands_memory.upkeep.items import Item, items_of
from openhands_memory.upkeep.sections import Fact, Heading, as_heading

__all__ = ["Found", "find_facts"]

#: Claude Code and Gemini CLI put the file in this place; the path may be quoted code.
_IMPORT: Final = re.compile(r"(?<![\w`/@.])@((?:~/|\.{0,2}/)[\w./~-]+|[\w./-]+\.md)\b")
_ANCHOR: Final = re.compile(r"\[[^\]]*\]\(#[^)]*\)")
_POINTER: Final = re.compile(r"!?\[[^\[\]]{0,500}\]\([^()]{0,2000}\)")
_DEFINITION: Final = re.compile(r"\[[^\]]+\]:\s+\S+")
_LABEL: Final = re.compile(r":[*_`]*\Z")
_TAGS: Final = re.compile(r"(?:</?[A-Za-z][^<>]*>\s*)+")
_UNDERLINE: Final = re.compile(r"(?:=+|-+)\s*\Z")
_TASKS: Final = re.compile(r"(?:\s*\[Task \d+\])+\Z")

#: What the files say about themselves.
_ABOUT_ITSELF: Final = re.compile(
    r"(?i)this file (?:provides|contains|gives|offers) (?:guidance|instructions|context)\b"
    r".{0,60}\b(?:claude|codex|gemini|agents?|assistants?)\b.{0,120}"
)

#: Codex: where its evidence and its index stand, which lead nowhere here.
_CODEX_GROUP: Final = "task group: "
_CODEX_INDEX: Final = "what's in memory"
_CODEX_EVIDENCE: Final = frozenset({"rollout_summary_files", "keywords", _CODEX_INDEX})
_CODEX_SCOPE: Final = re.compile(r"(?:scope|applies_to):\s")


class Found(NamedTuple):
    """What a file holds: *facts*, what was *left_out*, *imports* by line."""

    facts: list[Fact]
    left_out: Mapping[str, int]
    imports: list[tuple[int, str]]


def find_facts(text: str) -> Found:
    """The facts and rules in *text*, each on one line, below the headings it had."""
    document = parse_document(text)
    left_out: Counter[str] = Counter()
    imports: list[tuple[int, str]] = []
    clean = parse_document(_without_silent(document, left_out, imports))
    headings = [h for line in clean.lines if (h := as_heading(line))]
    title = _title(headings)
    codex = any(
        h.key.startswith(_CODEX_GROUP) or h.key == _CODEX_INDEX for h in headings
    )
    facts: list[Fact] = []
    for item in items_of(clean):
        imports += [(item.line, found[1]) for found in _IMPORT.finditer(item.text)]
        if what := _no_fact(item, codex=codex):
            left_out[what] += 1
            continue
        try:
            facts.append(_as_fact(item, title, codex=codex))
        except ConfigError:  # a bullet of nothing
            continue
    return Found(facts, left_out, sorted(imports))


def _without_silent(
    document: Document, left_out: Counter[str], imports: list[tuple[int, str]]
) -> str:
    """The text with what is never a fact as blank lines, so that numbers stay."""
    lines = list(document.lines)
    code = list(document.code)
    if end := _front_matter(lines):
        lines[:end] = [""] * end
        left_out["front matter"] += 1
    for index, is_code in enumerate(code):
        if is_code:
            left_out["code block"] += not (index and code[index - 1])
            lines[index] = ""
        elif found := _IMPORT.fullmatch(lines[index].strip()):
            imports.append((index + 1, found[1]))
            left_out["import"] += 1
            lines[index] = ""
        elif _DEFINITION.fullmatch(lines[index].strip()):
            lines[index] = ""

    return _without_comments("\n".join(lines), left_out)


def _without_comments(text: str, left_out: Counter[str]) -> str:
    kept: list[str] = []
    end = 0
    while (start := text.find("<!--", end)) >= 0:
        closed = text.find("-->", start)
        if closed < 0:
            break
        is_code = text[start - 1 : start] == "`"
        kept.append(text[end : start + 4 if is_code else start])
        end = start + 4 if is_code else closed + 3
        if not is_code:
            kept.append("\n" * text.count("\n", start, end))
            left_out["comment"] += 1
    return "".join(kept) + text[end:]


def _front_matter(lines: list[str]) -> int:
    """How many lines of YAML the file begins with."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    ends = (n for n, line in enumerate(lines[1:], 2) if line.rstrip() in ("---", "..."))
    return next(ends, 0)


def _title(headings: list[Heading]) -> Heading | None:
    """The first heading, if it is the whole file's."""
    tops = [heading for heading in headings if heading.depth == 1]
    return headings[0] if headings and tops == headings[:1] else None


def _no_fact(item: Item, *, codex: bool) -> str:
    """What *item* is instead of a fact; empty if it is one."""
    text = item.text
    if not _IMPORT.sub("", text).strip(" -*+"):
        return "import"
    if _ANCHOR.fullmatch(text):
        return "table of contents"
    if text.startswith("|"):
        return "table"
    if not _POINTER.sub("", text).strip(" |·-"):
        return "bare link"
    if _TAGS.fullmatch(text) or _ABOUT_ITSELF.fullmatch(text):
        return "note about the file"
    last = item.fact.lines[-1].strip()
    if item.fact.kind == "text" and len(item.fact.lines) > 1 and _UNDERLINE.match(last):
        return "underlined heading"
    if _LABEL.search(text):
        return "introduction"
    if codex and (_CODEX_SCOPE.match(text) or _is_evidence(item)):
        return "pointer into Codex memory"
    return ""


def _is_evidence(item: Item) -> bool:
    return any(heading.key in _CODEX_EVIDENCE for heading in item.fact.headings)


def _as_fact(item: Item, title: Heading | None, *, codex: bool) -> Fact:
    words = [text for text in item.above if _LABEL.search(text)]
    text = " ".join([*words, item.text])
    headings = [heading for heading in item.fact.headings if heading != title]
    if codex:
        text = _TASKS.sub("", text)
        headings = list(map(_without_group, item.fact.headings))
    line = as_fact(text)
    key = fact_key(Entry(item.line, item.own_end, line))
    return Fact(item.line, item.own_end, key, "bullet", (line,), tuple(headings))


def _without_group(heading: Heading) -> Heading:
    if not heading.key.startswith(_CODEX_GROUP):
        return heading
    line = re.sub(r"(?i)task group:\s*", "", heading.line, count=1)
    return as_heading(line) or heading
