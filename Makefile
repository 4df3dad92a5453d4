# `make demo` and `make test` need Python >= 3.11 and nothing else: each makes .venv first.
# The second run is quick: .venv/.packages and .venv/.project say what is already installed.

PYTHON ?= python3
BIN := .venv/bin
# Installed modules are compiled on all cores where programs that do not keep bytecode use them, and
# else as they are imported: pip compiles all of them on one core.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile
NATIVE := $(wildcard kvtrace/capture/*.c kvtrace/capture/*.h kvtrace/backends/cupti/*.[ch]) \
  $(wildcard kvtrace/addons/*/*/*.[ch])
PYTHON_FOLDERS := kvtrace schema converters docs_site examples benchmarks corpus tests setup.py
SPELLED := kvtrace schema converters docs_site examples benchmarks corpus docs $(wildcard *.md)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start many processes; those that read bytecode need not compile every module of ours anew.
unexport PYTHONDONTWRITEBYTECODE
# How `make test` spreads the tests over processes; `make pytest WORKERS=0` runs them in one.
WORKERS ?= auto

# Markers are described in tests/support/tiers.py.
FIRST_TIER := smoke or not (process or browser or sweep or costly or night)
CHOSEN :=
# `make test CHANGED=`, as CI's newer Pythons run it, takes the parts that no change reaches, too.
CHANGED := --changed
# Seconds of processor time on a quiet machine and megabytes a process, as measured. Beyond a fifth
# more memory the tests fail, and beyond a fifth more time where KVTRACE_REQUIRE_BUDGETS=1. The aim is
# 280 s and 700 MB: lower these as the tests get cheaper. Of CI 2,002 s were measured (3,019 on a busy
# machine, 1.51 times as slow); the rest is what the probe of speed may miss on another machine.
DAY_BUDGET := --processor-budget 300 --memory-budget 1500
CI_BUDGET := --processor-budget 2300
# Of `make sanitizers`: how many times as long its programs run.
WORK ?= 1
# Of `make fuzz`.
SEED ?= $(shell date +%Y%m%d)

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all test-pushed test-beside pytest test-spark test-tilelang \
  test-trainers test-versions coverage bounds fuzz sanitizers lint format types bench docs \
  docs-site findings frontend frontend-lint frontend-test update-golden lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

install: .venv/.project  ## .venv with the locked packages and kvtrace itself, editable

.venv/.packages: requirements/dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kvtrace needs Python 3.11 or newer; set PYTHON=... to one." >&2; exit 1; }
	@test -x $(BIN)/python || { echo "making .venv"; $(PYTHON) -m venv .venv; }
	@echo "installing the locked packages into .venv"
	@$(INSTALL) -r requirements/dev.lock
	@$(BIN)/python -m compileall -qq -j 0 .venv/lib || true  # templates of Python are no Python
	@touch $@

.venv/.project: .venv/.packages pyproject.toml setup.py kvtrace.pth $(NATIVE)
	@echo "installing kvtrace into .venv (editable, with its C extension if there is a compiler)"
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# Some 700 MB, of no use to anyone who does not test it: so only `make test-all` installs it.
.venv/.spark: .venv/.project requirements/spark.lock
	@echo "installing what tests of Spark, object stores and other engines need into .venv"
	@$(INSTALL) -r requirements/spark.lock
	@touch $@

# What one test file needs and kvtrace does not has a folder of its own: TileLang has an older Z3.
build/tilelang build/trainers: build/%: requirements/%.lock | .venv/.packages
	@echo "installing what tests need into $@"
	@$(INSTALL) --no-deps --upgrade --target $@ -r $<
	@touch $@

demo: install  ## capture a training run; make every file; find a defect; diff two versions
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh demo-out

test: install  ## before a commit: the core, and the add-ons and converters that the change since main reaches; ROOM=tests/ir: only those
	@$(MAKE) pytest CHOSEN='$(ROOM) $(CHANGED) -m "$(FIRST_TIER)" $(DAY_BUDGET)'

# All else runs beside the tests, which wait for their programs a quarter of the time.
test-all: install  ## what CI runs: lint, every test, some with other Tritons, Spark, TileLang
	@$(MAKE) -j 2 .venv/.spark build/tilelang
	@$(MAKE) -j 2 test-pushed lint frontend-test sanitizers test-beside

test-beside: install
	$(BIN)/python requirements/bounds.py --beside

test-pushed: install .venv/.spark build/tilelang
	@KVTRACE_REQUIRE_SPARK=1 KVTRACE_TEST_TILELANG=build/tilelang \
	  $(MAKE) pytest CHOSEN='-m "not night" $(CI_BUDGET)'

pytest: install  ## every test, one process a core
	$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 4 --dist worksteal $(CHOSEN)

coverage: install  ## every test, and which lines and branches of kvtrace it reaches
	COVERAGE_CORE=sysmon $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 4 --dist worksteal \
	  -p pytest_cov.plugin --cov --cov-report=xml --cov-report=term:skip-covered

test-spark: install .venv/.spark  ## tests of Spark, object stores, DataFusion and Polars; Java 17 must be there
	KVTRACE_REQUIRE_SPARK=1 $(BIN)/python -m pytest tests/addons/fleet/spark \
	  tests/addons/fleet/test_stores.py tests/examples/test_other_engines.py

test-tilelang: install build/tilelang  ## the example that records TileLang's kernels, on the CPU
	KVTRACE_TEST_TILELANG=build/tilelang $(BIN)/python -m pytest tests/examples/test_tilelang_recorder.py

test-trainers: install build/trainers  ## the snippets of docs/trainers.md, with trainers and trackers, on the CPU
	KVTRACE_TEST_TRAINERS=build/trainers $(BIN)/python -m pytest tests/examples/test_trainers.py

# Up to 8.4 GB each, made from the package index and removed again one after the other.
test-versions: install  ## tests with each Triton and its torch; `requirements/bounds.py --help`
	$(BIN)/python requirements/bounds.py all

bounds: install  ## tests with the oldest, then with the newest dependencies that pyproject.toml allows
	$(BIN)/python requirements/bounds.py oldest
	$(BIN)/python requirements/bounds.py newest

fuzz: install  ## mutated traces and IR, random kernels; SEED=… repeats those of a day
	$(BIN)/python -m tests.cli.fuzz $(SEED) 400 --each 6
	$(BIN)/python -m tests.ir.fuzz --count 3000 --seed $(SEED)
	$(BIN)/python -m tests.addons.neuron.fuzz --count 20000 --seed $(SEED)

# gcc brings the sanitizers along. By day 3 minutes of processor time, of which half is torch's imports.
sanitizers: install  ## the C under gcc's analyzer and its sanitizers; WORK=10: ten times as long
	$(BIN)/python -m tests.native.sanitize --work $(WORK)

lint: types frontend-lint  ## ruff, its formatting, codespell, mypy --strict; prettier, eslint and tsc
	$(BIN)/ruff check $(PYTHON_FOLDERS)
	$(BIN)/ruff format --check $(PYTHON_FOLDERS)
	$(BIN)/codespell $(SPELLED)

format: install  ## let ruff and prettier rewrite the files
	$(BIN)/ruff check --fix $(PYTHON_FOLDERS)
	$(BIN)/ruff format $(PYTHON_FOLDERS)
	$(BIN)/python converters/report/frontend/build.py format

types: install
	$(BIN)/mypy -p kvtrace -p docs_site

findings:  ## what surprised us in other software: each script exits 1 if that has changed
	@for script in findings/*.sh; do \
	  begin=$$(date +%s); said=$$(bash $$script 2>&1) && state=as-seen || state=CHANGED; \
	  echo "$$state $$script $$(( $$(date +%s) - begin )) s"; \
	  test $$state = as-seen || { echo "$$said"; failed=1; }; \
	done; test -z "$$failed"

bench: install  ## the figures of benchmarks/RESULTS.md, each with its machine and method
	@for script in $$(grep -l __main__ benchmarks/*.py); do \
	  echo "== $$script"; $(BIN)/python $$script || test $$? = 2 || exit 1; done

docs: install  ## regenerate what documents tables, settings and rules, and the demo's pictures
	$(BIN)/python -m docs_site.format_pages
	$(BIN)/python -m docs_site.views_sql
	$(BIN)/python -m docs_site.json_schemas
	$(BIN)/python -m docs_site.variables
	$(BIN)/python -m docs_site.needs
	$(BIN)/python -m docs_site.rules_index
	$(BIN)/python -m docs_site.rules
	$(BIN)/python -m docs_site.pictures
	$(BIN)/python -m tests.support.report_pictures docs/report

# The variable keeps the theme from speaking of its own future.
docs-site: install  ## build/site: the documentation as a site; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

frontend: install  ## build converters/report/app.html from converters/report/frontend
	$(BIN)/python converters/report/frontend/build.py

# node and npm are those on PATH, or those of a locked Python package; the packages of
# package-lock.json are installed when it has changed.
frontend-lint: install  ## prettier, eslint and tsc over the report's page
	$(BIN)/python converters/report/frontend/build.py lint

frontend-test: install  ## vitest: what of the report's page needs no browser
	$(BIN)/python converters/report/frontend/build.py test

update-golden: install  ## write the golden trace of a new format version
	$(BIN)/python tests/schema/make_golden.py

lock: install  ## write requirements/dev.lock from what is in .venv
	$(BIN)/python requirements/lock.py

clean:  ## remove what the other targets made, .venv too
	rm -rf .venv build dist demo-out converters/report/frontend/node_modules *.egg-info .coverage coverage.xml .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find kvtrace -name '*.so' -delete
	find $(PYTHON_FOLDERS) -name __pycache__ -prune -exec rm -rf {} +
