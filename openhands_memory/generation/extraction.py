"""One rollout becomes a raw memory and a rollout summary: what the model is told.

And what its answer is taken for. Pure. Deliberately not done: no call of a model, and
no judging of what an answer says. A rollout is untrusted: it stands in a frame that none
of its lines can end.
"""

import json
import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from openhands_memory.generation.gathering import Gathered
from openhands_memory.generation.raw_memory import Header
from openhands_memory.generation.rollout import TERMINAL_STATES
from openhands_memory.prompts import fill
from openhands_memory.sanitize import neutralise, normalise_newlines, show_hidden

__all__ = [
    "Answer",
    "Extracted",
    "Nothing",
    "Problem",
    "extraction_system",
    "extraction_task",
    "masked",
    "parse_extraction",
    "repair_request",
    "safe_slug",
]


class Extracted(NamedTuple):
    """What the model made of a rollout, under the names of its answer.

    As it was written: `masked` makes it fit for the disk.
    """

    rollout_slug: str
    rollout_summary: str
    raw_memory: str


@dataclass(frozen=True)
class Nothing:
    """The model found nothing worth keeping."""


@dataclass(frozen=True)
class Problem:
    """The answer cannot be used; *reason* says why and quotes nothing of it."""

    reason: str


Answer = Extracted | Nothing | Problem


# --- What the model is told -----------------------------------------------------------


def extraction_system(extra_prompt: str | None = None) -> str:
    """The system prompt; *extra_prompt* is the owner's and stands at its end."""
    system = fill("extraction")
    extra = (extra_prompt or "").strip()
    return f"{system}\n\n{fill('extra', extra_prompt=extra)}" if extra else system


def extraction_task(gathered: Gathered) -> str:
    """The user message: the rollout in its frame, and what is to be known about it."""
    # A line that no item can be: items are JSON objects.
    mark = f"[... {gathered.omitted_items} items are left out here ...]"
    gap = [mark] if gathered.omitted_items else []
    lines = (*map(_safe_item, gathered.head), *gap, *map(_safe_item, gathered.tail))
    return fill(
        "extraction_task",
        about="\n".join(f"* {line}" for line in _about(gathered)),
        record=_visible(neutralise("\n".join(lines))),
    )


def repair_request(problem: Problem) -> str:
    """What is said below the task when an answer to it could not be used."""
    return fill("extraction_repair", reason=problem.reason)


def _about(gathered: Gathered) -> Iterator[str]:
    states = (f"{_state(name)} {count}" for name, count in gathered.states.items())
    yield f"Runs: {gathered.segments}. How they ended: {', '.join(states)}."
    last = _state(gathered.terminal_state)
    yield f"The last one ended {gathered.updated_at}: {last}."
    if gathered.damaged_count:
        numbers = ", ".join(map(str, gathered.damaged))
        more = ", ..." if gathered.damaged_count > len(gathered.damaged) else ""
        yield (
            "Runs that cannot be read any more and are missing: "
            f"{gathered.damaged_count} (line {numbers}{more})."
        )
    if gathered.omitted_chars:
        shown = gathered.total_chars - gathered.omitted_chars
        yield (
            f"Too long to be shown whole: it has {gathered.total_chars} characters, "
            f"and {shown} of them, from its beginning and its end, are here. What is "
            "left out at a mark is not known: do not guess it."
        )


def _state(name: str) -> str:
    """Of what a rollout holds, only such words and numbers stand outside the frame."""
    return name if name in TERMINAL_STATES else "unknown"


#: A JSON string, also one without its end, so that a line is read once.
_JSON_STRING: Final = re.compile(r'(?s)"(?:[^"\\]|\\.)*+"?')


def _safe_item(line: str) -> str:
    r"""*line* without forgeries that JSON hides, such as a tag with a ``\n`` in it.

    Strings that hold JSON are looked into; each level doubles the backslashes, so there
    are few.
    """
    return _JSON_STRING.sub(_safe_string, line) if "\\" in line else line


def _safe_string(found: re.Match[str]) -> str:
    if "\\" not in found[0]:
        return found[0]
    try:
        text = cast("str", json.loads(found[0]))
    except ValueError:
        return found[0]
    safe = neutralise(normalise_newlines(_safe_item(text)))
    return found[0] if safe == text else json.dumps(safe, ensure_ascii=False)


#: Halves of a character, which no file and no request can hold.
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def _visible(text: str) -> str:
    return _SURROGATE.sub("\ufffd", show_hidden(text))


# --- What the model answers -----------------------------------------------------------

_KEYS: Final = Extracted._fields

#: Characters of an answer that are read, and of a part that is kept. A prompt asks for
#: some hundred words; what is more is a copy of the rollout.
_ANSWER_CHARS: Final = 200_000
_PART_CHARS: Final = {"rollout_summary": 40_000, "raw_memory": 20_000}

