"""An attacker swaps what we read while we read it: no outside byte gets through.

Short by default; OPENHANDS_MEMORY_RACE_READS sets the number of reads of each race, and
OPENHANDS_MEMORY_NAIVE_READS how many a naive reader gets to leak, which proves that the
race is one.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openhands_memory import store
from openhands_memory.layout import project_place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX file systems only")

READS = int(os.environ.get("OPENHANDS_MEMORY_RACE_READS", "3000"))
NAIVE_READS = int(os.environ.get("OPENHANDS_MEMORY_NAIVE_READS", "200000"))
CANARY = b"CANARY-7f3a91\n"
FACT = b"- fact\n"

#: Exchanges two paths for ever: at once where the system can, else by three renames.
ATTACK = """
import ctypes, os, sys
one, two = sys.argv[1:]
AT_FDCWD, RENAME_EXCHANGE = -100, 2
try:
    exchange = ctypes.CDLL(None).renameat2
except AttributeError:
    exchange = None
a, b = os.fsencode(one), os.fsencode(two)
if exchange and exchange(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) != 0:
    exchange = None
print("ready", flush=True)
while True:
    if exchange:
        exchange(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE)
    else:
        os.rename(one, one + ".aside")
        os.rename(two, one)
        os.rename(one + ".aside", two)
"""


@contextmanager
def attacker(one: Path, two: Path) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", ATTACK, str(one), str(two)], stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.kill()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    (outside / "memory").mkdir(parents=True)
    for path in (outside / "MEMORY.md", outside / "memory" / "MEMORY.md"):
        path.write_bytes(CANARY)
    return outside


Swap = Callable[[Path, Path], tuple[Path, Path]]


def swap_leaf(index: Path, outside: Path) -> tuple[Path, Path]:
    evil = index.with_name("evil")
    evil.symlink_to(outside / "MEMORY.md")
    return index, evil


def swap_directory(index: Path, outside: Path) -> tuple[Path, Path]:
    directory = index.parent.parent
    evil = directory.with_name("evil")
    evil.symlink_to(outside)
    return directory, evil


def swap_inner_directory(index: Path, outside: Path) -> tuple[Path, Path]:
    evil = index.parent.with_name("evil")
    evil.symlink_to(outside)
    return index.parent, evil


def swap_leaf_behind_a_link(index: Path, outside: Path) -> tuple[Path, Path]:
    """The index is a link inside the workspace; what it leads to is swapped."""
    notes = index.parents[2] / "notes"
    notes.mkdir()
    (notes / "mem.md").write_bytes(FACT)
    (notes / "evil").symlink_to(outside / "MEMORY.md")
    index.unlink()
    index.symlink_to("../../notes/mem.md")
    return notes / "mem.md", notes / "evil"


def swap_directory_behind_dots(index: Path, outside: Path) -> tuple[Path, Path]:
    """A directory that the link's target walks through and out of again is swapped."""
    deep = index.parents[2] / "deep"
    (deep / "down").mkdir(parents=True)
    (index.parents[2] / "mem.md").write_bytes(FACT)
    (deep / "evil").symlink_to(outside / "memory")
    (outside.parent / "mem.md").write_bytes(CANARY)
    index.unlink()
    index.symlink_to("../../deep/down/../../mem.md")
    return deep / "down", deep / "evil"


SWAPS: list[Swap] = [
    swap_leaf,
    swap_directory,
    swap_inner_directory,
    swap_leaf_behind_a_link,
    swap_directory_behind_dots,
]


@pytest.mark.parametrize("swap", SWAPS, ids=lambda swap: swap.__name__)
def test_no_race_brings_an_outside_byte(
    workspace: Path, project_index: Path, outside: Path, swap: Swap
) -> None:
    project_index.write_bytes(FACT)
    place = project_place(str(workspace))
    seen: set[bytes] = set()
    with attacker(*swap(project_index, outside)):
        for _ in range(READS):
            try:
                seen.add(store.read_tail(place, 1000).data)
            except OSError:
                continue
    assert seen <= {FACT}
    assert seen, "every read was refused: the race was not one"


def test_a_leaf_swapped_with_a_fifo_never_hangs(
    workspace: Path, project_index: Path
) -> None:
    project_index.write_bytes(FACT)
    place = project_place(str(workspace))
    os.mkfifo(project_index.with_name("evil"))
    seen: set[bytes] = set()
    with attacker(project_index, project_index.with_name("evil")):
        for _ in range(READS):
            try:
                seen.add(store.read_tail(place, 1000).data)
            except OSError:
                continue
    assert seen == {FACT}


def test_a_file_that_is_rewritten_meanwhile_is_one_of_both(
    workspace: Path, project_index: Path
) -> None:
    """Writers who rename never have us read half of one file and half of another."""
    old, new = b"- old\n" * 5000, b"- new\n" * 5000
    project_index.write_bytes(old)
    project_index.with_name("next").write_bytes(new)
    place = project_place(str(workspace))
    with attacker(project_index, project_index.with_name("next")):
        for _ in range(READS // 10):
            tail = store.read_tail(place, 10_000)
            assert old.endswith(tail.data) or new.endswith(tail.data)
            assert tail.data.startswith(tail.head) or not tail.whole


# --- The race is one --------------------------------------------------------------------


def read_if_no_link(workspace: Path, index: Path) -> bytes:
    if any(path.is_symlink() for path in (index, *index.parents[:2])):
        raise PermissionError
    return index.read_bytes()


def read_if_resolved_inside(workspace: Path, index: Path) -> bytes:
    if not index.resolve().is_relative_to(workspace.resolve()):
        raise PermissionError
    return index.read_bytes()


@pytest.mark.parametrize("read", [read_if_no_link, read_if_resolved_inside])
def test_a_reader_that_checks_and_then_opens_leaks(
    workspace: Path, project_index: Path, outside: Path, read
) -> None:
    project_index.write_bytes(FACT)
    with attacker(*swap_directory(project_index, outside)):
        for _ in range(NAIVE_READS):
            try:
                if read(workspace, project_index) == CANARY:
                    return
            except OSError:
                continue
    pytest.skip("no leak in so many reads: this machine runs one process at a time")
