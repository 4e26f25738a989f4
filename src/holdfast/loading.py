"""From a program and what its facts were given as to a checked program and encoded rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from holdfast.arguments import expect
from holdfast.encoding import Codes, Dictionary
from holdfast.errors import DataError, Diagnostic, Severity, UsageError
from holdfast.formats.fact_data import FactData, Several, is_spark_frame, kept
from holdfast.formats.parameters import SUFFIXES, is_rdf
from holdfast.formats.paths import input_path, inside, refuse_shared_file, unread_facts
from holdfast.formats.rdf_mirrors import refuse_unmirrored
from holdfast.language import tree
from holdfast.program import check, outline
from holdfast.program.maintainable import maintainable
from holdfast.program.model import Atom, Io, Negated, Program, Relation
from holdfast.program.similar import similar
from holdfast.quick_dataclass import dataclass
from holdfast.settings import Memory
from holdfast.values import Type

Facts: TypeAlias = str | Path | Sequence[str | Path] | Mapping[str, FactData] | None
"""A folder, RDF files, several of these, or data by relation name."""
_ENDINGS = f"facts files end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}; all but Parquet also in .gz"
_UNFILLED = "a misspelt name is a relation of its own; if facts come later, by updates, all is well"
_NAMED = 5  # relations that a warning names

Hints: TypeAlias = Mapping[tuple[str, int], Type]


@dataclass(frozen=True)
class Loaded:
    """A checked program with its explicit facts, the text's own among them."""

    program: Program
    rows: Mapping[str, Codes]
    dictionary: Dictionary
    frames: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # Spark's, which stay what they are
    files: tuple[Path, ...] = ()  # that facts were read from


@dataclass(frozen=True)
class _Input:
    """One place where facts of a relation come from."""

    relation: Relation
    path: Path
    parameters: Mapping[str, str]


def load(tree_program: tree.Program, facts: Facts, dictionary: Dictionary, *, keeps_frames: bool = False) -> Loaded:
    """Check a program and read its facts; column types that the program leaves open follow the data.

    With `keeps_frames`, facts given as Spark DataFrames are not read here.
    """
    _expect_facts(facts)
    frames: dict[str, list[Any]] = {}
    files: tuple[Path, ...] = ()
    if isinstance(facts, Mapping):
        facts = {name: kept(data) for name, data in facts.items()}  # types are told from it before it is read
    program = _checked(tree_program, facts, dictionary.memory)
    match facts:
        case Mapping():
            given = _by_relation(program.relations, facts)
            for name, data in given if keeps_frames else ():
                if is_spark_frame(data):
                    frames.setdefault(name, []).append(data)
            read = [(name, data) for name, data in given if not (keeps_frames and is_spark_frame(data))]
            parts: Iterable[tuple[str, Codes]] = list(_python_rows(program, read, dictionary))
            refuse_unmirrored(program.relations, _together(program, parts), dictionary, frames)
        case _:
            paths = _paths(facts)
            parts = _file_rows(program, paths, dictionary)
            files = (*(input.path for input in _inputs(program.relations, paths)), *_rdf_files(paths))
            program = replace(program, warnings=(*program.warnings, *_warnings_of_unread(program, paths)))
            program = replace(program, warnings=(*program.warnings, *_warning_of_unfilled(program, paths)))
    program = maintainable(program)
    rows = _together(program, [*_text_rows(program, dictionary), *parts])
    return Loaded(program, rows, dictionary, frames, files)


def _expect_facts(facts: object) -> None:
    help = 'give a folder, or facts by relation: facts={"edge": [(1, 2), (2, 3)]}'
    if facts is not None:
        expect(facts, (str, Path, Mapping, Sequence), "facts are a folder, a list of files or a dict by relation", help)
    for part in facts if isinstance(facts, Sequence) and not isinstance(facts, str) else ():
        expect(part, (str, Path), "a list of facts has folders and RDF files", help)
    for name in facts if isinstance(facts, Mapping) else ():
        expect(name, str, "a relation's name is a string", help)


def _checked(tree_program: tree.Program, facts: Facts, memory: Memory) -> Program:
    """The program with the types that the data suggests for columns that it leaves open.

    A program that is wrong whatever the data is told so, even if the data is wrong as well.
    """
    try:
        return check(tree_program, _hints(outline(tree_program), facts, memory))
    except (UsageError, DataError):
        check(tree_program)
        raise


