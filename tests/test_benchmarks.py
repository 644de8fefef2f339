"""The benchmarks run: in their smallest form, and without a word on how fast it was."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("loading", ["10 GB, sparse", "two tiers", "load over floor"]),
        ("writing", ["| daily log, appended | 80 | 0 | 0 | 0 |", "by hand"]),
        ("recording", ["| 0.1 | ", "read and write back"]),
        ("startup", ["python -c pass", "openhands-memory show", "import argparse"]),
    ],
)
def test_a_benchmark_runs(name: str, rows: list[str], tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), "--quick"],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    for row in rows:
        assert row in done.stdout
    assert not list(scratch.iterdir()), "it left something behind"
