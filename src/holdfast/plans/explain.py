"""Plans as text and as JSON: the join order of each rule and its delta rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from holdfast.plans.model import (
    AggregatePlan,
    AntiJoin,
    AnyPlan,
    Compute,
    Filter,
    Join,
    Plan,
    Read,
    Scan,
    Step,
    Unnest,
)
from holdfast.plans.planner import plan_node
from holdfast.plans.statistics import SizeStatistics
from holdfast.program.model import HyperNode, Program
from holdfast.program.show import show_literal, show_rule, show_term

_MEANING = {
    Read.ALL: "all facts",
    Read.OLD: "facts known before this round",
    Read.DELTA: "facts new in the last round",
    Read.ABSENT: "no such fact",
    Read.ABSENT_OLD: "no such fact, before or after",
    Read.ABSENT_DELTA: "facts that were removed",
}


Lines = Callable[[HyperNode], Iterable[str]]
Data = Callable[[HyperNode], Mapping[str, object]]


def explain(program: Program, remarks: Lines = lambda _: (), sizes: SizeStatistics | None = None) -> str:
    """How each hyper-node is evaluated, as text, with further remarks on it.

    With the sizes of facts, it shows the join order that these suggest and the expected rows of each step.
    """
    nodes = [node for node in program.nodes if _has_rules(node)]
    return "\n".join(line for node in nodes for line in _node_lines(node, program, remarks, sizes))


def explain_json(
    program: Program, remarks: Data = lambda _: {}, sizes: SizeStatistics | None = None
) -> dict[str, object]:
    """The same as data."""
    nodes = [node for node in program.nodes if _has_rules(node)]
    return {"nodes": [{**_node_json(node, program, sizes), **remarks(node)} for node in nodes]}


def _has_rules(node: HyperNode) -> bool:
    return bool(node.recursive or node.nonrecursive or node.aggregates)


def _node_lines(node: HyperNode, program: Program, remarks: Lines, sizes: SizeStatistics | None) -> Iterator[str]:
    plans, relations = plan_node(node, sizes), program.relations
    kind = "recursive" if node.is_recursive else "nonrecursive"
    if all(relations[name].auxiliary for name in node.predicates):
        kind += ", made for an aggregate"
    yield f"hyper-node {node.index}: {', '.join(_name(p, program) for p in node.predicates)} ({kind})"
    yield from (f"  {line}" for line in remarks(node))
    for plan in plans.nonrecursive:
        yield f"  {plan.rule.name}: {show_rule(plan.rule, relations)}"
        yield from (f"    {line}" for line in _sized_lines(plan, program, sizes))
    for plan in plans.recursive:
        yield f"  {plan.rule.name}, new facts of {_delta_text(plan, program)}: {show_rule(plan.rule, relations)}"
        yield from (f"    {line}" for line in _sized_lines(plan, program, sizes))
    yield ""


def _node_json(node: HyperNode, program: Program, sizes: SizeStatistics | None) -> dict[str, object]:
    plans = plan_node(node, sizes)
    return {
        "index": node.index,
        "predicates": [_name(p, program) for p in node.predicates],
        "recursive": node.is_recursive,
        "plans": [_plan_json(plan, program, sizes) for plan in (*plans.nonrecursive, *plans.recursive)],
    }


def _plan_json(plan: AnyPlan, program: Program, sizes: SizeStatistics | None) -> dict[str, object]:
    delta = None if isinstance(plan, AggregatePlan) else plan.delta_predicate
    expected = {} if sizes is None else {"expectedRows": expected_rows(plan, sizes)}
    return {
        "rule": plan.rule.name,
        "text": show_rule(plan.rule, program.relations),
        "delta": delta and _name(delta, program),
        "steps": list(plan_lines(plan, program)),
        **expected,
    }


def _sized_lines(plan: AnyPlan, program: Program, sizes: SizeStatistics | None) -> Iterator[str]:
    lines = plan_lines(plan, program)
    if sizes is None or isinstance(plan, AggregatePlan):
        yield from lines
        return
    for line, rows in zip(lines, [*expected_rows(plan, sizes), None], strict=True):
        yield line if rows is None else f"{line}  (about {rows:,.0f} rows)"


def expected_rows(plan: AnyPlan, sizes: SizeStatistics) -> list[float]:
    """The expected rows after each step, if all facts of the delta are new; tests are assumed to keep all rows."""
    found: list[float] = []
    for step in () if isinstance(plan, AggregatePlan) else plan.steps:
        rows = found[-1] if found else 1.0
        if isinstance(step, Scan | Join):
            atom = step.atom
            known = sizes.fanout(atom.predicate, step.key, len(atom.arguments)) if step.key else None
            rows *= sizes.size(atom.predicate) if known is None else known
        found.append(rows)
    return found


def plan_lines(plan: AnyPlan, program: Program) -> Iterator[str]:
    """The steps of a plan, numbered, the head last."""
    if isinstance(plan, AggregatePlan):
        yield f"1. group {_name(plan.rule.source, program)}, take the {plan.rule.function} of each group"
        return
    for number, step in enumerate(plan.steps, 1):
        yield f"{number}. {_step_text(step, program)}"
    arguments = ", ".join(map(show_term, plan.rule.arguments))
    yield f"{len(plan.steps) + 1}. derive {_name(plan.rule.predicate, program)}({arguments})"


def _step_text(step: Step, program: Program) -> str:
    relations = program.relations
    match step:
        case Scan(atom=atom, read=read):
            return f"scan {show_literal(atom, relations)}: {_MEANING[read]}"
        case Join(atom=atom, read=read, key=key):
            by = f"by column {', '.join(str(column + 1) for column in key)}" if key else "with every fact"
            return f"join {show_literal(atom, relations)} {by}: {_MEANING[read]}"
        case AntiJoin(atom=negated):
            return f"keep if {show_literal(negated, relations)}"
        case Filter(condition=condition):
            return f"keep if {show_literal(condition, relations)}"
        case Compute(assignment=assignment):
            return f"compute {show_literal(assignment, relations)}"
        case Unnest(range=spread):
            return f"for each {show_literal(spread, relations)}"


def _delta_text(plan: Plan, program: Program) -> str:
    assert plan.delta_predicate is not None
    return _name(plan.delta_predicate, program)


def _name(predicate: str, program: Program) -> str:
    relation = program.relations.get(predicate)
    return predicate if relation is None else relation.display
