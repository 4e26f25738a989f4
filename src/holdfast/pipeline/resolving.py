"""Check a pipeline against its program: every relation and column that it names must exist."""

from __future__ import annotations

from dataclasses import replace

from holdfast.errors import Diagnostics, Span, UsageError
from holdfast.pipeline.model import CUSTOM, LINES, RDF, Pipeline, Sink, Source
from holdfast.pipeline.naming import refuse_shared_places
from holdfast.program.model import Program, Relation
from holdfast.program.similar import similar


def resolved(pipeline: Pipeline, program: Program) -> Pipeline:
    """The pipeline with predicates in place of relation names."""
    problems = Diagnostics()
    _check_mode(pipeline, problems)
    if pipeline.snapshots is not None:
        _check_types(program, problems)
    sources = tuple(_source(source, program, problems) for source in pipeline.sources)
    updates = tuple(_source(source, program, problems) for source in pipeline.updates)
    for sink in pipeline.sinks:
        _check_sink(sink, program, problems)
    sinks = tuple(replace(sink, relation=_key(sink.relation, program)) for sink in pipeline.sinks)
    displays = {name: relation.display for name, relation in program.relations.items() if not relation.auxiliary}
    refuse_shared_places(pipeline, displays, problems)
    problems.raise_errors(UsageError)
    return replace(pipeline, sources=sources, updates=updates, sinks=sinks)


def _check_mode(pipeline: Pipeline, problems: Diagnostics) -> None:
    if pipeline.mode != "batch":
        if pipeline.snapshots is None:
            help = '[snapshots]\npath = "snapshots"'.replace("\n", " ")
            problems.error(
                "E1103",
                f"mode {pipeline.mode} keeps its state in snapshots, and there is no [snapshots]",
                help=f"add {help}",
            )
        if not pipeline.updates:
            problems.error("E1103", f"mode {pipeline.mode} needs an [updates.NAME] to read updates from")


def _check_types(program: Program, problems: Diagnostics) -> None:
    """Require declarations for relations with facts in the program.

    Types inferred from these facts would change if the facts are deleted and the state is restored.
    """
    for name in program.facts:
        relation = program.relations[name]
        if not relation.declared:
            columns = ", ".join(f"{column.name}: {column.type.value}" for column in relation.columns)
            problems.error(
                "E1105",
                f"{relation.display} has facts in the program and is not declared",
                relation.span,
                help=f"declare it: .decl {relation.display}({columns})",
            )


def _source(source: Source, program: Program, problems: Diagnostics) -> Source:
    if source.place.format in (*RDF, LINES):
        if source.checks or source.columns:
            problems.error("E1108", f"{source.place.format} has neither columns nor checks", source.span)
        if source.relation is None or source.place.format == LINES:
            return replace(source, relation=None)
    relation = _relation(source.relation or "", source.span, program, problems)
    if relation is None:
        return source
    if not relation.declared and source.place.format not in RDF:
        columns = ", ".join(f"{column.name}: {column.type.value}" for column in relation.columns)
        problems.error(
            "E1105",
            f"{relation.display} is not declared, so its columns have no types",
            source.span,
            help=f"declare it in the program: .decl {relation.display}({columns})",
        )
    known = [column.name for column in relation.columns]
    for name in source.columns:
        if name not in known:
            problems.error(
                "E1105",
                f"{relation.display} has no column {name}",
                source.span,
                help=similar(name, known) or f"its columns are {', '.join(known)}",
            )
    return replace(source, relation=relation.name)


def _check_sink(sink: Sink, program: Program, problems: Diagnostics) -> None:
    if sink.place.format.startswith(CUSTOM):
        problems.error("E1108", "a sink's format must allow overwriting", sink.span)
    if sink.relation != "*":
        _relation(sink.relation, sink.span, program, problems)


def _relation(name: str, span: Span | None, program: Program, problems: Diagnostics) -> Relation | None:
    found = program.relations.get(_key(name, program))
    if found is None or found.auxiliary:
        names = [r.display for r in program.relations.values() if not r.auxiliary]
        problems.error(
            "E1105",
            f"the program has no relation {name}",
            span,
            help=similar(name, names) or f"it has {', '.join(names)}",
        )
        return None
    return found


def _key(name: str, program: Program) -> str:
    """The predicate of a relation given by its name in the program, its IRI or a prefixed name."""
    prefix, colon, local = name.partition(":")
    expanded = f"<{program.prefixes.get(prefix, '')}{local}>" if colon else name
    return next((key for key in (name, f"<{name}>", expanded) if key in program.relations), name)
