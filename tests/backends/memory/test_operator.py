"""Π⟦Ip, In : P, N⟧ of random rules, by delta plans in every join order, against `tests/backends/definition.py`."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.backends.memory.facts import FactSet
from holdfast.backends.memory.kept import Kept
from holdfast.backends.memory.store import MemoryBackend
from holdfast.plans.model import Plan, Read
from holdfast.plans.planner import make_plan, plan_rule
from holdfast.program.model import Atom, Compare, Const, Rule
from holdfast.values import Type

from ..definition import ARITY, EVERY_FACT, Facts, Sets, instances, orders, pivots, rules, some_sets
from .building import Fact, as_facts, backend, no_scratch_left, numbers, rows, sets_of, small_batches, var

# --- the engine --------------------------------------------------------------------------------------


def store_with_rows(rule: Rule, seed: int) -> MemoryBackend:
    """A backend that knows every fact, in some order, so that runs of rows and scattered rows both occur."""
    store = backend(*[numbers(name, arity) for name, arity in ARITY.items()], numbers("head", len(rule.arguments)))
    known = list(EVERY_FACT)
    if seed % 3:
        Random(seed).shuffle(known)
    store.facts(sets_of(store, {name: [f for n, f in known if n == name] for name in ARITY}))
    return store


def facts_of(store: MemoryBackend, facts: Facts) -> FactSet:
    return store.facts(sets_of(store, {name: sorted(f for n, f in facts if n == name) for name in ARITY}))


def sources_of(store: MemoryBackend, sets: Sets, style: int) -> dict[Read, FactSet]:
    """What each read stands for: kept sets, momentary ones, and formulas of both."""
    Ip, In, P, N = (facts_of(store, facts) for facts in (sets.Ip, sets.In, sets.P & sets.Ip, sets.N))
    Kp, Kn = store.materialisation, store.explicit
    Kp |= Ip
    Kn |= In
    if style == 0:
        return {
            Read.ALL: Kp,
            Read.OLD: Kp - P,
            Read.DELTA: P,
            Read.ABSENT: Kn,
            Read.ABSENT_OLD: Kn | N,
            Read.ABSENT_DELTA: N - Kn,
        }
    K, L = Kept(store.tables, 4), Kept(store.tables, 8)
    K |= P
    L |= N
    if style == 1:
        return {
            Read.ALL: Kp,
            Read.OLD: Kp - K,
            Read.DELTA: K,
            Read.ABSENT: Kn,
            Read.ABSENT_OLD: Kn | L,
            Read.ABSENT_DELTA: L - Kn,
        }
    both = (Kp & K) - L  # pieces of P and N, to be put together by formulas again
    rest = (P & L).snapshot()
    return {
        Read.ALL: Kp,
        Read.OLD: (Kp - K) - rest,
        Read.DELTA: both | rest,
        Read.ABSENT: Kn,
        Read.ABSENT_OLD: Kn | L,
        Read.ABSENT_DELTA: L - Kn,
    }


def heads(store: MemoryBackend, plans: list[Plan], sources: dict[Read, FactSet]) -> Counter[Fact]:
    bag = store.apply(plans, sources)
    found = Counter(fact for ids in bag.rows.values() for fact in as_facts(store.tables["head"].rows[ids]))
    assert len(bag) == found.total()
    assert no_scratch_left(store)
    return found


@settings(max_examples=250, deadline=None)
@given(rules(negated_wildcards=False), some_sets(), st.integers(0, 2**16), st.integers(0, 2), st.sampled_from([3, 999]))
def test_delta_plans_meet_each_instance_once_in_every_order(
    rule: Rule, sets: Sets, seed: int, style: int, batch: int
) -> None:
    expected = instances(rule, sets)
    store = store_with_rows(rule, seed)
    sources = sources_of(store, sets, style)
    choices = [orders(rule, pivot) for pivot in pivots(rule)]
    with small_batches(batch):
        for number in range(max(map(len, choices))):
            plans = [
                make_plan(rule, pivot, some[number % len(some)])
                for pivot, some in zip(pivots(rule), choices, strict=True)
            ]
            assert heads(store, plans, sources) == expected


@settings(max_examples=60, deadline=None)
@given(rules(negated_wildcards=False), some_sets(), st.integers(0, 2**16), st.integers(0, 2))
def test_chosen_orders_mean_the_same(rule: Rule, sets: Sets, seed: int, style: int) -> None:
    store = store_with_rows(rule, seed)
    sources = sources_of(store, sets, style)
    plans = [plan_rule(rule, pivot, store.statistics) for pivot in pivots(rule)]
    assert heads(store, plans, sources) == instances(rule, sets)


@settings(max_examples=60, deadline=None)
@given(rules(negated_wildcards=True), some_sets(), st.integers(0, 2**16), st.integers(0, 2))
def test_without_a_delta_every_instance_counts(rule: Rule, sets: Sets, seed: int, style: int) -> None:
    everything = Sets(sets.Ip, sets.In, frozenset(EVERY_FACT), sets.N)
    store = store_with_rows(rule, seed)
    sources = sources_of(store, everything, style)
    atoms = [i for i, literal in enumerate(rule.body) if isinstance(literal, Atom)]
    for order in permutations(atoms):
        assert heads(store, [make_plan(rule, None, order)], sources) == instances(rule, everything)


def test_a_bag_is_read_as_the_set_of_its_facts() -> None:
    """What a bag supports says nothing of other rows of the same table."""
    x, y, z = map(var, "xyz")
    store = backend(numbers("b", 2), numbers("head", 2))
    store.materialisation |= store.facts({"b": rows([(0, 1), (1, 2), (2, 3)], 2)})
    copies = Rule("copy", "b", (x, y), (Atom("b", (x, y)), Compare("=", x, Const(1, Type.NUMBER))))
    bag = store.apply([make_plan(copies, None, (0,))] * 2, {Read.ALL: store.materialisation})
    assert len(bag) == 2
    joins = Rule("join", "head", (x, z), (Atom("b", (x, y)), Atom("b", (y, z))))
    sources = {
        Read.ALL: store.materialisation,
        Read.OLD: store.materialisation - bag.support(),
        Read.DELTA: bag.support(),
    }
    plans = [make_plan(joins, 0, order) for order in ((0, 1), (1, 0))]
    assert heads(store, plans, sources) == Counter({(1, 3): 2})
