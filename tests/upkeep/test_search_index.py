"""Search over files: whatever people do to them, the index gives no other answer."""

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from openhands_memory.upkeep import search_index
from openhands_memory.upkeep.search import EmptyQueryError, SearchResult
from openhands_memory.upkeep.search_index import (
    INDEX_NAME,
    SearchFile,
    SearchFolder,
    read_file,
    search,
)

SEQUENCES = int(os.environ.get("SEARCH_SEQUENCES", "2000"))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    for day in range(1, 21):
        text = f"# Day {day}\n\n- deployed build {day}\n- lunch\n"
        (folder / f"2026-11-{day:02}.md").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files settle at once, as if they had been written long ago."""
    monkeypatch.setattr(search_index, "RACY_NS", -1_000_000_000)


def ask(
    words: str, logs: Path, cache: Path | None = None, **rest: object
) -> SearchResult:
    places = [SearchFolder(logs, ".openhands/memory", "project")]
    return search(words, places, cache_dir=cache, **rest)  # pyright: ignore[reportArgumentType]


def texts(result: SearchResult) -> list[str]:
    return [hit.text for hit in result.hits]


# --- Results --------------------------------------------------------------------------


def test_a_hit_says_where_it_stands(logs: Path) -> None:
    (hit, *_) = ask("build 7", logs).hits

    assert (hit.path, hit.line, hit.end_line) == (
        ".openhands/memory/2026-11-07.md",
        3,
        3,
    )
    assert (hit.tier, hit.date, hit.text) == (
        "project",
        date(2026, 11, 7),
        "- deployed build 7",
    )


def test_total_counts_the_hits_before_the_limit(logs: Path) -> None:
    result = ask("deployed", logs, limit=3)

    assert (len(result.hits), result.total, result.searched) == (3, 20, 20)
    assert ask("deployed", logs, limit=0).hits == ()


def test_of_equal_hits_the_newest_comes_first(logs: Path) -> None:
    days = [hit.date for hit in ask("lunch", logs, limit=20).hits]

    assert days == sorted(days, reverse=True)  # pyright: ignore[reportArgumentType]


def test_since_and_until_are_inclusive(logs: Path) -> None:
    since, until = date(2026, 11, 5), date(2026, 11, 7)
    result = ask("lunch", logs, since=since, until=until)

    assert {hit.date and hit.date.day for hit in result.hits} == {5, 6, 7}
    assert (result.total, result.searched) == (3, 3)


def test_a_date_filter_names_the_files_that_have_no_date(logs: Path) -> None:
    (logs / "MEMORY.md").write_text("- lunch is at noon\n", encoding="utf-8")
    result = ask("lunch", logs, since=date(2026, 11, 20))

    assert len(result.hits) == 1
    assert [missed.path for missed in result.not_searched] == [
        ".openhands/memory/MEMORY.md"
    ]
    assert "no date" in result.not_searched[0].reason


def test_one_tier_can_be_searched_alone(logs: Path, tmp_path: Path) -> None:
    index = tmp_path / "MEMORY.md"
    index.write_text("- lunch without meat\n", encoding="utf-8")
    places = [
        SearchFile(index, "~/.openhands/memory/MEMORY.md", "user"),
        SearchFolder(logs, ".openhands/memory", "project"),
    ]
    result = search("lunch", places, cache_dir=None, tier="user")

    assert texts(result) == ["- lunch without meat"]
    assert result.searched == 1


def test_the_filter_does_not_change_the_scores(logs: Path) -> None:
    whole = ask("build 7", logs).hits[0]
    part = ask("build 7", logs, since=date(2026, 11, 7)).hits[0]

    assert part == whole


def test_a_word_in_the_oldest_of_400_logs_is_found(tmp_path: Path) -> None:
    """B44 of the public reports: no cap hides old records."""
    for number in range(400):
        day = date.fromordinal(date(2025, 1, 1).toordinal() + number)
        lines = [f"- entry {line} of {day}" for line in range(30)]
        lines[17] = "- the xylograph is oiled" if number == 0 else lines[17]
        (tmp_path / f"{day}.md").write_text("\n".join(lines), encoding="utf-8")
    result = ask("xylograph", tmp_path)

    assert texts(result) == ["- the xylograph is oiled"]
    assert (result.searched, result.not_searched) == (400, ())


def test_absent_files_and_folders_are_no_failures(tmp_path: Path) -> None:
    places = [
        SearchFolder(tmp_path / "none", "none", "project"),
        SearchFile(tmp_path / "MEMORY.md", "MEMORY.md", "project"),
    ]

    assert search("word", places, cache_dir=None) == SearchResult((), 0, 0, ())


def test_nothing_to_look_for_is_an_error(logs: Path) -> None:
    with pytest.raises(EmptyQueryError, match="at least one word"):
        ask(' "" ', logs)


@pytest.mark.parametrize(
    "words",
    [
        "build AND OR NOT",
        'build "',
        "own:build",
        "build*",
        "^build",
        "NEAR(build deployed, 2)",
        "build\0lunch",
        "build ) ; DROP TABLE entry --",
        "\udcff build",
        "build " * 5_000,
        "build " + " ".join(map(str, range(3_000))),
    ],
)
def test_no_query_is_a_program(words: str, logs: Path) -> None:
    assert ask(words, logs).total >= 20


# --- Files that are no memory ---------------------------------------------------------


def test_what_cannot_be_read_is_named_with_its_reason(
    logs: Path, tmp_path: Path
) -> None:
    (logs / "folder.md").mkdir()
    (logs / "link.md").symlink_to(logs / "2026-11-01.md")
    (logs / "dangling.md").symlink_to(tmp_path / "nothing")
    (logs / "binary.md").write_bytes(b"lunch\0\0\0\0\0\0")
    with (logs / "sparse.md").open("wb") as file:
        file.truncate(10_000_000_000)
    reasons = {
        m.path.rpartition("/")[2]: m.reason for m in ask("lunch", logs).not_searched
    }

    assert set(reasons) == {
        "folder.md",
        "link.md",
        "dangling.md",
        "binary.md",
        "sparse.md",
    }
    assert reasons["folder.md"] == "is not a regular file"
    assert reasons["link.md"] == "is a symbolic link"
    assert reasons["dangling.md"] == "is a symbolic link to nothing"
    assert reasons["binary.md"] == "is not UTF-8 text"
    assert reasons["sparse.md"] == (
        "is too large: 10,000,000,000 bytes; the limit is 8,388,608"
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
def test_a_fifo_is_not_waited_for(logs: Path) -> None:
    os.mkfifo(logs / "2026-11-30.md")
    result = ask("lunch", logs)

    assert [missed.reason for missed in result.not_searched] == [
        "is not a regular file"
    ]
    with pytest.raises(OSError, match="not a regular file"):
        read_file(str(logs / "2026-11-30.md"), 100)


@pytest.mark.usefixtures("later")
def test_a_refused_file_is_named_again_by_the_index(logs: Path, tmp_path: Path) -> None:
    (logs / "binary.md").write_bytes(b"lunch\0\0\0\0\0\0")
    first, second = (ask("lunch", logs, tmp_path / "cache") for _ in range(2))

    assert first == second
    assert len(second.not_searched) == 1


@pytest.mark.skipif(os.name == "nt", reason="such names are POSIX")
def test_a_file_name_need_not_be_utf_8(tmp_path: Path) -> None:
    for number in range(10):
        Path(tmp_path, os.fsdecode(b"caf\xe9%d.md" % number)).write_bytes(b"- lunch\n")

    assert ask("lunch", tmp_path, tmp_path / "cache").total == 10


def test_bad_bytes_a_bom_and_utf_16_are_text(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbflunch \xff one\n")
    (tmp_path / "b.md").write_bytes("lunch two\n".encode("utf-16"))
    result = ask("lunch", tmp_path)

    assert set(texts(result)) == {"lunch \ufffd one", "lunch two"}


def test_the_reader_can_be_replaced(logs: Path) -> None:
    def refuse(path: str, most: int) -> bytes:
        raise PermissionError(13, "leads out of the workspace", path)

    result = ask("lunch", logs, read=refuse)

    assert (result.searched, len(result.not_searched)) == (0, 20)
    assert {m.reason for m in result.not_searched} == {"leads out of the workspace"}


# --- The index ------------------------------------------------------------------------


@pytest.mark.usefixtures("later")
def test_only_what_changed_is_read_again(logs: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"

    assert ask("lunch", logs, cache).read == 20
    assert ask("lunch", logs, cache).read == 0
    (logs / "2026-11-07.md").write_text("- late supper\n", encoding="utf-8")
    after = ask("supper", logs, cache)
    assert (after.read, texts(after)) == (1, ["- late supper"])
    (logs / "2026-11-08.md").unlink()
    assert ask("lunch", logs, cache).total == 18


def test_a_fresh_file_is_read_again_until_it_has_settled(
    logs: Path, tmp_path: Path
) -> None:
    cache, now = tmp_path / "cache", time.time_ns()
    reads = [
        ask("lunch", logs, cache, clock=lambda at=after: now + at * 1_000_000_000).read
        for after in (0, 1, 3, 4)
    ]

    assert reads == [20, 20, 20, 0]


def test_the_index_is_private_and_nothing_is_written_beside_the_memory(
    logs: Path, tmp_path: Path
) -> None:
    before = sorted(logs.iterdir())
    ask("lunch", logs, tmp_path / "cache")

    assert sorted(logs.iterdir()) == before
    if os.name != "nt":
        assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "cache" / INDEX_NAME).stat().st_mode & 0o777 == 0o600


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garbage(path: Path) -> None:
    path.write_bytes(b"not a database" * 1_000)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


def holes(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + bytes(len(content) - 4096))


def another_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 1")


def another_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE file")


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize(
    "damage", [Path.unlink, empty, garbage, cut, holes, another_version, another_table]
)
def test_a_damaged_index_is_built_again(
    damage: Callable[[Path], None], logs: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    whole = ask("build 7", logs, cache)
    damage(cache / INDEX_NAME)

    assert ask("build 7", logs, cache) == whole
    assert ask("build 7", logs, cache).read == 0


def test_a_cache_that_cannot_be_used_costs_only_time(
    logs: Path, tmp_path: Path
) -> None:
    whole = ask("build 7", logs)
    a_file = tmp_path / "file"
    a_file.write_text("", encoding="utf-8")
    (tmp_path / "taken" / INDEX_NAME).mkdir(parents=True)

    assert ask("build 7", logs, a_file) == whole
    assert ask("build 7", logs, a_file / "below") == whole
    assert ask("build 7", logs, tmp_path / "taken") == whole


def test_a_locked_index_is_not_waited_for_longer_than_a_moment(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    whole = ask("build 7", logs, cache)
    monkeypatch.setattr(search_index, "_BUSY_SECONDS", 0.05)
    (logs / "2026-11-09.md").touch()
    with closing(sqlite3.connect(cache / INDEX_NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert ask("build 7", logs, cache) == whole

    assert (cache / INDEX_NAME).exists()


def test_processes_can_search_at_once(logs: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from openhands_memory.upkeep.search_index import SearchFolder, search\n"
        "place = SearchFolder(sys.argv[1], 'm', 'project')\n"
        "for number in range(10):\n"
        "    Path(sys.argv[1], f'{sys.argv[3]}.md').write_text(f'- own {number}')\n"
        "    found = search('own', [place], cache_dir=Path(sys.argv[2]))\n"
        "    assert f'- own {number}' in [hit.text for hit in found.hits]\n"
    )
    command = [sys.executable, "-c", code, str(logs), str(tmp_path / "cache")]
    running = [subprocess.Popen([*command, f"p{n}"]) for n in range(4)]

    assert [process.wait(timeout=60) for process in running] == [0] * 4
    assert ask("own", logs, tmp_path / "cache") == ask("own", logs)


# --- Hand edits -----------------------------------------------------------------------

WORDS = ["alpha", "gamma", "kappa", "sigma", "omega"]  # of one length
NAMES = [f"2026-11-{day:02}.md" for day in range(1, 8)] + ["MEMORY.md", "notes.md"]


def is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


class Hand:
    """A person at the files, with a random mind and a restless clock."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)  # noqa: S311 - a reproducible test

    def any_file(self) -> Path | None:
        files = [path for path in sorted(self.folder.iterdir()) if path.is_file()]
        return self.chance.choice(files) if files else None

    def text(self) -> str:
        lines = self.chance.choices(WORDS, k=self.chance.randint(0, 4))
        return "".join(f"- {word} {self.chance.choice(WORDS)}\n" for word in lines)

    def act(self) -> str:
        deed = self.chance.choice(
            [self.add, self.append, self.swap, self.swap_and_restore, self.delete,
             self.rename, self.replace, self.exchange, self.become_directory,
             self.become_link, self.touch]
        )  # fmt: skip
        deed()
        return deed.__name__

    def add(self) -> None:
        path = self.folder / self.chance.choice(NAMES)
        if not is_directory(path):
            path.unlink(missing_ok=True)
            path.write_text(self.text(), encoding="utf-8")

    def append(self) -> None:
        if path := self.any_file():
            with path.open("a", encoding="utf-8") as file:
                file.write(self.text())

    def swap(self) -> None:
        """Edit in place without changing the size."""
        if (path := self.any_file()) and not path.is_symlink():
            text = path.read_text(encoding="utf-8")
            old, new = self.chance.sample(WORDS, 2)
            with path.open("r+", encoding="utf-8") as file:
                file.write(text.replace(old, new, 1))

    def swap_and_restore(self) -> None:
        """The same, and put the modification time back."""
        if path := self.any_file():
            was = path.stat()
            self.swap()
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))

    def delete(self) -> None:
        if path := self.any_file():
            path.unlink()

    def rename(self) -> None:
        target = self.folder / self.chance.choice(NAMES)
        if (path := self.any_file()) and not is_directory(target):
            path.replace(target)

    def replace(self) -> None:
        """As editors save: a new file over the old one, with the old one's time."""
        if (path := self.any_file()) and not path.is_symlink():
            was = path.stat()
            new = path.with_suffix(".tmp")
            new.write_text(self.text(), encoding="utf-8")
            os.utime(new, ns=(was.st_atime_ns, was.st_mtime_ns))
            new.replace(path)

    def exchange(self) -> None:
        """Two files change places, and keep their times."""
        one, two = self.any_file(), self.any_file()
        if one and two and one != two:
            aside = self.folder / "aside"
            one.rename(aside)
            two.rename(one)
            aside.rename(two)

    def become_directory(self) -> None:
        path = self.folder / self.chance.choice(NAMES)
        if is_directory(path):
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
            path.mkdir()

    def become_link(self) -> None:
        if (path := self.any_file()) and (target := self.any_file()) and path != target:
            path.unlink()
            path.symlink_to(target)

    def touch(self) -> None:
        if (path := self.any_file()) and not path.is_symlink():
            path.touch()


