"""The transaction around an update: it ends with a commit, or is rolled back without a trace.

Single updates and the updates of a window have the same commit point, `Transactions.commit`.  Until then E and I do not
change; D, A, the counters, the states of modules, the ledger and the known costs hold the update's changes, and
`roll_back` undoes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from holdfast.backends.abilities import Ranking, housekeeping, packings, virtual_relations
from holdfast.backends.protocol import Backend, Counters, Facts, KeptFacts
from holdfast.maintenance.budget import FullCosts
from holdfast.maintenance.commit import CommitStep, commit
from holdfast.maintenance.ledger import Ledger
from holdfast.maintenance.marking import Marking
from holdfast.maintenance.module_adapter import States
from holdfast.maintenance.stratum import Figures
from holdfast.maintenance.windows import Move
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class Outcome:
    """The effect of an update: the facts it removed and added, net, and the cost of each hyper-node."""

    removed: Facts
    added: Facts
    figures: tuple[Figures, ...]
    explicit: Move  # the facts that E loses and gains


class Transactions:
    """The transactions of one materialisation, one at a time; `version` identifies its states."""

    def __init__(self, backend: Backend, states: States, ledger: Ledger, costs: FullCosts) -> None:
        self.backend, self.states, self.ledger, self.costs = backend, states, ledger, costs
        self._virtual = virtual_relations(backend)
        self._version = 0
        ranks = backend.ability(Ranking)
        self._counters: tuple[Counters, ...] = (backend.nonrecursive, backend.recursive)
        if ranks is not None:
            self._counters += (ranks.founded,)
        self._before = ledger.entries(), costs.entries()
        self._marks: Marking | None = None

    @property
    def version(self) -> tuple[int, int]:
        """A value that changes whenever facts, rules or row ids change."""
        return self._version, packings(self.backend)

    def bump_version(self) -> None:
        """Note that the state has changed."""
        self._version += 1

    def begin(self, marks: Marking | None = None) -> None:
        """Begin a transaction: from now on the counters record their changes; `marks` are made for the next update."""
        self.ledger.flush_deferred_counts()
        self.ledger.restart_ranks()
        self._before, self._marks = (self.ledger.entries(), self.costs.entries()), marks
        for counters in self._counters:
            counters.remembers = True
        if marks is not None:
            marks.begin(self.version)

    def commit(
        self, moves: Sequence[tuple[Move, Move]], *, first: Sequence[CommitStep] = (), then: Sequence[CommitStep] = ()
    ) -> None:
        """Change E and I, by the moves of one update or of several, and make the new states of modules valid, with
        other steps before and after that."""
        steps = [*first, *self._commit_facts(moves), self._finish, self.bump_version, *then]
        commit(self.backend, [*steps, self._end_marks])

    def roll_back(self) -> None:
        """Undo everything since `begin`."""
        if self._marks is not None:
            self._marks.forget()
            self._marks = None
        for counters in self._counters:
            counters.roll_back()
        self.states.roll_back()
        entries, costs = self._before
        self.ledger.restore(entries)
        self.costs.restore(costs)
        self.backend.restore()
        self._finish()

    def recover(self) -> None:
        """Recover after an interrupt at an unknown point: roll back, unless it was committed.  Counters are unknown."""
        self.backend.mend()
        self._finish()
        self.states.roll_back()
        self.ledger.lose_all(self.backend.relations)
        housekeeping(self.backend).reclaim()

    def _commit_facts(self, moves: Sequence[tuple[Move, Move]]) -> list[CommitStep]:
        sizes = {name: known.size for name, known in self._virtual.virtual.items()}
        for _, (removed, added) in moves if sizes else ():
            gone, come = removed.sizes(), added.sizes()
            sizes = {name: size + come.get(name, 0) - gone.get(name, 0) for name, size in sizes.items()}
        return [
            partial(_move, self.backend.explicit, [explicit for explicit, _ in moves]),
            partial(_move, self.backend.materialisation, [facts for _, facts in moves]),
            self.backend.commit,
            partial(self._resize, sizes),
            self.states.commit,
        ]

    def _resize(self, sizes: Mapping[str, int]) -> None:
        for name, size in sizes.items():
            self._virtual.virtual[name].size = size

    def _finish(self) -> None:
        backend = self.backend
        for kept in (backend.deleted, backend.added, backend.checked, backend.proved, backend.delayed):
            kept.clear()
        for counters in self._counters:
            counters.clear_undo()
            counters.remembers = False

    def _end_marks(self) -> None:
        if self._marks is not None:
            self._marks.end(self.version)
            self._marks = None


def _move(kept: KeptFacts, moves: Sequence[Move]) -> None:
    for removed, added in moves:
        kept -= removed
        kept |= added
