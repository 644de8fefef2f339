"""The read path: from memory files to the text that an agent sees."""
