"""The files of generation on disk, read and written one by one.

Flow: asks `store` and `writing`. What cannot be read is an error, never nothing: a raw
memory that is overlooked would count as removed.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Final, NamedTuple

from openhands_memory import store, writing
from openhands_memory.errors import FileRefusedError, MemoryFileError
from openhands_memory.generation.ledger import Ledger
from openhands_memory.generation.raw_memory import (
    Header,
    Kept,
    parse_memory,
    render_memory,
)
from openhands_memory.generation.rollout import is_safe_id
from openhands_memory.generation.selection import (
    Consolidated,
    parse_consolidated,
    render_consolidated,
)
from openhands_memory.generation.state import load_ledger
from openhands_memory.layout import (
    RAW_MEMORIES,
    SELECTION_NAME,
    SKILLS,
    SUMMARIES,
    GeneratedFiles,
    TierPlace,
)

__all__ = [
    "Rollout",
    "current_ledger",
    "damaged_raw_memories",
    "digest",
    "drop_earlier",
    "find_ids",
    "find_rollouts",
    "keep_extracted",
    "load_consolidated",
    "load_edited",
    "load_raw_memories",
    "load_skills",
    "load_summaries",
    "note_absent",
    "read_or_none",
    "read_raw_memories",
    "replace_text",
    "summaries_of",
]

#: Bytes of the largest index or skill that is read, of the largest raw memory, and of
#: the largest rollout summary: some times what extraction leaves.
_SIZE_LIMIT: Final = 4 * 1024 * 1024
_RAW_LIMIT: Final = 128 * 1024
_SUMMARY_LIMIT: Final = 256 * 1024


class Rollout(NamedTuple):
    """A rollout on disk: its id, where it stands, its *size* in bytes, its age."""

    rollout_id: str
    place: TierPlace
    size: int
    modified_ns: int


def find_rollouts(files: GeneratedFiles) -> list[Rollout]:
    """All rollouts, those first that were last written to longest ago.

    Raises:
        MemoryFileError: Their directory could not be listed.
    """
    found: list[Rollout] = []
    for name in _names(files.rollout("x"), ".jsonl"):
        rollout_id = name.removesuffix(".jsonl")
        place = files.rollout(rollout_id)
        try:
            stat = store.stat_file(place)
        except (FileNotFoundError, FileRefusedError):
            continue
        except OSError:  # told by who extracts it, at the cost of this one only
            found.append(Rollout(rollout_id, place, 0, 0))
            continue
        found.append(Rollout(rollout_id, place, stat.size, stat.modified_ns))
    return sorted(found, key=lambda r: (r.modified_ns, r.rollout_id))


def find_ids(files: GeneratedFiles) -> set[str]:
    """Ids of all that a rollout, or a raw memory, is called by; nothing is opened.

    Raises:
        MemoryFileError: A directory could not be listed.
    """
    rollouts = _names(files.rollout("x"), ".jsonl")
    raws = _names(files.place(RAW_MEMORIES, "x"), ".md")
    ids = {name.removesuffix(".jsonl") for name in rollouts}
    return ids | {name.removesuffix(".md") for name in raws}


def load_raw_memories(files: GeneratedFiles) -> Mapping[str, Kept]:
    """The raw memories by the id of their rollout, which name and header agree on.

    Raises:
        MemoryFileError: Their directory could not be listed.
    """
    return read_raw_memories(files)[0]


def damaged_raw_memories(files: GeneratedFiles) -> frozenset[str]:
    """Ids of rollouts whose raw memory is there, and cannot be read as one.

    Raises:
        MemoryFileError: As `load_raw_memories` does.
    """
    return read_raw_memories(files)[1]


def read_raw_memories(
    files: GeneratedFiles,
) -> tuple[Mapping[str, Kept], frozenset[str]]:
    """The raw memories by the id of their rollout, and the ids of damaged ones.

    Raises:
        MemoryFileError: Their directory could not be listed.
    """
    found = dict(_raw_memories(files))
    kept = {i: one for i, one in found.items() if one}
    return kept, frozenset(found.keys() - kept.keys())


def _raw_memories(files: GeneratedFiles) -> Iterator[tuple[str, Kept | None]]:
    for name in _names(files.place(RAW_MEMORIES, "x"), ".md"):
        rollout_id = name.removesuffix(".md")
        try:
            data = read_or_none(files.place(RAW_MEMORIES, name), limit=_RAW_LIMIT)
        except MemoryFileError:  # one that nobody can read stops only itself
            data = None
        kept = parse_memory((data or b"").decode("utf-8", "replace"))
        is_one = kept is not None and kept.header.rollout_id == rollout_id
        yield rollout_id, kept if is_one else None


def load_summaries(
    files: GeneratedFiles, names: Collection[str] | None = None
) -> Mapping[str, str]:
    """The texts of the rollout summaries by their names; those that can be read.

    Of all, or of those with *names*.
    """
    texts: dict[str, str] = {}
    for name in _names(files.place(SUMMARIES, "x"), ".md"):
        if names is not None and name not in names:
            continue
        try:
            data = read_or_none(files.place(SUMMARIES, name), limit=_SUMMARY_LIMIT)
        except MemoryFileError:
            continue
        if data is not None:
            texts[name] = data.decode("utf-8", "replace")
    return texts


def load_skills(files: GeneratedFiles) -> Mapping[str, bytes | None]:
    """The Markdown files of skills, by their paths below the memory directory.

    Raises:
        MemoryFileError: One could not be read.
    """
    found: dict[str, bytes | None] = {}
    for skill in _names(files.place(SKILLS, "x"), ""):
        if os.path.isdir(files.place(SKILLS, skill).path):
            for name in _names(files.place(SKILLS, skill, "x"), ".md"):
                place = files.place(SKILLS, skill, name)
                found[f"{SKILLS}/{skill}/{name}"] = read_or_none(place)
    return found


def load_edited(files: GeneratedFiles) -> dict[str, bytes | None]:
    """The files that consolidation edits, by their paths: the indexes, and skills.

    Raises:
        MemoryFileError: One could not be read.
    """
    indexes = {name: read_or_none(files.place(name)) for name in files.written}
    return {**indexes, **load_skills(files)}


def current_ledger(files: GeneratedFiles) -> Ledger:
    """The ledger, in which rollouts with a damaged raw memory are pending again.

    Raises:
        MemoryFileError: Raw memories could not be read.
    """
    return load_ledger(files.directory).reopened(damaged_raw_memories(files))


def load_consolidated(files: GeneratedFiles) -> Consolidated:
    """The last consolidation that succeeded; an empty one if that cannot be read."""
    try:
        data = read_or_none(files.place(SELECTION_NAME))
    except MemoryFileError:
        data = None
    return parse_consolidated((data or b"").decode("utf-8", "replace"))


def note_absent(selection: TierPlace, name: str, *, now: datetime) -> None:
    """Note in the *selection* that a person does not want the index *name*.

    Raises:
        MemoryFileError: That could not be written.
    """

    def noted(found: bytes | None) -> bytes:
        last = parse_consolidated((found or b"").decode("utf-8", "replace"))
        absent = tuple(sorted({*last.absent, name}))
        return render_consolidated(last._replace(absent=absent), now=now).encode()

    writing.change_file(selection, noted)


def keep_extracted(
    files: GeneratedFiles,
    header: Header,
    *,
    raw_memory: str,
    summary: str | None,
    earlier: Header | None = None,
) -> None:
    """Write a rollout's two files in place of its *earlier* ones.

    The raw memory comes after its *summary*, where there is a new one: whoever dies
    before leaves a rollout that is extracted again.

    Raises:
        MemoryFileError: One could not be written.
    """
    name = header.rollout_summary_file.rpartition("/")[2]
    if summary is not None:
        replace_text(files.place(SUMMARIES, name), render_memory(header, summary))
    raw = files.place(RAW_MEMORIES, f"{header.rollout_id}.md")
    replace_text(raw, render_memory(header, raw_memory))
    drop_earlier(files, header)
    # Others than we wrote may have another header; the raw memory named it.
    folder, _, name = (earlier or header).rollout_summary_file.partition("/")
    is_ours = folder == SUMMARIES and name.startswith(f"{header.rollout_id}_")
    is_new = (
        earlier is None or earlier.rollout_summary_file != header.rollout_summary_file
    )
    if earlier and is_ours and is_new and "/" not in name:
        writing.remove_file(files.place(SUMMARIES, name))


def drop_earlier(files: GeneratedFiles, header: Header) -> None:
    """Remove the summaries of a rollout that its raw memory's *header* does not name.

    Raises:
        MemoryFileError: One could not be removed.
    """
    for name in list(summaries_of(files, header.rollout_id)):
        if f"{SUMMARIES}/{name}" != header.rollout_summary_file:
            writing.remove_file(files.place(SUMMARIES, name))


def summaries_of(files: GeneratedFiles, rollout_id: str) -> Iterator[str]:
    """Names of the summaries of one rollout, as their headers say."""
    for name in _names(files.place(SUMMARIES, "x"), ".md"):
        if name.startswith(f"{rollout_id}_"):
            data = read_or_none(files.place(SUMMARIES, name))
            kept = parse_memory((data or b"").decode("utf-8", "replace"))
            if kept and kept.header.rollout_id == rollout_id:
                yield name


def read_or_none(place: TierPlace, *, limit: int = _SIZE_LIMIT) -> bytes | None:
    """The file's bytes, *limit* at most; None if there is none.

    Raises:
        MemoryFileError: There is something that cannot, or must not, be read.
    """
    try:
        return store.read_bytes(place, limit)
    except FileNotFoundError:
        return None
    except MemoryFileError:
        raise
    except OSError as error:
        problem = f"could not be read: {(error.strerror or str(error)).lower()}"
        raise MemoryFileError(place.path, problem) from error


def digest(kept: Kept) -> str:
    """What changes when a raw memory says something else."""
    return sha256(kept.body.encode("utf-8", "replace")).hexdigest()


def replace_text(place: TierPlace, text: str) -> None:
    """Replace the file at *place*, which nobody edits by hand.

    Raises:
        MemoryFileError: It could not be written; the old one is as it was.
    """
    data = text.encode("utf-8", "replace")
    writing.change_file(place, lambda _: data)


def _names(inside: TierPlace, ending: str) -> list[str]:
    """Names with *ending* beside *inside*, without those that no rollout has."""
    try:
        names = store.list_names(inside)
    except FileNotFoundError:
        return []
    except MemoryFileError:
        raise
    except OSError as error:
        problem = f"could not be listed: {(error.strerror or str(error)).lower()}"
        raise MemoryFileError(os.path.dirname(inside.path), problem) from error
    stems = (n.removesuffix(ending) for n in names if n.endswith(ending))
    return sorted(f"{stem}{ending}" for stem in stems if is_safe_id(stem))