def _hints(relations: Mapping[str, Relation], facts: Facts, memory: Memory) -> Hints:
    match facts:
        case Mapping():
            return _python_hints(relations, _by_relation(relations, facts))
        case _:
            return _file_hints(_inputs(relations, _paths(facts)), memory)


def _is_open(relation: Relation) -> bool:
    """Whether the program does not declare the type of some column, so that the data has a say."""
    return any(type is Type.ANY for type in relation.types)


def _text_rows(program: Program, dictionary: Dictionary) -> Iterator[tuple[str, Codes]]:
    for name, rows in program.facts.items():
        yield name, dictionary.encode_rows(rows, program.relations[name].kinds)


def _together(program: Program, parts: Iterable[tuple[str, Codes]]) -> dict[str, Codes]:
    by_name: dict[str, list[Codes]] = {}
    for name, rows in parts:
        by_name.setdefault(name, []).append(rows)
    return {
        name: np.ascontiguousarray(np.concatenate(rows) if len(rows) > 1 else rows[0]) for name, rows in by_name.items()
    }


# --- facts as Python data ----------------------------------------------------------------------------


def _by_relation(relations: Mapping[str, Relation], facts: Mapping[str, FactData]) -> list[tuple[str, FactData]]:
    spelled = {relation.display: name for name, relation in relations.items() if not relation.auxiliary}
    found = []
    for name, data in facts.items():
        known = name if name in relations else spelled.get(name)
        if known is None:
            help = similar(name, spelled) or "the program mentions: " + ", ".join(spelled)
            raise UsageError(Diagnostic("E0901", f"there is no relation {name} to put facts into", help=help))
        found += [(known, part) for part in (data.parts if isinstance(data, Several) else (data,))]
    return found


def _python_hints(
    relations: Mapping[str, Relation],
    given: Sequence[tuple[str, FactData]],
) -> dict[tuple[str, int], Type]:
    from holdfast.formats.python_data import sniff_python

    hints = {}
    for name, data in given:
        relation = relations[name]
        if _is_open(relation):
            names = [column.name for column in relation.columns]
            hints.update({(name, i): type for i, type in enumerate(sniff_python(data, names))})
    return hints


def _python_rows(
    program: Program, given: Sequence[tuple[str, FactData]], dictionary: Dictionary
) -> Iterator[tuple[str, Codes]]:
    from holdfast.formats.python_data import encode_facts

    for name, data in given:
        yield name, encode_facts(data, program.relations[name], dictionary)


# --- facts in files ----------------------------------------------------------------------------------


def _paths(facts: str | Path | Sequence[str | Path] | None) -> list[Path]:
    given = [] if facts is None else [facts] if isinstance(facts, str | Path) else facts
    paths = [Path(path) for path in given]
    for path in paths:
        if not path.exists():
            raise UsageError(Diagnostic("E0903", f"there is no file or folder {path.as_posix()} to read facts from"))
        if not path.is_dir() and not is_rdf(path):
            help = "give the folder with <relation>.facts files, or a .nt, .ttl, .nq or .rdf file"
            raise UsageError(Diagnostic("E0904", f"{path.as_posix()} is neither a folder nor an RDF file", help=help))
    return paths


def _inputs(relations: Mapping[str, Relation], paths: Sequence[Path]) -> Iterator[_Input]:
    """The files to read: those of `.input` directives, or, without any, of every relation that has one."""
    folders = [path for path in paths if path.is_dir()]
    directed = [(r, io) for r in relations.values() for io in r.io if io.kind == "input"]
    if directed:
        for relation, io in directed:
            yield from _directed(relation, io, folders or [Path()])
        return
    found = [
        _Input(relation, path, {})
        for relation in relations.values()
        for folder in folders
        if not relation.auxiliary and (path := input_path(folder, relation, {})) is not None
    ]
    refuse_shared_file(((input.path, input.relation) for input in found), "have the facts of")
    yield from found


def _warnings_of_unread(program: Program, paths: Sequence[Path]) -> Iterator[Diagnostic]:
    """A relation that stays empty although the folder has a file with its name."""
    filled = {*program.facts, *(rule.predicate for rule in program.rules)}
    empty = [r for name, r in program.relations.items() if name not in filled and not r.auxiliary]
    if any(io.kind == "input" for relation in program.relations.values() for io in relation.io):
        return
    read = {input.path for input in _inputs(program.relations, paths)}
    for folder in filter(Path.is_dir, paths):
        for relation in empty:
            path = unread_facts(folder, relation)
            if path is None or path in read:
                continue
            if not path.name.startswith(f"{relation.display}."):
                message = f"{path.as_posix()} is not read: the relation is called {relation.display}"
                help = f"did you mean {path.name.partition('.')[0]}? Capitals tell names apart"
                yield Diagnostic("W0008", message, relation.span, help=help, severity=Severity.WARNING)
            else:
                message = f"{path.as_posix()} is not read: it has a relation's name, but not the ending of a facts file"
                yield Diagnostic("W0008", message, relation.span, help=_ENDINGS, severity=Severity.WARNING)


