"""Pass 2b: the type of each record of a rule, from the columns and fields around it, and whether it is taken apart or
made.

A record `[x, y]` does not name its type.  The type comes from the column that it is in, from the variable that it is
equal to, or from the record of which it is a field; otherwise it is the only record type with as many fields.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.errors import Diagnostics
from holdfast.language import tree
from holdfast.program.core import (
    CoreAtom,
    CoreCompare,
    CoreLiteral,
    CoreProgram,
    CoreRange,
    CoreRule,
    CoreTest,
    bound_variables,
    children,
    literal_terms,
    rebuilt,
    shown,
)
from holdfast.program.flatten import STRUCTURED
from holdfast.program.names import Names
from holdfast.program.similar import similar
from holdfast.values.structures import Kind, Structure


def with_record_types(program: CoreProgram, scope: Names, diagnostics: Diagnostics) -> CoreProgram:
    """The program with the type of each record in it."""
    clauses = [(rule.head, *rule.body) for rule in program.rules] + [(fact,) for fact in program.facts]
    written = any(isinstance(t, STRUCTURED) for clause in clauses for literal in clause for t in literal_terms(literal))
    if not written and not scope.types.has_structures:
        return program
    columns = _columns_of_aggregates(program, scope)
    rules = tuple(_Rule(scope, diagnostics, columns).rule(rule) for rule in program.rules)
    facts = tuple(_Rule(scope, diagnostics, columns).fact(fact) for fact in program.facts)
    return replace(program, rules=rules, facts=facts)


ColumnStructures = dict[tuple[str, int], Structure]


def _columns_of_aggregates(program: CoreProgram, scope: Names) -> ColumnStructures:
    """The types of the records in auxiliary relations, which the rules that read and fill them know."""
    columns: ColumnStructures = {}
    known = -1
    while program.aggregates and known != len(columns):
        known = len(columns)
        for rule in program.rules:
            _Rule(scope, Diagnostics(), columns).learn(rule)
        for aggregate in program.aggregates:
            for place, column in enumerate(aggregate.group):
                pair = ((aggregate.predicate, place), (aggregate.source, column))
                for one, other in (pair, pair[::-1]):
                    if other in columns:
                        columns.setdefault(one, columns[other])
    return columns


def directions(body: tuple[CoreLiteral, ...]) -> dict[int, bool]:
    """For each equation with a record, by its identity: True if the record is taken apart, False if it is made.

    It is taken apart if its variable is bound otherwise.  Equations are decided one after the other; a decided one
    binds only in its own direction, so that no two wait for each other.
    """
    found: dict[int, bool] = {}
    for literal in body:
        match literal:
            case CoreCompare("=", tree.Variable(name=name), (tree.Record() | tree.Branch())):
                others = [other for other in body if other is not literal]
                found[id(literal)] = name in bound_variables(others, directions=found)
    return found


class _Rule:
    """Determines the types of the records of one rule, and adds them."""

    def __init__(self, scope: Names, diagnostics: Diagnostics, columns: ColumnStructures) -> None:
        self._scope, self._diagnostics, self._columns = scope, diagnostics, columns
        self._variables: dict[str, Structure] = {}
        self._terms: dict[int, Structure] = {}
        self._clashed: set[str] = set()

    def rule(self, rule: CoreRule) -> CoreRule:
        """A rule with types."""
        self._visit_all((*rule.body, rule.head))
        head = self._typed_atom(rule.head)
        return replace(rule, head=head, body=tuple(self._typed(literal) for literal in rule.body))

    def learn(self, rule: CoreRule) -> None:
        """Note the types of the records that the rule has in auxiliary relations."""
        auxiliary = [a for a in (*rule.body, rule.head) if isinstance(a, CoreAtom) and self._is_auxiliary(a)]
        if auxiliary:
            self._visit_all((*rule.body, rule.head))
        for atom in auxiliary:
            for place, argument in enumerate(atom.arguments):
                if (structure := self._of(argument)) is not None:
                    self._columns.setdefault((atom.predicate, place), structure)

    def _is_auxiliary(self, atom: CoreAtom) -> bool:
        return self._scope.relations[atom.predicate].auxiliary

    def _visit_all(self, literals: tuple[CoreLiteral, ...]) -> None:
        known = -1
        while known != len(self._variables) + len(self._terms):
            known = len(self._variables) + len(self._terms)
            for literal in literals:
                self._visit(literal)

    def fact(self, fact: CoreAtom) -> CoreAtom:
        """A fact with types."""
        self._visit(fact)
        return self._typed_atom(fact)

    # --- what is known ---

    def _visit(self, literal: CoreLiteral) -> None:
        for term in literal_terms(literal):
            self._visit_casts(term)
        match literal:
            case CoreAtom(predicate=predicate, arguments=arguments):
                names = self._scope.relations[predicate].type_names
                for place, (argument, name) in enumerate(zip(arguments, names, strict=True)):
                    known = self._columns.get((predicate, place))
                    self._is(argument, known if name is None else self._scope.types.structure(name))
            case CoreCompare(operator="=" | "!=", left=left, right=right):
                self._is(left, self._of(right))
                self._is(right, self._of(left))

    def _visit_casts(self, term: tree.Term) -> None:
        if isinstance(term, tree.Cast):
            self._is(term.operand, self._scope.types.structure(term.type_name))
        for inside in children(term):
            self._visit_casts(inside)

    def _of(self, term: tree.Term) -> Structure | None:
        match term:
            case tree.Variable(name=name):
                return self._variables.get(name)
            case tree.Branch(name=name):
                return self._scope.types.structure(self._scope.types.branches.get(name, ""))
            case tree.Cast(type_name=name):
                return self._scope.types.structure(name)
            case _:
                return self._terms.get(id(term))

    def _is(self, term: tree.Term, structure: Kind | None) -> None:
        """Record that a term is of a type, and so its fields."""
        if isinstance(term, tree.Branch) and isinstance(structure, Structure):
            self._clash(term, self._of(term), structure)
        structure = self._of(term) or structure if isinstance(term, tree.Branch) else structure
        if not isinstance(structure, Structure):
            return
        match term:
            case tree.Variable(name=name):
                self._clash(term, self._variables.setdefault(name, structure), structure)
            case tree.Record() | tree.Branch():
                self._terms.setdefault(id(term), structure)
                branch = term.name if isinstance(term, tree.Branch) else ""
                for inside, kind in zip(term.fields, structure.branches.get(branch, ()), strict=False):
                    self._is(inside, kind if isinstance(kind, Structure) else None)

    def _clash(self, term: tree.Variable | tree.Branch, known: Structure | None, other: Structure) -> None:
        what = f"${term.name}" if isinstance(term, tree.Branch) else shown(term)
        if known is not None and known is not other and what not in self._clashed:
            self._clashed.add(what)
            message = f"{what} is of type {known.name}, but {other.name} is needed here"
            self._diagnostics.error("E0402", message, term.span)

    # --- what is written ---

    def _typed(self, literal: CoreLiteral) -> CoreLiteral:
        match literal:
            case CoreAtom():
                return self._typed_atom(literal)
            case CoreCompare(left=left, right=right):
                return replace(literal, left=self._term(left), right=self._term(right))
            case CoreTest(arguments=arguments):
                return replace(literal, arguments=tuple(map(self._term, arguments)))
            case CoreRange():
                return literal

    def _typed_atom(self, atom: CoreAtom) -> CoreAtom:
        return replace(atom, arguments=tuple(map(self._term, atom.arguments)))

    def _term(self, term: tree.Term) -> tree.Term:
        inside = children(term)
        new = rebuilt(term, map(self._term, inside)) if inside else term
        match new:
            case tree.Record(fields=fields):
                structure = self._terms.get(id(term)) or self._guess(term, fields)
                if structure is None:
                    return new
                self._check(term, structure.branches.get("", ()), len(fields), structure.name)
                return replace(new, type_name=structure.name)
            case tree.Branch(name=name, fields=fields):
                self._check_branch(name, len(fields), term)
        return new

    def _guess(self, term: tree.Term, fields: tuple[tree.Term, ...]) -> Structure | None:
        """The record type that fits, if there is only one, or if all that fit hold the same."""
        arity = len(fields)
        fitting = [each for each in self._scope.types.records if self._fits(fields, each.branches[""])]
        if len({each.branches[""] for each in fitting}) == 1:
            return fitting[0]
        listed = ", ".join(sorted(each.name for each in fitting))
        what = f"it may be any of {listed}" if fitting else f"no record type with {_counted(arity)} fits"
        help = "choose one with as([…], T)" if fitting else "declare one: .type T = [x: number, …]"
        self._diagnostics.error("E0411", f"the type of this record is not known: {what}", term.span, help=help)
        return None

    def _fits(self, fields: tuple[tree.Term, ...], kinds: tuple[Kind, ...]) -> bool:
        known = [(self._of(inside), kind) for inside, kind in zip(fields, kinds, strict=False)]
        return len(fields) == len(kinds) and all(of is None or of is kind for of, kind in known)

    def _check_branch(self, name: str, given: int, term: tree.Term) -> None:
        owner = self._scope.types.branches.get(name)
        structure = self._scope.types.structure(owner) if owner is not None else None
        if structure is None:
            known = [f"${branch}" for branch in self._scope.types.branches]
            message = f"there is no branch ${name} of an algebraic data type"
            self._diagnostics.error("E0220", message, term.span, help=similar(f"${name}", known))
        else:
            self._check(term, structure.branches[name], given, f"${name}")

    def _check(self, term: tree.Term, kinds: tuple[Kind, ...], given: int, name: str) -> None:
        if len(kinds) != given:
            message = f"{name} has {_counted(len(kinds))}, but {given} {'is' if given == 1 else 'are'} given"
            self._diagnostics.error("E0411", message, term.span)


def _counted(fields: int) -> str:
    return "1 field" if fields == 1 else f"{fields} fields"
