"""A program and its facts from a store, with the stored column types and names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from holdfast.errors import DamagedData, Diagnostic
from holdfast.formats.parquet import read_parquet
from holdfast.knowledge.derived_cache import Derived
from holdfast.knowledge.loading import Loaded
from holdfast.knowledge.views import visible_relations
from holdfast.language import tree
from holdfast.program import check
from holdfast.program.maintainable import maintainable, with_relations
from holdfast.program.model import Column, Program, Relation
from holdfast.store.manifests import StoredRelation
from holdfast.values import Type
from holdfast.values.dictionary import Codes, Dictionary

ReadFrame: TypeAlias = Callable[[Path], Any]
"""Opens a folder of Parquet files as a DataFrame."""


def stored_relations(program: Program) -> tuple[StoredRelation, ...]:
    """The relations of a program, for a manifest."""
    return tuple(map(_stored, visible_relations(program).values()))


def _stored(relation: Relation) -> StoredRelation:
    columns = tuple((column.name, column.type.value, column.type_name) for column in relation.columns)
    return StoredRelation(relation.name, relation.display, relation.declared, columns)


def load_stored(
    tree_program: tree.Program,
    relations: Iterable[StoredRelation],
    facts: Mapping[str, Sequence[Path]],
    dictionary: Dictionary,
    derived: Derived | None = None,
    frame: ReadFrame | None = None,
) -> Loaded:
    """The contents of a snapshot, checked and encoded; if derived facts are cached, only what the cache lacks.

    `frame` opens the folders that Spark wrote, whose facts stay there.
    """
    program = _stored_program(tree_program, relations)
    if derived is not None:
        return Loaded(program, derived.given(program, dictionary), dictionary, derived=derived)
    spread = {name: paths[0].parent for name, paths in facts.items() if frame and paths[0].parent.suffix == ".parquet"}
    rows = {
        name: _together([read_parquet(path, program.relations[name], dictionary) for path in paths])
        for name, paths in facts.items()
        if name not in spread
    }
    frames = {name: [frame(folder)] for name, folder in spread.items()} if frame is not None else {}
    return Loaded(program, rows, dictionary, frames)


def _together(parts: Sequence[Codes]) -> Codes:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _stored_program(tree_program: tree.Program, relations: Iterable[StoredRelation]) -> Program:
    known = {relation.name: relation for relation in relations}
    types = {(name, i): Type(type) for name, r in known.items() for i, (_, type, _) in enumerate(r.columns)}
    program = maintainable(check(tree_program, types))
    orphans = {name: _orphan(relation) for name, relation in known.items() if name not in program.relations}
    program = with_relations(program, orphans)
    named = {name: _named_as_stored(relation, known.get(name)) for name, relation in program.relations.items()}
    program = replace(program, relations=named)
    refuse_other_types(program, {name: [type for _, type, _ in r.columns] for name, r in known.items()})
    return program


def refuse_other_types(program: Program, types: Mapping[str, Iterable[str]]) -> None:
    """Refuse a store whose rules no longer give its relations the stored types."""
    for name, stored in types.items():
        found = [type.value for type in program.relations[name].types] if name in program.relations else list(stored)
        if found != list(stored):
            message = f"relation {name} has types ({', '.join(found)}) now, and had ({', '.join(stored)}) in the store"
            raise DamagedData(Diagnostic("E1306", message, help="open it with the version of holdfast that wrote it"))


def _orphan(stored: StoredRelation) -> Relation:
    """A relation that only facts mention."""
    columns = tuple(Column(name, Type(type), type_name) for name, type, type_name in stored.columns)
    return Relation(stored.name, stored.display, columns, declared=stored.declared)


def _named_as_stored(relation: Relation, stored: StoredRelation | None) -> Relation:
    """Restore column names: undeclared columns are named after variables of the rules, which may have changed since."""
    if stored is None or relation.declared or relation.auxiliary:
        return relation
    columns = [replace(column, name=was[0]) for column, was in zip(relation.columns, stored.columns, strict=True)]
    return replace(relation, columns=tuple(columns))
