"""Finds secrets in text and masks them; kinds and places are told, values never.

Deliberately not done: no network, no check whether a token is live, no decryption, no
judging of files or images, and no reading of known secrets from anywhere (they are an
argument). A mask is final: nothing can be restored from it.
"""

from openhands_memory.secrets.kinds import KINDS
from openhands_memory.secrets.masking import (
    Masked,
    Secret,
    find_secrets,
    mask_secrets,
    mask_value,
)

__all__ = ["KINDS", "Masked", "Secret", "find_secrets", "mask_secrets", "mask_value"]
