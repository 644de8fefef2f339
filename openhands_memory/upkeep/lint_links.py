"""What points nowhere: links to files that are gone, names that nobody reads.

Pure rules of `lint`. What exists comes in as a set: nothing here looks at the disk.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from openhands_memory.layout import DAILY_LOG_PATTERN, INDEX_NAME, SANDBOX_INDEX_NAME
from openhands_memory.upkeep.document import Document
from openhands_memory.upkeep.findings import Finding, finding

__all__ = [
    "find_broken_links",
    "find_link_as_text",
    "find_misnamed",
    "link_as_text",
    "linked_names",
]

_LINK: Final = re.compile(
    r"(?<![\w./\\~-])(?:\./)?"
    r"(\d{4}-\d{2}-\d{2}\.md|(?:rollout_summaries|raw_memories|skills)/[\w./-]*?\w\.md)(?![\w/])"
)
_MARKDOWN_LINK: Final = re.compile(
    r"\]\((?:\./)?([\w][\w .-]*(?:/[\w .-]+)*\.md)(?:#[^)\s]*)?\)"
)


def linked_names(document: Document) -> set[str]:
    """Names of memory files that *document* points to, relative to its directory."""
    return {name for name, _, _ in _links(document)}


def find_broken_links(
    document: Document, *, path: str, present: Collection[str]
) -> Iterator[Finding]:
    """Links to files that are not *present*: names relative to the file's directory."""
    for name, line, column in _links(document):
        if name in present or ".." in name:
            continue
        if re.fullmatch(DAILY_LOG_PATTERN, name):
            code, message = "OM401", f"there is no daily log {name}"
        else:
            code, message = (
                "OM402",
                "the memory file that this points to does not exist",
            )
        yield finding(code, message, line=line, column=column)._replace(path=path)


def _links(document: Document) -> Iterator[tuple[str, int, int]]:
    if ".md" not in document.body:
        return
    for number, line in enumerate(document.lines, 1):
        if ".md" not in line or document.code[number - 1]:
            continue
        hits = [*_LINK.finditer(line), *_MARKDOWN_LINK.finditer(line)]
        # From the last: a name that stands in a link's text and target is one link.
        first = {
            hit[1]: hit.start(1) for hit in sorted(hits, key=lambda h: -h.start(1))
        }
        for name, at in sorted(first.items(), key=lambda item: item[1]):
            yield name, number, at + 1


def find_link_as_text(document: Document) -> Iterator[Finding]:
    """A link that git wrote as a file, where the system or core.symlinks allows none."""
    text = document.body.strip()
    if len(text) < 1024 and re.fullmatch(
        r"(?:\.{0,2}/|~/)?(?:[\w.@+-]+/)*[\w.-]+\.md", text
    ):
        yield link_as_text()


def link_as_text() -> Finding:
    """What is said of a file that should have been a link."""
    message = (
        "holds only a path: a link that git checked out as text; set core.symlinks, or "
        "copy the file"
    )
    return finding("OM403", message)


_ALMOST_LOG: Final = re.compile(
    r"(?i)\d{4}[-_.]?\d{1,2}[-_.]?\d{1,2}\.(?:md|markdown|mdown|txt)"
)


def find_misnamed(names: Iterable[str]) -> Iterator[tuple[str, Finding]]:
    """Files of a memory directory that nobody reads because of their names."""
    for name in sorted(names):
        wanted = ""
        for index in (INDEX_NAME, SANDBOX_INDEX_NAME):
            if name != index and name.casefold() == index.casefold():
                wanted = index
        if not wanted and _ALMOST_LOG.fullmatch(name):
            wanted = "" if re.fullmatch(DAILY_LOG_PATTERN, name) else "YYYY-MM-DD.md"
        if wanted:
            message = f"is not read: the name must be {wanted}, in this case and form"
            yield name, finding("OM404", message)
