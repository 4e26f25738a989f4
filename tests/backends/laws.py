"""The laws of `holdfast.backends.protocol`, each as a check of one backend against Python's sets and counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st

from holdfast.backends.protocol import Backend, Bag, Counters, Engine, Facts, KeptFacts
from holdfast.language import parse
from holdfast.maintenance.watch import Watch
from holdfast.plans import AggregatePlan, Plan, Planner, Read
from holdfast.plans.planner import make_plan
from holdfast.program import check
from holdfast.program.model import Atom, Program, Relation, Rule
from holdfast.values.dictionary import Dictionary

from .definition import ARITY, EVERY_FACT, Sets, instances, orders, pivots
from .definition import Facts as Meaning
from .memory.building import Fact, numbers, rows, var

KEPT = ("explicit", "materialisation", "deleted", "added", "checked", "proved", "delayed")
LISTED = KEPT[2:]
NAMES = tuple(ARITY)
meanings = st.frozensets(st.sampled_from(EVERY_FACT), max_size=12)
FEW = [fact for fact in EVERY_FACT if fact[0] in ("a", "z") or sum(fact[1]) == 1]  # sets of so few have some in common
few = st.frozensets(st.sampled_from(FEW))
some_names = st.sampled_from([("a",), ("b", "z"), (), NAMES])
Live: TypeAlias = Callable[[], Meaning]


def made(engine: Engine, *more: Relation) -> Backend:
    """A backend with relations a, b, c and z of 1, 2, 3 and no columns."""
    relations = [*(numbers(name, arity) for name, arity in ARITY.items()), *more]
    return engine({relation.name: relation for relation in relations}, Dictionary(), Watch())


def facts_of(backend: Backend, meaning: Meaning) -> Facts:
    """A set of facts, the first of each predicate given twice."""
    each = {n: sorted(f for name, f in meaning if name == n) for n in ARITY}
    return backend.facts({n: rows(found + found[:1], ARITY[n]) for n, found in each.items()})


def listed(backend: Backend, name: str, facts: Facts) -> list[Fact]:
    """The rows of a set's facts of one predicate."""
    found = backend.rows(name, facts)
    return [tuple(row) for row in (found if isinstance(found, np.ndarray) else found.codes()).tolist()]


def meaning_of(backend: Backend, facts: Facts) -> Meaning:
    """What a set has; asked in every way that it can be asked, the answers agree (law 1)."""
    found = {name: listed(backend, name, facts) for name in ARITY}
    assert all(len(each) == len(set(each)) for each in found.values())
    sizes = {name: len(each) for name, each in found.items() if each}
    assert dict(facts.sizes()) == sizes
    assert [facts.size(name) for name in ARITY] == [sizes.get(name, 0) for name in ARITY]
    assert (len(facts), bool(facts)) == (sum(sizes.values()), bool(sizes))
    assert sizes.keys() <= set(facts.predicates())
    return frozenset((name, fact) for name, each in found.items() for fact in each)


# --- laws 1 to 7: sets ---------------------------------------------------------------------------------


@dataclass
class World:
    """A backend's sets beside what they should mean."""

    backend: Backend
    kept: dict[str, Meaning] = field(default_factory=lambda: dict.fromkeys(KEPT, frozenset()))
    snapshots: list[tuple[Facts, Meaning]] = field(default_factory=list)
    views: list[tuple[Facts, Live]] = field(default_factory=list)

    def set(self, name: str) -> KeptFacts:
        found: KeptFacts = getattr(self.backend, name)
        return found

    def leaf(self, data: st.DataObject, kept: Iterable[str]) -> tuple[Facts, Meaning]:
        choice = data.draw(st.sampled_from([*kept, *range(len(self.snapshots)), None, None]))
        if isinstance(choice, str):
            return self.set(choice), self.kept[choice]
        if choice is not None:
            return self.snapshots[choice]
        meaning = data.draw(few)
        return facts_of(self.backend, meaning), meaning

    def expression(self, data: st.DataObject, kept: Iterable[str] = KEPT, depth: int = 3) -> tuple[Facts, Meaning]:
        operator = data.draw(st.sampled_from(["|", "-", "&", "-", "leaf"])) if depth else "leaf"
        if operator == "leaf":
            return self.leaf(data, kept)
        left, right = self.expression(data, kept, depth - 1), self.expression(data, kept, depth - 1)
        match operator:
            case "|":
                return left[0] | right[0], left[1] | right[1]
            case "-":
                return left[0] - right[0], left[1] - right[1]
        return left[0] & right[0], left[1] & right[1]

    def hold(self) -> None:
        """Kept sets are what was put into them, snapshots what they were, views what they see."""
        for name, meaning in self.kept.items():
            assert meaning_of(self.backend, self.set(name)) == meaning
        for facts, meaning in self.snapshots:
            assert meaning_of(self.backend, facts) == meaning
        for facts, live in self.views:
            assert meaning_of(self.backend, facts) == live()


