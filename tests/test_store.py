"""The one door to disk: what it opens, what it refuses, how much it reads."""

import os
import stat
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

import openhands_memory
from openhands_memory import opening, store
from openhands_memory.errors import FileRefusedError
from openhands_memory.layout import TierPlace, project_place, user_place

Link = Callable[[Path, "str | Path"], Path]

posix_only = pytest.mark.skipif(os.name != "posix", reason="POSIX file systems only")


def project(workspace: Path) -> TierPlace:
    return project_place(str(workspace))


def user(home: Path) -> TierPlace:
    place = user_place(home=str(home))
    assert place is not None
    return place


def read(place: TierPlace, limit: int = 1000) -> bytes:
    return store.read_tail(place, limit).data


def refusal(place: TierPlace) -> str:
    with pytest.raises(FileRefusedError) as refused:
        store.read_tail(place, 1000)
    return refused.value.problem


# --- How much is read -------------------------------------------------------------------


def test_a_small_file_is_read_whole(workspace: Path, project_index: Path) -> None:
    project_index.write_bytes(b"- one\n- two\n")
    tail = store.read_tail(project(workspace), 1000)
    assert tail.data == b"- one\n- two\n"
    assert tail.head == b"- on"
    assert tail.whole


@pytest.mark.parametrize("size", [999, 1000, 1001, 1002, 1003, 5000, 5001])
def test_a_tail_is_read_with_what_tells_where_it_begins(
    workspace: Path, project_index: Path, size: int
) -> None:
    data = bytes(33 + i % 90 for i in range(size))
    project_index.write_bytes(data)
    tail = store.read_tail(project(workspace), 1000)
    assert data.endswith(tail.data)
    assert tail.head == data[:4]
    assert tail.whole == (tail.data == data)
    if not tail.whole:
        assert 1001 <= len(tail.data) <= 1002
        assert (size - len(tail.data)) % 2 == 0


def test_the_stat_is_that_of_the_file_that_was_read(
    workspace: Path, project_index: Path
) -> None:
    project_index.write_bytes(b"- fact\n")
    found = store.read_tail(project(workspace), 1000).stat
    expected = project_index.stat()
    assert found.size == 7
    assert found.modified_ns == expected.st_mtime_ns
    assert found.identity == (expected.st_dev, expected.st_ino)
    assert found.links == 1


def test_the_whole_file_is_read_as_it_was_seen(
    workspace: Path, project_index: Path
) -> None:
    place = project(workspace)
    project_index.write_bytes(b"- fact\n")
    seen = store.read_tail(place, 1000).stat
    assert store.read_all(place, 1000, seen=seen) == b"- fact\n"
    assert store.read_all(place, 6, seen=seen) is None
    project_index.write_bytes(b"- fact\n- added\n")
    assert store.read_all(place, 7, seen=seen) == b"- fact\n"
    for other in (b"- FACT\n", b"-\n"):
        project_index.write_bytes(other)
        os.utime(project_index, ns=(0, 0))
        assert store.read_all(place, 1000, seen=seen) is None


def test_nothing_is_absent_and_nothing_is_created(workspace: Path) -> None:
    with pytest.raises(FileNotFoundError):
        store.read_tail(project(workspace), 1000)
    with pytest.raises(FileNotFoundError):
        store.read_tail(project(workspace / "not there"), 1000)
    assert list(workspace.iterdir()) == []


# --- The project tier: nothing outside the workspace ------------------------------------


@pytest.mark.parametrize("part", [".openhands", ".openhands/memory"])
@pytest.mark.parametrize("absolute", [True, False])
def test_a_directory_that_is_a_link_inside_the_workspace_is_followed(
    workspace: Path, link: Link, part: str, absolute: bool
) -> None:
    below = "memory" if part == ".openhands" else "."
    (workspace / "docs" / below).mkdir(parents=True)
    (workspace / "docs" / below / "MEMORY.md").write_bytes(b"- fact\n")
    up = "../" * part.count("/")
    link(workspace / part, workspace / "docs" if absolute else f"{up}docs")
    assert read(project(workspace)) == b"- fact\n"


