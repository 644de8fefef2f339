"""Equal shares; what one tier does not use goes to the other."""

import pytest

from openhands_memory.context.budget import share_budget


@pytest.mark.parametrize(
    ("wanted", "room", "shares"),
    [
        ([], 100, []),
        ([10], 100, [10]),
        ([200], 100, [100]),
        ([200, 200], 100, [50, 50]),
        ([200, 200], 101, [51, 50]),
        ([10, 200], 100, [10, 90]),
        ([200, 10], 100, [90, 10]),
        ([10, 20], 100, [10, 20]),
        ([50, 51], 100, [50, 50]),
        ([0, 200], 100, [0, 100]),
        ([200, 200], 0, [0, 0]),
        ([200, 200], -50, [0, 0]),
        ([90, 10, 200], 120, [70, 10, 40]),
    ],
)
def test_a_budget_is_shared(wanted: list[int], room: int, shares: list[int]) -> None:
    assert share_budget(wanted, room) == shares