def steps(tmp_path: Path, sequences: int) -> Iterator[tuple[str, SearchResult, bool]]:
    """Play sequences of edits; after each tell what was done, found, and if rightly."""
    memory, cache = tmp_path / "memory", tmp_path / "cache"
    memory.mkdir()
    for seed in range(sequences):
        hand = Hand(memory, seed)
        deeds: list[str] = []
        for _ in range(hand.chance.randint(1, 5)):
            deeds += [hand.act() for _ in range(hand.chance.choice([1, 1, 1, 2, 3]))]
            if hand.chance.random() < 0.1:
                time.sleep(0.024)  # twice the racy span of the tests
            words = " ".join(hand.chance.sample(WORDS, 2))
            found = ask(words, memory, cache, limit=50)
            right = found == ask(words, memory, limit=50)
            yield f"seed {seed}: {deeds}", found, right


@pytest.fixture
def coarse_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that counts in ticks of 10 ms, as older kernels do, FAT in 2 s."""

    def ask_states(sources: search_index._Sources) -> None:  # pyright: ignore
        real(sources)
        for path, (modified, changed, *rest) in sources.marks.items():
            ticks = [10_000_000 * (at // 10_000_000) for at in (modified, changed)]
            sources.marks[path] = (*ticks, *rest)  # pyright: ignore

    real = search_index._ask_states  # pyright: ignore
    monkeypatch.setattr(search_index, "_ask_states", ask_states)
    monkeypatch.setattr(search_index, "INDEX_FROM_FILES", 0)


@pytest.mark.usefixtures("coarse_clock")
def test_after_any_hand_edit_the_index_agrees_with_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short racy span lets files settle between edits, so that both ways are taken.

    SEARCH_SEQUENCES=5000 plays more than the few that every run can afford.
    """
    monkeypatch.setattr(search_index, "RACY_NS", 12_000_000)
    read = searched = 0
    for deeds, found, right in steps(tmp_path, SEQUENCES):
        assert right, deeds
        read, searched = read + found.read, searched + found.searched
    assert searched / 10 < read < searched


@pytest.mark.usefixtures("coarse_clock")
def test_without_the_racy_rule_the_same_edits_go_unseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The property above can fail: times alone do not show every edit."""
    monkeypatch.setattr(search_index, "RACY_NS", -1_000_000_000)

    assert not all(right for _, _, right in steps(tmp_path, 2_000))
