"""Sets of facts against Python's sets: what a formula means, when it is looked at, and that it leaves no marks."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from holdfast.backends.memory import formulas
from holdfast.backends.memory.bags import MemoryBag
from holdfast.backends.memory.facts import FactSet, Momentary, Support, marked
from holdfast.backends.memory.kept import Kept, Listed
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.memory.truth import as_bytes
from holdfast.errors import EvaluationError
from holdfast.plans.model import Read
from holdfast.plans.planner import make_plan
from holdfast.program.model import Apply, Assign, Atom, Const, Rule
from holdfast.values import Type

from .building import backend, no_scratch_left, numbers, rows, var

NAMES = ("p", "q")
SIZE = 12
Model = frozenset[tuple[str, int]]
EVERYTHING: Model = frozenset((name, row) for name in NAMES for row in range(SIZE))
some_facts = st.frozensets(st.sampled_from(sorted(EVERYTHING)), max_size=SIZE)
runs = st.tuples(st.sampled_from(NAMES), st.integers(0, SIZE), st.integers(0, SIZE)).map(
    lambda r: frozenset((r[0], row) for row in range(r[1], r[2]))
)


def store_of_rows() -> MemoryBackend:
    """Facts p(0) … and q(0) …, so that a fact's row is its number."""
    store = backend(*(numbers(name, 1) for name in NAMES))
    store.facts({name: rows([(i,) for i in range(SIZE)], 1) for name in NAMES})
    return store


def ids_of(model: Model, random: Random | None = None, repeated: bool = False) -> dict[str, np.ndarray]:
    found = {}
    for name in NAMES:
        ids = sorted(row for n, row in model if n == name) * (2 if repeated else 1)
        if random is not None:
            random.shuffle(ids)
        if ids:
            found[name] = np.array(ids, np.int32)
    return found


def meaning(facts: FactSet) -> Model:
    """The facts of a set; asked in every way that it can be asked, the answers agree."""
    found = {name: facts.ids(name).tolist() for name in NAMES}
    assert all(len(ids) == len(set(ids)) for ids in found.values())
    model = frozenset((name, row) for name, ids in found.items() for row in ids)
    assert len(facts) == len(model)
    assert bool(facts) == bool(model)
    assert {name: size for name, size in facts.sizes().items() if size} == {
        name: len(ids) for name, ids in found.items() if ids
    }
    assert {name for name, _ in model} <= set(facts.predicates())
    assert frozenset((n, row) for n, ids in facts.snapshot().rows.items() for row in ids.tolist()) == model
    check_run(facts, model)
    return model


def check_run(facts: FactSet, model: Model) -> None:
    for name in NAMES:
        run = facts.run(name)
        if run is not None:
            assert {row for n, row in model if n == name} == set(range(*run))


class Pair:
    """A set of the engine and what it should mean, now or at the time of its making."""

    def __init__(self, real: FactSet, model: Callable[[], Model]) -> None:
        self.real = real
        frozen = model()
        self.model = (lambda: frozen) if isinstance(real, Momentary | Support) else model

    def __or__(self, other: Pair) -> Pair:
        return Pair(self.real | other.real, lambda: self.model() | other.model())

    def __and__(self, other: Pair) -> Pair:
        return Pair(self.real & other.real, lambda: self.model() & other.model())

    def __sub__(self, other: Pair) -> Pair:
        return Pair(self.real - other.real, lambda: self.model() - other.model())


OPERATIONS = (Pair.__or__, Pair.__and__, Pair.__sub__)


@settings(max_examples=400, deadline=None)
@given(st.data(), st.sampled_from(["status", "proof"]), st.sampled_from([0, 10**6]))
def test_formulas_mean_what_they_say_when_they_are_used(data: st.DataObject, column: str, small: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formulas, "_SMALL", small)
        check_formulas(data, column)


def check_formulas(data: st.DataObject, column: str) -> None:
    store = store_of_rows()
    random = Random(data.draw(st.integers(0, 2**32)))
    contents: list[Model] = [frozenset(), frozenset(), frozenset()]
    kept = [Kept(store.tables, 1, column), Kept(store.tables, 2, column), Listed(store.tables, 4, column)]

    def change(number: int) -> None:
        more, fewer = data.draw(st.one_of(some_facts, runs)), data.draw(st.one_of(st.just(frozenset()), some_facts))
        kept[number] |= Support(store.tables, ids_of(more, random))
        kept[number] -= Momentary(store.tables, ids_of(fewer, random))
        contents[number] = (contents[number] | more) - fewer

    for number in range(3):
        change(number)
    leaves = [Pair(facts, lambda number=number: contents[number]) for number, facts in enumerate(kept)]
    for kind, repeated in ((Momentary, False), (Support, True)):
        model = data.draw(st.one_of(some_facts, runs))
        shuffled = data.draw(st.sampled_from([None, random]))
        leaves.append(Pair(kind(store.tables, ids_of(model, shuffled, repeated)), lambda model=model: model))
    formula = data.draw(st.sampled_from(leaves))
    for _ in range(data.draw(st.integers(1, 3))):  # with more, a formula could have more than three momentary sets
        other = data.draw(st.sampled_from(leaves))
        left, right = (formula, other) if data.draw(st.booleans()) else (other, formula)
        formula = data.draw(st.sampled_from(OPERATIONS))(left, right)
    assert meaning(formula.real) == formula.model()
    change(data.draw(st.integers(0, 2)))
    assert meaning(formula.real) == formula.model()
    wanted = data.draw(st.sampled_from([("p",), ("q",), (), NAMES]))
    assert meaning(formula.real.of(wanted)) == {fact for fact in formula.model() if fact[0] in wanted}
    kept[2].clear()
    contents[2] = frozenset()
    assert meaning(formula.real) == formula.model()
    assert no_scratch_left(store)


