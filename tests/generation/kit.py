"""A workspace to generate in, with real files, a clock that is set, and any models."""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from generation.scripted import (
    Answer,
    Diligent,
    Edit,
    Scripted,
    adding,
    answer,
    mask,
)

from openhands_memory.generation.meter import Meter
from openhands_memory.generation.models import Models
from openhands_memory.generation.raw_memory import (
    Header,
    Kept,
    parse_memory,
    render_memory,
)
from openhands_memory.generation.report import Generation
from openhands_memory.generation.rollout import Segment, Terminal
from openhands_memory.generation.run import generate, record
from openhands_memory.generation.work import Work
from openhands_memory.layout import (
    GENERATED_END,
    GENERATED_START,
    GeneratedFiles,
    generated_files,
)

#: What the prompt has room for, where a test does not say otherwise.
ROOM = 2900

#: What a person has in the index.
PERSONS = "# Ours\n\n- written by hand\n- and this\n"


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.start = datetime(2026, 11, 30, 12, tzinfo=UTC)

    def __call__(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.seconds)


class Caps(NamedTuple):
    max_seconds: float = 60.0
    max_tokens: int = 1_000_000
    max_cost: float = 100.0


class Desk:
    """A workspace, what is recorded in it, and what is generated from that."""

    def __init__(self, workspace: Path, *, sandbox: bool = False) -> None:
        below = {"memories_dir": "memories", "sessions_dir": "sessions"}
        self.workspace = workspace
        self.files: GeneratedFiles = generated_files(
            str(workspace), **(below if sandbox else {})
        )
        self.memory = Path(self.files.directory)
        self.sessions = workspace.joinpath(*self.files.sessions_dir.split("/"))
        self.index = self.memory / self.files.index_name
        self.selection = self.memory / "phase_two_selection.json"
        self.clock = Clock()

    def record(
        self, rollout_id: str, *texts: str, state: str = "completed", **said: Any
    ) -> None:
        """Append a run in which *texts* were said, a second after the last one."""
        self.clock.seconds += 1
        items = [{"role": "user", "content": text} for text in texts]
        segment = Segment(
            updated_at=said.get("updated_at", self.clock.now().isoformat()),
            rollout_id=rollout_id,
            input=tuple(items),
            generated_items=tuple(said.get("items", ())),
            interruptions=(),
            terminal=Terminal(state),
        )
        record(self.files, segment)

    def meter(self, caps: Caps | None = None) -> Meter:
        return Meter(**(caps or Caps())._asdict(), clock=self.clock)

    def work(self, models: Models, meter: Meter, **settings: Any) -> Work:
        """What is worked with; *settings* stand in place of the usual ones."""
        usual: dict[str, Any] = {"mask": mask, "room": ROOM, "most": 256}
        return Work(
            files=self.files,
            models=models,
            meter=meter,
            now=self.clock.now,
            **{**usual, **settings},
        )

    def run(
        self,
        models: "Scripted | Diligent",
        *,
        caps: Caps | None = None,
        retry: bool = False,
        **settings: Any,
    ) -> Generation:
        """Generate with *models*, whose script must be used up by that."""
        models.meter = self.meter(caps)
        report = generate(self.work(models, models.meter, **settings), retry=retry)
        if isinstance(models, Scripted):
            assert not models.answers, "there were fewer questions than answers"
            assert not models.edits, "there were fewer edits than scripted"
        return report

    def generate(
        self,
        answers: Iterable[Answer] = (),
        edits: Iterable[Edit] = (),
        **settings: Any,
    ) -> Generation:
        """Generate with models that follow this script."""
        return self.run(Scripted(answers, edits), **settings)

    def remember(self, rollout_id: str, *facts: str) -> Generation:
        """Take *facts* into the index, as those of one conversation."""
        self.record(rollout_id, *facts)
        bullets = [f"- {fact}" for fact in facts]
        refs = f"[^{rollout_id}]"
        report = self.generate(
            [answer("\n".join(bullets))], [adding(*(f"{b} {refs}" for b in bullets))]
        )
        assert report.consolidated == "accepted", report
        return report

    def put_raw(self, rollout_id: str, hour: int, body: str) -> None:
        """A raw memory and its summary, as an earlier extraction left them."""
        header = Header(
            rollout_id,
            f"2026-11-29T{hour:02}:00:00+00:00",
            f"{self.files.sessions_dir}/{rollout_id}.jsonl",
            f"rollout_summaries/{rollout_id}_work.md",
            "completed",
        )
        names = (
            f"raw_memories/{rollout_id}.md",
            f"rollout_summaries/{rollout_id}_work.md",
        )
        for path in (self.memory / name for name in names):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(render_memory(header, body))

    # --- What is on disk ------------------------------------------------------------------

    @property
    def raw_memories(self) -> list[str]:
        """Ids of the rollouts that have a raw memory."""
        return [n.removesuffix(".md") for n in _names(self.memory / "raw_memories")]

    def raw(self, rollout_id: str) -> Kept:
        """The raw memory of one rollout."""
        path = self.memory / "raw_memories" / f"{rollout_id}.md"
        kept = parse_memory(path.read_text(encoding="utf-8"))
        assert kept, path
        return kept

    @property
    def summaries(self) -> list[str]:
        return _names(self.memory / "rollout_summaries")

    @property
    def facts(self) -> list[str]:
        """The facts of the index's generated part, without their refs."""
        lines = self.index.read_text(encoding="utf-8").split("\n")
        inside = lines[lines.index(GENERATED_START) + 1 : lines.index(GENERATED_END)]
        bullets = (line for line in inside if line.startswith("- "))
        return [re.sub(r"( \[\^[^]]+\])+$", "", line)[2:] for line in bullets]

    @property
    def selected(self) -> list[str]:
        """Ids of the rollouts of the last consolidation, newest first."""
        record = json.loads(self.selection.read_text(encoding="utf-8"))
        return [entry["rollout_id"] for entry in record["selected"]]


def _names(directory: Path) -> list[str]:
    return sorted(p.name for p in directory.iterdir()) if directory.is_dir() else []


def contents(*roots: Path) -> dict[str, bytes]:
    """All files below *roots*, by their paths; links and the like are not followed."""
    return {
        str(path): path.read_bytes()
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
