"""Two models that say and do what a test wants, and secrets for them to tell."""

import json
import re
from collections.abc import Callable, Iterable, Sequence

from openhands_memory.generation.meter import Meter
from openhands_memory.generation.stage import Stage
from openhands_memory.layout import GENERATED_END, GENERATED_START
from openhands_memory.secrets import mask_secrets

INDEX = "MEMORY.md"
SANDBOX_INDEX = "memory_summary.md"

#: A token that no rule can miss, and a secret that only the registry can know.
TOKEN = f"ghp_{'A1b2' * 9}"
REGISTERED = "correct-horse-battery"


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


def generated(*lines: str, above: Sequence[str] = ()) -> str:
    """A file with *lines* in its generated part."""
    return "\n".join([*above, GENERATED_START, *lines, GENERATED_END, ""])