@pytest.mark.parametrize(
    "target",
    [
        "../../notes/mem.md",
        "./../../notes/../notes//mem.md",
        "../../.openhands/../notes/mem.md",
        "hop",
        "../memory/hop",
        "{workspace}/notes/mem.md",
        "{workspace}//notes/./mem.md",
        "{workspace}/.openhands/memory/hop",
    ],
)
def test_a_link_that_stays_inside_the_workspace_is_followed(
    workspace: Path, project_index: Path, link: Link, target: str
) -> None:
    (workspace / "notes").mkdir()
    (workspace / "notes" / "mem.md").write_bytes(b"- fact\n")
    link(project_index.with_name("hop"), "hop2")
    link(project_index.with_name("hop2"), "../../notes/mem.md")
    link(project_index, target.format(workspace=workspace))
    assert read(project(workspace)) == b"- fact\n"


@pytest.mark.parametrize(
    "target",
    [
        "../../../outside.md",
        "../../notes/../../outside.md",
        "{outside}",
        "{workspace}/../outside.md",
        "{workspace}/notes/../../outside.md",
        "../../way-out/outside.md",
        "../../way-up/outside.md",
        "hop",
    ],
)
def test_no_link_leads_out_of_the_workspace(
    workspace: Path, project_index: Path, link: Link, target: str
) -> None:
    outside = workspace.parent / "outside.md"
    outside.write_bytes(b"CANARY\n")
    (workspace / "notes").mkdir()
    link(workspace / "way-out", workspace.parent)
    link(workspace / "way-up", "..")
    link(project_index.with_name("hop"), outside)
    link(project_index, target.format(workspace=workspace, outside=outside))
    assert refusal(project(workspace)) == "a link leads outside the workspace"


def test_a_link_out_and_in_again_is_refused(
    workspace: Path, project_index: Path, link: Link
) -> None:
    (workspace / "mem.md").write_bytes(b"- fact\n")
    link(project_index, f"../../../{workspace.name}/mem.md")
    assert refusal(project(workspace)) == "a link leads outside the workspace"


def test_a_directory_with_a_name_that_begins_alike_is_outside(
    workspace: Path, project_index: Path, link: Link
) -> None:
    twin = workspace.with_name(f"{workspace.name}-2")
    twin.mkdir()
    (twin / "mem.md").write_bytes(b"CANARY\n")
    link(project_index, twin / "mem.md")
    assert refusal(project(workspace)) == "a link leads outside the workspace"


def test_a_workspace_that_is_reached_by_a_link_is_a_workspace(
    workspace: Path, project_index: Path, link: Link
) -> None:
    (workspace / "mem.md").write_bytes(b"- fact\n")
    alias = link(workspace.with_name("alias"), workspace)
    for target in (workspace / "mem.md", alias / "mem.md", "../../mem.md"):
        project_index.unlink(missing_ok=True)
        link(project_index, target)
        assert read(project(alias)) == b"- fact\n"


