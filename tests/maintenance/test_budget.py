"""An update that becomes dearer than starting over is abandoned, wherever it is, and its hyper-node is recomputed."""

from __future__ import annotations

import time
from random import Random
from types import SimpleNamespace

import pytest

import holdfast
from holdfast import Update
from holdfast.backends.abilities import Tuning, tuning
from holdfast.backends.memory.index import Index
from holdfast.errors import HoldfastError
from holdfast.maintenance.budget import AbandonedError, Budget, FullCost, FullCosts, work_of
from holdfast.maintenance.seminaive import NodeFigures
from holdfast.maintenance.stratum import Figures, Phase, Stratum
from holdfast.maintenance.watch import Stopwatch, Watch
from holdfast.modules import MODULES

from ..amounts import amount
from ..equivalence.checking import run
from ..equivalence.lanes import STRATEGIES, Lane
from ..equivalence.scripts import closure_writer, random_script

RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
"""
HERE = tuning(SimpleNamespace(ability=lambda _: None))  # type: ignore[arg-type]
RING = [(i, (i + step) % 12) for i in range(12) for step in (1, 5)]


def budget(full: FullCost, figures: Figures, seconds: float, *, elsewhere: Tuning | None = None) -> Budget:
    made = Budget(full, figures, Watch(), elsewhere or HERE)
    made._stopwatch = SimpleNamespace(work=seconds)  # type: ignore[assignment]
    return made


def is_spent(made: Budget) -> bool:
    try:
        made.check()
    except AbandonedError:
        return True
    return False


def is_spent_after(full: FullCost, figures: Figures, seconds: float) -> bool:
    return is_spent(budget(full, figures, seconds))


BOUND = [  # of 100,000 instances and one second: what was visited, the seconds that took, and whether that is too much
    (Figures(), 1.0, True),  # a large join, which counts at its end
    (Figures(), 0.8, False),
    (Figures(deletion=60_000), 0.45, True),  # 40,000 are left
    (Figures(deletion=60_000), 0.3, False),
    (Figures(backward=900_000), 0.8, False),  # many instances in little time
    (Figures(insertion=300_000), 3.2, False),  # starting over would visit them too
    (Figures(insertion=300_000), 3.3, True),
    (Figures(deletion=60_000, has_deleted=True), 1.01, False),  # only insertions are left
    (Figures(deletion=60_000, has_deleted=True), 1.03, True),  # it has taken as long as the last evaluation
    (Figures(insertion=60_000, has_deleted=True), 1.61, False),
    (Figures(insertion=60_000, has_deleted=True), 1.63, True),
]


@pytest.mark.parametrize(("figures", "seconds", "expected"), BOUND)
def test_seconds_count_as_the_instances_say(figures: Figures, seconds: float, expected: bool) -> None:
    assert is_spent_after(FullCost(100_000, 1.0), figures, seconds) == expected


@pytest.mark.parametrize("algorithm", ["dred", "dred-counting", "dred-ranked", "backward-forward-counting"])
def test_every_algorithm_says_when_it_has_deleted(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While facts are overdeleted it is not true; the insertions of this update come last."""
    seen = list[tuple[bool, bool]]()

    def counted(self: Stratum, instances: int, phase: Phase | None = None) -> None:
        seen.append((self.figures.has_deleted, self.phase == "insertion"))

    kb = holdfast.from_text(RULES, facts={"edge": RING}, modules=())
    monkeypatch.setattr(Stratum, "count", counted)
    kb.apply(Update(delete={"edge": RING[:3]}, insert={"edge": [(0, 3)]}), algorithm=algorithm)
    assert {*seen} == {(False, False), (True, True)}


def test_small_hyper_nodes_are_not_worth_a_change_of_mind() -> None:
    assert not is_spent(budget(FullCost(10, 0.0001), Figures(deletion=500), 0.015))


def test_what_comes_and_goes_leaves_no_cost() -> None:
    """Or the estimate would grow with the number of updates, and so would what it decides."""
    for instances in (100, 9_999, 10_000, 100_000):
        first = full = FullCost(instances, 0.001)
        for _ in range(100):
            full = full.after(Figures(insertion=5_000)).after(Figures(deletion=5_000))
        assert (full.instances, full.seconds) == (first.instances, pytest.approx(first.seconds))


def test_a_small_evaluation_says_little_of_a_large_one() -> None:
    """Most of it is what rounds take: in proportion, a large one would seem to take fifty times as long as it does."""
    costs, node = FullCosts(), ("p",)
    costs.materialised([(node, NodeFigures(node, 1, 1_000_000, 1, 1.0, 1.0))])
    large = costs.of(node)
    costs.maintained(node, Figures(insertion=20_000, is_anew=True, work=1.0))
    costs.maintained(node, Figures(insertion=10_000, work=0.01))
    assert costs.of(node) == FullCost(
        30_000, pytest.approx(1.0 + 0.1 / 98), measured=(20_000, 1.0), largest=(1_000_000, 1.1)
    )
    costs.maintained(node, Figures(insertion=970_000, work=0.9))
    again = costs.of(node)
    assert large is not None
    assert again is not None
    assert (again.instances, again.seconds) == (large.instances, pytest.approx(large.seconds))


