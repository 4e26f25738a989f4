"""The tests of evaluation in new tables and of the bound bite: each broken copy is caught by the property it breaks."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

import holdfast
from holdfast import Limits, Update
from holdfast.backends.memory import ranks, scratch, table
from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.ranks import MemoryRanking, _Beside
from holdfast.backends.memory.scratch import MemoryScratch
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.memory.table import Table
from holdfast.errors import HoldfastError
from holdfast.maintenance import budget, recompute
from holdfast.maintenance.budget import AbandonedError, Budget, FullCost, FullCosts
from holdfast.maintenance.choose import Chooser
from holdfast.maintenance.dred_ranked import RankedStratum
from holdfast.maintenance.late_rules import LateRules
from holdfast.maintenance.rates import Rates
from holdfast.maintenance.walk import Walk
from holdfast.modules import MODULES

from ..equivalence.checking import run
from ..equivalence.lanes import STRATEGIES, Lane
from ..equivalence.mutants import Mutant, broken
from ..equivalence.rank_check import wrong_ranks
from ..equivalence.scripts import closure_writer, random_script
from . import test_budget
from .test_budget import BOUND, RING, RULES, is_spent_after
from .test_dred_ranked import POINTS_TO, points_to

pytestmark = [pytest.mark.only_in_memory("only there hyper-nodes have tables, and ranks"), pytest.mark.many_cases]

ENOUGH = 60  # scripts
ALGORITHMS = ("dred", "dred-counting", "dred-ranked", "backward-forward", "backward-forward-counting")
LONELY = [(100 + 2 * i, 101 + 2 * i) for i in range(400)]


def scripts(seed: int, policy: str = "recompute or dred-ranked or dred-counting") -> None:
    """State, counters and ranks after each update of a random script; two of three evaluate in new tables."""
    random, scratch.ENOUGH = Random(seed), 0 if seed % 3 else 50_000
    ranks._MANY_RUNS = 1 if seed % 5 == 1 else 4_096
    script = random_script(random, writer=closure_writer(random) if seed % 2 else None)
    try:
        lane = Lane(script, 0, policy, STRATEGIES[seed % 2], modules=MODULES if seed % 4 == 3 else ())
    except HoldfastError:
        return  # the program is refused
    run(script, [lane], oracle=0)


def waiting(seed: int) -> None:
    """Ranks by their definition where rules wait for others."""
    random = Random(seed)
    facts = points_to(random, 40, 15)
    kb = holdfast.from_text(POINTS_TO, facts=facts, modules=())
    for _ in range(4):
        some = {name: random.sample(rows, min(2, len(rows))) for name, rows in facts.items()}
        for algorithm in ("recompute", "dred-ranked"):
            kb.apply(Update(delete=some), algorithm=algorithm)
            assert wrong_ranks(kb) is None
            kb.apply(Update(insert=some), algorithm="dred-ranked")
            assert wrong_ranks(kb) is None


def popular(seed: int) -> None:
    """Cw of a fact with many derivations."""
    edges = [*((0, x) for x in range(1, 300 + seed)), *((x, -1) for x in range(1, 300 + seed))]
    rules = "seen(0) :- edge(0, _).  seen(y) :- seen(x), edge(x, y)."
    kb = holdfast.from_text(rules, facts={"edge": edges}, modules=())
    assert wrong_ranks(kb) is None


def within_limits(seed: int) -> None:
    """A limit on facts is for those that there are in the end."""
    kb = holdfast.from_text(RULES, facts={"edge": RING}, modules=(), limits=Limits(facts=len(RING) + 144 + 10))
    kb.apply(Update(delete={"edge": [RING[seed % len(RING)]]}), algorithm="recompute")


def ranks_of(kb: holdfast.KnowledgeBase) -> object:
    """Of paths."""
    assert isinstance(kb._backend, MemoryBackend)
    return kb._backend.ranking.ranks("path")[1:]


def asked(seed: int) -> None:
    """What was only asked about leaves no counters and ranks, nor for facts that would be new."""
    random, edges = Random(seed), {LONELY[0], *RING}
    kb = holdfast.from_text(RULES, facts={"edge": [LONELY[0], *RING]}, modules=())
    if seed % 2:
        before = ranks_of(kb)
        kb.what_if(Update(delete={"edge": LONELY[:1]}), algorithm="recompute")  # the others are a run
        assert ranks_of(kb) == before
    for _ in range(4):
        gone, come = random.sample(sorted(edges), 2), {(random.randrange(20), random.randrange(20)) for _ in range(3)}
        update = Update(delete={"edge": gone}, insert={"edge": sorted(come)})
        kb.what_if(update, algorithm="recompute")
        kb.apply(update, algorithm=random.choice(("dred-counting", "dred-ranked")))
        edges = (edges - set(gone)) | come
        again = holdfast.from_text(RULES, facts={"edge": sorted(edges)}, modules=())
        assert wrong_ranks(kb) is None
        assert kb.counters("path") == again.counters("path")


QUADRATIC = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), path(y, z)."


def packed(seed: int) -> None:
    """Ranks move with the rows, also where no rank has been read yet: those of runs of rows are written late.

    Nothing follows from the paths of lonely edges, so that their deletion reads no rank.
    """
    random, kb = Random(seed), holdfast.from_text(QUADRATIC, facts={"edge": [*LONELY, *RING]}, modules=())
    backend = kb._backend
    assert isinstance(backend, MemoryBackend)
    before = backend.packings
    kb.apply(Update(delete={"edge": LONELY}), algorithm="dred-ranked")
    assert backend.packings > before
    assert wrong_ranks(kb) is None
    for turn in range(4):
        update = Update(delete={"edge": random.sample(RING, 18)}, insert={"edge": [(100 + turn, 200 + turn)]})
        kb.apply(update, algorithm="dred-ranked")
        assert wrong_ranks(kb) is None
        kb.apply(Update(insert={"edge": RING}), algorithm="dred-ranked")
        assert wrong_ranks(kb) is None


def test_rows_are_packed_before_ranks_are_written() -> None:
    """Else the property above would show nothing."""
    kb = holdfast.from_text(QUADRATIC, facts={"edge": [*LONELY, *RING]}, modules=())
    backend = kb._backend
    assert isinstance(backend, MemoryBackend)
    seen = list[bool]()
    keep_only = _Beside.keep_only

    def kept(self: _Beside, predicate: str, ids: Ids) -> None:
        seen.append(predicate == "path" and predicate in self.unwritten)
        keep_only(self, predicate, ids)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Beside, "keep_only", kept)
        kb.apply(Update(delete={"edge": LONELY}), algorithm="dred-ranked")
    assert any(seen)


def abandoned(seed: int) -> None:
    """Whatever runs is abandoned somewhere, and the state is right."""
    scripts(seed, "auto")


def costs(seed: int) -> None:
    """The cost of starting over is what an evaluation of the new facts visits; what was only asked about leaves it."""
    random, node = Random(seed), ("path",)
    kb, edges = holdfast.from_text(RULES, facts={"edge": RING}, modules=()), set(RING)
    for _ in range(6):
        gone, come = random.sample(sorted(edges), 2), {(random.randrange(12), random.randrange(12)) for _ in range(3)}
        update = Update(delete={"edge": gone}, insert={"edge": sorted(come)})
        kb.what_if(update, algorithm="dred-ranked")
        kb.apply(update, algorithm=random.choice(("dred-ranked", "dred-counting", "recompute")))
        edges = (edges - set(gone)) | come
        again = holdfast.from_text(RULES, facts={"edge": sorted(edges)}, modules=())
        left, expected = (one._maintainer.chooser.costs.of(node) for one in (kb, again))
        assert left is not None
        assert expected is not None
        assert left.instances == expected.instances


def bounds(seed: int) -> None:
    """The table of what is spent and what is not."""
    for figures, seconds, expected in BOUND:
        assert is_spent_after(FullCost(100_000, 1.0), figures, seconds) == expected
    small = FullCost(100, 0.001).after(budget.Figures(insertion=1_000_000))
    assert 0.1 < small.seconds < 1.0  # so few instances do not show what one takes
    assert small.after(budget.Figures(deletion=1_000_000)).seconds == 0.001


def small(seed: int) -> None:
    """A small evaluation between two updates of a large hyper-node."""
    test_budget.test_a_small_evaluation_says_little_of_a_large_one()


def learning(seed: int) -> None:
    """What was abandoned, or took long, is not tried again at once, but in time."""
    rates = Rates()
    for size in (1, 10, 100):
        rates.took(size, 0.001 * size)
    assert 0.5 <= rates.expected(1_000) <= 1.0
    rates.doubt(1_000)
    assert rates.expected(1_000) < 1.0
    assert rates.expected(100) == pytest.approx(0.1)
    for _ in range(50):
        rates.doubt(1_000)
    assert rates.expected(1_000) < 0.01
    rates.took(1_000, 3.0)
    assert rates.expected(1_000) == pytest.approx(3.0)
    rates.abandoned(900, 4.0)
    assert rates.expected(1_000) > 3.0
    rates.abandoned(20_000, 4.0)
    rates.abandoned(20_000, 0.5)
    assert rates.expected(20_000) > 5.0, "that it was abandoned so soon says nothing new"


def in_order(seed: int) -> None:
    """Facts that come nearly in the order of rows are found where they are, by one look or by many."""
    random, one, other = Random(seed), Table("t", 2), Table("t", 2)
    for _ in range(4):
        facts = [(i // 7, i % 7) for i in range(60) if random.random() > 0.1]
        some = facts[:30] + random.sample(facts[30:], len(facts) - 30) if random.random() < 0.5 else facts
        rows = np.array(some, np.int64)
        table._GLANCE = random.choice((1, 4, 100))
        assert one.intern_in_order(rows).tolist() == other.intern(rows).tolist()
    assert one.rows[: one.size].tolist() == other.rows[: other.size].tolist()


PROPERTIES: dict[str, Callable[[int], None]] = {
    "scripts": scripts,
    "small": small,
    "waiting": waiting,
    "within limits": within_limits,
    "popular": popular,
    "asked": asked,
    "packed": packed,
    "in order": in_order,
    "abandoned": abandoned,
    "costs": costs,
    "bounds": bounds,
    "learning": learning,
}
MUTANTS = [
    # backends/memory/scratch.py, and what is brought over
    Mutant(
        "counters stay behind",
        MemoryScratch.bring_over,
        "counters.of(name)[where[name]] = new.of(name)[places[name]]",
        "pass",
        "scripts",
    ),
    Mutant("counters are as before", MemoryScratch.bring_over, "counters.forget(names)", "pass", "asked"),
    Mutant(
        "Cr stays behind",
        MemoryScratch._counters,
        "yield self._real.recursive, self.backend.recursive",
        "pass",
        "scripts",
    ),
    Mutant(
        "ranks stay behind",
        MemoryScratch.bring_over,
        "self._real.ranking.take_over(self.backend.ranking, places, where)",
        "pass",
        "scripts",
    ),
    Mutant(
        "counters are not taken back",
        MemoryScratch.bring_over,
        "counters.remember(partial(_clear, counters, before))",
        "pass",
        "asked",
    ),
    Mutant("rows with gaps are a run", scratch._where, "if is_run", "if True", "scripts"),
    Mutant(
        "rows are where facts are",
        Table.intern_in_order,
        "np.arange(row, row + same",
        "np.arange(begin, begin + same",
        "in order",
    ),
    Mutant("rows that are alike are the same", table._same, "int(is_same.argmin())", "length", "in order"),
    Mutant("explicit facts stay behind", MemoryScratch.facts, "in self._names}", "in ()}", "scripts"),
    Mutant(
        "rules read what was there before the update",
        MemoryScratch.reads,
        "self.backend.materialisation, elsewhere)",
        "self.backend.materialisation, self._real.materialisation)",
        "scripts",
    ),
    Mutant("rows are found at other places", MemoryScratch._places, "slice(0, size) if", "slice(0, 0) if", "scripts"),
    Mutant(
        "facts that are dropped soon count",
        scratch._Quiet.batch,
        "self._watch.batch(0)",
        "self._watch.batch(new_facts)",
        "within limits",
    ),
    Mutant("rounds elsewhere do not count", MemoryRanking.take_over, "self.rounds += other.rounds", "pass", "scripts"),
    Mutant(
        "ranks are not taken back",
        MemoryRanking.take_over,
        "self.founded.remember(beside.put_back(predicate))",
        "pass",
        "asked",
    ),
    Mutant("ranks that were taken back wait", _Beside.put_back, "self.drop(predicate)", "pass", "asked"),
    Mutant("ranks that waited do not come back", _Beside.put_back, "if runs is not None", "if False", "asked"),
    Mutant("ranks that were read do not come back", _Beside.put_back, "if array is not None", "if False", "asked"),
    Mutant("runs come with ranks of elsewhere", _Beside.take_over, "some + step) for", "some) for", "scripts"),
    Mutant("runs come where they were elsewhere", ranks._part, "return slice(wh", "return places # ", "scripts"),
    Mutant("scattered rows come in another order", ranks._part, "where[places]", "where[places][::-1]", "scripts"),
    Mutant(
        "what comes while ranks wait is the first", MemoryRanking._scatter, "(ids, self.rounds)", "(ids, 1)", "scripts"
    ),
    Mutant("what comes while ranks wait has no Cw", MemoryRanking._scatter, "(ids, Cr)", "(ids, 0 * Cr)", "scripts"),
    Mutant(
        "rules that waited elsewhere did not wait",
        MemoryRanking.take_over,
        "self._defer({**self.deferred, **moved})",
        "pass",
        "waiting",
    ),
    Mutant(
        "rules waited for other ranks",
        MemoryRanking.take_over,
        "_shifted(spans, base)",
        "_shifted(spans, 0)",
        "waiting",
    ),
    Mutant(
        "what was deleted elsewhere is read", recompute._evaluate_beside, "(s.I - s.D) | s.A", "s.I | s.A", "scripts"
    ),
    Mutant("a run has another rank", MemoryRanking.enter, "(slice(*run), self.rounds)", "(slice(*run), 1)", "scripts"),
    Mutant(
        "runs that come later are forgotten",
        _Beside.write_many,
        "self.of(predicate)",
        "self.drop(predicate)",
        "scripts",
    ),
    Mutant("all numbers are small", MemoryRanking._copy, "np.min_scalar_type(Cr.max())", "np.uint8", "popular"),
    Mutant("a run has its rank for ever", _Beside.of, "self.unwritten.pop(predicate, None)", "pass", "scripts"),
    Mutant(
        "rows move before ranks are written",
        _Beside.keep_only,
        "self.of(predicate).take(ids)",
        "self.arrays[predicate].take(ids)",
        "packed",
    ),
    Mutant("ranks stay where rows were", MemoryRanking.keep_only, "in (self.founded, self._rank)", "in ()", "packed"),
    # maintenance/budget.py, and what is made of it
    Mutant("deleted instances are visited again", FullCost.after, "- figures.deletion", "", "costs"),
    Mutant("inserted instances are not visited", FullCost.after, "+ figures.insertion", "", "costs"),
    Mutant(
        "seconds do not follow instances",
        FullCost._expected,
        "took * instances / then",
        "took",
        "bounds",
    ),
    Mutant("few instances show what one takes", FullCost._expected, "if then < _FEW", "if False", "bounds"),
    Mutant("what comes and goes costs more and more", FullCost.after, "self.last", "None", "bounds"),
    Mutant("what large evaluations took is forgotten", FullCost.then, "largest=max(known)", "largest=None", "small"),
    Mutant("what large evaluations took does not count", FullCost._expected, "is not None", "is None", "small"),
    Mutant(
        "a recomputation costs what it did before", FullCosts.maintained, "if figures.is_anew:", "if False:", "costs"
    ),
    Mutant("what was only asked about is kept", FullCosts.restore, "self._known = dict(entries)", "pass", "costs"),
    Mutant(
        "only what is known beforehand counts", Budget.check, "self._full.after(self._figures)", "self._full", "bounds"
    ),
    Mutant("a rule that waited misses what has gone", RankedStratum.overdelete, "(D - A)) | Δ", "(D - A))", "waiting"),
    Mutant("a rule waits for ever", RankedStratum.overdelete, " or turns.missed", "", "waiting"),
    Mutant("a rule misses all but the last round", LateRules.late, ".pop(place)", ".pop(place)[-1:]", "waiting"),
    Mutant("other rules wait meanwhile", LateRules.now, "if not self.missed:", "if True:", "waiting"),
    Mutant("nothing is abandoned", Budget.check, "_SLACK + most", "9 + most", "bounds"),
    Mutant("everything is abandoned", Budget.check, "_SLACK + most", "_SLACK", "bounds"),
    Mutant("what is nearly done is abandoned", Budget.check, "if self._figures.has_deleted", "if False", "bounds"),
    Mutant("deletions are not taken back", Walk._take_back, "D -= D.of(plan.predicates)", "pass", "abandoned"),
    Mutant("additions are not taken back", Walk._take_back, "A -= A.of(plan.predicates)", "pass", "abandoned"),
    Mutant("what was doubted once is doubted for ever", Rates.took, "self._doubts.pop(size, None)", "pass", "learning"),
    Mutant(
        "abandoned early it seems quick",
        Rates.abandoned,
        "max(_WORSE * seconds, self.expected(facts, power))",
        "seconds",
        "learning",
    ),
    Mutant("nothing is doubted", Rates.doubt, ", 0) + 1", ", 0)", "learning"),
    Mutant("seconds may grow faster than facts", Rates._estimate, "power if", "2.0 if", "learning"),
]


@pytest.fixture(autouse=True)
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are always new, rules wait, row ids change, and what runs is any algorithm and abandoned by chance."""
    dice = Random(1)

    def check(self: Budget) -> None:
        if dice.random() < (0.5 if self._figures.insertion else 0.1):  # what was added is rolled back too
            raise AbandonedError(self._figures, 0.0, self._full)

    monkeypatch.setattr(scratch, "ENOUGH", 0)
    monkeypatch.setattr(table, "_GLANCE", 3)
    monkeypatch.setattr(ranks, "_MANY_RUNS", 4_096)
    monkeypatch.setattr(ranks, "_FEW_ROWS", 0)
    monkeypatch.setattr("holdfast.backends.memory.store._FEW", 0)
    monkeypatch.setattr("holdfast.backends.memory.statistics.TableStatistics.many", 5.0)
    monkeypatch.setattr("holdfast.maintenance.walk.Budget", type("Chance", (Budget,), {"check": check}))
    monkeypatch.setattr(Chooser, "_best", lambda *_: (dice.choice(ALGORITHMS), "by chance"))


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutant_is_caught(mutant: Mutant) -> None:
    with broken(mutant):
        assert any(fails(PROPERTIES[mutant.policy], seed) for seed in range(ENOUGH))


@pytest.mark.parametrize("name", PROPERTIES)
def test_what_is_whole_is_not_caught(name: str) -> None:
    for seed in range(6):
        PROPERTIES[name](seed)


def fails(property: Callable[[int], None], seed: int) -> bool:
    """Whether it does not hold, be it that it breaks off."""
    try:
        property(seed)
    except Exception:
        return True
    return False
