"""For the people who keep the files: facts, search, lint, history, merge and import."""
