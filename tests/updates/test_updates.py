"""Updates from Python: the block, the value, what they answer with, and that a failing one leaves nothing.

From-scratch evaluation says which facts a state must have, which tests/oracle holds against other systems.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pandas
import pyarrow
import pytest

import holdfast
from holdfast import Change, Choice, HoldfastError, KnowledgeBase, Limits, Update
from holdfast.errors import LimitReached, UsageError
from holdfast.values import Row

RULES = """\
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
lonely(x) :- node(x), !path(x, _).
reached(x, count(y)) :- path(x, y).
"""
ALGORITHMS = ["auto", "dred", "dred-counting", "backward-forward", "backward-forward-counting", "recompute"]
State = dict[str, dict[Row, tuple[int, int]]]


def opened(limits: Limits | None = None, **options: Any) -> KnowledgeBase:
    return holdfast.from_text(
        RULES, {"edge": [(1, 2), (2, 3), (3, 1), (3, 4)], "node": [(n,) for n in range(6)]}, limits=limits, **options
    )


def state(kb: KnowledgeBase) -> State:
    """All facts with their counters; says nothing of how values are encoded."""
    return {name: kb.counters(name) for name in kb.relations}


def from_scratch(kb: KnowledgeBase, rules: str = RULES) -> State:
    explicit = {name: kb[name] for name in ("edge", "node")}
    return state(holdfast.from_text(rules, {name: list(view) for name, view in explicit.items()}))


def folded(before: Mapping[str, set[Row]], change: Change) -> dict[str, set[Row]]:
    names = {*before, *change.added, *change.removed}
    new = {n: (before.get(n, set()) - set(change.removed.get(n, ()))) | set(change.added.get(n, ())) for n in names}
    return {name: rows for name, rows in new.items() if rows}


def facts(kb: KnowledgeBase) -> dict[str, set[Row]]:
    return {name: set(view) for name, view in kb.relations.items() if len(view)}


def test_a_block_collects_an_update() -> None:
    kb = opened()
    with kb.update() as u:
        u.insert("edge", [(4, 5)])
        u.insert("edge", [(4, 0)])
        u.delete("edge", [(3, 1)])
        u.add_rules("far(x, y) :- path(x, y), !edge(x, y).", "near(x, y) :- edge(x, y).")
        u.remove_rules("r3")
        assert (4, 5) not in kb["edge"]
    assert u.change is not None
    assert set(u.change.added["edge"]) == {(4, 5), (4, 0)}
    assert set(u.change.removed["edge"]) == {(3, 1)}
    assert set(u.change.removed["lonely"]) == {(0,), (4,), (5,)}
    assert set(kb["far"]) == set(kb["path"]) - set(kb["edge"])
    assert "lonely" not in kb


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: rows,
        lambda rows: pandas.DataFrame(rows, columns=["a", "b"]),
        lambda rows: pyarrow.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]}),
        lambda rows: [list(row) for row in rows],
    ],
)
def test_facts_come_in_any_form(make: object) -> None:
    assert callable(make)
    kb = opened()
    with kb.update() as u:
        u.insert("edge", make([(4, 5), (5, 0)]))
        u.delete("edge", make([(1, 2)]))
    assert set(kb["edge"]) == {(2, 3), (3, 1), (3, 4), (4, 5), (5, 0)}
    assert state(kb) == from_scratch(kb)


def test_a_block_that_raises_changes_nothing() -> None:
    kb = opened()
    before = state(kb)
    with pytest.raises(ZeroDivisionError), kb.update() as u:
        u.insert("edge", [(4, 5)])
        raise ZeroDivisionError
    assert u.change is None
    assert state(kb) == before


def test_what_if_gives_the_same_change_and_keeps_nothing() -> None:
    kb = opened()
    before, program = state(kb), kb.program
    update = Update({"edge": [(1, 2)]}, {"edge": [(4, 1)]}, ["far(x, y) :- path(x, y), !edge(x, y)."], ["r4"])
    first, again = kb.what_if(update), kb.what_if(update)
    assert state(kb) == before
    assert kb.program is program
    assert "far" not in kb
    made = kb.apply(update)
    for change in (first, again):
        assert {n: set(v) for n, v in change.added.items()} == {n: set(v) for n, v in made.added.items()}
        assert {n: set(v) for n, v in change.removed.items()} == {n: set(v) for n, v in made.removed.items()}


BAD = {
    "an unknown relation": Update(insert={"edge": [(7, 8)], "egde": [(1, 2)]}),
    "too many values": Update(delete={"edge": [(1, 2)]}, insert={"edge": [(7, 8), (7, 8, 9)]}),
    "a wrong type": Update(delete={"edge": [(1, 2)]}, insert={"node": [("seven",)]}),
    "a wrong shape": Update(insert={"edge": 7}),
    "an unparsable rule": Update(insert={"edge": [(7, 8)]}, add_rules=["far(x) :-"]),
    "an unsafe rule": Update(insert={"edge": [(7, 8)]}, add_rules=["good(x) :- node(x).", "far(x, y) :- node(x)."]),
    "a cycle": Update({"edge": [(1, 2)]}, {"edge": [(7, 8)]}, ["edge(x, x) :- lonely(x)."], ["r4"]),
    "an ill-typed rule": Update(add_rules=['node(x) :- x = "a".']),
    "a fact as a rule": Update(add_rules=["node(7)."], remove_rules=["r1"]),
    "no such rule": Update(remove_rules=["r1", "r9"]),
    "no such rule in a text of two": Update(remove_rules=["path(x, y) :- edge(x, y). path(x, x) :- node(x)."]),
    "an arithmetic error": Update({"edge": [(3, 4)]}, {"node": [(7,)]}, ["bad(10 / x) :- node(x)."]),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_bad_update_leaves_no_trace(name: str, algorithm: str) -> None:
    kb = opened()
    kb.apply(Update(insert={"edge": [(4, 5)]}), algorithm=algorithm)
    before, program = state(kb), kb.program
    for attempt in (kb.what_if, kb.apply):
        with pytest.raises(HoldfastError):
            attempt(BAD[name], algorithm=algorithm)
        assert state(kb) == before
        assert kb.program is program
        assert list(kb.relations) == ["path", "edge", "lonely", "node", "reached"]
    kb.apply(Update(delete={"edge": [(3, 1)]}, insert={"edge": [(5, 1)]}), algorithm=algorithm)
    assert state(kb) == from_scratch(kb)


@pytest.mark.parametrize("limits", [Limits(facts=100), Limits(rounds=10)])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_limit_leaves_no_trace(limits: Limits, algorithm: str) -> None:
    kb = opened(limits, modules=())  # with them a closure takes a single round
    before = state(kb)
    with pytest.raises(LimitReached):
        kb.apply(Update({"edge": [(3, 1)]}, {"edge": [(n, n + 1) for n in range(4, 60)]}), algorithm=algorithm)
    assert state(kb) == before
    kb.apply(Update({"edge": [(3, 1)]}, {"edge": [(4, 5)]}), algorithm=algorithm)
    assert state(kb) == from_scratch(kb)


def test_limits_count_what_is_there_and_not_what_went() -> None:
    kb = opened(Limits(facts=60, rounds=20))
    for n in range(100, 160):
        kb.apply(Update(insert={"edge": [(n, n + 1)]}))
        kb.what_if(Update(insert={"edge": [(n + 1, n + 2)]}))
        kb.apply(Update(delete={"edge": [(n, n + 1)]}))
    assert state(kb) == from_scratch(kb)


def test_rule_names_stay_when_others_go() -> None:
    kb = opened()
    kb.apply(Update(remove_rules=["r1"]))
    kb.apply(Update(remove_rules=["r3"], add_rules=["path(x, y) :- edge(y, x)."]))
    kb.apply(Update(remove_rules=["r4"]))
    assert "reached" not in kb
    assert {rule.name for rule in kb.program.rules if rule.predicate == "path"} == {"r2", "r5"}
    kb.apply(Update(remove_rules=["r5", "r2"]))
    assert "path" not in kb


def test_rules_may_have_names_of_their_own() -> None:
    kb = opened()
    kb.apply(Update(add_rules=['#[name("back")] path(x, y) :- edge(y, x).']))
    assert (2, 1) in kb["path"]
    kb.apply(Update(remove_rules=["back"]))
    assert state(kb) == from_scratch(kb)
    with pytest.raises(HoldfastError, match="E0208"):
        kb.apply(Update(add_rules=['#[name("r1")] path(x, y) :- edge(y, x).']))


def test_several_rules_in_one_text() -> None:
    kb = opened()
    text = "twice(x, z) :- edge(x, y), edge(y, z). loop(x) :- twice(x, x)."
    kb.apply(Update(add_rules=[text]))
    assert {"twice", "loop"} <= set(kb.relations)
    kb.apply(Update(remove_rules=[text]))
    assert state(kb) == from_scratch(kb)


def test_the_same_rule_twice_is_two_rules() -> None:
    kb = opened()
    kb.apply(Update(add_rules=["path(x, y) :- edge(x, y)."]))
    assert state(kb) == from_scratch(kb, RULES + "path(x, y) :- edge(x, y).")
    assert not kb.apply(Update(remove_rules=["path(x, y) :- edge(x, y)."]))
    assert state(kb) == from_scratch(kb)


def test_a_relation_that_rules_leave_keeps_its_explicit_facts() -> None:
    kb = opened()
    change = kb.apply(Update(remove_rules=["r3"]))
    assert set(change.removed) == {"lonely"}
    assert set(kb["node"]) == {(n,) for n in range(6)}
    kb.apply(Update(delete={"node": [(n,) for n in range(5)]}))
    change = kb.apply(Update(add_rules=["lonely(x) :- node(x), !path(x, _)."]))
    assert set(change.added["lonely"]) == {(5,)}


def test_no_ops_are_counted_and_change_nothing() -> None:
    kb = opened()
    before = state(kb)
    change = kb.apply(Update({"edge": [(9, 9), (1, 2)]}, {"edge": [(1, 2), (2, 3)]}))
    assert (bool(change), len(change), change.no_ops) == (False, 0, 4)
    assert state(kb) == before
    assert kb.apply(Update({"edge": [(1, 2)]}, {"edge": [(2, 3)]})).no_ops == 1


def test_deleting_a_fact_that_is_only_derived_changes_nothing() -> None:
    kb = opened()
    assert not kb.apply(Update(delete={"path": [(1, 3)]}))
    assert (1, 3) in kb["path"]


def test_a_fact_that_is_explicit_and_derived_stays_while_one_of_both_holds() -> None:
    kb = opened()
    assert not kb.apply(Update(insert={"path": [(1, 3)]})).added.get("path")
    assert kb.counters("path")[1, 3] == (1, 1)
    kb.apply(Update(delete={"edge": [(2, 3)]}))
    assert (1, 3) in kb["path"]
    assert (1, 3) in kb.apply(Update(delete={"path": [(1, 3)]})).removed["path"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_folding_all_changes_over_the_first_state_gives_the_last(algorithm: str) -> None:
    kb, chance = opened(), random.Random(7)
    rules = ["far(x, y) :- path(x, y), !edge(x, y).", "path(x, x) :- node(x).", "node(y) :- edge(_, y)."]
    there: set[str] = set()
    seen = facts(kb)
    for step in range(40):
        delete, insert = ([(chance.randrange(7), chance.randrange(7)) for _ in range(3)] for _ in range(2))
        rule = chance.choice(rules)
        add, remove = ([], [rule]) if rule in there else ([rule], [])
        there ^= {rule}
        update = Update({"edge": delete}, {"edge": insert}, add if step % 3 else [], remove if step % 3 else [])
        there ^= set() if step % 3 else {rule}
        seen = folded(seen, kb.apply(update, algorithm=algorithm))
        assert seen == facts(kb), step


def test_a_choice_for_one_relation() -> None:
    kb = opened()
    figures = kb.apply(Update({"edge": [(3, 1)]}), algorithm=Choice("recompute", {"path": "dred"})).figures
    assert {node.predicates: node.algorithm for node in figures}["path",] == "dred"
    assert {node.algorithm for node in figures if node.predicates != ("path",)} == {"recompute"}
    with pytest.raises(UsageError, match="E0901"):
        kb.apply(Update(), algorithm=Choice("auto", {"paht": "dred"}))
    with pytest.raises(UsageError, match="E0906"):
        kb.apply(Update({"edge": [(2, 3)]}), algorithm="counting")
    assert state(kb) == from_scratch(kb)


def test_impact_names_the_plan_and_keeps_nothing() -> None:
    kb = opened()
    before = state(kb)
    found = kb.impact(Update(insert={"node": [(9,)]}, remove_rules=["r2"]))
    shown = [(node.relations, node.is_direct) for node in found.plan if node.relations]
    assert sorted(shown) == [(("lonely",), False), (("node",), True), (("path",), True), (("reached",), False)]
    assert [node for node in found.plan if node.is_direct] == list(found.direct)
    assert set(found.change.added["lonely"]) == {(9,)}
    assert state(kb) == before


def test_update_from_json_refuses_what_is_no_update() -> None:
    for value in (
        [],
        {"insert": []},
        {"insert": {"p": [1]}},
        {"add_rules": "p(x) :- q(x)."},
        {"add_rules": [1]},
        {"x": 1},
    ):
        with pytest.raises(UsageError, match="E0907"):
            Update.from_json(value)


@pytest.mark.only_in_memory("can undo updates")
def test_an_update_that_declares_is_undone_and_applied_again() -> None:
    kb = holdfast.from_text(".decl edge(x: number, y: number)", {"edge": [(1, 2)]})
    update = Update(add_rules=[".type Id <: number\n.decl start(x: number)\n.output start\nstart(x) :- edge(x, _)."])
    for _ in range(2):
        kb.apply(update)
        assert set(kb["start"]) == {(1,)}
        kb.undo()
        assert not kb["start"]
    with pytest.raises(HoldfastError, match="E0202"):
        kb.apply(Update(add_rules=[".decl start(x: number, y: number)"]))
