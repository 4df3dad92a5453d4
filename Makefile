# `make demo` and `make test` need Python >= 3.11 and nothing else: each makes .venv first.
# The second run is quick: .venv/.packages and .venv/.project say what is already installed.

PYTHON ?= python3
BIN := .venv/bin
NATIVE := $(wildcard kvtrace/capture/*.c kvtrace/capture/*.h kvtrace/backends/cupti/*.c)
PYTHON_FOLDERS := kvtrace examples benchmarks tests setup.py
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start many processes; those that read bytecode need not compile every module of ours anew.
unexport PYTHONDONTWRITEBYTECODE
# How `make test` spreads the tests over processes; `make pytest WORKERS=0` runs them in one.
WORKERS ?= auto

.DEFAULT_GOAL := help
.PHONY: help install demo test pytest bounds lint format types bench docs frontend frontend-lint \
  frontend-test update-golden lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

install: .venv/.project  ## .venv with the locked packages and kvtrace itself, editable

.venv/.packages: requirements/dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kvtrace needs Python 3.11 or newer; set PYTHON=... to one." >&2; exit 1; }
	@test -x $(BIN)/python || { echo "making .venv"; $(PYTHON) -m venv .venv; }
	@echo "installing the locked packages into .venv"
	@$(BIN)/python -m pip install --quiet -r requirements/dev.lock
	@touch $@

.venv/.project: .venv/.packages pyproject.toml setup.py kvtrace.pth $(NATIVE)
	@echo "installing kvtrace into .venv (editable, with its C extension if there is a compiler)"
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# Heavy, and of no use to anyone who does not test it.
.venv/.spark: .venv/.project requirements/spark.lock
	@echo "installing what tests of Spark and of object stores need into .venv"
	@$(BIN)/python -m pip install --quiet -r requirements/spark.lock
	@touch $@

demo: install  ## capture a training run; make every file; find a defect; diff two versions
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh demo-out

test: lint frontend-test pytest  ## lint, then every test

pytest: install .venv/.spark  ## every test, one process a core
	$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 4 --dist worksteal

bounds: install  ## tests with the oldest, then with the newest dependencies that pyproject.toml allows
	$(BIN)/python requirements/bounds.py oldest
	$(BIN)/python requirements/bounds.py newest

lint: types frontend-lint  ## ruff, its formatting, mypy --strict; prettier, eslint and tsc
	$(BIN)/ruff check $(PYTHON_FOLDERS)
	$(BIN)/ruff format --check $(PYTHON_FOLDERS)

format: install  ## let ruff and prettier rewrite the files
	$(BIN)/ruff check --fix $(PYTHON_FOLDERS)
	$(BIN)/ruff format $(PYTHON_FOLDERS)
	$(BIN)/python kvtrace/converters/report/frontend/build.py format

types: install
	$(BIN)/mypy -p kvtrace

bench: install  ## the figures in README.md, each with its machine and method
	@for script in $$(grep -l __main__ benchmarks/*.py); do \
	  echo "== $$script"; $(BIN)/python $$script || test $$? = 2 || exit 1; done

docs: install  ## regenerate docs/format.md and kvtrace/schema/schema.json from kvtrace/schema/tables.py
	$(BIN)/python -m kvtrace.schema.document

frontend: install  ## build kvtrace/converters/report/app.html from kvtrace/converters/report/frontend
	$(BIN)/python kvtrace/converters/report/frontend/build.py

# node and npm are those on PATH, or those of a locked Python package; the packages of
# package-lock.json are installed when it has changed.
frontend-lint: install  ## prettier, eslint and tsc over the report's page
	$(BIN)/python kvtrace/converters/report/frontend/build.py lint

frontend-test: install  ## vitest: what of the report's page needs no browser
	$(BIN)/python kvtrace/converters/report/frontend/build.py test

update-golden: install  ## write the golden trace of a new format version
	$(BIN)/python tests/schema/make_golden.py

lock: install  ## write requirements/dev.lock from what is in .venv
	$(BIN)/python requirements/lock.py

clean:  ## remove what the other targets made, .venv too
	rm -rf .venv build dist demo-out kvtrace/converters/report/frontend/node_modules *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find kvtrace -name '*.so' -delete
	find $(PYTHON_FOLDERS) -name __pycache__ -prune -exec rm -rf {} +
