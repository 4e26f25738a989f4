"""Deletion in cascades leaves what deletion in rounds leaves: facts, counters, ranks."""

from __future__ import annotations

from random import Random

import pytest

import holdfast
from holdfast import Update
from holdfast.backends.memory import cascades as in_memory
from holdfast.backends.memory.cascades import MemoryCascade, worth_cascade
from holdfast.backends.memory.store import MemoryBackend
from holdfast.maintenance.cascades import Cascades
from holdfast.maintenance.stratum import Phase, Stratum

from ..equivalence.mutants import Mutant, broken
from .test_dred_ranked import POINTS_TO, points_to
from .test_ranked_join import EDGES, check

pytestmark = pytest.mark.only_in_memory("only there rules delete in cascades")

PROGRAMS = {
    "right-linear": EDGES + "path(x, y) :- edge(x, y).  path(x, z) :- edge(x, y), path(y, z).",
    "two rules": EDGES
    + "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z).  path(z, x) :- path(x, y), edge(z, y).",
    "beside another rule": EDGES
    + "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z)."
    + "  path(x, z) :- path(x, y), path(y, z), !shut(y).",
    "constants and wildcards": EDGES
    + "path(x, y) :- edge(x, y).  path(0, z) :- path(x, y), edge(y, z).  path(y, 1) :- path(x, x), edge(x, y)."
    + "  path(x, z) :- path(x, _), edge(1, z).",
    "points-to": POINTS_TO,
}


@pytest.fixture(autouse=True)
def in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joins stop in the middle, and any fan-out will do."""
    monkeypatch.setattr(in_memory, "_FAN_OUT", 1e9)
    monkeypatch.setattr(in_memory, "_BINDINGS", 2)
    monkeypatch.setattr(in_memory, "_HEADS", 3)
    monkeypatch.setattr(in_memory, "_FIRST", 4)
    monkeypatch.setattr(in_memory, "_GROWTH", 1)


def facts_of(name: str, random: Random) -> dict[str, list[tuple[int, ...]]]:
    if name == "points-to":
        return points_to(random, 30, 12)
    return {
        "edge": sorted({(random.randrange(14), random.randrange(14)) for _ in range(24)}),
        "shut": sorted({(random.randrange(14),) for _ in range(3)}),
    }


def updated(name: str, seed: int) -> None:
    """Ranks and Cw by their definition, counters and facts as an evaluation from scratch has them."""
    random, program = Random(seed), PROGRAMS[name]
    facts = facts_of(name, random)
    kb = holdfast.from_text(program, facts=facts, modules=())
    for algorithm in ("dred-ranked", "dred-ranked", "dred-counting", "dred-ranked", "auto"):
        gone = {name: random.sample(rows, min(3, len(rows))) for name, rows in facts.items()}
        kb.what_if(Update(delete=gone), algorithm=algorithm)  # which is rolled back
        for update in Update(delete=gone), Update(insert=gone):
            kb.apply(update, algorithm=algorithm)
            check(kb, program, facts)


@pytest.mark.parametrize("name", PROGRAMS)
def test_counters_and_ranks_are_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told, run = list[int](), MemoryCascade.run

    def counted(cascade: MemoryCascade, *arguments: object) -> object:
        *others, count = arguments
        told.append(0)

        def tell(instances: int) -> None:
            told[-1] += 1
            count(instances)  # type: ignore[operator]

        return run(cascade, *others, tell)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryCascade, "run", counted)
    for seed in range(6):
        updated(name, seed)
    assert max(told) > 1, "a cascade goes on after it stopped"


@pytest.mark.parametrize("algorithm", ["dred-counting", "dred-ranked"])
def test_figures_are_those_of_rounds(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is visited and overdeleted does not depend on the order."""
    found = set[tuple[int, ...]]()
    for may in (True, False):
        if not may:
            monkeypatch.setattr(MemoryBackend, "cascades", lambda *_: False)
        facts = facts_of("", Random(7))
        kb = holdfast.from_text(PROGRAMS["beside another rule"], facts=facts, modules=())
        figures = kb.apply(Update(delete={"edge": facts["edge"][::5]}), algorithm=algorithm).figures
        found.add(tuple(number for f in figures for number in (f.deletion, f.overdeleted, f.rederived, f.insertion)))
    assert len(found) == 1


