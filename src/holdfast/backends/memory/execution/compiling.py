"""Compiles the steps of a plan into steps that run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.backends.memory.execution.join import JoinStep, LookupStep, ScanStep
from holdfast.backends.memory.execution.shapes import ColumnSources, shape_of
from holdfast.backends.memory.execution.steps import (
    CompareStep,
    ComputeStep,
    FilterStep,
    ProjectStep,
    Runnable,
    UnnestStep,
)
from holdfast.backends.memory.table import Table
from holdfast.plans.model import AntiJoin, Compute, Filter, Join, Plan, Scan, Step, Unnest
from holdfast.program.model import Compare, Const, Term, Var
from holdfast.values.dictionary import Dictionary


def compiled(
    plan: Plan, tables: Mapping[str, Table], dictionary: Dictionary, before: tuple[Var, ...] = ()
) -> list[Runnable]:
    """Compiles a plan that begins with bindings of some variables; the last step writes the head where it can."""
    steps: list[Runnable] = []
    if len(plan.outputs) > 1:
        head: tuple[Term, ...] = plan.live[-1]
    else:
        head = plan.outputs[0][1]
    plain_head = all(isinstance(term, Var | Const) for term in head)
    for position, (step, after) in enumerate(zip(plan.steps, plan.live, strict=True)):
        is_last = position == len(plan.steps) - 1
        outputs: Sequence[Term] = head if is_last and plain_head else after
        steps.append(runnable(step, before, outputs, tables, dictionary))
        before = after
    if not plan.steps or not plain_head:
        steps.append(ProjectStep(before, head, dictionary))
    return steps


def runnable(
    step: Step, before: Sequence[Var], after: Sequence[Term], tables: Mapping[str, Table], dictionary: Dictionary
) -> Runnable:
    """Compiles one step, from the variables live before it to its output."""
    columns = ColumnSources(before, dictionary)
    match step:
        case Scan(atom=atom, key=key):
            return ScanStep(step, tables[atom.predicate], shape_of(atom.arguments, key, columns, after))
        case Join(atom=atom, key=key) | AntiJoin(atom=atom, key=key):
            table = tables[atom.predicate]
            if len(key) == table.arity:
                return LookupStep(step, table, shape_of(atom.arguments, key, columns, after))
            others = [column for column in range(table.arity) if column not in key]
            places = {column: place for place, column in enumerate(others)}
            return JoinStep(step, table, shape_of(atom.arguments, key, columns, after, places))
        case Filter(
            condition=Compare(
                operator="=" | "!=" as operator, left=Var() | Const() as left, right=Var() | Const() as right
            )
        ):
            return CompareStep(left, right, operator == "=", after, columns)
        case Filter():
            return FilterStep(step, before, after, dictionary)
        case Compute():
            return ComputeStep(step, before, after, dictionary)
        case Unnest():
            return UnnestStep(step, before, after, dictionary)
