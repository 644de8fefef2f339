"""Files of skills: which they are, what is wrong with one, which rollouts it came from.

Pure. Deliberately not done: a skill is text; nothing here, or anywhere, runs one.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from openhands_memory.generation.parts import (
    parse_part,
    render_part,
    take_out,
    without_empty,
)
from openhands_memory.generation.support import Refs, refs_of, with_refs
from openhands_memory.layout import SKILLS
from openhands_memory.sanitize import show_line
from openhands_memory.upkeep.document import parse_document

__all__ = [
    "is_skill",
    "skill_name",
    "skill_problem",
    "sources_of",
    "with_sources",
    "without_removed",
]

_CHARS: Final = 32 * 1024
_PATH: Final = re.compile(rf"{SKILLS}/([a-z0-9-]{{1,64}})/[A-Za-z0-9_-]{{1,64}}\.md")
#: Devices of Windows, whose names no directory can have.
_DEVICE: Final = re.compile(r"con|prn|aux|nul|com\d|lpt\d")


def is_skill(path: str) -> bool:
    """Whether *path* is one that a file of a skill may have."""
    return skill_name(path) is not None


def skill_name(path: str) -> str | None:
    """The name of the skill that the file at *path* belongs to."""
    found = _PATH.fullmatch(path)
    return found[1] if found and not _DEVICE.fullmatch(found[1]) else None


def skill_problem(path: str, files: Mapping[str, str]) -> str | None:
    """Why the file at *path*, one of *files*, cannot be one of a skill."""
    name, text = skill_name(path), files.get(path, "")
    if name is None:
        return (
            f"{show_line(path)[:100]} is no file of a skill; that is "
            f"{SKILLS}/<name>/SKILL.md, and <name> is of a-z, 0-9 and -."
        )
    if not text.strip():
        return f"{path} is empty."
    if len(text) > _CHARS:
        return f"{path} has {len(text):,} characters; {_CHARS:,} are the most."
    if not files.get(f"{SKILLS}/{name}/SKILL.md", "").strip():
        return f"{path} stands beside no SKILL.md."
    return None


def with_sources(text: str, refs: Iterable[str]) -> str:
    """*text* with a last line of *refs*, unless it has refs of its own."""
    text = text.rstrip()
    line = with_refs("From", refs)
    if any(map(refs_of, text.split("\n"))) or line == "From":
        return f"{text}\n"
    return f"{text}\n\n{line}\n"


def sources_of(data: bytes) -> tuple[str, ...]:
    """The refs at the ends of a file's lines."""
    lines = data.decode("utf-8", "replace").splitlines()
    return tuple(dict.fromkeys(ref for line in lines for ref in refs_of(line)))


def without_removed(data: bytes, refs: Refs) -> bytes | None:
    """A skill's file without what only removed rollouts support; None if that is all.

    What others support too loses the refs of those that were removed.
    """
    sources = sources_of(data)
    left = refs.without_removed(sources)
    if left == sources:
        return data
    if not left:
        return None
    document = parse_document(data.decode("utf-8", "surrogateescape"))
    root = parse_part(document, source="before")
    bare = [p.heading for p in root.all_parts() if p.heading and not p.items]
    stays = {item: refs.without_removed(item.refs) for item in root if item.refs}
    take_out(root, frozenset(item for item, kept in stays.items() if not kept))
    for item, kept in stays.items():
        if kept and kept != item.refs:
            item.set_refs(kept)
    without_empty(root, may_go=(item for item in root if item not in bare))
    text = "".join(line + end for line, end in render_part(root, "\n"))
    return text.encode("utf-8", "surrogateescape")
