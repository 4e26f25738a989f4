"""Terms, conditions and ranges inside queries.

Comparisons that mean the same in Spark are written in SQL.  Everything else runs the memory backend's code in functions
of Arrow columns: each batch is encoded by a dictionary of its own, evaluated and decoded again, so both backends agree
to the last bit.  A functor without a value raises on the executor; the message names the rule by a number, by which the
driver finds the rule.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from holdfast.backends.spark.values import codes_of, column_of, native_of, spark_type, sql_value
from holdfast.errors import Diagnostic, EvaluationError, UsageError
from holdfast.plans.literals import variables
from holdfast.program.model import AggregateRule, Apply, Compare, Const, Range, Rule, Term, Test, Var
from holdfast.spark_session import SparkFailure
from holdfast.values import Type
from holdfast.values.dictionary import Dictionary

_UNDEFINED = re.compile(r"\[\[holdfast rule (\d+): (.*?)\]\]", re.DOTALL)
_NATIVE = {
    "+": "coalesce(try_add({a}, {b}), {refused})",
    "-": "coalesce(try_subtract({a}, {b}), {refused})",
    "*": "coalesce(try_multiply({a}, {b}), {refused})",
    "/": "IF({b} = 0L OR ({b} = -1L AND {a} = CAST('-9223372036854775808' AS BIGINT)), {refused}, {a} div {b})",
    "%": "IF({b} = 0L, {refused}, {a} % {b})",
}
"""Arithmetic of numbers in SQL: it truncates towards zero too, and refuses results that do not fit."""
_ORDERED = (Type.NUMBER, Type.SYMBOL)


class Functions:
    """The functions of Arrow columns that the queries of a session call, created on demand."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._names: dict[object, str] = {}
        self._rules: list[Rule | AggregateRule] = []
        self._numbers: dict[int, int] = {}

    def number(self, rule: Rule | AggregateRule) -> int:
        """The number by which an executor names a rule."""
        if id(rule) not in self._numbers:
            self._numbers[id(rule)] = len(self._rules)
            self._rules.append(rule)
        return self._numbers[id(rule)]

    def forget(self) -> None:
        """Forget all functions after the rules have changed; those still in use are created again."""
        for name in self._names.values():
            self._session.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")
        self._names.clear()
        self._rules.clear()
        self._numbers.clear()

    @contextmanager
    def naming_the_rule(self) -> Iterator[None]:
        """Turns a functor's missing value into an error that names the rule."""
        try:
            yield
        except SparkFailure as failure:
            found = _UNDEFINED.search(str(failure.__cause__))
            if found is None:
                raise
            rule = self._rules[int(found[1])]
            message = f"rule {rule.name} has no value for some facts: {found[2]}"
            help = "exclude such facts with a comparison in the rule, or correct the data"
            raise EvaluationError(Diagnostic("E0701", message, rule.span, help=help)) from failure

    def term(self, term: Term, columns: ColumnNames, rule: Rule) -> str:
        """A term as text of a query."""
        if term.type is Type.RECORD:
            _refuse(term, rule)
        match term:
            case Var():
                return columns[term]
            case Const(value=value, type=type):
                return sql_value(native_of(value, type))
            case Apply(
                function=function, arguments=(Var() | Const() as left, Var() | Const() as right), type=Type.NUMBER
            ) if function in _NATIVE:
                a, b = self.term(left, columns, rule), self.term(right, columns, rule)
                return _NATIVE[function].format(a=a, b=b, refused=self._refused(function, a, b, rule))
            case Apply():
                _refuse(term, rule)
                return self._call(term, term.type, _evaluate, spark_type(term.type), columns, rule)

    def _refused(self, function: str, a: str, b: str, rule: Rule) -> str:
        """An expression that fails like the functor in memory; `rand` keeps Spark from moving it."""
        divides, wide = function in ("/", "%"), "the result does not fit 64 bits"
        reason = f"IF({b} = 0L, 'division by zero', '{wide}')" if divides else f"'{wide}'"
        parts = (
            f"'[[holdfast rule {self.number(rule)}: '",
            f"CAST({a} AS STRING)",
            f"' {function} '",
            f"CAST({b} AS STRING)",
            "': '",
            reason,
            "']]'",
            "IF(rand() < 0, '', '')",
        )
        return f"CAST(raise_error(concat({', '.join(parts)})) AS BIGINT)"

    def condition(self, condition: Compare | Test, columns: ColumnNames, rule: Rule) -> str:
        """A condition as text of a query."""
        match condition:
            case Compare(operator=operator, left=left, right=right) if operator in ("=", "!=") or left.type in _ORDERED:
                # all symbols begin with the same letter, and Spark compares strings by their bytes, as we do
                return f"{self.term(left, columns, rule)} {operator} {self.term(right, columns, rule)}"
        for term in (condition.left, condition.right) if isinstance(condition, Compare) else condition.arguments:
            _refuse(term, rule)
        return self._call(condition, Type.NUMBER, _holds, "BOOLEAN", columns, rule)

    def range(self, range: Range, columns: ColumnNames, rule: Rule) -> str:
        """The values of a range, as an array."""
        return self._call(
            range, range.variable.type, _spread, f"ARRAY<{spark_type(range.variable.type)}>", columns, rule
        )

    def _call(
        self, what: Any, type: Type, function: Callable[..., pa.Array], returns: str, columns: ColumnNames, rule: Rule
    ) -> str:
        used = list(dict.fromkeys(_used(what)))
        place = (what, self.number(rule))
        if place not in self._names:
            name = f"holdfast_function_{len(self._names)}"
            # declared nondeterministic, so that Spark evaluates it in place and not before a join
            made = arrow_function(partial(function, what, type, used, self.number(rule)), returns)
            self._session.udf.register(name, made.asNondeterministic())
            self._names[place] = name
        given = ", ".join(columns[variable] for variable in used) or "0L"
        return f"{self._names[place]}({given})"


