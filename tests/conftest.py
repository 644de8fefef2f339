"""Two temporary roots for every test: nothing here reads the real home."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# Before any test imports the SDK: no network at import, no banner.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")

# The same examples on every machine, and no more than a few seconds of them; with
# OPENHANDS_MEMORY_EXAMPLES other ones, and as many as it says.
EXAMPLES = os.environ.get("OPENHANDS_MEMORY_EXAMPLES")
settings.register_profile(
    "small",
    max_examples=int(EXAMPLES or 150),
    deadline=None,
    derandomize=EXAMPLES is None,
    database=None,
)
settings.load_profile("small")

HOME_VARIABLES = {
    "HOME": "",
    "USERPROFILE": "",
    "LOCALAPPDATA": "local-data",
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}


@pytest.fixture(autouse=True)
def memory_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home directory, to which every variable about it points."""
    home = tmp_path / "home"
    home.mkdir()
    for name, below in HOME_VARIABLES.items():
        monkeypatch.setenv(name, str(home / below))
    monkeypatch.delenv("OH_PERSISTENCE_DIR", raising=False)
    return home


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A fresh project directory."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return workspace


@pytest.fixture
def user_index(memory_home: Path) -> Path:
    """Where the user tier's index goes; its directory is there, the file is not."""
    return _index_below(memory_home)


@pytest.fixture
def project_index(workspace: Path) -> Path:
    """Where the project tier's index goes; its directory is there, the file is not."""
    return _index_below(workspace)


def _index_below(root: Path) -> Path:
    index = root / ".openhands" / "memory" / "MEMORY.md"
    index.parent.mkdir(parents=True)
    return index


@pytest.fixture
def link(tmp_path: Path) -> Callable[[Path, str | Path], Path]:
    """Make a symbolic link, or skip where the system has none."""

    def make(path: Path, target: str | Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.symlink_to(target)
        except (NotImplementedError, OSError) as error:
            pytest.skip(f"no symbolic links here: {error}")
        return path

    return make