def sets_obey(engine: Engine, data: st.DataObject) -> None:
    world = World(made(engine))
    for name in KEPT:
        _fill(world, name, data.draw(few))
    for _ in range(data.draw(st.integers(1, 6))):
        data.draw(st.sampled_from([_look, _look, _put, _take, _clear, _snapshot, _of, _elsewhere]))(world, data)
        world.hold()


def _fill(world: World, name: str, meaning: Meaning) -> None:
    kept = world.set(name)
    kept |= facts_of(world.backend, meaning)
    world.kept[name] = meaning


def _put(world: World, data: st.DataObject) -> None:
    name, (facts, meaning) = data.draw(st.sampled_from(KEPT)), world.expression(data)
    kept = before = world.set(name)
    kept |= facts
    assert kept is before
    world.kept[name] |= meaning


def _take(world: World, data: st.DataObject) -> None:
    name, (facts, meaning) = data.draw(st.sampled_from(KEPT)), world.expression(data)
    kept = before = world.set(name)
    kept -= facts if name in LISTED else (facts & kept).snapshot()
    assert kept is before
    world.kept[name] -= meaning


def _clear(world: World, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(LISTED))
    getattr(world.backend, name).clear()
    world.kept[name] = frozenset()


def _look(world: World, data: st.DataObject) -> None:
    facts, meaning = world.expression(data)
    assert meaning_of(world.backend, facts) == meaning


def _snapshot(world: World, data: st.DataObject) -> None:
    facts, meaning = world.expression(data)
    world.snapshots.append((facts.snapshot(), meaning))


def _of(world: World, data: st.DataObject) -> None:
    (facts, meaning), names = world.expression(data, LISTED), data.draw(some_names)
    world.snapshots.append((facts.of(names), frozenset(fact for fact in meaning if fact[0] in names)))


def _elsewhere(world: World, data: st.DataObject) -> None:
    here, rest, names = data.draw(st.sampled_from(KEPT)), data.draw(st.sampled_from(KEPT)), data.draw(some_names)

    def live() -> Meaning:
        seen = ((kept, fact) for kept in (here, rest) for fact in world.kept[kept])
        return frozenset(fact for kept, fact in seen if kept == (here if fact[0] in names else rest))

    world.views.append((world.backend.elsewhere(names, world.set(here), world.set(rest)), live))


# --- laws 8 to 11: Π -----------------------------------------------------------------------------------


def emitted(backend: Backend, bag: Bag, name: str) -> Counter[Fact]:
    """The multiplicities of a bag's facts of a predicate that no set has facts of: by counting them."""
    I, Cr = backend.materialisation, backend.recursive
    I |= bag.support()
    Cr.forget([name])
    Cr.add(bag)
    codes, _, numbers_ = backend.derivations(name)
    found = Counter(dict(zip(map(tuple, codes.tolist()), numbers_, strict=True)))
    I -= bag.support()
    Cr.forget([name])
    assert len(bag) == found.total()
    return found


def sources_of(backend: Backend, sets: Sets, style: int) -> dict[Read, Facts]:
    """What each read stands for: kept sets with snapshots, kept sets alone, or a live view."""
    facts_of(backend, frozenset(EVERY_FACT))  # which the backend has seen before, so that sets are scattered rows
    Ip, In, P, N = (facts_of(backend, facts) for facts in (sets.Ip, sets.In, sets.P & sets.Ip, sets.N))
    I, D, A, proved = backend.materialisation, backend.deleted, backend.added, backend.proved
    Kn = backend.explicit
    I |= Ip
    Kn |= In
    if style == 1:
        D |= P
        A |= N
        P, N = D, A
    all_ = I
    if style == 2:
        all_ = backend.elsewhere(("a", "b"), proved, I)  # sees what is put into it later
        proved |= Ip.of(("a", "b"))
        I -= Ip.of(("a", "b"))
    return {
        Read.ALL: all_,
        Read.OLD: all_ - P,
        Read.DELTA: P,
        Read.ABSENT: Kn,
        Read.ABSENT_OLD: Kn | N,
        Read.ABSENT_DELTA: N - Kn,
    }


