"""``generate``: what conversations left pending becomes memory."""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from openhands_memory.commands._arguments import (
    add_budget,
    add_json,
    add_workspace,
    print_json,
    whole_number,
)
from openhands_memory.commands._generation import (
    add_layout,
    files_of,
    layout_of,
)
from openhands_memory.commands._words import count, hanging
from openhands_memory.errors import MemoryToolError, SdkMissingError
from openhands_memory.layout import GeneratedFiles
from openhands_memory.options import RAW_MEMORIES_CONSIDERED
from openhands_memory.sanitize import show_line

if TYPE_CHECKING:
    from openhands.sdk import LLM

    from openhands_memory.config import MemoryConfig
    from openhands_memory.generation.plan import Plan
    from openhands_memory.generation.report import Generation

EXAMPLE = "LLM_API_KEY=... LLM_MODEL=openai/gpt-4o openhands-memory generate"

_DONE, _INCOMPLETE = 0, 1
_BAR_WIDTH = 20


class NoModelError(MemoryToolError):
    """Nobody said which model is to be asked."""

    def __str__(self) -> str:
        return (
            "no model is named: set LLM_MODEL, and LLM_API_KEY or LLM_BASE_URL, or "
            "give --model. --dry-run needs none"
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_workspace(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what would be done, and about what it costs; ask no model",
    )
    parser.add_argument(
        "--retry", action="store_true", help="try again what failed three times"
    )
    parser.add_argument(
        "--review",
        action="store_true",
        help="leave the result for 'openhands-memory review'",
    )
    group = parser.add_argument_group("model and caps")
    group.add_argument(
        "--model", metavar="NAME", help="the model that is asked (default: LLM_MODEL)"
    )
    group.add_argument(
        "--max-seconds", metavar="N", type=_amount, help="stop then (default: 300)"
    )
    group.add_argument(
        "--max-tokens",
        metavar="N",
        type=whole_number,
        help="stop then (default: 1,000,000)",
    )
    group.add_argument(
        "--max-cost", metavar="USD", type=_amount, help="stop then (default: 1.00)"
    )
    group.add_argument(
        "--max-raw-memories",
        metavar="N",
        type=whole_number,
        help="consider so many, the newest (default: as the last time, or 256)",
    )
    add_layout(parser)
    add_budget(parser)
    add_json(parser)


def _amount(value: str) -> float:
    try:
        amount = float(value)
    except ValueError:
        amount = 0.0
    if not 0 < amount < float("inf"):
        raise argparse.ArgumentTypeError(f"{value!r} is no amount such as 2.50")
    return amount


def run(args: argparse.Namespace) -> int:
    from openhands_memory.generation.plan import plan

    files = files_of(args)
    planned = plan(files, retry=args.retry, most=_most(args, files))
    model = args.model or os.environ.get("LLM_MODEL")
    if args.dry_run:
        price = _prices(model) if model and not planned.is_empty else None
        return _print_plan(planned, price, as_json=args.json)
    if planned.is_empty:
        return _report_nothing(planned, files, as_json=args.json)
    if not model:
        raise NoModelError
    report = _generate(args, files, model)
    if args.json:
        print_json(report.as_dict())
    else:
        for line in report_lines(report, files):
            print(line)
    undone = report.consolidated in ("refused", "skipped")
    return _INCOMPLETE if report.failed or report.capped_by or undone else _DONE


def _generate(
    args: argparse.Namespace, files: GeneratedFiles, model: str
) -> "Generation":
    _load_sdk()
    from openhands_memory.adapters.generating import generate_pending

    bar = _Bar(shown=sys.stderr.isatty())
    try:
        return generate_pending(
            files, _llm(model), _config(args), retry=args.retry, progress=bar
        )
    except KeyboardInterrupt:
        bar.clear()
        print("stopped; what is not done is still pending", file=sys.stderr)
        raise
    finally:
        bar.clear()


def _config(args: argparse.Namespace) -> "MemoryConfig":
    from openhands_memory.config import (
        MemoryConfig,
        MemoryGenerateConfig,
        MemoryReadConfig,
    )

    given = {
        name: getattr(args, name)
        for name in ("max_seconds", "max_tokens", "max_cost")
        if getattr(args, name) is not None
    }
    read = MemoryReadConfig(char_budget=args.budget) if args.budget else None
    return MemoryConfig(
        layout=layout_of(args),
        read=read or MemoryReadConfig(),
        generate=MemoryGenerateConfig(
            max_raw_memories_for_consolidation=_most(args, files_of(args)),
            review=args.review,
            **given,
        ),
    )


def _most(args: argparse.Namespace, files: GeneratedFiles) -> int:
    """The raw memories that are considered: as many as the last time, if nobody says."""
    from openhands_memory.generation.files import load_consolidated

    last = load_consolidated(files).most
    return args.max_raw_memories or last or RAW_MEMORIES_CONSIDERED


def _prices(model: str) -> tuple[float, float] | None:
    """What *model* costs; None if nobody knows, or the SDK is not there to ask."""
    _load_sdk()
    try:
        from openhands_memory.adapters.generating import prices_of
    except SdkMissingError:
        return None
    return prices_of(_llm(model))


def _llm(model: str) -> "LLM":
    from openhands_memory.adapters.generating import model_named

    return model_named(
        model,
        api_key=os.environ.get("LLM_API_KEY"),
        base_url=os.environ.get("LLM_BASE_URL"),
    )


def _load_sdk() -> None:
    """Say what takes so long, and let the SDK say nothing of its own."""
    import warnings  # late: without a model there is nothing to warn of

    warnings.simplefilter("ignore")  # one of them is that a model has no known price
    os.environ.setdefault("LOG_LEVEL", "CRITICAL")  # what fails, the report tells
    os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    print("loading the OpenHands SDK, which takes some seconds ...", file=sys.stderr)


class _Bar:
    """A line on a terminal that says how far it is; nothing elsewhere."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._width = min(80, shutil.get_terminal_size().columns) - 1

    def __call__(self, done: int, total: int, what: str) -> None:
        if self._shown:
            filled = _BAR_WIDTH * done // max(1, total)
            bar = "#" * filled + "-" * (_BAR_WIDTH - filled)
            line = f"[{bar}] {done}/{total} {what}"
            self._print(f"\r{line[: self._width]:{self._width}}")

    def clear(self) -> None:
        if self._shown:
            self._print(f"\r{'':{self._width}}\r")

    def _print(self, text: str) -> None:
        print(text, end="", file=sys.stderr, flush=True)


# --- What a person reads ----------------------------------------------------------------


def _report_nothing(planned: "Plan", files: GeneratedFiles, *, as_json: bool) -> int:
    from openhands_memory.generation.report import NOTHING_GENERATED

    if as_json:
        state = "skipped" if planned.held else "none"
        report = NOTHING_GENERATED._replace(consolidated=state, reason=planned.held)
        print_json(report.as_dict())
    elif not (planned.waiting or planned.held):
        print(f"nothing is pending in {files.sessions_dir} and {files.memories_dir}")
    else:
        _print_left(planned)
    return _INCOMPLETE if planned.waiting or planned.held else _DONE


def _print_left(planned: "Plan") -> None:
    """What is not done, and why."""
    if planned.waiting:
        waiting = count(len(planned.waiting), "rollout")
        print(f"not tried again: {waiting} that failed three times (--retry)")
    if planned.held:
        for line in hanging("not consolidated: ", show_line(planned.held)):
            print(line)


def _print_plan(
    planned: "Plan", price: tuple[float, float] | None, *, as_json: bool
) -> int:
    cost = planned.cost(price)
    if as_json:
        print_json({**planned.as_dict(), "estimated_cost": cost})
        return _DONE
    for rollout in planned.rollouts:
        size, tokens = count(rollout.size, "byte"), f"{rollout.tokens:,}"
        print(f"extract {rollout.rollout_id}: {size}, about {tokens} tokens")
    _print_left(planned)
    if planned.consolidates:
        print(f"consolidate {planned.consolidates}")
    if planned.is_empty:
        print("nothing to do now")
        return _DONE
    known = "cost unknown" if cost is None else f"about {cost:.2f} US dollars"
    print(f"in all about {planned.tokens:,} tokens, {known}; nothing was sent")
    return _DONE


def report_lines(report: "Generation", files: GeneratedFiles) -> Iterator[str]:
    """The report for people."""
    rollouts = count(report.extracted, "rollout")
    yield f"extracted: {rollouts}, {report.empty} more with nothing worth keeping"
    for failure in report.failed:
        yield f"failed: {failure.rollout_id} ({failure.stage})"
        yield from hanging("  ", show_line(failure.reason))
    for damage in report.damaged:
        lines = ", ".join(map(str, damage.lines))
        yield f"left out: damaged lines of {damage.rollout_id}: {lines}"
    yield f"index: {_index(report, files)}"
    if report.reason:
        yield from hanging("  ", show_line(report.reason))
    if report.pending:
        yield f"pending: {count(report.pending, 'rollout')}"
    cost = "cost unknown" if report.cost is None else f"{report.cost:.4f} US dollars"
    calls, tokens = count(report.llm_calls, "call"), count(report.tokens, "token")
    yield f"used: {calls}, {tokens}, {cost}, {report.seconds:.1f} seconds"


def _index(report: "Generation", files: GeneratedFiles) -> str:
    undo, review = files.command("undo"), files.command("review")
    became = {
        "accepted": f"updated in {files.memories_dir}; {undo} takes it back",
        "refused": "as it was: the result was refused",
        "proposed": f"as it was: {review} shows what is proposed",
        "skipped": "as it was",
        "none": "as it was: nothing new for it",
    }
    return became[report.consolidated]
