"""The facts files to read, found by relation names and by `.input` directives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from holdfast.errors import Diagnostic, Severity, UsageError
from holdfast.formats.parameters import SUFFIXES, is_rdf
from holdfast.formats.paths import input_path, inside, is_there, refuse_shared_file, unread_facts
from holdfast.program.model import Atom, Io, Negated, Program, Relation
from holdfast.quick_dataclass import dataclass

_ENDINGS = f"facts files end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}; all but Parquet also in .gz"

_UNFILLED = "check the spelling, or ignore this if updates insert the facts later"
_NAMED = 5  # relations named in a warning


@dataclass(frozen=True)
class InputFile:
    """One source of facts for a relation."""

    relation: Relation
    path: Path
    parameters: Mapping[str, str]


def given_paths(facts: str | Path | Sequence[str | Path] | None) -> list[Path]:
    """The folders and RDF files given as facts; raises if one does not exist."""
    given = [] if facts is None else [facts] if isinstance(facts, str | Path) else facts
    paths = [Path(path) for path in given]
    for path in paths:
        if not is_there(path):
            raise UsageError(Diagnostic("E0903", f"there is no file or folder {path.as_posix()} to read facts from"))
        if not path.is_dir() and not is_rdf(path):
            help = "give the folder with <relation>.facts files, or a .nt, .ttl, .nq or .rdf file"
            raise UsageError(Diagnostic("E0904", f"{path.as_posix()} is neither a folder nor an RDF file", help=help))
    return paths


def input_files(relations: Mapping[str, Relation], paths: Sequence[Path]) -> Iterator[InputFile]:
    """The files to read: those of `.input` directives, or, if there are none, those of all relations."""
    folders = [path for path in paths if path.is_dir()]
    directed = [(r, io) for r in relations.values() for io in r.io if io.kind == "input"]
    if directed:
        for relation, io in directed:
            yield from _directed(relation, io, folders or [Path()])
        return
    found = [
        InputFile(relation, path, {})
        for relation in relations.values()
        for folder in folders
        if not relation.auxiliary and (path := input_path(folder, relation, {})) is not None
    ]
    refuse_shared_file(((input.path, input.relation) for input in found), "read from")
    yield from found


def _directed(relation: Relation, io: Io, folders: Sequence[Path]) -> Iterator[InputFile]:
    found = [input_path(folder, relation, io.parameters) for folder in folders]
    existing = [path for path in found if path is not None and is_there(path)]
    if not existing:
        where = " or ".join(folder.as_posix() for folder in folders)
        name = io.parameters.get("filename", f"{relation.display}.facts")
        message = f"cannot find {name}, the facts of {relation.display}, in {where}"
        help = "give the folder with -F (facts=… in Python), or remove the .input"
        others = [unread_facts(folder, relation) for folder in folders if folder.is_dir()]
        notes = [
            f"{path.as_posix()} exists, but does not have the ending of a facts file; {_ENDINGS}"
            for path in others
            if path is not None and "filename" not in io.parameters
        ]
        raise UsageError(Diagnostic("E0601", message, io.span, notes=tuple(notes), help=help))
    for path in existing:
        yield InputFile(relation, path, io.parameters)


def warnings_of_unread(program: Program, paths: Sequence[Path]) -> Iterator[Diagnostic]:
    """Warnings about relations that stay empty although the folder has a file with their name."""
    filled = {*program.facts, *(rule.predicate for rule in program.rules)}
    empty = [r for name, r in program.relations.items() if name not in filled and not r.auxiliary]
    if any(io.kind == "input" for relation in program.relations.values() for io in relation.io):
        return
    read = {input.path for input in input_files(program.relations, paths)}
    for folder in filter(Path.is_dir, paths):
        for relation in empty:
            path = unread_facts(folder, relation)
            if path is None or path in read:
                continue
            if not path.name.startswith(f"{relation.display}."):
                message = f"{path.as_posix()} is not read: the relation is named {relation.display}"
                help = f"did you mean {path.name.partition('.')[0]}? Names are case-sensitive"
            else:
                message = f"{path.as_posix()} is not read: it has a relation's name, but not the ending of a facts file"
                help = _ENDINGS
            yield Diagnostic("W0008", message, relation.span, help=help, severity=Severity.WARNING)


def warning_of_unfilled(program: Program, paths: Sequence[Path]) -> Iterator[Diagnostic]:
    """One warning about all relations that rules read and nothing fills, if any facts are given.

    RDF names are exempt, and so are relations covered by another warning.
    """
    if not paths and not program.facts:
        return  # facts may come later
    filled = {*program.facts, *(rule.predicate for rule in program.rules)}
    filled |= {aggregate.predicate for aggregate in program.aggregates}
    filled |= {input.relation.name for input in input_files(program.relations, paths)}
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
        message = f"nothing fills {listed}: no rules, facts, .input or files"
        yield Diagnostic("W0018", message, empty[0].span, help=_UNFILLED, severity=Severity.WARNING)


def _read(program: Program) -> Iterator[str]:
    """The relations that rules and aggregates read."""
    bodies = (literal for rule in program.rules for literal in rule.body)
    yield from (literal.predicate for literal in bodies if isinstance(literal, Atom | Negated))
    yield from (aggregate.source for aggregate in program.aggregates)


def rdf_files(paths: Sequence[Path]) -> Iterator[Path]:
    """The given RDF files, and those in the given folders."""
    for path in paths:
        names = sorted(p.name for p in path.iterdir() if is_rdf(p)) if path.is_dir() else []
        yield from [inside(path, name) for name in names] if path.is_dir() else [path]
