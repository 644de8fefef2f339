"""One conversation that generates, in a process of its own.

Run as a program with what it does at its end, a workspace, and a message. ``leave``
installs the plugin beside the workspace, if there is one, and exits without a close;
``close`` closes when a line comes on standard input; ``hang`` closes although the model
of consolidation never answers.
"""

import json
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from adapters.generation_kit import generates, keeper, open_with, plays, tell
from openhands.sdk.plugin import install_plugin


def main(end: str, workspace: Path, text: str) -> None:
    plugin = workspace.parent / "plugin"
    if plugin.exists() and end == "leave":
        install_plugin(str(plugin))
    hangs = end == "hang"
    never = threading.Event()
    llm = plays(consolidation=(lambda _: never.wait()) if hangs else keeper)  # pyright: ignore
    conversation = open_with(llm, workspace, generates(max_seconds=2 if hangs else 60))
    tell(conversation, text)
    say("ready")
    if end == "close":
        sys.stdin.readline()
    if end != "leave":
        conversation.close()
        say(json.dumps(conversation.generation.as_dict()))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
