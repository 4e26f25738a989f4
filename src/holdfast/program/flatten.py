"""From the literals of one alternative to core literals: computed arguments, ranges and aggregates get variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from holdfast.errors import Span
from holdfast.language import tree
from holdfast.language.hints import aggregate_help
from holdfast.language.vocabulary import AGGREGATES
from holdfast.program.core import (
    Body,
    CoreAtom,
    CoreCompare,
    CoreLiteral,
    CoreRange,
    CoreTest,
    children,
    formula_variables,
    literal_variables,
    names,
    rebuilt,
    term_variables,
)
from holdfast.program.functors import FUNCTORS, TESTS
from holdfast.program.names import Names
from holdfast.program.normal_form import alternatives, report_hidden_joins
from holdfast.program.similar import similar
from holdfast.quick_dataclass import dataclass

CONSTANTS = (tree.Number, tree.String, tree.IriTerm, tree.PrefixedName, tree.RdfLiteral, tree.Nil)
STRUCTURED = (tree.Record, tree.Branch)


@dataclass(frozen=True)
class Pending:
    """`variable = aggregate`, to be expanded; `inner` are the alternatives of the aggregate's body."""

    variable: tree.Variable
    aggregate: tree.Aggregate
    inner: tuple[Flat, ...]

    @property
    def names(self) -> list[str]:
        """All variables of the aggregate, those of aggregates inside it too."""
        return names(term_variables(self.aggregate, deep=True))


@dataclass(frozen=True)
class Flat:
    """A conjunction in the core, except for the aggregates that wait to be expanded."""

    literals: Body
    pending: tuple[Pending, ...] = ()

    @property
    def names(self) -> list[str]:
        """The variables at this level: not those that occur only inside aggregates."""
        here = [variable for literal in self.literals for variable in literal_variables(literal)]
        return names([*here, *(p.variable for p in self.pending)])


class Fresh:
    """Gives variables that no user can write, numbered within a rule."""

    def __init__(self) -> None:
        self._count = 0

    def variable(self, span: Span) -> tree.Variable:
        """A new variable that stands for what is written at the place."""
        self._count += 1
        return tree.Variable(f"${self._count}", span=span)

    def unused(self, span: Span) -> tree.Variable:
        """A new variable that stands for a `_` inside a record."""
        self._count += 1
        return tree.Variable(f"$_{self._count}", span=span)


def counted(unused: tree.Variable) -> tree.Variable:
    """The variable of a `_` inside a record, each value of which counts."""
    return replace(unused, name=f"$*{unused.name[2:]}")


