"""Prepares a checked program for maintenance.

Two things change.  A negated atom with wildcards, `!p(x, _)`, reads an auxiliary relation of p's known columns instead:
the deletion of one fact of p does not mean that no fact agrees any more.  And auxiliary relations are named by their
definitions, so that the same relation has the same name after other rules have changed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from holdfast.program.graph import hyper_nodes
from holdfast.program.model import (
    AggregateRule,
    Atom,
    BodyLiteral,
    HyperNode,
    Negated,
    Program,
    Relation,
    Rule,
    Var,
    Wildcard,
)

_PROJECTION = ".some"


def maintainable(program: Program) -> Program:
    """The same program with only whole facts negated, and stable names for its auxiliary relations."""
    return _renamed(_projected(program))


def _projected(program: Program) -> Program:
    relations, projections = dict(program.relations), dict[str, Rule]()

    def whole(literal: BodyLiteral) -> BodyLiteral:
        if not isinstance(literal, Negated) or not any(isinstance(a, Wildcard) for a in literal.arguments):
            return literal
        known = tuple(i for i, a in enumerate(literal.arguments) if not isinstance(a, Wildcard))
        name = f"{literal.predicate}{_PROJECTION}{'_'.join(map(str, known))}"
        if name not in relations:
            relations[name] = _projection(relations[literal.predicate], name, known)
            projections[name] = _projecting(relations[literal.predicate], name, known)
        return Negated(name, tuple(literal.arguments[i] for i in known))

    rules = tuple(replace(rule, body=tuple(map(whole, rule.body))) for rule in program.rules)
    if not projections:
        return program
    return _rebuilt(program, relations, (*rules, *projections.values()), program.aggregates)


def _projection(relation: Relation, name: str, known: tuple[int, ...]) -> Relation:
    shown = ", ".join(column.name if i in known else "_" for i, column in enumerate(relation.columns))
    return Relation(
        name,
        f"{relation.display}({shown})",
        tuple(relation.columns[i] for i in known),
        auxiliary=True,
        span=relation.span,
    )


def _projecting(relation: Relation, name: str, known: tuple[int, ...]) -> Rule:
    variables = {i: Var(f"x{i}", relation.columns[i].type) for i in known}
    arguments = tuple(variables.get(i, Wildcard()) for i in range(relation.arity))
    return Rule(name, name, tuple(variables.values()), (Atom(relation.name, arguments),), relation.span)


def with_relations(program: Program, more: Mapping[str, Relation]) -> Program:
    """The program with additional relations that none of its rules mentions."""
    return _rebuilt(program, {**program.relations, **more}, program.rules, program.aggregates) if more else program


def _rebuilt(
    program: Program, relations: Mapping[str, Relation], rules: tuple[Rule, ...], aggregates: tuple[AggregateRule, ...]
) -> Program:
    nodes = hyper_nodes(tuple(relations), rules, aggregates)
    return replace(program, relations=relations, rules=rules, aggregates=aggregates, nodes=nodes)


# --- names -------------------------------------------------------------------------------------------


def _renamed(program: Program) -> Program:
    names = _stable_names(program)
    if not names:
        return program

    def name(predicate: str) -> str:
        return names.get(predicate, predicate)

    def literal(old: BodyLiteral) -> BodyLiteral:
        return replace(old, predicate=name(old.predicate)) if isinstance(old, Atom | Negated) else old

    relations = {name(key): replace(r, name=name(key)) for key, r in program.relations.items()}
    rules = tuple(replace(r, predicate=name(r.predicate), body=tuple(map(literal, r.body))) for r in program.rules)
    aggregates = tuple(replace(a, predicate=name(a.predicate), source=name(a.source)) for a in program.aggregates)
    return _rebuilt(program, relations, rules, aggregates)


def _stable_names(program: Program) -> dict[str, str]:
    """A name for each auxiliary relation, from the rules that define it; the order of nodes makes that possible."""
    names: dict[str, str] = {}
    taken = Counter[str]()
    for node in program.nodes:
        for predicate in node.predicates:
            relation = program.relations[predicate]
            if relation.auxiliary:
                base = predicate.rstrip("0123456789") if _PROJECTION not in predicate else predicate
                name = f"{base}#{_digest(node, relation, names)}"
                names[predicate] = f"{name}~{taken[name]}" if taken[name] else name
                taken[name] += 1
    return names


def _digest(node: HyperNode, relation: Relation, names: Mapping[str, str]) -> str:
    defining = [r for r in (*node.nonrecursive, *node.recursive) if r.predicate == relation.name]
    rules = [(r.arguments, r.body) for r in defining]
    aggregates = [(a.source, a.group, a.function, a.target) for a in node.aggregates if a.predicate == relation.name]
    text = repr((rules, aggregates, [c.type for c in relation.columns]))
    read = {literal.predicate for r in defining for literal in r.body if isinstance(literal, Atom | Negated)}
    read |= {source for source, *_ in aggregates}
    for old in sorted(names.keys() & read, key=lambda name: (-len(name), name)):
        text = text.replace(repr(old), repr(names[old]))
    return hashlib.sha256(text.encode()).hexdigest()[:10]
