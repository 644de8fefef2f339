"""Share one character budget between the tiers."""

from collections.abc import Sequence

__all__ = ["share_budget"]


def share_budget(wanted: Sequence[int], room: int) -> list[int]:
    """Divide *room* characters among tiers that want so many each.

    Equal shares; what one does not use goes to the others, the first in line first.
    Wants beyond *room* count as *room*: a tier's exact length does not matter then.
    """
    fair = max(0, room) // max(1, len(wanted))
    shares = [min(want, fair) for want in wanted]
    left = max(0, room) - sum(shares)
    for index, want in enumerate(wanted):
        extra = min(left, want - shares[index])
        shares[index] += extra
        left -= extra
    return shares
