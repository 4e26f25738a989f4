"""Pass 0b: expands relations that are only a shorthand.

A rule of an `inline` relation may leave a variable of its head to its callers, `label(x, s) :- s = cat("n", x)`: such a
relation has no facts of its own, and each use of it becomes the rule's body.

Other `inline` relations are treated like any relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from holdfast.errors import Diagnostics
from holdfast.language import tree
from holdfast.program.core import children, formula_variables, rebuilt, term_variables
from holdfast.program.normal_form import alternatives
from holdfast.quick_dataclass import dataclass

_DEEPEST = 50


def inlined(program: tree.Program) -> tree.Program:
    """The program with such relations expanded; one without them is returned unchanged."""
    marked = {
        name.text
        for item in program.items
        if isinstance(item, tree.Declaration) and "inline" in item.qualifiers and "no_inline" not in item.qualifiers
        for name in item.names
    } - _excluded(program)
    rules = [item for item in program.items if isinstance(item, tree.Rule)]
    heads = [(head, rule.body) for rule in rules for head in rule.heads if head.name.text in marked]
    left_open: set[str] = set()
    while new := {head.name.text for head, body in heads if body and not _binds(body, head, left_open)} - left_open:
        left_open |= new
    return replace(program, items=tuple(_Inliner(rules, left_open).items(program.items))) if left_open else program


def _excluded(program: tree.Program) -> set[str]:
    """The relations that `.pragma "inline-exclude" "a,b"` names."""
    pragmas = [item for item in program.items if isinstance(item, tree.Pragma) and item.key == "inline-exclude"]
    return {name.strip() for pragma in pragmas for name in (pragma.value or "").split(",")}


def _binds(body: tree.Formula, head: tree.Atom, left_open: set[str]) -> bool:
    """Whether each alternative of a body binds every variable of a head; expanded relations bind nothing."""
    wanted = {variable.name for argument in head.arguments for variable in term_variables(argument)}
    return all(wanted <= _bound(literals, left_open) for literals in alternatives(body, Diagnostics()))


def _bound(literals: tuple[tree.Formula, ...], left_open: set[str]) -> set[str]:
    atoms = [literal for literal in literals if isinstance(literal, tree.Atom) and literal.name.text not in left_open]
    bound = {variable.name for atom in atoms for variable in formula_variables(atom)}
    equations = [literal for literal in literals if isinstance(literal, tree.Comparison) and literal.operator == "="]
    sides = [pair for e in equations for pair in ((e.left, e.right), (e.right, e.left))]
    while (
        new := {
            variable.name
            for one, other in sides
            if {v.name for v in term_variables(other)} <= bound
            and not isinstance(one, tree.Binary | tree.Unary | tree.Call)
            for variable in term_variables(one)
        }
        - bound
    ):
        bound |= new
    return bound


class _Inliner:
    """Expands the rules of some relations at their uses."""

    def __init__(self, rules: list[tree.Rule], names: set[str]) -> None:
        self._names = names
        self._rules = [(head, rule.body) for rule in rules for head in rule.heads if head.name.text in names]
        self._numbers = count(1)

    def items(self, items: tuple[tree.Item, ...]) -> Iterator[tree.Item]:
        """All items, without the relations and rules that are expanded."""
        for item in items:
            match item:
                case tree.Rule(heads=heads, body=body):
                    kept = tuple(head for head in heads if head.name.text not in self._names)
                    if kept:
                        yield replace(item, heads=kept, body=None if body is None else self._formula(body))
                case tree.Declaration(names=names):
                    left = tuple(name for name in names if name.text not in self._names)
                    if left:
                        yield replace(item, names=left)
                case _:
                    yield item

    def _formula(self, formula: tree.Formula, depth: int = 0) -> tree.Formula:
        match formula:
            case tree.Atom(name=name) if name.text in self._names and depth < _DEEPEST:
                return self._use(formula, depth)
            case tree.Conjunction(items=items) | tree.Disjunction(items=items):
                return replace(formula, items=tuple(self._formula(item, depth) for item in items))
            case tree.Negation(operand=operand):
                return replace(formula, operand=self._formula(operand, depth))
            case tree.Comparison(left=left, right=right):
                return replace(formula, left=self._term(left, depth), right=self._term(right, depth))
            case _:
                return formula

    def _term(self, term: tree.Term, depth: int) -> tree.Term:
        if isinstance(term, tree.Aggregate):
            return replace(term, body=self._formula(term.body, depth))
        inside = children(term)
        return rebuilt(term, [self._term(child, depth) for child in inside]) if inside else term

    def _use(self, atom: tree.Atom, depth: int) -> tree.Formula:
        """The expansion of an atom: one of the bodies, with the atom's arguments for the head's."""
        fitting = [(h, b) for h, b in self._rules if h.name == atom.name and len(h.arguments) == len(atom.arguments)]
        bodies = [self._body(atom, head, body, depth) for head, body in fitting]
        return bodies[0] if len(bodies) == 1 else tree.Disjunction(tuple(bodies), span=atom.span)

    def _body(self, atom: tree.Atom, head: tree.Atom, body: tree.Formula | None, depth: int) -> tree.Formula:
        given, rest = dict[str, tree.Term](), list[tuple[tree.Term, tree.Term]]()
        for argument, own in zip(atom.arguments, head.arguments, strict=True):
            if isinstance(argument, tree.Wildcard):
                continue
            if isinstance(own, tree.Variable) and own.name not in given:
                given[own.name] = argument
            else:
                rest.append((argument, own))
        own_names = _Names(given, next(self._numbers))
        equal = [tree.Comparison("=", one, own_names.term(other), span=one.span) for one, other in rest]
        inside = [] if body is None else [self._formula(own_names.formula(body), depth + 1)]
        parts = (*equal, *inside) or (tree.Truth(True, span=atom.span),)
        return parts[0] if len(parts) == 1 else tree.Conjunction(parts, span=atom.span)


@dataclass(frozen=True)
class _Names:
    """The meaning of a rule's variables at a use: an argument, or a fresh variable."""

    given: Mapping[str, tree.Term]
    number: int

    def term(self, term: tree.Term) -> tree.Term:
        """A term of the rule, at the use."""
        match term:
            case tree.Variable(name=name):
                return self.given.get(name) or replace(term, name=f"{name}'{self.number}")
            case tree.Aggregate(target=target, body=body):
                new = None if target is None else self.term(target)
                return replace(term, target=new, body=self.formula(body))
        inside = children(term)
        return rebuilt(term, map(self.term, inside)) if inside else term

    def formula(self, formula: tree.Formula) -> tree.Formula:
        """A formula of the rule, at the use."""
        match formula:
            case tree.Atom(arguments=arguments) | tree.Constraint(arguments=arguments):
                return replace(formula, arguments=tuple(map(self.term, arguments)))
            case tree.Comparison(left=left, right=right):
                return replace(formula, left=self.term(left), right=self.term(right))
            case tree.Negation(operand=operand):
                return replace(formula, operand=self.formula(operand))
            case tree.Conjunction(items=items) | tree.Disjunction(items=items):
                return replace(formula, items=tuple(map(self.formula, items)))
            case tree.Truth():
                return formula
