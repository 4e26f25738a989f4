# make demo    set up and run the main example
# make test    set up and check everything: style, types, tests
# Everything lives in .venv; `make clean` takes it away again.  Needs Python 3.11 or later.

PYTHON ?= python3
BIN := .venv/bin
comma := ,
# Four processes on two cores: one waits for Java, and others for disks and processes.
WORKERS ?= 4
# What `make bench` measures, and further options for it: make bench SIZE=small BENCH="--runs 5 --save"
SIZE ?= paper
BENCH ?=
# Where `make fuzz` begins and for how long it goes on; a failing seed fails again with SECONDS=0
SEED ?= 1
SECONDS ?= 60

# What the compiled kernels and the grammar's tables are made from: when it changes, installing makes them anew.
BUILT_FROM := pyproject.toml hatch_build.py $(wildcard tools/*.py) src/holdfast/language/grammar.lark \
	$(shell grep -rl --include='*.py' '^from holdfast.compilation import ' src)
# Installs this folder with the extras that are asked for, and says where the kernels come from.
install = $(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.$(1)' && \
	$(BIN)/python -c 'from holdfast import compilation; print("==", compilation.described())' && touch $@
# What runs with Numba's kernels too: all that has kernels of its own.
ON_NUMBA := backends/memory modules papers startup/test_agreement.py
# What runs most paths of kernels, for a run that checks each index.
IN_KERNELS := backends/memory modules papers maintenance engine updates streaming limits
# What tries some of its random cases, and all of them in `make test-slow`.
RANDOM := backends engine equivalence explanations judges limits maintenance plans program store suites versions
# What runs on the model and on shards too: the algorithms, and nothing that opens no program.
ON_THE_MODEL := papers engine updates maintenance streaming equivalence modules/test_closures.py

.PHONY: help demo test test-slow test-spark test-faults fuzz bench wheel lint fmt clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    set up and run the wind-farm example"
	@echo "make test    set up and check everything: ruff, mypy, pytest"
	@echo "make test-slow   what takes long: executors and streams that are killed, most of the update streams, all random cases, checked kernels"
	@echo "make test-spark  the tests of evaluation and maintenance once more, on Spark"
	@echo "make test-faults a fault at every system call of a store, kills and damage: make test-faults SECONDS=3600"
	@echo "make fuzz    random updates against from-scratch evaluation: make fuzz SEED=7 SECONDS=600"
	@echo "make lint    ruff and mypy only"
	@echo "make fmt     let ruff mend what it can"
	@echo "make bench   the papers' tables and other systems beside ours; SIZE=small is quick, BENCH=--save keeps it"
	@echo "make wheel   build the wheel for this platform, with compiled kernels, into dist/"
	@echo "make clean   remove .venv, caches and output"

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "holdfast needs Python 3.11 or later; name one with: make PYTHON=python3.12 …"; exit 1; }
	@echo "== making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv || \
		{ rm -rf .venv; echo "that Python cannot make environments (on Debian: apt install python3-venv)"; exit 1; }

.venv/installed-dev: $(BUILT_FROM) | .venv/bin/python
	@echo "== installing holdfast and what the tests need into .venv; the kernels are compiled (a minute or two)"
	@$(call install,[dev$(comma)spark])

.venv/installed-spark: $(BUILT_FROM) | .venv/bin/python
	@echo "== installing holdfast and PySpark into .venv (half a gigabyte); the kernels are compiled (a minute or two)"
	@$(call install,[spark])

.venv/installed-bench: $(BUILT_FROM) | .venv/bin/python
	@echo "== installing holdfast and what the measurements need into .venv; the kernels are compiled (a minute or two)"
	@$(call install,[bench$(comma)spark])

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
	@echo "== pytest, $(WORKERS) processes"
	@$(BIN)/pytest -n $(WORKERS) --dist loadgroup
	@echo "== pytest --kernels numba: a part once more, with kernels that Numba compiles here"
	@$(BIN)/pytest -n $(WORKERS) -q --kernels numba $(addprefix tests/,$(ON_NUMBA))
	@echo "== pytest --engine model: the suites of the algorithms on a backend of Python sets"
	@$(BIN)/pytest -n $(WORKERS) -q --engine model $(addprefix tests/,$(ON_THE_MODEL))
	@echo "== pytest --engine parted: the same on three shards in threads"
	@$(BIN)/pytest -n $(WORKERS) -q --engine parted $(addprefix tests/,$(ON_THE_MODEL))

test-slow: .venv/installed-dev
	@echo "== pytest -m slow: executors and streams that are killed, the rest of the streams"
	@$(BIN)/pytest -m slow
	@echo "== pytest --cases all: all cases of the random tests"
	@$(BIN)/pytest -n $(WORKERS) --cases all $(addprefix tests/,$(RANDOM))
	@echo "== pytest --kernels numba, with NUMBA_BOUNDSCHECK: no kernel reads or writes beyond its arrays"
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=build/checked-kernels \
		$(BIN)/pytest -n $(WORKERS) --dist loadgroup -q --kernels numba $(addprefix tests/,$(IN_KERNELS))
	@echo "== pytest --engine spark: the papers' worked examples, on Spark"
	@$(BIN)/pytest --engine spark tests/papers

test-faults: SECONDS = 86400
test-faults: .venv/installed-dev
	@echo "== the fault campaign of stores; SECONDS bounds it"
	@$(BIN)/python -m tests.store.campaign --seconds $(SECONDS)
	@echo "== one process writes a store and four follow it: 10,000 updates"
	@$(BIN)/python -m tests.store.processes
	@echo "== threads read while others write: histories of 10,000 updates, with and without a store"
	@$(BIN)/python -m tests.versions.histories --updates 10000
	@rm -rf build/history && mkdir -p build && $(BIN)/python -m tests.versions.histories --updates 10000 --store build/history
	@rm -rf build/history
	@echo "== 100,000 updates of one store: memory, disk and time stay bounded"
	@$(BIN)/python -m tests.store.soak

test-spark: .venv/installed-dev
	@echo "== pytest --engine spark: the tests of evaluation and maintenance on Spark, with fewer random steps; hours"
	@$(BIN)/pytest --engine spark $(addprefix tests/,papers judges equivalence streaming maintenance updates modules engine suites)

fuzz: .venv/installed-dev
	@echo "== python -m tests.equivalence.fuzz --seed $(SEED) --seconds $(SECONDS)"
	@$(BIN)/python -m tests.equivalence.fuzz --seed $(SEED) --seconds $(SECONDS)
	@echo "== python -m tests.limits.fuzz --seed $(SEED) --seconds $(SECONDS)"
	@$(BIN)/python -m tests.limits.fuzz --seed $(SEED) --seconds $(SECONDS)
	@echo "== python -m tests.seams.fuzz --seed $(SEED) --seconds $(SECONDS)"
	@$(BIN)/python -m tests.seams.fuzz --seed $(SEED) --seconds $(SECONDS)
	@echo "== python -m tests.atomic.sweep --seed $(SEED) --seconds $(SECONDS)"
	@$(BIN)/python -m tests.atomic.sweep --seed $(SEED) --seconds $(SECONDS)
	@$(BIN)/python -m tests.atomic.signalled --seed $(SEED) --updates $$((1 + $(SECONDS)))
	@for name in readers closures streams several; do \
		$(BIN)/python -m tests.atomic.threaded $$name --seed $(SEED) --rounds $$((1 + $(SECONDS) / 6)) || exit 1; done

fmt: .venv/installed-dev
	@echo "== ruff --fix"
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

wheel: .venv/installed-dev
	@echo "== building dist/*.whl"
	@$(BIN)/python -m pip wheel -qq --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist

bench: .venv/installed-bench
	@echo "== python -m bench --size $(SIZE) $(BENCH)"
	@$(BIN)/python -m bench --size $(SIZE) $(BENCH)
	@case "$(BENCH)" in *--save*) $(BIN)/python -m bench.readme;; esac

clean:
	@echo "== removing .venv, caches and out/"
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis out build dist
	@rm -f src/holdfast/_kernels*.so src/holdfast/language/grammar.pickle
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
