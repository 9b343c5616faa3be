# Everything runs from .venv, which `make setup` builds from requirements.lock; no other tool is needed.
# Kept to GNU make 3.81, the version that comes with macOS.

VENV := .venv
RUN := $(VENV)/bin/python
INSTALL := $(RUN) -m pip install -qq --disable-pip-version-check
JOBS := 2
ARGS :=

# Stamps are written last, so that a leftover of an interrupted setup never passes for a finished one.
# Two things that no file time shows also call for a new setup: the Python of .venv was removed, or the checkout moved.
LOCKED := $(VENV)/.installed-from-lock
READY := $(VENV)/.installed-here
BROKEN := $(shell [ ! -e $(LOCKED) ] || $(RUN) -c '' 2>/dev/null || echo again)
MOVED := $(shell [ ! -e $(READY) ] || [ "`cat $(READY)`" = "`pwd -P`" ] || echo again)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup train test lint format bench docs lock clean again

help: ## show this list
	@echo "Fives and Threes: reinforcement-learning environments for two dominoes games"
	@echo
	@awk 'BEGIN { FS = ":.*## " } /^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "ARGS is handed on: make train ARGS=\"--help\". PYTHON names the Python to set up with: make setup PYTHON=python3.12"

setup: $(READY) ## make .venv with the exact versions of requirements.lock (does nothing when up to date)

# From scratch each time, since pip takes a half-installed package for an installed one.
$(LOCKED): requirements.lock $(BROKEN)
	@python=`sh .ci/find-python "$(PYTHON)"` && \
	echo "setup: making $(VENV) with $$python" && \
	rm -rf $(VENV) && \
	"$$python" -m venv $(VENV)
	@echo "setup: installing requirements.lock (a minute or two, longer where torch has to be fetched first)"
	@$(INSTALL) --no-compile --requirement requirements.lock
	@touch $@

$(READY): $(LOCKED) pyproject.toml $(MOVED)
	@echo "setup: installing this checkout"
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@pwd -P > $@
	@echo "setup: done; 'source $(VENV)/bin/activate' makes this environment the current one"

train: setup ## train a partnership by self-play for three minutes, then measure it
	@$(RUN) -m train.ppo $(ARGS)

test: lint ## check style and types, then run every test
	@echo "test: pytest on $(JOBS) processes"
	@OMP_NUM_THREADS=1 $(RUN) -m pytest -n $(JOBS) $(ARGS)

lint: setup ## ruff and mypy only
	@echo "lint: ruff check, ruff format, mypy"
	@$(RUN) -m ruff check --quiet .
	@$(RUN) -m ruff format --quiet --check . || { echo "lint: 'make format' puts the layout right"; exit 1; }
	@$(RUN) -m mypy

format: setup ## lay the code out and mend what ruff can mend by itself
	@$(RUN) -m ruff check --quiet --fix . ; $(RUN) -m ruff format --quiet .

bench: setup ## measure the engine, the agents, the AEC loop and training
	@$(RUN) -m benchmarks.engine
	@$(RUN) -m benchmarks.agents
	@$(RUN) -m benchmarks.aec
	@$(RUN) -m benchmarks.train

docs: setup ## write the generated tables of the documentation anew
	@$(RUN) -m fivesthrees_env.docs

lock: ## resolve requirements.lock anew; needs uv. ARGS="--upgrade" or "--upgrade-package NAME" raises versions
	@sh .ci/lock $(ARGS)

clean: ## remove .venv, caches and build products; runs/ stays
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name .git -prune -o -name runs -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
