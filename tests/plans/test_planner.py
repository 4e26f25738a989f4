"""Join orders and steps: permutations all, sound whatever the rule, and literals that may fail wait for the others."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import EvaluationError
from holdfast.language import parse
from holdfast.plans.literals import can_run, literal_variables, may_fail, step_variables, variables
from holdfast.plans.model import AntiJoin, Compute, Filter, Join, Plan, Read, Scan, Unnest
from holdfast.plans.order import atom_order
from holdfast.plans.planner import Planner, make_plan, plan_node, plan_rule
from holdfast.plans.statistics import Guess
from holdfast.program import check
from holdfast.program.model import Assign, Atom, BodyLiteral, HyperNode, Negated, Rule, Var

from ..backends.memory.test_operator import rules


class Sizes:
    """Statistics by hand: sizes, and each column has 10,000 values."""

    def __init__(self, **sizes: float) -> None:
        self.sizes = sizes
        self.without_index = set[tuple[str, tuple[int, ...]]]()

    def size(self, predicate: str) -> float:
        return self.sizes.get(predicate, 100.0)

    def fanout(self, predicate: str, columns: tuple[int, ...], arity: int) -> float:
        return 1.0 if len(columns) == arity else max(1.0, self.size(predicate) / 1e4 ** len(columns))

    def unindexed(self, predicate: str, columns: tuple[int, ...]) -> float:
        return self.size(predicate) if (predicate, columns) in self.without_index else 0.0


def rule_of(text: str, number: int = 0) -> Rule:
    return check(parse(text)).rules[number]


def node_of(text: str, predicate: str) -> HyperNode:
    return check(parse(text)).node_of(predicate)


def pivots(rule: Rule) -> list[int | None]:
    return [None, *(i for i, literal in enumerate(rule.body) if isinstance(literal, Atom | Negated))]


def literal_of(step: object) -> BodyLiteral:
    match step:
        case Scan(atom=literal) | Join(atom=literal) | AntiJoin(atom=literal):
            return literal
        case Filter(condition=condition):
            return condition
        case Compute(assignment=assignment):
            return assignment
        case Unnest(range=spread):
            return spread
    raise AssertionError(step)


# --- soundness ---------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    rules(negated_wildcards=False),
    st.dictionaries(st.sampled_from("abcz"), st.sampled_from([0.0, 1, 50, 1e6])),
    st.sampled_from([1.0, 1e3, 1e6]),
)
def test_orders_are_permutations(rule: Rule, sizes: dict[str, float], delta: float) -> None:
    atoms = [i for i, literal in enumerate(rule.body) if isinstance(literal, Atom)]
    for pivot in pivots(rule):
        order = atom_order(rule, pivot, delta, Sizes(**sizes))
        negated_pivot = [] if pivot is None or pivot in atoms else [pivot]
        assert sorted(order) == sorted([*atoms, *negated_pivot])
        assert order[: len(negated_pivot)] == tuple(negated_pivot), "a negated pivot is read first"


@settings(max_examples=150, deadline=None)
@given(rules(negated_wildcards=False))
def test_steps_have_what_they_need_and_leave_nothing_out(rule: Rule) -> None:
    atoms = [i for i, literal in enumerate(rule.body) if isinstance(literal, Atom)]
    for pivot in pivots(rule):
        for order in permutations(atoms if pivot is None or pivot in atoms else [pivot, *atoms]):
            check_steps(make_plan(rule, pivot, order))


def check_steps(plan: Plan) -> None:
    bound: set[Var] = set()
    live: tuple[Var, ...] = ()
    assert len(plan.steps) == len(plan.rule.body) == len(plan.live)
    for number, (step, after) in enumerate(zip(plan.steps, plan.live, strict=True)):
        literal = literal_of(step)
        assert isinstance(step, Scan) <= (number == 0)
        if not isinstance(literal, Atom):
            assert can_run(literal, bound)
        needed = step_variables(step) & bound
        assert needed <= set(live), "what a step needs has been carried on"
        bound |= literal_variables(literal)
        assert set(after) <= bound
        live = after
    head = {variable for term in plan.rule.arguments for variable in variables(term)}
    assert head == set(live), "at the end only the head is carried on"


@settings(max_examples=100, deadline=None)
@given(rules(negated_wildcards=False))
def test_what_each_literal_reads(rule: Rule) -> None:
    atoms = [i for i, literal in enumerate(rule.body) if isinstance(literal, Atom)]
    for pivot in pivots(rule)[1:]:
        assert pivot is not None
        is_positive = pivot in atoms
        plan = make_plan(rule, pivot, atoms if is_positive else [pivot, *atoms])
        reads = [step.read for step in plan.steps if isinstance(step, Scan | Join | AntiJoin)]
        assert reads.count(Read.DELTA) == is_positive
        assert reads.count(Read.ABSENT_DELTA) == (not is_positive)
        assert reads.count(Read.OLD) == sum(1 for i in atoms if not is_positive or i < pivot)
        negated = [i for i, literal in enumerate(rule.body) if isinstance(literal, Negated)]
        assert reads.count(Read.ABSENT_OLD) == (0 if is_positive else sum(1 for i in negated if i < pivot))


def test_predicates_that_do_not_change_are_read_whole() -> None:
    rule = rule_of("r(x, z) :- e(x, y), r(y, z), e(z, x).\nr(x, y) :- e(x, y).")
    plan = make_plan(rule, 1, (0, 1, 2), {"r"})
    assert [step.read for step in plan.steps if isinstance(step, Scan | Join)] == [Read.ALL, Read.DELTA, Read.ALL]


# --- order -------------------------------------------------------------------------------------------

CHAIN = "h(a, d) :- big(a, b), small(b, c), middle(c, d)."


def names(rule: Rule, order: tuple[int, ...]) -> list[str]:
    return [rule.body[i].predicate for i in order]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "sizes", "expected"),
    [
        (CHAIN, {"big": 1e6, "small": 10, "middle": 1e3}, ["small", "middle", "big"]),
        (CHAIN, {"big": 10, "small": 1e6, "middle": 1e6}, ["big", "small", "middle"]),
        ("h(x) :- p(x, y), q(7, y).", {"p": 1e4, "q": 1e4}, ["q", "p"]),
        ("h(x, y) :- p(x), q(y), r(x, y).", {"p": 1e3, "q": 1e3, "r": 20}, ["r", "p", "q"]),
        (
            "h(x) :- a(x, y), b(y, z), c(z, w), d(w, v), e(v, x).",
            {"a": 1e5, "b": 1e5, "c": 10, "d": 1e5, "e": 1e5},
            None,
        ),
    ],
)
def test_small_relations_come_first(text: str, sizes: dict[str, float], expected: list[str] | None) -> None:
    rule = rule_of(text)
    order = names(rule, atom_order(rule, None, 1e3, Sizes(**sizes)))
    if expected is None:
        assert order[0] == "c"
        assert order[1] in "bd", "and what is joined to it follows"
    else:
        assert order == expected


def test_a_computed_value_is_a_key() -> None:
    rule = rule_of("h(x, z) :- p(x), y = x + 1, q(y, z).")
    plan = plan_rule(rule, None, Sizes(p=10, q=1e6))
    assert [type(step) for step in plan.steps] == [Scan, Compute, Join]
    assert isinstance(plan.steps[2], Join)
    assert plan.steps[2].key == (0,)


def test_what_a_computed_value_leads_to_comes_early() -> None:
    rule = rule_of("h(x, z) :- p(x), y = x + 1, q(y, z), s(z, x).")
    assert names(rule, atom_order(rule, None, 1e3, Sizes(p=10, q=1e6, s=1e7))) == ["p", "q", "s"]


def test_the_delta_is_where_it_costs_least() -> None:
    rule = rule_of("r(x, z) :- r(x, y), e(y, z).\nr(x, y) :- e(x, y).")
    assert atom_order(rule, 0, 5.0, Sizes(r=1e6, e=1e4)) == (0, 1)
    assert atom_order(rule, 0, 1e6, Sizes(r=1e6, e=2.0)) == (0, 1), "an index on so many new facts costs more"


def test_plans_are_kept_until_sizes_have_changed_much() -> None:
    node = node_of("r(x, y) :- e(x, y).\nr(x, z) :- r(x, y), e(y, z), big(z).", "r")
    sizes = Sizes(e=1e7, r=1e3, big=1e5)
    planner = Planner(node, sizes)
    [first] = planner.recursive({"r": 100})
    assert planner.recursive({"r": 110}) == (first,)
    sizes.sizes["big"] = 1.0
    [second] = planner.recursive({"r": 110})
    assert (first.order, second.order) == ((0, 1, 2), (0, 2, 1))
    assert planner.recursive({"r": 0}) == ()
    assert planner.recursive({}) == ()


def test_a_plan_for_each_recursive_atom() -> None:
    node = node_of("r(x, y) :- e(x, y).\nr(x, z) :- r(x, y), r(y, z), e(z, x).", "r")
    plans = plan_node(node)
    assert [plan.pivot for plan in plans.recursive] == [0, 1]
    assert [plan.pivot for plan in plans.nonrecursive] == [None]
    assert {plan.delta_predicate for plan in plans.recursive} == {"r"}
    assert plans.recursive[0].predicates == {"r", "e"}


def test_guesses_order_something() -> None:
    rule = rule_of(CHAIN)
    assert sorted(atom_order(rule, None, 1e3, Guess())) == [0, 1, 2]


# --- literals that may fail --------------------------------------------------------------------------


def waits(text: str) -> bool:
    """Whether the division of a rule is its last step."""
    plan = plan_rule(rule_of(text), None, Guess())
    return may_fail(literal_of(plan.steps[-1]))


@pytest.mark.parametrize(
    "body",
    [
        "n(x, y), z = 10 / x, x != 0",
        "n(x, y), x != 0, z = 10 / x",
        "n(x, y), z = 10 / x, !zero(x)",
        "z = 10 / x, n(x, y), m(x)",
        "n(x, y), z = 10 % x, y > 3, m(y)",
        "n(x, y), z = to_number(substr(to_string(x), y, 1)), y > 3",
    ],
)
def test_what_may_fail_comes_last(body: str) -> None:
    assert waits(f"p(z) :- {body}.")


def test_a_comparison_that_may_fail_waits_too() -> None:
    assert waits("p(x) :- n(x, y), 10 / x > 1, m(y), x != 0.")


def test_a_value_that_others_need_is_computed_at_once() -> None:
    plan = plan_rule(rule_of("p(z) :- n(x, _), z = 10 / x, m(z)."), None, Sizes(n=10, m=1e6))
    assert [type(step) for step in plan.steps] == [Scan, Compute, Join]


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("z = x / y", True),
        ("z = x % y", True),
        ("z = x ^ y", True),
        ("z = (x / y) + 1", True),
        ("z = ftoi(itof(x))", True),
        ("z = utoi(itou(x))", True),
        ("z = x + y", False),
        ("z = max(x, y)", False),
        ("x < y, z = x", False),
    ],
)
def test_which_literals_may_fail(text: str, fails: bool) -> None:
    rule = rule_of(f".decl n(x: number, y: number)\n.decl p(z: number)\np(z) :- n(x, y), {text}.")
    assert any(may_fail(literal) for literal in rule.body if isinstance(literal, Assign)) == fails


@pytest.mark.parametrize(
    "body",
    [
        "n(x), z = 10 / x, x != 0",
        "n(x), 10 / x > 0, x != 0, z = x",
        "n(x), z = 10 / x, ok(x)",
        "n(x), z = 10 / x, !bad(x)",
    ],
)
def test_a_division_by_zero_that_another_literal_keeps_out(body: str) -> None:
    facts = (
        {"n": [(0,), (2,), (5,)]}
        | ({"ok": [(2,), (5,)]} if "ok" in body else {})
        | ({"bad": [(0,)]} if "bad" in body else {})
    )
    assert len(holdfast.from_text(f"p(z) :- {body}.", facts=facts)["p"]) == 2
    with pytest.raises(EvaluationError, match="division by zero"):
        holdfast.from_text("p(z) :- n(x), z = 10 / x.", facts={"n": [(0,)]})


def test_many_new_facts_are_read_later_only_where_an_index_is_there() -> None:
    rule = rule_of("h(v, z) :- few(v, f), new(o, f), a(o, x), b(x, z). few(1, 2). new(1, 2). a(1, 2). b(1, 2).")
    sizes = Sizes(few=100, new=1e6, a=4e4, b=4e4)
    assert atom_order(rule, 1, 1e5, sizes) == (0, 1, 2, 3)
    sizes.without_index.add(("new", (1,)))
    assert atom_order(rule, 1, 1e5, sizes)[0] == 1


class Skewed(Sizes):
    """Few values in the columns of a small relation."""

    def fanout(self, predicate: str, columns: tuple[int, ...], arity: int) -> float:
        return 50.0 if predicate == "few" and len(columns) < arity else super().fanout(predicate, columns, arity)


class Unindexed(Skewed):
    """No table has an index."""

    def unindexed(self, predicate: str, columns: tuple[int, ...]) -> float:
        return self.size(predicate)


def test_deleted_facts_are_joined_with_by_an_index_of_them_alone() -> None:
    """They are anywhere among the others, so their index costs as much whether or not the others have one."""
    rule = rule_of("h(v, p) :- few(v, f), new(f, p). few(1, 2). new(1, 2).")
    sizes, no_index = Skewed(few=300, new=1e7), Unindexed(few=300, new=1e7)
    assert atom_order(rule, 1, 1e3, sizes) == atom_order(rule, 1, 1e3, sizes, scattered=True) == (0, 1)
    assert atom_order(rule, 1, 1e3, no_index) == (1, 0)
    assert atom_order(rule, 1, 1e3, no_index, scattered=True) == (0, 1)
    assert atom_order(rule, 1, 10, no_index, scattered=True) == (1, 0)
