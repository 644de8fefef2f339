"""One module per command of the command line.

Each has ``SUMMARY`` and ``EXAMPLE``, ``add_arguments(parser)`` and ``run(args)``, which
prints and returns the exit code. A module is imported when its command is called.
"""
