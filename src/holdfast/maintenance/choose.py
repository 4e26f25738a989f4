"""Which algorithm a hyper-node gets: the one that was asked for, or by `auto` the one that its rules and what was
measured on it so far suggest."""

from __future__ import annotations

from dataclasses import field
from math import inf, sqrt

from holdfast.backends.abilities import Ranking
from holdfast.backends.protocol import Backend
from holdfast.maintenance.algorithms import (
    ALGORITHMS,
    AUTO,
    BY_RULES,
    LIMITS,
    LIMITS_ANEW,
    Algorithm,
    Choice,
    refuse_company,
    refuse_ranks,
    refuse_recursion,
)
from holdfast.maintenance.budget import FullCost, FullCosts
from holdfast.maintenance.node_plans import NodePlan
from holdfast.maintenance.rates import POWER, SINGLE_POWER, Rates, mixed
from holdfast.maintenance.rivals import Rivals, ServedUpdate
from holdfast.maintenance.stratum import Figures
from holdfast.plans import SizeStatistics
from holdfast.program.model import HyperNode
from holdfast.quick_dataclass import dataclass

DRED = "dred-counting"
RANKED = "dred-ranked"
PROOF = "backward-forward-counting"
RECOMPUTE = "recompute"
EXACT = "exact"
COUNTING, NO_RECURSION = "counting", "no recursion: counting is exact and cheapest"
DELETIONS, INSERTIONS, BOTH = "deletions", "insertions", "both"

_WASTEFUL = 0.5  # of what was overdeleted came back: looking for proofs first may be cheaper
_HOPELESS = 0.98  # nearly all came back: looking for proofs first is nearly always cheaper
_CHEAP = 0.02  # seconds an update; a try that turns out badly then does not hurt
_HARDLY = 0.002  # seconds that are not worth starting over
_WORTH = 0.05  # seconds that are not worth doing without DRed^v, which keeps most of what is there
_CERTAIN = 0.8  # of the seconds: what starting over takes is known, what DRed^w takes is guessed
MANY_GONE = 10_000  # facts, from which on it is worth a thought whether to recompute
_CREEPS = 1.1  # how fast the least that was measured may rise again
_MANY_INSTANCES = 1_000  # that show what one takes
_MANY = 64  # facts overdeleted, below which nothing is worth a thought
_CLEARLY = 0.8  # of the time: a difference worth a change of mind
_RECOUNT = 1e-6  # seconds a fact: B/F^c does not keep Cr, so going back to DRed^c counts all derivations anew
_DEARER = 1.5  # times as long for an instance as an evaluation: only then may inserting be worse than starting over
_WORSE = 1.5  # times as long as it took until it was abandoned
_ABOUT = 0.05  # of the facts: a difference that hardly changes what starting over takes
_SINGLE = 1.1  # derivations of a fact: where facts have no more, ranks keep none
_PLENTY = 1_000  # facts, overdeleted or in all, of which ranks would keep one if they kept any
_OFTEN = 2  # deletions that ranks were useless in, until they are done without
_HORIZON = 50  # updates over which that must pay


@dataclass(frozen=True)
class Request:
    """What is asked for, and what an update brings to a hyper-node."""

    choice: Choice
    deleted: int = 0  # facts, its own explicit ones and those it reads
    inserted: int = 0
    is_ranked: bool = False  # its ranks are right


