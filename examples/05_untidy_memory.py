"""Ten deliberate faults in one memory file, what lint says, and what it may repair."""

import os
from pathlib import Path

from openhands_memory.cli import main
from openhands_memory.upkeep.lint_fix import fix_bytes

os.chdir(Path(__file__).parent)
untidy = Path("05_untidy_memory", "MEMORY.md")

print("exit code", main(["lint", str(untidy)]))

# `lint --fix` writes this; the other nine need a person.
_, repaired = fix_bytes(untidy.read_bytes())
print("--fix would repair:", *repaired)
