"""What the tests of generation share: models with three parts to play, what is on disk."""

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any, Final, Literal, cast

from adapters.sdk_kit import call, context, say
from openhands import sdk
from openhands.sdk.llm import LLMResponse, Message
from openhands.sdk.testing import TestLLM
from pydantic import PrivateAttr

import openhands_memory
from openhands_memory import MemoryConfig, MemoryGenerateConfig, MemoryLayoutConfig
from openhands_memory.generation.consolidation import consolidation_system
from openhands_memory.generation.extraction import extraction_system
from openhands_memory.layout import generated_files

MEMORY: Final = ".openhands/memory"
SANDBOX: Final = MemoryLayoutConfig()

#: What a call is counted as, in tokens and US dollars.
TOKENS: Final = 110
COST: Final = 0.01

Part = Literal["chat", "extraction", "consolidation"]
Answer = Callable[[Sequence[Message]], Message]
Reply = Message | BaseException | Answer
#: Replies in their order, or what replies whatever comes.
Script = Iterable[Reply] | Answer

_PROMPTS: Final[dict[Part, str]] = {
    "extraction": extraction_system(None).partition(".")[0],
    "consolidation": consolidation_system(None, generated_files("")).partition(".")[0],
}


# --- Models -----------------------------------------------------------------------------


class ScriptedLLM(TestLLM):
    """Plays the agent and both models of generation, each from a script of its own.

    A script that has run out raises. What each part was sent is kept, as JSON text.
    """

    _scripts: dict[Part, deque[Reply]] = PrivateAttr(
        default_factory=dict[Part, deque[Reply]]
    )
    _always: dict[Part, Answer] = PrivateAttr(default_factory=dict[Part, Answer])
    _sent: dict[Part, list[str]] = PrivateAttr(default_factory=dict[Part, list[str]])
    _asked: dict[Part, list[sdk.LLM]] = PrivateAttr(
        default_factory=dict[Part, list[sdk.LLM]]
    )
    _ids: Any = PrivateAttr(default_factory=count)

    def asked_as(self, part: Part) -> list[sdk.LLM]:
        """The copies of this that were asked, one for each time."""
        return self._asked.setdefault(part, [])

    def sent(self, part: Part) -> list[str]:
        return self._sent.setdefault(part, [])

    def play(self, part: Part, script: Script) -> None:
        if callable(script):
            self._always[part] = script
        else:
            self._scripts[part] = deque(script)

    def completion(
        self, messages: list[Message], *args: Any, **kwargs: Any
    ) -> LLMResponse:
        part = _part_of(messages)
        self.asked_as(part).append(self)
        self.sent(part).append("\n".join(m.model_dump_json() for m in messages))
        script = self._scripts.get(part)
        reply = script.popleft() if script else self._always.get(part)
        if reply is None:
            raise AssertionError(f"nothing is scripted for {part} any more")
        if callable(reply):
            reply = reply(messages)
        if isinstance(reply, BaseException):
            raise reply
        self.metrics.add_cost(COST)
        self.metrics.add_token_usage(
            prompt_tokens=TOKENS - 10,
            completion_tokens=10,
            cache_read_tokens=0,
            cache_write_tokens=0,
            context_window=0,
            response_id="scripted",
        )
        reply = self._with_own_ids(reply)
        return cast("Any", TestLLM.from_messages([reply])).completion(messages)

    def _with_own_ids(self, reply: Message) -> Message:
        calls = [
            called.model_copy(update={"id": f"{called.id}_{next(self._ids)}"})
            for called in reply.tool_calls or ()
        ]
        return reply.model_copy(update={"tool_calls": calls or None})


def _part_of(messages: Sequence[Message]) -> Part:
    system = "".join(m.model_dump_json() for m in messages if m.role == "system")
    for part, beginning in _PROMPTS.items():
        if beginning in system:
            return part
    return "chat"


def learns(*facts: str, slug: str = "what-was-said", summary: str = "Said.") -> Message:
    """An answer of the first phase."""
    memory = "\n".join(f"- {fact}" for fact in facts)
    answer = {"rollout_slug": slug, "rollout_summary": summary, "raw_memory": memory}
    return say(json.dumps(answer))


NOTHING: Final = say('{"rollout_slug": "", "rollout_summary": "", "raw_memory": ""}')


def edits(command: str, path: str = "MEMORY.md", **arguments: Any) -> Message:
    """A turn of the second phase."""
    return call("file_editor", command=command, path=path, **arguments)


def adds(*facts: str, path: str = "MEMORY.md") -> Message:
    lines = "\n".join(f"- {fact}" for fact in facts)
    return edits("insert", path, insert_line=0, new_str=lines)


