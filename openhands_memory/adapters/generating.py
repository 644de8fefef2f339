"""What one conversation records while it runs, and generates when it closes.

Touches the SDK, through public names only. Nothing here raises into the conversation:
what cannot be done is said once, and is done the next time.
"""

import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, cast

from openhands import sdk
from openhands.sdk.agent import ACPAgent
from openhands.sdk.llm.exceptions import LLMError
from pydantic import SecretStr, ValidationError

from openhands_memory.adapters.claims import claim, release
from openhands_memory.adapters.context import warn
from openhands_memory.adapters.events import segment_of
from openhands_memory.adapters.known_secrets import secret_mask
from openhands_memory.adapters.model_settings import check_models
from openhands_memory.adapters.models import SdkModels, add_usage
from openhands_memory.config import MemoryConfig, MemoryGenerateConfig
from openhands_memory.context.report import Memory
from openhands_memory.context.room import room_for_index
from openhands_memory.errors import ConfigError, MemoryFileError, MemoryToolError
from openhands_memory.generation.meter import Meter
from openhands_memory.generation.models import CapReachedError
from openhands_memory.generation.report import NOTHING_GENERATED, Generation
from openhands_memory.generation.run import count_pending, generate, record
from openhands_memory.generation.work import Progress, Tally, Work, no_progress
from openhands_memory.git import tracked_names
from openhands_memory.layout import RAW_MEMORIES, GeneratedFiles, generated_files
from openhands_memory.options import ReadOptions
from openhands_memory.secrets import mask_secrets

__all__ = ["Generating", "generate_pending", "model_named", "prices_of"]

_AT_EXIT: Final = "the interpreter is exiting, so nothing was generated; it is pending"
_GONE: Final = "the workspace is gone, and what was recorded in it"
_INTERRUPTED: Final = "generation was interrupted; what is left is pending"
#: The part of a close's time, and at most so many seconds, that no model gets: in it the
#: work is written down, or that it was stopped.
_GRACE_PART, _GRACE_SECONDS = 0.1, 1.0
#: Enough to tell the stats of a conversation that nobody holds.
_LEAST_SECONDS: Final = 0.05
_NO_MODEL: Final = (
    "this agent has no model of its own: set phase_one_model and phase_two_model"
)


def files_of(workspace: str, config: MemoryConfig) -> GeneratedFiles:
    """Where *config* lets a conversation in *workspace* leave memory."""
    workspace = os.path.abspath(workspace)  # the process may go elsewhere meanwhile
    layout = config.layout
    if layout is None:
        return generated_files(workspace)
    return generated_files(
        workspace, memories_dir=layout.memories_dir, sessions_dir=layout.sessions_dir
    )


def _work_for(
    llm: sdk.LLM,
    config: MemoryConfig,
    files: GeneratedFiles,
    *,
    mask: Callable[[str], str],
    progress: Progress | None = None,
    grace: float = 0.0,
) -> tuple[Work, SdkModels]:
    """What one generation in *files* works with; its time counts from now.

    *grace* are the seconds of it that are kept for what is done once models are not
    asked any more.
    """
    settings = config.generate or MemoryGenerateConfig()
    meter = Meter(
        max_seconds=settings.max_seconds - grace,
        max_tokens=settings.max_tokens,
        max_cost=settings.max_cost,
        clock=time.monotonic,
    )
    models = SdkModels(llm, settings, meter, mask=mask)
    options = config.read_options() or ReadOptions(
        memories_dir=config.layout.memories_dir if config.layout else None
    )
    work = Work(
        files=files,
        models=models,
        meter=meter,
        mask=mask,
        now=lambda: datetime.now(UTC),
        room=room_for_index(files.workspace, options),
        most=settings.max_raw_memories_for_consolidation,
        extra_prompt=settings.extra_prompt,
        review=settings.review,
        progress=progress or no_progress,
    )
    return work, models


