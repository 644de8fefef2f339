"""``python -m openhands_memory`` is the command line."""

import sys

from openhands_memory.cli import main

sys.exit(main())
