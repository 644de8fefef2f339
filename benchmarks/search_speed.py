"""How fast search is over many daily logs, beside ripgrep or grep on the same files.

Everything is measured in one run, so only the ratios travel. The query goes to the
other tool as an alternation, any word, case ignored; it reports lines in file order,
search ranks entries. Both numbers for search include listing the directory and asking
each file for its state. Python's own start is shown by the last row.

    python benchmarks/search_speed.py [--files 10000]
"""

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

from openhands_memory.upkeep.search import SearchResult
from openhands_memory.upkeep.search_index import RACY_NS, SearchFolder, search

BULLETS, WORDS_PER_BULLET, VOCABULARY = 12, 14, 8_000
QUERIES = {"three terms": "{common} {middle} {rare}", "one rare term": "{rare}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=10_000)
    count = parser.parse_args().files
    with tempfile.TemporaryDirectory() as place:
        logs, cache = Path(place, "logs"), Path(place, "cache")
        words = write_logs(logs, count)
        time.sleep(RACY_NS / 1e9 + 0.5)  # else every file still counts as just changed
        print(f"{count:,} daily logs, {BULLETS} bullets each, milliseconds\n")
        print("| | search | read | other | other / search |\n|---|---|---|---|---|")
        took, result = timed(lambda: ask(words["rare"], logs, cache))
        print(f"| build the index | {took:,.0f} | {result.read:,} | | |")
        for name, pattern in QUERIES.items():
            query = pattern.format(**words)
            compare(name, query, logs, cache)
        measure_update(logs, cache, words["rare"])
        measure_processes(logs, cache, words)


def write_logs(logs: Path, count: int) -> dict[str, str]:
    """Write them, words drawn by Zipf's law; return some by how common they are."""
    chance = random.Random(1)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    vocabulary = ["".join(chance.choices(syllables, k=3)) for _ in range(VOCABULARY)]
    weights = [1 / rank for rank in range(1, VOCABULARY + 1)]
    logs.mkdir()
    for number in range(count):
        day = date(1990, 1, 1) + timedelta(days=number)
        drawn = iter(chance.choices(vocabulary, weights, k=BULLETS * WORDS_PER_BULLET))
        lines = [
            "- " + " ".join(next(drawn) for _ in range(WORDS_PER_BULLET))
            for _ in range(BULLETS)
        ]
        (logs / f"{day}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {
        "common": vocabulary[30],
        "middle": vocabulary[300],
        "rare": vocabulary[-1],
    }


def ask(query: str, logs: Path, cache: Path) -> SearchResult:
    places = [SearchFolder(logs, ".openhands/memory", "project")]
    return search(query, places, cache_dir=cache)


def compare(name: str, query: str, logs: Path, cache: Path) -> None:
    ours: list[float] = []
    theirs: list[float] = []
    result = ask(query, logs, cache)
    for _ in range(7):  # alternating, so that both meet the same weather
        took, result = timed(lambda: ask(query, logs, cache))
        ours.append(took)
        theirs.append(timed(lambda: grep(query, logs))[0])
    show(f"warm query, {name} ({result.total:,} hits)", ours, result.read, theirs)


def measure_update(logs: Path, cache: Path, word: str) -> None:
    changed = sorted(logs.iterdir())[len(list(logs.iterdir())) // 2]
    changed.write_text(f"- {word} changed by hand\n", encoding="utf-8")
    took, result = timed(lambda: ask(word, logs, cache))
    found = any("changed by hand" in hit.text for hit in result.hits)
    print(f"| after one edit, found: {found} | {took:,.0f} | {result.read:,} | | |")


def measure_processes(logs: Path, cache: Path, words: dict[str, str]) -> None:
    query = QUERIES["three terms"].format(**words)
    code = (
        "import sys; from pathlib import Path;"
        "from openhands_memory.upkeep.search_index import SearchFolder, search;"
        "places = [SearchFolder(sys.argv[1], 'm', 'project')];"
        "search(sys.argv[3], places, cache_dir=Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", code, str(logs), str(cache), query]
    ours = [timed(lambda: subprocess.run(command, check=True))[0] for _ in range(5)]
    theirs = [timed(lambda: grep(query, logs))[0] for _ in range(5)]
    show("the same with Python's start", ours, 0, theirs)


def grep(query: str, logs: Path) -> None:
    if rg := shutil.which("rg"):
        command = [rg, "-n", "-i", "-e", "|".join(query.split()), str(logs)]
    else:
        grep_path = shutil.which("grep") or "grep"
        command = [grep_path, "-rniE", "|".join(query.split()), str(logs)]
    subprocess.run(command, stdout=subprocess.PIPE, check=False)


def show(name: str, ours: list[float], read: int, theirs: list[float]) -> None:
    our, their = statistics.median(ours), statistics.median(theirs)
    tool = "ripgrep" if shutil.which("rg") else "grep"
    cells = f"{our:,.0f} | {read:,} | {tool} {their:,.0f} | {their / our:.2f}"
    print(f"| {name} | {cells} |")


def timed[T](work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = work()
    return (time.perf_counter() - start) * 1_000, result


if __name__ == "__main__":
    main()
