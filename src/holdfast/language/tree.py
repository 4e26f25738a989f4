"""The syntax tree: exactly what was written.  Immutable, with the span of every node.

Spans are ignored by equality, so that `parse(print(tree)) == tree` holds.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TypeAlias

from holdfast.errors import SourceText, Span
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class Node:
    """Anything with a position in a source."""

    span: Span = field(compare=False, repr=False, kw_only=True)


# --- names -------------------------------------------------------------------------------------------


class NameKind(Enum):
    """How a relation's name was written."""

    PLAIN = "plain"  # edge
    QUOTED = "quoted"  # 'a1:takesCourse'   (text: without quotes, '' undoubled)
    PREFIXED = "prefixed"  # ex:knows           (text: as written)
    IRI = "iri"  # <http://…>         (text: without the brackets)


@dataclass(frozen=True)
class Name(Node):
    """The name of a relation, as written."""

    text: str
    kind: NameKind = NameKind.PLAIN


# --- terms -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variable(Node):
    """`x`, `X` or `?x`; the name keeps its question mark."""

    name: str


@dataclass(frozen=True)
class Wildcard(Node):
    """`_`."""


class NumberKind(Enum):
    """The kind of a numeric literal."""

    NUMBER = "number"
    UNSIGNED = "unsigned"
    FLOAT = "float"


@dataclass(frozen=True)
class Number(Node):
    """A numeric literal without a sign; `text` keeps hexadecimal, binary and exponents as written."""

    text: str
    kind: NumberKind


@dataclass(frozen=True)
class String(Node):
    """A string literal; `value` has its escapes resolved."""

    value: str


@dataclass(frozen=True)
class IriTerm(Node):
    """`<http://…>` as a term; `iri` is without the brackets."""

    iri: str


@dataclass(frozen=True)
class PrefixedName(Node):
    """`ex:alice` as a term."""

    prefix: str
    local: str


@dataclass(frozen=True)
class RdfLiteral(Node):
    """`"chat"@fr` or `"1"^^xsd:byte`."""

    lexical: str
    datatype: IriTerm | PrefixedName | None = None
    language: str | None = None


@dataclass(frozen=True)
class Unary(Node):
    """`-x`, `bnot x`, `lnot x`."""

    operator: str
    operand: Term


@dataclass(frozen=True)
class Binary(Node):
    """`x + y`; operators: + - * / % ^ band bor bxor bshl bshr bshru land lor lxor."""

    operator: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Call(Node):
    """A functor: `cat(x, y)`, `strlen(s)`, `min(a, b)`, `range(1, 5)`."""

    function: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True)
class Cast(Node):
    """`as(x, T)`."""

    operand: Term
    type_name: str


@dataclass(frozen=True)
class Aggregate(Node):
    """`count : { body }`, `sum e : { body }`; `target` is None for count."""

    function: str
    target: Term | None
    body: Formula


@dataclass(frozen=True)
class HeadAggregate(Node):
    """`count(t)` as an argument of a head: over the distinct substitutions of the body."""

    function: str
    target: Term


@dataclass(frozen=True)
class Record(Node):
    """`[x, y]`; `type_name` is the record's type once the checker knows it."""

    fields: tuple[Term, ...]
    type_name: str = field(default="", compare=False)


@dataclass(frozen=True)
class Nil(Node):
    """`nil`, the empty record."""


@dataclass(frozen=True)
class Branch(Node):
    """`$Cons(x, y)`, `$Nil`: a value of an algebraic data type."""

    name: str
    fields: tuple[Term, ...]


Term: TypeAlias = (
    Variable
    | Record
    | Nil
    | Branch
    | Wildcard
    | Number
    | String
    | IriTerm
    | PrefixedName
    | RdfLiteral
    | Unary
    | Binary
    | Call
    | Cast
    | Aggregate
    | HeadAggregate
)

# --- formulas ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Atom(Node):
    """`edge(x, 1)`, in a head or a body."""

    name: Name
    arguments: tuple[Term, ...]


@dataclass(frozen=True)
class Negation(Node):
    """`!f`, also `not f`; f may be any formula."""

    operand: Formula


@dataclass(frozen=True)
class Comparison(Node):
    """`x < y`; operators: = != < <= > >=."""

    operator: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Constraint(Node):
    """`match(regex, s)`, `contains(part, s)`."""

    function: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True)
