"""How long a command takes to start, as a multiple of a Python that does nothing.

`show` and `status` run on a small two-tier memory in a git repository, as a hook would
run them. Below stand imports that a command line might use, and does not. The runs take
turns and the fastest of each counts, so only the ratios travel.

    python benchmarks/startup.py [--quick] [--sdk]
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

TARGET = 3.0
NOTHING = "python -c pass"
IMPORTS = ("argparse", "platformdirs", "pydantic")
#: Without a target: they read, write or ask more than a hook does at each start.
MORE = (
    ("lint",),
    ("search", "cache"),
    ("add", "the build needs a clean cache"),
    ("log", "built it"),
    ("history",),
    ("diff",),
    ("undo", "none"),
    ("forget", "no such fact"),
    ("generate", "--dry-run"),
    ("review",),
    ("export",),
)
GIT_IDENTITY = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few repeats")
    parser.add_argument(
        "--sdk", action="store_true", help="the import of openhands.sdk too: a minute"
    )
    parser.add_argument("--all", action="store_true", help="more of the commands")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        workspace, home = make_workspace(Path(root))
        environment = os.environ | {"HOME": str(home), "USERPROFILE": str(home)}
        # Compiled modules are kept, as they are when a package is installed.
        for name in ("OH_PERSISTENCE_DIR", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        aimed = {name: [*program(), name] for name in ("--version", "show", "status")}
        more = {" ".join(words): [*program(), *words] for words in MORE}
        ours = aimed | (more if args.all else {})
        others = {
            f"import {name}": [sys.executable, "-c", f"import {name}"]
            for name in (*IMPORTS, *(["openhands.sdk"] if args.sdk else []))
            if find_spec(name.partition(".")[0])
        }
        commands = {NOTHING: [sys.executable, "-c", "pass"], **ours, **others}
        repeats = 2 if args.quick else 15
        best = fastest(commands, workspace, environment, repeats=repeats)
    print("| | ms | times a bare Python | target | |\n|---|---|---|---|---|")
    for name, seconds in best.items():
        ratio = seconds / best[NOTHING]
        target = f"at most {TARGET:g}" if name in aimed else ""
        met = ("ok" if ratio <= TARGET else "missed") if target else ""
        shown = f"openhands-memory {name}" if name in ours else name
        print(f"| `{shown}` | {1000 * seconds:.1f} | {ratio:.2f} | {target} | {met} |")


def program() -> list[str]:
    """The installed command, else the package of this checkout."""
    beside = Path(sys.executable).parent / "openhands-memory"
    return (
        [str(beside)] if beside.exists() else [sys.executable, "-m", "openhands_memory"]
    )


def make_workspace(root: Path) -> tuple[Path, Path]:
    """A workspace in git and a home, each with its tier of memory."""
    workspace, home = root / "workspace", root / "home"
    for place in (workspace, home):
        index = place / ".openhands" / "memory" / "MEMORY.md"
        index.parent.mkdir(parents=True)
        index.write_text("- the build needs a clean cache\n" * 40, encoding="utf-8")
    git = shutil.which("git")
    if git:
        for command in (["init"], ["add", "."], ["commit", "-m", "memory"]):
            subprocess.run(
                [git, *GIT_IDENTITY, *command],
                cwd=workspace,
                check=True,
                capture_output=True,
            )
    return workspace, home


def fastest(
    commands: dict[str, Sequence[str]],
    workspace: Path,
    environment: dict[str, str],
    *,
    repeats: int,
) -> dict[str, float]:
    """Seconds of each command's fastest run; the first, which warms up, never counts."""
    best = dict.fromkeys(commands, float("inf"))
    for turn in range(repeats + 1):
        for name, command in commands.items():
            if "openhands.sdk" in name and turn not in (1, 2):
                continue
            start = time.perf_counter()
            done = subprocess.run(
                command,
                cwd=workspace,
                env=environment,
                check=False,
                capture_output=True,
            )
            seconds = time.perf_counter() - start
            if done.returncode > 1:  # 1 is an answer: something, or nothing, was found
                sys.exit(f"{name} failed: {done.stderr.decode()}")
            if turn:
                best[name] = min(best[name], seconds)
    return best


if __name__ == "__main__":
    main()