def plans_obey(engine: Engine, rule: Rule, sets: Sets, style: int, number: int) -> None:
    backend = made(engine, numbers("head", len(rule.arguments)))
    sources = sources_of(backend, sets, style)
    before = {name: meaning_of(backend, getattr(backend, name)) for name in KEPT}
    choices = [(pivot, orders(rule, pivot)) for pivot in pivots(rule)]
    plans = [make_plan(rule, pivot, some[number % len(some)]) for pivot, some in choices]
    bag = backend.apply(plans, sources)
    assert {name: meaning_of(backend, getattr(backend, name)) for name in KEPT} == before
    assert emitted(backend, bag, "head") == instances(rule, sets)


def whole_plans_obey(engine: Engine, rule: Rule, sets: Sets, number: int) -> None:
    """Without a delta every instance counts; negated atoms may have wildcards then."""
    everything = Sets(sets.Ip, sets.In, frozenset(EVERY_FACT), frozenset(EVERY_FACT))
    backend = made(engine, numbers("head", len(rule.arguments)))
    sources = sources_of(backend, everything, 0)
    orders_ = list(permutations(i for i, literal in enumerate(rule.body) if isinstance(literal, Atom)))
    plan = make_plan(rule, None, orders_[number % len(orders_)])
    bag = backend.apply([plan], {read: sources[read] for read in (Read.ALL, Read.ABSENT)})
    assert emitted(backend, bag, "head") == instances(rule, everything)


def checked(text: str) -> Program:
    return check(parse(text, "<law>"))


AGGREGATE = ".decl b(x: number, y: number) .decl n(x: number, c: number) n(x, c) :- b(x, _), c = count : { b(x, _) }."


def aggregates_obey(engine: Engine, all_: Meaning, changed: Meaning) -> None:
    """Law 10: with a delta, only the groups that it touches."""
    program = checked(AGGREGATE)
    [rule] = program.aggregates
    backend = engine(program.relations, Dictionary(), Watch())
    I, delta = (backend.facts({rule.source: rows(sorted(f for n, f in m if n == "b"), 2)}) for m in (all_, changed))
    kept = backend.materialisation
    kept |= I
    counts = Counter(fact[0] for name, fact in all_ if name == "b")
    touched = {fact[0] for name, fact in changed if name == "b"}
    whole = {(x, n) for x, n in counts.items()}
    for sources, expected in (
        ({Read.ALL: kept}, whole),
        ({Read.ALL: kept, Read.DELTA: delta}, {(x, n) for x, n in whole if x in touched}),
    ):
        bag = backend.apply([AggregatePlan(rule)], sources)
        assert emitted(backend, bag, rule.predicate) == Counter(dict.fromkeys(expected, 1))


CLOSURE = ".decl e(x: number, y: number) .decl p(x: number, y: number) p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z)."
PAIRS = list(product(range(4), repeat=2))


def expansion_obeys(engine: Engine, closed: frozenset[Fact], goals: frozenset[Fact], most: int) -> None:
    """Law 11."""
    program = checked(CLOSURE)
    node = next(node for node in program.nodes if "p" in node.predicates)
    backend = engine(program.relations, Dictionary(), Watch())
    I = backend.materialisation
    I |= backend.facts({"p": rows(sorted(closed), 2)})
    plans = Planner(node, backend.statistics).bodies(node.recursive, {"p": len(goals)})

    def sources(some: Iterable[Fact]) -> dict[Read, Facts]:
        return {Read.ALL: I, Read.DELTA: backend.facts({"p": rows(sorted(some), 2)}), Read.ABSENT: I}

    bag, exhausted = backend.expand(plans, sources(goals), most)
    done, found = set(listed(backend, "p", exhausted)), set(listed(backend, "p", bag.support()))
    assert done <= goals
    assert len(bag) <= len(backend.apply(plans, sources(goals)))
    for goal in goals:
        instances_ = {(x, y) for x, y in closed if x == goal[0] and (y, goal[1]) in closed}
        facts = {fact for x, y in instances_ for fact in ((x, y), (y, goal[1]))}
        assert facts <= found if goal in done else len(instances_) >= most


