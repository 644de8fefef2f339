"""Workspaces for the tests of generation."""

from pathlib import Path

import pytest
from generation.kit import PERSONS, Desk


@pytest.fixture
def desk(workspace: Path) -> Desk:
    """A workspace in the OpenHands layout, with nothing in it."""
    return Desk(workspace)


@pytest.fixture
def by_hand(desk: Desk, project_index: Path) -> Desk:
    """One whose index a person began."""
    project_index.write_text(PERSONS)
    return desk
