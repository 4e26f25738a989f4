"""The updates of a record as bytes: JSON, with few facts as rows and many as Arrow tables.

4 bytes     length of the JSON
JSON        [{"delete": {"edge": [[1, 2]]}, "insert": {"node": {"arrow": [0, 1234]}}, "add_rules": […]}, …]
Arrow IPC   streams, at the places that the JSON tells
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from holdfast.formats.fact_data import FactData, FactParts
from holdfast.formats.json_lines import from_json, load_json, to_json
from holdfast.lazy import lazily
from holdfast.quick_dataclass import dataclass
from holdfast.relation_view import RelationView
from holdfast.updates import Update

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = lazily("pyarrow")

_FEW: Final = 256  # rows of a relation
_LENGTH: Final = struct.Struct("<I")

FactViews = Mapping[str, RelationView]


@dataclass(frozen=True)
class ExplicitChange:
    """The facts that an update deletes and inserts, as the engine understood them, and the rules it changes."""

    delete: FactViews
    insert: FactViews
    add_rules: Sequence[str] = ()
    remove_rules: Sequence[str] = ()
    in_parts: Sequence[str] = ()  # relations whose new facts were given in several parts: they suggest no types
    types: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of all relations, if rules change


@dataclass(frozen=True)
class LoggedUpdate:
    """An update from a log, and the types that relations have with it, if it changes rules."""

    update: Update
    types: Mapping[str, Sequence[str]]


def pack(changes: Iterable[ExplicitChange]) -> bytes:
    """The content of a record."""
    tables: list[bytes] = []
    place = 0

    def facts(given: FactViews, few: int) -> dict[str, object]:
        nonlocal place
        found: dict[str, object] = {}
        for name, view in given.items():
            if len(view) <= few:
                found[name] = list(view)
            else:
                tables.append(_stream(view.to_arrow()))
                found[name] = {"arrow": [place, place := place + len(tables[-1])]}
        return found

    items = []
    for change in changes:
        few = -1 if change.add_rules or change.remove_rules else _FEW  # types may follow from facts: tables have them
        item = {
            "delete": facts(change.delete, few),
            "insert": facts(change.insert, few),
            "add_rules": list(change.add_rules),
            "remove_rules": list(change.remove_rules),
            "in_parts": list(change.in_parts),
            "types": change.types,
        }
        items.append({key: value for key, value in item.items() if value})
    text = to_json(items).encode()
    return b"".join((_LENGTH.pack(len(text)), text, *tables))


def unpack(content: bytes) -> list[LoggedUpdate]:
    """The updates of a record."""
    [length] = _LENGTH.unpack_from(content)
    start = _LENGTH.size + length
    tables = memoryview(content)[start:]
    return [_update(item, tables) for item in load_json(content[_LENGTH.size : start].decode())]


def size_of(content: bytes) -> tuple[int, int, int]:
    """How many facts a record deletes and inserts, and how many rules it changes."""
    updates = [logged.update for logged in unpack(content)]
    delete, insert = (
        sum(len(part) for update in updates for facts in getattr(update, key).values() for part in _parts(facts))
        for key in ("delete", "insert")
    )
    return delete, insert, sum(len(update.add_rules) + len(update.remove_rules) for update in updates)


def _parts(facts: FactData | FactParts) -> tuple[FactData, ...]:
    return facts.parts if isinstance(facts, FactParts) else (facts,)


def _update(item: Mapping[str, Any], tables: memoryview) -> LoggedUpdate:
    in_parts = item.get("in_parts", ())

    def data(name: str, given: Any) -> FactData | FactParts:
        facts = _facts(given, tables)
        return FactParts((facts,)) if name in in_parts else facts

    delete = {name: _facts(given, tables) for name, given in item.get("delete", {}).items()}
    insert = {name: data(name, given) for name, given in item.get("insert", {}).items()}
    update = Update(delete, insert, tuple(item.get("add_rules", ())), tuple(item.get("remove_rules", ())))
    return LoggedUpdate(update, item.get("types", {}))


def _facts(given: Any, tables: memoryview) -> FactData:
    if isinstance(given, dict):
        start, end = given["arrow"]
        with pa.ipc.open_stream(pa.py_buffer(bytes(tables[start:end]))) as reader:
            return reader.read_all()
    return [[from_json(value) for value in row] for row in given]


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
