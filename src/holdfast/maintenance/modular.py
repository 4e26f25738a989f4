"""Maintenance with modules: DRed^c-Mod (modular-materialisation, Algorithms 2 and 3, with ALGORITHMS.md's fixes), and
exact maintenance where one module has a hyper-node to itself.

The generic module is semi-naive evaluation of the rules that no other module serves, with Cr.  It goes one step in
each round and is given all of Δ, its own facts too; that comes to the same as closing its facts and giving it only
what others found.  Here s.kept, s.added and s.removed have its rules only; rules that modules serve neither come nor
go during an update (see `choose.py`).  Diff is not needed: what a module serves in a hyper-node with other
recursive rules reads no other relation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence, Sized
from functools import partial, reduce
from operator import or_

from holdfast.backends.abilities import VirtualRelations, module_budget, relation_size, tuning, virtual_relations
from holdfast.backends.protocol import Backend, Facts, KeptFacts
from holdfast.maintenance import dred_counting
from holdfast.maintenance.few_sources import FewSources
from holdfast.maintenance.module_adapter import ModuleAdapter, States
from holdfast.maintenance.seminaive import NodeFigures
from holdfast.maintenance.stratum import Stratum
from holdfast.maintenance.watch import Stopwatch, Watch
from holdfast.modules import Allotment, Rows
from holdfast.plans import Planner, Read
from holdfast.program.model import Rule
from holdfast.program.patterns import Slice
from holdfast.program.show import shown_names


class TooManyForModulesError(Exception):
    """Modules would derive more facts than the backend lets them."""


def refuse_explicit(backend: Backend, allotments: Iterable[Allotment], E_minus: Facts, E_plus: Facts) -> None:
    """Modules give up if an update leaves more explicit facts than the backend lets them serve."""
    most, E = module_budget(backend).most_for_modules, backend.explicit
    is_limited = most < math.inf and any(allotment.services for allotment in allotments)
    if is_limited and len(E) - len(E_minus) + len(E_plus) > most:
        raise TooManyForModulesError


# --- Algorithm 2 ---------------------------------------------------------------------------------------


def materialise(planner: Planner, backend: Backend, watch: Watch, allotment: Allotment, states: States) -> NodeFigures:
    """MAT-MOD for one hyper-node; earlier ones are complete.

    What a module has to itself stays virtual where the backend allows that and the module's state says it all.
    """
    virtual_relations(backend).materialise_rows(
        slice_.predicate for service in allotment.services for slice_ in service.reads
    )
    stopwatch, I, O = Stopwatch(), backend.materialisation, planner.node.predicates
    shown = shown_names(O, backend.relations)
    watch.node(", ".join(shown))
    evaluation = Evaluation(planner, backend, watch, allotment.generic, I, I, backend.ability(VirtualRelations))
    evaluation.most_derived = module_budget(backend).most_by_modules
    served = [ModuleAdapter(service, backend) for service in allotment.services]
    evaluation.few = FewSources(planner, backend, watch, served[0])
    evaluation.run(backend.explicit.of(O), served, allotment.alone is not None, states)
    states.commit()
    seconds = stopwatch.seconds, stopwatch.work
    modules = tuple(dict.fromkeys(service.module.name for service in allotment.services))
    return NodeFigures(shown, watch.rounds, evaluation.instances, evaluation.facts, *seconds, modules)


class Evaluation:
    """A hyper-node from scratch: its facts come into K, and J is K and what the node reads elsewhere."""

    def __init__(
        self,
        planner: Planner,
        backend: Backend,
        watch: Watch,
        generic: Sequence[Rule],
        K: KeptFacts,
        J: Facts,
        virtual: VirtualRelations | None = None,
    ) -> None:
        self.planner, self.backend, self.watch, self.virtual = planner, backend, watch, virtual
        self.generic, self.K, self.J = generic, K, J
        self.instances = self.facts = 0
        self.most_derived = math.inf  # by modules
        self.few: FewSources | None = None  # if rules may take the place of modules

    def run(self, explicit: Facts, served: Sequence[ModuleAdapter], alone: bool, states: States) -> None:
        """Lines 9 to 15; a module that is alone closes the first facts by itself."""
        backend, J = self.backend, self.J
        N = backend.apply(self.planner.nonrecursive(), {Read.ALL: J, Read.ABSENT: J})
        backend.nonrecursive.add(explicit)
        backend.nonrecursive.add(N)
        self.instances += len(N)
        Δ = explicit | N.support()
        if not tuning(backend).reports_new_facts:
            self.watch.batch(len(Δ) - len(explicit))
        if self.few is not None and (why := self.few.close(Δ) if alone else self.few.close_beside(Δ)):
            self.instances, self.facts = self.instances + self.few.instances, self.few.facts
            states.by_rules[self.planner.node.predicates[0]] = why
        elif alone:
            self._close(Δ, served[0], states)
        else:
            self._loop(Δ, served)

    def _loop(self, Δ: Facts, served: Sequence[ModuleAdapter]) -> None:
        backend, K, J = self.backend, self.K, self.J
        while Δ:
            self._take(Δ)  # line 12
            plans = self.planner.recursive(Δ.sizes(), self.generic)
            N = backend.apply(plans, {Read.ALL: J, Read.OLD: J - Δ, Read.DELTA: Δ, Read.ABSENT: J})
            backend.recursive.add(N)
            self.instances += len(N)
            found = N.support() - K
            Δ = reduce(or_, (module.add(J, Δ) for module in served), found)  # lines 13 to 15
            self._bear(len(Δ) - len(found))
            self.watch.batch(len(Δ) - (len(found) if tuning(backend).reports_new_facts else 0))

    def _close(self, Δ: Facts, module: ModuleAdapter, states: States) -> None:
        K = self.K
        self._take(Δ)
        slice_, algorithm = module.service.slice, module.service.module
        parts, state = algorithm.start(module.service, Beginning(module, Δ, self.J))
        states.put(module.service, state)
        if algorithm.tells_all and self.most_derived < math.inf:
            for counted in algorithm.sizes(state):
                self._bear(counted)
        if self.virtual is not None and algorithm.tells_all and not slice_.fixed:
            size = 0
            self.watch.batch(-len(Δ))  # they are counted with the others
            for counted in algorithm.sizes(state):
                self.watch.batch(counted)
                size += counted
            self.watch.grown(f"{module.predicate} of {algorithm.name}", algorithm.nbytes(state))
            self.facts = size
            self.virtual.defer(module.predicate, size, partial(states.compact, slice_))
            return
        for part in parts:
            new = module.facts(part) - K
            self.watch.batch(len(new))
            self.facts += len(new)
            K |= new
        self.watch.grown(f"{module.predicate} of {algorithm.name}", algorithm.nbytes(state))

    def _bear(self, derived: int) -> None:
        self.most_derived -= derived
        if self.most_derived < 0:
            raise TooManyForModulesError

    def _take(self, Δ: Facts) -> None:
        K = self.K
        self.facts += len(Δ)
        self.watch.round(len(Δ))
        K |= Δ


class Beginning:
    """The context of a module before there is anything: all external facts come, and all that it reads."""

    def __init__(self, module: ModuleAdapter, external: Facts, J: Facts) -> None:
        self.module, self.external, self.J = module, external, J

    def before(self) -> Rows:
        """None."""
        return self.gained()[:0]

    def lost(self) -> Rows:
        """None."""
        return self.gained()[:0]

    def gained(self) -> Rows:
        """All."""
        return self.module.rows(self.external)

    def read(self, slice: Slice, when: str) -> Rows:
        """All of them come."""
        rows = self.module.rows(self.J, slice)
        return rows if when == "added" else rows[:0]


# --- Algorithm 3 ---------------------------------------------------------------------------------------


def maintain(s: Stratum) -> None:
    """DRed^c-Mod: bring one hyper-node up to date; D, A, Cn and the generic module's Cr are."""
    overdelete(s)
    R = rederive(s)
    dred_counting.insert(s, R, modules=adding(s))


