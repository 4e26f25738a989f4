"""Saves the values of a dictionary as an Arrow table, in the order of their ids, and restores them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from holdfast.lazy import lazily
from holdfast.values.dictionary import Dictionary
from holdfast.values.model import BlankNode, Iri, Literal, Record, Value
from holdfast.values.structures import RecordForm
from holdfast.values.value_ids import ValueIds

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = lazily("pyarrow")

_KINDS: Final = {str: 0, int: 1, float: 2, Iri: 3, BlankNode: 4, Literal: 5, Record: 6}
_STRING, _IRI = _KINDS[str], _KINDS[Iri]


def saved_values(dictionary: Dictionary, first: int = 0) -> bytes:
    """All values from an id on, as an Arrow stream of their kinds and texts."""
    values = dictionary.ids.values[first:]
    listed = dictionary.ids.records.listed()
    records = {id: json.dumps([form.branch, row]) for id, form, row in listed if id >= first}
    kinds = [_KINDS[type(value)] for value in values]
    texts = [
        value if isinstance(value, str) else records[id] if isinstance(value, Record) else _text(value)
        for id, value in enumerate(values, first)
    ]
    table = pa.table({"kind": pa.array(kinds, pa.int8()), "text": pa.array(texts, pa.large_string())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def restore_values(dictionary: Dictionary, saved: bytes) -> None:
    """Add values to a dictionary that has those before them; `ValueError` if they do not get the same ids again."""
    with pa.ipc.open_stream(pa.py_buffer(saved)) as reader:
        table = reader.read_all()
    first, kinds, texts = len(dictionary), table["kind"].to_pylist(), table["text"].to_pylist()
    place = 0
    for kind, run in groupby(kinds):
        end = place + sum(1 for _ in run)
        _restore(dictionary.ids, kind, texts[place:end])
        place = end
        if len(dictionary) != first + place:
            raise ValueError("the values of a cache are not distinct")


def _text(value: Value) -> str:
    match value:
        case Iri():
            return value.value
        case BlankNode():
            return value.label
        case Literal():
            return json.dumps([value.lexical, value.datatype, value.language])
    return repr(value)


def _restore(ids: ValueIds, kind: int, texts: Sequence[str]) -> None:
    if kind == _STRING:
        ids.encode_distinct_strings(texts)
    elif kind == _IRI:
        ids.encode_distinct_iris(texts)
    else:
        for text in texts:
            _restore_one(ids, kind, text)


def _restore_one(ids: ValueIds, kind: int, text: str) -> None:
    match kind:
        case 1:
            ids.id_of_number(int(text))
        case 2:
            ids.id_of(float(text))
        case 4:
            ids.id_of(BlankNode(text))
        case 5:
            ids.id_of(Literal(*json.loads(text)))
        case _:
            branch, row = json.loads(text)
            ids.records.restore(RecordForm(branch, len(row)), row)
