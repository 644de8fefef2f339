"""Which raw memories enter a consolidation, and how they differ from the last ones.

Pure. Time is compared as instants; a raw memory whose time nobody knows is the oldest.
``phase_two_selection.json`` is written and parsed here, and is missing, not wrong, when it
cannot be read.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast

from openhands_memory.generation.raw_memory import Header, Kept, render_memory
from openhands_memory.generation.rollout import is_safe_id
from openhands_memory.options import MOST_RAW_MEMORIES

__all__ = [
    "NOTHING_CONSOLIDATED",
    "Consolidated",
    "Selected",
    "Selection",
    "parse_consolidated",
    "render_consolidated",
    "render_merged",
    "select",
]

_VERSION: Final = 1
#: A ref is as short as git's short names, and longer only where two would be alike.
_REF_CHARS: Final = 8
#: Ids up to here are their own refs.
_WHOLE_CHARS: Final = 16
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


class Selected(NamedTuple):
    """A raw memory that was selected.

    Attributes: *ref* is the short name by which facts refer to its rollout; *digest* is
    the SHA-256 of the raw memory's body.
    """

    header: Header
    ref: str
    digest: str

    @property
    def rollout_id(self) -> str:
        return self.header.rollout_id


class Consolidated(NamedTuple):
    """The last consolidation that succeeded.

    Attributes: *written* are digests of the lines of the generated parts as they were
    left (None if unknown); *unwanted* are digests of facts that a person removed from
    them; *skills* are the names of skills that consolidation wrote; *absent* are indexes
    that a person did not want to have: that they are missing is no loss; *most* is how
    many raw memories were considered.
    """

    selected: tuple[Selected, ...] = ()
    written: frozenset[str] | None = None
    unwanted: frozenset[str] = frozenset()
    skills: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    most: int | None = None


NOTHING_CONSOLIDATED: Final = Consolidated()


class Selection(NamedTuple):
    """What is selected, *added*, *changed* and *retained*, and what was *removed*.

    Each newest first.
    """

    selected: tuple[Selected, ...] = ()
    added: tuple[Selected, ...] = ()
    changed: tuple[Selected, ...] = ()
    retained: tuple[Selected, ...] = ()
    removed: tuple[Selected, ...] = ()

    @property
    def told(self) -> list[str]:
        """How many differ, as a person is told it; what does not is left out."""
        parts = {
            "added": self.added,
            "changed": self.changed,
            "removed": self.removed,
        }
        return [f"{len(part)} {name}" for name, part in parts.items() if part]

    @property
    def differs(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def select(
    found: Mapping[str, Header],
    digests: Mapping[str, str],
    *,
    cap: int,
    last: Consolidated,
) -> Selection:
    """The newest *cap* of the raw memories *found*, compared with the *last* ones.

    Both mappings are by rollout id. Ids order what has the same time.
    """
    newest = sorted(found.values(), key=_age, reverse=True)[:cap]
    before = {selected.rollout_id: selected for selected in last.selected}
    refs = _refs([h.rollout_id for h in newest], before)
    selected = tuple(
        Selected(h, refs[h.rollout_id], digests[h.rollout_id]) for h in newest
    )
    now = {s.rollout_id for s in selected}
    known = [s for s in selected if s.rollout_id in before]
    return Selection(
        selected=selected,
        added=tuple(s for s in selected if s.rollout_id not in before),
        changed=tuple(s for s in known if _changed(before[s.rollout_id], s)),
        retained=tuple(s for s in known if not _changed(before[s.rollout_id], s)),
        removed=tuple(s for s in last.selected if s.rollout_id not in now),
    )


def _age(header: Header) -> tuple[datetime, str]:
    return _instant(header.updated_at), header.rollout_id


def _instant(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return _LONG_AGO


def _changed(before: Selected, now: Selected) -> bool:
    if before.digest and now.digest:
        return before.digest != now.digest
    return _instant(before.header.updated_at) != _instant(now.header.updated_at)


def _refs(ids: Sequence[str], before: Mapping[str, Selected]) -> dict[str, str]:
    """A short name for each of *ids*: the one that it had, else one that none has.

    It is not how another's id begins, if that can be: who reads it looks for the file.
    """
    refs = {i: before[i].ref for i in ids if i in before}
    taken = {s.ref for s in before.values()}
    everybody = {*ids, *before}
    for rollout_id in ids:
        if rollout_id not in refs:
            others = taken | (everybody - {rollout_id})
            refs[rollout_id] = _ref(rollout_id, taken, others)
            taken.add(refs[rollout_id])
    return refs


def _ref(rollout_id: str, taken: Collection[str], others: Collection[str]) -> str:
    first = _REF_CHARS if len(rollout_id) > _WHOLE_CHARS else len(rollout_id)
    for size in range(first, len(rollout_id) + 1):
        ref = rollout_id[:size]
        if not any(other.startswith(ref) for other in others):
            return ref
    if rollout_id not in taken:
        return rollout_id
    return f"{rollout_id[:_REF_CHARS]}-{sha256(rollout_id.encode()).hexdigest()[:8]}"


def render_merged(kept: Iterable[Kept]) -> str:
    """``raw_memories.md``: the raw memories one after the other, as they are selected."""
    return "\n".join(render_memory(k.header, k.body) for k in kept)


# --- phase_two_selection.json -----------------------------------------------------------


def render_consolidated(last: Consolidated, *, now: datetime) -> str:
    """The JSON text of *last*; *now* is when it succeeded."""
    record = {
        "version": _VERSION,
        "updated_at": now.astimezone(UTC).isoformat(),
        "selected": [
            {**s.header._asdict(), "ref": s.ref, "digest": s.digest}
            for s in last.selected
        ],
        "written": None if last.written is None else sorted(last.written),
        "unwanted": sorted(last.unwanted),
        "skills": sorted(last.skills),
        "absent": sorted(last.absent),
        "most": last.most,
    }
    return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def parse_consolidated(text: str) -> Consolidated:
    """What `render_consolidated` wrote; what cannot be read of it counts as not there."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return NOTHING_CONSOLIDATED
    if not isinstance(record, dict):
        return NOTHING_CONSOLIDATED
    record = cast("dict[str, Any]", record)
    entries = record.get("selected")
    if not isinstance(entries, list):
        return NOTHING_CONSOLIDATED
    selected = (_parse_selected(e) for e in cast("list[Any]", entries))
    written = record.get("written")
    return Consolidated(
        selected=tuple({s.ref: s for s in selected if s}.values()),
        written=frozenset(_texts(written)) if isinstance(written, list) else None,
        unwanted=frozenset(_texts(record.get("unwanted"))),
        skills=tuple(_texts(record.get("skills"))),
        absent=tuple(_texts(record.get("absent"))),
        most=_number(record.get("most")),
    )


def _parse_selected(entry: Any) -> Selected | None:
    if not isinstance(entry, dict):
        return None
    entry = cast("dict[str, Any]", entry)
    values = {name: str(entry.get(name) or "") for name in Header._fields}
    header = Header(**values)
    if not (is_safe_id(header.rollout_id) and header.rollout_summary_file):
        return None
    ref = str(entry.get("ref") or header.rollout_id)
    if not is_safe_id(ref) or ref[:_REF_CHARS] != header.rollout_id[:_REF_CHARS]:
        return None
    return Selected(header, ref, str(entry.get("digest") or ""))


def _number(value: Any) -> int | None:
    is_one = isinstance(value, int) and not isinstance(value, bool)
    return value if is_one and 0 < value <= MOST_RAW_MEMORIES else None


def _texts(value: Any) -> list[str]:
    values = cast("list[Any]", value) if isinstance(value, list) else []
    return [v for v in values if isinstance(v, str)]
