"""Files are created whole, with their modes, and never over another."""

import fcntl
import multiprocessing
import os
import resource
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openhands_memory import writing
from openhands_memory.errors import MemoryFileError
from openhands_memory.layout import TierPlace, project_place, user_place
from openhands_memory.writing import (
    Written,
    append_private_record,
    append_record,
    change_file,
    create_file,
    replace_private_file,
)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[None]:
    previous = os.umask(0o022)
    yield
    os.umask(previous)


@pytest.mark.usefixtures("umask")
def test_each_level_of_the_user_tier_is_the_users_alone(tmp_path: Path) -> None:
    base = tmp_path / "persist" / "openhands"
    place = user_place(home=str(tmp_path), persistence_dir=str(base))
    assert create_file(place, b"- fact\n")
    assert mode(tmp_path / "persist") == mode(base) == mode(base / "memory") == 0o700
    assert mode(base / "memory" / "MEMORY.md") == 0o600


@pytest.mark.usefixtures("umask")
def test_the_project_tier_has_the_modes_of_its_repository(tmp_path: Path) -> None:
    assert create_file(project_place(str(tmp_path)), b"- fact\n")
    assert mode(tmp_path / ".openhands" / "memory") == 0o755
    assert mode(tmp_path / ".openhands" / "memory" / "MEMORY.md") == 0o644


@pytest.mark.parametrize("kind", ["file", "directory", "dangling link", "link"])
def test_what_exists_is_never_overwritten(kind: str, tmp_path: Path) -> None:
    place = project_place(str(tmp_path))
    there = Path(place.path)
    there.parent.mkdir(parents=True)
    outside = tmp_path / "outside"
    if kind == "file":
        there.write_text("mine")
    elif kind == "directory":
        there.mkdir()
    else:
        there.symlink_to(outside)
        if kind == "link":
            outside.write_text("theirs")
    assert not create_file(place, b"ours")
    assert names(there.parent) == ["MEMORY.md"]
    assert not outside.exists() or outside.read_text() == "theirs"


@pytest.mark.parametrize("part", [".openhands", "memory"])
def test_a_linked_directory_is_not_written_through(part: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace = tmp_path / "ws"
    parent = workspace if part == ".openhands" else workspace / ".openhands"
    parent.mkdir(parents=True)
    (parent / part).symlink_to(outside)
    with pytest.raises(MemoryFileError, match="nothing is written there"):
        create_file(project_place(str(workspace)), b"ours")
    assert list(outside.rglob("*")) == []


def test_a_failure_names_path_reason_and_remedy(tmp_path: Path) -> None:
    (tmp_path / ".openhands").write_text("a file")
    with pytest.raises(MemoryFileError) as caught:
        create_file(project_place(str(tmp_path)), b"ours")
    assert str(caught.value).startswith(str(tmp_path / ".openhands" / "memory"))


def test_replacing_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "state" / "approvals.json"
    replace_private_file(str(file), b"one")
    replace_private_file(str(file), b"two")
    assert file.read_bytes() == b"two"
    assert names(file.parent) == ["approvals.json"]
    assert (mode(file.parent), mode(file)) == (0o700, 0o600)


def test_a_failed_replacement_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "state"
    (file / "name").mkdir(parents=True)
    with pytest.raises(MemoryFileError):
        replace_private_file(str(file / "name"), b"new")
    assert names(file) == ["name"]


def test_places_are_values() -> None:
    place = TierPlace("user", "/h", ("memory", "MEMORY.md"), "~/m", confined=False)
    assert place == place._replace(confined=False)


# --- Changing -----------------------------------------------------------------------------


@pytest.fixture
def index(tmp_path: Path) -> Path:
    file = tmp_path / ".openhands" / "memory" / "MEMORY.md"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"- one\n")
    return file


def add_two(found: bytes | None) -> bytes:
    return (found or b"") + b"- two\n"


def test_a_change_keeps_the_mode_of_the_file(index: Path, tmp_path: Path) -> None:
    index.chmod(0o640)
    change_file(project_place(str(tmp_path)), add_two)
    assert (index.read_bytes(), mode(index)) == (b"- one\n- two\n", 0o640)
    assert names(index.parent) == ["MEMORY.md"]


