"""The edges to the systems that use this package; nothing else imports them.

Without the SDK, importing any of them says what to install.
"""

from importlib import import_module

from openhands_memory.errors import SdkMissingError

try:
    import_module("openhands.sdk")
except ModuleNotFoundError as error:
    if error.name not in ("openhands", "openhands.sdk", "pydantic"):
        raise
    raise SdkMissingError(name=error.name) from error
