"""What an agent has in its memory directories: known lines, and paths that lead there.

Touches disk, where the tiers are. Read within bounds, and only for a run that names it.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, cast

from openhands_memory import store
from openhands_memory.context.locate import locate_tiers
from openhands_memory.context.surroundings import surroundings_of
from openhands_memory.encoding import sniff
from openhands_memory.generation.known_memory import KnownMemory
from openhands_memory.layout import (
    DAILY_LOG_PATTERN,
    INDEX_NAME,
    RAW_MEMORIES,
    SANDBOX_INDEX_NAME,
    SUMMARIES,
    GeneratedFiles,
    TierPlace,
)
from openhands_memory.options import ReadOptions

__all__ = ["OwnMemory", "memory_tiers"]

#: Bytes of memory files that are read for one run, and names that are looked at.
_READ_BYTES, _READ_NAMES = 1024 * 1024, 4000
#: Arguments that name what a call is about, and a length that no path has.
_PATHS: Final = frozenset(
    ("path", "paths", "file", "file_path", "filepath", "filename", "dir_path")
) | {"directory", "dir", "absolute_path", "abs_path", "relative_path", "uri"}
_PATH_CHARS: Final = 4096
#: Arguments of calls that do more than view.
_WRITES: Final = frozenset(
    ("content", "contents", "file_text", "text", "new_str", "new_string", "newText")
) | {"old_str", "old_string", "oldText", "insert_line", "edits", "diff", "patch"}


class OwnMemory:
    """The lines of memory, and the directories of the tiers that they stand in."""

    def __init__(self, given: Iterable[str], tiers: Sequence[TierPlace]) -> None:
        self.known = KnownMemory(given)
        self._tiers = tiers
        self._directories = {place.directory for place in tiers}
        self._directories |= set(map(store.real_path, self._directories))
        names = {os.path.basename(place.directory) for place in tiers}
        names |= {INDEX_NAME, SANDBOX_INDEX_NAME, RAW_MEMORIES, SUMMARIES}
        pattern = "|".join((*map(re.escape, sorted(names)), DAILY_LOG_PATTERN))
        self._names = re.compile(pattern)

    def is_named_in(self, text: str) -> bool:
        return bool(self._tiers) and self._names.search(text) is not None

    def read(self) -> None:
        """Know the lines on disk too."""
        self.known.add(_lines_of(self._tiers))

    def is_viewed_by(self, arguments: str) -> bool:
        """Whether a call with these *arguments* only views what stands in memory."""
        if not self._tiers:
            return False
        try:
            given = cast("object", json.loads(arguments))
        except (ValueError, RecursionError):
            return False
        if not isinstance(given, dict):
            return False
        given = cast("dict[str, object]", given)
        if given.get("command", "view") != "view" or _WRITES & given.keys():
            return False
        paths: list[object] = []
        for value in (given[name] for name in _PATHS & given.keys() if given[name]):
            paths += cast("list[object]", value) if isinstance(value, list) else [value]
        return bool(paths) and all(map(self._is_inside, paths))

    def _is_inside(self, path: object) -> bool:
        if not isinstance(path, str) or len(path) > _PATH_CHARS:
            return False
        path = path.removeprefix("file://")
        for tier in self._tiers:
            shown = os.path.dirname(tier.shown_as)
            if shown.startswith("~") and path.startswith(shown):
                path = tier.directory + path[len(shown) :]
        path = os.path.join(self._tiers[0].base, path)
        return any(
            os.path.join(candidate, "").startswith(os.path.join(directory, ""))
            for candidate in (os.path.normpath(path), store.real_path(path))
            for directory in self._directories
        )


def memory_tiers(
    files: GeneratedFiles | None, indexes: Iterable[str]
) -> list[TierPlace]:
    """The tiers of *files*, the project's first, and others that *indexes* are of."""
    if files is None:
        return []
    places = [files.place(files.index_name)]
    if not files.handbook_name:
        around = surroundings_of(files.workspace)
        tiers = locate_tiers(around, ReadOptions())
        places += [place for place in tiers if place.name == "user"]
    known = {place.directory for place in places}
    for path in indexes:
        directory, name = os.path.split(path)
        if directory not in known:
            places.append(TierPlace("project", directory, (name,), path, confined=True))
    return places


def _lines_of(tiers: Iterable[TierPlace]) -> Iterator[str]:
    """The lines of the tiers' Markdown files, as many as are read for one run."""
    left = _READ_BYTES
    for place in (place for tier in tiers for place in _markdown_of(tier)):
        try:
            data = store.read_bytes(place, left)
        except (OSError, ValueError):  # absent, refused, or too large for what is left
            continue
        left -= len(data)
        mark, codec = sniff(data[:4])
        yield from data[len(mark) :].decode(codec, "replace").splitlines()


def _markdown_of(tier: TierPlace) -> Iterator[TierPlace]:
    """The index of *tier* and what stands beside and below it, the newest logs first."""
    yield tier
    if store.leads_out(tier):
        return
    found = store.files_below(tier.directory, skip=frozenset(), limit=_READ_NAMES)
    # What a person trusts as given is where a link below it may not lead out of.
    base, above = tier.directory, ()
    if tier.confined:
        base, above = tier.base, tier.below[:-1]
    for path in sorted(found, reverse=True):
        if path.endswith(".md") and path != tier.path:
            below = os.path.relpath(path, tier.directory).split(os.sep)
            yield TierPlace(tier.name, base, (*above, *below), "", confined=True)