# --- laws 12 and 13: counters --------------------------------------------------------------------------


def copying(name: str) -> Plan:
    """A plan that emits each fact of a predicate once."""
    variables = tuple(var(f"x{column}") for column in range(ARITY[name]))
    return make_plan(Rule("copy", name, variables, (Atom(name, variables),)), None, (0,))


@dataclass
class Count:
    """One of the two counters beside what it should be."""

    backend: Backend
    counters: Counters
    numbers: Counter[tuple[str, Fact]] = field(default_factory=Counter)

    def change(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from([self.add, self.add_bag, self.subtract, self.forget]))(data)

    def add(self, data: st.DataObject) -> None:
        some = data.draw(meanings)
        self.counters.add(facts_of(self.backend, some))
        self.numbers.update(some)

    def add_bag(self, data: st.DataObject) -> None:
        some, times = data.draw(meanings), data.draw(st.integers(1, 3))
        plans = [copying(name) for name in ARITY] * times
        self.counters.add(self.backend.apply(plans, {Read.ALL: facts_of(self.backend, some)}))
        self.numbers.update(dict.fromkeys(some, times))

    def subtract(self, data: st.DataObject) -> None:
        some = frozenset(fact for fact in data.draw(meanings) if self.numbers[fact])
        self.counters.subtract(facts_of(self.backend, some))
        self.numbers.subtract(some)

    def forget(self, data: st.DataObject) -> None:
        names = data.draw(some_names)
        self.counters.forget(names)
        self.numbers = Counter({fact: n for fact, n in self.numbers.items() if fact[0] not in names})

    def holds(self) -> None:
        everything = facts_of(self.backend, frozenset(EVERY_FACT))
        zeros = frozenset(fact for fact in EVERY_FACT if not self.numbers[fact])
        assert meaning_of(self.backend, self.counters.zero(everything)) == zeros


def counters_obey(engine: Engine, data: st.DataObject) -> None:
    backend = made(engine)
    counts = [Count(backend, backend.nonrecursive), Count(backend, backend.recursive)]
    I = backend.materialisation
    I |= facts_of(backend, frozenset(EVERY_FACT))
    for _ in range(data.draw(st.integers(1, 3))):
        before = [count.numbers.copy() for count in counts]
        for count in counts:
            count.counters.remembers = True
        for _ in range(data.draw(st.integers(1, 4))):
            data.draw(st.sampled_from(counts)).change(data)
        is_kept = data.draw(st.booleans())
        for count, old in zip(counts, before, strict=True):
            if not is_kept:
                count.counters.roll_back()
                count.numbers = old
        for count in counts:
            count.counters.clear_undo()
            count.counters.remembers = False
        (backend.commit if is_kept else backend.restore)()
        for count in counts:
            count.holds()
        for name in ARITY:
            codes, *numbers_ = backend.derivations(name)
            found = {tuple(row): pair for row, pair in zip(codes.tolist(), zip(*numbers_, strict=True), strict=True)}
            assert found == {f: tuple(c.numbers[n, f] for c in counts) for n, f in EVERY_FACT if n == name}


# --- laws 2 and 15 -------------------------------------------------------------------------------------


def backends_do_not_mix(engine: Engine, other: Engine) -> None:
    one, two = facts_of(made(engine), frozenset(EVERY_FACT[:3])), facts_of(made(other), frozenset(EVERY_FACT[:3]))
    for combine in (lambda: one | two, lambda: one - two, lambda: one & two):
        try:
            combine()
        except TypeError:
            continue
        raise AssertionError("sets of two backends were combined")


def a_dropped_relation_begins_empty(engine: Engine) -> None:
    backend = made(engine)
    everything = frozenset(EVERY_FACT)
    E, I = backend.explicit, backend.materialisation
    for kept in (E, I):
        kept |= facts_of(backend, everything)
    backend.nonrecursive.add(facts_of(backend, everything))
    backend.drop_relation("b")
    assert "b" not in backend.relations
    backend.add_relation(numbers("b", 2))
    rest = frozenset(fact for fact in everything if fact[0] != "b")
    assert meaning_of(backend, E) == meaning_of(backend, I) == rest
    assert meaning_of(backend, backend.nonrecursive.zero(facts_of(backend, everything))) == everything - rest
