"""Conversations whose memory is bound when they start.

Touches the SDK, through public names only.
"""

import contextlib
import inspect
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final, Self, cast, overload

from openhands import sdk
from openhands.sdk.agent import ACPAgent
from openhands.sdk.event import SystemPromptEvent

from openhands_memory.adapters.binding import (
    NO_MEMORY,
    bind,
    bind_and_report,
    directory_of,
    hand_over,
)
from openhands_memory.adapters.context import (
    asks_for_memory,
    config_of,
    generates,
    sdk_may_read,
    warn,
)
from openhands_memory.adapters.generating import Generating
from openhands_memory.adapters.known_secrets import secret_mask
from openhands_memory.context.guidance import carries_instructions
from openhands_memory.context.remarks import OVER_BUDGET
from openhands_memory.context.render import render_block
from openhands_memory.context.report import Memory
from openhands_memory.errors import ConfigError, UnknownFieldError
from openhands_memory.generation.report import NOTHING_GENERATED, Generation
from openhands_memory.generation.rollout import rollout_id

__all__ = ["Conversation", "LocalConversation"]

#: What stands around the text in a prompt.
_BLOCK_START, _BLOCK_END = render_block("\0").split("\0")

_REMOTE: Final = "the workspace is remote, so its server's SDK decides: "
_RESUMED_ALONE: Final = (
    "resumed without an agent: memory's settings are not persisted, so the prompt "
    "keeps what it has and nothing was read; pass agent= to read"
)
_CHANGED_SINCE: Final = (
    "the memory files, or the settings, changed since this conversation began; its "
    "prompt keeps what was read then"
)
_BEGAN_WITHOUT: Final = (
    "this conversation began without memory, and its system prompt stays as it is: "
    "start a new one to have memory in it"
)
_FORK_KEEPS_PROMPT: Final = (
    "the fork keeps the system prompt that it was copied with, and the memory in it; "
    "that of agent= is not there"
)


