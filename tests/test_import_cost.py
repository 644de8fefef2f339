"""What a start may load: measured in a clean interpreter, not read from the source."""

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest

import openhands_memory

#: Whole distributions, and parts of the standard library that cost as much as a command
#: may take in all (SPEC section 11: three times a bare Python).
HEAVY = (
    *("openhands", "litellm", "pydantic", "rich", "platformdirs", "hypothesis"),
    *("asyncio", "sqlite3", "ssl", "urllib.request", "email"),
)
SDK_NAMES = ("AgentContext", "Conversation", "LocalConversation", "bind")
needs_sdk = pytest.mark.skipif(
    find_spec("openhands") is None, reason="the OpenHands SDK is not installed"
)

#: Stands before the program: the SDK cannot be found, as where it is not installed.
WITHOUT_SDK = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("openhands", "pydantic"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


def run(program: str, home: Path) -> str:
    """What *program* prints in an interpreter of its own, at home in *home*."""
    unwanted = ("PYTHONPATH", "OH_PERSISTENCE_DIR", "XDG_STATE_HOME", "PYTHONSTARTUP")
    kept = {k: v for k, v in os.environ.items() if k not in unwanted}
    root = str(Path(openhands_memory.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=kept
        | {
            "HOME": str(home),
            "USERPROFILE": str(home),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else its import asks the network
            "OPENHANDS_SUPPRESS_BANNER": "1",
            "PYTHONPATH": root,
        },
        cwd=home,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "program",
    [
        "import openhands_memory",
        "import openhands_memory; dir(openhands_memory)",
        "from openhands_memory import resolve_memory; resolve_memory('.').text",
        "from openhands_memory import load_memory; load_memory('.')",
        "from openhands_memory import MemoryConfig; MemoryConfig()",
        "import openhands_memory.cli",
        "from openhands_memory.cli import main; main(['--version'])",
        "from openhands_memory.cli import main; main(['--help'])",
        "from openhands_memory.cli import main; main(['show'])",
        "from openhands_memory.cli import main; main(['status'])",
    ],
)
def test_a_start_loads_nothing_heavy(program: str, tmp_path: Path) -> None:
    (tmp_path / ".openhands" / "memory").mkdir(parents=True)
    (tmp_path / ".openhands" / "memory" / "MEMORY.md").write_text("- a fact\n")
    report = f"import sys; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    loaded = run(f"{program}\nprint()\n{report}", tmp_path).splitlines()[-1:]
    assert not loaded or not set(loaded[0].split()) & set(HEAVY)


def test_heavy_modules_would_be_seen(tmp_path: Path) -> None:
    """The test above can fail."""
    report = f"import sys; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    assert run(f"import asyncio\n{report}", tmp_path).split()[:1] == ["asyncio"]


@pytest.mark.parametrize("name", openhands_memory.__all__)
def test_each_public_name_is_there(name: str) -> None:
    if name in SDK_NAMES and find_spec("openhands") is None:
        pytest.skip("the OpenHands SDK is not installed")
    assert getattr(openhands_memory, name) is not None
    assert name in dir(openhands_memory)


@needs_sdk
def test_names_of_the_sdk_s_edge_load_the_sdk_when_they_are_used(
    tmp_path: Path,
) -> None:
    program = (
        "import sys, openhands_memory as om; assert 'openhands.sdk' not in sys.modules;"
        "from openhands_memory import AgentContext; print('openhands.sdk' in sys.modules)"
    )
    assert run(program, tmp_path) == "True"


@pytest.mark.parametrize("name", SDK_NAMES)
def test_without_the_sdk_the_error_says_what_to_install(
    name: str, tmp_path: Path
) -> None:
    program = f"""{WITHOUT_SDK}
import openhands_memory
try:
    openhands_memory.{name}
except ModuleNotFoundError as error:
    print(error)
"""
    found = run(program, tmp_path)
    assert 'pip install "openhands-memory[sdk]"' in found
    assert "OpenHands SDK" in found


def test_without_the_sdk_memory_is_read_all_the_same(tmp_path: Path) -> None:
    (tmp_path / ".openhands" / "memory").mkdir(parents=True)
    (tmp_path / ".openhands" / "memory" / "MEMORY.md").write_text("- a fact\n")
    program = f"""{WITHOUT_SDK}
from openhands_memory import load_memory
print(load_memory("."))
"""
    assert "- a fact" in run(program, tmp_path)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Memories'"):
        openhands_memory.Memories  # noqa: B018 - the access is what is tested


def test_the_version_is_the_installed_one() -> None:
    try:
        installed = version("openhands-memory")
    except PackageNotFoundError:
        pytest.skip("this checkout is not installed")
    assert openhands_memory.__version__ == installed
