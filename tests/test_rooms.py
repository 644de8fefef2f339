"""The floor plan: what each module may touch.

A module's row says which names from outside the package it may reach, which siblings it
may import, and which calls are allowed nowhere else. Read from the source by its syntax
tree, so an import inside a function counts as well. Only spelled names are seen: what
arrives as a value needs a reviewer.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = "openhands_memory"
ROOT: Final = Path(__file__).parents[1] / PACKAGE

# --- The rooms --------------------------------------------------------------------------

#: Paths as text: nothing here asks the disk, the environment or the current directory.
PATH_TEXT: Final = {
    f"os.path.{name}"
    for name in (
        *("basename", "commonpath", "commonprefix", "dirname", "isabs", "join"),
        *("normcase", "normpath", "sep", "split", "splitdrive", "splitext"),
    )
} | {"os.PathLike", "os.altsep", "os.curdir", "os.fspath", "os.sep"}

#: Values in, values out. Methods that would touch anything are forbidden as calls.
PURE: Final = PATH_TEXT | {
    *("base64", "binascii", "bisect", "codecs", "collections", "copy", "dataclasses"),
    *("datetime", "difflib", "enum", "functools", "hashlib", "heapq", "itertools"),
    *("json", "math", "operator", "pathlib", "re", "shlex", "string", "textwrap"),
    *("types", "typing", "unicodedata", "urllib.parse"),
}

#: Paths below a given root; still no clock, no environment, no network.
DISK: Final = PURE | {
    *("contextlib", "errno", "fcntl", "io", "marshal", "msvcrt", "os", "secrets"),
    *("shutil", "sqlite3", "stat", "tempfile", "zlib"),
}

#: Where and as whom the process runs: each room that asks says so by name.
AMBIENT: Final = frozenset(
    {
        *("os.environ", "os.environb", "os.getcwd", "os.getenv", "os.getlogin"),
        *("os.path.expanduser", "os.path.expandvars"),
        *("os.popen", "os.system"),
    }
)

#: The command line: streams, arguments, exit codes.
CLI: Final = DISK | AMBIENT | {"argparse", "subprocess", "sys"}

CLOCK: Final = frozenset({"now", "today", "utcnow"})
PRINT: Final = frozenset({"input", "print"})
OPEN: Final = frozenset(
    {
        *("open", "read_bytes", "read_text", "write_bytes", "write_text", "touch"),
        *("exists", "is_dir", "is_file", "is_symlink", "lstat", "stat", "readlink"),
        *("glob", "iterdir", "rglob", "scandir", "walk", "samefile"),
        *("chmod", "mkdir", "rmdir", "symlink_to", "hardlink_to", "unlink"),
        *("absolute", "cwd", "expanduser", "getcwd", "getenv", "home", "resolve"),
    }
)
#: Nobody's: what they run is not to be seen in the source.
HIDDEN: Final = frozenset({"__import__", "breakpoint", "eval", "exec"})


@dataclass(frozen=True)
class Room:
    """What a module may reach: names from *outside*, *siblings*, and no *forbidden* call.

    An entry of *outside* allows the name itself and everything below it; *siblings* are
    patterns.
    """

    outside: frozenset[str]
    siblings: frozenset[str]
    forbidden: frozenset[str] = HIDDEN | CLOCK | PRINT | OPEN


def pure(*siblings: str) -> Room:
    """Its arguments only."""
    return Room(frozenset(PURE), frozenset(siblings))


def disk(*siblings: str, outside: tuple[str, ...] = ()) -> Room:
    """Opens files where it is told to; prints nothing and has no clock."""
    return Room(DISK | frozenset(outside), frozenset(siblings), HIDDEN | CLOCK | PRINT)


def flow(
    *siblings: str, outside: tuple[str, ...] = (), calls: tuple[str, ...] = ()
) -> Room:
    """Calls the store and its own pure parts; *outside* and *calls* have a reason."""
    forbidden = (HIDDEN | CLOCK | PRINT | OPEN) - frozenset(calls)
    return Room(frozenset(PURE) | frozenset(outside), frozenset(siblings), forbidden)


def edge(*siblings: str, outside: tuple[str, ...], calls: tuple[str, ...] = ()) -> Room:
    """Translates between the package and one thing outside."""
    forbidden = (HIDDEN | CLOCK | PRINT) - frozenset(calls)
    return Room(DISK | frozenset(outside), frozenset(siblings), forbidden)


def command(*siblings: str, outside: tuple[str, ...] = ()) -> Room:
    """Prints, asks the clock for the day, and decides nothing."""
    return Room(CLI | frozenset(outside), frozenset(siblings), HIDDEN)


GROUND: Final = (
    *("config", "encoding", "errors", "fences", "layout", "options", "sanitize"),
)
#: Whatever the command line needs, but not the SDK's edge: it would load the SDK.
NO_SDK: Final = (
    # What commands share stands in modules with an underscore; two more commands print
    # what `history` finds.
    *("commands._*", "commands.history"),
    *(*GROUND, "context.*", "git", "prompts", "secrets"),
    *("store", "templates", "trust", "upkeep.*", "writing"),
)

#: Patterns match in this order; each module needs a room.
ROOMS: Final[Mapping[str, Room]] = {
    # The ground: names, settings, text.
    "errors": pure(),
    "layout": pure("errors"),
    "options": pure("errors"),
    "config": pure("errors", "layout", "options"),
    "hidden": pure(),
    "lookalikes": pure("hidden"),
    "sanitize": pure("hidden", "lookalikes"),
    "encoding": pure(),
    "fences": pure(),
    "secrets": pure("secrets.*"),
    "secrets.*": pure("secrets.*"),
    "prompts": Room(  # reads its own Markdown files, and nothing else
        frozenset(PURE), frozenset(), (HIDDEN | CLOCK | PRINT | OPEN) - {"open"}
    ),
    # The disk.
    "opening": disk("errors", "layout"),
    "store": disk("errors", "layout", "opening"),
    # It waits for a lock no longer than it may.
    "writing": disk(
        *("errors", "layout", "opening"), outside=("time.monotonic", "time.sleep")
    ),
    "templates": disk("errors"),
    "trust": disk("errors", "layout", "writing", outside=("platformdirs",)),
    # Reading: what the agent will see.
    "context.decode": pure("encoding", "sanitize"),
    "context.tail": pure("fences", "sanitize"),
    "context.budget": pure(),
    "context.render": pure(
        *("fences", "sanitize", "prompts", "context.budget", "context.tail")
    ),
    "context.excerpt": pure("layout", "context.decode"),
    "context.body": pure(
        *("fences", "sanitize", "context.excerpt", "context.render", "context.tail")
    ),
    "context.survey": pure("context.decode", "context.excerpt"),
    "context.remarks": pure("context.decode"),
    "context.late": pure(),
    "context.report": pure(
        *("layout", "context.excerpt", "context.late", "context.render"),
        "context.survey",
    ),
    "context.guidance": pure("layout", "prompts", "context.report"),
    "context.lone": pure(
        *("layout", "context.body", "context.decode", "context.excerpt"),
        "context.render",
    ),
    "context.whole": flow("layout", "store", "context.decode", "context.survey"),
    "context.locate": flow("layout", "options", "sanitize", "store"),
    "context.surroundings": flow(
        *("store", "context.locate"),
        # Against the directory that the process started in.
        outside=("os.environ", "os.getcwd", "os.path.expanduser"),
        calls=("expanduser", "getcwd"),
    ),
    "context.resolve": flow(
        *(*GROUND, "store", "trust", "context.*"),
        # An error message names the mode and the owner of a file that may not be read.
        outside=("os.lstat",),
        calls=("lstat",),
    ),
    "context.room": flow("options", "context.locate", "context.surroundings"),
    # Writing: what conversations leave behind. The text tools of `upkeep` are shared: a
    # generated part stands in a file that a person edits.
    "generation.rollout": pure("secrets", "generation.shortening"),
    "generation.gathering": pure(
        *("generation.rollout", "generation.shortening", "generation.window")
    ),
    "generation.shortening": pure(),
    "generation.window": pure("generation.shortening"),
    "generation.raw_memory": pure(),
    "generation.extraction": pure(
        *("generation.gathering", "generation.raw_memory", "generation.rollout"),
        *("prompts", "sanitize"),
    ),
    "generation.selection": pure(
        "options", "generation.raw_memory", "generation.rollout"
    ),
    "generation.stage": pure("errors"),
    "generation.models": pure("errors", "generation.stage"),
    # A stop waits for the write that has begun.
    "generation.meter": Room(
        frozenset(PURE | {"contextlib", "threading"}),
        frozenset({"generation.models"}),
        HIDDEN | CLOCK | PRINT | OPEN,
    ),
    "generation.report": pure("generation.models"),
    "generation.work": pure(
        *("layout", "generation.meter", "generation.models", "generation.report")
    ),
    "generation.ledger": pure(),
    "generation.support": pure(),
    "generation.shown": pure("layout", "sanitize", "upkeep.document"),
    "generation.parts": pure(
        "generation.support", "upkeep.document", "upkeep.sections"
    ),
    "generation.known_memory": pure(),
    "generation.room": pure("generation.shown"),
    "generation.matching": pure(
        *("generation.parts", "generation.shown", "generation.support"),
        "upkeep.document",
    ),
    "generation.guards": pure("secrets"),
    "generation.merging": pure(
        *("generation.matching", "generation.parts", "generation.room"),
        *("generation.shown", "generation.support", "upkeep.document"),
    ),
    "generation.skills": pure(
        *("layout", "sanitize", "generation.parts", "generation.support"),
        "upkeep.document",
    ),
    "generation.consolidation": pure(
        *("layout", "prompts", "generation.room"),
        *("generation.selection", "generation.shown", "generation.skills"),
    ),
    "generation.mentions": pure(
        *("layout", "generation.guards", "generation.matching", "generation.merging"),
        *("generation.parts", "generation.selection", "generation.shown"),
        *("generation.support", "upkeep.document"),
    ),
    "generation.judging": pure(
        *("layout", "generation.guards", "generation.mentions", "generation.merging"),
        *("generation.room", "generation.selection", "generation.shown"),
        *("generation.skills", "generation.support"),
    ),
    "generation.state": disk(
        *("errors", "trust", "writing", "generation.ledger"),
        # It waits for a lock no longer than it is told to.
        outside=("time.monotonic", "time.sleep"),
    ),
    "generation.files": flow(
        *("errors", "layout", "store", "writing"),
        *("generation.ledger", "generation.state"),
        *("generation.raw_memory", "generation.rollout", "generation.selection"),
        outside=("os.path.isdir",),
        calls=("exists",),
    ),
    "generation.placing": flow(
        *("errors", "layout", "upkeep.change", "writing"),
        *("generation.files", "generation.selection", "generation.state"),
    ),
    "generation.review": flow(
        *("errors", "layout", "generation.files", "generation.placing"),
        *("generation.selection", "generation.state"),
    ),
    "generation.naming": pure("errors"),
    "generation.forgetting": flow(
        *("errors", "layout", "upkeep.*", "writing", "generation.*")
    ),
    "generation.standing": pure(),
    "generation.overview": flow(
        *("layout", "store", "generation.files", "generation.ledger"),
        *("generation.selection", "generation.standing", "generation.state"),
        calls=("exists",),
    ),
    "generation.extracting": flow(
        *("errors", "layout", "store", "writing", "generation.*"),
        outside=("contextlib",),
    ),
    "generation.pending": flow("layout", "generation.*"),
    "generation.draft": flow("errors", "layout", "generation.*"),
    "generation.consolidating": flow(
        *("errors", "layout", "writing", "generation.*"), calls=("now",)
    ),
    "generation.plan": flow("layout", "generation.*"),
    "generation.run": flow(
        *("errors", "layout", "writing", "generation.*"), calls=("now",)
    ),
    # For people.
    "upkeep.facts": pure("encoding", "errors"),
    "upkeep.history": disk("errors", "layout", "writing"),
    "upkeep.change": flow(
        *("errors", "layout", "store", "trust", "writing"),
        *("upkeep.facts", "upkeep.history"),
    ),
    "upkeep.document": pure("encoding", "fences", "layout"),
    "upkeep.sections": pure("upkeep.document"),
    "upkeep.pairing": pure("upkeep.document", "upkeep.sections"),
    "upkeep.transfer": pure("errors", "upkeep.document", "upkeep.sections"),
    "upkeep.three_way": pure(
        "upkeep.document", "upkeep.pairing", "upkeep.sections", "upkeep.transfer"
    ),
    # What a person names is a checkout, a memory directory, or a file.
    "upkeep.items": pure("upkeep.document", "upkeep.sections"),
    "upkeep.sources": pure(
        *("errors", "upkeep.document", "upkeep.facts", "upkeep.items"),
        "upkeep.sections",
    ),
    "upkeep.bundle": pure("errors"),
    "upkeep.tier_files": flow(
        *("errors", "layout", "store"), outside=("os.path.isdir",), calls=("exists",)
    ),
    "upkeep.findings": pure(),
    "upkeep.lint": pure(
        *("layout", "sanitize", "secrets"),
        *("upkeep.document", "upkeep.findings", "upkeep.lint_*"),
    ),
    "upkeep.lint_run": flow("errors", "layout", "store", "upkeep.*"),
    "upkeep.lint_*": pure(
        *("layout", "options", "sanitize"),
        *("upkeep.document", "upkeep.findings", "upkeep.lint_*"),
    ),
    "upkeep.terms": pure(),
    "upkeep.search": pure("errors", "upkeep.document", "upkeep.terms"),
    "upkeep.search_index": Room(
        # Its clock is an argument with a default: the time that files are stamped with.
        DISK | {"time.time_ns"},
        frozenset({"errors", "layout", "upkeep.document", "upkeep.search"}),
        HIDDEN | CLOCK | PRINT,
    ),
    # The edges.
    "git": edge("errors", "store", outside=("subprocess",)),
    "adapters": edge("errors", outside=("importlib",)),
    "adapters.context": edge(
        *(*GROUND, "context.*"), outside=("logging", "openhands", "pydantic")
    ),
    "adapters.binding": edge(
        *(*GROUND, "context.*", "adapters.context"),
        outside=("openhands", "os.path.expanduser", "os.path.realpath", "pydantic"),
    ),
    "adapters.conversation": edge(
        *(*GROUND, "context.*", "adapters.context", "adapters.binding"),
        *("adapters.generating", "adapters.known_secrets"),
        *("generation.report", "generation.rollout"),
        outside=("contextlib", "inspect", "openhands"),
    ),
    "adapters.events": edge(
        *("adapters.own_memory", "generation.known_memory", "generation.rollout"),
        *("generation.shortening", "layout", "secrets"),
        outside=("openhands",),
    ),
    # Its own memory is no evidence: it reads what memory holds.
    "adapters.own_memory": edge(
        *("encoding", "layout", "options", "store", "generation.known_memory"),
        *("context.locate", "context.surroundings"),
        outside=(),
    ),
    "adapters.known_secrets": edge("secrets", outside=("openhands", "pydantic")),
    "adapters.claims": edge(
        "config",
        "errors",
        "layout",
        outside=("openhands", "pydantic", "threading", "os.path.realpath", "weakref"),
    ),
    "adapters.editor": edge(
        *("errors", "prompts", "sanitize", "generation.stage"),
        outside=("openhands", "pydantic", "uuid"),
    ),
    "adapters.consolidator": edge(
        *("adapters.editor", "generation.models", "generation.stage"),
        outside=("openhands",),
    ),
    "adapters.model_settings": edge(
        "config", "errors", "sanitize", outside=("openhands", "pydantic")
    ),
    "adapters.models": edge(
        *("config", "errors", "sanitize", "secrets"),
        *("adapters.consolidator", "adapters.model_settings"),
        *("generation.meter", "generation.models", "generation.stage"),
        outside=("contextvars", "openhands", "pydantic", "queue", "threading"),
    ),
    "adapters.generating": edge(
        *(*GROUND, "secrets", "context.report", "context.room", "generation.*"),
        *("adapters.claims", "adapters.context", "adapters.events"),
        *("adapters.known_secrets", "adapters.model_settings", "adapters.models"),
        "git",
        outside=("openhands", "pydantic", "threading", "time"),
        # It gives the clock to all of generation.
        calls=("now",),
    ),
    "adapters.demo": edge(
        *("adapters.context", "adapters.conversation", "commands.status", "errors"),
        outside=("openhands", "pydantic"),
        calls=("print",),  # it tells what happens while it happens
    ),
    "cli": command(
        "__init__", "errors", "commands.*", outside=("importlib", "keyword")
    ),
    # The one command that needs the SDK; it imports that when it is run.
    "commands.demo": command(*NO_SDK, "adapters.demo"),
    # It imports the SDK when there is something for a model to do.
    "commands.generate": command(
        *NO_SDK,
        "adapters.generating",
        "generation.*",
        outside=("openhands", "warnings"),
    ),
    # What people do with what was generated; no model is asked.
    "commands._forget_rollout": command(*NO_SDK, "generation.*"),
    "commands._standing": command(*NO_SDK, "generation.*"),
    "commands.review": command(*NO_SDK, "generation.*"),
    # Where search's index is kept.
    "commands._search_cache": command(*NO_SDK, outside=("platformdirs",)),
    # An index whose creation is taken back is not wanted again.
    "commands.undo": command(*NO_SDK, "generation.files"),
    # It ends as lint does.
    "commands.edit": command(*NO_SDK, "commands.lint"),
    "commands.*": command(*NO_SDK),
}

# --- Reading a module -------------------------------------------------------------------


def module_names(root: Path) -> dict[str, Path]:
    """Each module with code of its own, by its dotted name below the package."""
    found: dict[str, Path] = {}
    for path in sorted(root.rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        if name in ("__init__", "__main__"):
            continue  # the front door: a list of names, and the way to the command line
        if path.name == "__init__.py":
            if all(map(_is_text, ast.parse(path.read_text(encoding="utf-8")).body)):
                continue
            name = name.removesuffix(".__init__")
        found[name] = path
    return found


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


@dataclass
class Reach:
    """What a module's source reaches: full *names*, and the names of its *calls*."""

    names: set[str] = field(default_factory=set[str])
    calls: set[str] = field(default_factory=set[str])


