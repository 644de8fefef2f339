"""Whatever lies where memory should be: nothing leaks, nothing hangs, nothing raises.

Each layout is read in a process of its own with a time limit, with all logging shown.
"""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import openhands_memory

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX file systems only")

CANARY = "CANARY-7f3a91"
SECONDS = 20
MEGABYTE = 1024 * 1024

READ = """
import json, logging, resource, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
limit = 600 * 1024 * 1024
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from openhands_memory import resolve_memory
memory = resolve_memory(sys.argv[1])
print(json.dumps(memory.as_dict()))
print(repr(memory), memory.warnings, file=sys.stderr)
"""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory that no tier may show, with a file that would be an index."""
    outside = tmp_path / "outside"
    (outside / "memory").mkdir(parents=True)
    for path in (outside / "MEMORY.md", outside / "memory" / "MEMORY.md"):
        path.write_text(f"- {CANARY}\n")
    return outside


@pytest.fixture(params=["user", "project"])
def tier(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def index(tier: str, user_index: Path, project_index: Path) -> Path:
    return user_index if tier == "user" else project_index


@pytest.fixture
def read(tier: str, workspace: Path) -> Iterator[Callable[[], dict[str, Any]]]:
    """Read memory in a process of its own and return the report on *tier*."""
    # A standard input that never ends, for what links to it.
    source, sink = os.pipe()

    def run() -> dict[str, Any]:
        result = subprocess.run(
            [sys.executable, "-c", READ, str(workspace)],
            env={
                **os.environ,
                "LEAK": CANARY,
                "PYTHONPATH": str(Path(openhands_memory.__file__).parents[1]),
            },
            stdin=source,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        assert CANARY not in result.stdout + result.stderr
        report = json.loads(result.stdout)
        (found,) = (t for t in report["tiers"] if t["name"] == tier)
        return {**found, "text": report["text"]}

    yield run
    os.close(source)
    os.close(sink)


def replace(path: Path, make: Callable[[Path], object]) -> None:
    """Put what *make* makes in the place of *path* and all below it."""
    for below in sorted(path.rglob("*"), reverse=True):
        below.rmdir() if below.is_dir() else below.unlink()
    if path.is_dir():
        path.rmdir()
    make(path)


# --- Links ------------------------------------------------------------------------------

LINKS_OUT: dict[str, Callable[[Path, Path], None]] = {
    "absolute": lambda index, outside: index.symlink_to(outside / "MEMORY.md"),
    "relative": lambda index, outside: index.symlink_to(
        os.path.relpath(outside / "MEMORY.md", index.parent)
    ),
    "chain": lambda index, outside: (
        index.with_name("hop").symlink_to(outside / "MEMORY.md"),
        index.symlink_to("hop"),
    )[0],
    "memory directory": lambda index, outside: replace(
        index.parent, lambda path: path.symlink_to(outside)
    ),
    ".openhands directory": lambda index, outside: replace(
        index.parent.parent, lambda path: path.symlink_to(outside)
    ),
}


@pytest.mark.parametrize("make", LINKS_OUT.values(), ids=LINKS_OUT.keys())
@pytest.mark.parametrize("tier", ["project"], indirect=True)
def test_no_link_brings_an_outside_file_into_the_project_tier(
    index: Path, outside: Path, read, make
) -> None:
    make(index, outside)
    found = read()
    assert found["status"] == "refused"
    assert found["warnings"] == ["a link leads outside the workspace"]
    assert found["text"] is None


@pytest.mark.parametrize("make", LINKS_OUT.values(), ids=LINKS_OUT.keys())
@pytest.mark.parametrize("tier", ["user"], indirect=True)
def test_no_link_brings_another_users_file_into_the_user_tier(
    index: Path, outside: Path, read, make
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    for path in outside.rglob("*"):
        os.chown(path, 65534, 65534)
    make(index, outside)
    found = read()
    assert found["status"] == "refused"
    assert found["warnings"] == ["links to a file of another user"]


KERNEL_FILES = ["/proc/self/environ", "/proc/self/cmdline", "/sys/kernel/notes"]


@pytest.mark.parametrize("target", KERNEL_FILES)
def test_no_link_leads_into_the_kernel(index: Path, read, target: str) -> None:
    if not Path(target).exists():
        pytest.skip(f"no {target} here")
    index.symlink_to(target)
    assert read()["status"] == "refused"


@pytest.mark.parametrize(
    "target",
    [
        "/dev/zero",
        "/dev/urandom",
        "/dev/stdin",
        "/dev/tty",
        "/dev/fd/0",
        "/proc/self/fd/0",
    ],
)
def test_no_link_leads_to_a_device(index: Path, read, target: str) -> None:
    index.symlink_to(target)
    assert read()["status"] == "refused"


SECRET_FILES = (
    *(".env", ".env.local", "production.env", "id_rsa", "server.pem", "Server.KEY"),
    *("secrets.yaml", "secrets", "credentials.json", "service-account-ci.json"),
    *(".vault-token", "terraform.tfstate", "terraform.tfstate.backup"),
)


@pytest.mark.parametrize("name", SECRET_FILES)
def test_no_link_leads_to_a_file_of_secrets(
    index: Path, workspace: Path, read, name: str
) -> None:
    (workspace / name).write_text(f"TOKEN={CANARY}\n")
    index.symlink_to(workspace / name)
    found = read()
    assert found["status"] == "refused"
    assert "secrets" in found["warnings"][0]


def test_a_dangling_link_says_so(index: Path, read) -> None:
    index.symlink_to("nowhere")
    found = read()
    assert found["status"] == "refused"
    assert "dangling" in found["warnings"][0]


def test_a_loop_of_links_says_so(index: Path, read) -> None:
    index.symlink_to("hop")
    index.with_name("hop").symlink_to(index.name)
    found = read()
    assert found["status"] == "refused"
    assert "loop" in found["warnings"][0]


def test_a_link_to_itself_says_so(index: Path, read) -> None:
    replace(index.parent, lambda path: path.symlink_to(path.name))
    found = read()
    assert found["status"] == "refused"
    assert "loop" in found["warnings"][0]


def test_a_hard_link_is_an_ordinary_file_with_a_warning(index: Path, read) -> None:
    index.with_name("other.md").write_text("- fact\n")
    os.link(index.with_name("other.md"), index)
    found = read()
    assert found["status"] == "loaded"
    assert "hard link" in found["warnings"][0]


# --- What is no regular file ------------------------------------------------------------


def test_a_fifo_does_not_hang(index: Path, read) -> None:
    os.mkfifo(index)
    found = read()
    assert found["status"] == "refused"
    assert "not a regular file" in found["warnings"][0]


def test_a_link_to_a_fifo_does_not_hang(index: Path, read) -> None:
    os.mkfifo(index.with_name("fifo"))
    index.symlink_to("fifo")
    found = read()
    assert found["status"] == "refused"
    assert "not a regular file" in found["warnings"][0]


@pytest.mark.parametrize("levels_up", [1, 2])
def test_a_fifo_in_the_place_of_a_directory_does_not_hang(
    index: Path, read, levels_up: int
) -> None:
    replace(index.parents[levels_up - 1], lambda path: os.mkfifo(path))
    found = read()
    assert found["status"] == "refused"
    assert "not a directory" in found["warnings"][0]


def test_a_socket_is_refused(index: Path, read) -> None:
    try:
        os.mknod(index, stat.S_IFSOCK | 0o600)
    except OSError as error:
        pytest.skip(f"no socket can be made here: {error}")
    found = read()
    assert found["status"] == "refused"
    assert "not a regular file" in found["warnings"][0]


@pytest.mark.parametrize("minor", [5, 8], ids=["zero", "random"])
def test_a_device_is_refused(index: Path, read, minor: int) -> None:
    try:
        os.mknod(index, stat.S_IFCHR | 0o600, os.makedev(1, minor))
    except OSError as error:
        pytest.skip(f"no device can be made here: {error}")
    found = read()
    assert found["status"] == "refused"
    assert "not a regular file" in found["warnings"][0]


def test_a_directory_is_refused(index: Path, read) -> None:
    index.mkdir()
    (index / "MEMORY.md").write_text(CANARY)
    found = read()
    assert found["status"] == "refused"
    assert "directory" in found["warnings"][0]


@pytest.mark.parametrize("levels_up", [1, 2])
def test_a_file_in_the_place_of_a_directory_is_refused(
    index: Path, read, levels_up: int
) -> None:
    replace(index.parents[levels_up - 1], lambda path: path.write_text(CANARY))
    found = read()
    assert found["status"] == "refused"
    assert "not a directory" in found["warnings"][0]


# --- Size and content -------------------------------------------------------------------


def test_ten_sparse_gigabytes_are_not_read(index: Path, read) -> None:
    with index.open("wb") as file:
        file.write(f"{CANARY}\n".encode())
        file.truncate(10 * 1024 * MEGABYTE)
    found = read()
    assert found["status"] == "unreadable"
    assert "NUL" in found["warnings"][0]


def test_the_end_of_ten_sparse_gigabytes_is_loaded(index: Path, read) -> None:
    with index.open("wb") as file:
        file.write(f"{CANARY}\n".encode())
        file.seek(10 * 1024 * MEGABYTE)
        file.write(b"\n- the newest fact\n")
    found = read()
    assert found["status"] == "truncated"
    assert found["text"].endswith("[earlier memory truncated]\n- the newest fact")
    assert found["dropped_lines"] is None
    assert found["lines"] is None


def test_megabytes_of_short_lines_load_their_end(index: Path, read) -> None:
    index.write_text(f"{CANARY}\n" + "x\n" * (10 * MEGABYTE) + "- the newest fact\n")
    found = read()
    assert found["status"] == "truncated"
    assert found["text"].endswith("\nx\n- the newest fact")


def test_a_giant_line_does_not_take_what_follows_with_it(index: Path, read) -> None:
    index.write_bytes(
        CANARY.encode() + b"x" * (50 * MEGABYTE) + b"\n- the newest fact\n"
    )
    found = read()
    assert found["status"] == "truncated"
    assert found["text"].endswith("[earlier memory truncated]\n- the newest fact")


def test_a_file_of_one_giant_line_leaves_the_notice(index: Path, read) -> None:
    index.write_bytes(CANARY.encode() + b"x" * (50 * MEGABYTE))
    found = read()
    assert found["status"] == "truncated"
    assert found["text"].endswith("MEMORY.md)\n[earlier memory truncated]")
    assert found["kept_lines"] == 0


def test_megabytes_of_blank_end_leave_the_notice(index: Path, read) -> None:
    index.write_bytes(CANARY.encode() + b"\n" * (20 * MEGABYTE))
    found = read()
    assert found["status"] == "truncated"
    assert found["text"].endswith("MEMORY.md)\n[earlier memory truncated]")


def test_megabytes_of_nothing_but_blanks_leave_the_notice(index: Path, read) -> None:
    index.write_bytes(b" \n" * (20 * MEGABYTE))
    found = read()
    assert found["status"] == "truncated"
    assert found["text"].endswith("MEMORY.md)\n[earlier memory truncated]")


@pytest.mark.parametrize("data", [b"", b" \n\t\r\n", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_a_file_without_text_is_empty(index: Path, read, data: bytes) -> None:
    index.write_bytes(data)
    found = read()
    assert found["status"] == "empty"
    assert found["text"] is None


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 4,
        b"\xff" * 5000,
        b"\xe2\x80\xae" * 3000,
        b"\x1b]0;x\x07\n" * 9,
    ],
    ids=["every byte", "no UTF-8", "bidi", "escapes"],
)
def test_no_raw_control_byte_reaches_the_prompt(index: Path, read, data: bytes) -> None:
    index.write_bytes(data + b"\n- fact\n")
    found = read()
    assert found["text"].endswith("- fact")
    rest = found["text"].replace("\n", "").replace("\t", "")
    assert rest.isprintable()


@pytest.mark.parametrize("seconds", [-(10**11), 10**12, 2**62 // 10**9])
def test_no_time_stamp_is_too_odd(index: Path, read, seconds: int) -> None:
    index.write_text("- fact\n")
    try:
        os.utime(index, (0, seconds))
    except (OSError, OverflowError) as error:
        pytest.skip(f"no such time stamp here: {error}")
    assert read()["status"] == "loaded"


def test_a_read_only_tree_is_read(index: Path, read) -> None:
    index.write_text("- fact\n")
    index.chmod(0o444)
    for directory in (index.parent, index.parent.parent):
        directory.chmod(0o555)
    try:
        assert read()["status"] == "loaded"
    finally:
        for directory in (index.parent, index.parent.parent):
            directory.chmod(0o755)


def test_a_mode_of_zero_is_permission_denied(index: Path, read) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything; see test_store.py for another user")
    index.write_text(CANARY)
    index.chmod(0)
    found = read()
    assert found["status"] == "unreadable"
    assert "permission denied (mode 0000" in found["warnings"][0]
