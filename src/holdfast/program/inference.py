"""Pass 3a: determines which columns, variables and terms must have the same type, and the evidence for each."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.deadline import look_at_the_clock
from holdfast.errors import Diagnostics
from holdfast.language import tree
from holdfast.program.core import (
    CoreAggregate,
    CoreAtom,
    CoreCompare,
    CoreLimit,
    CoreLiteral,
    CoreProgram,
    CoreRange,
    CoreTest,
    source_text,
)
from holdfast.program.evidence import Classes, Strength
from holdfast.program.functors import FUNCTORS, NUMERIC, ORDERED, TESTS, UNARY_OPERATORS, Functor
from holdfast.program.names import Names
from holdfast.program.records import directions
from holdfast.values import Type
from holdfast.values.structures import Structure

Hints = Mapping[tuple[str, int], Type]
_LITERAL_TYPES = {
    tree.NumberKind.NUMBER: Type.NUMBER,
    tree.NumberKind.UNSIGNED: Type.UNSIGNED,
    tree.NumberKind.FLOAT: Type.FLOAT,
}
FACTS = -1  # stands for the rule in the keys of facts' terms


class Inference:
    """The types of everything in a program.  A term is identified by its rule and its identity."""

    def __init__(self, program: CoreProgram, scope: Names, hints: Hints, diagnostics: Diagnostics) -> None:
        self._scope = scope
        self._classes = Classes(diagnostics)
        self._links: list[tuple[int, int]] = []
        self._rule = FACTS
        self._makes = False  # whether the records that are met are made, not taken apart
        for fact in program.facts:
            self._head(fact)
        for index, rule in enumerate(program.rules):
            self._rule = index
            apart = directions(rule.body)
            for literal in rule.body:
                look_at_the_clock()
                self._makes = not apart.get(id(literal), True)
                self._literal(literal)
            self._head(rule.head)
            if rule.limit is not None:
                self._limit(rule.head, rule.limit)
        for aggregate in program.aggregates:
            self._aggregate(aggregate)
        self._add_hints(hints)
        self._follow_links()

    # --- answers ---

    def column(self, predicate: str, index: int) -> Type:
        """The type of a relation's column."""
        declared = self._scope.relations[predicate].type_names[index]
        if declared is not None:
            return self._scope.types.base(declared)
        return self._classes.type_of(self._column_node(predicate, index))

    def term(self, rule: int, term: tree.Term) -> Type:
        """The type of a term in a rule."""
        return self._classes.type_of(self._node(rule, term))

    def reason(self, rule: int, term: tree.Term) -> str | None:
        """The reason for a term's type, in the user's words."""
        why = self._classes.why(self._node(rule, term))
        return why.reason if why is not None else None

    def clashed(self, rule: int, term: tree.Term) -> bool:
        """Whether the conflict of a term's type has been reported."""
        return self._classes.clashed(self._node(rule, term))

    def column_clashed(self, predicate: str, index: int) -> bool:
        """Whether the conflict of a column's type has been reported."""
        return self._classes.clashed(self._column_node(predicate, index))

    # --- gathering ---

    def _node(self, rule: int, term: tree.Term) -> int:
        key = (rule, term.name) if isinstance(term, tree.Variable) else (rule, id(term))
        return self._classes.node(key)

    def _column_node(self, predicate: str, index: int) -> int:
        node = self._classes.node((predicate, index, "column"))
        if self._scope.relations[predicate].is_rdf:
            self._classes.allow_mixing(node)
        return node

    def _add_hints(self, hints: Hints) -> None:
        for (predicate, index), type in hints.items():
            relation = self._scope.relations.get(predicate)
            if relation is not None and index < relation.arity and relation.type_names[index] is None:
                self._classes.add(self._column_node(predicate, index), Strength.HINT, type, None, "the data")

    def _follow_links(self) -> None:
        """Let a comparison unite two types, unless both have stronger evidence."""
        for first, second in self._links:
            if not (self._classes.has_strong_evidence(first) and self._classes.has_strong_evidence(second)):
                self._classes.unite(first, second)

    def _literal(self, literal: CoreLiteral) -> None:
        match literal:
            case CoreAtom(negated=False):
                self._atom(literal, Strength.BIND)
            case CoreAtom():
                self._atom(literal, Strength.DEMAND)
            case CoreCompare(operator=operator, left=left, right=right):
                first, second = self._term(left), self._term(right)
                if operator == "=":
                    self._classes.unite(first, second)
                else:
                    self._links.append((first, second))
                if operator not in ("=", "!="):
                    self._classes.add(first, Strength.ORDERED, Type.NUMBER, left.span, f"{operator} needs an order")
            case CoreTest(function=function, arguments=arguments):
                self._functor(TESTS[function], arguments)
            case CoreRange(variable=variable, bounds=bounds):
                node = self._term(variable)
                self._classes.add(node, Strength.NUMERIC, Type.NUMBER, literal.span, "range gives numbers")
                for bound in bounds:
                    self._classes.unite(node, self._term(bound))

    def _head(self, atom: CoreAtom) -> None:
        self._atom(atom, Strength.DEMAND)

    def _atom(self, atom: CoreAtom, strength: Strength) -> None:
        relation = self._scope.relations[atom.predicate]
        self._makes = strength is Strength.DEMAND
        for index, argument in enumerate(atom.arguments):
            if isinstance(argument, tree.Wildcard):
                continue
            node = self._term(argument)
            declared = relation.type_names[index]
            if declared is None:
                self._classes.unite(node, self._column_node(atom.predicate, index))
            else:
                reason = f"the column {relation.columns[index]} of {relation.display} is {declared}"
                self._classes.add(node, strength, self._scope.types.base(declared), argument.span, reason)

    def _term(self, term: tree.Term) -> int:
        node = self._node(self._rule, term)
        match term:
            case tree.Number(kind=kind):
                type = _LITERAL_TYPES[kind]
                reason = f"{source_text(term.span)} is {type.a_value}"
                self._classes.add(node, Strength.LITERAL, type, term.span, reason)
            case tree.String():
                reason = f"{source_text(term.span)} is a string"
                self._classes.add(node, Strength.LITERAL, Type.SYMBOL, term.span, reason)
            case tree.IriTerm() | tree.PrefixedName() | tree.RdfLiteral():
                reason = f"{source_text(term.span)} is an RDF term"
                self._classes.add(node, Strength.TERM, Type.ANY, term.span, reason)
            case tree.Nil():
                self._classes.add(node, Strength.DEMAND, Type.RECORD, term.span, "nil is a record")
            case tree.Record(fields=fields, type_name=name):
                self._record(term, fields, self._scope.types.structure(name), "", node)
            case tree.Branch(name=name, fields=fields):
                owner = self._scope.types.branches.get(name, "")
                self._record(term, fields, self._scope.types.structure(owner), name, node)
            case tree.Unary(operator="-", operand=tree.Number() as number):
                self._classes.unite(node, self._term(number))
            case tree.Unary(operator=operator, operand=operand):
                self._functor(FUNCTORS[UNARY_OPERATORS[operator]], (operand,), term)
            case tree.Binary(operator=operator, left=left, right=right):
                self._functor(FUNCTORS[operator], (left, right), term)
            case tree.Call(function=function, arguments=arguments) if function in self._scope.functors:
                self._functor(self._scope.functors[function], arguments, term)
            case tree.Cast(operand=operand, type_name=type_name):
                self._links.append((self._term(operand), node))
                base = self._scope.types.base(type_name)
                self._classes.add(node, Strength.BIND, base, term.span, f"the cast gives {type_name}")
        return node

    def _record(
        self, term: tree.Term, fields: tuple[tree.Term, ...], structure: Structure | None, branch: str, node: int
    ) -> None:
        """A record and its fields, which have the types that the record's type declares."""
        self._classes.add(node, Strength.BIND, Type.RECORD, term.span, f"{source_text(term.span)} is a record")
        kinds = structure.branches.get(branch, ()) if structure is not None else ()
        for number, inside in enumerate(fields):
            place = self._term(inside)
            if number < len(kinds) and structure is not None:
                kind = kinds[number]
                type = Type.RECORD if isinstance(kind, Structure) else kind
                reason = f"field {number + 1} of {f'${branch}' if branch else structure.name} is {kind.value}"
                binds = isinstance(inside, tree.Variable) and not self._makes
                strength = Strength.BIND if binds else Strength.DEMAND
                self._classes.add(place, strength, type, inside.span, reason)

    def _functor(self, functor: Functor, arguments: tuple[tree.Term, ...], result: tree.Term | None = None) -> None:
        for index, argument in enumerate(arguments):
            node = self._term(argument)
            wanted = functor.parameter(index)
            if len(wanted) == 1:
                [type] = wanted
                reason = f"{functor.name} takes {type.a_value}"
                self._classes.add(node, Strength.DEMAND, type, argument.span, reason)
            elif wanted <= NUMERIC:
                reason = f"{functor.name} takes numbers"
                self._classes.add(node, Strength.NUMERIC, Type.NUMBER, argument.span, reason)
            elif wanted <= ORDERED:
                reason = f"{functor.name} takes values with an order"
                self._classes.add(node, Strength.ORDERED, Type.NUMBER, argument.span, reason)
            if functor.result is None and result is not None:
                self._classes.unite(node, self._node(self._rule, result))
        if functor.result is not None and result is not None:
            reason = f"{functor.name} gives {functor.result.a_value}"
            self._classes.add(self._node(self._rule, result), Strength.BIND, functor.result, result.span, reason)

    def _limit(self, head: CoreAtom, limit: CoreLimit) -> None:
        if self._scope.relations[head.predicate].type_names[limit.column] is None:
            node = self._column_node(head.predicate, limit.column)
            self._classes.add(node, Strength.ORDERED, Type.NUMBER, limit.span, f"{limit.function} needs an order")

    def _aggregate(self, aggregate: CoreAggregate) -> None:
        for position, column in enumerate(aggregate.group):
            self._same(aggregate, position, column)
        position = len(aggregate.group)
        result = self._column_node(aggregate.predicate, position)
        function = aggregate.function
        if aggregate.target is not None and function in ("sum", "min", "max"):
            self._same(aggregate, position, aggregate.target)
        else:
            type = Type.NUMBER if function == "count" else Type.FLOAT
            self._classes.add(result, Strength.BIND, type, aggregate.span, f"{function} gives {type.a_value}")
        declared = self._scope.relations[aggregate.source].type_names
        if aggregate.target is not None and declared[aggregate.target] is None:
            node = self._column_node(aggregate.source, aggregate.target)
            if function in ("min", "max"):
                self._classes.add(node, Strength.ORDERED, Type.NUMBER, aggregate.span, f"{function} needs an order")
            else:
                self._classes.add(node, Strength.NUMERIC, Type.NUMBER, aggregate.span, f"{function} takes numbers")

    def _same(self, aggregate: CoreAggregate, position: int, column: int) -> None:
        relation = self._scope.relations[aggregate.source]
        node = self._column_node(aggregate.predicate, position)
        declared = relation.type_names[column]
        if declared is None:
            self._classes.unite(node, self._column_node(aggregate.source, column))
        else:
            reason = f"the column {relation.columns[column]} of {relation.display} is {declared}"
            self._classes.add(node, Strength.BIND, self._scope.types.base(declared), aggregate.span, reason)
