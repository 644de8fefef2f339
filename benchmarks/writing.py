"""Many writers at once: what is lost, torn or doubled, and how long a write takes.

Every line is unique and checked afterwards. Beside ours stands what a program would do
by itself: read, add a line, write back.

    python benchmarks/writing.py [--writers 16] [--appends 1000] [--quick]
"""

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from openhands_memory.layout import TierPlace, project_place
from openhands_memory.writing import append_record, change_file

Write = Callable[[TierPlace, bytes], object]


def to_log(place: TierPlace, line: bytes) -> object:
    return append_record(place, line)


def to_index(place: TierPlace, line: bytes) -> object:
    return change_file(place, lambda found: (found or b"") + line)


def by_hand(place: TierPlace, line: bytes) -> object:
    path = Path(place.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    old = path.read_bytes() if path.exists() else b""
    return path.write_bytes(old + line)


def many(write: Write, place: TierPlace, writer: int, times: int) -> None:
    for turn in range(times):
        write(place, b"- writer %d, line %d\n" % (writer, turn))


def run(write: Write, writers: int, times: int) -> tuple[int, int, int, float]:
    """Lost, torn and doubled lines, and writes a second."""
    with tempfile.TemporaryDirectory() as root:
        place = project_place(root)
        processes = [
            multiprocessing.Process(target=many, args=(write, place, writer, times))
            for writer in range(writers)
        ]
        start = time.perf_counter()
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        seconds = time.perf_counter() - start
        lines = Path(place.path).read_bytes().split(b"\n")[:-1]
    wanted = {
        b"- writer %d, line %d" % (w, t) for w in range(writers) for t in range(times)
    }
    kept = wanted.intersection(lines)
    torn = sum(line not in wanted for line in lines)
    return (
        len(wanted) - len(kept),
        torn,
        len(lines) - torn - len(kept),
        writers * times / seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--appends", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="few writes")
    args = parser.parse_args()
    writers = 4 if args.quick else args.writers
    appends = 20 if args.quick else args.appends
    # An index is replaced as a whole, so its writes take longer the larger it is.
    rows = (
        ("daily log, appended", to_log, appends),
        ("index, replaced", to_index, max(10, appends // 10)),
        ("by hand: read, write back", by_hand, max(10, appends // 10)),
    )
    print(f"{writers} processes at once")
    print(
        "\n| | writes | lost | torn | doubled | a second |\n|---|---|---|---|---|---|"
    )
    for name, write, times in rows:
        lost, torn, doubled, rate = run(write, writers, times)
        print(
            f"| {name} | {writers * times:,} | {lost:,} | {torn} | {doubled} | {rate:,.0f} |"
        )


if __name__ == "__main__":
    main()
