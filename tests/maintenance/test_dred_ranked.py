"""DRed^w: what it overdeletes, when its ranks are right, and what happens where they are not."""

from __future__ import annotations

import math
from random import Random

import pytest

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.backends.protocol import Facts
from holdfast.errors import UsageError
from holdfast.maintenance.late_rules import LateRules
from holdfast.program.model import Rule

from ..equivalence.rank_check import wrong_ranks

CLOSURE = """
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
"""
POINTS_TO = """
.decl new(v: number, o: number)
.decl assign(v: number, w: number)
.decl store(v: number, f: number, w: number)
.decl load(v: number, w: number, f: number)
.decl vp(v: number, o: number)
.decl hp(o: number, f: number, p: number)
vp(v, o) :- new(v, o).
vp(v, o) :- vp(w, o), assign(v, w).
hp(o, f, p) :- store(v, f, w), vp(v, o), vp(w, p).
vp(v, p) :- load(v, w, f), vp(w, o), hp(o, f, p).
"""
RING = [(i, (i + step) % 12) for i in range(12) for step in (1, 5)]


def ring(**named: object) -> KnowledgeBase:
    return holdfast.from_text(CLOSURE, facts={"edge": RING}, modules=(), **named)  # type: ignore[arg-type]


def points_to(random: Random, variables: int, objects: int) -> dict[str, list[tuple[int, ...]]]:
    def some(number: int, *ranges: int) -> list[tuple[int, ...]]:
        return sorted({tuple(random.randrange(one) for one in ranges) for _ in range(number)})

    return {
        "new": some(objects, variables, objects),
        "assign": some(4 * variables // 3, variables, variables),
        "store": some(variables // 3, variables, 3, variables),
        "load": some(variables // 2, variables, variables, 3),
    }


def test_a_fact_with_a_founded_derivation_is_not_overdeleted() -> None:
    overdeleted = {}
    for algorithm in ("dred-counting", "dred-ranked"):
        kb = ring()
        change = kb.apply(Update(delete={"edge": [RING[0]]}), algorithm=algorithm)
        overdeleted[algorithm] = sum(node.overdeleted for node in change.figures if node.predicates == ("path",))
    assert overdeleted["dred-ranked"] * 4 < overdeleted["dred-counting"]


def test_first_update_finds_the_ranks_of_the_evaluation() -> None:
    kb = ring()
    assert wrong_ranks(kb) is None
    change = kb.apply(Update(delete={"edge": [RING[3]]}), algorithm="dred-ranked")
    assert [node.is_anew for node in change.figures] == [False, False]
    assert wrong_ranks(kb) is None


def test_ranks_that_were_not_kept_are_made_anew_by_one_evaluation() -> None:
    kb = ring()
    kb.apply(Update(delete={"edge": [RING[0]]}), algorithm="dred-counting")
    change = kb.apply(Update(delete={"edge": [RING[1]]}), algorithm="dred-ranked")
    [node] = [node for node in change.figures if node.predicates == ("path",)]
    assert node.is_anew
    assert node.why == "chosen by the caller; its ranks were not known, so it was recomputed"
    change = kb.apply(Update(delete={"edge": [RING[2]]}), algorithm="dred-ranked")
    assert not any(node.is_anew for node in change.figures)


def test_merged_hyper_nodes_are_ranked_anew() -> None:
    rules = CLOSURE + "back(x, y) :- edge(y, x).\nback(x, z) :- back(x, y), edge(z, y).\n"
    kb = holdfast.from_text(rules, facts={"edge": RING}, modules=())
    kb.apply(Update(add_rules=["path(x, y) :- back(y, x).", "back(x, y) :- path(y, x)."]), algorithm="dred-ranked")
    assert wrong_ranks(kb) is None
    change = kb.apply(Update(delete={"edge": RING[:3]}), algorithm="dred-ranked")
    assert not any(node.is_anew for node in change.figures)
    assert wrong_ranks(kb) is None


@pytest.mark.only_in_memory("only there rules wait for others")
@pytest.mark.parametrize("seed", range(6))
def test_rules_that_waited_during_evaluation(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.backends.memory.statistics.TableStatistics.many", 5.0)
    random = Random(seed)
    facts = points_to(random, 60, 20)
    kb = holdfast.from_text(POINTS_TO, facts=facts, modules=())
    deferred = kb._backend.ranking.deferred  # type: ignore[attr-defined]
    assert any(first < last for spans in deferred.values() for first, last in spans), "no rule waited"
    assert wrong_ranks(kb) is None
    for _ in range(6):
        some = {name: random.sample(rows, min(2, len(rows))) for name, rows in facts.items()}
        kb.apply(Update(delete=some), algorithm=random.choice(("dred-ranked", "dred-ranked", "recompute")))
        assert wrong_ranks(kb) is None
        kb.apply(Update(insert={"new": some["new"]}), algorithm="dred-ranked")
        assert wrong_ranks(kb) is None
        left = {name: set(kb.explicit(name)) for name in facts}
        again = holdfast.from_text(POINTS_TO, facts={name: sorted(rows) for name, rows in left.items()}, modules=())
        assert set(kb["vp"]) == set(again["vp"])
        assert set(kb["hp"]) == set(again["hp"])


@pytest.mark.only_in_memory("only there rules wait for others")
def test_rules_wait_during_deletions(monkeypatch: pytest.MonkeyPatch) -> None:
    """They subtract the same instances, in fewer and larger rounds."""
    facts, counts, waited, late = points_to(Random(1), 60, 20), list[list[tuple[int, ...]]](), [0], LateRules.late

    def counted(self: LateRules) -> tuple[Facts, tuple[Rule, ...]]:
        waited[-1] += 1
        return late(self)

    for many in (math.inf, 5.0):
        kb = holdfast.from_text(POINTS_TO, facts=facts, modules=())
        with monkeypatch.context() as patch:
            patch.setattr("holdfast.backends.memory.statistics.TableStatistics.many", many)
            patch.setattr(LateRules, "late", counted)
            change = kb.apply(Update(delete={name: rows[:4] for name, rows in facts.items()}), algorithm="dred-ranked")
        counts.append([(node.deletion, node.insertion, node.overdeleted) for node in change.figures])
        waited.append(0)
        assert wrong_ranks(kb) is None
    assert waited[0] == 0 < waited[1]
    assert counts[0] == counts[1]
    assert max(counts[0])[0] > 100


@pytest.mark.only_in_memory("only there rules wait for others")
def test_rules_that_waited_are_founded_by_a_stricter_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, what an evaluation did not count is taken off."""
    monkeypatch.setattr("holdfast.backends.memory.statistics.TableStatistics.many", 5.0)
    monkeypatch.setattr("holdfast.backends.memory.ranks.MemoryRanking.spans", lambda self, rule: ())
    wrong = False
    for seed in range(6):
        facts = points_to(Random(seed), 60, 20)
        kb = holdfast.from_text(POINTS_TO, facts=facts, modules=())
        for name in facts:
            kb.apply(Update(delete={name: facts[name][:4]}), algorithm="dred-ranked")
            wrong = wrong or wrong_ranks(kb) is not None
    assert wrong


@pytest.mark.only_in_memory("only there rows move")
def test_ranks_move_with_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.backends.memory.store._FEW", 0)
    kb, random = ring(), Random(3)
    packed = kb._backend.packings  # type: ignore[attr-defined]
    for turn in range(8):
        kb.apply(Update(delete={"edge": random.sample(RING, 14)}), algorithm="dred-ranked")
        assert wrong_ranks(kb) is None, turn
        kb.apply(Update(insert={"edge": RING}), algorithm="dred-ranked")
        assert wrong_ranks(kb) is None, turn
    assert kb._backend.packings > packed  # type: ignore[attr-defined]


@pytest.mark.only_in_memory("only there Cw is an array")
@pytest.mark.parametrize("enough", [0, 50_000], ids=["in new tables", "in place"])
@pytest.mark.parametrize("seed", range(4))
def test_every_path_sets_ranks_and_cw(seed: int, enough: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of facts that are not there, and of all facts before an evaluation from scratch, may be anything."""
    monkeypatch.setattr("holdfast.backends.memory.scratch.ENOUGH", enough)
    kb, random = ring(), Random(seed)
    for _ in range(12):
        algorithm = random.choice(("dred-ranked", "dred-ranked", "recompute", "dred-counting"))
        spoil_ranks(kb, random, all_of_them=algorithm == "recompute")
        gone, come = random.sample(RING, 3), [(random.randrange(12), random.randrange(12)) for _ in range(3)]
        update = Update(delete={"edge": gone}, insert={"edge": [*random.sample(RING, 2), *come]})
        if random.random() < 0.3:
            kb.what_if(update, algorithm=algorithm)
        kb.apply(update, algorithm=algorithm)
        assert wrong_ranks(kb) is None


def spoil_ranks(kb: KnowledgeBase, random: Random, *, all_of_them: bool) -> None:
    """Where the ledger does not call them right, and where they are about to be made anew, no rank may be read."""
    [plan] = [plan for plan in kb._maintainer.nodes if plan.node.is_recursive]
    ranking, table = kb._backend.ranking, kb._backend.tables["path"]  # type: ignore[attr-defined]
    ids = [
        row
        for row in range(table.size)
        if all_of_them or not kb._maintainer.ledger.ranks_are_right(plan) or not table.status[row] & 2
    ]
    for beside in (ranking._rank, ranking.founded):
        beside.of("path")[ids] = [random.randrange(50) for _ in ids]


def test_ranks_begin_anew_before_there_are_too_many() -> None:
    kb = ring()
    from holdfast.backends.abilities import Ranking

    ranks = kb._backend.ability(Ranking)
    assert ranks is not None
    ranks.most_rounds = ranks.rounds
    kb.apply(Update(delete={"edge": [RING[0]]}), algorithm="dred-ranked")
    change = kb.apply(Update(delete={"edge": [RING[1]]}), algorithm="dred-ranked")
    assert any(node.is_anew for node in change.figures)
    assert ranks.rounds < 20
    assert wrong_ranks(kb) is None


def test_engines_without_ranks_refuse_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = ring()
    monkeypatch.setattr(type(kb._backend), "ability", lambda self, kind: None)
    with pytest.raises(UsageError, match="E0917"):
        kb.apply(Update(delete={"edge": [RING[0]]}), algorithm="dred-ranked")
    change = kb.apply(Update(delete={"edge": [RING[0]]}))
    assert {node.algorithm for node in change.figures} <= {"counting", "dred-counting", "recompute"}  # by the clock
    assert set(change.removed["edge"]) == {RING[0]} and len(kb["path"]) == 144


@pytest.mark.only_in_memory("the statistics must know the smallest step", also=("parted",))
def test_auto_counts_where_recursion_cannot_run_in_circles() -> None:
    rules = """
    .decl b(x: number, w: number)
    .decl d(x: number)
    d(x) :- b(x, _).
    d(y) :- d(x), b(x, w), y = x + w, y < 30.
    """
    kb = holdfast.from_text(rules, facts={"b": [(i, 1 + i % 3) for i in range(20)]}, modules=())
    change = kb.apply(Update(delete={"b": [(3, 1)]}))
    assert [node.algorithm for node in change.figures if node.predicates == ("d",)] == ["dred-counting"]


@pytest.mark.only_in_memory("memory is counted there")
def test_ranks_count_as_memory() -> None:
    kb = ring()
    reported = kb._maintainer.backend.watch._bytes  # type: ignore[attr-defined]
    assert reported["ranks of path"] == 8 * len(kb["path"])


@pytest.mark.parametrize("algorithm", ["backward-forward-counting", "dred-ranked"])
def test_cw_proves_nothing_until_lower_ranks_are_settled(algorithm: str) -> None:
    """f loses one founded derivation, and its other one stands on g, which goes in the same round.

    B/F^c would keep f for ever if it took Cw[f] > 0 for a proof: what is proved is not looked at again.
    """
    rules = "t(x) :- e(x).  t(y) :- t(x), r(x, y)."
    facts = {"e": [("a",)], "r": [("a", "g"), ("a", "h"), ("g", "f"), ("h", "f")]}
    kb = holdfast.from_text(rules, facts=facts, modules=())
    kb.apply(Update(delete={"r": [("a", "g"), ("h", "f")]}), algorithm=algorithm)
    assert set(kb["t"]) == {("a",), ("h",)}
