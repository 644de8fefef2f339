"""Before a test imports the SDK: no network at import, no banner, nothing reported."""

import gc
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the SDK and its dependencies warn about themselves; we still may not."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.filterwarnings("default"))
            item.add_marker(pytest.mark.filterwarnings("error:::openhands_memory"))


@pytest.fixture(scope="module", autouse=True)
def _collect_what_is_left() -> Iterator[None]:
    """The SDK's dependencies leave event loops behind; no later test is to blame."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
