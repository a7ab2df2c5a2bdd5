# `make up` starts everything, `make test` runs everything; both set up what they need.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
READY := $(VENV)/.ready

.PHONY: setup up test check format lock clean

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@PYTHON="$(PYTHON)" VENV="$(VENV)" sh tools/setup
	@touch $@

test: $(READY)
	@$(BIN)/pytest -n 2 tests

check: $(READY)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(READY)
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# Locks the versions of everything with hashes, and without any registry's address.
lock:
	@uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate --python-version 3.11 \
		--all-extras --group dev --group bench pyproject.toml -o requirements.lock

clean:
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis site
