"""Ranks and Cw by their definition: what every hyper-node must have whose ranks the ledger calls right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from holdfast import KnowledgeBase
from holdfast.backends.abilities import Ranking, virtual_relations
from holdfast.backends.protocol import Backend
from holdfast.maintenance.maintainer import Maintainer
from holdfast.maintenance.node_plans import NodePlan
from holdfast.maintenance.watch import Watch
from holdfast.plans.instances import BodyPlanner
from holdfast.plans.model import Read
from holdfast.program.impact import rule_key

from ..backends.model import ModelBackend, ModelFacts, Row

Fact = tuple[str, Row]


def wrong_ranks(kb: KnowledgeBase) -> str | None:
    """What is wrong with the ranks that are said to be right; None where nothing is."""
    maintainer, backend = kb._maintainer, kb._backend
    maintainer.ledger.flush_deferred_counts()  # as every use of ranks does
    ranks = backend.ability(Ranking)
    plans = [plan for plan in maintainer.nodes if plan.node.is_recursive]
    plans = [plan for plan in plans if not plan.node.limits]  # tests/limits/ranks.py looks at those
    plans = [plan for plan in plans if maintainer.ledger.ranks_are_right(plan)]
    if ranks is None or not plans:
        return None
    model = _model(maintainer, backend)
    return next(filter(None, (_wrong(plan, model, ranks, backend) for plan in plans)), None)


def _wrong(plan: NodePlan, model: ModelBackend, ranks: Ranking, backend: Backend) -> str | None:
    rank, founded, nonrecursive = dict[Fact, int](), Counter[Fact](), Counter[Fact]()
    for name in plan.predicates:
        for row, one, number in zip(*ranks.ranks(name), strict=True):
            rank[name, tuple(row.tolist())], founded[name, tuple(row.tolist())] = one, number
        rows, Cn, _ = backend.derivations(name)
        nonrecursive.update({(name, tuple(row.tolist())): number for row, number in zip(rows, Cn, strict=True)})
    counted = Counter[Fact]()
    for key, head, *body in _instances(plan, model):
        counted[head] += _highest(ranks, key, [rank[fact] for fact in body]) < rank[head]
    for fact, one in rank.items():
        if not 0 < one <= ranks.rounds:
            return f"{fact} has the rank {one} of {ranks.rounds}"
        if founded[fact] != counted[fact]:
            return f"{fact} has {counted[fact]} founded derivations and Cw {founded[fact]}"
        if not (founded[fact] or nonrecursive[fact]):
            return f"{fact} has neither a founded nor a nonrecursive derivation"
    return None


def _highest(ranks: Ranking, key: object, body: list[int]) -> int:
    """The highest rank of a body, or the last one of those that its rule saw together."""
    highest, deferred = max(body), ranks.deferred  # type: ignore[attr-defined]
    return next((last for first, last in deferred.get(key, ()) if first <= highest <= last), highest)


def _instances(plan: NodePlan, model: ModelBackend) -> Iterator[tuple[object, *tuple[Fact, ...]]]:
    planner, facts_now = BodyPlanner(plan.node, model.statistics), model.materialisation
    for one in planner.whole(plan.node.recursive):
        emitted = model._emitted(one, {Read.ALL: facts_now, Read.ABSENT: facts_now})
        columns = [[(predicate, row) for row in rows] for predicate, rows in emitted]
        for facts in zip(*columns, strict=True):
            yield rule_key(one.rule), *facts


def _model(maintainer: Maintainer, backend: Backend) -> ModelBackend:
    """The same state on the model backend."""
    model = ModelBackend(backend.relations, backend.dictionary, Watch())
    for name in backend.relations:
        if name in virtual_relations(backend).virtual:
            virtual_relations(backend).materialise_rows((name,))
        held = backend.rows(name, backend.materialisation)
        rows = held if isinstance(held, np.ndarray) else held.codes()
        model.materialisation |= ModelFacts({name: frozenset(map(tuple, rows.tolist()))})
    return model