SECRETS = [
    ".env",
    ".env.local",
    ".ENV",
    ".envrc",
    "server.pem",
    "tls.key",
    "id_rsa",
    "id_ed25519",
    ".netrc",
    ".npmrc",
    ".git/config",
    ".ssh/config",
    ".aws/config",
    ".git-credentials",
    "credentials.json",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_link_to_a_file_of_secrets_is_refused(
    workspace: Path, project_index: Path, link: Link, secret: str
) -> None:
    target = workspace / secret
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(b"CANARY\n")
    link(project_index, f"../../{secret}")
    assert refusal(project(workspace)) == "a link leads to a file of secrets"


def test_a_link_by_way_of_the_name_of_a_file_of_secrets_is_refused(
    workspace: Path, project_index: Path, link: Link
) -> None:
    (workspace / "vault.txt").write_bytes(b"CANARY\n")
    link(workspace / ".env", "vault.txt")
    link(project_index, "../../.env")
    assert refusal(project(workspace)) == "a link leads to a file of secrets"


def test_a_link_to_an_ordinary_name_is_not_taken_for_secrets(
    workspace: Path, project_index: Path, link: Link
) -> None:
    for name in ("environment.md", "keys.md", "idea.md", "credential-policy.md"):
        (workspace / name).write_bytes(b"- fact\n")
        project_index.unlink(missing_ok=True)
        link(project_index, f"../../{name}")
        assert read(project(workspace)) == b"- fact\n"


def test_a_linked_directory_without_an_index_is_absent_not_dangling(
    workspace: Path, link: Link
) -> None:
    (workspace / "docs").mkdir()
    link(workspace / ".openhands", "docs")
    with pytest.raises(FileNotFoundError):
        store.read_tail(project(workspace), 1000)


@pytest.mark.parametrize("part", [".openhands", ".openhands/memory/MEMORY.md"])
@pytest.mark.parametrize("target", ["nowhere", "nowhere/at/all", "hop"])
def test_a_link_to_nothing_is_dangling(
    workspace: Path, link: Link, part: str, target: str
) -> None:
    path = link(workspace / part, target)
    link(path.with_name("hop"), "nowhere")
    assert refusal(project(workspace)) == "is a dangling link"


@pytest.mark.parametrize("links", [39, 41])
def test_a_chain_of_links_has_an_end(
    workspace: Path, project_index: Path, link: Link, links: int
) -> None:
    for number in range(links - 1):
        link(project_index.with_name(f"hop{number}"), f"hop{number + 1}")
    project_index.with_name(f"hop{links - 1}").write_bytes(b"- fact\n")
    link(project_index, "hop0")
    if links < 40:
        assert read(project(workspace)) == b"- fact\n"
    else:
        assert refusal(project(workspace)) == "is a loop of links"


def test_links_that_double_at_each_step_end_too(
    workspace: Path, project_index: Path, link: Link
) -> None:
    for number in range(30):
        link(project_index.with_name(f"d{number}"), f"d{number + 1}/../d{number + 1}")
    project_index.with_name("d30").mkdir()
    link(project_index, "d0")
    assert refusal(project(workspace)) == "is a loop of links"


def test_a_link_to_the_workspace_itself_is_a_directory(
    workspace: Path, project_index: Path, link: Link
) -> None:
    link(project_index, "../..")
    assert refusal(project(workspace)) == "is a directory"


def test_a_workspace_that_is_a_file_is_refused(workspace: Path) -> None:
    (workspace / "file").write_bytes(b"")
    expected = "a part of its path is not a directory"
    assert refusal(project(workspace / "file")) == expected


@pytest.mark.parametrize("name", ["nul\0byte", "surrogate\ud800"])
def test_a_path_that_cannot_exist_is_refused(memory_home: Path, name: str) -> None:
    expected = "its path has a character that no file name can have"
    assert refusal(project_place(f"{memory_home}/{name}")) == expected
    place = user_place(home=f"{memory_home}/{name}")
    assert place is not None
    assert refusal(place) == expected


def test_a_name_that_is_too_long_is_an_error_of_the_system(workspace: Path) -> None:
    with pytest.raises(OSError, match="too long"):
        store.read_tail(project(workspace / ("x" * 300)), 1000)


def test_no_descriptor_is_left_open(
    workspace: Path, project_index: Path, link: Link
) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("descriptors are counted in /proc")
    outside = workspace.parent / "outside.md"
    outside.write_bytes(b"CANARY\n")
    before = len(list(descriptors.iterdir()))
    for make in (
        lambda: project_index.write_bytes(b"- fact\n"),
        lambda: link(project_index, outside),
        lambda: project_index.mkdir(),
        lambda: os.mkfifo(project_index),
    ):
        make()
        for _ in range(20):
            try:
                store.read_tail(project(workspace), 1000)
            except OSError:
                continue
        if project_index.is_dir() and not project_index.is_symlink():
            project_index.rmdir()
        else:
            project_index.unlink()
    assert len(list(descriptors.iterdir())) == before


# --- What is swapped between the look and the opening -----------------------------------

OPEN = """
import os, sys
from openhands_memory import opening, store
from openhands_memory.layout import project_place
try:
    opening._open_file(project_place(os.sep), sys.argv[1])
except OSError as error:
    print(type(error).__name__, error)
"""


@posix_only
def test_a_file_that_became_a_fifo_is_opened_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert "not a regular file (a FIFO)" in python(OPEN, tmp_path / "fifo")


@posix_only
def test_a_file_that_became_a_link_is_not_followed(tmp_path: Path, link: Link) -> None:
    (tmp_path / "outside.md").write_bytes(b"CANARY\n")
    opened = python(OPEN, link(tmp_path / "link", tmp_path / "outside.md"))
    assert opened.startswith("OSError")


# --- The same rules where the system cannot walk descriptors ----------------------------


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("../../notes/mem.md", None),
        ("{workspace}/notes/mem.md", None),
        ("../../../outside.md", "a link leads outside the workspace"),
        ("{workspace}/../outside.md", "a link leads outside the workspace"),
        ("../../.env", "a link leads to a file of secrets"),
        ("nowhere", "is a dangling link"),
        ("..", "is a directory"),
    ],
)
def test_opening_by_path_keeps_the_same_rules(
    workspace: Path, project_index: Path, link: Link, target: str, problem: str | None
) -> None:
    (workspace.parent / "outside.md").write_bytes(b"CANARY\n")
    (workspace / ".env").write_bytes(b"CANARY\n")
    (workspace / "notes").mkdir()
    (workspace / "notes" / "mem.md").write_bytes(b"- fact\n")
    link(project_index, target.format(workspace=workspace))
    if problem:
        with pytest.raises(FileRefusedError, match=problem):
            opening._open_by_path(project(workspace))
    else:
        descriptor = opening._open_by_path(project(workspace))
        assert os.read(descriptor, 100) == b"- fact\n"
        os.close(descriptor)


