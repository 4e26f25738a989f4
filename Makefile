# make demo    set up and run the main example
# make test    set up and check everything: style, types, tests
# Everything lives in .venv; `make clean` takes it away again.  Needs Python 3.11 or later.

PYTHON ?= python3
BIN := .venv/bin
# Three processes on two cores: the one that has the tests on Spark mostly waits for Java.
WORKERS ?= 3
# What `make bench` measures, and further options for it: make bench SIZE=small BENCH="--runs 5 --save"
SIZE ?= paper
BENCH ?=
# Where `make fuzz` begins and for how long it goes on; a failing seed fails again with SECONDS=0
SEED ?= 1
SECONDS ?= 60

# What runs on the model too: the algorithms, and nothing that opens no program.
ON_THE_MODEL := papers engine updates maintenance streaming equivalence modules/test_closures.py

.PHONY: help demo test test-slow test-spark fuzz bench lint fmt clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    set up and run the wind-farm example"
	@echo "make test    set up and check everything: ruff, mypy, pytest"
	@echo "make test-slow   what takes long on Spark: executors and streams that are killed"
	@echo "make test-spark  the tests of evaluation and maintenance once more, on Spark"
	@echo "make fuzz    random updates against from-scratch evaluation: make fuzz SEED=7 SECONDS=600"
	@echo "make lint    ruff and mypy only"
	@echo "make fmt     let ruff mend what it can"
	@echo "make bench   the papers' tables and other systems beside ours; SIZE=small is quick, BENCH=--save keeps it"
	@echo "make clean   remove .venv, caches and output"

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "holdfast needs Python 3.11 or later; name one with: make PYTHON=python3.12 …"; exit 1; }
	@echo "== making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv || \
		{ rm -rf .venv; echo "that Python cannot make environments (on Debian: apt install python3-venv)"; exit 1; }

.venv/installed: pyproject.toml | .venv/bin/python
	@echo "== installing holdfast and what it needs into .venv (a minute or so)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable .
	@touch $@

.venv/installed-dev: pyproject.toml .venv/installed
	@echo "== installing what the tests need into .venv"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev,spark]'
	@touch $@

.venv/installed-spark: pyproject.toml .venv/installed
	@echo "== installing PySpark into .venv (half a gigabyte; a minute or so)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[spark]'
	@touch $@

.venv/installed-bench: pyproject.toml .venv/installed
	@echo "== installing what the measurements need into .venv"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[bench,spark]'
	@touch $@

demo: .venv/installed-spark
	@echo "== running examples/windfarm/demo.py"
	@$(BIN)/python examples/windfarm/demo.py

lint: .venv/installed-dev
	@echo "== ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== mypy --strict"
	@$(BIN)/mypy

test: lint
	@echo "== compiling the kernels, once on a machine"
	@$(BIN)/python -c 'import holdfast.backends.memory.kernels'
	@echo "== pytest, $(WORKERS) processes"
	@$(BIN)/pytest -n $(WORKERS) --dist loadgroup
	@echo "== pytest --engine model: the suites of the algorithms on a backend of Python sets"
	@$(BIN)/pytest -n $(WORKERS) -q --engine model $(addprefix tests/,$(ON_THE_MODEL))

test-slow: .venv/installed-dev
	@echo "== pytest -m slow: Spark with nothing on the driver, executors and streams that are killed"
	@$(BIN)/pytest -m slow
	@echo "== pytest --engine spark: the papers' worked examples, on Spark"
	@$(BIN)/pytest --engine spark tests/papers

test-spark: .venv/installed-dev
	@echo "== pytest --engine spark: the tests of evaluation and maintenance on Spark, with fewer random steps; hours"
	@$(BIN)/pytest --engine spark $(addprefix tests/,papers judges equivalence streaming maintenance updates modules engine suites)

fuzz: .venv/installed-dev
	@echo "== python -m tests.equivalence.fuzz --seed $(SEED) --seconds $(SECONDS)"
	@$(BIN)/python -m tests.equivalence.fuzz --seed $(SEED) --seconds $(SECONDS)
	@echo "== python -m tests.atomic.sweep --seed $(SEED) --seconds $(SECONDS)"
	@$(BIN)/python -m tests.atomic.sweep --seed $(SEED) --seconds $(SECONDS)
	@$(BIN)/python -m tests.atomic.signalled --seed $(SEED) --updates $$((1 + $(SECONDS)))
	@for name in readers closures streams several; do \
		$(BIN)/python -m tests.atomic.threaded $$name --seed $(SEED) --rounds $$((1 + $(SECONDS) / 6)) || exit 1; done

fmt: .venv/installed-dev
	@echo "== ruff --fix"
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: .venv/installed-bench
	@echo "== python -m bench --size $(SIZE) $(BENCH)"
	@$(BIN)/python -m bench --size $(SIZE) $(BENCH)
	@case "$(BENCH)" in *--save*) $(BIN)/python -m bench.readme;; esac

clean:
	@echo "== removing .venv, caches and out/"
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis out build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
