"""What the tests of generation share: scripted models, and a workspace to generate in."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from openhands_memory.generation.meter import Meter
from openhands_memory.generation.models import Models
from openhands_memory.generation.report import Generation
from openhands_memory.generation.rollout import Segment, Terminal
from openhands_memory.generation.run import generate, record
from openhands_memory.generation.stage import Stage
from openhands_memory.generation.work import Work
from openhands_memory.layout import (
    GENERATED_END,
    GENERATED_START,
    GeneratedFiles,
    generated_files,
)
from openhands_memory.secrets import mask_secrets

#: A token that no rule can miss, and a secret that only the registry can know.
TOKEN = f"ghp_{'A1b2' * 9}"
REGISTERED = "correct-horse-battery"

#: What the prompt has room for, where a test does not say otherwise.
ROOM = 2900

INDEX = "MEMORY.md"
SANDBOX_INDEX = "memory_summary.md"


def mask(text: str) -> str:
    return mask_secrets(text, (REGISTERED,)).text


def answer(
    memory: str = "- The team uses uv, not pip.",
    *,
    slug: str = "use-uv",
    summary: str = "Asked for uv; done; success.",
) -> str:
    """A first model's answer."""
    return json.dumps(
        {"rollout_slug": slug, "rollout_summary": summary, "raw_memory": memory}
    )


NOTHING = answer("", slug="", summary="")

# --- Models -----------------------------------------------------------------------------

#: What a model says: a text, an error that it raises, or what is called for the text.
Answer = str | Exception | Callable[[], str]
#: What an agent does to the staged files; None for one that never finishes.
Edit = Callable[[Stage], None] | Exception | None


class Scripted:
    """Two models that say and do what a script says, in its order.

    A script that is too short fails the test; so does one that is too long, where `Desk`
    generates. After an edit whose result has problems, the next one is the repair.
    """

    def __init__(
        self, answers: Iterable[Answer] = (), edits: Iterable[Edit] = ()
    ) -> None:
        self.meter: Meter | None = None
        self.answers = list(answers)
        self.edits = list(edits)
        self.chars = 600_000
        self.used = {"tokens": 10, "cost": 0.001}
        self.asked: list[tuple[str, str]] = []
        self.tasks: list[tuple[str, str]] = []
        self.problems: list[str] = []

    def rollout_chars(self) -> int:
        return self.chars

    def complete(self, system: str, user: str) -> str:
        self._count()
        self.asked.append((system, user))
        assert self.answers, f"nobody scripted an answer to:\n{user}"
        said = self.answers.pop(0)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, str) else said()

    def edit(
        self, system: str, task: str, stage: Stage, check: Callable[[], str | None]
    ) -> str | None:
        self.tasks.append((system, task))
        if not self._edit(stage):
            return "it ended without finishing"
        if problems := check():
            self.problems.append(problems)
            if self.edits:
                self._edit(stage)
        return None

    def _edit(self, stage: Stage) -> bool:
        self._count()
        assert self.edits, f"nobody scripted an edit of {sorted(stage.files)}"
        edit = self.edits.pop(0)
        if isinstance(edit, Exception):
            raise edit
        if edit is not None:
            edit(stage)
        return edit is not None

    def _count(self) -> None:
        assert self.meter is not None
        self.meter.check()
        self.meter.add(calls=1, tokens=int(self.used["tokens"]), cost=self.used["cost"])


class Diligent:
    """Two models that keep each ``FACT`` of a rollout, and bring it into the index."""

    def __init__(self, meter: Meter | None = None, index: str = INDEX) -> None:
        self.meter = meter
        self.index = index
        self.also = ""

    def rollout_chars(self) -> int:
        return 600_000

    def complete(self, system: str, user: str) -> str:
        self._count()
        facts = dict.fromkeys(re.findall(r"FACT \w+", user))
        return answer("\n".join(f"- {fact}" for fact in facts))

    def edit(
        self, system: str, task: str, stage: Stage, check: Callable[[], str | None]
    ) -> str | None:
        self._count()
        raws = sorted(p for p in stage.files if p.startswith("raw_memories/"))
        there = stage.files[self.index]
        facts = [
            f"{line} [^{path.removeprefix('raw_memories/').removesuffix('.md')}]"
            for path in raws
            for line in stage.files[path].split("\n")
            if line.startswith("- FACT") and f"{line} " not in there
        ]
        put(stage, facts, self.index)
        if self.also:
            put(stage, facts, self.also)
        check()
        return None

    def _count(self) -> None:
        assert self.meter is not None
        self.meter.check()
        self.meter.add(calls=1, tokens=10, cost=0.001)


def put(stage: Stage, facts: Iterable[str], index: str = INDEX) -> None:
    """Put *facts* at the end of the generated part."""
    lines = stage.files[index].split("\n")
    at = lines.index(GENERATED_END) if GENERATED_END in lines else len(lines)
    stage.create(index, "\n".join([*lines[:at], *facts, *lines[at:]]))


def adding(*facts: str, index: str = INDEX) -> Callable[[Stage], None]:
    """An edit that puts *facts* at the end of the generated part."""
    return lambda stage: put(stage, facts, index)


def leaving(text: str, index: str = INDEX) -> Callable[[Stage], None]:
    """An edit that leaves nothing but *text*."""

    def edit(stage: Stage) -> None:
        stage.create(index, text)

    return edit


def keeping(stage: Stage) -> None:
    """An edit that changes nothing."""


def noting(stage: Stage) -> None:
    """An edit for those who do not look at the index."""
    put(stage, ["- One fact of all this."])


# --- A workspace ------------------------------------------------------------------------


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

    # --- What is on disk ------------------------------------------------------------------

    @property
    def raw_memories(self) -> list[str]:
        """Ids of the rollouts that have a raw memory."""
        return [n.removesuffix(".md") for n in _names(self.memory / "raw_memories")]

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


def generated(*lines: str, above: Sequence[str] = ()) -> str:
    """A file with *lines* in its generated part."""
    return "\n".join([*above, GENERATED_START, *lines, GENERATED_END, ""])
