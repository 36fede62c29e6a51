# Everything a person or a machine does with this project. Needs Python 3.11 or later with venv, and make.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# The first Python that is new enough; `make PYTHON=…` takes another.
PYTHON ?= $(shell for each in python3 python3.13 python3.12 python3.11; do \
	if $$each -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$each; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# A stamp is named by what was installed, so a pull that changes a lock installs again and any other one does not.
stamp = $(VENV)/.installed-$(1)-$(shell cat $(2) | cksum | tr ' ' '-')
RUN := $(call stamp,run,requirements.lock pyproject.toml)
DEV := $(call stamp,dev,requirements-dev.lock pyproject.toml)

.PHONY: help
help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

# A venv that was left half made, or whose Python is gone, is made anew.
MADE := $(VENV)/.made
$(shell test -x $(BIN)/python || rm -f $(MADE) $(VENV)/.installed-*)
$(MADE):
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later with the module venv is needed; name one by make PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) && touch $@

# The development lock holds everything of the other one in the same versions; whoever has it needs no second run.
$(RUN): | $(MADE)
	@if [ ! -e $(DEV) ]; then \
		echo "installing what the service needs (once) …" >&2; \
		$(PIP) install --require-hashes -r requirements.lock && \
		$(PIP) install --no-index --no-deps --no-build-isolation -e .; fi
	@rm -f $(VENV)/.installed-run-* && touch $@

$(DEV): | $(MADE)
	@echo "installing what development needs (once) …" >&2
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@$(PIP) install --no-index --no-deps --no-build-isolation -e .
	@rm -f $(VENV)/.installed-* && touch $@

.PHONY: serve
serve: $(RUN)  ## run the service; the first time it installs what it needs into .venv
	@exec $(BIN)/python -m app.cli serve

.PHONY: install
install: $(DEV)  ## install what development needs into .venv

.PHONY: test
test: $(DEV)  ## run the tests, on two processes
	@$(BIN)/python -m pytest -n 2 $(ARGS)

.PHONY: test-postgres
test-postgres: $(DEV)  ## run the storage tests on the embedded server, on an installed PostgreSQL and through PgBouncer
	@PYTHON=$(BIN)/python sh tests/postgres_matrix.sh $(ARGS)

.PHONY: check
check: $(DEV)  ## style, types, layers, house rules, container files
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -q -n 0 tests/test_tidy.py tests/test_settings_table.py tests/test_requirements.py tests/test_locks.py
	@$(BIN)/hadolint --failure-threshold info Dockerfile
	@$(BIN)/compose-lint check --fail-on low --strict-config --skip-suppressed --quiet docker-compose.yml

.PHONY: format
format: $(DEV)  ## rewrite the code in the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: settings
settings: $(DEV)  ## rewrite the README's tables of settings and limits
	@$(BIN)/python -m tests.settings_table

.PHONY: openapi
openapi: $(DEV)  ## write openapi/openapi.json
	@$(BIN)/python -m app.api.openapi openapi/openapi.json

.PHONY: golden
golden: $(DEV)  ## rewrite the golden files under tests/golden; read the diff
	@$(BIN)/python -m pytest -q -n 0 tests/golden --update-golden

.PHONY: requirements
requirements: $(DEV)  ## list the requirements that no test names
	@$(BIN)/python -m tests.requirements

.PHONY: bench
bench: $(DEV)  ## measure, each figure beside its limit in the same run
	@$(BIN)/python -m bench $(ARGS)

.PHONY: lock
lock:  ## resolve the dependencies anew and rewrite both lock files
	@test -x .venv-lock/bin/uv || { $(PYTHON) -m venv .venv-lock && .venv-lock/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9'; }
	@rm -f requirements.lock requirements-dev.lock
	@$(call resolve,--extra build --extra test --extra dev --extra bench -o requirements-dev.lock)
	@$(call resolve,--extra build -c requirements-dev.lock -o requirements.lock)

# One resolution for every supported Python and platform; no address of an index enters the file.
resolve = .venv-lock/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --custom-compile-command 'make lock' --quiet $(1)