@given(some_facts, some_facts, st.sampled_from([("p",), ("q",), (), NAMES]))
def test_one_set_here_another_elsewhere(here: Model, rest: Model, names: tuple[str, ...]) -> None:
    """The two may live in different bytes beside the rows."""
    store = store_of_rows()
    store.proved |= Momentary(store.tables, ids_of(here))
    store.materialisation |= Momentary(store.tables, ids_of(rest))
    both = store.elsewhere(names, store.proved, store.materialisation)
    expected = {fact for fact in here if fact[0] in names} | {fact for fact in rest if fact[0] not in names}
    assert meaning(both) == expected
    some = Momentary(store.tables, ids_of(here))
    assert meaning(both - some) == expected - here
    assert meaning(some - both) == here - expected
    assert no_scratch_left(store)


def test_a_run_that_lies_elsewhere_takes_nothing_away() -> None:
    store = store_of_rows()
    store.materialisation |= Momentary(store.tables, ids_of(frozenset(("p", i) for i in range(3))))
    later = Momentary(store.tables, ids_of(frozenset(("p", i) for i in range(5, 8))))
    assert (store.materialisation - later).run("p") == (0, 3)


@pytest.mark.parametrize(
    ("ids", "run"),
    [
        ([], (0, 0)),
        ([4], (4, 5)),
        ([2, 3, 4], (2, 5)),
        ([4, 3, 2], (2, 5)),
        ([2, 4], None),
        ([2, 4, 3, 5], (2, 6)),
        ([4, 2, 5], None),
        ([0, 1, 2], (0, 3)),
    ],
)
def test_momentary_runs(ids: list[int], run: tuple[int, int] | None) -> None:
    store = store_of_rows()
    assert Momentary(store.tables, {"p": np.array(ids, np.int32)}).run("p") == run


def test_facts_of_two_backends_cannot_be_combined() -> None:
    with pytest.raises(TypeError, match="two backends"):
        store_of_rows().explicit | {"p"}  # type: ignore[operator]


def test_at_most_three_momentary_sets_at_once() -> None:
    store = store_of_rows()
    few = [Momentary(store.tables, ids_of(frozenset({("p", i)}))) for i in range(4)]
    with pytest.raises(AssertionError, match="three"), marked(few):
        pass
    assert no_scratch_left(store)


# --- marks -------------------------------------------------------------------------------------------


@given(some_facts, some_facts)
def test_marks_are_taken_away_after_an_exception(one: Model, other: Model) -> None:
    store = store_of_rows()
    store.explicit |= Momentary(store.tables, ids_of(one))
    sets = [Momentary(store.tables, ids_of(one)), Momentary(store.tables, ids_of(other))]
    formula = (store.explicit - sets[0]) | (store.explicit & store.materialisation)
    with pytest.raises(KeyError), marked([formula, sets[1]]) as bits:
        assert set(bits) == {facts for facts in sets if facts is sets[1] or facts}  # no formula has what is empty
        shown = as_bytes(sets[1].truth(bits))[store.tables["p"].status[:SIZE]]
        assert {row for row in range(SIZE) if shown[row]} == {row for name, row in other if name == "p"}
        raise KeyError
    assert no_scratch_left(store)
    assert meaning(store.explicit) == one


def test_marks_are_taken_away_after_a_rule_has_failed() -> None:
    store = backend(numbers("p", 2), numbers("head", 1))
    delta = store.facts({"p": rows([(i, 5 - i) for i in (3, 1, 0, 5)], 2)})
    store.materialisation |= delta
    scattered = Momentary(store.tables, {"p": delta.ids("p")[[2, 0]]})
    x, y, z, d = map(var, "xyzd")
    divided = Assign(d, Apply("/", (Const(1, Type.NUMBER), y), Type.NUMBER))
    failing = Rule("r", "head", (d,), (Atom("p", (x, y)), Atom("p", (y, z)), divided))
    sources = {Read.ALL: store.materialisation, Read.OLD: store.materialisation - scattered, Read.DELTA: scattered}
    with pytest.raises(EvaluationError, match="division by zero"):
        store.apply([make_plan(failing, 1, (0, 1))], sources)
    assert no_scratch_left(store)