def test_a_change_that_changes_nothing_writes_nothing(
    index: Path, tmp_path: Path
) -> None:
    before = index.stat()
    told: list[Written] = []
    place = project_place(str(tmp_path))
    written = change_file(place, lambda found: found, before_write=told.append)
    assert written == Written(b"- one\n", b"- one\n")
    assert (index.stat(), told) == (before, [])


def test_a_change_to_nothing_removes_the_file(index: Path, tmp_path: Path) -> None:
    change_file(project_place(str(tmp_path)), lambda _: None)
    assert names(index.parent) == []


def test_a_user_tiers_link_stays_a_link(tmp_path: Path) -> None:
    dotfile = tmp_path / "dotfiles" / "memory.md"
    dotfile.parent.mkdir()
    dotfile.write_bytes(b"- one\n")
    link = tmp_path / ".openhands" / "memory" / "MEMORY.md"
    link.parent.mkdir(parents=True)
    link.symlink_to("../../dotfiles/memory.md")
    change_file(user_place(home=str(tmp_path)), add_two)
    assert link.is_symlink()
    assert dotfile.read_bytes() == b"- one\n- two\n"
    assert names(dotfile.parent) == ["memory.md"]


def test_a_project_link_that_leads_outside_is_not_written_through(
    tmp_path: Path,
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_bytes(b"theirs")
    link = tmp_path / "ws" / ".openhands" / "memory" / "MEMORY.md"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    with pytest.raises(MemoryFileError, match="leads outside the workspace"):
        change_file(project_place(str(tmp_path / "ws")), add_two)
    assert outside.read_bytes() == b"theirs"


def test_a_change_made_meanwhile_is_kept(index: Path, tmp_path: Path) -> None:
    """An editor saves between our reading and our writing, twice."""
    edits = [b"- by hand\n", b"- by hand\n- again\n"]

    def change(found: bytes | None) -> bytes:
        if edits:
            index.write_bytes(edits.pop(0))
        return add_two(found)

    change_file(project_place(str(tmp_path)), change)
    assert index.read_bytes() == b"- by hand\n- again\n- two\n"
    assert names(index.parent) == ["MEMORY.md"]


def test_a_file_that_never_holds_still_is_left_alone(
    index: Path, tmp_path: Path
) -> None:
    turns = iter(range(1000))

    def change(found: bytes | None) -> bytes:
        index.write_bytes(f"- turn {next(turns)}\n".encode())
        return add_two(found)

    with pytest.raises(MemoryFileError, match="somebody else changed it"):
        change_file(project_place(str(tmp_path)), change)
    assert index.read_bytes().startswith(b"- turn ")
    assert names(index.parent) == ["MEMORY.md"]


def test_a_read_only_file_is_refused_with_its_mode_and_the_remedy(
    index: Path, tmp_path: Path
) -> None:
    index.chmod(0o444)
    with pytest.raises(MemoryFileError, match=r"mode 0444, owner \d+.*chmod u\+w"):
        change_file(project_place(str(tmp_path)), add_two)
    with pytest.raises(MemoryFileError, match="is read-only"):
        append_record(project_place(str(tmp_path)), b"- two\n")
    assert index.read_bytes() == b"- one\n"


def test_what_a_dead_writer_left_is_swept(index: Path, tmp_path: Path) -> None:
    (index.parent / ".openhands-memory-0123456789abcdef.tmp").write_bytes(b"half")
    (index.parent / ".mine.tmp").write_bytes(b"a person's")
    change_file(project_place(str(tmp_path)), add_two)
    assert names(index.parent) == [".mine.tmp", "MEMORY.md"]


# --- Appending ----------------------------------------------------------------------------


def test_a_torn_last_line_is_healed_first(index: Path, tmp_path: Path) -> None:
    index.write_bytes(b"- one")
    append_record(project_place(str(tmp_path)), b"- two\n")
    assert index.read_bytes() == b"- one\n- two\n"


def test_appending_moves_nothing(index: Path, tmp_path: Path) -> None:
    inode = index.stat().st_ino
    append_record(project_place(str(tmp_path)), b"- two\n")
    assert index.stat().st_ino == inode


def rollout(workspace: Path) -> TierPlace:
    return project_place(str(workspace))._replace(below=("sessions", "chat.jsonl"))


def test_a_private_record_is_made_for_the_user_alone(tmp_path: Path) -> None:
    append_private_record(rollout(tmp_path), b"{}\n")
    append_private_record(rollout(tmp_path), b"[]\n")
    file = tmp_path / "sessions" / "chat.jsonl"
    assert file.read_bytes() == b"{}\n[]\n"
    assert (mode(file), names(file.parent)) == (0o600, ["chat.jsonl"])


@pytest.mark.parametrize("torn", [b'{"half', b"\0"])
def test_a_torn_private_record_is_healed_first(torn: bytes, tmp_path: Path) -> None:
    append_private_record(rollout(tmp_path), b"{}\n" + torn)
    append_private_record(rollout(tmp_path), b"[]\n")
    file = tmp_path / "sessions" / "chat.jsonl"
    assert file.read_bytes() == b"{}\n" + torn + b"\n[]\n"


def test_a_private_record_is_appended_to_a_file_of_any_size(tmp_path: Path) -> None:
    append_private_record(rollout(tmp_path), b"{}\n")
    file = tmp_path / "sessions" / "chat.jsonl"
    os.truncate(file, 3 * 1024**3)
    append_private_record(rollout(tmp_path), b"[]\n")
    with file.open("rb") as stream:
        stream.seek(-5, os.SEEK_END)
        assert stream.read() == b"\0\n[]\n"


@pytest.mark.parametrize("kind", ["link", "dangling", "FIFO", "directory", "parent"])
def test_a_private_record_is_written_to_no_other_file(
    kind: str, tmp_path: Path
) -> None:
    other = tmp_path / "README.md"
    other.write_bytes(b"theirs\n")
    sessions = tmp_path / "sessions"
    file = sessions / "chat.jsonl"
    if kind == "parent":
        (tmp_path / "elsewhere").mkdir()
        sessions.symlink_to("elsewhere")
    else:
        sessions.mkdir()
    if kind in ("link", "dangling"):
        file.symlink_to("../README.md" if kind == "link" else "../missing")
    elif kind == "FIFO":
        os.mkfifo(file)
    elif kind == "directory":
        file.mkdir()
    with pytest.raises(MemoryFileError, match=r"chat\.jsonl: "):
        append_private_record(rollout(tmp_path), b"{}\n")
    assert other.read_bytes() == b"theirs\n"
    assert not (tmp_path / "missing").exists()
    if kind == "parent":
        assert names(tmp_path / "elsewhere") == []


def test_a_read_only_rollout_is_refused(tmp_path: Path) -> None:
    append_private_record(rollout(tmp_path), b"{}\n")
    file = tmp_path / "sessions" / "chat.jsonl"
    file.chmod(0o400)
    with pytest.raises(MemoryFileError, match="is read-only"):
        append_private_record(rollout(tmp_path), b"[]\n")
    assert file.read_bytes() == b"{}\n"


Append = Callable[[TierPlace, bytes], object]


def _limited(place: TierPlace, append: Append | None) -> None:
    """As if the disk were full: no file may grow beyond 4 KB."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    big = b"x" * 4000 + b"\n"
    try:
        if append:
            append(place, big)
        else:
            change_file(place, lambda found: (found or b"") + big)
    except MemoryFileError as error:
        sys.exit(0 if "could not be written" in str(error) else 2)
    sys.exit(3)


@pytest.mark.parametrize("append", [None, append_record, append_private_record])
def test_a_full_disk_leaves_the_old_file_whole(
    append: Append | None, index: Path, tmp_path: Path
) -> None:
    index.write_bytes(b"- fact\n" * 50)
    place = project_place(str(tmp_path))
    process = multiprocessing.get_context("fork").Process(
        target=_limited, args=(place, append)
    )
    process.start()
    process.join(30)
    assert process.exitcode == 0
    assert index.read_bytes() == b"- fact\n" * 50
    assert names(index.parent) == ["MEMORY.md"]


# --- Many writers ---------------------------------------------------------------------------


def _write_many(place: TierPlace, log: TierPlace, writer: int, times: int) -> None:
    for turn in range(times):
        line = f"- {writer} {turn}\n".encode()
        change_file(place, lambda found, line=line: (found or b"") + line)
        append_record(log, line)
        append_private_record(rollout(Path(place.base)), line)


def test_writers_side_by_side_lose_and_tear_nothing(tmp_path: Path) -> None:
    place = project_place(str(tmp_path))
    log = place._replace(below=(*place.below[:-1], "2026-11-29.md"))
    writers, times = 8, 25
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=_write_many, args=(place, log, writer, times))
        for writer in range(writers)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    expected = {f"- {w} {t}" for w in range(writers) for t in range(times)}
    for file in (place, log, rollout(tmp_path)):
        lines = Path(file.path).read_text().splitlines()
        assert len(lines) == len(expected)
        assert set(lines) == expected
    assert names(Path(place.directory)) == ["2026-11-29.md", "MEMORY.md"]


def _write_until_killed(place: TierPlace, acknowledged: int) -> None:
    turn = 0
    while True:
        turn += 1
        change_file(place, lambda _, turn=turn: b"%d\n" % turn * 1000)
        os.write(acknowledged, b"%d\n" % turn)


def test_a_writer_killed_at_any_moment_leaves_the_old_or_the_new_file(
    tmp_path: Path,
) -> None:
    trials = int(os.environ.get("OPENHANDS_MEMORY_KILLS", "15"))
    place = project_place(str(tmp_path))
    context = multiprocessing.get_context("fork")
    for trial in range(trials):
        reading, writing = os.pipe()
        process = context.Process(target=_write_until_killed, args=(place, writing))
        process.start()
        os.read(reading, 1)
        process.join(0.002 * (trial % 10) + 0.001)
        process.kill()
        process.join()
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            told = b"1" + pipe.read()
        last = int(told.split(b"\n")[-2])
        lines = Path(place.path).read_bytes().split(b"\n")
        assert len(lines) == 1001
        assert set(lines[:-1]) <= {b"%d" % last, b"%d" % (last + 1)}
        assert len(set(lines[:-1])) == 1


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("MEMORY.md", "src/app.py"),
        ("MEMORY.md", ".git/notes.md"),
        ("raw_memories.md", "NOTES.md"),
        ("phase_two_selection.json", ".env"),
        ("2026-11-30.md", "NOTES.md"),
    ],
)
def test_a_repository_does_not_choose_what_is_overwritten(
    name: str, target: str, tmp_path: Path
) -> None:
    """Only an index may be a link, and only to another Markdown file."""
    theirs = tmp_path / target
    theirs.parent.mkdir(parents=True, exist_ok=True)
    theirs.write_bytes(b"theirs")
    link = tmp_path / ".openhands" / "memory" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(theirs)
    place = project_place(str(tmp_path))
    place = place._replace(below=(*place.below[:-1], name))
    with pytest.raises(MemoryFileError, match="which is not written through it"):
        change_file(place, add_two)
    assert theirs.read_bytes() == b"theirs"
    assert names(link.parent) == [name]


def test_a_project_index_may_be_a_link_to_another_markdown_file(tmp_path: Path) -> None:
    notes = tmp_path / "NOTES.md"
    notes.write_bytes(b"- one\n")
    link = tmp_path / ".openhands" / "memory" / "MEMORY.md"
    link.parent.mkdir(parents=True)
    link.symlink_to("../../NOTES.md")
    change_file(project_place(str(tmp_path)), add_two)
    assert link.is_symlink()
    assert notes.read_bytes() == b"- one\n- two\n"


def test_a_lock_that_is_never_let_go_is_an_error(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_PATIENCE_SECONDS", 0)
    holder = os.open(index.parent, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        with pytest.raises(MemoryFileError, match="is locked by a process"):
            change_file(project_place(str(tmp_path)), add_two)
    finally:
        os.close(holder)
    change_file(project_place(str(tmp_path)), add_two)
    assert index.read_bytes().endswith(b"- two\n")
