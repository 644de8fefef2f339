"""Which rollouts support a fact, said by refs at its end: ``- uses uv [^3f2a91c0]``.

Pure. Where no ref was given, support is worked out from the words that a fact shares with
raw memories. Deliberately not done: no understanding. Words that are shared support a
fact also where they say the opposite; whoever asks decides what that is worth.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

__all__ = [
    "Refs",
    "distinctive_words",
    "holds_most",
    "refs_of",
    "supporters",
    "with_refs",
    "without_refs",
]

# --- Refs -------------------------------------------------------------------------------

_REF: Final = re.compile(r"\[\^([A-Za-z0-9][A-Za-z0-9._-]{0,127})\]")
#: What may stand between refs, and below the last one.
_BETWEEN: Final = " \t,;"
_BEHIND: Final = " \t,;."


def refs_of(line: str) -> tuple[str, ...]:
    """The refs at the end of *line*, each once, in their order.

    What looks like one elsewhere is text, such as a character class.
    """
    return _cut(line)[1]


def without_refs(line: str) -> str:
    """*line* without the refs at its end; as it is if there are none."""
    return _cut(line)[0]


def with_refs(line: str, refs: Iterable[str]) -> str:
    """*line* with *refs* at its end in place of those that it has."""
    bare = without_refs(line)
    marks = "".join(f" [^{ref}]" for ref in dict.fromkeys(refs))
    return bare[: _end_of(bare, len(bare), _BETWEEN)] + marks if marks else bare


def _cut(line: str) -> tuple[str, tuple[str, ...]]:
    if "[^" not in line:
        return line, ()
    refs: list[str] = []
    start = end = _end_of(line, len(line), _BEHIND)
    while end and line[end - 1] == "]":
        at = line.rfind("[^", 0, end)
        found = _REF.fullmatch(line, at, end) if at >= 0 else None
        if not found:
            break
        refs.append(found[1])
        start, end = at, _end_of(line, at, _BETWEEN)
    if not refs:
        return line, ()
    rest = line[: _end_of(line, start, _BETWEEN)]
    if line.rstrip().endswith(".") and not rest.endswith("."):
        rest += "."
    return rest, tuple(dict.fromkeys(reversed(refs)))


def _end_of(line: str, end: int, chars: str) -> int:
    while end and line[end - 1] in chars:
        end -= 1
    return end


class Refs(NamedTuple):
    """Refs and the ids of their rollouts: of those *selected*, and of those *removed*."""

    selected: Mapping[str, str] = {}
    removed: Mapping[str, str] = {}

    def known(self, refs: Iterable[str]) -> tuple[str, ...]:
        """Those of *refs* that a selected rollout has, as it has them."""
        found = (self._resolve(ref) for ref in refs)
        return tuple(dict.fromkeys(r for r in found if r and r in self.selected))

    def with_others(self, refs: Iterable[str]) -> "Refs":
        """These, and those of *refs* that nobody here knows: they came with a clone."""
        others = {ref: ref for ref in self.unknown(refs)}
        return self._replace(selected={**self.selected, **others})

    def unknown(self, refs: Iterable[str]) -> tuple[str, ...]:
        """Those of *refs* that no rollout has."""
        return tuple(r for r in refs if not self.known((r,)) and not self.is_removed(r))

    def is_removed(self, ref: str) -> bool:
        """Whether the rollout of *ref* was removed."""
        return self._resolve(ref) in self.removed

    def without_removed(self, refs: Iterable[str]) -> tuple[str, ...]:
        """*refs* as they are, but for those of removed rollouts."""
        return tuple(ref for ref in refs if not self.is_removed(ref))

    def _resolve(self, ref: str) -> str | None:
        """The ref that is meant: models write whole ids and file names, too.

        Whatever is a ref is that one, also where another's id begins with it.
        """
        refs = {**self.removed, **self.selected}
        if ref in refs:
            return ref
        whole = [known for known, rollout_id in refs.items() if ref == rollout_id]
        near = whole or [
            known
            for known, rollout_id in refs.items()
            if (len(ref) >= _ENOUGH and rollout_id.startswith(ref))
            or ref.startswith(f"{rollout_id}_")
        ]
        return near[0] if len(near) == 1 else None


#: Fewer characters of an id are a slip of the pen.
_ENOUGH: Final = 6


# --- Words ------------------------------------------------------------------------------

#: A part of the words from which on a fact counts as held by a text.
_MOST: Final = 0.6
#: Rollouts that are not far behind the best support the fact as well, but not all.
_NEAR_BEST: Final = 0.9
_MOST_SUPPORTERS: Final = 3

_WORD: Final = re.compile(r"[^\W_]+")
#: Scripts without spaces between words: two characters stand for a word.
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_FILLER: Final = frozenset(
    """the this that these those its for from with into are was were been being has have
    had and then also just please always should must will would can could may our you your
    they their there here which who does did when use uses used using not but all any""".split()
)


def distinctive_words(text: str) -> frozenset[str]:
    """The words of *text* that say what it is about."""
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if _UNSPACED.search(word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif word not in _FILLER and (len(word) > 2 or not word.isalpha()):
            # A plural is the same word.
            found.add(word[:-1] if len(word) > 3 and word.endswith("s") else word)
    return frozenset(found)


def holds_most(text: Collection[str], fact: Collection[str]) -> bool:
    """Whether the words of *text* hold most of those of *fact*."""
    return bool(fact) and _share(text, fact) >= _MOST


def supporters(
    fact: str, raws: Mapping[str, Collection[str]], *, fresh: Collection[str] = ()
) -> tuple[str, ...]:
    """The refs of the raw memories that *fact* was made of, as far as words tell.

    *raws* are the words of each. Where they tell nothing, the only *fresh* one, if there
    is only one.
    """
    words = distinctive_words(fact)
    shares = {ref: _share(text, words) for ref, text in raws.items()} if words else {}
    best = max(shares.values(), default=0.0)
    if best < _MOST:
        return tuple(fresh) if len(fresh) == 1 else ()
    ranked = sorted(shares, key=lambda ref: -shares[ref])  # stable: newest first
    near = [ref for ref in ranked if shares[ref] >= max(_MOST, best * _NEAR_BEST)]
    return tuple(near[:_MOST_SUPPORTERS])


def _share(text: Collection[str], fact: Collection[str]) -> float:
    return sum(word in text for word in fact) / len(fact)
