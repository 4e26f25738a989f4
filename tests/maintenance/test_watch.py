"""Limits: each stops a run inside a round, wherever the work is, and nothing of the run is kept."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

import holdfast
from holdfast.backends.memory.execution import buffers
from holdfast.errors import LimitReached
from holdfast.maintenance import watch as watch_module
from holdfast.maintenance.watch import Watch
from holdfast.settings import Limits

INSIDE_A_ROUND = pytest.mark.only_in_memory(
    "on Spark each task counts, and has a clock; see test_shards.py", also=("parted",)
)

NUMBERS = {"n": [(i,) for i in range(60)]}
CUBE = "q(x, y, z) :- n(x), n(y), n(z)."
CHAIN = "r(x, y) :- e(x, y).\nr(x, z) :- r(x, y), e(y, z)."
STEPS = {"e": [(i, i + 1) for i in range(50)]}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "BATCH", 500)


@pytest.fixture
def a_second_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes on by a second each time that somebody looks."""
    ticks = count()
    look = staticmethod(lambda: next(ticks))
    monkeypatch.setattr(watch_module, "time", type("Clock", (), {"monotonic": look, "process_time": look}))


class Rounds:
    """Progress that remembers the rounds."""

    def __init__(self) -> None:
        self.rounds: list[int] = []
        self.is_finished = False

    def compiling(self) -> None:
        pass

    def started(self, nodes: int) -> None:
        pass

    def round(self, node: str, round: int, new_facts: int, facts: int) -> None:
        self.rounds.append(round)

    def finished(self) -> None:
        self.is_finished = True


def stopped(program: str, facts: dict[str, list[tuple[int, ...]]], limits: Limits) -> tuple[str, str, Rounds]:
    """The code and the note of what stopped a run."""
    progress = Rounds()
    with pytest.raises(LimitReached) as caught:
        holdfast.from_text(program, facts=facts, limits=limits, modules=(), progress=progress)
    [diagnostic] = caught.value.diagnostics
    assert not progress.is_finished
    assert "no result of this run was kept" in diagnostic.notes[0]
    return diagnostic.code, diagnostic.message, progress


def facts_counted(program: str, facts: dict[str, list[tuple[int, ...]]], limits: Limits) -> int:
    with pytest.raises(LimitReached) as caught:
        holdfast.from_text(program, facts=facts, limits=limits)
    return int(caught.value.diagnostics[0].notes[0].split()[0].replace(",", ""))


@INSIDE_A_ROUND
def test_facts_inside_a_round() -> None:
    code, message, progress = stopped(CUBE, NUMBERS, Limits(facts=5_000))
    assert (code, message) == ("E0802", "limit reached: more than 5,000 facts")
    assert progress.rounds == [1], "n's own round; the rule's first was not finished"
    assert 5_000 < facts_counted(CUBE, NUMBERS, Limits(facts=5_000)) <= 5_500, "no more than one batch beyond"


def test_the_limit_itself_is_allowed() -> None:
    assert len(holdfast.from_text(CHAIN, facts=STEPS, limits=Limits(facts=50 + 1275))["r"]) == 1275
    assert stopped(CHAIN, STEPS, Limits(facts=50 + 1274))[0] == "E0802"
    assert holdfast.from_text(CHAIN, facts=STEPS, limits=Limits(rounds=50), modules=()).statistics.rounds >= 50
    assert stopped(CHAIN, STEPS, Limits(rounds=49))[:2] == ("E0801", "limit reached: r needs more than 49 rounds")


def test_explicit_facts_count() -> None:
    assert stopped("p(x) :- n(x).", NUMBERS, Limits(facts=59))[0] == "E0802"


def test_facts_of_an_aggregate_count() -> None:
    """100 pairs, 100 facts of the relation that the aggregate makes, and as many heads."""
    groups, pairs = "size(x, count(y)) :- pair(x, y).", {"pair": [(i, i) for i in range(100)]}
    assert len(holdfast.from_text(groups, facts=pairs, limits=Limits(facts=300))["size"]) == 100
    assert stopped(groups, pairs, Limits(facts=250))[0] == "E0802"


def test_rounds() -> None:
    *_, progress = stopped("r(0).\nr(x + 1) :- r(x).", {}, Limits(rounds=30))
    assert progress.rounds == [*range(1, 31), 31]


@pytest.mark.usefixtures("a_second_a_look")
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(CUBE, id="product", marks=INSIDE_A_ROUND),
        pytest.param("q(x) :- n(x), n(y), n(z), x + y + z < 0.", id="filter", marks=INSIDE_A_ROUND),  # gives nothing
        pytest.param("q(x) :- n(x), n(y), n(z), !n(z).", id="negation", marks=INSIDE_A_ROUND),
        pytest.param("r(0).\nr(x + 1) :- r(x).", id="endless"),
    ],
)
def test_seconds(program: str) -> None:
    facts = NUMBERS if "n(x)" in program else {}
    code, message, progress = stopped(program, facts, Limits(seconds=40))
    assert (code, message) == ("E0803", "limit reached: the run takes more than 40 seconds")
    if facts:
        assert progress.rounds == [1]


@pytest.mark.only_in_memory("the memory limit counts what tables of this process hold", also=("parted", "threads"))
def test_memory_inside_a_round() -> None:
    code, message, progress = stopped(CUBE, NUMBERS, Limits(memory=2**20))
    assert (code, message) == ("E0804", "limit reached: facts, strings and indexes take more than 1 MiB")
    assert progress.rounds == [1]
    assert facts_counted(CUBE, NUMBERS, Limits(memory=2**20)) < 60**3


@pytest.mark.only_in_memory("the memory limit counts what tables of this process hold", also=("parted", "threads"))
def test_memory_of_a_tiny_program() -> None:
    assert stopped("p(1). p(2). q(x) :- p(x).", {}, Limits(memory=1_000))[0] == "E0804"


@pytest.mark.only_in_memory("the memory limit counts what tables of this process hold", also=("parted", "threads"))
def test_memory_of_indexes() -> None:
    """A table that fits in, with indexes that do not."""
    facts = {"p": [tuple(row) for row in np.random.default_rng(3).integers(0, 10**6, (3_000, 4)).tolist()]}
    program = "q(a) :- p(a, b, c, d), p(b, a, _, _), p(c, _, a, _), p(d, _, _, a)."
    limit = holdfast.from_text("q(a) :- p(a, a, _, _).", facts=facts).statistics.memory + 2**16
    assert stopped(program, facts, Limits(memory=limit))[0] == "E0804"


def test_no_limits_no_stop() -> None:
    watch = Watch()
    for _ in range(3):
        watch.round(10**9)
        watch.batch(10**12)
        watch.grown("t", 2**50)
    assert (watch.rounds, watch.facts) == (3, 3 * 10**12)


def test_a_table_that_grows_again_counts_once() -> None:
    watch = Watch(Limits(memory=100))
    watch.grown("t", 60)
    watch.grown("t", 90)
    with pytest.raises(LimitReached):
        watch.grown("u", 11)


def test_each_hyper_node_begins_its_rounds_anew() -> None:
    watch = Watch(Limits(rounds=2))
    for name in ("p", "q"):
        watch.node(name)
        watch.round(1)
        watch.round(1)
    with pytest.raises(LimitReached, match="q needs more than 2 rounds"):
        watch.round(1)
