"""Pass 6: warns of a recursion that computes new values, which may not end, and of a `.limitsize`, which ends early."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.errors import Diagnostics
from holdfast.program.limits import regime
from holdfast.program.model import Apply, Assign, Atom, Compare, HyperNode, Negated, Relation, Rule, Term, Test, Var

GROWING = frozenset({"+", "-", "*", "^", "bshl", "cat", "neg", "record"})
_BOUNDING = ("<", "<=", ">", ">=", "=")


def warn_of_endless(nodes: tuple[HyperNode, ...], diagnostics: Diagnostics) -> None:
    """Warn of each recursive rule whose head holds a value computed from the recursion itself, without a bound."""
    for node in nodes:
        own = set(node.predicates)
        known = regime((*node.nonrecursive, *node.recursive), node.limits, node.predicates) if node.limits else None
        ends = known is not None and (known.best_first or known.additive)  # or the error is raised when it happens
        for rule in node.recursive:
            grown = _grown(rule, own, rule.limit.column if rule.limit and ends else None)
            if grown:
                message = f"this recursion makes new values from {', '.join(sorted(grown))} and may not end"
                help = "bound the value with a comparison, or set a limit on facts, rounds or seconds"
                diagnostics.warning("W0003", message, rule.span, help=help)


def warn_of_limits(relations: Mapping[str, Relation], nodes: tuple[HyperNode, ...], diagnostics: Diagnostics) -> None:
    """Warn of each `.limitsize`: it makes the materialisation incomplete on purpose, or does nothing."""
    recursive = {name for node in nodes if node.is_recursive for name in node.predicates}
    for name, relation in relations.items():
        for io in relation.io:
            if io.kind == "limitsize" and name in recursive:
                message = f"{relation.display} and what depends on it may be incomplete: its recursion stops after "
                message += f"the round in which it has {int(io.parameters['n']):,} facts"
                diagnostics.warning("W0005", message, io.span, help="remove .limitsize when the program is correct")
            elif io.kind == "limitsize":
                message = f".limitsize has no effect: {relation.display} is not recursive"
                diagnostics.warning("W0006", message, io.span)


def _grown(rule: Rule, own: set[str], limited: int | None) -> set[str]:
    """The unbounded variables of recursive atoms that a head value is computed from, except in a `limited` column."""
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    recursive = {name for atom in atoms if atom.predicate in own for name in _names(atom.arguments)}
    given = {name for atom in atoms if atom.predicate not in own for name in _names(atom.arguments)}
    definitions = {lit.variable.name: lit.term for lit in rule.body if isinstance(lit, Assign)}
    bounded = given | _bounded(rule)
    found: set[str] = set()
    for column, argument in enumerate(rule.arguments):
        if column == limited:
            continue
        found |= _sources(argument, definitions, recursive - bounded, bounded, False, frozenset())
    return found


def _names(terms: tuple[object, ...]) -> set[str]:
    return {term.name for term in terms if isinstance(term, Var)}


def _bounded(rule: Rule) -> set[str]:
    """Variables that a comparison, a test or a negated atom may bound."""
    found: set[str] = set()
    for literal in rule.body:
        match literal:
            case Compare(operator=operator, left=left, right=right) if operator in _BOUNDING:
                found |= _variables(left) | _variables(right)
            case Test(arguments=arguments):
                found |= {name for argument in arguments for name in _variables(argument)}
            case Negated(arguments=arguments):
                found |= _names(arguments)
    return found


def _variables(term: Term) -> set[str]:
    match term:
        case Var(name=name):
            return {name}
        case Apply(arguments=arguments):
            return {name for argument in arguments for name in _variables(argument)}
        case _:
            return set()


def _sources(
    term: Term, definitions: dict[str, Term], free: set[str], bounded: set[str], growing: bool, seen: frozenset[str]
) -> set[str]:
    match term:
        case Var(name=name) if name in bounded or name in seen:
            return set()
        case Var(name=name) if name in free:
            return {name} if growing else set()
        case Var(name=name) if name in definitions:
            return _sources(definitions[name], definitions, free, bounded, growing, seen | {name})
        case Apply(function=function, arguments=arguments):
            grows = growing or function in GROWING
            return {n for a in arguments for n in _sources(a, definitions, free, bounded, grows, seen)}
        case _:
            return set()