@dataclass
class _Record:
    """What is known of one hyper-node: the present algorithm, and seconds per changed fact of each one tried."""

    present: str = DRED
    why: str = "recursive, and overdeletion has been cheap so far"
    seconds: dict[str, float] = field(default_factory=dict)
    tried: dict[tuple[str, str], Rates] = field(default_factory=dict)  # by the algorithm and the kind of update
    useless: int = 0  # deletions in a row in which ranks kept no fact; negative if they were missed
    needs_ranks: bool = True
    rivals: Rivals = field(default_factory=Rivals)  # where modules serve it
    inserted: dict[str, float] = field(default_factory=dict)  # seconds an instance that an algorithm inserts
    largest: tuple[int, FullCost] | None = None  # the most facts that its rules ever read, and the cost then

    def rates(self, algorithm: str, kind: str) -> Rates:
        """What is known of an algorithm."""
        return self.tried.setdefault((algorithm, kind), Rates())

    def power(self, algorithm: str, kind: str) -> float:
        """The power of the changed facts by which the seconds of an algorithm grow."""
        return SINGLE_POWER if algorithm == DRED and kind == DELETIONS and not self.needs_ranks else POWER

    def took(self, figures: Figures, algorithm: str, seconds: float) -> None:
        """An algorithm took so long."""
        algorithm = RECOMPUTE if figures.is_anew else algorithm
        kind = _kind(figures.deletes, figures.inserts)
        self.rates(algorithm, kind).took(figures.given, seconds)
        if kind == INSERTIONS and not figures.is_anew and figures.insertion >= _MANY_INSTANCES:
            each = seconds / figures.insertion
            known = self.inserted.get(algorithm, each)  # little inserted in many rounds shows what rounds take
            self.inserted[algorithm] = min(each, _CREEPS * known)

    def judge_ranks(self, figures: Figures) -> None:
        """Where facts have one derivation each, as in a chain or a tree, DRed^c overdeletes what goes, and ranks only
        cost; where most of what it overdeletes comes back, they are missed."""
        if figures.overdeleted + figures.kept_by_rank < _MANY or figures.is_anew:
            return
        if figures.algorithm == RANKED:
            shown = 1 if figures.overdeleted < _PLENTY else _OFTEN
            self.useless = self.useless + shown if not figures.kept_by_rank else min(self.useless, 0)
            self.needs_ranks = self.useless < _OFTEN
        elif figures.algorithm == DRED and not figures.inserts and 4 * figures.insertion > figures.deletion:
            self.miss_ranks()

    def miss_ranks(self) -> None:
        """DRed^c overdeletes too much; it is not tried again soon."""
        self.needs_ranks, self.useless = True, -8 * _OFTEN

    def visits_less(self, algorithm: str, full: FullCost) -> bool:
        """Whether an insertion by an algorithm takes less than starting over, however large it is.

        It visits no more instances than starting over does then; so it does if one of them takes about as long.
        """
        each = self.inserted.get(algorithm)
        return each is not None and each * full.instances <= _DEARER * full.seconds

    def note_size(self, facts: int, full: FullCost) -> None:
        """Its rules read so many facts now, and starting over takes so much."""
        if self.largest is None or facts >= self.largest[0]:
            self.largest = facts, full

    def largest_again(self, facts: int) -> FullCost | None:
        """The cost with the most facts that its rules ever read, if these are about as many."""
        if self.largest is None or abs(facts - self.largest[0]) > _ABOUT * self.largest[0]:
            return None
        return self.largest[1]

    def refills(self, algorithm: str, facts: int, inserted: int, full: FullCost) -> tuple[float, float] | None:
        """The seconds of an insertion and of starting over, if there are about as many facts then as there once were.

        What starting over takes then is known, and so is how many instances the insertion has to visit.
        """
        cost, each = self.largest_again(facts + inserted), self.inserted.get(algorithm)
        if each is None or cost is None or not inserted:
            return None
        return each * max(0.0, cost.instances - full.instances), cost.seconds

    def starting_over(self, kind: str, changed: int, full: float, facts: int | None = None) -> float:
        """The seconds that starting over should take after an update that leaves some facts, if it took so long before.

        After insertions it takes more; smaller updates of the kind tell how much at least.  After deletions it takes
        less, but what one leaves says little of what another leaves; something, where each fact has one derivation.
        To take it for too dear costs one try, which is abandoned; to take it for too cheap costs what a try would gain.
        """
        known = self.rates(RECOMPUTE, kind).up_to(changed) or full
        if kind == DELETIONS:
            return full if self.needs_ranks else sqrt(full * min(known, full))
        again = None if facts is None else self.largest_again(facts)
        return max(known, full, 0.0 if again is None else again.seconds)


