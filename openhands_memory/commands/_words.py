"""Words for people that several commands use."""

__all__ = ["count"]


def count(number: int, word: str) -> str:
    """``1 fact``, ``2 facts``."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
