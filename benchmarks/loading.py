"""How long reading memory takes, and how much memory it takes, by the file's size.

The floor is what no reader of a file's end can do without: one open, one seek, one read
of 24 KB, one close. Beside it, where it is installed, stands the OpenHands SDK's own
`load_memory`, which this one replaces. Everything is measured in one run, in turns, and
the fastest of many repeats counts, so only the ratios travel.

    python benchmarks/loading.py [--quick] [--slow]
"""

import argparse
import gc
import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openhands_memory import load_memory

LINE = "- the build needs a clean cache after the schema changes.\n"
KB, MB, GB = 1024, 1024**2, 1024**3
FLOOR_BYTES = 24 * KB

Loader = Callable[[Path], object]


@dataclass(frozen=True)
class Case:
    """A workspace, the user tier's directory, and the index files they hold."""

    name: str
    workspace: Path
    persistence: Path
    files: tuple[Path, ...]
    grows: bool  # one of the cases that differ in size alone


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small files, no SDK")
    parser.add_argument(
        "--slow", action="store_true", help="the SDK on 1.5 MB too: half a minute"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        cases = make_cases(Path(root), quick=args.quick)
        compare_with_floor(cases, rounds=20 if args.quick else 300)
        if not args.quick:
            compare_with_sdk(cases, slow=args.slow)


# --- The files --------------------------------------------------------------------------


def make_cases(root: Path, *, quick: bool) -> list[Case]:
    sizes = {"8 KB": 8 * KB, "200 KB": 200 * KB}
    if not quick:
        sizes |= {"1.5 MB": 3 * MB // 2, "10 MB": 10 * MB, "100 MB": 100 * MB}
    cases = [make_case(root, name, size) for name, size in sizes.items()]
    sparse = make_case(root, "10 GB, sparse", 200 * KB, hole=10 * GB)
    giant = make_case(root, "one line", (1 if quick else 100) * MB, line="x")
    two = make_case(root, "two tiers", (1 if quick else 10) * MB, tiers=2)
    return [*cases, sparse, giant, two]


def make_case(
    root: Path, name: str, size: int, *, line: str = LINE, hole: int = 0, tiers: int = 1
) -> Case:
    place = root / name.replace(" ", "-")
    project = place / "workspace" / ".openhands" / "memory" / "MEMORY.md"
    user = place / "user" / "memory" / "MEMORY.md"
    files = (project, user)[:tiers]
    for path in files:
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            file.seek(hole)
            block = (line * (MB // len(line))).encode()
            for start in range(0, size, len(block)):
                file.write(block[: size - start])
    grows = line == LINE and tiers == 1
    return Case(name, place / "workspace", place / "user", files, grows)


# --- The clock --------------------------------------------------------------------------


def measure(case: Case, load: Loader) -> float:
    """Microseconds of one call."""
    os.environ["OH_PERSISTENCE_DIR"] = str(case.persistence)
    start = time.perf_counter_ns()
    load(case.workspace)
    return (time.perf_counter_ns() - start) / 1000


def read_floor(case: Case) -> Loader:
    paths = [str(path) for path in case.files]

    def load(_workspace: Path) -> None:
        for path in paths:
            descriptor = os.open(path, os.O_RDONLY)
            end = os.lseek(descriptor, 0, os.SEEK_END)
            os.lseek(descriptor, max(0, end - FLOOR_BYTES), os.SEEK_SET)
            os.read(descriptor, FLOOR_BYTES)
            os.close(descriptor)

    return load


def extra_memory(case: Case) -> int:
    """Bytes that one call takes at its peak, above what was taken before it."""
    measure(case, load_memory)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    measure(case, load_memory)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - before


# --- The tables -------------------------------------------------------------------------


def compare_with_floor(cases: list[Case], *, rounds: int) -> None:
    best = {case.name: [float("inf")] * 2 for case in cases}
    floors = {case.name: read_floor(case) for case in cases}
    gc.disable()
    for _ in range(rounds):
        for case in cases:
            for column, load in enumerate((floors[case.name], load_memory)):
                took = best[case.name]
                took[column] = min(took[column], measure(case, load))
    gc.enable()
    memory = {case.name: extra_memory(case) for case in cases}
    print("| MEMORY.md | floor, µs | load, µs | load / floor | extra memory, KB |")
    print("|---|---|---|---|---|")
    for name, (floor, load) in best.items():
        kilobytes = memory[name] / KB
        print(
            f"| {name} | {floor:.1f} | {load:.0f} | {load / floor:.1f} | {kilobytes:.0f} |"
        )
    growing = [best[case.name][1] for case in cases if case.grows]
    over_floor = max(load / floor for floor, load in best.values())
    print("\n| what | measured | target | |\n|---|---|---|---|")
    judge("slowest over fastest, by size", max(growing) / min(growing), at_most=2)
    judge("load over floor, at worst", over_floor, at_most=50)
    judge("extra memory in MB, at worst", max(memory.values()) / MB, at_most=1)


def compare_with_sdk(cases: list[Case], *, slow: bool) -> None:
    # Otherwise the import asks the network for a price list, and greets.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
    with suppress(ModuleNotFoundError):
        from openhands.sdk.context.memory import load_memory as sdk_load_memory

        by_name = {case.name: case for case in cases}
        judge_sdk(by_name["200 KB"], sdk_load_memory, rounds=5, at_least=300)
        if slow:
            judge_sdk(by_name["1.5 MB"], sdk_load_memory, rounds=1, at_least=10_000)
        return
    print("\nThe OpenHands SDK is not installed: its loader was not measured.")


def judge_sdk(case: Case, sdk_load: Loader, *, rounds: int, at_least: float) -> None:
    ours, theirs = float("inf"), float("inf")
    gc.disable()
    for _ in range(rounds):
        theirs = min(theirs, measure(case, sdk_load))
        ours = min(ours, *(measure(case, load_memory) for _ in range(50)))
    gc.enable()
    judge(f"SDK's loader over load, {case.name}", theirs / ours, at_least=at_least)


def judge(
    what: str, ratio: float, *, at_most: float | None = None, at_least: float = 0
) -> None:
    met = ratio <= at_most if at_most is not None else ratio >= at_least
    target = (
        f"at most {at_most:g}" if at_most is not None else f"at least {at_least:,g}"
    )
    measured = f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2f}"
    print(f"| {what} | {measured} | {target} | {'ok' if met else 'missed'} |")


if __name__ == "__main__":
    main()
