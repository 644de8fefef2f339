# The chores. Each sets up what it needs by itself: a virtual environment in .venv, made
# from pyproject.toml and tests/constraints.txt by .ci/environment.

.DEFAULT_GOAL := help
.PHONY: help demo test test-light lint bench clean environment

VENV := .venv
LIGHT := .venv-light
ENVIRONMENT := sh .ci/environment

# Chosen for the chores, not for the product: litellm asks the network for its price list
# when it is imported, the SDK greets, pyright asks whether it is the newest.
export LITELLM_LOCAL_MODEL_COST_MAP := True
export OPENHANDS_SUPPRESS_BANNER := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# What would make another Python, or other packages, answer.
unexport PYTHONHOME PYTHONPATH PYTHONOPTIMIZE VIRTUAL_ENV

help: ## list the chores
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s%s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'Options: ARGS="..." for pytest; PYTHON=/path/to/python3.12 for a new .venv'

demo: environment ## watch an agent remember, in a temporary workspace
	@$(VENV)/bin/openhands-memory demo

test: environment ## run all tests
	@$(VENV)/bin/python -m pytest -q $(ARGS)

test-light: ## run the tests that need no SDK, where none is installed
	@$(ENVIRONMENT) $(LIGHT) --editable . --group test
	@$(LIGHT)/bin/python -m pytest -q $(ARGS)

lint: environment ## check style and types
	@failed=0; \
	$(VENV)/bin/ruff check --quiet --output-format concise || failed=1; \
	$(VENV)/bin/ruff format --check --quiet --diff || failed=1; \
	$(VENV)/bin/pyright || failed=1; \
	exit $$failed

bench: environment ## measure loading, start-up, writing and search
	@$(VENV)/bin/python benchmarks/loading.py
	@$(VENV)/bin/python benchmarks/startup.py
	@$(VENV)/bin/python benchmarks/writing.py
	@$(VENV)/bin/python benchmarks/recording.py
	@$(VENV)/bin/python benchmarks/search_speed.py

clean: ## remove what the chores made
	@rm -rf .venv .venv-light .venv.lock .venv-light.lock build dist
	@rm -rf .hypothesis .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

environment:
	@$(ENVIRONMENT) $(VENV) --editable . --group dev
