"""The examples' world: a temporary home and workspace with the sample memory in it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SAMPLE = Path(__file__).parent / "sample_memory"


@contextmanager
def sample_world() -> Iterator[Path]:
    """Yield a workspace; the user tier is that of a temporary home."""
    with tempfile.TemporaryDirectory() as root:
        home, workspace = Path(root, "home"), Path(root, "tides")
        shutil.copytree(SAMPLE / "home", home)
        shutil.copytree(SAMPLE / "tides", workspace)
        os.environ.pop("OH_PERSISTENCE_DIR", None)
        os.environ.update(HOME=str(home), USERPROFILE=str(home))
        yield workspace
