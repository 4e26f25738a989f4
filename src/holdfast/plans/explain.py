"""Plans as text and as JSON: the join order of each rule and its delta rules."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.plans.model import (
    AggregatePlan,
    AnyPlan,
    Compute,
    Filter,
    Join,
    Keep,
    Plan,
    Read,
    Scan,
    Spread,
    Step,
)
from holdfast.plans.planner import plan_node
from holdfast.program.model import (
    AggregateRule,
    Apply,
    Argument,
    Assign,
    Atom,
    Compare,
    Const,
    HyperNode,
    Literal,
    Negated,
    Program,
    Range,
    Rule,
    Term,
    Test,
    Var,
    Wildcard,
)
from holdfast.values import quote

_MEANING = {
    Read.ALL: "all facts",
    Read.OLD: "facts known before this round",
    Read.DELTA: "facts new in the last round",
    Read.ABSENT: "no such fact",
    Read.ABSENT_OLD: "no such fact, before or after",
    Read.ABSENT_DELTA: "facts that went away",
}


def explain(program: Program) -> str:
    """How each hyper-node is evaluated, for a person to read."""
    return "\n".join(line for node in program.nodes if _has_rules(node) for line in _node_lines(node, program))


def explain_json(program: Program) -> dict[str, object]:
    """The same as data."""
    return {"nodes": [_node_json(node, program) for node in program.nodes if _has_rules(node)]}


def _has_rules(node: HyperNode) -> bool:
    return bool(node.recursive or node.nonrecursive or node.aggregates)


def _node_lines(node: HyperNode, program: Program) -> Iterator[str]:
    plans = plan_node(node)
    kind = "recursive" if node.is_recursive else "nonrecursive"
    yield f"hyper-node {node.index}: {', '.join(_name(p, program) for p in node.predicates)} ({kind})"
    for plan in plans.nonrecursive:
        yield f"  {plan.rule.name}: {_rule_text(plan.rule, program)}"
        yield from (f"    {line}" for line in _plan_lines(plan, program))
    for plan in plans.recursive:
        yield f"  {plan.rule.name}, new facts of {_delta_text(plan, program)}: {_rule_text(plan.rule, program)}"
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
        "text": _rule_text(plan.rule, program),
        "delta": delta and _name(delta, program),
        "steps": list(_plan_lines(plan, program)),
    }


def _plan_lines(plan: AnyPlan, program: Program) -> Iterator[str]:
    if isinstance(plan, AggregatePlan):
        yield f"1. group {_name(plan.rule.source, program)}, take the {plan.rule.function} of each group"
        return
    for number, step in enumerate(plan.steps, 1):
        yield f"{number}. {_step_text(step, program)}"
    arguments = ", ".join(map(_term_text, plan.rule.arguments))
    yield f"{len(plan.steps) + 1}. derive {_name(plan.rule.predicate, program)}({arguments})"


def _step_text(step: Step, program: Program) -> str:
    match step:
        case Scan(atom=atom, read=read):
            return f"scan {_atom_text(atom, program)}: {_MEANING[read]}"
        case Join(atom=atom, read=read, key=key):
            by = f"by column {', '.join(str(column + 1) for column in key)}" if key else "with every fact"
            return f"join {_atom_text(atom, program)} {by}: {_MEANING[read]}"
        case Keep(atom=negated, read=read):
            return f"keep if {_MEANING[read]} {_atom_text(negated, program)}"
        case Filter(condition=condition):
            return f"keep if {literal_text(condition, program)}"
        case Compute(assignment=Assign(variable=variable, term=term)):
            return f"compute {variable.name} = {_term_text(term)}"
        case Spread(range=spread):
            return f"for each {literal_text(spread, program)}"


def _delta_text(plan: Plan, program: Program) -> str:
    assert plan.delta_predicate is not None
    return _name(plan.delta_predicate, program)


def _rule_text(rule: Rule | AggregateRule, program: Program) -> str:
    if isinstance(rule, AggregateRule):
        source = program.relations[rule.source]
        group = [source.columns[column].name for column in rule.group]
        target = "" if rule.target is None else source.columns[rule.target].name
        head = ", ".join([*group, f"{rule.function}({target})"])
        return f"{_name(rule.predicate, program)}({head}) :- {_name(rule.source, program)}(…)."
    head = f"{_name(rule.predicate, program)}({', '.join(map(_term_text, rule.arguments))})"
    body = ", ".join(literal_text(literal, program) for literal in rule.body)
    return f"{head} :- {body}." if body else f"{head}."


def literal_text(literal: Literal, program: Program) -> str:
    """A literal of a checked rule as the language would write it."""
    match literal:
        case Atom():
            return _atom_text(literal, program)
        case Negated():
            return "!" + _atom_text(literal, program)
        case Compare(operator=operator, left=left, right=right):
            return f"{_term_text(left)} {operator} {_term_text(right)}"
        case Test(function=function, arguments=arguments, negated=negated):
            return f"{'!' if negated else ''}{function}({', '.join(map(_term_text, arguments))})"
        case Assign(variable=variable, term=term):
            return f"{variable.name} = {_term_text(term)}"
        case Range(variable=variable, start=start, stop=stop, step=step):
            bounds = [start, stop] if step is None else [start, stop, step]
            return f"{variable.name} = range({', '.join(map(_term_text, bounds))})"


def _atom_text(atom: Atom | Negated, program: Program) -> str:
    return f"{_name(atom.predicate, program)}({', '.join(map(_argument_text, atom.arguments))})"


def _argument_text(argument: Argument) -> str:
    return "_" if isinstance(argument, Wildcard) else _term_text(argument)


def _term_text(term: Term) -> str:
    match term:
        case Var(name=name):
            return name
        case Const(value=value):
            return quote(value) if isinstance(value, str) else str(value)
        case Apply(function="neg", arguments=(operand,)):
            return f"-{_term_text(operand)}"
        case Apply(function=function, arguments=(left, right)) if not function.isidentifier() or function[0] in "bl":
            return f"({_term_text(left)} {function} {_term_text(right)})"
        case Apply(function=function, arguments=arguments):
            return f"{function}({', '.join(map(_term_text, arguments))})"


def _name(predicate: str, program: Program) -> str:
    relation = program.relations.get(predicate)
    return predicate if relation is None else relation.display