# --- kept sets over time -----------------------------------------------------------------------------


class KeptOverTime(RuleBasedStateMachine):
    """Facts come and go; the tables grow meanwhile."""

    @initialize()
    def begin(self) -> None:
        self.store = backend(*(numbers(name, 1) for name in NAMES))
        self.kept = self.store.materialisation
        self.other = self.store.explicit
        self.model: Model = frozenset()
        self.others: Model = frozenset()
        self.stays_a_run = dict.fromkeys(NAMES, True)

    def known(self, name: str) -> int:
        return self.store.tables[name].size

    @rule(name=st.sampled_from(NAMES), more=st.integers(0, 90))
    def grow(self, name: str, more: int) -> None:
        size = self.known(name)
        self.store.tables[name].intern(rows([(size + i,) for i in range(more)], 1))

    def add(self, facts: FactSet, more: Model) -> None:
        for name in NAMES:
            here = sorted(row for n, row in self.model if n == name)
            new = facts.ids(name).tolist()
            in_order = new == list(range(new[0], new[0] + len(new))) if new else True
            self.stays_a_run[name] &= in_order and (not new or new[0] <= len(here))
        self.kept |= facts
        self.model |= more

    @rule(name=st.sampled_from(NAMES), data=st.data(), shuffled=st.booleans())
    def add_some(self, name: str, data: st.DataObject, shuffled: bool) -> None:
        first = data.draw(st.integers(0, self.known(name)))
        last = data.draw(st.integers(first, self.known(name)))
        ids = list(range(first, last))
        if shuffled:
            Random(last).shuffle(ids)
        chosen = {name: np.array(ids, np.int32)} if ids else {}
        self.add(Momentary(self.store.tables, chosen), frozenset((name, row) for row in ids))

    @rule(name=st.sampled_from(NAMES))
    def add_what_comes_next(self, name: str) -> None:
        """As materialisation does."""
        first, last = len([1 for n, _ in self.model if n == name]), self.known(name)
        ids = np.arange(min(first, last), last, dtype=np.int32)
        self.add(Support(self.store.tables, {name: ids}), frozenset((name, int(row)) for row in ids))

    @rule()
    def add_a_formula(self) -> None:
        self.add((self.other - self.kept).snapshot(), self.others)

    @rule(data=st.data())
    def change_the_other(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(NAMES))
        ids = data.draw(st.frozensets(st.integers(0, max(0, self.known(name) - 1)), max_size=9))
        self.others = frozenset((name, row) for row in ids if row < self.known(name))
        self.other -= self.other
        self.other |= Momentary(self.store.tables, ids_of(self.others))

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        fewer = data.draw(st.frozensets(st.sampled_from(sorted(self.model)), min_size=1))
        self.kept -= Momentary(self.store.tables, ids_of(fewer))
        self.model -= fewer
        for name, _ in fewer:
            self.stays_a_run[name] = False

    @precondition(lambda self: self.model)
    @rule()
    def remove_a_formula(self) -> None:
        gone = self.model & self.others
        self.kept -= self.kept & self.other
        self.model -= gone
        for name, _ in gone:
            self.stays_a_run[name] = False

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "model"):
            return
        assert meaning(self.kept) == self.model
        assert meaning(self.other) == self.others
        shown = as_bytes(self.kept.truth({}))
        for name in NAMES:
            table = self.store.tables[name]
            assert np.flatnonzero(shown[table.status[: table.size]]).tolist() == sorted(
                row for n, row in self.model if n == name
            )
            if self.stays_a_run[name]:
                assert self.kept.run(name) is not None, "a set that only grew in order is still known to be a run"
        assert no_scratch_left(self.store)


KeptOverTime.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
test_kept_sets_over_time = KeptOverTime.TestCase


# --- counters ----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), some_facts, st.integers(1, 3)), max_size=6), some_facts, st.booleans())
def test_counters_count_each_occurrence(moves: list[tuple[bool, Model, int]], asked: Model, by_weight: bool) -> None:
    store = store_of_rows()
    counted = dict.fromkeys(EVERYTHING, 0)
    for up, facts, times in moves:
        ids = {name: np.repeat(found, times) for name, found in ids_of(facts).items()}
        bag = MemoryBag(store.tables, ids)
        if by_weight:
            once = ids_of(facts)
            bag = MemoryBag(store.tables, once, {n: np.full(len(found), times, np.int32) for n, found in once.items()})
        assert len(bag) == times * len(facts)
        (store.recursive.add if up else store.recursive.subtract)(bag)
        store.nonrecursive.add(Support(store.tables, ids))
        for fact in facts:
            counted[fact] += times if up else -times
    for name, row in EVERYTHING:
        assert store.recursive.of(name)[row] == counted[name, row]
        assert store.nonrecursive.of(name)[row] == sum((name, row) in facts for _, facts, _ in moves)
    zero = store.recursive.zero(Momentary(store.tables, ids_of(asked)))
    assert meaning(zero) == {fact for fact in asked if not counted[fact]}
