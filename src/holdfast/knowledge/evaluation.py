"""Compute everything that follows: the loop over hyper-nodes, for a program and for a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from holdfast.backends.abilities import arrange, given_facts, housekeeping, module_budget, relation_size, tuning
from holdfast.backends.protocol import Backend
from holdfast.backends.protocol import Engine as Factory
from holdfast.knowledge.engines import patience
from holdfast.knowledge.loading import LOADED, Loaded
from holdfast.maintenance import modular
from holdfast.maintenance.budget import work_of
from holdfast.maintenance.module_adapter import States
from holdfast.maintenance.seminaive import NodeFigures, materialise
from holdfast.maintenance.watch import Watch
from holdfast.modules import Allotment, Module, allot
from holdfast.plans import Planner
from holdfast.program.model import HyperNode, Program
from holdfast.quick_dataclass import dataclass

if TYPE_CHECKING:
    from holdfast.knowledge.derived_cache import Derived

_T = TypeVar("_T")


@dataclass(frozen=True)
class Statistics:
    """Statistics of a materialisation, for `kb.statistics`."""

    facts: int  # explicit
    derived: int
    rounds: int
    instances: int
    seconds: float
    memory: int  # bytes of facts, counters and indexes
    nodes: tuple[NodeFigures, ...]


@dataclass(frozen=True)
class Served:
    """The services of modules by hyper-node, and the states that they keep."""

    allotments: Mapping[int, Allotment]
    states: States


@dataclass(frozen=True)
class Evaluated:
    """An evaluated program, with its modules."""

    backend: Backend
    modules: tuple[Module, ...]
    states: States
    statistics: Statistics


def evaluate(
    nodes: Iterable[HyperNode],
    backend: Backend,
    watch: Watch,
    *,
    served: Served | None = None,
    enough: Mapping[str, int] | None = None,
) -> list[NodeFigures]:
    """Evaluate hyper-nodes, given in topological order.

    `enough` is the number of facts after which the hyper-nodes of some predicates deliberately stop early.
    """
    figures = list[NodeFigures]()
    for node in nodes:
        asked = tuning(backend).requests
        planner = Planner(node, backend.statistics)
        if served is not None and served.allotments[node.index].services:
            allotment = served.allotments[node.index]
            found = modular.materialise(planner, backend, watch, allotment, served.states)
        else:
            found = materialise(planner, backend, watch, enough)
        requests = tuning(backend).requests - asked
        if requests:
            work = work_of(found.work, found.instances, requests, tuning(backend))
            found = replace(found, work=work, requests=requests)
        figures.append(found)
    return figures


def evaluate_program(loaded: Loaded, make_backend: Factory, watch: Watch, modules: tuple[Module, ...]) -> Evaluated:
    """A backend with the facts of a program and everything that follows; without modules if they derive too much."""
    with suppress(modular.TooManyForModulesError):
        return _evaluated(loaded, make_backend, watch, modules)
    watch.facts = 0
    return _evaluated(loaded, make_backend, watch, ())


def _evaluated(loaded: Loaded, make_backend: Factory, watch: Watch, modules: tuple[Module, ...]) -> Evaluated:
    program, progress = loaded.program, watch.progress
    backend = make_backend(program.relations, loaded.dictionary, watch)
    arrange(backend, program)
    _put_facts(loaded, backend, watch)
    progress.started(len(program.nodes))
    if program.size_limits or len(backend.explicit) > module_budget(backend).most_for_modules:
        modules = ()  # modules skip the rounds that size limits depend on, and run in this process
    served = Served({node.index: allot(node, program.relations, modules) for node in program.nodes}, States())
    if any(allotment.services for allotment in served.allotments.values()):
        with patience(progress):
            import holdfast.modules.graph_kernels  # noqa: F401
    nodes = list(program.nodes)
    if loaded.derived is not None:
        nodes = _not_restored(loaded.derived, nodes, served, backend, watch)
    figures = evaluate(nodes, backend, watch, served=served, enough=program.size_limits)
    progress.finished()
    housekeeping(backend).tidy(backend.deleted)
    backend.commit()
    statistics = _statistics(program, backend, watch, figures, served.states)
    watch.rest(watch.facts)
    return Evaluated(backend, modules, served.states, statistics)


def _not_restored(
    derived: Derived, nodes: list[HyperNode], served: Served, backend: Backend, watch: Watch
) -> list[HyperNode]:
    """Restore derived facts from a cache; returns the hyper-nodes that must still be evaluated."""
    by_modules = [name for node in nodes if served.allotments[node.index].services for name in node.predicates]
    again = derived.restore(backend, by_modules, watch)
    return [node for node in nodes if not again.isdisjoint(node.predicates)]


def _put_facts(loaded: Loaded, backend: Backend, watch: Watch) -> None:
    """Load facts all at once if the backend prefers that or reads DataFrames, else relation by relation."""
    E = backend.explicit
    each = ((_only(name, loaded.rows), _only(name, loaded.frames)) for name in {**loaded.rows, **loaded.frames})
    is_whole = tuning(backend).is_elsewhere or loaded.frames
    for rows, frames in [(loaded.rows, loaded.frames)] if is_whole else each:
        given = given_facts(backend, rows, frames)[0].snapshot()
        E |= given
        watch.batch(len(given))
    watch.grown(LOADED, 0)


def _only(name: str, mapping: Mapping[str, _T]) -> Mapping[str, _T]:
    return {name: mapping[name]} if name in mapping else {}


def _statistics(
    program: Program, backend: Backend, watch: Watch, figures: list[NodeFigures], states: States
) -> Statistics:
    visible = [name for name, relation in program.relations.items() if not relation.auxiliary]
    given = backend.explicit.sizes()
    explicit = sum(given.get(name, 0) for name in visible)
    facts = sum(relation_size(backend, name) for name in visible)
    holding = explicit_sizes(program, backend)
    return Statistics(
        facts=explicit,
        derived=facts - sum(holding.get(name, 0) for name in visible),
        rounds=sum(node.rounds for node in figures),
        instances=sum(node.instances for node in figures),
        seconds=watch.seconds,
        memory=housekeeping(backend).nbytes + states.nbytes,
        nodes=tuple(figures),
    )


def explicit_sizes(program: Program, backend: Backend) -> dict[str, int]:
    """The number of explicit facts in each relation; in a limit relation, only those that are not dominated."""
    sizes = dict(backend.explicit.sizes())
    limited = sizes.keys() & {rule.predicate for rule in program.rules if rule.limit is not None}
    return sizes | {name: len(backend.explicit.of((name,)) & backend.materialisation) for name in limited}
