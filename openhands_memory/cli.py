"""The command line: which command, which arguments, which exit code.

Edge: argv, the two output streams, the exit code. Decides nothing; the commands are in
``commands/`` and are imported one at a time, so that each starts at once.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword

from openhands_memory import __version__
from openhands_memory.errors import MemoryToolError

__all__ = ["COMMANDS", "main"]

#: In the order in which a person meets them; each is a module in ``commands/``.
COMMANDS = {
    "show": "print exactly the memory text that the agent will see",
    "status": "say what was loaded, what was dropped, and why",
    "lint": "find what is wrong in memory files, and repair what is safe to repair",
    "init": "create memory files from templates, never overwriting any",
    "add": "append a fact to an index",
    "log": "append a note to today's daily log",
    "search": "find ranked entries in indexes, daily logs and rollout summaries",
    "history": "list every write of openhands-memory, newest first",
    "diff": "show what one of those writes changed",
    "undo": "take one of those writes back, byte for byte",
    "edit": "open an index in your editor, then lint it",
    "forget": "remove a fact, or a conversation with all it alone supported",
    "generate": "make memory of what conversations have left pending",
    "review": "show what generation proposes, and apply or reject it",
    "merge": "bring another checkout's or worktree's facts in, once",
    "import": "take facts from CLAUDE.md and the like, or a tier from a bundle",
    "export": "write a tier as one file, for 'import --bundle'",
    "trust": "approve a repository's project memory, or take that back",
    "demo": "watch an agent remember: two conversations, one decision",
}

_PROG = "openhands-memory"
_DONE, _WRONG_USE, _INTERRUPTED = 0, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 is done, 1 found something or found nothing, 2 wrong use or could not be done.
    """
    argv = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        args = _parse(argv)
        code = args.run(args)
        sys.stdout.flush()
        return code
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else _WRONG_USE
    except MemoryToolError as error:
        print(f"{_PROG}: {error}", file=sys.stderr)
        return _WRONG_USE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough.
        return _give_up_stdout(_DONE)
    except OSError as error:
        print(f"{_PROG}: {error.strerror or error}", file=sys.stderr)
        return _give_up_stdout(_WRONG_USE)


def _give_up_stdout(code: int) -> int:
    """Nothing more can be printed, and Python must not complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    if argv and argv[0] in COMMANDS:
        return _command_parser(argv[0]).parse_args(argv[1:])
    commands = (f"  {name:9} {summary}" for name, summary in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog=_PROG,
        usage=f"{_PROG} [-h] [--version] COMMAND ...",
        formatter_class=_help_formatter,
        description="Memory for coding agents, in Markdown that you can edit.",
        epilog="\n".join(
            (
                *("commands:", *commands, ""),
                f"'{_PROG} COMMAND --help' tells more, with an example.",
            )
        ),
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("command", metavar="COMMAND", help="one of those below")
    return parser.error(_unknown(parser.parse_known_args(argv)[0].command))


def _command_parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command: those of all take longer than most commands."""
    module = import_module(f"openhands_memory.commands.{_module(name)}")
    summary = COMMANDS[name]
    parser = argparse.ArgumentParser(
        prog=f"{_PROG} {name}",
        formatter_class=_help_formatter,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n  {module.EXAMPLE}",
    )
    parser.set_defaults(run=module.run)
    module.add_arguments(parser)
    return parser


def _unknown(command: str) -> str:
    from difflib import get_close_matches  # late: only a mistake needs it

    near = get_close_matches(command, COMMANDS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"see {_PROG} --help"
    return f"there is no command {command!r}; {hint}"


def _module(command: str) -> str:
    # No module can be named as a word of the language is, such as "import".
    return f"{command}_" if iskeyword(command) else command


def _help_formatter(prog: str) -> argparse.HelpFormatter:
    # With a width argparse does not look for the terminal's, which takes 2 ms.
    return argparse.RawDescriptionHelpFormatter(prog, width=78)