@pytest.mark.parametrize("algorithm", ["dred-counting", "dred-ranked"])
def test_the_watch_sees_the_instances_of_a_cascade_on_its_way(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is deleted need not be evaluated: an update that deletes nearly all is abandoned halfway."""
    kb = holdfast.from_text(PROGRAMS["right-linear"], facts={"edge": [(n, n + 1) for n in range(30)]}, modules=())
    count, told, seen = Stratum.count, [0], list[int]()

    def counted(self: Stratum, instances: int, phase: Phase | None = None) -> None:
        told.append(told[-1] + instances)
        count(self, instances, phase)

    monkeypatch.setattr(Stratum, "count", counted)
    monkeypatch.setattr(kb._state.watch, "batch", lambda _: seen.append(told[-1]))
    kb.apply(Update(delete={"edge": [(15, 16)]}), algorithm=algorithm)
    assert len({*seen}) > 10


@pytest.mark.parametrize("algorithm", ["dred-counting", "dred-ranked"])
def test_an_update_that_stops_in_a_cascade_changes_nothing(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, facts = PROGRAMS["right-linear"], {"edge": [(n, n + 1) for n in range(30)], "shut": [(1,)]}
    kb = holdfast.from_text(program, facts=facts, modules=())
    before, batch, calls = kb.counters("path"), kb._state.watch.batch, list[int]()

    def limited(new_facts: int) -> None:
        calls.append(new_facts)
        if len(calls) > 12:
            raise KeyboardInterrupt
        batch(new_facts)

    monkeypatch.setattr(kb._state.watch, "batch", limited)
    with pytest.raises(KeyboardInterrupt):
        kb.apply(Update(delete={"edge": [(15, 16)]}), algorithm=algorithm)
    monkeypatch.undo()
    assert kb.counters("path") == before
    kb.apply(Update(delete={"edge": [(15, 16)]}), algorithm=algorithm)
    check(kb, program, facts)


def test_heads_that_are_alike_are_counted_together_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dense graph: one look-up of a head for many instances is cheaper than a cascade."""
    monkeypatch.undo()
    facts = {"edge": [(x, y) for x in range(20) for y in range(20)]}
    kb = holdfast.from_text("p(x, y) :- edge(x, y).  p(x, z) :- p(x, y), edge(y, z).", facts=facts, modules=())
    [plan] = [plan for node in kb._state.maintainer.nodes for plan in node.planner.linear(node.kept.recursive)]
    assert plan is not None
    assert not worth_cascade(kb._state.backend, plan)


MUTANTS = [
    Mutant("another rule does not see what a cascade deleted", Cascades.spread, "inputs | every", "inputs", "dred"),
    Mutant("a second cascade does not go on", Cascades.spread, "facts | new", "facts", "dred"),
    Mutant("what goes is not in D", MemoryCascade.run, "work[len(facts) : state[1]])", "work[:0])", "dred"),
    Mutant("Cr is not put back", MemoryCascade.run, "moved, state, 5", "moved[:0], state, 5", "dred"),
    Mutant("Cw is not put back", MemoryCascade.run, "founded, state, 6", "founded[:0], state, 6", "dred"),
    Mutant("facts of no rank", MemoryCascade._arrays, "keeping, ranks,", "keeping, 0 * ranks,", "dred"),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutants_are_caught(mutant: Mutant) -> None:
    with broken(mutant):
        assert any(fails(name, seed) for seed in range(5) for name in PROGRAMS)


def fails(name: str, seed: int) -> bool:
    try:
        updated(name, seed)
    except Exception:
        return True
    return False
