"""Facts in several states at once: each fact has a word with one bit for each state in which it holds.

The word of an unchanged fact is all ones if it is in I, else zero.  Only the difference to that is stored, in an array
beside the rows, whose pages stay untouched until they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.aggregates import aggregate, in_groups
from holdfast.backends.memory.arrays import Ids, Rows, padded, zeros
from holdfast.backends.memory.execution.run import CompiledPlan, naming_the_rule
from holdfast.backends.memory.execution.views import ReadViews
from holdfast.backends.memory.facts import Momentary
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.memory.table import Table
from holdfast.backends.protocol import Facts
from holdfast.plans.instances import body_atoms
from holdfast.plans.model import Plan, Read
from holdfast.program.model import AggregateRule, Negated

_T = TypeVar("_T")
Words = NDArray[np.int64]
HeadWords = dict[str, tuple[Ids, Words]]
"""Facts of each predicate, each once, with words."""
MOST_STATES = 63  # bits of a non-negative word

_IN_I = np.uint8(2)
_NO_IDS: Ids = np.empty(0, np.int32)
_NO_WORDS: Words = np.empty(0, np.int64)


class Versions:
    """Which of the states 0 (before) to `last` each fact holds in."""

    def __init__(self, backend: MemoryBackend, last: int) -> None:
        assert 0 < last < MOST_STATES
        self.backend = backend
        self.last = last
        self.every = np.int64((1 << (last + 1)) - 1)
        self._differences: dict[str, Words] = {}
        self._changed: dict[str, Ids] = {}

    def of(self, predicate: str, ids: Ids) -> Words:
        """The words of some facts; place -1 means that the fact was never seen."""
        words = np.full(len(ids), self.every)
        self.meet(predicate, ids, words)
        return words

    def meet(self, predicate: str, ids: Ids, words: Words, *, negated: bool = False) -> None:
        """Keep of each word the states in which a fact holds, or, if negated, does not hold."""
        status, beside = self.backend.tables[predicate].status, self._differences.get(predicate, _NO_WORDS)
        kernels.meet_words(ids, status, _IN_I, self.every, beside, negated, words)

    def put(self, predicate: str, ids: Ids, words: Words) -> Ids:
        """Set the words of distinct facts; returns those whose words change."""
        status, out = self.backend.tables[predicate].status, np.empty(len(ids), np.int32)
        new = out[: kernels.put_words(ids, words, status, _IN_I, self.every, self._beside(predicate), out)]
        known = self._changed.get(predicate)
        self._changed[predicate] = np.sort(new) if known is None else np.union1d(known, new).astype(np.int32)
        return new

    def changed(self, predicates: Iterable[str]) -> Momentary:
        """The facts that hold in some states but not in all."""
        found = {}
        for predicate in predicates:
            ids = self._changed.get(predicate, _NO_IDS)
            ids = ids[self._beside(predicate)[ids] != 0] if len(ids) else ids
            if len(ids):
                found[predicate] = ids
        return Momentary(self.backend.tables, found)

    def before(self, step: int, predicate: str) -> Momentary:
        """The facts of a predicate in the state before a step; steps count from 0."""
        changed = self.changed([predicate])
        ids = changed.ids(predicate)
        held = ids[(self.of(predicate, ids) >> step) & 1 == 1]
        kept = (self.backend.materialisation.of([predicate]) - changed) | _some(self.backend, {predicate: held})
        return kept.snapshot()

    def steps(self) -> list[tuple[Momentary, Momentary]]:
        """The facts that each update removes and adds."""
        changed = self.changed(list(self._changed)).rows
        return steps(self.backend, {name: (ids, self.of(name, ids)) for name, ids in changed.items()}, self.last)

    # --- Π with words ----------------------------------------------------------------------------------

    def instances(self, plans: Sequence[Plan], sources: Mapping[Read, Facts]) -> list[tuple[str, Ids, Words]]:
        """Heads of instances, with the states in which the whole body holds: the bitwise *and* of its facts' words,
        with those of negated facts inverted."""
        return self._each(plans, sources, self.intern)

    def emitted(self, plans: Sequence[Plan], sources: Mapping[Read, Facts]) -> list[tuple[str, Rows, Words]]:
        """The same as rows, which need not all become facts."""
        return self._each(plans, sources, lambda _, rows: rows)

    def _each(
        self, plans: Sequence[Plan], sources: Mapping[Read, Facts], kept: Callable[[str, Rows], _T]
    ) -> list[tuple[str, _T, Words]]:
        backend = self.backend
        pipelines = [backend.compiled(plan) for plan in plans if backend._can_start(plan, sources)]
        found: list[tuple[str, _T, Words]] = []
        if pipelines:
            with backend.seen(pipelines, sources) as views:
                for pipeline in pipelines:
                    found += ((name, kept(name, rows), words) for name, rows, words in self._run(pipeline, views))
        return found

    def intern(self, predicate: str, rows: Rows) -> Ids:
        """The ids of rows, including new ones."""
        table = self.backend.tables[predicate]
        before = table.size
        ids = table.intern(np.ascontiguousarray(rows))
        self.backend.watch.batch(table.size - before)
        return ids

    def _run(self, pipeline: CompiledPlan, views: ReadViews) -> Iterator[tuple[str, Rows, Words]]:
        plan = pipeline.plan
        atoms = [(n, atom) for n, atom in enumerate(body_atoms(plan), 1) if atom.predicate in self._differences]
        with naming_the_rule(plan.rule):
            for head, *body in self.backend.instances(pipeline, views, [0, *(n for n, _ in atoms)]):
                words = np.full(len(head), self.every)
                for (_, atom), rows in zip(atoms, body, strict=True):
                    ids = self.backend.tables[atom.predicate].find(rows)
                    self.meet(atom.predicate, ids, words, negated=isinstance(atom, Negated))
                holds = np.flatnonzero(words)
                if len(holds):
                    yield plan.rule.predicate, head[holds], words[holds]

    def aggregated(self, rule: AggregateRule, changes: Momentary) -> Iterator[tuple[str, Ids, Words]]:
        """The results of an aggregate in each state, for the groups that a changed fact belongs to."""
        backend, source = self.backend, self.backend.tables[rule.source]
        types = backend.relations[rule.source].types, backend.relations[rule.predicate].types
        groups = Table(rule.predicate, len(rule.group))
        groups.intern(np.ascontiguousarray(backend.rows(rule.source, changes)[:, list(rule.group)]))
        ids = in_groups(source, rule.group, groups.rows[: groups.size])
        words = self.of(rule.source, ids)
        for state in range(self.last + 1):
            with naming_the_rule(rule):
                results = aggregate(rule, source.rows[ids[(words >> state) & 1 == 1]], *types, backend.dictionary)
            found = self.intern(rule.predicate, results)
            yield rule.predicate, found, np.full(len(found), np.int64(1 << state))

    def _beside(self, predicate: str) -> Words:
        capacity, known = len(self.backend.tables[predicate].rows), self._differences.get(predicate)
        if known is None:
            known = self._differences[predicate] = zeros((capacity,), np.int64)
        elif len(known) < capacity:
            known = self._differences[predicate] = padded(known, capacity)
        return known


def by_or(met: Iterable[tuple[str, Ids, Words]]) -> HeadWords:
    """Each head once, with the union of the states of its instances."""
    parts: dict[str, list[tuple[Ids, Words]]] = {}
    for name, ids, words in met:
        parts.setdefault(name, []).append((ids, words))
    heads = {}
    for name, found in parts.items():
        ids, inverse = np.unique(np.concatenate([i for i, _ in found]), return_inverse=True)
        words = np.zeros(len(ids), np.int64)
        np.bitwise_or.at(words, inverse, np.concatenate([w for _, w in found]))
        heads[name] = ids, words
    return heads


def with_changes(words: Words, ids: Ids, known: Ids, changed: Words) -> Words:
    """The words of some facts, replaced where `known`, which is sorted, has a word."""
    places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[places] == ids, changed[places], words)


def _some(backend: MemoryBackend, rows: Mapping[str, Ids]) -> Momentary:
    return Momentary(backend.tables, {name: ids for name, ids in rows.items() if len(ids)})


def steps(
    backend: MemoryBackend, facts: Mapping[str, tuple[Ids, Words]], last: int
) -> list[tuple[Momentary, Momentary]]:
    """From facts with words, those removed and those added by each step from one state to the next."""
    found: list[dict[str, Ids]] = [
        {} for _ in range(2 * last)
    ]  # removed by the first, added by it, removed by the next
    for name, (ids, words) in facts.items():
        borders = np.zeros(2 * last + 1, np.int64)
        moved = np.empty(kernels.count_moves(words, borders), np.int32)
        kernels.list_moves(ids, words, borders[:-1].copy(), moved)
        for step, (begin, end) in enumerate(pairwise(borders.tolist())):
            if begin < end:
                found[step][name] = moved[begin:end]
    both = [Momentary(backend.tables, rows) for rows in found]
    return list(zip(both[::2], both[1::2], strict=True))