class Flattener:
    """Flattens one alternative."""

    def __init__(self, scope: Names, fresh: Fresh, wildcard_help: str | None = None) -> None:
        self.scope = scope
        self.fresh = fresh
        self.wildcard_help = wildcard_help
        self.literals: list[CoreLiteral] = []
        self.pending: list[Pending] = []

    def flat(self, formulas: Iterable[tree.Formula]) -> Flat:
        """The whole alternative."""
        for formula in formulas:
            self.formula(formula)
        return Flat(tuple(self.literals), tuple(self.pending))

    def formula(self, formula: tree.Formula, negated: bool = False) -> None:
        """Add one literal."""
        match formula:
            case tree.Negation(operand=operand):
                self.formula(operand, True)
            case tree.Atom() if self.scope.is_test(formula):
                self._test(formula.name.text, formula.arguments, negated, formula.span)
            case tree.Atom():
                arguments = tuple(self.argument(argument, negated) for argument in formula.arguments)
                self.literals.append(CoreAtom(self.scope.predicate_of(formula), arguments, formula.span, negated))
            case tree.Constraint():
                self._test(formula.function, formula.arguments, negated, formula.span)
            case tree.Comparison():
                self._comparison(formula)
            case _:
                raise AssertionError(f"not a literal: {formula}")

    def _test(self, function: str, arguments: tuple[tree.Term, ...], negated: bool, span: Span) -> None:
        functor = TESTS.get(function)
        if functor is None:
            hint = similar(function, TESTS)
            self.scope.diagnostics.error("E0209", f"there is no constraint {function}", span, help=hint)
        elif not functor.accepts(len(arguments)):
            self._wrong_count(function, functor.arity, functor.variadic, len(arguments), span)
        else:
            self.literals.append(CoreTest(function, tuple(map(self.term, arguments)), negated, span))

    def _comparison(self, comparison: tree.Comparison) -> None:
        if comparison.operator == "=":
            left, right = comparison.left, comparison.right
            if self._defines(left, right) or self._defines(right, left):
                return
            if isinstance(left, STRUCTURED) or isinstance(right, STRUCTURED):
                self._match(left, right, comparison.span)
                return
        left, right = self.term(comparison.left), self.term(comparison.right)
        self.literals.append(CoreCompare(comparison.operator, left, right, comparison.span))

    def _match(self, left: tree.Term, right: tree.Term, span: Span) -> None:
        """`x = [y, _]`: a record on one side or both."""
        if not isinstance(right, STRUCTURED):
            left, right = right, left
        variable = left if isinstance(left, tree.Variable) else self.fresh.variable(left.span)
        if not isinstance(left, tree.Variable):
            self.literals.append(CoreCompare("=", variable, self.pattern(left), span))
        self.literals.append(CoreCompare("=", variable, self.pattern(right), span))

    def pattern(self, term: tree.Term) -> tree.Term:
        """A record that may be taken apart: a `_` in it is an unused variable."""
        if not isinstance(term, STRUCTURED):
            return self.term(term)
        inside = [self.fresh.unused(f.span) if isinstance(f, tree.Wildcard) else self.pattern(f) for f in term.fields]
        return rebuilt(term, inside)

    def _defines(self, left: tree.Term, right: tree.Term) -> bool:
        """`x = aggregate` and `x = range(…)` need no variable of their own."""
        if isinstance(left, tree.Variable) and isinstance(right, tree.Aggregate):
            self._aggregate(left, right)
        elif isinstance(left, tree.Variable) and isinstance(right, tree.Call) and right.function == "range":
            self._range(left, right)
        else:
            return False
        return True

    def argument(self, term: tree.Term, negated: bool = False) -> tree.Term:
        """An argument of a body atom: a computed one is taken out."""
        if isinstance(term, (tree.Wildcard, tree.Variable)):
            return term
        value = self.term(term) if negated else self.pattern(term)
        if isinstance(value, (*CONSTANTS, tree.Variable)):
            return value
        variable = self.fresh.variable(term.span)
        self.literals.append(CoreCompare("=", variable, value, term.span))
        return variable

    def term(self, term: tree.Term) -> tree.Term:
        """A term without aggregates and ranges."""
        match term:
            case tree.Aggregate():
                variable = self.fresh.variable(term.span)
                self._aggregate(variable, term)
                return variable
            case tree.Call(function="range"):
                variable = self.fresh.variable(term.span)
                self._range(variable, term)
                return variable
            case tree.Wildcard():
                message = "`_` has no value to use here"
                self.scope.diagnostics.error("E0308", message, term.span, help=self.wildcard_help)
                return self.fresh.variable(term.span)
        self._check_functor(term)
        return rebuilt(term, [self.term(child) for child in children(term)])

    def _check_functor(self, term: tree.Term) -> None:
        match term:
            case tree.Call(function=function, arguments=arguments):
                functor = self.scope.functors.get(function)
                if functor is None and function.startswith("@"):
                    help = f"declare what it takes and gives: .functor {function[1:]}(number): number"
                    message = f"the functor {function} is not declared"
                    self.scope.diagnostics.error("E0209", message, term.span, help=help)
                elif functor is None or function == "neg":
                    words = [name for name in (*FUNCTORS, "range") if name.isidentifier()]
                    hint = aggregate_help(function) if function in AGGREGATES else similar(function, words)
                    self.scope.diagnostics.error("E0209", f"there is no functor {function}", term.span, help=hint)
                elif not functor.accepts(len(arguments)):
                    self._wrong_count(function, functor.arity, functor.variadic, len(arguments), term.span)
            case tree.Cast(type_name=type_name):
                self.scope.types.known(type_name, term)

    def _wrong_count(self, function: str, arity: int, variadic: bool, count: int, span: Span) -> None:
        takes = f"at least {arity}" if variadic else str(arity)
        message = f"{function} takes {takes} argument{'' if arity == 1 else 's'}, but "
        message += "1 is given" if count == 1 else f"{count} are given"
        self.scope.diagnostics.error("E0210", message, span)

    def _range(self, variable: tree.Variable, call: tree.Call) -> None:
        if len(call.arguments) not in (2, 3):
            self._wrong_count("range", 2, True, len(call.arguments), call.span)
            return
        self.literals.append(CoreRange(variable, tuple(map(self.term, call.arguments)), call.span))

    def _aggregate(self, variable: tree.Variable, aggregate: tree.Aggregate) -> None:
        inner = flattened(aggregate.body, self.scope, self.fresh)
        self.pending.append(Pending(variable, aggregate, inner))


def flattened(formula: tree.Formula, scope: Names, fresh: Fresh, outside: Iterable[str] = ()) -> tuple[Flat, ...]:
    """All alternatives of a formula, flattened."""
    report_hidden_joins(formula, outside, scope.diagnostics)
    return tuple(Flattener(scope, fresh).flat(a) for a in alternatives(formula, scope.diagnostics))


def read_lonely_as_wildcards(flat: Flat, outside: Iterable[str], scope: Names) -> Flat:
    """A variable whose one occurrence is inside a negated atom is read as `_`, with a warning."""
    uses = Counter(variable.name for literal in flat.literals for variable in literal_variables(literal))
    uses.update(outside)
    uses.update(name for pending in flat.pending for name in [pending.variable.name, *pending.names])
    return replace(flat, literals=tuple(_without_lonely(literal, uses, scope) for literal in flat.literals))


def _without_lonely(literal: CoreLiteral, uses: Counter[str], scope: Names) -> CoreLiteral:
    if not isinstance(literal, CoreAtom) or not literal.negated:
        return literal
    arguments: list[tree.Term] = []
    for argument in literal.arguments:
        if isinstance(argument, tree.Variable) and uses[argument.name] == 1:
            message = f"{argument.name} occurs only inside this negated atom and is read as _"
            scope.diagnostics.warning("W0002", message, argument.span, help="write _ if this is intended")
            arguments.append(tree.Wildcard(span=argument.span))
        else:
            arguments.append(argument)
    return replace(literal, arguments=tuple(arguments))


def body_variables(formula: tree.Formula) -> list[str]:
    """The variables of a formula outside its aggregates, in order."""
    return names(formula_variables(formula))
