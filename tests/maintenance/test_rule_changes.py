"""A change of rules costs nothing for hyper-nodes that it leaves alone, whatever algorithm ran before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, cast

import pytest

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.backends.memory.store import MemoryBackend
from holdfast.errors import HoldfastError
from holdfast.maintenance.algorithms import AUTO, Choice

from ..amounts import amount, some
from ..equivalence.lanes import FIXED, MIXED, STRATEGIES, Lane
from ..equivalence.reference import Reference, counters_of
from ..equivalence.scripts import after, explicit_after, fitting, random_script

RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
far(x, count(y)) :- path(x, y).
lonely(x) :- node(x), !path(x, x).
even(x) :- zero(x).
odd(y) :- even(x), next(x, y).
even(y) :- odd(x), next(x, y).
beside(x) :- item(x).
thing(x) :- item(x).
"""
CLOSURE = "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), p(y, z).\np(x, z) :- e(x, y), p(y, z)."
FACTS = {
    "edge": [(x, (3 * x + 1) % 20) for x in range(20)],
    "node": [(x,) for x in range(20)],
    "zero": [(0,)],
    "next": [(x, x + 1) for x in range(12)],
    "item": [(x,) for x in range(5)],
}
FACT_UPDATE = Update(delete={"edge": FACTS["edge"][:3], "next": [(5, 6)]}, insert={"edge": [(7, 7)], "next": [(5, 8)]})
CHANGES = [
    (Update(add_rules=["beside(x) :- node(x)."]), {"beside"}),
    (Update(remove_rules=["beside(x) :- item(x)."]), {"beside"}),
    (Update(add_rules=["fresh(x) :- item(x), beside(x)."]), {"fresh"}),
    (Update(add_rules=["item(x) :- beside(x)."]), {"item", "beside", "thing"}),  # the first two become one
    (Update(add_rules=["beside(x) :- far(x, n), n > 2."], delete={"item": [(1,)]}), {"beside", "thing"}),
]
ALGORITHMS = ["auto", "dred", "dred-counting", "backward-forward", "backward-forward-counting", "recompute"]


@contextmanager
def applied_heads(kb: KnowledgeBase) -> Iterator[set[str]]:
    """The heads of all plans that the backend runs meanwhile."""
    kind, heads = type(kb._backend), set[str]()
    apply, expand = kind.apply, kind.expand

    def noting(whole: Any) -> Any:
        def run(self: Any, plans: Iterable[Any], *arguments: Any) -> Any:
            plans = list(plans)
            heads.update(plan.rule.predicate for plan in plans)
            return whole(self, plans, *arguments)

        return run

    kind.apply, kind.expand = noting(apply), noting(expand)  # type: ignore[method-assign]
    try:
        yield heads
    finally:
        kind.apply, kind.expand = apply, expand  # type: ignore[method-assign]


@pytest.mark.parametrize(("update", "touched"), CHANGES, ids=range(len(CHANGES)))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_only_edited_hyper_nodes_are_evaluated(algorithm: str, update: Update, touched: set[str]) -> None:
    kb = holdfast.from_text(RULES, FACTS)
    kb.apply(FACT_UPDATE, algorithm=algorithm)
    before = {plan.node.predicates: plan for plan in kb._maintainer.nodes}
    with applied_heads(kb) as heads:
        kb.apply(update, algorithm=algorithm)
    assert heads <= touched
    after_ = {plan.node.predicates: plan for plan in kb._maintainer.nodes}
    untouched = {"path", "far", "lonely", "even", "odd"}
    kept = [names for names, plan in before.items() if after_.get(names) is plan]
    assert untouched <= {name for names in kept for name in names}
    right = holdfast.from_text(kb.rules_text(), {name: list(kb.explicit(name)) for name in FACTS})
    assert counters_of(kb) == counters_of(right)


@pytest.mark.only_in_memory("other backends prepare nothing for single plans")
def test_prepared_plans_of_untouched_hyper_nodes_stay() -> None:
    kb = holdfast.from_text(RULES, FACTS)
    kb.apply(FACT_UPDATE)
    backend = cast("MemoryBackend", kb._backend)
    before = {plan for plan in backend._pipelines if plan.rule.predicate != "beside"}
    kb.apply(Update(add_rules=["beside(x) :- node(x)."]))
    assert before and before <= backend._pipelines.keys()
    assert not any(plan.rule.predicate == "beside" for plan in backend._pipelines)  # those of old rules are gone


@pytest.mark.parametrize("algorithm", ["auto", "dred-counting", "backward-forward-counting"])
def test_rules_go_while_their_counters_are_unknown(algorithm: str) -> None:
    kb = holdfast.from_text("p(x) :- a(x).\np(x) :- b(x).", {"a": [(1,), (2,)], "b": [(2,), (3,)]})
    kb.apply(Update(insert={"a": [(4,)]}), algorithm="dred")
    kb.apply(Update(remove_rules=["p(x) :- b(x)."]), algorithm=algorithm)
    assert kb.counters("p") == {(1,): (1, 0), (2,): (1, 0), (4,): (1, 0)}


@pytest.mark.parametrize("algorithm", ["auto", "dred-counting", "backward-forward-counting"])
def test_served_rules_go_while_they_are_counted(algorithm: str) -> None:
    """`counters` counts the rules that a module serves; one of them goes, and the module goes on from its state."""
    edges = [(1, 2), (2, 3), (3, 4)]
    kb = holdfast.from_text(CLOSURE, {"e": edges})
    kb.counters("p")
    [figures] = kb.apply(Update(remove_rules=["p(x, z) :- e(x, y), p(y, z)."])).figures
    assert figures.algorithm == "exact"
    kb.apply(Update(delete={"e": [(2, 3)]}), algorithm=algorithm)
    assert kb.counters("p") == {(1, 2): (1, 0), (3, 4): (1, 0)}


@pytest.mark.parametrize("part", range(4))
def test_random_rule_changes_leave_others_alone(part: int) -> None:
    """Rules change after any algorithm, with counters unknown; what is applied belongs to impacted hyper-nodes, and in
    the end all counters are right."""
    changes, seed = 0, part * 1_000
    while changes < amount(some(40), 4):
        changes += _random_changes(seed)
        seed += 1


def _random_changes(seed: int) -> int:
    dice, changes = Random(seed), 0
    script = random_script(dice)
    try:
        lane = Lane(script, 0, MIXED, STRATEGIES[0], modules=())
    except HoldfastError:
        return 0  # an unsound program
    rules, facts = list(script.rules), set(script.facts)
    for written in script.steps:
        step = fitting(rules, written)
        new_rules = after(rules, step)
        try:
            Reference(script.text(new_rules))
        except HoldfastError:
            continue
        update, choice = lane.update(step, dice), Choice(dice.choice((*FIXED, AUTO)))
        impacted = {name for node in lane.kb.impact(update, algorithm=choice).plan for name in node.node.predicates}
        with applied_heads(lane.kb) as heads:
            lane.kb.apply(update, algorithm=choice)
        assert heads <= impacted, f"seed {seed}: {update}"
        lane.adopt(step)
        rules, facts = new_rules, explicit_after(facts, step)
        changes += bool(step.add or step.remove)
    assert counters_of(lane.kb) == Reference(script.text(rules)).evaluated(facts).counters, f"seed {seed}"
    return changes
