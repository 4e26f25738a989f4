"""Several updates in one pass: each fact has a word with one bit for each state, and rules compute with words.

A Datalog program over words of k bits is k Datalog programs at once: the body of an instance holds where all of its
facts do (*and*, with negated facts inverted), and a fact where one of its instances does (*or*).  So one scan of what
changes in any state computes the states after k updates.  A fact that one update adds and a later one removes is
derived once and never deleted: its word has ones in the middle.

Nonrecursive derivations are counted for each state, as in Counting.  Recursive hyper-nodes are maintained as in DRed^c
(OVERDELETE, REDERIVE, INSERT; optimised-maintenance, Algorithm 2), all states in parallel, without Cr.  Where a module
serves all recursive rules (`module.py`), it steps from state to state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.facts import Momentary
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.memory.window.limits import best_in_each_state
from holdfast.backends.memory.window.module import ServedInWindow
from holdfast.backends.memory.window.versions import HeadWords, Versions, Words, by_or, with_changes
from holdfast.backends.protocol import Facts
from holdfast.maintenance.stratum import Figures
from holdfast.maintenance.watch import Watch
from holdfast.plans import Plan, Read
from holdfast.plans.instances import InstancePlanner
from holdfast.program.model import Atom, Negated, Rule
from holdfast.program.show import shown_names

Counts = NDArray[np.int32]
_BEFORE = 1  # the bit of the state before the updates, which the counters are of


@dataclass
class Explicit:
    """The explicit facts that change, with their words."""

    facts: HeadWords
    no_ops: list[int]  # of each update


def explicit_states(backend: MemoryBackend, updates: Sequence[tuple[Facts, Facts]], given: Sequence[int]) -> Explicit:
    """The effect of each update on E; `given` counts the facts of each update, duplicates included."""
    each = [facts for update in updates for facts in update]
    every = np.int64((2 << len(updates)) - 1)
    later = every & ~((np.int64(2) << np.arange(len(updates)).repeat(2)) - 1)
    found, effects = HeadWords(), np.zeros(len(updates), np.int64)
    for name in dict.fromkeys(name for facts in each for name in facts.sizes()):
        parts = [_ids(facts, name) for facts in each]
        ids = np.concatenate(parts)
        order, number = ids.argsort(kind="stable"), np.arange(len(parts), dtype=np.int32).repeat(list(map(len, parts)))
        some, words = np.empty(len(ids), np.int32), np.empty(len(ids), np.int64)
        state = backend.tables[name].status, backend.explicit.bit, every
        count = kernels.explicit_words(ids, order, number, later, *state, some, words, effects)
        if count:
            found[name] = some[:count], words[:count]
    return Explicit(found, [n - effect for n, effect in zip(given, effects.tolist(), strict=True)])


def _ids(facts: Facts, name: str) -> Ids:
    assert isinstance(facts, Momentary)
    return facts.ids(name)


@dataclass
class WindowStratum:
    """One hyper-node in all states of a window."""

    planner: InstancePlanner
    backend: MemoryBackend
    versions: Versions
    watch: Watch
    E: HeadWords
    figures: Figures = field(default_factory=Figures)
    counted: dict[str, tuple[Ids, Counts, Ids, Words]] = field(default_factory=dict)
    """The facts whose Cn may change, their Cn before, and the heads of the instances that are counted, with words."""
    served: ServedInWindow | None = None  # where a module serves all recursive rules

    def maintain(self) -> None:
        """Bring the hyper-node up to date in all states."""
        self.figures.predicates = shown_names(self.planner.node.predicates, self.backend.relations)
        node, I = self.planner.node, self.backend.materialisation
        read = {name for rule in (*node.nonrecursive, *node.recursive) for name in _atoms(rule)} - set(node.predicates)
        read |= {rule.source for rule in node.aggregates}
        self.P = self.versions.changed(read)  # changes of earlier hyper-nodes, read positively or negated
        self.figures.given = len(self.P) + sum(len(ids) for ids, _ in self.E.values())
        if node.limits:
            self._put(best_in_each_state(self))
            return
        base = self._counted()
        if self.served is not None:
            self.served.follow(base, self.versions, self.watch)
            return
        if not node.is_recursive:
            self._put(base)
            return
        overdeleted = self._overdelete(base)
        A = self.backend.added
        grown = [self._grow(base)]
        U = I | A
        if overdeleted:  # REDERIVE
            plans = self.planner.heads(node.recursive, overdeleted.sizes())
            found = self._met(plans, {Read.ALL: U, Read.DELTA: overdeleted, Read.ABSENT: I - self.P}, "backward")
            grown.append(self._grow(found))
        grown.append(self._grow(self._met(self._changed_plans(), self.sources(), "insertion")))  # INSERT
        Δ = _union(grown)
        while Δ:
            self.watch.round(len(Δ))
            plans = self.planner.recursive(Δ.sizes(), node.recursive)
            sources = {Read.ALL: U, Read.OLD: U - Δ, Read.DELTA: Δ, Read.ABSENT: I - self.P}
            Δ = self._grow(self._met(plans, sources, "insertion"))

    def put_counts(self, updates: int) -> None:
        """Set Cn to its value after this number of updates."""
        for name, (found, before, heads, words) in self.counted.items():
            kernels.recount(heads, words, _BEFORE, updates, found, before, self.backend.nonrecursive.of(name))

    # --- nonrecursive derivations ------------------------------------------------------------------------

    def _counted(self) -> HeadWords:
        """The facts whose nonrecursive derivations change, with the states in which they have one."""
        versions, node = self.versions, self.planner.node
        plans = self.planner.changed(node.nonrecursive, self.P.sizes(), self.P.sizes())
        met = versions.instances(plans, self.sources()) if plans else []
        for rule in node.aggregates:
            if len(self.P.ids(rule.source)):
                met += versions.aggregated(rule, self.P)
        self.figures.insertion += sum(len(ids) for _, ids, _ in met)
        met += [(name, ids, words) for name, (ids, words) in self.E.items()]
        heads = {}
        for name in {name for name, _, _ in met}:
            ids, words = [i for n, i, _ in met if n == name], [w for n, _, w in met if n == name]
            heads[name] = self._count(name, np.concatenate(ids), np.concatenate(words))
        return heads

    def _count(self, name: str, heads: Ids, words: Words) -> tuple[Ids, Words]:
        """The states in which Cn is positive: its old value, minus the instances that held then, plus those that
        hold."""
        order, scratch = heads.argsort(), np.empty(self.versions.last + 1, np.int64)
        counters, found, held = self.backend.nonrecursive.of(name), np.empty_like(heads), np.empty_like(words)
        number = kernels.count_words(heads, order, words, counters, _BEFORE, scratch, found, held)
        self.counted[name] = found[:number], counters[found[:number]], heads, words
        return found[:number], held[:number]

    def _put(self, heads: HeadWords) -> None:
        for name, (ids, words) in heads.items():
            self._come(name, self.versions.put(name, ids, words))

    # --- recursive derivations ---------------------------------------------------------------------------

    def _overdelete(self, base: HeadWords) -> Momentary:
        """OVERDELETE: remove from a fact's word the states in which it may have lost its support."""
        versions, I, node = self.versions, self.backend.materialisation, self.planner.node
        lost = {
            name: (ids, np.where(words & 1, versions.every & ~words, np.int64(0)))
            for name, (ids, words) in base.items()
        }
        overdeleted = [self._lose(lost, base)]
        first = self._changed_plans()
        sources = {**self.sources(), Read.ALL: I, Read.OLD: I - self.P}
        Δ = _union([*overdeleted, self._lose(self._losses(first, sources), base)])
        overdeleted.append(Δ)
        while Δ:
            self.figures.overdeleted += len(Δ)
            plans = self.planner.recursive(Δ.sizes(), node.recursive)
            sources = {Read.ALL: I, Read.OLD: I - Δ, Read.DELTA: Δ, Read.ABSENT: I - self.P}
            Δ = self._lose(self._losses(plans, sources), base)
            overdeleted.append(Δ)
        return _union(overdeleted)

    def _losses(self, plans: Sequence[Plan], sources: Mapping[Read, Facts]) -> HeadWords:
        """Heads of instances that held at first, with the states in which they no longer do."""
        found = []
        for name, ids, words in self.versions.instances(plans, sources) if plans else ():
            self.figures.deletion += len(ids)
            lost = np.where(words & 1, self.versions.every & ~words, np.int64(0))
            some = lost != 0
            found.append((name, ids[some], lost[some]))
        return by_or(found)

    def _lose(self, lost: HeadWords, base: HeadWords) -> Momentary:
        """Remove states from words unless a nonrecursive derivation holds there; returns the facts that lost one."""
        result = {}
        for name, (ids, words) in lost.items():
            held = self.versions.of(name, ids)
            removed = held & words & ~self._supported(name, ids, base)
            some = removed != 0
            self.versions.put(name, ids[some], held[some] & ~removed[some])
            result[name] = ids[some]
        return _some(self.backend, result)

    def _supported(self, name: str, ids: Ids, base: HeadWords) -> Words:
        """The states in which facts have nonrecursive derivations."""
        words = np.where(self.backend.nonrecursive.of(name)[ids] > 0, self.versions.every, np.int64(0))
        if name in base:
            words = with_changes(words, ids, *base[name])
        return words

    def _changed_plans(self) -> tuple[Plan, ...]:
        return self.planner.changed(self.planner.node.recursive, self.P.sizes(), self.P.sizes())

    def sources(self) -> dict[Read, Facts]:
        """Π⟦… : P, P⟧ over all facts that hold in some state; facts that always hold are never absent."""
        I, P = self.backend.materialisation, self.P
        U = I | self.backend.added
        return {
            Read.ALL: U,
            Read.OLD: U - P,
            Read.DELTA: P,
            Read.ABSENT: I - P,
            Read.ABSENT_OLD: U,
            Read.ABSENT_DELTA: P,
        }

    def _met(self, plans: Sequence[Plan], sources: Mapping[Read, Facts], phase: str) -> HeadWords:
        """Heads of instances, with the states in which they hold."""
        met = self.versions.instances(plans, sources) if plans else []
        setattr(self.figures, phase, getattr(self.figures, phase) + sum(len(ids) for _, ids, _ in met))
        return by_or(met)

    def _grow(self, heads: HeadWords) -> Momentary:
        """Add states to words; returns the facts that gained a state."""
        result = {}
        for name, (ids, words) in heads.items():
            held = self.versions.of(name, ids)
            some = (words & ~held) != 0
            self._come(name, ids[some])
            self.versions.put(name, ids[some], (held | words)[some])
            result[name] = ids[some]
        return _some(self.backend, result)

    def _come(self, name: str, ids: Ids) -> None:
        """Make facts that hold in some state readable."""
        self.backend.added.enter(name, self.backend.materialisation.passing(name, ids, False))


def _atoms(rule: Rule) -> set[str]:
    return {literal.predicate for literal in rule.body if isinstance(literal, Atom | Negated)}


def _union(sets: Sequence[Momentary]) -> Momentary:
    result = sets[0]
    for more in sets[1:]:
        result = (result | more).snapshot()
    return result


def _some(backend: MemoryBackend, rows: Mapping[str, Ids]) -> Momentary:
    return Momentary(backend.tables, {name: ids for name, ids in rows.items() if len(ids)})