# --- The user tier: the user's own links ------------------------------------------------


def test_a_link_to_a_file_of_the_user_is_followed(
    memory_home: Path, user_index: Path, link: Link, tmp_path: Path
) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "memory.md").write_bytes(b"- fact\n")
    link(user_index, tmp_path / "dotfiles" / "memory.md")
    assert read(user(memory_home)) == b"- fact\n"


@pytest.mark.parametrize("part", [".openhands", ".openhands/memory"])
def test_a_directory_of_the_user_tier_may_be_a_link(
    memory_home: Path, link: Link, tmp_path: Path, part: str
) -> None:
    below = "memory" if part == ".openhands" else "."
    (tmp_path / "dotfiles" / below).mkdir(parents=True)
    (tmp_path / "dotfiles" / below / "MEMORY.md").write_bytes(b"- fact\n")
    link(memory_home / part, tmp_path / "dotfiles")
    assert read(user(memory_home)) == b"- fact\n"


def test_a_home_directory_may_be_a_link(
    memory_home: Path, user_index: Path, link: Link, tmp_path: Path
) -> None:
    user_index.write_bytes(b"- fact\n")
    assert read(user(link(tmp_path / "alias", memory_home))) == b"- fact\n"


@pytest.mark.parametrize("secret", SECRETS)
def test_the_user_tier_does_not_follow_links_to_secrets_either(
    memory_home: Path, user_index: Path, link: Link, secret: str
) -> None:
    target = memory_home / secret
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(b"CANARY\n")
    link(user_index, target)
    assert refusal(user(memory_home)) == "a link leads to a file of secrets"


