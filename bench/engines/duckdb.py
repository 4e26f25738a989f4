"""DuckDB: the variant `query` is one recursive query, `loop` a semi-naive loop as one writes it by hand.

It loads from the same Arrow tables as holdfast, into columns of 32 bits, which all values here fit.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import duckdb

from bench import data
from bench.engines.recursive_queries import QUERIES
from bench.outcomes import Measured
from bench.processes import THREADS
from bench.rules import Different, Rule, Sum, components
from bench.workloads import Workload


def run(workload: Workload, variant: str, folder: Path) -> Measured:
    """Load, evaluate, count."""
    db = duckdb.connect()
    db.execute(f"SET threads = {THREADS}")
    begun = time.perf_counter()
    _load(db, workload, data.tables(workload, folder))
    loaded = time.perf_counter()
    if variant == "loop":
        _evaluate(db, workload)
    else:
        _ask(db, workload)
    done = time.perf_counter()
    counts = [_number(db, f'SELECT count(*) FROM "{name}"') for name in workload.counted]
    return Measured(sum(counts), done - loaded, loaded - begun)


def _load(db: duckdb.DuckDBPyConnection, workload: Workload, facts: Mapping[str, object]) -> None:
    for name, arity in workload.arities.items():
        columns = data.names(arity)
        db.execute(f'CREATE TABLE "{name}" ({", ".join(f"{column} INTEGER" for column in columns)})')
        if name in facts:
            db.register("given", facts[name])
            db.execute(f'INSERT INTO "{name}" SELECT {", ".join(columns)} FROM given')
            db.unregister("given")


def _ask(db: duckdb.DuckDBPyConnection, workload: Workload) -> None:
    for name in workload.counted:
        db.execute(f'DROP TABLE "{name}"')
    db.execute(QUERIES[workload.name])


def _evaluate(db: duckdb.DuckDBPyConnection, workload: Workload) -> None:
    for component in components(workload.rules):
        _Loop(db, workload, component).run()


class _Loop:
    """Relations that need each other, from their first facts to their last.

    In each round `<relation>@<round>` holds the facts that are new; the relation itself has them already.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, workload: Workload, component: tuple[str, ...]) -> None:
        self.db, self.arities, self.component = db, workload.arities, component
        rules = [rule for rule in workload.rules if rule.head.relation in component]
        self.recursive = [rule for rule in rules if rule.inside(component)]
        self.first = [rule for rule in rules if not rule.inside(component)]
        self.round = 0

    def run(self) -> None:
        """Evaluate until a round brings nothing new."""
        for name in self.component:
            self._find(name, [select(rule) for rule in self.first if rule.head.relation == name])
            self._insert(name)
        fresh = set(self.component) if self.recursive else set[str]()
        for name in fresh:
            self.db.execute(f'CREATE OR REPLACE TEMP TABLE "{name}@0" AS FROM "{name}"')
        while fresh:
            self.round += 1
            asked = {name for name in self.component if self._find(name, self._queries(name, fresh))}
            for name in fresh:
                self.db.execute(f'DROP TABLE "{name}@{self.round - 1}"')
            fresh = {name for name in asked if self._insert(name)}

    def _queries(self, name: str, fresh: set[str]) -> list[str]:
        return [
            select(rule, place, f"@{self.round - 1}")
            for rule in self.recursive
            if rule.head.relation == name
            for place in rule.inside(fresh)
        ]

    def _find(self, name: str, queries: list[str]) -> bool:
        """Set aside what the queries give and the relation does not have."""
        if queries:
            columns = ", ".join(data.names(self.arities[name]))
            self.db.execute(
                f'CREATE OR REPLACE TEMP TABLE "{name}@{self.round}" AS SELECT DISTINCT {columns} '
                f'FROM ({" UNION ALL ".join(queries)}) ANTI JOIN "{name}" USING ({columns})'
            )
        return bool(queries)

    def _insert(self, name: str) -> int:
        if not self.round and not any(rule.head.relation == name for rule in self.first):
            return 0
        return _number(self.db, f'INSERT INTO "{name}" FROM "{name}@{self.round}"')


def select(rule: Rule, place: int = -1, suffix: str = "") -> str:
    """A rule as a query, in which the atom at one place reads a table of its own."""
    values, conditions = dict[str, str](), list[str]()
    for number, atom in enumerate(rule.atoms):
        for column, argument in enumerate(atom.arguments, 1):
            here = f"t{number}.c{column}"
            if isinstance(argument, int):
                conditions.append(f"{here} = {argument}")
            elif values.setdefault(argument, here) != here:
                conditions.append(f"{here} = {values[argument]}")
    for literal in rule.body:
        match literal:
            case Different(left, right):
                conditions.append(f"{values[left]} <> {values[right]}")
            case Sum(result, left, right):
                values[result] = f"{values[left]} + {values[right]}"
    wanted = ", ".join(f"{values[str(name)]} AS c{column}" for column, name in enumerate(rule.head.arguments, 1))
    sources = ", ".join(
        f'"{atom.relation}{suffix if number == place else ""}" t{number}' for number, atom in enumerate(rule.atoms)
    )
    return f"SELECT {wanted} FROM {sources} WHERE {' AND '.join(conditions) or 'true'}"


def _number(db: duckdb.DuckDBPyConnection, query: str) -> int:
    row = db.execute(query).fetchone()
    assert row is not None
    return int(row[0])
