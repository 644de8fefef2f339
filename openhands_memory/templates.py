"""The files that a user copies and then owns.

Touches disk, reading only: they are packed with the wheel and stand beside the package
in a checkout.
"""

import os

__all__ = ["read_template"]

_PACKED = os.path.join(os.path.dirname(__file__), "templates")
_CHECKOUT = os.path.join(os.path.dirname(os.path.dirname(__file__)), "templates")


def read_template(name: str) -> bytes:
    """The bytes of the template *name*, a path below ``templates/``."""
    root = _PACKED if os.path.isdir(_PACKED) else _CHECKOUT
    with open(os.path.join(root, *name.split("/")), "rb") as file:
        return file.read()
