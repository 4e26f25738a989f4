"""From the syntax tree to the checked program: the passes, in their order.

0. components   what each instance stands for               components.py, renaming.py, inlining.py
1. names      what every name stands for                    names.py, type_names.py, misspelt.py, rdf_views.py
              a subtraction that looks like a date          odd_dates.py
2. desugar    one head, a conjunction, no aggregates        desugar.py, normal_form.py, flatten.py, aggregates.py
3. safety     every variable is bound                       safety.py
4. types      by name, then of storage                      nominal.py, inference.py, evidence.py, typing.py
5. strata     no negation or aggregation on a cycle         stratify.py, graph.py
              recursion through min and max                 limit_heads.py, limit_checks.py, limits.py, movement.py
6. ending     warnings: what may not end, or ends early      termination.py
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.errors import Diagnostic, Diagnostics
from holdfast.language import tree
from holdfast.language.editing import with_names
from holdfast.program.components import instantiated
from holdfast.program.core import CoreProgram
from holdfast.program.desugar import desugar
from holdfast.program.graph import hyper_nodes
from holdfast.program.ignored import warn_of_ignored
from holdfast.program.inference import Hints, Inference
from holdfast.program.inlining import inlined
from holdfast.program.limit_checks import check_limits
from holdfast.program.misspelt import warn_of_misspelt
from holdfast.program.model import Column, Program, Relation
from holdfast.program.names import KnownRelation, Names, resolve
from holdfast.program.nominal import check_nominal
from holdfast.program.odd_dates import warn_of_dates
from holdfast.program.rdf_views import check_views
from holdfast.program.records import with_record_types
from holdfast.program.refused import report_refused
from holdfast.program.safety import check_safety
from holdfast.program.stratify import check_strata
from holdfast.program.sums import check_sums, with_sums, without_refused
from holdfast.program.termination import warn_of_endless, warn_of_limits
from holdfast.program.typing import Typer
from holdfast.values import Type


def check(program: tree.Program, hints: Hints | None = None, kept: Hints | None = None) -> Program:
    """The checked program; raises a ProgramError that lists everything that is wrong.

    `hints` are types sniffed from data files for (predicate, column): they decide only where the program does not.
    `kept` are types that columns have as if they were declared.
    """
    diagnostics = Diagnostics()
    program = inlined(with_names(instantiated(program, diagnostics)))
    report_refused(program, diagnostics)
    warn_of_ignored(program, diagnostics)
    scope = resolve(program, diagnostics)
    warn_of_misspelt(program, scope, {predicate for predicate, _ in hints or {}})
    check_views(program, scope)
    warn_of_dates(program, diagnostics)
    core = desugar(program, scope)
    for (name, place), type in (kept or {}).items():
        if name in scope.relations and type is not Type.RECORD:
            scope.relations[name].keep_type(place, type)
    declared = tuple(i for i in program.items if isinstance(i, tree.AnyType | tree.FunctorDeclaration))
    rules = tuple(item for item in program.items if not isinstance(item, tree.Rule) or item.body is not None)
    return replace(checked(core, scope, hints or {}, diagnostics), declared=declared, written=rules)


def outline(program: tree.Program) -> dict[str, Relation]:
    """The relations of a program that may still have errors, by name only: a column without a declared type is `any`.

    The data may determine the types, so the relations must be known before the check.
    """
    scope = resolve(inlined(instantiated(program, Diagnostics())), Diagnostics())
    return {name: _outlined(known, scope) for name, known in scope.relations.items()}


def _outlined(known: KnownRelation, scope: Names) -> Relation:
    types = [Type.ANY if name is None else scope.types.base(name) for name in known.type_names]
    structures = [None if name is None else scope.types.structure(name) for name in known.type_names]
    columns = [
        Column(*each) for each in zip(known.columns, types, [type.value for type in types], structures, strict=True)
    ]
    return Relation(
        known.name, known.display, tuple(columns), tuple(known.io), known.auxiliary, known.span, known.declared
    )


def checked(core: CoreProgram, scope: Names, hints: Hints, diagnostics: Diagnostics) -> Program:
    """The passes after names, which programs and queries share."""
    core = with_sums(with_record_types(core, scope, diagnostics), scope)
    check_safety(core, diagnostics)
    check_nominal(core, scope, diagnostics)
    typer = Typer(scope, Inference(core, scope, hints, diagnostics), diagnostics)
    aggregates, rules, facts = typer.aggregates(core), typer.rules(core), typer.facts(core)
    relations = typer.relations()
    check_strata(core, scope, diagnostics)
    nodes = hyper_nodes(tuple(relations), rules, aggregates)
    sound = without_refused(nodes, core)
    check_sums(sound, relations, diagnostics)
    check_limits(sound, rules, core.rules, scope, diagnostics)
    warn_of_endless(nodes, diagnostics)
    warn_of_limits(relations, nodes, diagnostics)
    diagnostics.items[:] = _each_once(diagnostics.items)
    diagnostics.raise_errors()
    warnings, floats, integers = diagnostics.warnings, tuple(typer.floats), frozenset(typer.integers)
    found = Program(relations, rules, aggregates, facts, nodes, scope.prefixes, warnings)
    return replace(found, floats=floats, integers=integers)


def _each_once(items: list[Diagnostic]) -> list[Diagnostic]:
    """One written rule may become several core rules, each of which would report the same error."""
    return list({(item.code, item.message, item.span): item for item in items}.values())
