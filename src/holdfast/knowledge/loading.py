"""Turn a program and its given facts into a checked program and encoded rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from holdfast.arguments import expect
from holdfast.errors import DataError, Diagnostic, UsageError
from holdfast.formats.contents import Contents
from holdfast.formats.fact_data import FactData, FactParts, is_spark_frame, kept
from holdfast.formats.rdf_mirrors import refuse_unmirrored
from holdfast.knowledge.input_files import (
    InputFile,
    given_paths,
    input_files,
    rdf_files,
    warning_of_unfilled,
    warnings_of_unread,
)
from holdfast.language import tree
from holdfast.program import check, outline
from holdfast.program.maintainable import maintainable
from holdfast.program.model import Program, Relation
from holdfast.program.similar import similar
from holdfast.quick_dataclass import dataclass
from holdfast.values import Type
from holdfast.values.dictionary import Codes, Dictionary

if TYPE_CHECKING:
    from holdfast.knowledge.derived_cache import Derived

GivenFacts: TypeAlias = str | Path | Sequence[str | Path] | Mapping[str, FactData] | None
"""A folder, RDF files, several of these, or data by relation name."""


LOADED = "facts that are loaded"  # their name in memory errors until the backend holds them
Hints: TypeAlias = Mapping[tuple[str, int], Type]


@dataclass(frozen=True)
class Loaded:
    """A checked program with its explicit facts, including those in its text."""

    program: Program
    rows: Mapping[str, Codes]
    dictionary: Dictionary
    frames: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # Spark DataFrames, kept as they are
    files: tuple[Path, ...] = ()  # files that facts were read from
    derived: Derived | None = None  # derived facts from a cache; `rows` are those not in it


def load(
    tree_program: tree.Program, facts: GivenFacts, dictionary: Dictionary, *, keeps_frames: bool = False
) -> Loaded:
    """Check a program and read its facts; undeclared column types follow from the data.

    With `keeps_frames`, facts given as Spark DataFrames are not read here.
    """
    _expect_facts(facts)
    frames: dict[str, list[Any]] = {}
    files: tuple[Path, ...] = ()
    if isinstance(facts, Mapping):
        # types are inferred before the facts are read
        facts = {name: kept(data, dictionary.memory) for name, data in facts.items()}
    with Contents(dictionary.memory) as contents:
        program = _checked(tree_program, facts, contents)
        match facts:
            case Mapping():
                given = _by_relation(program.relations, facts)
                for name, data in given if keeps_frames else ():
                    if is_spark_frame(data):
                        frames.setdefault(name, []).append(data)
                read = [(name, data) for name, data in given if not (keeps_frames and is_spark_frame(data))]
                parts = list(_counted(_python_rows(program, read, dictionary), contents))
                refuse_unmirrored(program.relations, _together(program, parts), dictionary, frames)
            case _:
                paths = given_paths(facts)
                parts = _file_rows(program, paths, dictionary, contents)
                files = (*(input.path for input in input_files(program.relations, paths)), *rdf_files(paths))
                program = replace(program, warnings=(*program.warnings, *warnings_of_unread(program, paths)))
                program = replace(program, warnings=(*program.warnings, *warning_of_unfilled(program, paths)))
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


def _checked(tree_program: tree.Program, facts: GivenFacts, contents: Contents) -> Program:
    """The program, with undeclared column types inferred from the data.

    Errors in the program are reported before errors in its data.
    """
    try:
        return check(tree_program, _hints(outline(tree_program), facts, contents))
    except (UsageError, DataError):
        check(tree_program)
        raise


def _hints(relations: Mapping[str, Relation], facts: GivenFacts, contents: Contents) -> Hints:
    match facts:
        case Mapping():
            return _python_hints(relations, _by_relation(relations, facts))
        case _:
            return _file_hints(input_files(relations, given_paths(facts)), contents)


def _is_open(relation: Relation) -> bool:
    """Whether some column has no declared type, so that the data determines it."""
    return any(type is Type.ANY for type in relation.types)


def _text_rows(program: Program, dictionary: Dictionary) -> Iterator[tuple[str, Codes]]:
    for name, rows in program.facts.items():
        yield name, dictionary.encode_rows(rows, program.relations[name].kinds)


def _counted(
    parts: Iterable[tuple[str, Codes]], contents: Contents, before: Iterable[tuple[str, Codes]] = ()
) -> Iterator[tuple[str, Codes]]:
    """Pass the parts through, counting their memory until the backend holds them."""
    total = sum(codes.nbytes for _, codes in before)
    for name, codes in parts:
        total += codes.nbytes
        contents.retried(partial(contents.memory.grown, LOADED, total))
        yield name, codes


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
            raise UsageError(Diagnostic("E0901", f"there is no relation {name} for these facts", help=help))
        found += [(known, part) for part in (data.parts if isinstance(data, FactParts) else (data,))]
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


def _file_hints(inputs: Iterable[InputFile], contents: Contents) -> dict[tuple[str, int], Type]:
    hints: dict[tuple[str, int], Type] = {}
    for input in inputs:
        if _is_open(input.relation):
            from holdfast.formats.facts_files import sniff_types

            names = [column.name for column in input.relation.columns]
            sniff = partial(sniff_types, input.path, names, input.parameters, contents)
            types = contents.retried(sniff)
            hints.update({(input.relation.name, i): type for i, type in enumerate(types)})
    return hints


def _file_rows(
    program: Program, paths: Sequence[Path], dictionary: Dictionary, contents: Contents
) -> list[tuple[str, Codes]]:
    problems: list[Diagnostic] = []
    found = list(_counted(_delimited_rows(program, paths, dictionary, contents, problems), contents))
    if problems:
        raise DataError(problems)
    refuse_unmirrored(program.relations, _together(program, found), dictionary)
    return [*found, *_counted(_rdf_rows(program, paths, dictionary), contents, found)]


def _delimited_rows(
    program: Program,
    paths: Sequence[Path],
    dictionary: Dictionary,
    contents: Contents,
    problems: list[Diagnostic],
) -> Iterator[tuple[str, Codes]]:
    for input in input_files(program.relations, paths):
        from holdfast.formats.facts_files import read_relation

        relation = program.relations[input.relation.name]
        read = partial(read_relation, input.path, relation, dictionary, input.parameters, contents)
        try:
            yield relation.name, contents.retried(read)
        except DataError as error:
            problems += error.diagnostics


def _rdf_rows(program: Program, paths: Sequence[Path], dictionary: Dictionary) -> Iterator[tuple[str, Codes]]:
    for path in rdf_files(paths):
        from holdfast.formats.rdf import read_rdf

        yield from read_rdf(path, program.relations, dictionary).items()