FINISH: Final = call("finish", message="done")


def listener(messages: Sequence[Message]) -> Message:
    """Learns whatever the user asked to remember, as in ``remember: x is y.``."""
    facts = re.findall(r"remember: ([^.\"\\]+)", _text(messages[-1:]))
    return learns(*dict.fromkeys(facts)) if facts else NOTHING


def keeper(messages: Sequence[Message]) -> Message:
    """Puts each raw memory that is new into the files, and finishes."""
    if messages[-1].role == "tool":
        return FINISH
    task = _text([m for m in messages if m.role == "user"][:1])
    facts = re.findall(r"(?m)^- (.+)$", task.partition("<UNTRUSTED_CONTENT>")[2])
    paths = ["MEMORY.md", *re.findall(r"memory_summary\.md", task)[:1]]
    calls = [adds(*facts, path=path).tool_calls or [] for path in paths]
    return Message(role="assistant", content=[], tool_calls=list(chain(*calls)))


def _text(messages: Iterable[Message]) -> str:
    parts = (part for message in messages for part in message.content)
    return "\n".join(cast("Any", part).text for part in parts)


def plays(
    chat: Script = lambda _: say(),
    *,
    extraction: Script = listener,
    consolidation: Script = keeper,
    **fields: Any,
) -> ScriptedLLM:
    """A model with these scripts; by itself it learns what it is told to remember."""
    fields = {"model": "scripted", "usage_id": "agent", **fields}
    llm = ScriptedLLM(**fields)
    llm.play("chat", chat)
    llm.play("extraction", extraction)
    llm.play("consolidation", consolidation)
    return llm


# --- Conversations ----------------------------------------------------------------------


def generates(
    layout: MemoryLayoutConfig | None = None, *, reads: bool = True, **settings: Any
) -> MemoryConfig:
    generate = MemoryGenerateConfig(**settings)
    if reads:
        return MemoryConfig(layout=layout, generate=generate)
    return MemoryConfig(layout=layout, read=None, generate=generate)


def open_with(
    llm: sdk.LLM,
    workspace: Path,
    memory: MemoryConfig | None = None,
    *,
    tools: Sequence[str] = (),
    fields: dict[str, Any] | None = None,
    **given: Any,
) -> openhands_memory.LocalConversation:
    """A conversation of an agent with *llm*; *fields* are those of its context."""
    agent = sdk.Agent(
        llm=llm,
        tools=[sdk.Tool(name=name) for name in tools],
        agent_context=context(memory=memory or generates(), **(fields or {})),
    )
    given = {"visualizer": None, **given}
    return openhands_memory.Conversation(agent=agent, workspace=workspace, **given)


def tell(conversation: sdk.LocalConversation, text: str = "hello") -> None:
    conversation.send_message(text)
    conversation.run()


def talk(
    llm: sdk.LLM,
    workspace: Path,
    text: str = "hello",
    memory: MemoryConfig | None = None,
    **given: Any,
) -> openhands_memory.LocalConversation:
    """A whole conversation of one message, closed."""
    with open_with(llm, workspace, memory, **given) as conversation:
        tell(conversation, text)
    return conversation


@contextmanager
def all_threads_ended() -> Generator[None]:
    """After the block, those that began in it have ended: some are left to themselves."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=10)
        assert not thread.is_alive()


# --- What is on disk --------------------------------------------------------------------


def rollouts(
    workspace: Path, sessions: str = f"{MEMORY}/sessions"
) -> dict[str, list[dict[str, Any]]]:
    """The segments of each rollout, by its id."""
    return {
        path.stem: [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
        for path in sorted((workspace / sessions).glob("*"))
    }


def segments(workspace: Path, sessions: str = f"{MEMORY}/sessions") -> list[Any]:
    """The segments of the only rollout."""
    [found] = rollouts(workspace, sessions).values()
    return found


def asked(segment: dict[str, Any]) -> list[str]:
    return [item["content"] for item in segment["input"]]


def index_of(workspace: Path, path: str = f"{MEMORY}/MEMORY.md") -> str:
    file = workspace / path
    return file.read_text(encoding="utf-8") if file.exists() else ""


def raws_of(workspace: Path, memory: str = MEMORY) -> dict[str, str]:
    """The raw memories, by the ids of their rollouts."""
    found = (workspace / memory / "raw_memories").glob("*")
    return {path.stem: path.read_text(encoding="utf-8") for path in found}


def all_bytes(*roots: Path) -> dict[Path, bytes]:
    """Every file below *roots*, by its path."""
    found = (path for root in roots for path in root.rglob("*"))
    return {path: path.read_bytes() for path in found if path.is_file()}
