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
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' Makefile

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

.PHONY: laws
laws: $(DEV)  ## try the laws on new examples, 2,000 a dialect where bodies are judged
	@CONTEXT_LEDGER_TEST_NEW_EXAMPLES=1 CONTEXT_LEDGER_TEST_EXAMPLES=2000 $(BIN)/python -m pytest -n 2 \
		tests/judges tests/formats tests/context tests/entries tests/models tests/turn $(ARGS)

.PHONY: nightly
nightly: $(DEV)  ## try 10,000 new steps of long sessions, all laws after each
	@CONTEXT_LEDGER_TEST_NEW_EXAMPLES=1 CONTEXT_LEDGER_TEST_STEPS=10000 $(BIN)/python -m pytest -n 0 tests/services/long_sessions/test_machine.py $(ARGS)

.PHONY: test-postgres
test-postgres: $(DEV)  ## run the storage tests on the embedded server, on an installed PostgreSQL and through PgBouncer
	@PYTHON=$(BIN)/python sh tests/postgres_matrix.sh $(ARGS)

# Fake providers that others made, in folders of their own: they share no version with the service, and nothing else needs them.
THIRD_PARTY := tests/third_party
FAKES := .third-party/.installed-$(shell cat $(addprefix $(THIRD_PARTY)/,requirements.lock package-lock.json) | cksum | tr ' ' '-')
$(shell test -x .venv-third-party/bin/llmock -a -d .third-party/node_modules || rm -f .third-party/.installed-*)
$(FAKES):
	@command -v npm >/dev/null || { echo "Node 20.15 or later with npm is needed" >&2; exit 1; }
	@echo "installing the fake providers (once) …" >&2
	@$(PYTHON) -m venv --clear .venv-third-party
	@.venv-third-party/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $(THIRD_PARTY)/requirements.lock
	@mkdir -p .third-party && cp $(THIRD_PARTY)/package.json $(THIRD_PARTY)/package-lock.json .third-party
	@npm ci --prefix .third-party --ignore-scripts --no-audit --no-fund --silent
	@rm -f .third-party/.installed-* && touch $@

.PHONY: test-third-party
test-third-party: $(DEV) $(FAKES)  ## run the service against fake providers from PyPI and npm; needs Node
	@$(BIN)/python -m pytest -n 0 $(THIRD_PARTY) $(ARGS)

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
	@$(make-locker)
	@rm -f requirements.lock requirements-dev.lock
	@$(call resolve,pyproject.toml,--extra build --extra test --extra dev --extra bench -o requirements-dev.lock)
	@$(call resolve,pyproject.toml,--extra build -c requirements-dev.lock -o requirements.lock)

.PHONY: lock-third-party
lock-third-party:  ## resolve the fake providers anew and rewrite their lock files
	@$(make-locker)
	@rm -f $(THIRD_PARTY)/requirements.lock $(THIRD_PARTY)/package-lock.json
	@$(call resolve,$(THIRD_PARTY)/requirements.in,-o $(THIRD_PARTY)/requirements.lock)
	@cd $(THIRD_PARTY) && npm install --package-lock-only --omit-lockfile-registry-resolved=true --no-audit --no-fund --silent

make-locker = test -x .venv-lock/bin/uv || { $(PYTHON) -m venv .venv-lock && .venv-lock/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9'; }

# One resolution for every supported Python and platform; no address of an index enters the file.
resolve = .venv-lock/bin/uv pip compile $(1) --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --custom-compile-command 'make $@' --quiet $(2)