#: Beginnings of objects that are tried: the last ones, since an answer follows thoughts,
#: and among them those that one of the keys follows, whatever else there is.
_ATTEMPTS: Final = 100
_BEGINNINGS: Final = (rf'\{{\s*"(?:{"|".join(_KEYS)})"', r'\{\s*"')
#: Lenient with line breaks inside strings; whole numbers of any size are no error.
_DECODER: Final = json.JSONDecoder(strict=False, parse_int=float)


def parse_extraction(text: str) -> Answer:
    """What *text* is: three strings, nothing worth keeping, or of no use.

    A code fence, words around the object and further keys are tolerated; of several
    objects the last complete one counts.
    """
    if not text.strip():
        return Problem("the answer is empty")
    if len(text) > _ANSWER_CHARS:
        return Problem(
            f"the answer has {len(text)} characters, {_ANSWER_CHARS} are the most"
        )
    found = _find_object(text)
    return found if isinstance(found, Problem) else _check(found)


def _find_object(text: str) -> dict[str, object] | Problem:
    """The object in *text* that has the most of the keys."""
    best: dict[str, object] = {}
    problem = Problem("the answer holds no JSON object with the three strings")
    end = 0
    for start in _beginnings(text):
        if start < end:
            continue
        try:
            found, after = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            problem = _broken(error)
        except RecursionError:
            problem = Problem("the JSON object is nested too deeply")
        else:
            if _held(found) >= max(_held(best), 1):
                best = found
            if _held(found) == len(_KEYS):
                end = after
    return best or problem


def _beginnings(text: str) -> list[int]:
    starts: set[int] = set()
    for pattern in _BEGINNINGS:
        found = (match.start() for match in re.finditer(pattern, text))
        starts.update(deque(found, maxlen=_ATTEMPTS))
    return sorted(starts)


def _held(found: dict[str, object]) -> int:
    return sum(key in found for key in _KEYS)


def _broken(error: json.JSONDecodeError) -> Problem:
    if error.msg.startswith("Unterminated") or not error.doc[error.pos :].strip():
        return Problem("the JSON object breaks off before its end")
    place = f"line {error.lineno}, column {error.colno}"
    return Problem(f"the JSON object is malformed at {place} ({error.msg})")


def _check(found: dict[str, object]) -> Answer:
    missing = [key for key in _KEYS if key not in found]
    if missing:
        return Problem(f"the JSON object has no {' and no '.join(missing)}")
    texts = {key: value for key in _KEYS if isinstance(value := found[key], str)}
    if len(texts) < len(_KEYS):
        wrong = [key for key in _KEYS if key not in texts]
        return Problem(f"{', '.join(wrong)}: not a string")
    empty = [key for key, text in texts.items() if not any(map(str.isalnum, text))]
    if len(empty) == len(_KEYS):
        return Nothing()
    if empty:
        return Problem(f"{', '.join(empty)}: without text, although not all are")
    for key, most in _PART_CHARS.items():
        if len(texts[key]) > most:
            return Problem(
                f"{key} has {len(texts[key])} characters, {most} are the most"
            )
    return Extracted(**texts)


# --- What goes to the disk ------------------------------------------------------------

#: A line of a body that reads like one of a header. Raw memories stand below each other
#: in one file, where only their headers tell them apart.
_HEADER_LINE: Final = re.compile(
    rf"(?im)^[ \t]*(?:{'|'.join(Header._fields)})[ \t]*[:：]"
)


def masked(extracted: Extracted, mask: Callable[[str], str]) -> Extracted:
    """*extracted* as it may be kept: its secrets masked, its slug fit for a file name.

    Hidden characters are shown, and no line can be taken for one of a header.
    """
    slug, summary, memory = map(mask, extracted)
    # Other letters can spell a secret that is one only in those of a slug.
    spelt = (_plain(slug), _joined(_plain(slug)), safe_slug(slug))
    is_told = any(mask(text) != text for text in spelt)
    slug = _FALLBACK if is_told else safe_slug(slug)
    return Extracted(slug, _safe_body(summary), _safe_body(memory))


def _safe_body(text: str) -> str:
    text = _visible(normalise_newlines(text))
    return _HEADER_LINE.sub(r"\\\g<0>", text).strip()


_SLUG_CHARS: Final = 60
_FALLBACK: Final = "rollout"
#: Devices of Windows, whose names no file can have.
_DEVICE: Final = r"con|prn|aux|nul|com\d|lpt\d"


def safe_slug(text: str) -> str:
    """*text* as a part of a file name: of ``a-z``, ``0-9``, ``_`` and ``-``, never empty.

    Letters lose their accents; what has no Latin letter is left out. Mask secrets first:
    they cannot be told any more afterwards.
    """
    slug = _joined(_plain(text).casefold())[:_SLUG_CHARS].rstrip("-_")
    if re.fullmatch(_DEVICE, slug):
        return f"{_FALLBACK}-{slug}"
    return slug or _FALLBACK


def _plain(text: str) -> str:
    """The beginning of *text* in plain letters, of which a slug is made."""
    text = text.strip()[: _SLUG_CHARS * 20].removesuffix(".md")
    return re.sub(r"[\u0300-\u036f'’]", "", unicodedata.normalize("NFKD", text))


def _joined(plain: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", plain).strip("-_")
