"""A rollout forgotten: what ``forget --rollout`` does, and says."""

import argparse
import sys

from openhands_memory.commands._diff import diff_lines
from openhands_memory.commands._generation import files_of
from openhands_memory.commands._search_cache import remove_caches
from openhands_memory.commands._words import count
from openhands_memory.commands._writes import now
from openhands_memory.errors import ConfigError
from openhands_memory.generation import forgetting
from openhands_memory.git import ask_git
from openhands_memory.layout import GeneratedFiles
from openhands_memory.secrets import mask_secrets

__all__ = ["forget_rollout"]

_DONE, _NOTHING = 0, 1


def forget_rollout(args: argparse.Namespace) -> int:
    """Forget the rollout that *args* name, and say what that took away.

    Raises:
        ConfigError: They name a tier as well.
    """
    if args.tier is not None:
        raise ConfigError("--tier", args.tier, "a rollout is in no tier; leave it out")
    files = files_of(args)
    try:
        forgotten = forgetting.forget_rollout(
            files,
            args.rollout,
            mask=lambda text: mask_secrets(text).text,
            now=now(),
            purges=args.purge,
        )
    except forgetting.NoSuchRolloutError as error:
        print(error, file=sys.stderr)
        return _NOTHING
    if forgotten.is_nothing:
        rest = "" if args.purge else " but in the history: --purge empties that"
        print(f"nothing is left of {forgotten.rollout_id}{rest}", file=sys.stderr)
        return _NOTHING
    remove_caches()
    _print(files, forgotten)
    _remark(files, forgotten, purges=args.purge)
    return _DONE


def _print(files: GeneratedFiles, forgotten: forgetting.Forgotten) -> None:
    print(f"forgot rollout {forgotten.rollout_id}")
    for place in forgotten.removed:
        print(f"removed {place.shown_as}")
    for path, written in forgotten.changed.items():
        shown = files.place(*path.split("/")).shown_as
        print(f"changed {shown}" if written.after is not None else f"removed {shown}")
        # Without the lines that name the file.
        names = {"before": path, "after": path}
        for line in list(diff_lines(written, **names, around=0))[2:]:
            if line[1:].strip() and not line.startswith("@@"):
                print(f"  {line[0]} {line[1:]}")


def _remark(
    files: GeneratedFiles, forgotten: forgetting.Forgotten, *, purges: bool
) -> None:
    if forgotten.dropped_proposal:
        print("dropped what waited for review: it had a part in it", file=sys.stderr)
    if purges:
        writes = count(forgotten.purged, "write")
        print(f"removed {writes} from the history", file=sys.stderr)
    elif forgotten.changed:
        print(
            "undo can bring back what changed, unless you use --purge", file=sys.stderr
        )
    changed = (files.place(*path.split("/")) for path in forgotten.changed)
    if any(ask_git(place.path).tracked for place in (*forgotten.removed, *changed)):
        print("git still has it in what was committed", file=sys.stderr)
