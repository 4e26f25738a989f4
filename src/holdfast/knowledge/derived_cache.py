"""What follows from the facts of a snapshot, taken from a materialisation and put into one that has no facts yet.

What a module keeps is its own affair.  The facts that it derived are rows in the cache, and the module begins anew with
the first update that it serves.  Where that would be too many rows, only the explicit facts are in the cache, and the
hyper-node is evaluated again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.abilities import Ranking, SavedTable, Saving, relation_size, virtual_relations
from holdfast.backends.protocol import Backend
from holdfast.knowledge.materialisation import Materialisation
from holdfast.maintenance.budget import FullCost
from holdfast.maintenance.opened import note_rules
from holdfast.maintenance.watch import Watch
from holdfast.program.model import Program
from holdfast.quick_dataclass import dataclass
from holdfast.store.derived import CachedState
from holdfast.values.dictionary import Codes, Dictionary
from holdfast.values.saved_values import restore_values, saved_values

if TYPE_CHECKING:
    from holdfast.maintenance.maintainer import Maintainer


_FEW = 1 << 20  # facts that a module derived and that may become rows


class StaleCacheError(Exception):
    """A cache was made for another program or with other modules."""


@dataclass(frozen=True)
class Derived:
    """A cache that was read."""

    state: CachedState

    def given(self, program: Program, dictionary: Dictionary) -> dict[str, Codes]:
        """Fill an empty dictionary, and give the explicit facts of the predicates that are evaluated again."""
        if self.state.about["program"] != program_hash(program):
            raise StaleCacheError
        try:
            restore_values(dictionary, self.state.values)
        except ValueError as error:
            raise StaleCacheError from error
        return {name: self.state.arrays[f"{name}/given"] for name in self.state.about["again"]}

    def restore(self, backend: Backend, served: Iterable[str], watch: Watch) -> frozenset[str]:
        """Put everything else into a backend, if modules serve what they served then; gives what is evaluated again."""
        saving, about = backend.ability(Saving), self.state.about
        if saving is None or sorted(served) != about["served"]:
            raise StaleCacheError
        tables = {
            name: SavedTable(
                {kind: self.state.arrays[f"{name}/{kind}"] for kind in kinds},
                numbers,
                {kind: self.state.late[f"{name}/{kind}"] for kind in late},
            )
            for name, (kinds, late, numbers) in about["tables"].items()
        }
        saving.restore_saved(tables, about["rounds"])
        watch.batch(about["facts"])
        return frozenset(about["again"])

    def note(self, maintainer: Maintainer) -> None:
        """What the counters and ranks are worth, and what evaluating a hyper-node takes."""
        *unknown, ranked = self.state.about["ledger"]
        Cn, Cr, served = map(frozenset, unknown)
        maintainer.ledger.restore((Cn, Cr, served, {name: frozenset(others) for name, others in ranked.items()}, {}))
        costs = maintainer.chooser.costs
        known = {tuple(names): FullCost(*cost) for names, cost in self.state.about["costs"]}
        costs.restore({**costs.entries(), **known})
        note_rules(maintainer)


def cached_state(state: Materialisation) -> CachedState | None:
    """What a cache has of a materialisation, between two updates; None if the backend does not save its facts."""
    saving = state.backend.ability(Saving)
    if saving is None or state.program.size_limits:
        return None
    maintainer = state.maintainer
    maintainer.ledger.flush_deferred_counts()
    served = {name for plan in maintainer.nodes if plan.allotment.services for name in plan.predicates}
    again = _evaluated_again(state)
    tables = {name: saving.save(name) for name in state.program.relations if name not in again}
    arrays = {f"{name}/{kind}": array for name, saved in tables.items() for kind, array in saved.arrays.items()}
    late = {f"{name}/{kind}": read for name, saved in tables.items() for kind, read in saved.late.items()}
    given = {f"{name}/given": _explicit(state.backend, name) for name in again}
    ranks = state.backend.ability(Ranking)
    about = {
        "program": program_hash(state.program),
        "served": sorted(served),
        "again": sorted(again),
        "tables": {name: [list(saved.arrays), list(saved.late), dict(saved.numbers)] for name, saved in tables.items()},
        "rounds": 0 if ranks is None else ranks.rounds,
        "facts": int(sum(relation_size(state.backend, name) for name in tables)),
        "ledger": _ledger(maintainer, again, tables),
        "costs": [
            [list(names), [float(cost.instances), float(cost.seconds)]]
            for names, cost in maintainer.chooser.costs.entries().items()
            if again.isdisjoint(names)
        ],
    }
    return CachedState({**arrays, **given}, late, saved_values(state.dictionary), about)


def _evaluated_again(state: Materialisation) -> set[str]:
    """The predicates of hyper-nodes whose facts would be too many rows."""
    virtual = virtual_relations(state.backend).virtual
    rows = sum(state.backend.materialisation.sizes().values())
    many = {name for name, known in virtual.items() if known.size > max(_FEW, 2 * rows)}
    nodes = [plan.predicates for plan in state.maintainer.nodes]
    return {name for predicates in nodes if not many.isdisjoint(predicates) for name in predicates}


def _explicit(backend: Backend, name: str) -> NDArray[np.int64]:
    rows = backend.rows(name, backend.explicit)
    assert isinstance(rows, np.ndarray)
    return rows


def _ledger(maintainer: Maintainer, again: set[str], tables: Mapping[str, SavedTable]) -> list[Any]:
    """Which counters and ranks are right, without those that are computed again."""
    *unknown, ranked, late = maintainer.ledger.entries()
    behind = frozenset().union(*late)
    known = {
        name: sorted(others)
        for name, others in ranked.items()
        if name in tables and name not in behind and "rank" in tables[name].arrays
    }
    return [*(sorted(names - again) for names in unknown), known]


def program_hash(program: Program) -> str:
    """What tells checked programs apart: auxiliary relations of one may have other names in another."""
    relations = [(name, [type.value for type in relation.types]) for name, relation in program.relations.items()]
    return hashlib.sha256(repr((relations, program.rules, program.aggregates)).encode()).hexdigest()
