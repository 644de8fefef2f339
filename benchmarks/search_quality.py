"""How often search finds the turn that answers a question, on LoCoMo.

Each conversation becomes a memory: one daily log for each session, one bullet for each
turn, searched with the product's own `search`. The score is that of the data set's
repository (task_eval/evaluation.py): the share of a question's evidence turns among the
first k hits. The weights were chosen on conversations 1 to 5. The data set is not part
of this project: get ``data/locomo10.json`` from github.com/snap-research/LoCoMo
(licence CC BY-NC 4.0) and give its path.

    python benchmarks/search_quality.py locomo10.json
"""

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from openhands_memory.upkeep.search import EmptyQueryError
from openhands_memory.upkeep.search_index import SearchFile, search

#: The repository's numbers; 5, adversarial, has no answer to find.
CLASSES = {4: "single-hop", 1: "multi-hop", 2: "temporal", 3: "open-domain"}
#: LoCoMo (Maharana et al., ACL 2024), table 3: DRAGON, turns, recall@5 and @10 in %.
DRAGON = {4: (68.0, 77.7), 1: (35.4, 46.6), 2: (70.4, 77.3), 3: (33.1, 40.8)}
TURN = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True)
class Score:
    conversation: int
    kind: int
    at_5: float
    at_10: float
    characters: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="path of locomo10.json")
    conversations = json.loads(parser.parse_args().data.read_text(encoding="utf-8"))
    scores: list[Score] = []
    for number, conversation in enumerate(conversations, start=1):
        with tempfile.TemporaryDirectory() as place:
            scores.extend(measure(number, conversation, Path(place)))
    print(render(scores))


def measure(number: int, conversation: dict[str, Any], place: Path) -> Iterator[Score]:
    """Ask the questions of one conversation; those without evidence are left out."""
    files, turns = write_logs(conversation["conversation"], place)
    known = set(turns.values())
    for question in conversation["qa"]:
        named = TURN.findall(" ".join(question["evidence"]))
        evidence = {f"D{int(session)}:{int(turn)}" for session, turn in named} & known
        if not evidence or question["category"] not in CLASSES:
            continue
        try:
            found = search(question["question"], files, cache_dir=place / "cache").hits
        except EmptyQueryError:
            found = ()
        ids = [turns[hit.path, hit.line] for hit in found]
        yield Score(
            number,
            question["category"],
            len(evidence.intersection(ids[:5])) / len(evidence),
            len(evidence.intersection(ids)) / len(evidence),
            sum(len(hit.text) for hit in found) / max(1, len(found)),
        )


def write_logs(
    conversation: dict[str, Any], place: Path
) -> tuple[list[SearchFile], dict[tuple[str, int], str]]:
    """The sessions as daily logs, and the turn that stands at each path and line."""
    files: list[SearchFile] = []
    turns: dict[tuple[str, int], str] = {}
    sessions = [key for key in conversation if re.fullmatch(r"session_\d+", key)]
    for session in sessions:
        when = conversation[f"{session}_date_time"]
        day = datetime.strptime(when.partition(" on ")[2], "%d %B, %Y").date()  # noqa: DTZ007 - a date
        name = f"{session}/{day}.md"  # two sessions can share a day
        lines = [bullet(turn) for turn in conversation[session]]
        (place / session).mkdir()
        (place / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        files.append(SearchFile(str(place / name), name, "project", day))
        turns |= {
            (name, line): turn["dia_id"]
            for line, turn in enumerate(conversation[session], start=1)
        }
    return files, turns


def bullet(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    shared = f" [shares {caption}]" if caption else ""
    return " ".join(f"- {turn['speaker']}: {turn['text']}{shared}".split())


def render(scores: list[Score]) -> str:
    groups = {
        "conversations 1-5 (tuned)": [s for s in scores if s.conversation <= 5],
        "conversations 6-10 (held out)": [s for s in scores if s.conversation > 5],
        "all": scores,
    }
    heads = ["| ", "all four", *CLASSES.values(), "questions", "characters per hit |"]
    lines = [
        "Recall@5 / @10 in %; one hit is one turn",
        "",
        " | ".join(heads),
        "|---" * (len(CLASSES) + 4) + "|",
    ]
    for name, group in groups.items():
        by_class: dict[int, list[Score]] = defaultdict(list)
        for score in group:
            by_class[score.kind].append(score)
        cells = [recall(group), *(recall(by_class[kind]) for kind in CLASSES)]
        length = f"{mean(s.characters for s in group):.0f}"
        lines.append(" | ".join([f"| {name}", *cells, str(len(group)), length]) + " |")
    dragon = [f"{DRAGON[kind][0]} / {DRAGON[kind][1]}" for kind in CLASSES]
    lines.append(" | ".join(["| DRAGON, published", "-", *dragon, "-", "-"]) + " |")
    return "\n".join(lines)


def recall(group: list[Score]) -> str:
    if not group:
        return "-"
    at_5, at_10 = mean(s.at_5 for s in group), mean(s.at_10 for s in group)
    return f"{100 * at_5:.1f} / {100 * at_10:.1f}"


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


if __name__ == "__main__":
    main()