class Chooser:
    """Remembers, for each recursive hyper-node, how the algorithms did, and what starting over takes."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, ...], _Record] = {}
        self.costs = FullCosts()

    def forget(self) -> None:
        """Nothing is known of any hyper-node."""
        self._records = {}
        self.costs.forget()

    def chosen(self, plan: NodePlan, request: Request, backend: Backend) -> tuple[Algorithm, str]:
        """The algorithm for a hyper-node during an update, and why."""
        choice = request.choice
        name, why = choice.named(plan.node), "chosen by the caller"
        if plan.node.limits:
            return (LIMITS_ANEW, why) if name == RECOMPUTE else self._limited(plan, request)
        if any(rule.limit is not None for rule in plan.removed.rules):
            return ALGORITHMS[RECOMPUTE], "min or max in its heads before"
        if plan.removed and choice.strategy == "hyper-node":
            name, why = RECOMPUTE, "rules were removed, and the strategy is hyper-node"
        elif name == AUTO:
            name, why = self._best(plan, request, backend)
        algorithm = BY_RULES.get(name, ALGORITHMS[name]) if self._by_rules(plan) else ALGORITHMS[name]
        if algorithm.nonrecursive_only:
            refuse_recursion(plan.node)
        if algorithm.needs_ranks and plan.node.is_recursive and backend.ability(Ranking) is None:
            refuse_ranks(plan.node)
        if algorithm.by_module_alone and plan.allotment.alone is None:
            refuse_company(plan.node)
        goes_on = algorithm.by_module_alone and plan.state_reusable
        if plan.modules_changed and algorithm.needs_counts and not goes_on:
            return ALGORITHMS[RECOMPUTE], "the rules that modules serve have changed"
        return algorithm, why

    def anew(self, plan: NodePlan) -> Algorithm:
        """How a hyper-node is recomputed."""
        if plan.node.limits:
            return LIMITS_ANEW
        return (BY_RULES if self._by_rules(plan) else ALGORITHMS)[RECOMPUTE]

    def open_by_rules(self, plan: NodePlan, why: str, module_seconds: float) -> None:
        """Rules maintain a hyper-node from the beginning; a module would take so long to begin."""
        rivals = self._records.setdefault(plan.node.predicates, _Record()).rivals
        rivals.by_rules, rivals.why, rivals.evaluation = True, why, module_seconds

    def _by_rules(self, plan: NodePlan) -> bool:
        """Whether the rules have taken the place of modules; if these change, the modules begin again."""
        if not plan.allotment.services:
            return False
        record = self._records.get(plan.node.predicates)
        return record is not None and record.rivals.by_rules and not plan.edited

    def _best(self, plan: NodePlan, request: Request, backend: Backend) -> tuple[str, str]:
        alone, services = plan.allotment.alone, plan.allotment.services
        if not plan.node.is_recursive and request.deleted > MANY_GONE and _mostly_gone(plan, backend):
            return RECOMPUTE, "most of the facts that its rules read were deleted, so recomputing is cheaper"
        if not services:
            is_ranked = plan.node.is_recursive and backend.ability(Ranking) is not None
            return self._ranked(plan, request, backend) if is_ranked else self.choose(plan.node)
        names = ", ".join(service.module.name for service in services)
        rivals = self._records.setdefault(plan.node.predicates, _Record()).rivals
        if self._by_rules(plan):
            name, why = self._ranked(plan, request, backend)
            return name, f"{why}; without {names}: {rivals.why}"
        name, why = self.choose(plan.node)
        name, why = (EXACT, f"{names} serves all its recursive rules") if alone else (name, f"{why}; with {names}")
        return name, f"{why} again: {rivals.why}" if rivals.changes else why

    def _ranked(self, plan: NodePlan, request: Request, backend: Backend) -> tuple[str, str]:
        """Without modules, on a backend with ranks: DRed^w, unless it is expected to take longer than starting over."""
        if plan.planner.cannot_circle(plan.kept.recursive):
            return DRED, "no fact of its recursion can support itself: counting derivations is exact"
        full = self.costs.of(plan.node.predicates)
        record = self._records.setdefault(plan.node.predicates, _Record(needs_ranks=not _is_single(plan, full)))
        if record.needs_ranks and not request.is_ranked and not request.deleted and not plan.edited:
            return PROOF, "insertions only, and its ranks are not known"
        kind, given = _kind(request.deleted > 0, request.inserted > 0), request.deleted + request.inserted
        name = RANKED if record.needs_ranks else DRED
        rates = record.rates(name, kind)
        expected = rates.expected(given, record.power(name, kind))
        anew, may_win, most = inf, False, _CERTAIN  # a try that takes longer than this is abandoned, and was in vain
        if full is not None:
            facts = len(backend.materialisation.of(plan.reads - plan.predicates))
            record.note_size(facts, full)
            anew = record.starting_over(kind, given, full.seconds, facts + request.inserted - request.deleted)
            may_win = not (kind == INSERTIONS and record.visits_less(name, full))
            known = record.refills(name, facts, request.inserted, full) if kind == INSERTIONS else None
            if known is not None:
                (expected, anew), may_win, most = known, True, 1.0
        if may_win and expected > _HARDLY + most * anew:
            rates.doubt(given)
            why = f"{given:,} changed facts should take {expected:.2f} s, starting over {anew:.2f} s"
            return RECOMPUTE, why
        if name == DRED:
            seen = "no fact was kept by its rank so far" if record.useless else "its facts have one derivation each"
            return DRED, f"recursive, and {seen}"
        return RANKED, "recursive: only facts without a founded derivation are deleted"

    def _limited(self, plan: NodePlan, request: Request) -> tuple[Algorithm, str]:
        """DRed^v, unless `auto` expects it to take longer than starting over."""
        why, full = "min or max in its heads", self.costs.of(plan.node.predicates)
        if request.choice.named(plan.node) != AUTO or full is None or not plan.node.is_recursive or not request.deleted:
            return LIMITS, why
        record = self._records.setdefault(plan.node.predicates, _Record())
        kind, given = _kind(request.deleted > 0, request.inserted > 0), request.deleted + request.inserted
        rates, anew = record.rates(LIMITS.name, kind), record.starting_over(kind, given, full.seconds)
        expected = rates.expected(given)
        if expected <= _WORTH + _CERTAIN * anew:
            return LIMITS, why
        rates.doubt(given)
        return LIMITS_ANEW, f"{why}; {given:,} changed facts should take {expected:.2f} s, starting over {anew:.2f} s"

    def choose(self, node: HyperNode) -> tuple[str, str]:
        """The algorithm's name, and why."""
        if not node.is_recursive:
            return COUNTING, NO_RECURSION
        record = self._records.setdefault(node.predicates, _Record())
        return record.present, record.why

    def learn(self, node: HyperNode, figures: Figures, statistics: SizeStatistics) -> None:
        """Take note of what an update took; only deletions tell algorithms apart."""
        if not node.limits or figures.is_anew:
            self.costs.maintained(node.predicates, figures)
        record = self._records.get(node.predicates)
        if record is not None:
            record.took(figures, figures.algorithm, figures.work - figures.work_abandoned)
            record.judge_ranks(figures)
        if record is None or figures.algorithm != record.present or not figures.deletion:
            return
        seconds = figures.work / max(1, figures.given)
        record.seconds[record.present] = mixed(record.seconds.get(record.present, seconds), seconds)
        if record.present == DRED:
            self._perhaps_prove(record, figures)
        else:
            self._perhaps_return(record, figures, sum(map(statistics.size, node.predicates)))

    def compare(self, plan: NodePlan, figures: Figures, backend: Backend) -> None:
        """Modules and the rules that they serve, by what an update by `auto` took: see `rivals.py`."""
        record, O = self._records.get(plan.node.predicates), plan.node.predicates
        is_price = figures.is_anew and figures.algorithm == RANKED  # of a change to rules: ranks are set
        if record is None or not plan.allotment.services or plan.edited or is_price or backend.ability(Ranking) is None:
            return
        D, A, rivals = backend.deleted, backend.added, record.rivals
        read = ((D - A) | (A - D)).of(plan.inputs - plan.predicates).sizes()
        removed, added = len((D - A).of(O)), len((A - D).of(O))
        kind = _kind(figures.deletes, figures.inserts)
        was_by_rules = rivals.by_rules
        rivals.note(plan, ServedUpdate(kind, figures.given, read, removed, added), figures.work)
        if rivals.by_rules and not was_by_rules:
            rivals.evaluation = rivals.evaluation or self.costs.taken(O)

    def gave_up(self, plan: NodePlan, algorithm: Algorithm, figures: Figures) -> None:
        """An algorithm was abandoned: it takes longer than that."""
        node = plan.node
        record = self._records.setdefault(node.predicates, _Record())
        kind = _kind(figures.deletes, figures.inserts)
        record.rates(algorithm.name, kind).abandoned(figures.given, figures.work, record.power(algorithm.name, kind))
        figures.algorithm = algorithm.name
        record.judge_ranks(figures)
        if algorithm.name == DRED and not record.needs_ranks:
            if not _is_single(plan, self.costs.of(node.predicates)):
                record.miss_ranks()
        elif record.present == algorithm.name:
            record.seconds[record.present] = _WORSE * figures.work / max(1, figures.given)
            record.present = PROOF if record.present == DRED else DRED
            record.why = f"{algorithm.name} took longer than starting over"

    def _perhaps_prove(self, record: _Record, figures: Figures) -> None:
        came_back = figures.rederived / max(1, figures.overdeleted)
        if figures.overdeleted < _MANY or came_back < _WASTEFUL:
            return
        tried, now = record.seconds.get(PROOF), record.seconds[DRED]
        may_try = tried is None and (figures.work < _CHEAP or came_back > _HOPELESS)
        if may_try or (tried is not None and tried < _CLEARLY * now):
            record.present = PROOF
            record.why = f"an update overdeleted {figures.overdeleted:,} facts and rederived {figures.rederived:,}"
            if tried is not None:
                record.why += f"; {_micro(tried)} a changed fact, DRed^c took {_micro(now)}"

    def _perhaps_return(self, record: _Record, figures: Figures, facts: float) -> None:
        now, before = record.seconds[PROOF], record.seconds[DRED]
        gain = (now - before) * max(1, figures.given) * _HORIZON
        if before < _CLEARLY * now and gain > facts * _RECOUNT:
            record.present = DRED
            record.why = f"{_micro(before)} a changed fact, B/F^c took {_micro(now)}"


def _is_single(plan: NodePlan, full: FullCost | None) -> bool:
    """Whether nearly all facts have one derivation, as those of a chain or a tree: then none can be kept by another."""
    facts = sum(map(plan.planner.statistics.size, plan.node.predicates))
    return full is not None and facts >= _PLENTY and full.instances <= _SINGLE * facts


def _mostly_gone(plan: NodePlan, backend: Backend) -> bool:
    gone = len(backend.deleted.of(plan.reads))
    return 2 * gone > len(backend.materialisation.of(plan.reads))


def _kind(deletes: bool, inserts: bool) -> str:
    """Of an update, by what it does to the facts that a hyper-node reads and has."""
    return BOTH if deletes and inserts else DELETIONS if deletes else INSERTIONS


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"
