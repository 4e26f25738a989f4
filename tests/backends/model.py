"""The shortest backend that obeys the laws of `holdfast.backends.protocol`: Python sets, one binding at a time.

It has no abilities but ranks, no indexes and no batches.  What it shares with the others are the functors and
aggregates, which have tests of their own.  `pytest --engine model` runs the suites of the algorithms on it: what fails
there and not in memory relies on something that no law promises.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar, cast

import numpy as np

from holdfast.backends.abilities import Ranking
from holdfast.backends.memory.aggregates import aggregate
from holdfast.backends.memory.execution.run import naming_the_rule
from holdfast.backends.memory.functors import Bindings, evaluate, holds, spread
from holdfast.backends.protocol import Bag, Facts, Watch
from holdfast.plans.model import AggregatePlan, AntiJoin, AnyPlan, Compute, Filter, Join, Plan, Read, Scan, Step, Unnest
from holdfast.program.model import Argument, Const, Relation, Var
from holdfast.values.dictionary import Codes, Dictionary

A = TypeVar("A")
Row = tuple[int, ...]
Rows = frozenset[Row]
Binding = dict[Var, int]
NO_ROWS: Rows = frozenset()


class ModelFacts:
    """A snapshot: a frozen set of rows for each predicate."""

    def __init__(self, rows: Mapping[str, Rows] | None = None) -> None:
        self._rows = {name: found for name, found in (rows or {}).items() if found}

    def get(self, predicate: str) -> Rows:
        return self._rows.get(predicate, NO_ROWS)

    def predicates(self) -> Iterable[str]:
        return list(self._rows)

    def __or__(self, other: Facts) -> ModelFacts:
        other = own(other)
        return ModelFacts({p: self.get(p) | other.get(p) for p in {*self.predicates(), *other.predicates()}})

    def __sub__(self, other: Facts) -> ModelFacts:
        other = own(other)
        return ModelFacts({p: self.get(p) - other.get(p) for p in self.predicates()})

    def __and__(self, other: Facts) -> ModelFacts:
        other = own(other)
        return ModelFacts({p: self.get(p) & other.get(p) for p in self.predicates()})

    def of(self, predicates: Iterable[str]) -> ModelFacts:
        wanted = set(predicates)
        return ModelFacts({p: self.get(p) for p in self.predicates() if p in wanted})

    def snapshot(self) -> ModelFacts:
        return self.of(self.predicates())

    def size(self, predicate: str) -> int:
        return len(self.get(predicate))

    def sizes(self) -> Mapping[str, int]:
        return {p: self.size(p) for p in self.predicates() if self.size(p)}

    def __len__(self) -> int:
        return sum(self.sizes().values())

    def __bool__(self) -> bool:
        return bool(self.sizes())


class ModelKept(ModelFacts):
    """E, I, D, A, C, P or Y."""

    def __ior__(self, more: Facts) -> ModelKept:
        self._rows = (self | more)._rows
        return self

    def __isub__(self, fewer: Facts) -> ModelKept:
        self._rows = (self - fewer)._rows
        return self

    def clear(self) -> None:
        self._rows = {}

    def drop(self, predicate: str) -> None:
        self._rows.pop(predicate, None)


class ModelElsewhere(ModelFacts):
    """One set for some predicates, another for the rest, as they are when it is read."""

    def __init__(self, predicates: Iterable[str], here: ModelFacts, rest: ModelFacts) -> None:
        self._names, self._here, self._rest = frozenset(predicates), here, rest

    def get(self, predicate: str) -> Rows:
        return (self._here if predicate in self._names else self._rest).get(predicate)

    def predicates(self) -> Iterable[str]:
        rest = [p for p in self._rest.predicates() if p not in self._names]
        return [*(p for p in self._here.predicates() if p in self._names), *rest]


class ModelBag:
    """For each predicate how often each row occurs."""

    def __init__(self, counts: Mapping[str, Counter[Row]] | None = None) -> None:
        self.counts = {name: found for name, found in (counts or {}).items() if found}

    def __len__(self) -> int:
        return sum(found.total() for found in self.counts.values())

    def support(self) -> ModelFacts:
        return ModelFacts({name: frozenset(found) for name, found in self.counts.items()})


class ModelCounters:
    """Cn or Cr."""

    def __init__(self) -> None:
        self.numbers = defaultdict[str, Counter[Row]](Counter)
        self.remembers = False
        self._undo: list[Callable[[], None]] = []

    def add(self, facts: Bag | Facts) -> None:
        self._move(facts, 1)

    def subtract(self, facts: Bag | Facts) -> None:
        self._move(facts, -1)

    def forget(self, predicates: Iterable[str]) -> None:
        for predicate in predicates:
            self._put(predicate, Counter())

    def zero(self, facts: Facts) -> ModelFacts:
        facts = own(facts)
        numbers = self.numbers
        return ModelFacts({p: frozenset(r for r in facts.get(p) if not numbers[p][r]) for p in facts.predicates()})

    def roll_back(self) -> None:
        for undo in reversed(self._undo):
            undo()
        self.clear_undo()

    def clear_undo(self) -> None:
        self._undo.clear()

    def _move(self, facts: Bag | Facts, step: int) -> None:
        bag = facts if isinstance(facts, ModelBag) else _each_once(own(facts))
        for predicate, counts in bag.counts.items():
            moved = self.numbers[predicate].copy()
            for row, times in counts.items():
                moved[row] += step * times
            self._put(predicate, moved)

    def _put(self, predicate: str, numbers: Counter[Row]) -> None:
        if self.remembers:
            self._undo.append(partial(self.numbers.__setitem__, predicate, self.numbers[predicate]))
        self.numbers[predicate] = numbers


class ModelStatistics:
    """Sizes, and guesses that are as good as any."""

    many = math.inf

    def __init__(self, facts: ModelFacts) -> None:
        self._facts = facts

    def size(self, predicate: str) -> float:
        return float(self._facts.size(predicate))

    def smallest(self, predicate: str, column: int) -> float:
        return -math.inf

    def fanout(self, predicate: str, columns: tuple[int, ...], arity: int) -> float:
        return max(1.0, self.size(predicate)) ** (1 - len(columns) / arity) if arity else 1.0

    def unindexed(self, predicate: str, columns: tuple[int, ...]) -> float:
        return 0.0


class ModelBackend:
    """The core and nothing else."""

    def __init__(self, relations: Mapping[str, Relation], dictionary: Dictionary, watch: Watch) -> None:
        self.dictionary, self.watch = dictionary, watch
        self.relations: dict[str, Relation] = {}
        self.explicit, self.materialisation = ModelKept(), ModelKept()
        self.deleted, self.added = ModelKept(), ModelKept()
        self.checked, self.proved, self.delayed = ModelKept(), ModelKept(), ModelKept()
        self.nonrecursive, self.recursive = ModelCounters(), ModelCounters()
        self.statistics = ModelStatistics(self.materialisation)
        from .model_ranks import ModelRanking

        self.ranking = ModelRanking(self)
        for relation in relations.values():
            self.add_relation(relation)

    def add_relation(self, relation: Relation) -> None:
        self.relations[relation.name] = relation

    def drop_relation(self, name: str) -> None:
        del self.relations[name]
        for kept in (self.explicit, self.materialisation):
            kept.drop(name)
        for counters in (self.nonrecursive, self.recursive, self.ranking.founded):
            counters.numbers.pop(name, None)

    def facts(self, rows: Mapping[str, Codes], *, known: bool = False) -> ModelFacts:
        return ModelFacts({name: frozenset(map(tuple, found.tolist())) for name, found in rows.items()})

    def rows(self, predicate: str, facts: Facts) -> Codes:
        return self._codes(predicate, own(facts).get(predicate))

    def derivations(self, predicate: str) -> tuple[Codes, list[int], list[int]]:
        rows = sorted(self.materialisation.get(predicate))
        numbers = [[c.numbers[predicate][row] for row in rows] for c in (self.nonrecursive, self.recursive)]
        return self._codes(predicate, rows), numbers[0], numbers[1]

    def elsewhere(self, predicates: Iterable[str], here: Facts, rest: Facts) -> ModelFacts:
        return ModelElsewhere(predicates, own(here), own(rest))

    def apply(self, plans: Iterable[AnyPlan], sources: Mapping[Read, Facts]) -> ModelBag:
        counts = defaultdict[str, Counter[Row]](Counter)
        for plan in plans:
            with naming_the_rule(plan.rule):
                for predicate, rows in self._emitted(plan, {read: own(facts) for read, facts in sources.items()}):
                    counts[predicate].update(rows)
        self.watch.batch(0)
        return ModelBag(counts)

    def expand(self, plans: Sequence[Plan], sources: Mapping[Read, Facts], most: int) -> tuple[ModelBag, ModelFacts]:
        return self.apply(plans, sources), own(sources[Read.DELTA])

    def commit(self) -> None: ...

    def restore(self) -> None: ...

    repeats = True

    def mend(self) -> None:
        for kept in (self.deleted, self.added, self.checked, self.proved, self.delayed):
            kept.clear()
        for counters in (self.nonrecursive, self.recursive, self.ranking.founded):
            counters.clear_undo()
            counters.remembers = False

    def ability(self, kind: type[A]) -> A | None:
        return cast("A", self.ranking) if kind is Ranking else None

    # --- Π ---------------------------------------------------------------------------------------------

    def _emitted(self, plan: AnyPlan, sources: Mapping[Read, ModelFacts]) -> Iterator[tuple[str, list[Row]]]:
        if isinstance(plan, AggregatePlan):
            yield plan.rule.predicate, self._aggregated(plan, sources)
            return
        bindings: list[Binding] = [{}]
        for step in plan.steps:
            bindings = self._stepped(step, bindings, sources) if bindings else []
        if bindings:
            for predicate, terms in plan.outputs:
                columns = [evaluate(term, self._columns(bindings)).tolist() for term in terms]
                yield predicate, list(zip(*columns, strict=True)) if columns else [()] * len(bindings)

    def _stepped(self, step: Step, bindings: list[Binding], sources: Mapping[Read, ModelFacts]) -> list[Binding]:
        match step:
            case Scan() | Join():
                index = self._index(step, sources)
                return [found for binding in bindings for found in self._matches(step, binding, index)]
            case AntiJoin():
                index = self._index(step, sources)
                return [binding for binding in bindings if not any(self._matches(step, binding, index))]
            case Filter(condition=condition):
                passes = holds(condition, self._columns(bindings)).tolist()
                return [binding for binding, passed in zip(bindings, passes, strict=True) if passed]
            case Compute(assignment=assignment):
                values = evaluate(assignment.term, self._columns(bindings)).tolist()
                return [{**b, assignment.variable: value} for b, value in zip(bindings, values, strict=True)]
            case Unnest(range=range_):
                batches = spread(range_, self._columns(bindings), 10_000)
                return [binding for batch in batches for binding in _rows_of(batch)]

    def _index(self, step: Scan | Join | AntiJoin, sources: Mapping[Read, ModelFacts]) -> Mapping[Row, list[Row]]:
        index = defaultdict[Row, list[Row]](list)
        for row in sources[step.read].get(step.atom.predicate):
            index[_group(row, step.key)].append(row)
        return index

    def _matches(
        self, step: Scan | Join | AntiJoin, binding: Binding, index: Mapping[Row, list[Row]]
    ) -> Iterator[Binding]:
        """The binding with each fact that agrees with it; true in a condition, though it may have no variables."""
        arguments = step.atom.arguments
        key = tuple(self._value(arguments[column], binding) for column in step.key)
        for row in index.get(key, ()):
            extended = _Found(binding)
            if all(self._agrees(argument, value, extended) for argument, value in zip(arguments, row, strict=True)):
                yield extended

    def _value(self, argument: Argument, binding: Binding) -> int:
        if isinstance(argument, Const):
            return self.dictionary.encode_value(argument.value, argument.type)
        assert isinstance(argument, Var), "a key column is bound before its step"
        return binding[argument]

    def _agrees(self, argument: Argument, value: int, binding: Binding) -> bool:
        match argument:
            case Const():
                return self.dictionary.encode_value(argument.value, argument.type) == value
            case Var():
                return binding.setdefault(argument, value) == value
        return True

    def _aggregated(self, plan: AggregatePlan, sources: Mapping[Read, ModelFacts]) -> list[Row]:
        rule, rows = plan.rule, sources[Read.ALL].get(plan.rule.source)
        if Read.DELTA in sources:
            touched = {_group(row, rule.group) for row in sources[Read.DELTA].get(rule.source)}
            rows = frozenset(row for row in rows if _group(row, rule.group) in touched)
        source, head = self.relations[rule.source], self.relations[rule.predicate]
        found = aggregate(rule, self._codes(rule.source, rows), source.types, head.types, self.dictionary)
        return list(map(tuple, found.tolist()))

    def _codes(self, predicate: str, rows: Iterable[Row]) -> Codes:
        listed = sorted(rows)
        return np.array(listed, np.int64).reshape(len(listed), self.relations[predicate].arity)

    def _columns(self, bindings: Sequence[Binding]) -> Bindings:
        columns = {variable: np.array([b[variable] for b in bindings], np.int64) for variable in bindings[0]}
        return Bindings(columns, len(bindings), self.dictionary)


class _Found(dict[Var, int]):
    def __bool__(self) -> bool:
        return True


def own(facts: Bag | Facts) -> ModelFacts:
    if not isinstance(facts, ModelFacts):
        raise TypeError("fact sets of two backends cannot be combined")
    return facts


def _each_once(facts: ModelFacts) -> ModelBag:
    return ModelBag({p: Counter(dict.fromkeys(facts.get(p), 1)) for p in facts.predicates()})


def _group(row: Row, columns: Sequence[int]) -> Row:
    return tuple(row[column] for column in columns)


def _rows_of(bindings: Bindings) -> list[Binding]:
    columns = {variable: values.tolist() for variable, values in bindings.columns.items()}
    return [{variable: values[i] for variable, values in columns.items()} for i in range(len(bindings))]