def overdelete(s: Stratum) -> None:
    """OVERDELETE.  A module is asked before Cr moves: what was external then is, or is in Δ, or was in an earlier Δ."""
    I, D, A = s.I, s.D, s.A
    N = dred_counting.first_deletions(s)  # lines 22 to 25
    while Δ := s.Cn.zero(N - D):
        own = [module.delete(I - (D - A), Δ) for module in s.served]  # line 28
        instances = s.recursive_heads(s.kept.recursive, I - (D - A), I | A, Δ)
        s.Cr.subtract(instances)
        s.delete(Δ)
        N = reduce(or_, own, instances.support())  # line 30


def rederive(s: Stratum) -> Facts:
    """What follows from facts that are left: by a look at Cr, and by what modules say (lines 33 to 35)."""
    J = (s.I - s.D) | s.A
    overdeleted = s.of_node(s.D)
    R = dred_counting.rederive(s)
    for module in s.served:
        R = R | module.rederive(J, overdeleted)
    return R


def adding(s: Stratum) -> Callable[[Facts], Facts]:
    """What modules make of the facts that came in a round (line 39)."""

    bear = _bearing(s)

    def add(Δ: Facts) -> Facts:
        J = (s.I - s.D) | s.A
        s.watch.batch(0)
        found = reduce(or_, (module.add(J, Δ) for module in s.served))
        bear(found)
        return found

    return add