def test_what_an_insertion_took_says_what_starting_over_takes() -> None:
    """A knowledge base grows; starting over takes no longer than what was done so far."""
    costs, node = FullCosts(), ("p",)
    costs.materialised([(node, NodeFigures(node, 1, 20_000, 1, 1.0, 1.0))])
    costs.maintained(node, Figures(insertion=980_000, work=2.0))
    grown = costs.of(node)
    assert grown is not None
    assert (grown.instances, grown.seconds) == (1_000_000, pytest.approx(3.1))
    costs.maintained(node, Figures(deletion=500_000, work=0.1))
    left = costs.of(node)
    assert left is not None
    assert left.seconds == pytest.approx(1.55)


def test_an_update_costs_at_most_twice_starting_over() -> None:
    for seconds in (0.6, 1.0, 10.0):
        assert is_spent(budget(FullCost(100_000, seconds), Figures(), seconds))


@pytest.mark.parametrize("engine", ["memory", "parted[2]"])
@pytest.mark.parametrize("seconds", [1.9, 6.0])
def test_new_indexes_are_no_reason_to_start_over(engine: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """An update may take as long for them as an evaluation; later updates use them, also if it was abandoned."""
    took, cost, cover = [0.0], 1.0, Index.cover

    def covered(index: Index, *rows: object) -> None:
        took.append(cost if not index.covered else 0.0)
        cover(index, *rows)  # type: ignore[arg-type]

    monkeypatch.setattr(Stopwatch, "clock", lambda: sum(took))
    monkeypatch.setattr(Stopwatch, "processor", lambda: sum(took))
    monkeypatch.setattr(Index, "cover", covered)
    kb = holdfast.from_text(RULES, facts={"edge": RING}, engine=engine, modules=())
    cost, came = seconds, []
    for delete, insert in ((RING[:2], []), ([], RING[:2]), (RING[2:4], []), (RING[4:6], RING[2:4])):
        change = kb.apply(Update(delete={"edge": delete}, insert={"edge": insert}))
        came += [(node.algorithm, node.abandoned > 0) for node in change.figures if node.predicates == ("path",)]
    assert seconds in took
    assert any(abandoned for _, abandoned in came) == (seconds > 2.0)
    assert all(abandoned for algorithm, abandoned in came if algorithm == "recompute")  # it is tried again each time
    assert came[-1] == ("dred-ranked", False)


def test_a_busy_machine_abandons_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock goes on while the process waits."""
    made = Budget(FullCost(100_000, 1.0), Figures(), Watch(), HERE)
    monkeypatch.setattr("holdfast.maintenance.watch.time.process_time", lambda: 0.0)
    later = time.monotonic() + 60.0
    with made:
        monkeypatch.setattr("holdfast.maintenance.watch.time.monotonic", lambda: later)
        assert not is_spent(made)


def test_other_threads_abandon_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Budget(FullCost(100_000, 60.0), Figures(), Watch(), HERE)
    with made:
        monkeypatch.setattr("holdfast.maintenance.watch.time.process_time", lambda: 1e9)
        assert not is_spent(made)


def test_cost_of_starting_over_follows_the_instances() -> None:
    kb = holdfast.from_text(RULES, facts={"edge": RING}, modules=())
    costs, node = kb._maintainer.chooser.costs, ("path",)
    first = costs.of(node)
    assert first is not None
    kb.what_if(Update(delete={"edge": RING[:5]}))
    assert costs.of(node) == first
    kb.apply(Update(delete={"edge": RING[:5]}), algorithm="dred-ranked")
    left = costs.of(node)
    again = holdfast.from_text(RULES, facts={"edge": RING[5:]}, modules=())
    expected = again._maintainer.chooser.costs.of(node)
    assert left is not None
    assert expected is not None
    assert left.instances == expected.instances < first.instances


def test_choice_says_when_and_why_a_run_was_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(RULES, facts={"edge": RING}, modules=())

    def check(self: Budget) -> None:
        if self._figures.deletion:
            raise AbandonedError(self._figures, 1.5, FullCost(7, 0.5))

    monkeypatch.setattr(Budget, "check", check)
    change = kb.apply(Update(delete={"edge": [RING[0]]}))
    [node] = [node for node in change.figures if node.predicates == ("path",)]
    assert node.algorithm == "recompute"
    assert "; abandoned: " in node.why
    assert node.why.endswith("instances and 1.50 s; starting over takes 7 and 0.50 s")
    assert node.abandoned > 0
    assert node.instances == node.abandoned + node.insertion


@pytest.mark.only_in_memory("other engines have other bounds")
def test_an_update_that_only_inserts_is_not_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting over would visit what it visits; what an evaluation of fewer facts took says little."""
    asked = list[Figures]()
    monkeypatch.setattr(Budget, "check", lambda self: asked.append(self._figures))
    negating = "far(x, y) :- edge(x, y), !bad(y).  far(x, z) :- far(x, y), edge(y, z)."
    kb = holdfast.from_text(RULES + negating, facts={"edge": RING, "bad": [(1,)]}, modules=())
    kb.apply(Update(insert={"edge": [(3, 17), (17, 4)]}))
    assert {figures.predicates for figures in asked} == {("far",)}  # where an insertion may take away
    kb.apply(Update(delete={"edge": [(3, 17)]}))
    assert {figures.predicates for figures in asked} == {("far",), ("path",)}


def test_what_was_abandoned_is_expected_to_be_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(RULES, facts={"edge": RING}, modules=())
    chooser = kb._maintainer.chooser
    chooser.costs._known["path",] = FullCost(20_000, 0.1)

    def check(self: Budget) -> None:
        raise AbandonedError(self._figures, 1.5, FullCost(7, 0.5))

    monkeypatch.setattr(Budget, "check", check)
    kb.apply(Update(delete={"edge": [RING[0]]}))
    chooser._records["path",].rates("dred-ranked", "deletions").took(1, 30.0)
    change = kb.apply(Update(delete={"edge": [RING[1]]}))
    [node] = [node for node in change.figures if node.predicates == ("path",)]
    assert (node.algorithm, node.abandoned) == ("recompute", 0)
    assert "starting over" in node.why


@pytest.mark.parametrize("part", range(4))
def test_abandoned_anywhere_the_state_is_right(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice, abandoned = Random(part), 0

    def check(self: Budget) -> None:
        nonlocal abandoned
        if dice.random() < 0.15:
            abandoned += 1
            raise AbandonedError(self._figures, 0.0, self._full)

    monkeypatch.setattr(Budget, "check", check)
    for seed in range(part * 100, part * 100 + amount(8, 1)):
        random = Random(seed)
        with_modules = seed % 4 == 0
        script = random_script(random, writer=closure_writer(random) if seed % 2 else None)
        try:
            modules = MODULES if with_modules else ()
            lane = Lane(script, 0, "auto or dred-ranked or dred-counting", STRATEGIES[seed % 2], modules=modules)
        except HoldfastError:
            continue  # the program is refused
        run(script, [lane], oracle=0)
    assert abandoned or amount(False, True)


def test_time_alone_abandons_nothing_that_others_do() -> None:
    full = FullCost(100_000, 1.0)
    assert not is_spent(budget(full, Figures(), 50.0, elsewhere=Elsewhere()))
    assert is_spent(budget(full, Figures(deletion=60_000), 50.0, elsewhere=Elsewhere()))


class Elsewhere(Tuning):
    reports_new_facts = is_elsewhere = True
    requests, request_cost = 1_000, 2_000
    indexing = 0.0


@pytest.mark.parametrize(
    ("instances", "asked", "expected"),
    [  # starting over takes 100,000 instances and 300 requests, which is as long as 700,000 instances
        (0, 300, False),
        (0, 350, False),
        (0, 351, True),  # hardly an instance, but too many rounds
        (100_000, 300, False),
        (100_001, 300, True),
        (600_000, 50, False),  # few requests, and many instances in each
        (600_001, 50, True),
    ],
)
def test_instances_and_requests_count_together(instances: int, asked: int, *, expected: bool) -> None:
    shards, figures = Elsewhere(), Figures(backward=instances)
    made = budget(FullCost(100_000, 1.0, requests=300), figures, 0.0, elsewhere=shards)
    shards.requests += asked
    assert is_spent(made) == expected
    assert figures.requests == asked


def test_an_update_may_always_ask_some_times() -> None:
    shards = Elsewhere()
    made = budget(FullCost(10, 0.001, requests=4), Figures(deletion=5), 0.0, elsewhere=shards)
    shards.requests += 50
    assert not is_spent(made)


def test_the_requests_of_an_evaluation_stay_known() -> None:
    full = FullCost(100, 0.001, requests=30)
    assert full.after(Figures(insertion=50)).requests == full.for_facts(7.0).requests == 30
    costs = FullCosts()
    costs.materialised([(("p",), NodeFigures(("p",), 3, 100, 50, 0.1, 0.1, requests=30))])
    costs.by_facts(("p",), 60.0)
    assert costs.of(("p",)) == FullCost(100, 0.11000000000000001, 60.0, requests=30)
    costs.maintained(("p",), Figures(insertion=80, requests=25, work=0.2, is_anew=True))
    assert costs.of(("p",)) == FullCost(80, 0.2, requests=25, largest=(100, 0.11000000000000001))


def test_work_of_others_is_what_they_were_asked_for() -> None:
    """The processor time of this process is the same for an instance and for a billion."""
    assert work_of(0.5, 10**9, 10**6, HERE) == 0.5
    few, many = work_of(0.01, 1_000, 60, Elsewhere()), work_of(0.01, 10**8, 40, Elsewhere())
    assert few < 0.02 < 1 < many
    assert work_of(0.01, 1_000, 4_000, Elsewhere()) > few
    assert work_of(9.0, 1_000, 60, Elsewhere()) == 9.0, "a module works here"
