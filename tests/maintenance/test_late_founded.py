"""Insertions put off comparing ranks; the next deletion counts what they brought, once and for the right heads."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.backends.memory.ranks import MemoryRanking
from holdfast.errors import HoldfastError
from holdfast.maintenance import dred_ranked
from holdfast.maintenance.dred_ranked import RankedStratum
from holdfast.maintenance.ledger import Ledger
from holdfast.maintenance.node_plans import NodePlan
from holdfast.store.writing import Store

from ..amounts import some
from ..equivalence.checking import run
from ..equivalence.lanes import STRATEGIES, Lane
from ..equivalence.mutants import Mutant, broken
from ..equivalence.rank_check import wrong_ranks
from ..equivalence.reference import counters_of
from ..equivalence.scripts import graph_writer, random_script

pytestmark = pytest.mark.only_in_memory("other engines compare ranks at once")

RANKED = "dred-ranked"
LINEAR = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z)."
PROGRAMS = {
    "linear": LINEAR,
    "quadratic": "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), path(y, z).",
    "two inputs": "path(x, y) :- edge(x, y).  path(w, z) :- other(w, x), path(x, y), edge(y, z).",
    "one input twice": "path(x, y) :- edge(x, y).  path(w, z) :- edge(w, x), path(x, y), edge(y, z).",
    "own explicit facts": "path(x, z) :- path(x, y), edge(y, z).  path(x, z) :- other(x, y), path(y, z).",
    "mutual": "path(x, y) :- edge(x, y).  way(x, z) :- path(x, y), other(y, z).  path(x, z) :- way(x, y), edge(y, z).",
}
DECLARED = "".join(f".decl {name}(x: number, y: number)\n" for name in ("edge", "other", "path", "way"))
PAIRS = [(x, y) for x in range(8) for y in range(8)]


@pytest.fixture(autouse=True)
def _one_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dred_ranked, "_MANY", 1)


def opened(rules: str, facts: dict[str, Any], **options: Any) -> KnowledgeBase:
    return holdfast.from_text(DECLARED + rules, facts, modules=(), **options)


def node(kb: KnowledgeBase) -> NodePlan:
    return next(plan for plan in kb._maintainer.nodes if plan.node.is_recursive)


def is_late(kb: KnowledgeBase) -> bool:
    """Whether something was put off; then the ranks are kept and not right."""
    ledger, plan = kb._maintainer.ledger, node(kb)
    if not ledger.ranks_are_kept(plan):
        return False
    return not ledger.ranks_are_right(plan)


def same(kb: KnowledgeBase, rules: str, facts: dict[str, Any]) -> None:
    fresh = opened(rules, facts)
    assert {name: set(kb[name]) for name in kb} == {name: set(fresh[name]) for name in fresh}


def stream(rules: str, seed: int) -> int:
    """Insertions and deletions, the last one a deletion; gives how often something was put off."""
    random, late = Random(seed), 0
    relations = ["edge", "other", *(["path"] if rules == PROGRAMS["own explicit facts"] else [])]
    facts = {name: set(random.sample(PAIRS, random.randrange(4, 14))) for name in relations}
    kb = opened(rules, facts)
    for step in range(9):
        name, insert = random.choice(relations), random.random() < 0.7 and step < 8
        rows = random.sample(PAIRS if insert else sorted(facts[name]), min(len(facts[name]), random.randrange(1, 4)))
        rows = [row for row in rows if (row not in facts[name]) == insert]
        facts[name] = facts[name] | {*rows} if insert else facts[name] - {*rows}
        update = Update(insert={name: rows}) if insert else Update(delete={name: rows})
        if random.random() < 0.2:
            kb.what_if(update, algorithm=RANKED)
        kb.apply(update, algorithm=RANKED)
        late += is_late(kb)
        same(kb, rules, facts)
        assert wrong_ranks(kb) is None
    assert counters_of(kb) == counters_of(opened(rules, facts))
    return late


@pytest.mark.parametrize("rules", PROGRAMS.values(), ids=PROGRAMS)
def test_ranks_are_right_after_the_next_deletion(rules: str) -> None:
    assert sum(stream(rules, seed) for seed in range(some(45))) > some(45)


MUTANTS = [
    Mutant("inputs that came later count too", RankedStratum.catch_up, "I - later if later else I", "I", RANKED),
    Mutant("heads that entered since are counted twice", MemoryRanking.founded_up_to, "<= rank", ">= 0", RANKED),
    Mutant("what was counted is counted again", RankedStratum.catch_up, "s.late = ()", "pass", RANKED),
    Mutant("nothing is caught up with", RankedStratum.catch_up, "reversed(s.late)", "()", RANKED),
    Mutant("deletions come first", RankedStratum.may_be_late, "if changes or", "if", RANKED),
    Mutant("rollback forgets what was put off", Ledger.restore, "dict(late)", "{}", RANKED),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutant_is_caught(mutant: Mutant) -> None:
    with broken(mutant), pytest.raises(AssertionError):
        for seed in range(60):
            for rules in PROGRAMS.values():
                stream(rules, seed)


def test_an_insertion_compares_no_ranks_and_a_deletion_does(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, real = list[int](), MemoryRanking.apply_ranked

    def counted(self: MemoryRanking, plans: Any, sources: Any) -> Any:
        found = real(self, plans, sources)
        calls.append(len(found[0]))
        return found

    kb = opened(LINEAR, {"edge": [(x, (3 * x + 1) % 30) for x in range(30)]})
    monkeypatch.setattr(MemoryRanking, "apply_ranked", counted)
    for x in range(3):
        kb.apply(Update(insert={"edge": [(x, x + 9)]}), algorithm=RANKED)
    assert is_late(kb)
    assert sum(calls) == 0
    kb.apply(Update(delete={"edge": [(1, 10)]}), algorithm=RANKED)
    assert sum(calls) > 0
    assert not is_late(kb)


def test_many_insertions_are_caught_up_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dred_ranked, "_MOST", 3)
    kb = opened(LINEAR, {"edge": PAIRS[:20]})
    found = []
    for pair in PAIRS[20:29]:
        kb.apply(Update(insert={"edge": [pair]}), algorithm=RANKED)
        found.append(is_late(kb))
        assert wrong_ranks(kb) is None
    assert found == [True, True, True, False] * 2 + [True]


def test_few_facts_are_compared_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dred_ranked, "_MANY", 3)
    kb = opened(LINEAR, {"edge": PAIRS[:20]})
    kb.apply(Update(insert={"edge": PAIRS[20:22]}), algorithm=RANKED)
    assert not is_late(kb)
    kb.apply(Update(insert={"edge": PAIRS[22:25]}), algorithm=RANKED)
    assert is_late(kb)
    kb.apply(Update(insert={"edge": PAIRS[25:26]}), algorithm=RANKED)  # else it would be counted twice
    assert is_late(kb)


@pytest.mark.parametrize(
    "more", ["!other(x, z)", "n = count : { other(x, _) }, n < 9"], ids=["negation", "beside an aggregate"]
)
def test_where_an_insertion_may_take_away_nothing_is_put_off(more: str) -> None:
    rules = f"path(x, y) :- edge(x, y), {more}.  path(x, z) :- path(x, y), edge(y, z)."
    kb = opened(rules, {"edge": PAIRS[:20]})
    for pair in PAIRS[20:25]:
        kb.apply(Update(insert={"edge": [pair], "other": [pair]}), algorithm=RANKED)
        assert wrong_ranks(kb) is None
    same(kb, rules, {"edge": PAIRS[:25], "other": PAIRS[20:25]})


def test_rules_that_change_after_an_insertion() -> None:
    rules = LINEAR + ' #[name("back")] path(y, x) :- path(x, y), other(x, y).'
    kb = opened(rules, {"edge": PAIRS[:20], "other": PAIRS[3:6]})
    kb.apply(Update(insert={"edge": PAIRS[20:25], "other": PAIRS[7:9]}), algorithm=RANKED)
    assert is_late(kb)
    kb.apply(Update(add_rules=["path(x, z) :- path(x, y), path(y, z)."]), algorithm=RANKED)
    assert wrong_ranks(kb) is None
    kb.apply(Update(insert={"other": PAIRS[30:33]}), algorithm=RANKED)
    assert is_late(kb)
    kb.apply(Update(remove_rules=["back"]), algorithm=RANKED)
    assert wrong_ranks(kb) is None
    same(kb, LINEAR, {"edge": PAIRS[:25], "other": {*PAIRS[3:6], *PAIRS[7:9], *PAIRS[30:33]}})


def test_other_algorithms_and_a_store_after_an_insertion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "worth_caching", 0.0)
    for number, algorithm in enumerate(("dred-counting", "recompute", "backward-forward-counting", RANKED)):
        kb = opened(LINEAR, {"edge": PAIRS[:20]}, store=tmp_path / str(number))
        kb.apply(Update(insert={"edge": PAIRS[20:25]}), algorithm=RANKED)
        assert is_late(kb)
        kb.compact()
        kb.close()
        with holdfast.open(tmp_path / str(number), modules=()) as again:
            assert not is_late(again)
            again.apply(Update(insert={"edge": PAIRS[25:30]}), algorithm=RANKED)
            again.apply(Update(delete={"edge": PAIRS[3:9]}), algorithm=algorithm)
            again.apply(Update(delete={"edge": PAIRS[10:12]}), algorithm=RANKED)
            assert wrong_ranks(again) is None
            same(again, LINEAR, {"edge": {*PAIRS[:30]} - {*PAIRS[3:9], *PAIRS[10:12]}})


def test_updates_that_are_rolled_back_or_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = opened(LINEAR, {"edge": PAIRS[:20]})
    kb.apply(Update(insert={"edge": PAIRS[20:25]}), algorithm=RANKED)
    kb.what_if(Update(delete={"edge": PAIRS[:9]}), algorithm=RANKED)
    assert is_late(kb)
    with monkeypatch.context() as patch:
        patch.setattr(dred_ranked.dred_counting, "rederive", lambda s: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            kb.apply(Update(delete={"edge": PAIRS[:9]}), algorithm=RANKED)
    assert not is_late(kb)  # nothing is believed any more
    kb.apply(Update(delete={"edge": PAIRS[:9]}), algorithm=RANKED)
    assert wrong_ranks(kb) is None
    same(kb, LINEAR, {"edge": PAIRS[9:25]})


@pytest.mark.parametrize("part", range(4))
def test_scripts_with_every_insertion_put_off(part: int) -> None:
    for seed in range(part * 100, part * 100 + some(18)):
        random = Random(seed)
        writer = graph_writer(random) if seed % 2 else None
        script = random_script(random, writer=writer)
        policy = ("auto", RANKED, "dred-ranked or dred-counting")[seed % 3]
        try:
            lane = Lane(script, seed % 4, policy, STRATEGIES[seed % 2], modules=())
        except HoldfastError:
            continue  # the program is refused
        run(script, [lane], oracle=0)
