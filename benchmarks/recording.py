"""Rollouts of any length: what a run pays to be recorded, and what reading one takes.

Recording appends, so its time must not depend on what is there; beside it stands what
the original does: read the whole file, write it back with one line more. Gathering cuts
a rollout to what a model takes, and must not hold it.

    python benchmarks/recording.py [--quick]
"""

import argparse
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from openhands_memory import store
from openhands_memory.generation.gathering import LINE_LIMIT, gather
from openhands_memory.generation.rollout import Segment, Terminal, render_segment
from openhands_memory.layout import TierPlace, generated_files
from openhands_memory.writing import append_private_record

#: Characters of a rollout that a model with 128,000 tokens takes.
ROOM = 250_000
ROUNDS = 20


def line_of(number: int) -> bytes:
    """A run with one question, a tool call with some output, and an answer."""
    output = "".join(f"{number}.{row}: ok in {row * 7} ms\n" for row in range(150))
    items = (
        {
            "type": "function_call",
            "call_id": "1",
            "name": "terminal",
            "arguments": "{}",
        },
        {"type": "function_call_output", "call_id": "1", "output": output},
        {"role": "assistant", "content": f"Run {number} passed."},
    )
    question = ({"role": "user", "content": f"Run the tests again ({number})."},)
    time_ = "2026-11-30T10:00:00+00:00"
    done = Terminal("completed", has_final_output=True)
    return render_segment(
        Segment(time_, "bench", question, items, (), done, f"Run {number} passed.")
    )


def by_hand(place: TierPlace, record: bytes) -> None:
    path = Path(place.path)
    path.write_bytes(path.read_bytes() + record)


def milliseconds(
    write: Callable[[TierPlace, bytes], object], place: TierPlace
) -> float:
    record, best = line_of(0), float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        write(place, record)
        best = min(best, time.perf_counter() - start)
    return best * 1000


def gathered(place: TierPlace) -> tuple[float, float]:
    """Seconds without, and the peak in MB with, a watch on memory."""

    def once() -> None:
        found = gather(store.read_lines(place, limit=LINE_LIMIT), room=ROOM)
        if found.damaged_count or not found.segments:
            raise SystemExit("the rollout was not read as it was written")

    start = time.perf_counter()
    once()
    seconds = time.perf_counter() - start
    tracemalloc.start()
    once()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small rollouts")
    args = parser.parse_args()
    sizes = (0.1, 1) if args.quick else (0.1, 1, 10, 50)
    head = "rollout, MB | record, ms | read and write back, ms | gather, s | peak, MB"
    print(f"| {head} |\n|{'---|' * 5}")
    for size in sizes:
        with tempfile.TemporaryDirectory() as root:
            place = generated_files(root).rollout("bench")
            append_private_record(place, line_of(0))
            with Path(place.path).open("ab") as file:
                for number in range(int(size * 1e6 / len(line_of(0)))):
                    file.write(line_of(number))
            ours = milliseconds(append_private_record, place)
            theirs = milliseconds(by_hand, place)
            seconds, peak = gathered(place)
        print(f"| {size:g} | {ours:.2f} | {theirs:.2f} | {seconds:.2f} | {peak:.1f} |")


if __name__ == "__main__":
    main()
