"""Values as the oracle holds them: pairs (kind, value), so that 1, 1.0 and "1" are three values."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.language import tree
from holdfast.values import Record, Row, Value

Tagged = tuple[str, object]
Fact = tuple[Tagged, ...]


def tag(value: Value) -> Tagged:
    match value:
        case bool() | int():
            return ("number", int(value))
        case float():
            return ("float", value)
        case str():
            return ("symbol", value)
        case Record(fields=fields, branch=branch):
            return record(branch, map(tag, fields))
        case _:
            return ("term", value)


def record(branch: str, fields: Iterable[Tagged]) -> Tagged:
    """A record, a branch of an algebraic data type, or `nil`, whose branch is called so."""
    return ("record", (branch, tuple(fields)))


NIL = record("nil", ())


def tag_row(row: Row) -> Fact:
    return tuple(tag(value) for value in row)


def number(term: tree.Number) -> Tagged:
    text = term.text.rstrip("uf") if not term.text.startswith("0x") else term.text.rstrip("u")
    if term.kind is tree.NumberKind.FLOAT:
        return ("float", float(text))
    return ("number", int(text, 0) if text[:2] in ("0x", "0b") else int(text))


def coerce(value: Tagged, column: str | None) -> Tagged:
    if column == "float" and value[0] == "number":
        return ("float", float(value[1]))  # type: ignore[arg-type]
    if column in ("number", "unsigned") and value[0] == "float":
        return ("number", int(value[1]))  # type: ignore[call-overload]
    return value


def alike(*values: Tagged) -> list[object]:
    """Bare values for an operation; integer literals beside floats are floats."""
    kinds = {kind for kind, _ in values}
    return [float(value) if kinds == {"number", "float"} else value for _, value in values]  # type: ignore[arg-type]


def base_types(items: Iterable[tree.Item]) -> dict[str, str]:
    """Every declared type's base type."""
    base = {"number": "number", "unsigned": "unsigned", "float": "float", "symbol": "symbol", "any": "any"}
    declared = [item for item in items if isinstance(item, tree.TypeDeclaration)]
    for _ in declared:
        for item in declared:
            if item.targets[0] in base:
                base[item.name] = base[item.targets[0]]
    return base