class Truth(Node):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True)
class Conjunction(Node):
    """`f, g`: two or more, none of them itself a conjunction."""

    items: tuple[Formula, ...]


@dataclass(frozen=True)
class Disjunction(Node):
    """`f ; g`: two or more, none of them itself a disjunction."""

    items: tuple[Formula, ...]


Formula: TypeAlias = Atom | Negation | Comparison | Constraint | Truth | Conjunction | Disjunction

# --- items of a program ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attribute(Node):
    """`x: number` in a declaration."""

    name: str
    type_name: str


@dataclass(frozen=True)
class Declaration(Node):
    """`.decl a, b(x: number) btree`, also with `choice-domain x, (y, z)`."""

    names: tuple[Name, ...]
    attributes: tuple[Attribute, ...]
    qualifiers: tuple[str, ...] = ()
    choices: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class TypeDeclaration(Node):
    """`.type A <: symbol` (subtype), `.type A = number` (alias), `.type A = B | C` (union).

    `.type A` is a subtype of symbol; `.symbol_type A` and `.number_type A` are older spellings of subtypes, `legacy`.
    """

    name: str
    subtype: bool
    targets: tuple[str, ...]
    legacy: bool = False


@dataclass(frozen=True)
class RecordDeclaration(Node):
    """`.type List = [head: number, tail: List]`."""

    name: str
    fields: tuple[Attribute, ...]


@dataclass(frozen=True)
class BranchDeclaration(Node):
    """`Cons {head: number, tail: List}`."""

    name: str
    fields: tuple[Attribute, ...]


@dataclass(frozen=True)
class VariantDeclaration(Node):
    """An algebraic data type: `.type List = Nil {} | Cons {head: number, tail: List}`."""

    name: str
    branches: tuple[BranchDeclaration, ...]


AnyType: TypeAlias = TypeDeclaration | RecordDeclaration | VariantDeclaration


@dataclass(frozen=True)
class FunctorDeclaration(Node):
    """`.functor f(x: number, symbol): symbol stateful`; the names of parameters are dropped, as they mean nothing."""

    name: str
    parameters: tuple[str, ...]
    result: str
    stateful: bool = False


@dataclass(frozen=True)
class PlanDirective(Node):
    """`.plan 0:(2,1)` after a rule: Soufflé's join order."""

    orders: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True)
class ComponentType(Node):
    """`Graph<Node>`: a component with the arguments for its parameters; in its declaration, the parameters."""

    name: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Component(Node):
    """`.comp Graph<Node> : Base { … }`."""

    type: ComponentType
    bases: tuple[ComponentType, ...]
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Init(Node):
    """`.init g = Graph<City>`: an instance of a component."""

    name: str
    component: ComponentType


@dataclass(frozen=True)
class Override(Node):
    """`.override p` in a component: discards what its bases define for p."""

    name: str


@dataclass(frozen=True)
class Parameter(Node):
    """`delimiter=","` in a directive; `value` is the text without quotes."""

    key: str
    value: str


@dataclass(frozen=True)
class Directive(Node):
    """`.input a, b(IO=file)`; kinds: input, output, printsize, limitsize."""

    kind: str
    names: tuple[Name, ...]
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class Pragma(Node):
    """`.pragma "key" "value"`."""

    key: str
    value: str | None = None


@dataclass(frozen=True)
class Prefix(Node):
    """`@prefix ex: <http://example.org/> .`"""

    prefix: str
    iri: str


@dataclass(frozen=True)
class RuleAttribute(Node):
    """`#[name("r1")]`."""

    name: str
    value: str


@dataclass(frozen=True)
class Rule(Node):
    """`h1, h2 :- body.`; a fact is a rule whose body is None."""

    heads: tuple[Atom, ...]
    body: Formula | None = None
    attributes: tuple[RuleAttribute, ...] = ()


@dataclass(frozen=True)
class Subsumption(Node):
    """`p(x) <= p(y) :- body.`: Soufflé drops the first fact if the second one exists."""

    worse: Atom
    better: Atom
    body: Formula


Item: TypeAlias = (
    Declaration
    | AnyType
    | FunctorDeclaration
    | Directive
    | Pragma
    | PlanDirective
    | Prefix
    | Component
    | Init
    | Override
    | Subsumption
    | Rule
)


@dataclass(frozen=True)
class Program:
    """A parsed text: its items in order."""

    items: tuple[Item, ...]
    source: SourceText = field(compare=False, repr=False)
