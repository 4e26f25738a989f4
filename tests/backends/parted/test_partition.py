"""Where facts are placed and where plans are cut, in golden texts; and rows by their owners."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from holdfast.backends.parted.partition import (
    BINDINGS,
    AnyParted,
    Copy,
    PartedAggregate,
    PartedPlan,
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


def placement_of(checked: Program, parts: int = 4, small: str = "", small_hubs: str = "") -> Placement:
    """Some relations are small, or have few facts with hubs."""
    placement = Placement(
        parts,
        lambda constant: int(constant.value),  # type: ignore[arg-type]
        lambda name: 0 if name in small.split() else np.inf,
        lambda name, _: 0 if name in small_hubs.split() else np.inf,
    )
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


def cut(text: str, hubs: Sequence[int] = (), small: str = "", small_hubs: str = "") -> list[str]:
    """Every plan of a program, for shards; copies exist once a plan reads them."""
    checked = program(text)
    placement, shown = placement_of(checked, small=small, small_hubs=small_hubs), []
    placement.hubs = np.array(hubs, np.int64)
    placement.spread = dict.fromkeys(checked.relations, placement.hubs)
    for plan in plans_of(checked):
        parted = placement.parted(plan)
        for _, copy in parted.reads:
            placement.copies.setdefault(copy.predicate, {})[copy.name] = copy
        shown.append(shown_plan(parted))
    return shown


def shown_plan(parted: AnyParted) -> str:
    if isinstance(parted, PartedAggregate):
        rule = parted.plan.rule
        return f"{rule.function} of {rule.source} by {rule.group} {shown_route(parted.route)}"
    assert isinstance(parted, PartedPlan)
    where = "" if parted.is_everywhere else "on shard 0: "
    return where + " | ".join(map(shown_segment, parted.segments))


def shown_segment(segment: Segment) -> str:
    steps = ", ".join(map(shown_step, segment.plan.steps))
    if segment.of_hubs is not None:
        steps += f" (of hubs {shown_step(segment.of_hubs.steps[0])})"
    outputs = zip(segment.plan.outputs, segment.routes, strict=True)
    emitted = [f"{'bindings' if name == BINDINGS else name} {shown_route(route)}" for (name, _), route in outputs]
    return f"{steps or 'nothing'} -> {', '.join(emitted)}"


def shown_route(route: Route) -> str:
    return route.kind if route.kind in ("here", "all") else f"{route.kind} {route.number}".replace("hubs", "hubs of")


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


def test_bindings_with_hubs_go_to_all_shards_or_meet_copies() -> None:
    """Facts with a hub in the column that places them may be on any shard."""
    assert cut(CLOSURE, hubs=[7]) == [
        "scan edge -> path column 1",
        "scan path -> bindings to hubs of 1 | join edge (0,) -> path column 1",
    ]
    assert cut(CLOSURE, hubs=[7], small_hubs="edge") == [
        "scan edge -> path column 1",
        "scan path -> bindings here | join edge (0,) (of hubs join edge@0+ (0,)) -> path column 1",
    ]


def test_negation_of_hubs_needs_all_facts_in_one_place() -> None:
    text = """
    .decl e(x: number, y: number) .decl p(x: number) .decl q(x: number)
    p(x) :- q(x), !e(x, _). q(7) :- !e(7, _).
    """
    assert cut(text, hubs=[7]) == [
        "on shard 0: nothing -> bindings one 2 | without e@0= (0,) -> q column 0",
        "scan q -> bindings column 0 | without e@0= (0,) -> p column 0",
    ]
    assert cut(text, hubs=[7], small_hubs="e") == [
        "on shard 0: nothing -> bindings one 2 | without e@0= (0,) -> q column 0",
        "scan q -> bindings here | without e (0,) (of hubs without e@0+ (0,)) -> p column 0",
    ]


def test_groups_of_hubs_are_whole() -> None:
    assert cut(GROUPS, hubs=[7])[0] == "count of edge@1= by (1,) column 0"


def test_small_relations_are_on_all_shards() -> None:
    assert cut(CLOSURE, small="edge") == cut(CLOSURE)  # the bindings are there already
    assert cut(CLOSURE, hubs=[7], small="edge")[1] == "scan path, join edge@* (0,) -> path column 1"
    assert cut(BLOCKED, small="off any pair")[1:3] == [
        "scan edge, without off@* (0,), without off (0,) -> open here",
        "scan off, join off@* (), join any@* () -> pair here",
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


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_facts_with_hubs_are_spread(parts: int) -> None:
    """Each fact has one owner, by its columns alone, and those of a hub are on all shards."""
    rows = np.stack([np.full(3_000, 5), np.arange(3_000), np.arange(3_000) % 11], axis=1)
    rows[::10, 0] = 6
    hubs = np.array([2, 5])
    found = routed(rows, 0, parts, hubs, slice(2))
    assert sorted(map(tuple, np.concatenate(found).tolist())) == sorted(map(tuple, rows.tolist()))
    assert all(np.count_nonzero(some[:, 0] == 5) > 0.8 * 2_700 / parts for some in found)
    assert [np.count_nonzero(some[:, 0] == 6) for some in found].count(0) == parts - 1
    places = {tuple(row[:2]): part for part, some in enumerate(found) for row in some.tolist()}
    for part, some in enumerate(routed(rows[::-1, :2], 0, parts, hubs)):
        assert all(places[tuple(row)] == part for row in some.tolist())


@pytest.mark.parametrize("kind", ["column", "whole", "all", "hubs"])
def test_copies_have_every_fact_where_it_is_looked_for(kind: str) -> None:
    rows, hubs = np.array([[n % 4, n] for n in range(40)]), np.array([1, 3])
    dealt = Copy("p", kind, 0).dealt(rows, 3, hubs)
    listed = [sorted(map(tuple, some.tolist())) for some in dealt]
    expected = sorted(map(tuple, rows.tolist()))
    if kind == "all":
        assert listed == [expected] * 3
    elif kind == "hubs":
        assert listed == [[row for row in expected if row[0] in (1, 3)]] * 3
    else:
        assert sorted(row for some in listed for row in some) == expected
        assert all(len({row[0] for row in some} & {1, 3}) == 2 for some in listed) == (kind == "column")


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
