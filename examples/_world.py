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
    """Yield a workspace; the user tier, and what is kept beside it, are temporary."""
    with tempfile.TemporaryDirectory() as root:
        home, workspace = Path(root, "home"), Path(root, "tides")
        shutil.copytree(SAMPLE / "home", home)
        shutil.copytree(SAMPLE / "tides", workspace)
        for name in ("OH_PERSISTENCE_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            os.environ.pop(name, None)
        os.environ.update(HOME=str(home), USERPROFILE=str(home))
        yield workspace


def tree(directory: Path) -> Iterator[str]:
    """The files below *directory*, a line each."""
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            yield path.relative_to(directory).as_posix()
