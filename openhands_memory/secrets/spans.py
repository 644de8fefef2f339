"""Places in a text, and a text with some characters left out."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple


class Span(NamedTuple):
    start: int
    end: int
    kind: str


class View(NamedTuple):
    """A text with some characters left out, and where the rest came from."""

    text: str
    starts: list[int]  # positions in the view where a kept piece begins
    origins: list[int]  # the same positions in the original

    def origin(self, position: int) -> int:
        piece = bisect_right(self.starts, position) - 1
        return self.origins[piece] + position - self.starts[piece]

    def span(self, start: int, end: int, kind: str) -> Span:
        return Span(self.origin(start), self.origin(end - 1) + 1, kind)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Join overlapping spans; the kind of the first found, the most specific, stays."""
    ranked = sorted(enumerate(spans), key=lambda item: item[1].start)
    joined: list[tuple[int, Span]] = []
    for rank, span in ranked:
        if joined and span.start < joined[-1][1].end:
            best, last = joined[-1]
            kind = last.kind if best < rank else span.kind
            whole = Span(last.start, max(last.end, span.end), kind)
            joined[-1] = (min(best, rank), whole)
        else:
            joined.append((rank, span))
    return [span for _, span in joined]


def without(text: str, gaps: re.Pattern[str], joint: str = "") -> View:
    """Leave out what *gaps* matches, or put *joint* in its place."""
    parts: list[str] = []
    starts, origins = [0], [0]
    at = size = 0
    for gap in gaps.finditer(text):
        parts += [text[at : gap.start()], joint]
        size += gap.start() - at + len(joint)
        at = gap.end()
        if joint:  # stands for the gap's first character
            starts.append(size - len(joint))
            origins.append(gap.start())
        starts.append(size)
        origins.append(at)
    return View("".join([*parts, text[at:]]), starts, origins)


def touches(span: Span, masks: list[tuple[int, int]]) -> bool:
    """Say whether *span* begins inside a mask, or is one."""
    at = bisect_right(masks, (span.start, span.start + 1_000)) - 1
    return at >= 0 and span.start < masks[at][1]


# Zero-width, soft hyphen, bidi controls, variation selectors, tags, fillers; and the
# backslash of `\/`, as PHP and others write it in JSON.
GAPS: Final = re.compile(
    r"\\{1,7}(?=/)|"
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
