"""Relations for the tests of formats."""

from __future__ import annotations

from holdfast.program.model import Column, Relation
from holdfast.values import Type


def relation(*types: Type, name: str = "r") -> Relation:
    """A relation with columns c0, c1, … of these types."""
    return Relation(name, name.strip("<>"), tuple(Column(f"c{i}", type, type.value) for i, type in enumerate(types)))