def _warning_of_unfilled(program: Program, paths: Sequence[Path]) -> Iterator[Diagnostic]:
    """One warning of all relations that rules read and nothing fills, where facts are given at all.

    RDF names are not doubted, nor are relations of which another warning speaks.
    """
    if not paths and not program.facts:
        return  # all facts come later
    filled = {*program.facts, *(rule.predicate for rule in program.rules)}
    filled |= {aggregate.predicate for aggregate in program.aggregates}
    filled |= {input.relation.name for input in _inputs(program.relations, paths)}
    doubted = {warning.span for warning in program.warnings if warning.code in ("W0007", "W0008")}
    empty = [
        relation
        for name in dict.fromkeys(_read(program))
        if name not in filled and name != "triple" and re.fullmatch(r"[\w.?]+", name)
        for relation in [program.relations[name]]
        if relation.span not in doubted and not any(io.kind == "input" for io in relation.io)
    ]
    if empty:
        names = [relation.display for relation in empty]
        listed = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        message = f"nothing fills {listed}: there are no rules, facts, .input or files"
        yield Diagnostic("W0018", message, empty[0].span, help=_UNFILLED, severity=Severity.WARNING)


def _read(program: Program) -> Iterator[str]:
    """The relations that rules and aggregates read."""
    bodies = (literal for rule in program.rules for literal in rule.body)
    yield from (literal.predicate for literal in bodies if isinstance(literal, Atom | Negated))
    yield from (aggregate.source for aggregate in program.aggregates)


def _directed(relation: Relation, io: Io, folders: Sequence[Path]) -> Iterator[_Input]:
    found = [input_path(folder, relation, io.parameters) for folder in folders]
    existing = [path for path in found if path is not None and path.exists()]
    if not existing:
        where = " or ".join(folder.as_posix() for folder in folders)
        name = io.parameters.get("filename", f"{relation.display}.facts")
        message = f"cannot find {name}, the facts of {relation.display}, in {where}"
        help = "name the folder with -F (facts=… in Python), or take the .input away"
        others = [unread_facts(folder, relation) for folder in folders if folder.is_dir()]
        notes = [
            f"{path.as_posix()} is there, but does not end as a facts file does; {_ENDINGS}"
            for path in others
            if path is not None and "filename" not in io.parameters
        ]
        raise UsageError(Diagnostic("E0601", message, io.span, notes=tuple(notes), help=help))
    for path in existing:
        yield _Input(relation, path, io.parameters)


def _file_hints(inputs: Iterable[_Input], memory: Memory) -> dict[tuple[str, int], Type]:
    hints: dict[tuple[str, int], Type] = {}
    for input in inputs:
        if _is_open(input.relation):
            from holdfast.formats.facts_files import sniff_types

            names = [column.name for column in input.relation.columns]
            types = sniff_types(input.path, names, input.parameters, memory)
            hints.update({(input.relation.name, i): type for i, type in enumerate(types)})
    return hints


def _file_rows(program: Program, paths: Sequence[Path], dictionary: Dictionary) -> Iterator[tuple[str, Codes]]:
    problems: list[Diagnostic] = []
    found: list[tuple[str, Codes]] = []
    for input in _inputs(program.relations, paths):
        from holdfast.formats.facts_files import read_relation

        relation = program.relations[input.relation.name]
        try:
            found.append((relation.name, read_relation(input.path, relation, dictionary, input.parameters)))
        except DataError as error:
            problems += error.diagnostics
    if problems:
        raise DataError(problems)
    refuse_unmirrored(program.relations, _together(program, found), dictionary)
    yield from found
    for path in _rdf_files(paths):
        from holdfast.formats.rdf import read_rdf

        yield from read_rdf(path, program.relations, dictionary).items()


def _rdf_files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        names = sorted(p.name for p in path.iterdir() if is_rdf(p)) if path.is_dir() else []
        yield from [inside(path, name) for name in names] if path.is_dir() else [path]