class LocalConversation(sdk.LocalConversation):
    """The SDK's local conversation with memory bound when it starts.

    Takes what the SDK's class takes. Memory is read once, at the first message or run
    at the latest; a conversation that is resumed keeps the text that its system prompt
    was made with.
    """

    def __init__(
        self,
        agent: sdk.AgentBase | None,
        workspace: str | Path | sdk.LocalWorkspace,
        *args: Any,
        memory_conversation_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        workspace = _expanded(workspace)
        self._memory_agent = agent
        self._memory_generating: Generating | None = None
        self._memory_report = NO_MEMORY
        self._memory_remarks: set[str] = set()
        bound = agent
        if agent is not None:
            bound, self._memory_report = bind_and_report(agent, workspace)
        super().__init__(bound, workspace, *args, **kwargs)
        if agent is None:
            self._adopt_persisted_agent()
        prompt = _find_prompt(self)
        self._memory_is_final = prompt is not None
        if prompt is not None:
            self._keep_memory_of(prompt)
        self._remark()
        given_id = kwargs.get("conversation_id")
        try:
            self._memory_generating = self._begin_generating(
                memory_conversation_id, given_id, _group_of(self)
            )
        except ConfigError:
            super().close()
            raise

    @property
    def memory(self) -> Memory:
        """What the agent sees of its memory, and the report on it.

        In a resumed conversation the text is the one in its system prompt; the tiers
        are reported as they were found when it was resumed.
        """
        return self._memory_report

    @property
    def generation(self) -> Generation:
        """What was recorded, and, after the close, what was generated of it."""
        generating = self._memory_generating
        return generating.report if generating else NOTHING_GENERATED

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    # Whatever makes the system prompt reads memory first (OpenHands SDK 1.37.0 to
    # 1.58.2, local_conversation.py: the callers of _ensure_agent_ready).

    def send_message(self, *args: Any, **kwargs: Any) -> None:
        self._read_before_start()
        super().send_message(*args, **kwargs)

    def run(self) -> None:
        self._read_before_start()
        with self._recorded():
            super().run()

    async def arun(self) -> None:
        self._read_before_start()
        with self._recorded():
            await super().arun()

    def close(self) -> None:
        """As the SDK's; records and generates first. Never raises because of memory."""
        # The SDK closes what was never built, too.
        generating: Generating | None = getattr(self, "_memory_generating", None)
        try:
            if generating is not None:
                generating.record(self, self._memory_report)
                generating.close(self)
        finally:
            super().close()

    def ask_agent(self, *args: Any, **kwargs: Any) -> str:
        self._read_before_start()
        return cast("str", super().ask_agent(*args, **kwargs))

    def execute_tool(self, *args: Any, **kwargs: Any) -> Any:
        self._read_before_start()
        return super().execute_tool(*args, **kwargs)

    def rerun_actions(self, *args: Any, **kwargs: Any) -> bool:
        self._read_before_start()
        return super().rerun_actions(*args, **kwargs)

    def fork(
        self, *, agent: sdk.AgentBase | None = None, **kwargs: Any
    ) -> sdk.LocalConversation:
        """As the SDK's: a stock conversation, which keeps the memory of this one.

        An *agent* that asks for memory is bound first; its memory is read if the fork
        has no system prompt yet.
        """
        if not self._memory_is_final:
            self._read()
        source = self.agent
        if agent is not None:
            agent = source = bind(agent, self.workspace)
        fork = super().fork(agent=agent, **kwargs)
        # The SDK copies the agent as JSON, where the text is left out on purpose.
        hand_over(source, fork)
        prompt = _find_prompt(fork)
        text = source.agent_context.memory_context if source.agent_context else None
        if agent and prompt and text and text != _text_in(prompt):
            warn(_FORK_KEEPS_PROMPT)
        return fork

    def _begin_generating(self, *ids: object) -> Generating | None:
        """What records this conversation, if its settings ask for that.

        Its id is the first of *ids* that says something, else the SDK's own.
        """
        if not generates(self.agent):
            return None
        config = config_of(self.agent.agent_context)
        given = (None if value is None else str(value) for value in (*ids, self.id))
        name = rollout_id(*given, mask=secret_mask(self))
        directory = directory_of(self.workspace)
        generating = Generating(config, directory, name, llm=self.agent.llm)
        generating.start_at(len(self.state.events))
        return generating

    @contextlib.contextmanager
    def _recorded(self) -> Generator[None]:
        """Around a run: what happened in it is recorded, however it ends."""
        error: BaseException | None = None
        try:
            yield
        except BaseException as raised:
            error = raised
            raise
        finally:
            if self._memory_generating is not None:
                self._memory_generating.record(self, self._memory_report, error)

    def _read_before_start(self) -> None:
        if self._memory_is_final:
            return
        with self.state:
            if not self._memory_is_final:
                self._read()
                self._remark()
                self._memory_is_final = True

    def _read(self) -> None:
        """Read memory again, for files or the model may have changed since."""
        if self._memory_agent is None or not asks_for_memory(self._memory_agent):
            return
        given = self._memory_agent.model_copy(update={"llm": self.agent.llm})
        fresh, self._memory_report = bind_and_report(given, self.workspace)
        hand_over(fresh, self)

    def _remark(self) -> None:
        """Warn of what was not said yet; `bind` has warned of what it bound."""
        if self._memory_agent is not None and asks_for_memory(self._memory_agent):
            for remark in self._memory_report.warnings:
                # Which lines are over budget may be others when memory is read again.
                about, over, _ = remark.partition(OVER_BUDGET)
                if about + over not in self._memory_remarks:
                    self._memory_remarks.add(about + over)
                    warn(remark)

    def _keep_memory_of(self, prompt: SystemPromptEvent) -> None:
        if isinstance(self.agent, ACPAgent):
            return
        text, found = _text_in(prompt), self._memory_report
        if text == found.text:
            return
        if text is None:
            warn(_BEGAN_WITHOUT)
        self._memory_report = found._replace(text=text)
        if self._memory_agent is not None:
            hint = _CHANGED_SINCE if text else _BEGAN_WITHOUT
            self._memory_report = self._memory_report.with_hint(hint)

    def _adopt_persisted_agent(self) -> None:
        """Bind an agent that was resumed from disk, as far as it has settings."""
        agent = self.agent
        if asks_for_memory(agent):
            self._memory_agent = agent
            bound, self._memory_report = bind_and_report(agent, self.workspace)
            hand_over(bound, self)
        elif carries_instructions(agent.system_prompt or ""):
            self._memory_report = NO_MEMORY.with_hint(_RESUMED_ALONE)
            warn(_RESUMED_ALONE)


#: The SDK takes tags of letters and digits only (1.37.0 to 1.58.2, conversation/types.py).
_GROUP_TAGS: Final = ("group_id", "groupid")


def _group_of(conversation: sdk.LocalConversation) -> str | None:
    """The tag that several conversations share a rollout by."""
    tags: dict[str, str] = getattr(conversation.state, "tags", {})
    return next((tags[name] for name in _GROUP_TAGS if tags.get(name)), None)


def _find_prompt(conversation: sdk.LocalConversation) -> SystemPromptEvent | None:
    events = conversation.state.events
    return next((e for e in events if isinstance(e, SystemPromptEvent)), None)


def _expanded(
    workspace: str | Path | sdk.LocalWorkspace,
) -> str | sdk.LocalWorkspace:
    """*workspace* with ``~`` expanded, which the SDK takes for a directory's name."""
    directory = directory_of(workspace)
    if not isinstance(workspace, sdk.LocalWorkspace):
        return directory
    if directory == workspace.working_dir:
        return workspace
    return workspace.model_copy(update={"working_dir": directory})


def _text_in(prompt: SystemPromptEvent) -> str | None:
    """The memory text that a system prompt was made with."""
    dynamic = prompt.dynamic_context.text if prompt.dynamic_context else ""
    _, start, rest = dynamic.partition(_BLOCK_START)
    text, end, _ = rest.partition(_BLOCK_END)
    return text if start and end else None


def _with_own_id(signature: inspect.Signature) -> inspect.Signature:
    """The SDK's *signature* and one keyword more."""
    own = inspect.Parameter(
        "memory_conversation_id",
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation="str | None",
    )
    given = list(signature.parameters.values())
    last = given[-1:] if given[-1].kind is inspect.Parameter.VAR_KEYWORD else []
    return signature.replace(parameters=[*given[: len(given) - len(last)], own, *last])


class Conversation(sdk.Conversation):
    """The SDK's factory, signature and all, with memory.

    Returns a `LocalConversation` of this package for a local workspace, and the SDK's
    own object for a remote one, where the server's SDK reads the memory it finds there.

    Raises:
        UnknownFieldError: A keyword does not exist; the message names the nearest.
    """

    __signature__ = _with_own_id(inspect.signature(sdk.Conversation))

    @overload
    def __new__(
        cls,
        agent: sdk.AgentBase,
        *,
        workspace: str | Path | sdk.LocalWorkspace = ...,
        **kwargs: Any,
    ) -> LocalConversation: ...

    @overload
    def __new__(
        cls, agent: sdk.AgentBase, *, workspace: sdk.RemoteWorkspace, **kwargs: Any
    ) -> sdk.RemoteConversation: ...

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in cls.__signature__.parameters:
                raise UnknownFieldError(
                    "Conversation", name, cls.__signature__.parameters
                )
        given = cls.__signature__.bind(*args, **kwargs)
        if isinstance(given.arguments.get("workspace"), sdk.RemoteWorkspace):
            given.arguments.pop("memory_conversation_id", None)
            given.arguments["agent"] = _for_server(given.arguments["agent"])
            return sdk.Conversation(*given.args, **given.kwargs)
        given.apply_defaults()
        return LocalConversation(**given.arguments)


def _for_server(agent: sdk.AgentBase) -> sdk.AgentBase:
    """*agent* for a remote workspace: what its settings forbid is not asked for."""
    context = agent.agent_context
    if context is None or not context.load_memory:
        if carries_instructions(agent.system_prompt or ""):
            warn(
                f"{_REMOTE}the agent is bound to a directory here; its memory does "
                "not go over the wire. Give the agent that you had before"
            )
        return agent
    if sdk_may_read(config_of(context)):
        warn(
            f"{_REMOTE}it reads the memory files that it finds there; the settings "
            "in memory=... do not apply"
        )
        return agent
    warn(
        f"{_REMOTE}it would read what the settings in memory=... exclude, so memory "
        "is off in this conversation"
    )
    off = context.model_copy(update={"load_memory": False})
    return agent.model_copy(update={"agent_context": off})
