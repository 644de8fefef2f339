"""What the commands about generated memory share: which files are meant."""

import argparse
import os
from typing import TYPE_CHECKING

from openhands_memory.commands._arguments import (
    Options,
    add_memories_dir,
    add_settings,
)
from openhands_memory.layout import GeneratedFiles, generated_files

if TYPE_CHECKING:
    from openhands_memory.config import MemoryLayoutConfig

__all__ = ["add_layout", "add_sessions_dir", "files_of", "layout_of"]


def add_layout(parser: argparse.ArgumentParser) -> None:
    """The sandbox layout's directories, where an agent's settings name them."""
    group = add_settings(parser)
    add_memories_dir(group)
    add_sessions_dir(group)


def add_sessions_dir(parser: Options) -> None:
    """``--sessions-dir``: where the sandbox layout keeps rollouts."""
    parser.add_argument(
        "--sessions-dir",
        metavar="DIR",
        help="the sandbox layout's rollouts (default: 'sessions')",
    )


def files_of(args: argparse.Namespace) -> GeneratedFiles:
    """The generated files that the options mean.

    Raises:
        ConfigError: A directory's name cannot work.
    """
    workspace, layout = os.path.abspath(args.workspace), layout_of(args)
    if layout is None:
        return generated_files(workspace)
    return generated_files(
        workspace, memories_dir=layout.memories_dir, sessions_dir=layout.sessions_dir
    )


def layout_of(args: argparse.Namespace) -> "MemoryLayoutConfig | None":
    """The sandbox layout, if the options name a directory of it.

    Raises:
        ConfigError: A directory's name cannot work.
    """
    names = ("memories_dir", "sessions_dir")
    given = {n: getattr(args, n) for n in names if getattr(args, n) is not None}
    if not given:
        return None
    from openhands_memory.config import MemoryLayoutConfig  # late: rarely needed

    return MemoryLayoutConfig(**given)
