"""The updates of a record as bytes: JSON, with a few facts as rows and larger numbers as Arrow tables.

4 bytes     length of the JSON
JSON        {"time": "2026-11-16T15:40:00.123+00:00", "notes": [{"who": "ann"}, …], "updates":
             [{"delete": {"edge": [[1, 2]]}, "insert": {"node": {"arrow": [0, 1234]}}, "add_rules": […]}, …]}
Arrow IPC   streams, at the offsets in the JSON
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from holdfast.formats.fact_data import FactData, FactParts
from holdfast.formats.json_lines import from_json, load_json, to_json
from holdfast.lazy import lazily
from holdfast.quick_dataclass import dataclass
from holdfast.relation_view import RelationView
from holdfast.updates import Note, Update
from holdfast.values import Type

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = lazily("pyarrow")

_FEW: Final = 256  # rows of a relation up to which JSON is used
_LENGTH: Final = struct.Struct("<I")

FactViews = Mapping[str, RelationView]


@dataclass(frozen=True)
class ExplicitChange:
    """The facts that an update deletes and inserts, as the engine interpreted them, and the rules it changes."""

    delete: FactViews
    insert: FactViews
    add_rules: Sequence[str] = ()
    remove_rules: Sequence[str] = ()
    in_parts: Sequence[str] = ()  # relations given in several parts, which do not determine types
    types: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of all relations, if rules change


@dataclass(frozen=True)
class LoggedUpdate:
    """An update from a log, and the types of all relations after it, if it changes rules."""

    update: Update
    types: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class LoggedCommit:
    """The contents of a record: its updates (one, if they were merged), the time, and the note of each."""

    updates: Sequence[LoggedUpdate]
    time: datetime
    notes: Sequence[Note]

    def sizes(self) -> tuple[int, int, int]:
        """The number of facts it deletes and inserts, and of rules it changes."""
        updates = [logged.update for logged in self.updates]
        delete, insert = (
            sum(len(part) for update in updates for facts in getattr(update, key).values() for part in _parts(facts))
            for key in ("delete", "insert")
        )
        return delete, insert, sum(len(update.add_rules) + len(update.remove_rules) for update in updates)


def pack(changes: Iterable[ExplicitChange], notes: Sequence[Note] = (), now: datetime | None = None) -> bytes:
    """Encode the contents of a record."""
    tables: list[bytes] = []
    place = 0

    def facts(given: FactViews, few: int) -> dict[str, object]:
        nonlocal place
        found: dict[str, object] = {}
        for name, view in given.items():
            if len(view) <= few:
                is_plain = view.types.count(Type.NUMBER) == len(view.types)
                found[name] = view.codes.tolist() if is_plain else list(view)
            else:
                tables.append(_stream(view.to_arrow()))
                found[name] = {"arrow": [place, place := place + len(tables[-1])]}
        return found

    items = []
    for change in changes:
        few = -1 if change.add_rules or change.remove_rules else _FEW  # facts may determine types; tables keep them
        item: dict[str, object] = {"delete": facts(change.delete, few), "insert": facts(change.insert, few)}
        if few < 0:
            item |= {"add_rules": list(change.add_rules), "remove_rules": list(change.remove_rules)}
            item |= {"in_parts": list(change.in_parts), "types": change.types}
        items.append({key: value for key, value in item.items() if value})
    time = (now or datetime.now(UTC)).isoformat(timespec="milliseconds")
    content = {"time": time, **({"notes": list(map(dict, notes))} if any(notes) else {}), "updates": items}
    text = to_json(content).encode()
    return b"".join((_LENGTH.pack(len(text)), text, *tables))


def unpack(content: bytes) -> LoggedCommit:
    """Decode the contents of a record."""
    [length] = _LENGTH.unpack_from(content)
    start = _LENGTH.size + length
    tables = memoryview(content)[start:]
    read = load_json(content[_LENGTH.size : start].decode())
    updates = [_update(item, tables) for item in read["updates"]]
    return LoggedCommit(updates, datetime.fromisoformat(read["time"]), read.get("notes", ()))


def first_of(content: bytes, number: int, total: int) -> bytes | None:
    """The contents of a record with only its first updates; None if they were merged."""
    [length] = _LENGTH.unpack_from(content)
    start = _LENGTH.size + length
    read = json.loads(content[_LENGTH.size : start])
    if len(read["updates"]) != total:
        return None
    read["updates"] = read["updates"][:number]
    if "notes" in read:
        read["notes"] = read["notes"][:number]
    text = json.dumps(read, ensure_ascii=False).encode()
    return b"".join((_LENGTH.pack(len(text)), text, content[start:]))


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