def _bearing(s: Stratum) -> Callable[..., None]:
    """Counts the facts that modules add and remove; modules give up when they exceed what they may derive."""
    left = module_budget(s.backend).most_by_modules
    if left == math.inf:
        return lambda added, removed=(): None
    left += len(s.of_node(s.D)) - sum(relation_size(s.backend, name) for name in s.O)

    def bear(added: Sized, removed: Sized = ()) -> None:
        nonlocal left
        left += len(removed) - len(added)
        if left < 0:
            raise TooManyForModulesError

    return bear


# --- beyond the paper ----------------------------------------------------------------------------------


def exact(s: Stratum) -> None:
    """A module that is alone says what exactly a change of external facts does; nothing is overdeleted."""
    module, D, A = s.served[0], s.D, s.A
    lost = s.Cn.zero(dred_counting.first_deletions(s))
    s.begin_insertion()
    nonrecursive, _ = dred_counting.first_insertions(s)
    N = reduce(or_, (bag.support() for bag in nonrecursive), s.E_plus)
    gained = s.Cn.zero(N)
    s.Cn.add(s.E_plus)
    for bag in nonrecursive:
        s.Cn.add(bag)
    context = During(s, module, lost - gained, gained - lost)
    changed = module.service.module.change(module.service, s.states.get(module.service.slice), context)
    s.states.put(module.service, changed.state)
    s.watch.round(len(context.facts_gained))
    bear = _bearing(s)
    for removed, added in changed.parts:
        bear(added, removed)
        s.delete(module.facts(removed))
        A |= module.facts(added)
        s.watch.batch(len(added))
    s.watch.grown(f"{module.predicate} of {module.service.module.name}", module.service.module.nbytes(changed.state))
    if module.service.slice.fixed:  # facts beside the slice are their own only support
        beside = (
            (context.facts_lost | context.facts_gained) - module.facts(context.lost()) - module.facts(context.gained())
        )
        D |= beside & context.facts_lost
        A |= beside & context.facts_gained


class During:
    """The context of a module during an update."""

    def __init__(self, s: Stratum, module: ModuleAdapter, lost: Facts, gained: Facts) -> None:
        self.s, self.module = s, module
        self.facts_lost, self.facts_gained = lost, gained

    def before(self) -> Rows:
        """The counters have moved: what was external is, unless it came, or went."""
        now = self.module.external(self.s.I) - self.facts_gained
        return self.module.rows(now | self.facts_lost)

    def lost(self) -> Rows:
        """Facts whose Cn has become 0."""
        return self.module.rows(self.facts_lost)

    def gained(self) -> Rows:
        """Facts whose Cn is no longer 0."""
        return self.module.rows(self.facts_gained)

    def read(self, slice: Slice, when: str) -> Rows:
        """Facts of an earlier hyper-node."""
        facts = {"before": self.s.I, "removed": self.s.removed_inputs, "added": self.s.added_inputs}[when]
        return self.module.rows(facts, slice)


def recompute(s: Stratum) -> None:
    """The hyper-node's facts anew, then the difference to the old; counters included."""
    I, D, A, new = s.I, s.D, s.A, s.backend.proved
    J = s.backend.elsewhere(s.O, new, (I - D) | A)
    s.Cn.forget(s.O)
    s.Cr.forget(s.O)
    explicit = (s.of_node(s.E) - s.E_minus) | s.E_plus
    backend = s.served[0].backend
    evaluation = Evaluation(s.planner, backend, s.watch, (*s.kept.recursive, *s.added.recursive), new, J)
    evaluation.most_derived = module_budget(backend).most_by_modules
    evaluation.run(explicit, s.served, s.served[0].service.alone, s.states)
    s.count(evaluation.instances, "insertion")
    old = s.of_node(I)
    D |= old - new
    A |= s.of_node(new) - I
    new.clear()
