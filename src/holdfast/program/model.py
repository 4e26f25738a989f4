"""The checked program: what every later stage reads.  Immutable; made only by `holdfast.program.check`.

Everything a user may write has been brought into a small core here:

* one head per rule, a body that is a conjunction of `BodyLiteral`s;
* arguments of body atoms are variables, constants or wildcards (a computed argument became an `Assign`);
* names are resolved, constants typed, functors chosen by type;
* an aggregate is a rule of its own, `AggregateRule`, over one relation.  `n = count : { q(x, y), y > 3 }`
  in the body of a rule becomes an auxiliary relation with the distinct substitutions of the inner body (or
  q itself when the inner body is a single atom over distinct variables), an aggregate relation over it, and an
  atom of that relation in the rule; for count and sum a second rule covers the groups that are empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import TypeAlias

from holdfast.errors import Diagnostic, Span
from holdfast.language import tree
from holdfast.quick_dataclass import dataclass
from holdfast.values import Row, Type, Value
from holdfast.values.structures import Kind, Structure

# --- terms -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Var:
    """A variable of a rule; inside one rule equal names are the same variable."""

    name: str
    type: Type

    def __hash__(self) -> int:  # planning is sets of variables
        return hash(self.name)


@dataclass(frozen=True)
class Const:
    """A constant; `value` fits `type` (an int for NUMBER, a str for SYMBOL, any value for ANY …)."""

    value: Value
    type: Type


@dataclass(frozen=True)
class Wildcard:
    """An argument that may be anything."""


@dataclass(frozen=True)
class Apply:
    """A functor on terms.  `function` is a key of `holdfast.program.functors.FUNCTORS`; its arguments' types
    select the meaning of an overloaded operator."""

    function: str
    arguments: tuple[Term, ...]
    type: Type


Term: TypeAlias = Var | Const | Apply
Argument: TypeAlias = Var | Const | Wildcard

# --- literals ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Atom:
    """A positive atom of a body."""

    predicate: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Negated:
    """There is no fact of this form; every variable in it is bound elsewhere."""

    predicate: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Compare:
    """`left op right`; op is one of = != < <= > >=, both sides have the same type."""

    operator: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Test:
    """`match` or `contains`, or its negation."""

    function: str
    arguments: tuple[Term, ...]
    negated: bool = False


@dataclass(frozen=True)
class Assign:
    """`variable = term`: binds the variable if it is free, compares if it is bound."""

    variable: Var
    term: Term


@dataclass(frozen=True)
class Range:
    """`variable = range(start, stop[, step])`: the variable takes each value in turn, stop excluded."""

    variable: Var
    start: Term
    stop: Term
    step: Term | None = None


BodyLiteral: TypeAlias = Atom | Negated | Compare | Test | Assign | Range

# --- rules and relations -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Limit:
    """A limit relation has one fact for each group, which is all columns but this one: the least value that its rules
    and explicit facts offer (`min`), or the greatest (`max`)."""

    column: int
    function: str  # min or max

    def group(self, arity: int) -> tuple[int, ...]:
        """The columns of the group."""
        return tuple(column for column in range(arity) if column != self.column)


@dataclass(frozen=True)
class Rule:
    """`predicate(arguments) :- body`.  Several core rules share a `name` when one written rule gave them.

    With a `limit`, the head is an offer; all rules of a limit relation have the same one.
    """

    name: str
    predicate: str
    arguments: tuple[Term, ...]
    body: tuple[BodyLiteral, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    limit: Limit | None = None


@dataclass(frozen=True)
class AggregateRule:
    """`predicate(group…, f(target)) :- source(…)`: one fact for each group that has a source fact.

    `group` are column numbers of the source, in the order of the head's columns; the aggregate's value is
    the head's last column, unless `place` says otherwise.  `target` is the aggregated column, None for count.  Every
    source fact counts once.
    """

    name: str
    predicate: str
    source: str
    group: tuple[int, ...]
    function: str  # count sum min max mean median
    target: int | None
    span: Span | None = field(default=None, compare=False, repr=False)
    place: int = -1  # the head's column of the aggregate, if it is not the last


@dataclass(frozen=True)
class Column:
    """A column of a relation; `type_name` is the type as declared, for messages."""

    name: str
    type: Type
    type_name: str
    structure: Structure | None = field(default=None, compare=False, repr=False)  # what its records hold

    @property
    def kind(self) -> Kind:
        """The type, or what its records hold."""
        return self.structure or self.type


@dataclass(frozen=True)
class Io:
    """One `.input`, `.output`, `.printsize` or `.limitsize` of a relation, with its parameters."""

    kind: str
    parameters: Mapping[str, str]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def is_printed(self) -> bool:
        """Whether it goes to the terminal, not to a file: `.output p(IO=stdout)`."""
        return self.parameters.get("IO") == "stdout"


@dataclass(frozen=True)
class Relation:
    """A relation.  `name` is the predicate: plain text, or `<iri>` with the brackets for RDF names.

    `auxiliary` relations were made by the checker and are not shown to users; `display` is the name as
    the user wrote it first.  Without a declaration the columns are called after variables of the rules: good
    enough to be shown, too accidental to say which column of a table is which.
    """

    name: str
    display: str
    columns: tuple[Column, ...]
    io: tuple[Io, ...] = ()
    auxiliary: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    declared: bool = True

    @property
    def arity(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @cached_property
    def types(self) -> tuple[Type, ...]:
        """The columns' types."""
        return tuple(column.type for column in self.columns)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The columns' types, those of records with what they hold."""
        return tuple(column.kind for column in self.columns)


