"""Where facts are placed and where plans are cut, in golden texts; and rows by their owners."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.backends.parted.partition import (
    BINDINGS,
    AnyParted,
    PartedAggregate,
    Route,
    Segment,
    owner,
    owners,
    routed,
)
from holdfast.backends.parted.placement import Placement
from holdfast.backends.parted.primaries import primaries
from holdfast.language import parse
from holdfast.plans import AggregatePlan, Planner
from holdfast.plans.model import AntiJoin, AnyPlan, Join, Scan, Step
from holdfast.program import check
from holdfast.program.model import Program

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
NONLINEAR = CLOSURE.replace("edge(y, z)", "path(y, z)")
BLOCKED = """
.decl edge(x: number, y: number)
.decl off(x: number)
.decl any()
.decl open(x: number, y: number)
.decl lonely(x: number)
.decl pair(x: number, y: number)
any() :- off(_).
open(x, y) :- edge(x, y), !off(x), !off(y).
lonely(x) :- off(x), !edge(_, x).
lonely(x) :- off(x), !pair(_, _).
pair(x, y) :- off(x), off(y), any().
pair(x, 1) :- off(7), edge(7, x).
pair(1, 2) :- !off(3).
"""
GROUPS = """
.decl edge(x: number, y: number)
.decl degree(y: number, n: number)
.decl all(n: number)
degree(y, n) :- edge(_, y), n = count : { edge(_, y) }.
all(n) :- n = count : { edge(_, _) }.
"""


def program(text: str) -> Program:
    return check(parse(text, "<test>"))


def placement_of(checked: Program, parts: int = 4) -> Placement:
    placement = Placement(parts, lambda constant: int(constant.value))  # type: ignore[arg-type]
    placement.wanted = primaries(checked)
    for relation in checked.relations.values():
        placement.add(relation)
    return placement


def plans_of(checked: Program) -> list[AnyPlan]:
    plans: list[AnyPlan] = []
    for node in checked.nodes:
        planner = Planner(node)
        plans += [*planner.nonrecursive(), *planner.recursive(dict.fromkeys(node.predicates, 10))]
    return plans


def cut(text: str) -> list[str]:
    """Every plan of a program, for shards; copies exist once a plan reads them."""
    checked = program(text)
    placement, shown = placement_of(checked), []
    for plan in plans_of(checked):
        parted = placement.parted(plan)
        for _, table in parted.reads:
            name, column = table.rsplit("@", 1)
            placement.copies.setdefault(name, set()).add(int(column))
        shown.append(shown_plan(parted))
    return shown


def shown_plan(parted: AnyParted) -> str:
    if isinstance(parted, PartedAggregate):
        rule = parted.plan.rule
        return f"{rule.function} of {rule.source} by {rule.group} {shown_route(parted.route)}"
    where = "" if parted.is_everywhere else "on shard 0: "
    return where + " | ".join(map(shown_segment, parted.segments))


def shown_segment(segment: Segment) -> str:
    steps = ", ".join(map(shown_step, segment.plan.steps))
    outputs = zip(segment.plan.outputs, segment.routes, strict=True)
    emitted = [f"{'bindings' if name == BINDINGS else name} {shown_route(route)}" for (name, _), route in outputs]
    return f"{steps or 'nothing'} -> {', '.join(emitted)}"


def shown_route(route: Route) -> str:
    return route.kind if route.kind in ("here", "all") else f"{route.kind} {route.number}"


def shown_step(step: Step) -> str:
    match step:
        case Scan(atom=atom):
            return f"scan {atom.predicate}"
        case Join(atom=atom, key=key):
            return f"join {atom.predicate} {key}"
        case AntiJoin(atom=atom, key=key):
            return f"without {atom.predicate} {key}"
    return type(step).__name__.lower()


# --- golden texts ------------------------------------------------------------------------------------


def test_a_closure_has_one_exchange_a_round() -> None:
    assert primaries(program(CLOSURE)) == {"path": 1, "edge": 0}
    assert cut(CLOSURE) == ["scan edge -> path column 1", "scan path, join edge (0,) -> path column 1"]


def test_a_nonlinear_closure_reads_a_copy() -> None:
    assert cut(NONLINEAR) == [
        "scan edge -> path here",
        "scan path -> bindings column 1 | join path (0,) -> path column 0",
        "scan path, join path@1 (1,) -> path column 0",
    ]


def test_negation_products_and_constants() -> None:
    assert cut(BLOCKED) == [
        "scan off -> any one 0",
        "scan edge -> bindings column 0 | without off (0,) -> bindings column 1 | without off (0,) -> open here",
        "scan off -> bindings all | join off () -> bindings one 0 | join any () -> pair column 0",
        "scan off -> bindings one 2 | join edge@0 (0,) -> pair column 0",
        "on shard 0: nothing -> bindings one 0 | without off (0,) -> pair column 0",
        "scan off, without edge (1,) -> lonely here",
        "on shard 0: nothing -> bindings one 0 | without pair@-1 () -> bindings all | join off () -> lonely here",
    ]


def test_aggregates_have_whole_groups() -> None:
    assert cut(GROUPS) == [
        "count of edge by (1,) here",
        "scan edge, join degree.count1 (0,) -> degree here",
        "on shard 0: compute -> bindings all | join edge (), without degree.count1 (0,) -> degree here",
        "count of edge@-1 by () column 0",
        "scan all.count1 -> all here",
        "on shard 0: compute -> bindings one 0 | without all.count1@-1 () -> all column 0",
    ]


def test_on_one_shard_nothing_moves() -> None:
    checked = program(BLOCKED + NONLINEAR.replace(".decl edge(x: number, y: number)", ""))
    placement = placement_of(checked, parts=1)
    for plan in plans_of(checked):
        parted = placement.parted(plan)
        assert not parted.reads
        assert "here" in shown_plan(parted)
        assert isinstance(plan, AggregatePlan) or (parted.is_local and parted.segments[0].plan is plan)  # type: ignore


# --- owners ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 300])
def test_every_row_has_one_owner(parts: int) -> None:
    rows = np.random.default_rng(parts).integers(-(2**63), 2**63 - 1, (500, 3))
    for column in range(3):
        found = routed(rows, column, parts)
        assert len(found) == parts
        for part, some in enumerate(found):
            assert (owners(some[:, column], parts) == part).all()
            assert some.flags.c_contiguous
        assert sorted(map(tuple, np.concatenate(found).tolist())) == sorted(map(tuple, rows.tolist()))
    assert [len(some) for some in routed(rows, -1, parts)] == [500, *[0] * (parts - 1)]


def test_small_numbers_are_spread() -> None:
    """Consecutive numbers, as row ids and dictionary codes are, must not end up on few shards."""
    for parts in (2, 3, 4, 8):
        counts = np.bincount(owners(np.arange(10_000), parts).astype(np.int64), minlength=parts)
        assert counts.min() > 0.8 * 10_000 / parts


def test_one_owner_is_that_of_the_column() -> None:
    values = np.array([-5, 0, 1, 2**62, -(2**63)])
    assert [owner(value, 5) for value in values.tolist()] == owners(values, 5).tolist()


def test_what_is_routed_is_a_copy() -> None:
    rows = np.arange(6).reshape(3, 2)
    [only] = routed(rows, 0, 1)
    rows[:] = 0
    assert only.tolist() == [[0, 1], [2, 3], [4, 5]]
