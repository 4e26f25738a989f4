"""Materialisation: semi-naive evaluation, one hyper-node after the other (ALGORITHMS.md, "Materialisation")."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from holdfast.backends.abilities import Ranking, tuning
from holdfast.backends.protocol import Backend, Facts
from holdfast.maintenance.late_rules import LateRules
from holdfast.maintenance.stratum import read_old
from holdfast.maintenance.watch import Stopwatch, Watch
from holdfast.plans import Planner, Read
from holdfast.program.impact import rule_key
from holdfast.program.model import Rule
from holdfast.program.show import shown_names
from holdfast.quick_dataclass import dataclass

_MANY, _TOGETHER = 10_000, 64  # instances and rounds, from which on ranks are no longer put off


@dataclass(frozen=True)
class NodeFigures:
    """The cost of evaluating one hyper-node."""

    predicates: tuple[str, ...]
    rounds: int
    instances: int
    facts: int
    seconds: float
    work: float = 0.0  # seconds, without time spent waiting
    modules: tuple[str, ...] = ()  # that derived facts instead of rules
    requests: int = 0  # messages or jobs, if others did the work


def materialise(
    planner: Planner, backend: Backend, watch: Watch, enough: Mapping[str, int] | None = None
) -> NodeFigures:
    """Derive everything that follows in one hyper-node, with its counters; earlier nodes are complete.

    `enough` gives the number of facts of some predicates at which their node is left incomplete on purpose.
    """
    if planner.node.limits:
        from holdfast.maintenance import limits

        return limits.materialise(planner, backend, watch, enough or {})
    stopwatch, facts, O = Stopwatch(), 0, planner.node.predicates
    wanted = {name: size for name, size in (enough or {}).items() if name in O}
    I, explicit = backend.materialisation, backend.explicit.of(O)  # E ∩ O
    shown = shown_names(O, backend.relations)
    watch.node(", ".join(shown))
    reported, reports = len(explicit), tuning(backend).reports_new_facts

    def take(Δ: Facts) -> bool:
        nonlocal facts, reported, I
        facts += len(Δ)
        watch.round(len(Δ))
        if not reports:
            watch.batch(len(Δ) - reported)
            reported = 0
        I |= Δ
        return not reached(I, wanted)

    instances = evaluate(planner, backend, I, I, explicit, take)
    return NodeFigures(shown, watch.rounds, instances, facts, stopwatch.seconds, stopwatch.work)


def evaluate(
    planner: Planner, backend: Backend, K: Facts, J: Facts, explicit: Facts, take: Callable[[Facts], bool]
) -> int:
    """Evaluate a hyper-node from scratch, with counters and ranks; returns the number of instances.

    `take` adds the facts of a round to K and returns whether to go on; J is K and the facts that the rules read from
    other hyper-nodes.
    """
    Cn, Cr = backend.nonrecursive, backend.recursive
    ranks = backend.ability(Ranking) if planner.node.is_recursive else None
    if ranks is not None:
        ranks.rank_anew(planner.node.predicates)
    N = backend.apply(planner.nonrecursive(), {Read.ALL: J, Read.ABSENT: J})  # Π_n⟦I⟧
    Cn.add(explicit)
    Cn.add(N)
    Δ, instances, turns = explicit | N.support(), len(N), _RankedTurns(planner, ranks)
    while Δ or turns.missed:
        if Δ:
            if not take(Δ):
                break
            Π_r = turns.now(Δ)
        else:
            Δ, Π_r = turns.late()
        plans = planner.recursive(Δ.sizes(), Π_r)
        sources = {Read.ALL: J, Read.DELTA: Δ, Read.ABSENT: J}
        if read_old(plans):
            sources[Read.OLD] = J - Δ
        N = backend.apply(plans, sources)  # Π_r⟦I : Δ⟧
        found = len(N)
        Δ = N.support() - K
        if found > len(Δ) or found > _MANY:  # facts that are there may gain derivations, which are not founded
            turns.rank()
        Cr.add(N)
        instances += found
    turns.rank()
    return instances


class _RankedTurns(LateRules):
    """Which rules see new facts at once; and the ranks of these facts."""

    def __init__(self, planner: Planner, ranks: Ranking | None) -> None:
        rules = planner.node.recursive
        super().__init__(planner, rules)
        self._ranks = ranks
        # The test for founded instances identifies rules by their content.
        self._may_wait = ranks is None or len({*map(rule_key, rules)}) == len(rules)
        self._since: dict[int, int] = {}  # the first rank that a rule missed
        self._unranked: list[Facts] = []  # of the last rounds, whose Cr is as it was then

    def rank(self) -> None:
        """The facts of the last rounds get their ranks and Cw, before Cr moves."""
        if self._ranks is not None and self._unranked:
            self._ranks.enter(*self._unranked)
        self._unranked = []

    def now(self, Δ: Facts) -> tuple[Rule, ...]:
        """The rules that see facts at once."""
        self._unranked.append(Δ)
        if len(self._unranked) > _TOGETHER:
            self.rank()
        rules = super().now(Δ) if self._may_wait else self._rules
        if self.missed and self._ranks is not None:
            self.rank()
            for place in self.missed:
                self._since.setdefault(place, self._ranks.rounds)
        return rules

    def late(self) -> tuple[Facts, tuple[Rule, ...]]:
        """The next waiting rule with the facts it missed."""
        place = next(iter(self.missed))
        if self._ranks is not None:
            self._ranks.defer_rule(self._late[place], self._since.pop(place), self._ranks.rounds)
        return super().late()


def reached(I: Facts, wanted: Mapping[str, int]) -> bool:
    """Whether some predicate has reached its wanted number of facts."""
    return any(len(I.of((name,))) >= size for name, size in wanted.items())