class Generating:
    """What one conversation leaves behind.

    Attributes: *report* is the outcome so far.

    Raises:
        ConfigError: Another conversation of this process generates in one of the same
            directories, and with other settings; or the settings name a model, or
            settings of one, that cannot be. *llm* is the agent's own.
    """

    def __init__(
        self, config: MemoryConfig, workspace: str, rollout_id: str, *, llm: sdk.LLM
    ) -> None:
        settings = config.generate or MemoryGenerateConfig()
        check_models(llm, settings)
        self.config = config
        self.files = files_of(workspace, config)
        self.rollout_id = rollout_id
        self.report: Generation = NOTHING_GENERATED
        self._recorded_events = 0
        self._not_recorded = ""
        self._closed = False
        self._claim = claim(self.files, settings)

    def start_at(self, events: int) -> None:
        """Leave out the first *events*: they were there when the conversation began."""
        self._recorded_events = events

    def record(
        self,
        conversation: sdk.LocalConversation,
        memory: Memory,
        error: BaseException | None = None,
    ) -> None:
        """Append what is new in *conversation* to its rollout."""
        try:
            events = conversation.state.events
            count = len(events)
            if count == self._recorded_events and error is None:
                return
            segment = segment_of(
                events[self._recorded_events : count],
                rollout_id=self.rollout_id,
                now=datetime.now(UTC),
                status=conversation.state.execution_status,
                error=error,
                mask=secret_mask(conversation),
                known_lines=(memory.text or "").split("\n"),
                files=self.files,
                indexes=[tier.file for tier in memory.tiers],
            )
            if segment is not None:
                if self._is_gone:
                    raise MemoryFileError(self.files.workspace, _GONE)
                record(self.files, segment)
                recorded = self.report.recorded + 1
                self.report = self.report._replace(recorded=recorded)
            self._recorded_events = count
        except Exception as problem:  # noqa: BLE001  a recording never fails a run
            told = str(problem) if isinstance(problem, MemoryToolError) else ""
            reason = told or type(problem).__name__
            if reason != self._not_recorded:
                warn(f"this run was not recorded: {reason}")
                self.report = self.report._replace(reason=f"not recorded: {reason}")
            self._not_recorded = reason

    def close(self, conversation: sdk.LocalConversation) -> None:
        """Generate what is pending, within the caps; the second time nothing."""
        if self._closed:
            return
        self._closed = True
        release(self._claim)
        try:
            self.report = self._generate(conversation)
        except Exception as problem:  # noqa: BLE001  nor does it fail a close
            told = str(problem) if isinstance(problem, MemoryToolError) else ""
            reason = f"nothing was generated: {told or type(problem).__name__}"
            self.report = self.report._replace(consolidated="skipped", reason=reason)
            warn(reason)

    def _generate(self, conversation: sdk.LocalConversation) -> Generation:
        if isinstance(conversation.agent, ACPAgent) and not self._has_models:
            return self._skipped(_NO_MODEL)
        if self._is_gone:
            return self._skipped(_GONE)
        settings = self.config.generate or MemoryGenerateConfig()
        grace = min(_GRACE_SECONDS, _GRACE_PART * settings.max_seconds)
        work, models = _work_for(
            conversation.agent.llm,
            self.config,
            self.files,
            mask=secret_mask(conversation),
            grace=grace,
        )
        work = self._without_strangers(work)
        # Not join(): one that is interrupted takes the thread for dead (Python 3.12).
        tally, done = Tally(), threading.Event()
        try:
            threading.Thread(
                target=_work_off, args=(work, tally, done), daemon=True
            ).start()
        except RuntimeError:  # no thread is started once the interpreter is exiting
            return self._skipped(_AT_EXIT)
        try:
            done.wait(work.meter.seconds_left + grace)
            _stop(work, tally, done)
        except KeyboardInterrupt:
            _stop(work, tally, done)
            tally.capped_by, tally.reason = None, _INTERRUPTED
            raise
        finally:
            # A run that is going on holds the state for as long as its model takes.
            telling = threading.Thread(
                target=add_usage, args=(conversation, models), daemon=True
            )
            telling.start()
            telling.join(max(_LEAST_SECONDS, work.meter.seconds_left + grace))
            recorded = self.report.recorded
            self.report = report = tally.report(work.meter, recorded=recorded)
        if report.capped_by or report.failed or report.consolidated == "refused":
            warn(_unfinished(report))
        return report

    def _without_strangers(self, work: Work) -> Work:
        """*work* at nobody's expense for what only came with the repository.

        What a project's memory says is a stranger's word where it is not always trusted.
        """
        rollouts = tracked_names(os.path.dirname(self.files.rollout("x").path))
        raws = tracked_names(self.files.place(RAW_MEMORIES, "x").directory)
        read = self.config.read
        trusts = read is None or read.project_trust == "always"
        return work._replace(
            own=self.rollout_id,
            foreign=frozenset(n.removesuffix(".jsonl") for n in rollouts),
            untrusted=frozenset()
            if trusts
            else frozenset(n.removesuffix(".md") for n in raws),
        )

    @property
    def _is_gone(self) -> bool:
        return not os.path.isdir(self.files.workspace)

    @property
    def _has_models(self) -> bool:
        settings = self.config.generate
        return settings is not None and all(
            isinstance(model, sdk.LLM)
            for model in (settings.phase_one_model, settings.phase_two_model)
        )

    def _skipped(self, reason: str) -> Generation:
        warn(reason)
        pending = count_pending(self.files)
        return self.report._replace(
            consolidated="skipped", reason=reason, pending=pending
        )


