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


def explain(program: Program, remarks: Lines = lambda _: ()) -> str:
    """How each hyper-node is evaluated, for a person to read, with what else there is to say of it."""
    return "\n".join(line for node in program.nodes if _has_rules(node) for line in _node_lines(node, program, remarks))


def explain_json(program: Program, remarks: Data = lambda _: {}) -> dict[str, object]:
    """The same as data."""
    return {"nodes": [{**_node_json(node, program), **remarks(node)} for node in program.nodes if _has_rules(node)]}


def _has_rules(node: HyperNode) -> bool:
    return bool(node.recursive or node.nonrecursive or node.aggregates)


def _node_lines(node: HyperNode, program: Program, remarks: Lines) -> Iterator[str]:
    plans, relations = plan_node(node), program.relations
    kind = "recursive" if node.is_recursive else "nonrecursive"
    if all(relations[name].auxiliary for name in node.predicates):
        kind += ", made for an aggregate"
    yield f"hyper-node {node.index}: {', '.join(_name(p, program) for p in node.predicates)} ({kind})"
    yield from (f"  {line}" for line in remarks(node))
    for plan in plans.nonrecursive:
        yield f"  {plan.rule.name}: {show_rule(plan.rule, relations)}"
        yield from (f"    {line}" for line in _plan_lines(plan, program))
    for plan in plans.recursive:
        yield f"  {plan.rule.name}, new facts of {_delta_text(plan, program)}: {show_rule(plan.rule, relations)}"
        yield from (f"    {line}" for line in _plan_lines(plan, program))
    yield ""


def _node_json(node: HyperNode, program: Program) -> dict[str, object]:
    plans = plan_node(node)
    return {
        "index": node.index,
        "predicates": [_name(p, program) for p in node.predicates],
        "recursive": node.is_recursive,
        "plans": [_plan_json(plan, program) for plan in (*plans.nonrecursive, *plans.recursive)],
    }


def _plan_json(plan: AnyPlan, program: Program) -> dict[str, object]:
    delta = None if isinstance(plan, AggregatePlan) else plan.delta_predicate
    return {
        "rule": plan.rule.name,
        "text": show_rule(plan.rule, program.relations),
        "delta": delta and _name(delta, program),
        "steps": list(_plan_lines(plan, program)),
    }


def _plan_lines(plan: AnyPlan, program: Program) -> Iterator[str]:
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
