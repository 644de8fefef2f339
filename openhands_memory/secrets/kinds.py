"""The stable names of all kinds of secrets."""

from typing import Final

from openhands_memory.secrets.contexts import RULES
from openhands_memory.secrets.keys import KIND_BY_KEY

KINDS: Final = frozenset(
    {rule.kind for rule in RULES}
    | {kind for _, kind in KIND_BY_KEY}
    | {"password", "secret", "private-key", "login", "known-secret"}
)
