PYTHON ?= python3
JOBS ?= 2

BIN := .venv/bin
PINNED := .venv/.pinned
READY := .venv/.ready
BENCHMARKS := $(sort $(wildcard benchmarks/bench_*.py))
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
COMPILE := $(BIN)/uv pip compile pyproject.toml --quiet --universal --fork-strategy fewest \
	--python-version 3.11 --no-annotate --custom-compile-command "make pins"

.PHONY: help setup reproduce test lint bench pins clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## create .venv with the pinned requirements (PYTHON=... chooses the interpreter)

reproduce: $(READY)  ## run the experiments behind the paper's Table 1
	$(BIN)/duelist reproduce table1

# A file of tests stays in one process, which compiles what they share once.
test: $(READY)  ## run all tests, in JOBS processes
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

lint: $(READY)  ## check style, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

bench: $(READY)  ## run every benchmarks/bench_*.py
	@test -n "$(BENCHMARKS)" || { echo "bench: no benchmarks/bench_*.py to run" >&2; exit 1; }
	@set -e; for script in $(BENCHMARKS); do echo "== $$script"; $(BIN)/python "$$script"; done

pins: $(READY)  ## bring requirements/*.txt in line with pyproject.toml (needs the network)
	$(COMPILE) --output-file requirements/base.txt
	$(COMPILE) --output-file requirements/dev.txt \
		--extra experiments --extra cluster --group dev --no-emit-package duelist

clean:  ## remove caches and build products, but neither .venv nor results
	rm -rf build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find $(wildcard src tests examples benchmarks) -type d -name __pycache__ -prune -exec rm -rf {} +

# An existing .venv is kept, and pins that are already installed are not fetched again.
$(PINNED): requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "setup: duelist needs Python 3.11 or newer; '$(PYTHON)' is" \
			"$$($(PYTHON) --version 2>&1). Choose another: make setup PYTHON=python3.12" >&2; exit 1; }
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .venv
	$(INSTALL) --requirement requirements/dev.txt
	touch $@

# Without build isolation the package itself is installed offline, by the pinned hatchling.
$(READY): $(PINNED) pyproject.toml
	$(INSTALL) --no-deps --no-build-isolation --editable .
	touch $@
