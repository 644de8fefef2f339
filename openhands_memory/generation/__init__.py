"""The write path: what conversations leave behind."""