ColumnNames = dict[Var, str]
"""The columns that hold variables."""


def _used(what: Term | Compare | Test | Range) -> Iterator[Var]:
    match what:
        case Compare(left=left, right=right):
            terms: Sequence[Term] = (left, right)
        case Test(arguments=arguments):
            terms = arguments
        case Range(start=start, stop=stop, step=step):
            terms = (start, stop) if step is None else (start, stop, step)
        case _:
            terms = (what,)
    for term in terms:
        yield from variables(term)


def _refuse(term: Term, rule: Rule) -> None:
    """Raise for a term that needs the driver's dictionary or process."""
    if term.type is Type.RECORD:
        raise _unsupported(f"rule {rule.name} uses records, which the spark engine does not support", rule)
    if isinstance(term, Apply):
        if term.function.startswith("@"):
            raise _unsupported(
                f"rule {rule.name} uses {term.function}; the spark engine does not support user functors", rule
            )
        if term.function == "ord":
            what = "ord, which the spark engine does not support: symbols have no numbers there"
            raise _unsupported(f"rule {rule.name} uses {what}", rule)
        for argument in term.arguments:
            _refuse(argument, rule)


def _unsupported(message: str, rule: Rule) -> UsageError:
    return UsageError(Diagnostic("E0917", message, rule.span, help='use engine="memory" for this program'))


def arrow_function(function: Callable[..., pa.Array], returns: str) -> Any:
    """A function of Arrow columns for Spark."""

    def run(*columns: pa.Array) -> pa.Array:
        return function(*columns)

    with warnings.catch_warnings(action="ignore", category=UserWarning):  # it prefers type hints, which add nothing
        return arrow_udf(run, returns, ArrowUDFType.SCALAR)


# --- on the executors --------------------------------------------------------------------------------


@contextmanager
def undefined_of(rule: int) -> Iterator[None]:
    """Report to the driver which rule had no value, and why."""
    from holdfast.backends.memory.arithmetic import Undefined

    try:
        yield
    except Undefined as error:
        raise ArithmeticError(f"[[holdfast rule {rule}: {error}]]") from None


def _bindings(variables: Sequence[Var], columns: Sequence[pa.Array]) -> Any:
    from holdfast.backends.memory.functors import Bindings

    dictionary = Dictionary()
    codes = {v: codes_of(column, v.type, dictionary) for v, column in zip(variables, columns, strict=False)}
    return Bindings(codes, len(columns[0]), dictionary)


def _evaluate(term: Term, type: Type, variables: Sequence[Var], rule: int, *columns: pa.Array) -> pa.Array:
    from holdfast.backends.memory.functors import evaluate

    given = _bindings(variables, columns)
    if not len(given):
        return column_of(np.empty(0, np.int64), type, given.dictionary)
    with undefined_of(rule):
        return column_of(evaluate(term, given), type, given.dictionary)


def _holds(condition: Compare | Test, type: Type, variables: Sequence[Var], rule: int, *columns: pa.Array) -> pa.Array:
    from holdfast.backends.memory.functors import holds

    given = _bindings(variables, columns)
    if not len(given):
        return pa.array([], pa.bool_())
    with undefined_of(rule):
        return pa.array(holds(condition, given))


def _spread(range: Range, type: Type, variables: Sequence[Var], rule: int, *columns: pa.Array) -> pa.Array:
    from holdfast.backends.memory.functors import spread

    given = _bindings(variables, columns)
    lists: list[pa.Array] = []
    with undefined_of(rule):
        for place in np.arange(len(given)):
            one = given.at(np.array([place]), 1)
            one.columns.pop(range.variable, None)
            parts = [part.columns[range.variable] for part in spread(range, one, 1 << 20)]
            codes = np.concatenate(parts) if parts else np.empty(0, np.int64)
            lists.append(column_of(codes, type, given.dictionary))
    offsets = np.concatenate([[0], np.cumsum([len(values) for values in lists])]).astype(np.int32)
    values = pa.concat_arrays(lists) if lists else column_of(np.empty(0, np.int64), type, given.dictionary)
    return pa.ListArray.from_arrays(pa.array(offsets), values)