@posix_only
def test_a_link_to_a_file_of_another_user_is_refused(
    memory_home: Path, user_index: Path, link: Link, tmp_path: Path
) -> None:
    if os.geteuid() == 0:
        target = tmp_path / "theirs.md"
        target.write_bytes(b"CANARY\n")
        os.chown(target, 65534, 65534)
    else:
        target = Path("/etc/hostname")
        if not target.exists():
            pytest.skip("no readable file of another user here")
    link(user_index, target)
    assert refusal(user(memory_home)) == "links to a file of another user"


@posix_only
def test_a_link_into_a_directory_of_another_user_is_refused(
    memory_home: Path, user_index: Path, link: Link, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "mem.md").write_bytes(b"CANARY\n")
    os.chown(theirs, 65534, 65534)
    link(user_index, theirs / "mem.md")
    assert refusal(user(memory_home)) == "links to a file of another user"


# --- Permissions ------------------------------------------------------------------------

#: Run as an ordinary user, whoever runs the tests: root may read everything.
AS_USER = """
import os, shutil, sys, tempfile
from openhands_memory import opening, store
from openhands_memory.layout import project_place
root = os.path.join(tempfile.mkdtemp(dir=sys.argv[1]), "ws")
memory = os.path.join(root, ".openhands", "memory")
os.makedirs(memory)
index = os.path.join(memory, "MEMORY.md")
with open(index, "w") as file:
    file.write("- fact\\n")
if os.geteuid() == 0:
    for path in (os.path.dirname(root), root, os.path.dirname(memory), memory, index):
        os.chown(path, 65534, 65534)
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
part = os.path.normpath(os.path.join(root, sys.argv[2]))
os.chmod(part, int(sys.argv[3], 8))
try:
    print(store.read_tail(project_place(root), 1000).data.decode(), end="")
except OSError as error:
    print(type(error).__name__)
finally:
    os.chmod(part, 0o700)
    shutil.rmtree(os.path.dirname(root))
"""


@posix_only
@pytest.mark.parametrize(
    ("part", "mode", "expected"),
    [
        (".openhands/memory/MEMORY.md", "0400", "- fact"),
        (".openhands/memory/MEMORY.md", "0000", "PermissionError"),
        (".openhands/memory", "0000", "PermissionError"),
        (".openhands", "0000", "PermissionError"),
        (".", "0000", "PermissionError"),
        (".openhands", "0600", "PermissionError"),
    ],
)
def test_what_may_not_be_read_is_not_read(part: str, mode: str, expected: str) -> None:
    assert as_user(part, mode) == expected


@posix_only
@pytest.mark.parametrize("part", [".", ".openhands", ".openhands/memory"])
def test_a_directory_need_not_be_listable(part: str) -> None:
    if not hasattr(os, "O_PATH"):
        pytest.skip("a directory is opened for listing here")
    assert as_user(part, "0100") == "- fact"


def as_user(part: str, mode: str) -> str:
    # Below the system's temporary directory: pytest's own is closed to other users.
    return python(AS_USER, tempfile.gettempdir(), part, mode)


def python(code: str, *arguments: object) -> str:
    """What *code* prints, in a process of its own with a time limit."""
    result = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(openhands_memory.__file__).parents[1]),
        },
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return result.stdout.strip()


# --- Looking around ---------------------------------------------------------------------


def test_names_are_listed_up_to_a_limit(workspace: Path) -> None:
    for number in range(5):
        (workspace / str(number)).touch()
    assert sorted(store.names_in(str(workspace))) == ["0", "1", "2", "3", "4"]
    assert len(store.names_in(str(workspace), limit=3)) == 3
    assert store.names_in(str(workspace / "not there")) == []
    assert store.names_in(str(workspace / "0")) == []
    assert store.names_in("nul\0byte") == []


