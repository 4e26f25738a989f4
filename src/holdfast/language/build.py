"""Build the syntax tree from the parser's reductions.

Terms and formulas share grammar rules.  Here, where the context is known, each is converted to what its place needs;
otherwise a diagnostic names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, TypeAlias

from holdfast.deadline import look_at_the_clock
from holdfast.errors import Diagnostics, SourceText, Span
from holdfast.language import refused, tree
from holdfast.language.descriptions import described
from holdfast.language.foreign import NO_BOOLEANS
from holdfast.language.literals import LARGEST, integer, number_kind, range_mistake, unescape
from holdfast.language.mistakes import Mistake
from holdfast.language.operators import LEVELS, UNARY, right_level
from holdfast.language.token import Token
from holdfast.language.vocabulary import AGGREGATES

CONSTRAINTS: Final = frozenset({"match", "contains"})
_FORMULAS: Final = (
    tree.Atom,
    tree.Negation,
    tree.Comparison,
    tree.Constraint,
    tree.Truth,
    tree.Conjunction,
    tree.Disjunction,
)

Expression: TypeAlias = tree.Term | tree.Formula
# The values of a reduction: tokens and nodes in the order of the grammar rule, which determines their kinds.
Children: TypeAlias = list[Any]


class Builder:
    """The callbacks of the grammar's rules; each has the name of its rule."""

    def __init__(self, source: SourceText, diagnostics: Diagnostics) -> None:
        self._source, self._diagnostics = source, diagnostics
        self._loose: dict[int, tree.Call] = {}  # `count(t)`, `max(t)` by id: valid only as an argument of a head
        self._edge: dict[int, tree.Number] = {}  # 2^63 by id: valid only after a minus

    def _span(self, first: Token | tree.Node, last: Token | tree.Node) -> Span:
        start = first if isinstance(first, Token) else first.span
        end = last if isinstance(last, Token) else last.span
        return Span(self._source, start.line, start.column, end.end_line, end.end_column)

    def _here(self, token: Token) -> Span:
        return Span(self._source, token.line, token.column, token.end_line, token.end_column)

    # --- items ---

    def program(self, children: Children) -> tree.Program:
        """All items."""
        return tree.Program(tuple(children), self._source)

    def query(self, children: Children) -> tree.Formula:
        """A body on its own."""
        formula = self._formula(children[0])
        self._finish_clause()
        return formula

    def declaration(self, children: Children) -> tree.Declaration:
        """`.decl a, b(x: number) btree`."""
        names, attributes = children[1], children[3] if isinstance(children[3], tuple) else ()
        qualifiers = [c for c in children[4:] if isinstance(c, Token) and c.type == "QUALIFIER"]
        choices = [key for c in children[4:] if isinstance(c, list) for key in c]
        last = next(c for c in reversed(children) if isinstance(c, Token))
        span = self._span(children[0], last)
        return tree.Declaration(names, attributes, tuple(map(str, qualifiers)), tuple(choices), span=span)

    def choice(self, children: Children) -> list[tuple[str, ...]]:
        """`choice-domain x, (y, z)`."""
        return list(children[1::2])

    def choice_key(self, children: Children) -> tuple[str, ...]:
        """`x`, `(y, z)`."""
        return tuple(str(c) for c in children if c.type == "IDENT")

    def names(self, children: Children) -> tuple[tree.Name, ...]:
        """`a, b`."""
        return tuple(children[::2])

    def name(self, children: Children) -> tree.Name:
        """The name of a relation."""
        return self._name(children[0])

    def _name(self, token: Token) -> tree.Name:
        span = self._here(token)
        match token.type:
            case "IDENT":
                return tree.Name(str(token), span=span)
            case "PREFIXED":
                return tree.Name(str(token), tree.NameKind.PREFIXED, span=span)
            case "IRI":
                return tree.Name(token[1:-1], tree.NameKind.IRI, span=span)
            case _:
                return tree.Name(token[1:-1].replace("''", "'"), tree.NameKind.QUOTED, span=span)

    def attributes(self, children: Children) -> tuple[tree.Attribute, ...]:
        """`x: number, y: symbol`."""
        return tuple(children[::2])

    def attribute(self, children: Children) -> tree.Attribute:
        """`x: number`."""
        return tree.Attribute(str(children[0]), str(children[2]), span=self._span(children[0], children[2]))

    def type_declaration(self, children: Children) -> tree.TypeDeclaration:
        """`.type A <: symbol`, `.type A = B | C`."""
        targets = tuple(str(c) for c in children[3::2])
        return tree.TypeDeclaration(
            str(children[1]), children[2].type == "SUBTYPE", targets, span=self._span(children[0], children[-1])
        )

    def base_type(self, children: Children) -> tree.TypeDeclaration:
        """`.type A`, `.number_type A`."""
        base = "number" if children[0] == ".number_type" else "symbol"
        legacy = children[0] != ".type"
        return tree.TypeDeclaration(str(children[1]), True, (base,), legacy, span=self._span(children[0], children[1]))

    def record_declaration(self, children: Children) -> tree.RecordDeclaration:
        """`.type A = [x: number]`."""
        fields = children[4] if isinstance(children[4], tuple) else ()
        return tree.RecordDeclaration(str(children[1]), fields, span=self._span(children[0], children[-1]))

    def branch_declaration(self, children: Children) -> tree.BranchDeclaration:
        """`Cons {head: number}`."""
        fields = children[2] if isinstance(children[2], tuple) else ()
        return tree.BranchDeclaration(str(children[0]), fields, span=self._span(children[0], children[-1]))

    def variant_declaration(self, children: Children) -> tree.VariantDeclaration:
        """`.type A = B {} | C {x: A}`."""
        span = self._span(children[0], children[-1])
        return tree.VariantDeclaration(str(children[1]), tuple(children[3::2]), span=span)

    def functor(self, children: Children) -> tree.FunctorDeclaration:
        """`.functor f(number): symbol`."""
        parameters = tuple(c for c in children if type(c) is str)
        stateful = children[-1] == "stateful"
        result = str(children[-2] if stateful else children[-1])
        span = self._span(children[0], children[-1])
        return tree.FunctorDeclaration(str(children[1]), parameters, result, stateful, span=span)

    def parameter_type(self, children: Children) -> str:
        """`x: number`, `number`."""
        return str(children[-1])

    def plan(self, children: Children) -> tree.PlanDirective:
        """`.plan 0:(2,1)`."""
        return tree.PlanDirective(tuple(children[1::2]), span=self._here(children[0]))

    def order(self, children: Children) -> tuple[int, tuple[int, ...]]:
        """`0:(2,1)`."""
        numbers = [int(c) for c in children if c.type == "NUMBER" and c.isdigit()]
        return numbers[0] if numbers else 0, tuple(numbers[1:])

    def component(self, children: Children) -> tree.Component:
        """`.comp A<T> : B<T> { … }`."""
        types = [c for c in children if isinstance(c, tree.ComponentType)]
        items = tuple(c for c in children[1:] if isinstance(c, tree.Node) and not isinstance(c, tree.ComponentType))
        span = self._span(children[0], children[-1])
        return tree.Component(types[0], tuple(types[1:]), items, span=span)  # type: ignore[arg-type]

    def component_type(self, children: Children) -> tree.ComponentType:
        """`A<T, U>`."""
        arguments = tuple(map(str, children[2::2]))
        return tree.ComponentType(str(children[0]), arguments, span=self._span(children[0], children[-1]))

    def init(self, children: Children) -> tree.Init:
        """`.init a = A<T>`."""
        return tree.Init(str(children[1]), children[3], span=self._span(children[0], children[3]))

    def override(self, children: Children) -> tree.Override:
        """`.override p`."""
        return tree.Override(str(children[1]), span=self._span(children[0], children[1]))

    def directive(self, children: Children) -> tree.Directive:
        """`.input a, b(IO=file)`."""
        parameters = tuple(c for c in children if isinstance(c, tree.Parameter))
        last = children[1][-1] if len(children) == 2 else children[-1]
        return tree.Directive(children[0][1:], children[1], parameters, span=self._span(children[0], last))

    def parameter(self, children: Children) -> tree.Parameter:
        """`delimiter=","`."""
        value = children[2]
        text = self._unescape(value) if value.type == "STRING" else str(value)
        return tree.Parameter(str(children[0]), text, span=self._span(children[0], value))

    def pragma(self, children: Children) -> tree.Pragma:
        """`.pragma "key" "value"`."""
        values = [self._unescape(c) for c in children[1:]]
        return tree.Pragma(*values, span=self._span(children[0], children[-1]))

    def prefix(self, children: Children) -> tree.Prefix:
        """`@prefix ex: <http://example.org/> .`"""
        label = str(children[1]) if children[1].type == "IDENT" else ""
        return tree.Prefix(label, children[-2][1:-1], span=self._span(children[0], children[-1]))

    def rule(self, children: Children) -> tree.Rule | tree.Subsumption:
        """`h1, h2 :- body.`"""
        look_at_the_clock()
        attributes = tuple(c for c in children if isinstance(c, tree.RuleAttribute))
        clause = children[len(attributes) :]
        heads = clause[0].items if isinstance(clause[0], tree.Conjunction) else (clause[0],)
        body = self._formula(clause[2]) if len(clause) == 4 else None
        match clause[0]:
            case tree.Comparison("<=", tree.Call() as worse, tree.Call() as better) if body is not None:
                self._finish_clause()
                return tree.Subsumption(self._head(worse), self._head(better), body, span=clause[0].span)
        atoms, span = tuple(map(self._head, heads)), self._span(children[0], children[-1])
        if body is None and any(_has_aggregate(argument) for atom in atoms for argument in atom.arguments):
            body = tree.Truth(True, span=span)  # an aggregate has to be derived, so this is a rule
        rule = tree.Rule(atoms, body, attributes, span=span)
        self._finish_clause()
        return rule

    def rule_attribute(self, children: Children) -> tree.RuleAttribute:
        """`#[name("r1")]`."""
        span = self._span(children[0], children[-1])
        return tree.RuleAttribute(str(children[1]), self._unescape(children[3]), span=span)

    # --- formulas ---

    def disjunction(self, children: Children) -> tree.Disjunction:
        """`f ; g`."""
        items = _flat(tree.Disjunction, map(self._formula, children[::2]))
        return tree.Disjunction(items, span=self._span(children[0], children[-1]))

    def conjunction(self, children: Children) -> tree.Conjunction:
        """`f, g`; in a head, `rule` checks the items."""
        items = _flat(tree.Conjunction, map(self._formula, children[::2]))
        return tree.Conjunction(items, span=self._span(children[0], children[-1]))

    def negation(self, children: Children) -> tree.Negation:
        """`!f`."""
        return tree.Negation(self._formula(children[1]), span=self._span(children[0], children[1]))

    def comparison(self, children: Children) -> tree.Comparison:
        """`x < y`."""
        left, operator, right = children
        return tree.Comparison(operator.value, self._term(left), self._term(right), span=self._span(left, right))

    def truth(self, children: Children) -> tree.Truth:
        """`true`, `false`."""
        return tree.Truth(children[0] == "true", span=self._here(children[0]))

    def atom(self, children: Children) -> tree.Atom:
        """An atom that cannot be a functor: `ex:knows(x, y)`, `'a:b'(x)`."""
        arguments = children[2] if len(children) == 4 else ()
        return tree.Atom(self._name(children[0]), arguments, span=self._span(children[0], children[-1]))

    def braces(self, children: Children) -> tree.Formula:
        """`{ body }` of an aggregate."""
        return self._formula(children[1])

    def parenthesis(self, children: Children) -> Expression:
        """`( … )`, around a term or a formula."""
        inside: Expression = children[1]
        if isinstance(inside, (tree.Binary, tree.Unary)):  # a surrounding term's span must include the parentheses
            return replace(inside, span=self._span(children[0], children[2]))
        return inside

    # --- terms ---

    def arguments(self, children: Children) -> tuple[tree.Term, ...]:
        """`x, 1`."""
        return tuple(map(self._term, children[::2]))

    def variable(self, children: Children) -> tree.Variable | tree.Nil:
        """`x`."""
        if children[0] == "nil":
            return tree.Nil(span=self._here(children[0]))
        if "." in children[0]:
            help = "a dotted name is a relation of a component and has arguments: a.b(x)"
            message = f"{children[0]} is used where a value is needed"
            self._diagnostics.error("E0110", message, self._here(children[0]), help=help)
        return tree.Variable(str(children[0]), span=self._here(children[0]))

    def wildcard(self, children: Children) -> tree.Wildcard:
        """`_`."""
        return tree.Wildcard(span=self._here(children[0]))

    def number(self, children: Children) -> tree.Number:
        """A literal; its range is checked here, except for 2^63, which a minus makes valid."""
        token = children[0]
        kind, text = number_kind(token)
        number = tree.Number(text, kind, span=self._here(token))
        mistake = range_mistake(number)
        if kind is tree.NumberKind.NUMBER and integer(text) == LARGEST + 1:
            self._edge[id(number)] = number
        elif mistake:
            mistake.report(self._diagnostics, number.span)
        return number

    def string(self, children: Children) -> tree.String:
        """`"text"`."""
        return tree.String(self._unescape(children[0]), span=self._here(children[0]))

    def language_literal(self, children: Children) -> tree.RdfLiteral:
        """`"chat"@fr`."""
        text, language = children
        return tree.RdfLiteral(self._unescape(text), language=language[1:], span=self._span(text, language))

    def typed_literal(self, children: Children) -> tree.RdfLiteral:
        """`"1"^^xsd:byte`."""
        text, datatype = children[0], children[2]
        term = self.iri([datatype]) if datatype.type == "IRI" else self.prefixed([datatype])
        return tree.RdfLiteral(self._unescape(text), term, span=self._span(text, datatype))

    def iri(self, children: Children) -> tree.IriTerm:
        """`<http://…>`."""
        return tree.IriTerm(children[0][1:-1], span=self._here(children[0]))

    def prefixed(self, children: Children) -> tree.PrefixedName:
        """`ex:alice`."""
        prefix, _, local = children[0].partition(":")
        return tree.PrefixedName(prefix, local, span=self._here(children[0]))

    def quoted(self, children: Children) -> tree.String:
        """`'text'` without arguments: a mistake of users of other languages."""
        token, text = children[0], children[0][1:-1].replace("''", "'")
        self._diagnostics.error(
            "E0109",
            "a name in single quotes must be followed by its arguments",
            self._here(token),
            help=f'write a string constant in double quotes: "{text}"',
        )
        return tree.String(text, span=self._here(token))

    def term(self, children: Children) -> tree.Term:
        """`-x + y * z`: group the signs, operators and operands."""
        return self._climb(children[::-1], 0)

    def _climb(self, rest: Children, least: int) -> tree.Term:
        """Take operands off the end of `rest` as long as operators bind at least this tightly."""
        first = rest.pop()
        left = self._unary(first, self._climb(rest, UNARY)) if isinstance(first, Token) else self._term(first)
        while rest and LEVELS[rest[-1]] >= least:
            operator = str(rest.pop())
            right = self._climb(rest, right_level(operator))
            left = tree.Binary(operator, left, right, span=self._span(left, right))
        return left

    def _unary(self, operator: Token, operand: tree.Term) -> tree.Unary:
        if operator == "-":
            self._edge.pop(id(operand), None)
        return tree.Unary(str(operator), operand, span=self._span(operator, operand))

    def call(self, children: Children) -> tree.Call:
        """`f(x)`: a functor, or an atom where a formula is needed."""
        name, arguments = children[0], children[2] if len(children) == 4 else ()
        call = tree.Call(str(name), arguments, span=self._span(name, children[-1]))
        if name in AGGREGATES and len(arguments) == 1:
            self._loose[id(call)] = call
        if name == "autoinc":
            refused.COUNTERS.report(self._diagnostics, call.span)
        return call

    def record(self, children: Children) -> tree.Record:
        """`[x, y]`."""
        fields = children[1] if len(children) == 3 else ()
        return tree.Record(fields, span=self._span(children[0], children[-1]))

    def branch(self, children: Children) -> tree.Branch:
        """`$Cons(x, y)`, `$Nil`."""
        fields = children[3] if len(children) == 5 else ()
        return tree.Branch(str(children[1]), fields, span=self._span(children[0], children[-1]))

    def counter(self, children: Children) -> tree.Wildcard:
        """`$`."""
        refused.COUNTERS.report(self._diagnostics, self._here(children[0]))
        return tree.Wildcard(span=self._here(children[0]))

    def user_call(self, children: Children) -> tree.Call:
        """`@f(x)`."""
        arguments = children[2] if len(children) == 4 else ()
        return tree.Call(str(children[0]), arguments, span=self._span(children[0], children[-1]))

    def cast(self, children: Children) -> tree.Cast:
        """`as(x, T)`."""
        return tree.Cast(self._term(children[2]), str(children[4]), span=self._span(children[0], children[-1]))

    def aggregate(self, children: Children) -> tree.Aggregate:
        """`sum e : { body }`."""
        target = self._term(children[1]) if len(children) == 4 else None
        body = self._formula(children[-1])
        return tree.Aggregate(str(children[0]), target, body, span=self._span(children[0], children[-1]))

    # --- converting to what a place needs ---

    def _term(self, node: Expression) -> tree.Term:
        if not isinstance(node, _FORMULAS):
            return node
        help = NO_BOOLEANS if isinstance(node, tree.Truth) else None
        self._diagnostics.error("E0110", f"{described(node)} is used where a value is needed", node.span, help=help)
        return tree.Wildcard(span=node.span)

    def _formula(self, node: Expression) -> tree.Formula:
        match node:
            case tree.Call(function, arguments) if function in CONSTRAINTS:
                return tree.Constraint(function, arguments, span=node.span)
            case tree.Call():
                return self._call_atom(node)
            case _ if isinstance(node, _FORMULAS):
                return node
        help = f"an atom without arguments is written {node.name}()" if isinstance(node, tree.Variable) else None
        self._diagnostics.error(
            "E0111", f"{described(node)} is used where an atom or a comparison is needed", node.span, help=help
        )
        return tree.Atom(tree.Name("", span=node.span), (), span=node.span)

    def _call_atom(self, call: tree.Call) -> tree.Atom:
        self._loose.pop(id(call), None)
        start = call.span
        place = Span(self._source, start.line, start.column, start.line, start.column + len(call.function))
        return tree.Atom(tree.Name(call.function, span=place), call.arguments, span=call.span)

    def _head(self, node: Expression) -> tree.Atom:
        match node:
            case tree.Call():
                return self._head(self._call_atom(node))
            case tree.Atom(name, arguments):
                return tree.Atom(name, tuple(map(self._head_argument, arguments)), span=node.span)
            case tree.Variable(name):
                self._diagnostics.error(
                    "E0112",
                    f"a head is an atom, but {name} has no arguments",
                    node.span,
                    help=f"an atom without arguments is written {name}()",
                )
            case _:
                self._diagnostics.error(
                    "E0112",
                    f"a head is an atom, but this is {described(node)}",
                    node.span,
                    help="a rule is written `head(x) :- body(x).`, a fact `relation(1).`",
                )
        return tree.Atom(tree.Name("", span=node.span), (), span=node.span)

    def _head_argument(self, term: tree.Term) -> tree.Term:
        if isinstance(term, tree.Call) and self._loose.pop(id(term), None) is not None:
            return tree.HeadAggregate(term.function, term.arguments[0], span=term.span)
        return term

    def _finish_clause(self) -> None:
        """Report expressions that are valid only in another place."""
        for call in self._loose.values():
            self._diagnostics.error(
                "E0113",
                f"{call.function}(…) of one value can only be a whole argument of a head",
                call.span,
                help=f"in a body write `{call.function}{' x' if call.function != 'count' else ''} : {{ … }}`",
            )
        for number in self._edge.values():
            mistake = range_mistake(number)
            assert mistake is not None
            mistake.report(self._diagnostics, number.span)
        self._loose, self._edge = {}, {}

    def _unescape(self, token: Token) -> str:
        if "\\" not in token:
            return token[1:-1]
        line, column = token.line or 1, (token.column or 1) + 1

        def report(mistake: Mistake, offset: int, length: int) -> None:
            span = Span(self._source, line, column + offset, line, column + offset + length)
            mistake.report(self._diagnostics, span)

        return unescape(token[1:-1], report)


def _has_aggregate(term: tree.Term) -> bool:
    match term:
        case tree.Aggregate():
            return True
        case tree.Unary(operand=operand) | tree.Cast(operand=operand):
            return _has_aggregate(operand)
        case tree.Binary(left=left, right=right):
            return _has_aggregate(left) or _has_aggregate(right)
        case tree.Call(arguments=inside) | tree.Record(fields=inside) | tree.Branch(fields=inside):
            return any(map(_has_aggregate, inside))
        case _:
            return False


def _flat(
    kind: type[tree.Conjunction] | type[tree.Disjunction],
    items: Iterable[tree.Formula],
) -> tuple[tree.Formula, ...]:
    """The items, with nested formulas of the same kind flattened."""
    return tuple(part for item in items for part in (item.items if isinstance(item, kind) else (item,)))