def reach_of(source: str) -> Reach:
    tree = ast.parse(source)
    reach = Reach()
    bound: dict[str, str] = {}
    unused: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                bound[alias.asname or top] = alias.name if alias.asname else top
                unused.add(alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                full = f"{module}.{alias.name}"
                bound[alias.asname or alias.name] = full
                reach.names.add(full)
    inner: set[ast.AST] = set()
    for node in ast.walk(tree):  # outermost first: the longest chain of each name
        if isinstance(node, ast.Call):
            root = _root_name(node.func)
            # A sibling's function answers to its own room, whatever it is called.
            if not _is_below(PACKAGE)(bound.get(root, "")):
                reach.calls.add(_last_name(node.func))
        if node in inner or not isinstance(node, ast.Name | ast.Attribute):
            continue
        chain: list[str] = []
        at: ast.expr = node
        while isinstance(at, ast.Attribute):
            chain.append(at.attr)
            at = at.value
            inner.add(at)
        if isinstance(at, ast.Name) and at.id in bound:
            reach.names.add(".".join((bound[at.id], *reversed(chain))))
    # What is imported and never named still runs.
    reach.names |= {n for n in unused if not any(map(_is_below(n), reach.names))}
    return reach


def _is_below(module: str) -> Callable[[str], bool]:
    return lambda name: name == module or name.startswith(f"{module}.")


def _root_name(function: ast.expr) -> str:
    while isinstance(function, ast.Attribute):
        function = function.value
    return function.id if isinstance(function, ast.Name) else ""


def _last_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def strays(source: str, room: Room, modules: Mapping[str, Path]) -> list[str]:
    """What *source* reaches outside *room*, as sentences."""
    reach = reach_of(source)
    problems = [f"calls {name}()" for name in reach.calls & room.forbidden]
    for name in reach.names:
        if name.startswith("."):
            problems.append(f"imports {name} relatively; write the package's name")
        elif name == PACKAGE or name.startswith(f"{PACKAGE}."):
            sibling = _sibling(name, modules)
            if not any(fnmatch(sibling, pattern) for pattern in room.siblings):
                problems.append(f"imports its sibling {sibling}")
        elif not _allows(room, name):
            problems.append(f"reaches {name}")
    return sorted(set(problems))


def _allows(room: Room, name: str) -> bool:
    ambient = next((a for a in AMBIENT if _is_below(a)(name)), None)
    if ambient:
        return ambient in room.outside
    return any(_is_below(outside)(name) for outside in room.outside)


def _sibling(name: str, modules: Mapping[str, Path]) -> str:
    parts = name.split(".")[1:]
    for length in range(len(parts), 0, -1):
        if (candidate := ".".join(parts[:length])) in modules:
            return candidate
    return "__init__"


def room_of(module: str, rooms: Mapping[str, Room]) -> Room | None:
    return next((room for name, room in rooms.items() if fnmatch(module, name)), None)


def check(root: Path, rooms: Mapping[str, Room]) -> Iterator[str]:
    """Every problem of every module below *root*."""
    modules = module_names(root)
    for module, path in modules.items():
        room = room_of(module, rooms)
        if room is None:
            yield f"{module} has no room: add it to the table in {Path(__file__).name}"
            continue
        for problem in strays(path.read_text(encoding="utf-8"), room, modules):
            yield f"{module} {problem}"


# --- The package ------------------------------------------------------------------------


def test_each_module_stays_in_its_room() -> None:
    problems = list(check(ROOT, ROOMS))
    assert not problems, "\n".join(problems)


def test_only_the_edges_know_the_sdk() -> None:
    """The table itself: no other row lets the SDK, or what is as heavy, in."""
    heavy = {"openhands", "pydantic", "litellm", "rich"}
    assert {name for name, room in ROOMS.items() if room.outside & heavy} == {
        *("adapters.binding", "adapters.claims", "adapters.context"),
        *("adapters.conversation", "adapters.demo", "adapters.editor"),
        *("adapters.events", "adapters.generating", "adapters.known_secrets"),
        *("adapters.consolidator", "adapters.model_settings", "adapters.models"),
        "commands.generate",
    }


def test_a_row_without_a_module_is_removed() -> None:
    modules = module_names(ROOT)
    empty = {n for n in ROOMS if not any(fnmatch(module, n) for module in modules)}
    assert not empty


# --- The test, tested -------------------------------------------------------------------

TOY_ROOMS: Final = {
    "value": pure(),
    "context.tail": pure("value"),
    "store": disk("value"),
    "context.resolve": flow("store", "context.*", outside=("os.environ",)),
}
TOY: Final = {
    "__init__.py": "from openhands_memory.value import Value\n",
    "__main__.py": "import sys\n",
    "value.py": "import re\nfrom pathlib import Path\n\nNAME = re.compile('a')\n",
    "context/__init__.py": '"""What the agent sees."""\n',
    "context/tail.py": "import os\n\nfrom openhands_memory.value import NAME\n\n"
    "def join(a, b):\n    return os.path.join(a, b)\n",
    "store.py": "import os\nfrom openhands_memory.value import NAME\n\n"
    "def read(path):\n    return open(path)\n",
    "context/resolve.py": "import os\nfrom openhands_memory import store\n"
    "from openhands_memory.context.tail import join\n\nHOME = os.environ['HOME']\n",
}


@pytest.fixture
def toy(tmp_path: Path) -> Callable[[str, str], list[str]]:
    """A small package that is in order; appends to one of its files and checks it."""

    def check_with(name: str, more: str) -> list[str]:
        for file, text in TOY.items():
            path = tmp_path / file
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        path = tmp_path / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(f"{text}\n{more}\n", encoding="utf-8")
        return list(check(tmp_path, TOY_ROOMS))

    return check_with


def test_a_package_in_order_has_no_strays(toy: Callable[[str, str], list[str]]) -> None:
    assert toy("value.py", "") == []


@pytest.mark.parametrize(
    ("file", "more", "problem"),
    [
        ("new.py", "X = 1", "new has no room"),
        ("prompts.py", "", "prompts has no room"),
        ("value.py", "import openhands.sdk", "value reaches openhands.sdk"),
        ("value.py", "import os", "value reaches os"),
        (
            "value.py",
            "def f():\n    import openhands.sdk as s\n    return s.Agent",
            "value reaches openhands.sdk.Agent",
        ),
        (
            "value.py",
            "def f():\n    from openhands.sdk import Agent",
            "value reaches openhands.sdk.Agent",
        ),
        (
            "context/tail.py",
            "from openhands_memory import store",
            "context.tail imports its sibling store",
        ),
        (
            "context/tail.py",
            "import openhands_memory.store",
            "context.tail imports its sibling store",
        ),
        (
            "context/tail.py",
            "from openhands_memory.context.resolve import HOME",
            "context.tail imports its sibling context.resolve",
        ),
        (
            "store.py",
            "import openhands_memory\nopenhands_memory.bind()",
            "store imports its sibling __init__",
        ),
        ("context/tail.py", "from . import resolve", "context.tail imports ..resolve"),
        ("context/tail.py", "from .. import store", "context.tail imports ...store"),
        ("value.py", "X = open('a')", "value calls open()"),
        (
            "context/resolve.py",
            "X = store.read()\nY = HOME.read_text()",
            "context.resolve calls read_text()",
        ),
        ("value.py", "X = Path('a').read_text()", "value calls read_text()"),
        ("value.py", "def f(p):\n    return p.stat()", "value calls stat()"),
        (
            "value.py",
            "from datetime import datetime\nX = datetime.now()",
            "value calls now()",
        ),
        (
            "value.py",
            "import datetime as d\nX = d.date.today()",
            "value calls today()",
        ),
        ("value.py", "print('a')", "value calls print()"),
        ("value.py", "X = __import__('os')", "value calls __import__()"),
        (
            "value.py",
            "import time\nX = time.time()",
            "value reaches time.time",
        ),
        (
            "context/tail.py",
            "X = os.environ['HOME']",
            "context.tail reaches os.environ",
        ),
        (
            "context/tail.py",
            "from os import environ as e",
            "context.tail reaches os.environ",
        ),
        (
            "context/tail.py",
            "X = os.path.exists('a')",
            "context.tail reaches os.path.exists",
        ),
        ("context/tail.py", "X = map(os.stat, ())", "context.tail reaches os.stat"),
        (
            "context/resolve.py",
            "X = os.listdir()",
            "context.resolve reaches os.listdir",
        ),
        ("context/resolve.py", "print(HOME)", "context.resolve calls print()"),
        ("store.py", "import openhands.sdk", "store reaches openhands.sdk"),
        ("store.py", "X = os.environ.get('A')", "store reaches os.environ.get"),
    ],
)
def test_a_stray_is_found(
    toy: Callable[[str, str], list[str]], file: str, more: str, problem: str
) -> None:
    found = toy(file, more)
    assert any(line.startswith(problem) for line in found), found