def test_a_dangling_link_exists(workspace: Path, link: Link) -> None:
    assert store.exists(str(link(workspace / "link", "nowhere")))
    assert not store.exists(str(workspace / "nowhere"))


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"one\n", "one"),
        (b"one", "one"),
        (b"one\ntwo\n", None),
        (b"", None),
        (b"x" * 101, None),
    ],
)
def test_only_a_single_short_line_is_one(
    workspace: Path, project_index: Path, data: bytes, line: str | None
) -> None:
    project_index.write_bytes(data)
    assert store.read_one_line(project(workspace), 100) == line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gitdir: /repo/.git/worktrees/wt\n", "/repo"),
        ("gitdir: ../repo/.git/worktrees/wt\n", "{parent}/repo"),
        ("gitdir: /repo.git/worktrees/wt\n", None),
        ("gitdir: ../.git/modules/sub\n", None),
        ("nonsense", None),
    ],
)
def test_a_linked_worktree_names_its_main_checkout(
    workspace: Path, line: str, expected: str | None
) -> None:
    (workspace / ".git").write_text(line)
    (workspace / "deep" / "down").mkdir(parents=True)
    for start in (workspace, workspace / "deep" / "down"):
        found = store.main_checkout(str(start))
        assert found == (expected and expected.format(parent=workspace.parent))


def test_an_ordinary_checkout_is_no_linked_one(workspace: Path) -> None:
    assert store.main_checkout(str(workspace)) is None
    (workspace / ".git").mkdir()
    assert store.main_checkout(str(workspace)) is None


def test_reading_changes_nothing_on_disk(workspace: Path, project_index: Path) -> None:
    project_index.write_bytes(b"- fact\n")
    project_index.chmod(0o444)
    before = project_index.stat()
    read(project(workspace))
    after = project_index.stat()
    assert (after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_mtime_ns,
        before.st_ctime_ns,
    )
    assert stat.S_IMODE(after.st_mode) == 0o444


# --- Lines ------------------------------------------------------------------------------


def lines_of(workspace: Path, limit: int = 10) -> list[bytes | None]:
    return list(store.read_lines(project(workspace), limit=limit))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [b"\n"]),
        (b"one\ntwo\n", [b"one\n", b"two\n"]),
        (b"one\n\ntorn", [b"one\n", b"\n", b"torn"]),
        (b"a\rb\x0bc\x1e\xc2\x85\n", [b"a\rb\x0bc\x1e\xc2\x85\n"]),
        (b"123456789\n1234567890\nx", [b"123456789\n", None, b"x"]),
        (b"12345678901", [None]),
    ],
)
def test_lines_end_at_a_line_feed_and_nowhere_else(
    workspace: Path, project_index: Path, data: bytes, expected: list[bytes | None]
) -> None:
    project_index.write_bytes(data)
    assert lines_of(workspace) == expected


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2])
def test_lines_are_whole_wherever_the_file_was_read_in_parts(
    workspace: Path, project_index: Path, shift: int
) -> None:
    chunk = 256 * 1024
    lines = [b"x" * (chunk + shift - 1) + b"\n", b"two\n", b"y" * 3 * chunk + b"\n"]
    project_index.write_bytes(b"".join(lines))
    assert lines_of(workspace, 4 * chunk) == lines
    assert lines_of(workspace, chunk + 3) == [lines[0], lines[1], None]


def test_a_huge_line_is_passed_over_in_bounded_memory(
    workspace: Path, project_index: Path
) -> None:
    project_index.write_bytes(b"one\n")
    os.truncate(project_index, 300 * 1024 * 1024)
    with project_index.open("ab") as file:
        file.write(b"\nlast\n")
    tracemalloc.start()
    assert lines_of(workspace, 1024) == [b"one\n", None, b"last\n"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 1024 * 1024


def test_lines_are_read_of_no_file_that_leads_out(
    workspace: Path, project_index: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"theirs\n")
    project_index.unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        lines_of(workspace)
    project_index.symlink_to(outside)
    with pytest.raises(FileRefusedError, match="leads outside"):
        lines_of(workspace)
