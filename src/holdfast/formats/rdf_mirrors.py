"""Refuse facts that are given for one relation of RDF statements but not for another with the same statements.

See program.rdf_views.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from holdfast.errors import Diagnostic, UsageError
from holdfast.program.model import Relation
from holdfast.program.rdf_views import RDF_TYPE, TRIPLE, is_view, statements_of
from holdfast.values import Iri, Row, Type, quote
from holdfast.values.dictionary import Codes, Dictionary

_NONE = np.empty((0, 0), np.int64)
_TYPE = f"<{RDF_TYPE}>"


def refuse_unmirrored(
    relations: Mapping[str, Relation],
    given: Mapping[str, Codes],
    dictionary: Dictionary,
    frames: Collection[str] = (),
    *,
    what: str = "the facts given for",
) -> None:
    """Refuse facts of one relation if another one shares their statements but is not given them.

    `frames` are relations whose facts are outside this process: for them, only whether both are given is checked.
    """
    if TRIPLE not in relations and _TYPE not in relations:
        return
    for one, other in _sharing(relations, {*given, *frames}):
        if one.name in frames or other.name in frames:
            if other.name not in frames and other.name not in given:
                _refuse(one, other, None, what)
            continue
        wanted = _translated(given[one.name], one, other, dictionary)
        rows = given.get(other.name, _NONE)
        if one.types[:1] + other.types[:1] != (Type.ANY, Type.ANY) or {*one.types, *other.types} != {Type.ANY}:
            missing = wanted if not len(rows) else _NONE  # codes of different types are not comparable
        else:
            there = set(map(tuple, rows.tolist()))
            missing = np.array([row for row in wanted.tolist() if tuple(row) not in there], np.int64)
        if len(missing):
            row = dictionary.decode_rows(missing[:1], (Type.ANY,) * other.arity)[0] if other.arity else ()
            _refuse(one, other, row if {*one.types} == {Type.ANY} else None, what)


def _sharing(relations: Mapping[str, Relation], given: Collection[str]) -> Iterator[tuple[Relation, Relation]]:
    """Pairs of a given relation and another one of the program that shares some of its statements."""
    views = [relation for relation in relations.values() if is_view(relation) and not relation.auxiliary]
    for one in (view for view in views if view.name in given):
        for other in views:
            mine, others = (statements_of(r.name, (None,) * r.arity) for r in (one, other))
            if one is not other and mine is not None and others is not None and mine.overlap(others):
                yield one, other


def _translated(rows: Codes, one: Relation, other: Relation, dictionary: Dictionary) -> Codes:
    """The rows of the other relation for the same statements."""
    kind = dictionary.id_of(Iri(RDF_TYPE))
    subjects, properties, objects = _statements(rows, one, dictionary)
    if other.name == TRIPLE:
        return np.stack([subjects, properties, objects], axis=1)
    name = dictionary.id_of(Iri(other.name[1:-1]))
    if one.name == TRIPLE and one.types[1] is not Type.ANY:  # a text does not determine the property
        chosen = np.ones(len(rows), np.bool_)
    elif other.arity == 1:
        chosen = (properties == kind) & (objects == name)
    else:
        chosen = properties == name
    columns = [subjects[chosen]] if other.arity == 1 else [subjects[chosen], objects[chosen]]
    return np.stack(columns, axis=1)


def _statements(rows: Codes, relation: Relation, dictionary: Dictionary) -> tuple[Codes, Codes, Codes]:
    if relation.name == TRIPLE:
        return rows[:, 0], rows[:, 1], rows[:, 2]
    name = np.full(len(rows), dictionary.id_of(Iri(relation.name[1:-1])), np.int64)
    if relation.arity == 2:
        return rows[:, 0], name, rows[:, 1]
    return rows[:, 0], np.full(len(rows), dictionary.id_of(Iri(RDF_TYPE)), np.int64), name


def _refuse(one: Relation, other: Relation, row: Row | None, what: str) -> None:
    message = f"{what} {one.display} are not given for {other.display}, which has the same statements"
    shown = ", ".join(quote(value) if isinstance(value, str) else str(value) for value in row or ())
    notes = (f"missing: {other.display}({shown})",) if row is not None else ()
    help = f"give them for both, or use only one of {one.display} and {other.display} in the program"
    raise UsageError(Diagnostic("E0925", message, notes=notes, help=help))
