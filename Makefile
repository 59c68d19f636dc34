# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check
CPUS   ?= 2

.PHONY: help demo test lint coverage docs test-scale test-experiments test-levels test-docs test-border test-lines
.PHONY: test-fuzz test-adapters test-browser test-statistical test-lowest test-latest
.PHONY: size power cost bench reproduce clean
.DEFAULT_GOAL := help

help:
	@echo "make demo              install, check a fitted hierarchical model, write out/demo.html"
	@echo "make test              install, lint, type-check and run the tests"
	@echo "make coverage          the lines of src that make test and make test-scale do not run"
	@echo "make docs              build the documentation into out/docs, in an environment of its own"
	@echo "make test-scale        memory budgets, stored draws and clusters, in processes of their own"
	@echo "make test-experiments  the paper's panels, each on a small scale"
	@echo "make test-levels       rejection rates and coverage, from many repetitions"
	@echo "make test-lines        Taylor series of densities, and the lines that they follow"
	@echo "make test-border       bad values for every argument of every function and command"
	@echo "make test-fuzz         many new cases of what must not change a verdict, or prevent one"
	@echo "make test-docs         the code on the pages of the documentation"
	@echo "make test-adapters     the adapters with NumPyro, BlackJAX, PyMC, Stan, emcee, PyTorch and ArviZ"
	@echo "make test-browser      the report in a headless Chromium"
	@echo "make test-statistical  the size and power suites at full size (about twenty minutes)"
	@echo "make test-lowest       a selection of the tests with the oldest versions in pyproject.toml"
	@echo "make test-latest       the same selection with the newest versions of all dependencies and of Python"
	@echo "make size              rejection rates of draws that are right (hours; resumes)"
	@echo "make power             rejection rates of draws that are wrong (an hour or so; resumes)"
	@echo "make cost              CPU seconds and memory, as ratios to a plain NumPy KSD"
	@echo "make bench             one page: the same, growth, every method, and other packages"
	@echo "make reproduce         every panel of the paper's figures (about ten CPU hours; resumes)"
	@echo "PYTHON=... chooses the interpreter (3.11 or later), VENV=... the environment's folder"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else \
	  "steinwise needs Python 3.11 or later; $(PYTHON) is %d.%d. Try: make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "installing steinwise into $(VENV) ..."
	@$(PIP) --constraint constraints.txt --editable ".[plots]"
	@touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "installing steinwise and its test tools into $(VENV) ..."
	@$(PIP) --constraint constraints.txt --editable ".[test]"
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/python -m steinwise.demo

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

# what has a target of its own is left out
TEST = -n $(CPUS) -m "not full" src tests experiments README.md \
  --ignore tests/experiments --ignore tests/statistical --ignore tests/border

LINES = tests/target/series tests/orbits

test: lint
	$(BIN)/python -m pytest $(TEST) --ignore tests/scale $(LINES:%=--ignore %)

coverage: $(VENV)/.test
	$(BIN)/python -m pytest $(TEST) --cov --cov-report term-missing:skip-covered

FUZZED = tests/border/test_invariances.py tests/border/test_extremes.py

test-scale: FOLDER = tests/scale
test-experiments: FOLDER = tests/experiments
test-levels: FOLDER = tests/statistical
test-docs: FOLDER = docs
test-border: FOLDER = tests/border
test-lines: FOLDER = $(LINES)
test-scale test-experiments test-levels test-docs test-border test-lines: $(VENV)/.test
	$(BIN)/python -m pytest -n $(CPUS) -m "not full" $(FOLDER)

# the cases that `make test-border` has a few of: new ones in every run, printed where one fails;
# SEED=... gives the same ones again
test-fuzz: $(VENV)/.test
	$(BIN)/python -m pytest -n $(CPUS) --hypothesis-profile=fuzz \
	  $(if $(SEED),--hypothesis-seed=$(SEED)) $(FUZZED)

# the code on the pages runs in `make test-docs` and `make test-adapters`
docs: .venv-docs/.docs
	.venv-docs/bin/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet docs out/docs
	@echo "the documentation is in out/docs/index.html"

.venv-docs/.docs: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	@echo "installing steinwise and what builds its documentation into .venv-docs ..."
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable ".[docs]"
	@touch $@

# an environment of its own: the libraries of all users at once, 2 GB
test-adapters: VENV := .venv-adapters
test-adapters: .venv-adapters/.test-adapters
	$(BIN)/python -m pytest -n $(CPUS) --dist loadfile tests/adapters src/steinwise/adapters docs/adapters

.venv-adapters/.test-adapters: pyproject.toml constraints-adapters.txt
	$(PYTHON) -m venv .venv-adapters
	@echo "installing steinwise and the users' libraries into .venv-adapters ..."
	@.venv-adapters/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints-adapters.txt --editable ".[test-adapters]"
	@touch $@

test-browser: $(VENV)/.browser
	$(BIN)/python -m pytest tests/browser

# Debian's chromium and its driver, installed where they are missing and we may
$(VENV)/.browser: $(VENV)/.test
	@$(PIP) --constraint constraints.txt --editable ".[test-browser]"
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
	  { test "$$(id -u)" = 0 && apt-get update -qq && \
	    apt-get install -y -qq --no-install-recommends chromium chromium-driver; } || \
	  { echo "make test-browser needs chromium and chromedriver, and root to install them" >&2; exit 1; }
	@touch $@

test-statistical: $(VENV)/.test
	$(BIN)/python -m pytest -n $(CPUS) tests/statistical tests/experiments/test_panels.py

# every method, verb, result and target
SELECTION = tests/contract tests/api tests/results tests/target

# old versions of one library use what newer ones of another deprecate: that is not ours to mend
test-lowest: VENV := .venv-lowest
test-lowest: .venv-lowest/.test-lowest
	$(BIN)/python -m pytest -n $(CPUS) -m "not full" -W ignore::DeprecationWarning $(SELECTION)

.venv-lowest/.test-lowest: pyproject.toml .ci/lowest.py
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) .ci/lowest.py test > .venv-lowest/constraints.txt
	@echo "installing steinwise and the oldest versions that it accepts into .venv-lowest ..."
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint .venv-lowest/constraints.txt --editable ".[test]"
	@touch $@

# the newest versions of some libraries need a newer Python: the newest that is here
NEWEST_PYTHON ?= $(shell for v in 3.13 3.12; do \
  for p in python$$v "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$v.*/bin/python; do \
    "$$p" -c "import venv" 2>/dev/null && echo "$$p" && exit; done; done; echo $(PYTHON))

test-latest: VENV := .venv-latest
test-latest:
	$(NEWEST_PYTHON) -m venv --clear $(VENV)
	@echo "installing steinwise and the newest versions of what it needs for $$($(BIN)/python --version) into $(VENV) ..."
	@$(PIP) --upgrade --upgrade-strategy eager --editable ".[test]"
	$(BIN)/python -m pytest -n $(CPUS) -m "not full" $(SELECTION)

size power cost: $(VENV)/.test
	$(BIN)/python -m benchmarks.$@

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks.page --measure

reproduce: $(VENV)/.test
	$(BIN)/python -m experiments

clean:
	rm -rf .venv .venv-adapters .venv-docs .venv-latest .venv-lowest .venv-peers build dist out
