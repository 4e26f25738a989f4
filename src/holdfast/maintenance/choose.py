"""Which algorithm a hyper-node gets: the one that was asked for, or by `auto` the one that its rules and what was
measured on it so far suggest."""

from __future__ import annotations

from dataclasses import field

from holdfast.backends.protocol import Backend
from holdfast.maintenance.algorithms import ALGORITHMS, AUTO, Algorithm, Choice, refuse_company, refuse_recursion
from holdfast.maintenance.node_plans import NodePlan
from holdfast.maintenance.stratum import Figures
from holdfast.plans import SizeStatistics
from holdfast.program.model import HyperNode
from holdfast.quick_dataclass import dataclass

DRED = "dred-counting"
PROOF = "backward-forward-counting"
RECOMPUTE = "recompute"

_WASTEFUL = 0.5  # of what was overdeleted came back: looking for proofs first may be cheaper
_HOPELESS = 0.98  # nearly all came back: looking for proofs first is nearly always cheaper
_CHEAP = 0.02  # seconds an update; a try that turns out badly then does not hurt
_MANY_GONE = 10_000  # facts, from which on it is worth a thought whether to recompute
_MANY = 64  # facts overdeleted, below which nothing is worth a thought
_CLEARLY = 0.8  # of the time: a difference worth a change of mind
_FORGETS = 0.7  # how much of the past remains in an average
_RECOUNT = 1e-6  # seconds a fact: B/F^c does not keep Cr, so going back to DRed^c counts all derivations anew
_HORIZON = 50  # updates over which that must pay


@dataclass
class _Record:
    """What is known of one hyper-node: the present algorithm, and seconds per changed fact of each one tried."""

    present: str = DRED
    why: str = "recursive, and overdeletion has been cheap so far"
    seconds: dict[str, float] = field(default_factory=dict)


class Chooser:
    """Remembers, for each recursive hyper-node, how DRed^c and B/F^c did."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, ...], _Record] = {}

    def forget(self) -> None:
        """Nothing is known of any hyper-node."""
        self._records = {}

    def chosen(self, plan: NodePlan, choice: Choice, backend: Backend) -> tuple[Algorithm, str]:
        """The algorithm for a hyper-node during an update, and why."""
        name, why = choice.named(plan.node), "asked for"
        if plan.removed and choice.strategy == "hyper-node":
            name, why = RECOMPUTE, "rules went, and the strategy is hyper-node"
        elif name == AUTO:
            name, why = self._best(plan, backend)
        algorithm = ALGORITHMS[name]
        if algorithm.nonrecursive_only:
            refuse_recursion(plan.node)
        if algorithm.by_module_alone and plan.allotment.alone is None:
            refuse_company(plan.node)
        goes_on = algorithm.by_module_alone and plan.state_reusable
        if plan.modules_changed and algorithm.needs_counts and not goes_on:
            return ALGORITHMS[RECOMPUTE], "the rules that modules serve have changed"
        return algorithm, why

    def _best(self, plan: NodePlan, backend: Backend) -> tuple[str, str]:
        alone = plan.allotment.alone
        if alone is not None:
            return "exact", f"{alone.module.name} serves all its recursive rules"
        name, why = self.choose(plan.node)
        if not plan.node.is_recursive and _mostly_gone(plan, backend):
            return RECOMPUTE, "most of what its rules read has gone: there is less to count anew than to take off"
        names = ", ".join(service.module.name for service in plan.allotment.services)
        return name, f"{why}; with {names}" if names else why

    def choose(self, node: HyperNode) -> tuple[str, str]:
        """The algorithm's name, and why."""
        if not node.is_recursive:
            return "counting", "no recursion: counting is exact and cheapest"
        record = self._records.setdefault(node.predicates, _Record())
        return record.present, record.why

    def learn(self, node: HyperNode, figures: Figures, statistics: SizeStatistics) -> None:
        """Take note of what an update took; only deletions tell the two apart."""
        record = self._records.get(node.predicates)
        if record is None or figures.algorithm != record.present or not figures.deletion:
            return
        seconds, past = figures.seconds / max(1, figures.given), record.seconds.get(record.present)
        record.seconds[record.present] = seconds if past is None else _FORGETS * past + (1 - _FORGETS) * seconds
        if record.present == DRED:
            self._perhaps_prove(record, figures)
        else:
            self._perhaps_return(record, figures, sum(map(statistics.size, node.predicates)))

    def _perhaps_prove(self, record: _Record, figures: Figures) -> None:
        came_back = figures.rederived / max(1, figures.overdeleted)
        if figures.overdeleted < _MANY or came_back < _WASTEFUL:
            return
        tried, now = record.seconds.get(PROOF), record.seconds[DRED]
        may_try = tried is None and (figures.seconds < _CHEAP or came_back > _HOPELESS)
        if may_try or (tried is not None and tried < _CLEARLY * now):
            record.present = PROOF
            record.why = f"an update overdeleted {figures.overdeleted:,} facts and {figures.rederived:,} came back"
            if tried is not None:
                record.why += f"; {_micro(tried)} a changed fact, DRed^c took {_micro(now)}"

    def _perhaps_return(self, record: _Record, figures: Figures, facts: float) -> None:
        now, before = record.seconds[PROOF], record.seconds[DRED]
        gain = (now - before) * max(1, figures.given) * _HORIZON
        if before < _CLEARLY * now and gain > facts * _RECOUNT:
            record.present = DRED
            record.why = f"{_micro(before)} a changed fact, B/F^c took {_micro(now)}"


def _mostly_gone(plan: NodePlan, backend: Backend) -> bool:
    gone = len(backend.deleted.of(plan.reads))
    return gone > _MANY_GONE and 2 * gone > len(backend.materialisation.of(plan.reads))


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"
