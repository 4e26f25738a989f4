"""Translates plans to queries: a plan's steps become nested selects.

A binding is a row, and each live variable a column.  Where the driver knows that bindings are few and facts many, it
broadcasts the bindings to the facts, so that a small delta does not move a large relation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.backends.spark.facts import Far, Form, Local, Near, size
from holdfast.backends.spark.frames import Frame
from holdfast.backends.spark.functors import ColumnNames, Functions
from holdfast.backends.spark.values import native_of, sql_value
from holdfast.plans.model import GOAL, AntiJoin, Compute, Filter, Join, Plan, Read, Scan, Unnest
from holdfast.plans.statistics import SizeStatistics
from holdfast.program.model import Atom, Const, Negated, Rule, Var

Reading = Callable[[Read, str], tuple[Form, Frame]]
"""Resolves a read for one predicate."""


@dataclass
class Query:
    """A query under construction: its text, the columns of its variables, and estimates of rows returned and read."""

    text: str
    columns: ColumnNames
    rows: float
    needs: list[Frame] = field(default_factory=list)
    read: float = 0.0


class QueryWriter:
    """Writes the queries of plans."""

    def __init__(self, functions: Functions, statistics: SizeStatistics, reading: Reading, few: int) -> None:
        self.functions = functions
        self.statistics = statistics
        self.reading = reading
        self.few = few

    def outputs(self, plan: Plan) -> list[tuple[str, Query]]:
        """For each output of a plan, its predicate and a query that returns its columns."""
        query = Query("SELECT 0L AS none", {}, 1.0)
        for step, live in zip(plan.steps, plan.live, strict=True):
            query = self._step(step, query, [v for v in live if v is not GOAL], plan.rule)
        result = []
        for predicate, terms in plan.outputs:
            columns = [self.functions.term(term, _of("b", query.columns), plan.rule) for term in terms] or ["0L"]
            listed = ", ".join(f"{column} AS c{place}" for place, column in enumerate(columns))
            result.append(
                (predicate, Query(f"SELECT {listed} FROM ({query.text}) b", {}, query.rows, query.needs, query.read))
            )
        return result

    def _step(self, step: object, query: Query, live: Sequence[Var], rule: Rule) -> Query:
        match step:
            case Scan(atom=atom, read=read, key=key) | Join(atom=atom, read=read, key=key):
                return self._join(atom, read, key, query, live)
            case AntiJoin(atom=negated, read=read, key=key):
                return self._keep(negated, read, key, query, live)
            case Filter(condition=condition):
                text = self.functions.condition(condition, _of("b", query.columns), rule)
                return self._selected(query, live, {}, where=text, share=0.5)
            case Compute(assignment=assignment):
                value = self.functions.term(assignment.term, _of("b", query.columns), rule)
                return self._selected(query, live, {assignment.variable: value})
            case Unnest(range=range):
                values = self.functions.range(range, _of("b", query.columns), rule)
                listed = Query(
                    f"SELECT b.*, {values} AS values FROM ({query.text}) b",
                    query.columns,
                    query.rows,
                    query.needs,
                    query.read,
                )
                if range.variable in query.columns:
                    place = f"array_contains(b.values, b.{query.columns[range.variable]})"
                    return self._selected(listed, live, {}, where=place)
                return self._selected(listed, live, {range.variable: "explode(b.values)"}, share=10.0)
        raise AssertionError(step)

    def _selected(
        self, query: Query, live: Sequence[Var], new: Mapping[Var, str], where: str = "", share: float = 1.0
    ) -> Query:
        listed, columns = _select(live, {**_of("b", query.columns), **new})
        text = f"SELECT {listed} FROM ({query.text}) b"
        return Query(f"{text} WHERE {where}" if where else text, columns, query.rows * share, query.needs, query.read)

    def _join(self, atom: Atom, read: Read, key: tuple[int, ...], query: Query, live: Sequence[Var]) -> Query:
        form, frame = self.reading(read, atom.predicate)
        held = dict(_of("b", query.columns))
        conditions = self._key(atom, key, query)
        for place, argument in enumerate(atom.arguments):
            if place in key or not isinstance(argument, Var):
                continue
            if argument in held:  # a repeated variable within this atom
                conditions.append(f"{held[argument]} = f.c{place}")
            else:
                held[argument] = f"f.c{place}"
        listed, columns = _select(live, held)
        needs = [*query.needs, frame]
        if not query.columns and query.text == "SELECT 0L AS none":
            where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
            size = _size(atom.predicate, form)
            return Query(f"SELECT {listed} FROM {frame.table} f{where}", columns, size, needs, size)
        is_few = query.rows < self.few and _is_large(atom.predicate, form, query.rows)
        hint = "/*+ BROADCAST(b) */ " if is_few else _sent(query, frame)
        rows = query.rows * max(1e-3, self._fanout(atom.predicate, key, len(atom.arguments), form))
        in_all = query.read + _size(atom.predicate, form) + rows
        joined = f"JOIN {frame.table} f ON {' AND '.join(conditions)}" if conditions else f"CROSS JOIN {frame.table} f"
        return Query(f"SELECT {hint}{listed} FROM ({query.text}) b {joined}", columns, rows, needs, in_all)

    def _keep(self, atom: Negated, read: Read, key: tuple[int, ...], query: Query, live: Sequence[Var]) -> Query:
        form, frame = self.reading(read, atom.predicate)
        conditions = self._key(atom, key, query) or ["true"]
        listed, columns = _select(live, _of("b", query.columns))
        facts = frame.table
        if query.rows < self.few and _is_large(atom.predicate, form, query.rows):
            wanted = " AND ".join(conditions).replace("b.", "w.")
            facts = f"(SELECT /*+ BROADCAST(w) */ f.* FROM {facts} f LEFT SEMI JOIN ({query.text}) w ON {wanted})"
        hint = frame.sent("f", *query.needs)
        text = f"SELECT {hint}{listed} FROM ({query.text}) b LEFT ANTI JOIN {facts} f ON {' AND '.join(conditions)}"
        return Query(text, columns, query.rows, [*query.needs, frame], query.read + _size(atom.predicate, form))

    def _key(self, atom: Atom | Negated, key: tuple[int, ...], query: Query) -> list[str]:
        """The conditions that join facts with bindings."""
        conditions = []
        for place in key:
            argument = atom.arguments[place]
            assert isinstance(argument, Var | Const)
            value = (
                f"b.{query.columns[argument]}"
                if isinstance(argument, Var)
                else sql_value(native_of(argument.value, argument.type))
            )
            conditions.append(f"{value} = f.c{place}")
        return conditions

    def _fanout(self, predicate: str, key: tuple[int, ...], arity: int, form: Form) -> float:
        if isinstance(form, Near):
            return self.statistics.fanout(predicate, key, arity)
        return min(_size(predicate, form), max(1.0, self.statistics.fanout(predicate, key, arity)))


def _of(table: str, columns: ColumnNames) -> ColumnNames:
    return {variable: f"{table}.{column}" for variable, column in columns.items()}


def _select(live: Sequence[Var], held: Mapping[Var, str]) -> tuple[str, ColumnNames]:
    """The columns that later steps need."""
    columns = {variable: f"v{place}" for place, variable in enumerate(live)}
    return ", ".join(f"{held[variable]} AS {column}" for variable, column in columns.items()) or "0L AS none", columns


def _sent(query: Query, facts: Frame) -> str:
    """The hint to broadcast the small side to the large one."""
    bindings = Frame(facts.space, query.text, query.needs)
    return bindings.sent("b", facts) or facts.sent("f", bindings)


def _size(predicate: str, form: Form) -> float:
    return 1e9 if isinstance(form, Far) and form.size is None else float(size(predicate, form))


def _is_large(predicate: str, form: Form, rows: float) -> bool:
    """Whether a set of facts is too large to move."""
    return not isinstance(form, Local) and _size(predicate, form) > max(4 * rows, 10_000)