def _work_off(work: Work, tally: Tally, done: threading.Event) -> None:
    try:
        generate(work, tally=tally)
    except BaseException as error:  # noqa: BLE001  nobody catches it in this thread
        tally.consolidated, tally.reason = "skipped", type(error).__name__
    finally:
        done.set()


def _stop(work: Work, tally: Tally, done: threading.Event) -> None:
    """Let the work change memory no more, unless it is *done*."""
    if done.is_set():
        return
    work.meter.stop("seconds")
    tally.capped_by, tally.consolidated = "seconds", "skipped"
    tally.reason = str(CapReachedError("seconds"))
    tally.pending = count_pending(work.files)


def _unfinished(report: Generation) -> str:
    parts = [f"rollouts that failed: {len(report.failed)}"] if report.failed else []
    parts += [report.reason] if report.reason else []
    return f"generation is not complete: {'; '.join(parts)}"


# --- Without a conversation -------------------------------------------------------------


def model_named(name: str, *, api_key: str | None, base_url: str | None) -> sdk.LLM:
    """The SDK's LLM of that *name*.

    Raises:
        ConfigError: There can be no such model.
    """
    try:
        key = SecretStr(api_key) if api_key else None
        return sdk.LLM(usage_id="memory", model=name, api_key=key, base_url=base_url)
    except (LLMError, ValidationError) as error:
        problem = str(error).strip().partition("\n")[0]
        raise ConfigError("LLM_MODEL", name, problem) from None


def prices_of(llm: sdk.LLM) -> tuple[float, float] | None:
    """US dollars for a token in and a token out; None if nobody knows."""
    info = cast("dict[str, Any]", cast("Any", llm).model_info or {})
    prices: tuple[float | None, float | None] = (
        llm.input_cost_per_token or info.get("input_cost_per_token"),
        llm.output_cost_per_token or info.get("output_cost_per_token"),
    )
    return None if None in prices else cast("tuple[float, float]", prices)


def generate_pending(
    files: GeneratedFiles,
    llm: sdk.LLM,
    config: MemoryConfig,
    *,
    retry: bool = False,
    progress: Progress | None = None,
) -> Generation:
    """Work off what conversations left pending in *files*."""
    key = llm.api_key
    known = (key.get_secret_value(),) if isinstance(key, SecretStr) else ()
    work, _ = _work_for(
        llm,
        config,
        files,
        mask=lambda text: mask_secrets(text, known).text,
        progress=progress,
    )
    return generate(work, retry=retry)
