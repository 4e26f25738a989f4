"""Polars: a semi-naive loop over data frames, as one writes it by hand; columns of 32 bits, which all values fit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from bench import data
from bench.outcomes import Measured
from bench.rules import Atom, Different, Rule, Sum, components
from bench.workloads import Workload


def run(workload: Workload, variant: str, folder: Path) -> Measured:
    """Load, evaluate, count."""
    begun = time.perf_counter()
    given = data.tables(workload, folder)
    frames = {
        name: pl.DataFrame(schema=dict.fromkeys(data.names(arity), pl.Int32))
        for name, arity in workload.arities.items()
    }
    for name, table in given.items():
        frames[name] = pl.DataFrame(pl.from_arrow(table)).cast(pl.Int32)
    loaded = time.perf_counter()
    for component in components(workload.rules):
        _evaluate(frames, workload.rules, component)
    done = time.perf_counter()
    return Measured(sum(len(frames[name]) for name in workload.counted), done - loaded, loaded - begun)


def _evaluate(frames: dict[str, pl.DataFrame], rules: Sequence[Rule], component: Sequence[str]) -> None:
    """All facts of relations that need each other."""
    fresh = dict[str, pl.DataFrame]()
    for name in component:
        first = [rule for rule in rules if rule.head.relation == name and not rule.inside(component)]
        new = _new(frames[name], [_body(rule, [frames[atom.relation] for atom in rule.atoms]) for rule in first])
        fresh[name] = frames[name] = pl.concat([frames[name], new])
    while fresh:
        found = {name: _new(frames[name], _deltas(frames, rules, name, fresh)) for name in component}
        fresh = {name: frame for name, frame in found.items() if len(frame)}
        for name, frame in fresh.items():
            frames[name] = pl.concat([frames[name], frame])


def _deltas(
    frames: dict[str, pl.DataFrame], rules: Sequence[Rule], name: str, fresh: dict[str, pl.DataFrame]
) -> list[pl.LazyFrame]:
    bodies = list[pl.LazyFrame]()
    for rule in (rule for rule in rules if rule.head.relation == name):
        for place in rule.inside(fresh):
            tables = [frames[atom.relation] for atom in rule.atoms]
            tables[place] = fresh[rule.atoms[place].relation]
            bodies.append(_body(rule, tables))
    return bodies


def _new(known: pl.DataFrame, bodies: Sequence[pl.LazyFrame]) -> pl.DataFrame:
    if not bodies:
        return known.clear()
    return pl.concat(bodies).unique().join(known.lazy(), on=known.columns, how="anti").collect()


def _body(rule: Rule, tables: Sequence[pl.DataFrame]) -> pl.LazyFrame:
    """The head's rows, the atoms joined from left to right; columns bear the variables' names on the way."""
    first, *others = map(_bindings, rule.atoms, tables)
    joined, bound = first
    for frame, variables in others:
        joined = joined.join(frame, on=[variable for variable in variables if variable in bound])
        bound = [*bound, *(variable for variable in variables if variable not in bound)]
    for literal in rule.body:
        match literal:
            case Different(left, right):
                joined = joined.filter(pl.col(left) != pl.col(right))
            case Sum(result, left, right):
                joined = joined.with_columns((pl.col(left) + pl.col(right)).alias(result))
    return joined.select(pl.col(str(name)).alias(f"c{place}") for place, name in enumerate(rule.head.arguments, 1))


def _bindings(atom: Atom, table: pl.DataFrame) -> tuple[pl.LazyFrame, list[str]]:
    frame, variables = table.lazy(), dict[str, str]()
    for column, argument in zip(table.columns, atom.arguments, strict=True):
        if isinstance(argument, int):
            frame = frame.filter(pl.col(column) == argument)
        else:
            variables[argument] = column
    return frame.select(pl.col(column).alias(name) for name, column in variables.items()), list(variables)