# --- the graph of hyper-nodes ------------------------------------------------------------------------


@dataclass(frozen=True)
class HyperNode:
    """A strongly connected component of the predicates: one step of evaluation (a node of the HRDG)."""

    index: int  # position in topological order
    predicates: tuple[str, ...]
    nonrecursive: tuple[Rule, ...]
    recursive: tuple[Rule, ...]  # a positive body atom has its predicate in this node
    aggregates: tuple[AggregateRule, ...]
    positive: tuple[int, ...]  # nodes this one reads through positive atoms, without itself
    negative: tuple[int, ...]  # nodes this one reads through negation or aggregation

    @cached_property
    def is_recursive(self) -> bool:
        """Whether a fixpoint is needed."""
        return bool(self.recursive)

    @cached_property
    def limits(self) -> Mapping[str, Limit]:
        """Its limit relations."""
        rules = (*self.nonrecursive, *self.recursive)
        sums = {rule.predicate: Limit(len(rule.group), "max") for rule in self.sums}
        return {rule.predicate: rule.limit for rule in rules if rule.limit is not None} | sums

    @cached_property
    def sums(self) -> tuple[AggregateRule, ...]:
        """The sums and counts that are part of its recursion."""
        return tuple(rule for rule in self.aggregates if rule.source in self.predicates)


@dataclass(frozen=True)
class Program:
    """A checked program.  `nodes` are in topological order: a node reads only itself and earlier ones."""

    relations: Mapping[str, Relation]
    rules: tuple[Rule, ...]
    aggregates: tuple[AggregateRule, ...]
    facts: Mapping[str, tuple[Row, ...]]  # explicit facts of the text
    nodes: tuple[HyperNode, ...]
    prefixes: Mapping[str, str]
    warnings: tuple[Diagnostic, ...] = ()
    declared: tuple[tree.AnyType | tree.FunctorDeclaration, ...] = ()  # types and functors, for queries
    written: tuple[tree.Item, ...] = field(default=(), compare=False, repr=False)
    """The text without components and facts, for explanations."""
    floats: tuple[tree.Number, ...] = field(default=(), compare=False, repr=False)
    """The numbers of `written` that are floats because of where they are."""
    integers: frozenset[tuple[Span, Type]] = field(default=frozenset(), compare=False, repr=False)
    """Where `bnot` and `range` are written, and of which types: of unsigned numbers they have other values."""

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Which relation is the first, the second …."""
        return {name: place for place, name in enumerate(self.relations)}

    @cached_property
    def size_limits(self) -> Mapping[str, int]:
        """By `.limitsize`: after how many facts of a predicate the fixpoint of its hyper-node is broken off."""
        limits: dict[str, int] = {}
        for name, relation in self.relations.items():
            sizes = [int(io.parameters["n"]) for io in relation.io if io.kind == "limitsize"]
            limits.update({name: min(sizes)} if sizes else {})
        return limits

    @cached_property
    def recursive_limits(self) -> tuple[str, ...]:
        """The limit relations that depend on themselves."""
        found = [name for node in self.nodes if node.is_recursive for name in node.limits]
        return tuple(name for name in found if not self.relations[name].auxiliary)

    @cached_property
    def derived(self) -> frozenset[str]:
        """The predicates that head rules."""
        return frozenset(rule.predicate for rules in (self.rules, self.aggregates) for rule in rules)

    @cached_property
    def cannot_fail(self) -> bool:
        """Whether no rule computes a value: then an update fails for nothing but a limit, or a lack of memory."""
        literals = [literal for rule in self.rules for literal in rule.body]
        terms = [term for rule in self.rules for term in rule.arguments]
        terms += [term for each in literals if isinstance(each, Compare) for term in (each.left, each.right)]
        computing = any(isinstance(each, Test | Assign | Range) for each in literals)
        sums = any(rule.function not in ("count", "min", "max") for rule in self.aggregates)
        return not computing and not sums and not any(isinstance(term, Apply) for term in terms)

    def node_of(self, predicate: str) -> HyperNode:
        """The hyper-node that a predicate belongs to."""
        return next(node for node in self.nodes if predicate in node.predicates)
