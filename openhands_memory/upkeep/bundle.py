"""A tier as one file: JSON that a person can read, and that survives a copy.

Pure. `parse_bundle` and `render_bundle` are an exact pair: every file comes back byte
for byte, or the whole bundle is refused. A bundle comes from anywhere, so each name in
it must be one of a tier's own files, and each text must have the sum that goes with it.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final, cast

from openhands_memory.errors import MemoryToolError

__all__ = ["BundleError", "parse_bundle", "render_bundle"]

_FORMAT: Final = "openhands-memory bundle"
_VERSION: Final = 1
#: Characters of a path that is refused.
_SHOWN: Final = 80
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+\Z")


class BundleError(MemoryToolError, ValueError):
    """A bundle is not taken; the message says why."""

    def __str__(self) -> str:
        return f"not a bundle to be trusted: {self.args[0]}; nothing was taken"


def render_bundle(tier: str, files: Mapping[str, bytes]) -> bytes:
    """*files*, by name, as one."""
    bundle = {
        "format": _FORMAT,
        "version": _VERSION,
        "tier": tier,
        "files": [_as_dict(name, data) for name, data in files.items()],
    }
    return (json.dumps(bundle, ensure_ascii=False, indent=1) + "\n").encode()


def _as_dict(name: str, data: bytes) -> dict[str, Any]:
    record: dict[str, Any] = {"path": name, "sha256": sha256(data).hexdigest()}
    try:
        record["lines"] = _LINE.findall(data.decode("utf-8"))
    except UnicodeDecodeError:
        record["base64"] = base64.b64encode(data).decode("ascii")
    return record


def parse_bundle(
    data: bytes, *, is_allowed: Callable[[str], bool], most_bytes: int
) -> dict[str, bytes]:
    """The files in a bundle, by name.

    *is_allowed* says which names a tier's files may have.

    Raises:
        BundleError: There is anything in it that should not be.
    """
    try:
        bundle = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise BundleError("it is no JSON") from None
    bundle = _object(bundle, "it")
    if bundle.get("format") != _FORMAT or bundle.get("version") != _VERSION:
        raise BundleError(f"it does not say that it is a {_FORMAT}, version {_VERSION}")
    records = bundle.get("files")
    if not isinstance(records, list):
        raise BundleError("it has no list of files")
    files: dict[str, bytes] = {}
    seen: set[str] = set()
    for number, record in enumerate(cast("list[object]", records), 1):
        name, content = _file(_object(record, f"file {number}"), number)
        if not is_allowed(name):
            raise BundleError(f"file {number} has the path {name[:_SHOWN]!r}")
        if name.casefold() in seen:
            raise BundleError(f"{name} is in it twice")
        seen.add(name.casefold())
        if len(content) > most_bytes:
            raise BundleError(f"{name} is larger than {most_bytes:,} bytes")
        files[name] = content
    return files


def _object(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise BundleError(f"{what} is no JSON object")
    return cast("dict[str, object]", value)


def _file(record: dict[str, object], number: int) -> tuple[str, bytes]:
    name = record.get("path")
    if not isinstance(name, str):
        raise BundleError(f"file {number} has no path")
    content = _content(record)
    if content is None:
        raise BundleError(f"file {number} has no text")
    if record.get("sha256") != sha256(content).hexdigest():
        raise BundleError(f"file {number} is not what its SHA-256 says")
    return name, content


def _content(record: dict[str, object]) -> bytes | None:
    lines, coded = record.get("lines"), record.get("base64")
    try:
        if isinstance(coded, str):
            return base64.b64decode(coded, validate=True)
        if isinstance(lines, list):
            return "".join(cast("list[str]", lines)).encode()
    except (TypeError, ValueError):
        return None
    return None
