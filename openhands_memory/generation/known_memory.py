"""What an agent read of its own memory, told from what is new.

Pure. Texts are compared word by word, so that neither marks around and between the words
(of a list, a quotation, a diff, JSON) nor escaped ends of lines hide what is known.
Fragments of a line, and what says the same in other words, are not known: whoever
extracts is told of that. A line that the agent writes before any tool showed it is its
own, whether or not it stands in a file by now.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["KNOWN_MEMORY", "KnownMemory"]

#: Stands for lines of memory that a tool was given or printed: they are no new evidence.
KNOWN_MEMORY: Final = "[known memory]"

#: A shorter line (``# Notes``, ``- none``) says too little to be told by itself.
_LINE_CHARS: Final = 8
#: What is known by so many characters is also known in the middle of a line.
_KEY_CHARS: Final = 20
#: A longer line is known by its parts.
_LONGEST_KEY: Final = 300
#: Characters that keys are looked up by.
_HEAD: Final = 12

#: A word, or an escape that would begin one. The bound keeps what is compared short.
_WORD: Final = re.compile(r"(?<!\\)\\+[nrt]|([^\W_]{1,128})")
_END: Final = re.compile(r"\n|(?<!\\)\\+[nrt]|\Z")
#: What ``cat -n``, ``grep -n`` and the file editor print before a line.
_LINE_NUMBER: Final = re.compile(r"(?:[^\s:]{1,256}:)?\d{1,9}(?:[:\-|→]|\^I|\s)\s*")
#: Where a number goes on, it is another one.
_MORE_DIGITS: Final = re.compile(r"[.,:]?\d")

Span = tuple[int, int]


class KnownMemory:
    """The lines of memory: those that were *given* to the agent, and others on disk."""

    def __init__(self, given: Iterable[str] = ()) -> None:
        #: Lines as they are, lines by their words, and what is also known inside a line.
        self._lines: set[str] = set()
        self._short: set[str] = set()
        self._keys: set[str] = set()
        #: Lengths of the keys that begin alike, the longest first.
        self._heads: dict[str, list[int]] = {}
        #: What tools have shown, and what the agent said before any did.
        self._shown: set[str] = set()
        self._said: set[str] = set()
        self.add(given)
        self._given = self._lines | self._short | self._keys

    def add(self, lines: Iterable[str]) -> None:
        """Know more *lines*, which the agent was not given."""
        for line in lines:
            line = line.strip()
            words = _words_of(line)
            size = len(" ".join(words))
            if not words or len(line) < _LINE_CHARS:
                continue
            if size >= _KEY_CHARS:
                self._keys.update(_keys_of(words))
                continue
            self._lines.add(line)
            if size >= _LINE_CHARS and len(words) > 1:
                self._short.add(" ".join(words))
        heads: dict[str, set[int]] = {}
        for key in self._keys:
            heads.setdefault(key[:_HEAD], set()).add(len(key))
        self._heads = {h: sorted(sizes, reverse=True) for h, sizes in heads.items()}

    def without(self, text: str, *, said: bool = False) -> str:
        """*text* with a mark for what is known in it.

        *said* is what the agent itself wrote; otherwise a tool has shown it.
        """
        if not (self._lines or self._keys):
            return text
        spans = [*self._known_lines(text, said), *self._known_keys(text, said)]
        return _marked(text, sorted(spans)) if spans else text

    def _is_known(self, key: str, said: bool) -> bool:
        if key in self._given or key in self._shown:
            return True
        if said or key in self._said:
            self._said.add(key)
            return False
        self._shown.add(key)
        return True

    def _known_lines(self, text: str, said: bool) -> Iterator[Span]:
        start = 0
        for found in _END.finditer(text) if self._lines else ():
            span = (start, found.start())
            line, start = text[start : found.start()].strip(), found.end()
            number = _LINE_NUMBER.match(line)
            for rest in (line, line[number.end() :] if number else ""):
                key = rest if rest in self._lines else " ".join(_words_of(rest))
                if key in self._lines or key in self._short:
                    if self._is_known(key, said):
                        yield span
                    break

    def _known_keys(self, text: str, said: bool) -> Iterator[Span]:
        if not self._keys:
            return
        places = [m.span() for m in _WORD.finditer(text) if m[1]]
        words = " ".join(text[start:end] for start, end in places)
        starts: list[int] = []
        at = 0
        for start, end in places:
            starts.append(at)
            at += end - start + 1
        index = 0
        while index < len(starts):
            start = starts[index]
            here, index = index, index + 1
            for size in self._heads.get(words[start : start + _HEAD], ()):
                key = words[start : start + size]
                if key not in self._keys:
                    continue
                last = bisect_right(starts, start + size - 1) - 1
                end = places[last][0] + start + size - starts[last]
                if key[-1].isdigit() and _MORE_DIGITS.match(text, end):
                    continue
                if self._is_known(key, said):
                    yield places[here][0], end
                index = last + 1
                break


def _words_of(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word]


def _keys_of(words: list[str]) -> Iterator[str]:
    """One key, or several for a long line, none of them too short."""
    if len(" ".join(words)) <= _LONGEST_KEY:
        yield " ".join(words)
        return
    part: list[str] = []
    size = 0
    for index, word in enumerate(words):
        part.append(word)
        size += len(word) + 1
        left = words[index + 1 : index + 1 + _KEY_CHARS]
        if size > _LONGEST_KEY // 2 and len(" ".join(left)) >= _KEY_CHARS:
            yield " ".join(part)
            part, size = [], 0
    yield " ".join(part)


def _marked(text: str, spans: list[Span]) -> str:
    """*text* with one mark for *spans* that nothing stands between.

    A mark takes the whole line if no word but a line's number is beside it.
    """
    parts: list[str] = []
    at, alone = 0, False
    for start, end in spans:
        if start < at:
            at = max(at, end)
            continue
        gap = text[at:start]
        above, newline, before = gap.rpartition("\n")
        begins_line = bool(newline) or not parts
        nothing_before = begins_line and _is_prefix(before)
        if not parts or not _is_blank(above) or not (nothing_before or _is_blank(gap)):
            kept = above + newline if nothing_before else gap
            parts += [_without_rest(kept) if alone else kept, KNOWN_MEMORY]
            alone = nothing_before
        at = end
    rest = text[at:]
    return "".join((*parts, _without_rest(rest) if alone else rest))


def _without_rest(text: str) -> str:
    """*text* without what ends the line before it, if that is no word."""
    rest, newline, below = text.partition("\n")
    return newline + below if _is_blank(rest) else text


def _is_prefix(text: str) -> bool:
    number = _LINE_NUMBER.match(text.lstrip())
    return _is_blank(text.lstrip()[number.end() :] if number else text)


def _is_blank(text: str) -> bool:
    return not any(found[1] for found in _WORD.finditer(text))
