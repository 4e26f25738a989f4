"""Read and write a relation's facts; the file's name determines the format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from holdfast.formats.contents import Contents
from holdfast.formats.delimited import delimited_size, read_delimited, sniff_delimited
from holdfast.formats.files import reading_of
from holdfast.formats.json_lines import json_lines, read_json_lines, sniff_json_lines
from holdfast.formats.order import in_order
from holdfast.formats.parameters import check_parameters, input_layout, kind_of, output_layout
from holdfast.formats.parquet import read_parquet, sniff_parquet, to_arrow, write_parquet
from holdfast.formats.staging import Replacing, replacing, write_bytes
from holdfast.formats.writing import delimited_lines, pieces
from holdfast.program.model import Relation
from holdfast.values import Type
from holdfast.values.dictionary import Codes, Dictionary

_LINES = 20_000  # JSON lines written at a time
_TOGETHER = 1 << 20  # rows per row group of a Parquet file
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def read_relation(
    path: Path,
    relation: Relation,
    dictionary: Dictionary,
    parameters: Mapping[str, str] = _NONE,
    contents: Contents | None = None,
) -> Codes:
    """The facts in a file, as codes, possibly with duplicates."""
    check_parameters(relation, parameters)
    if kind_of(path) == ".parquet":
        return read_parquet(path, relation, dictionary)
    contents = contents or Contents(dictionary.memory)
    with contents.opened(path, compressed=_is_packed(parameters)) as data:
        if kind_of(path) == ".jsonl":
            return read_json_lines(path, data, relation, dictionary)
        return read_delimited(path, data, input_layout(path, relation, parameters, data), relation, dictionary)


def sniff_types(
    path: Path,
    names: Sequence[str] | None = None,
    parameters: Mapping[str, str] = _NONE,
    contents: Contents | None = None,
) -> tuple[Type, ...]:
    """The types of a file's columns, from all its values: number if all are 64-bit integers, else float, else symbol.

    `names` are the names of the columns; without them the first row determines their number.  A file without facts
    gives no types.  Only an unreadable file is an error here; errors in its contents are reported when it is read.
    """
    check_parameters(None, parameters)
    if kind_of(path) == ".parquet":
        return sniff_parquet(path)
    contents = contents or Contents()
    with contents.opened(path, compressed=_is_packed(parameters), again=True) as data:
        if kind_of(path) == ".jsonl":
            return sniff_json_lines(path, data, names or (), contents.memory)
        layout = input_layout(path, None, parameters, data)
        with contents.memory.holding(reading_of(path), delimited_size(data, layout)):
            return sniff_delimited(data, layout, None if names is None else len(names))


def _is_packed(parameters: Mapping[str, str]) -> bool:
    return parameters.get("compress") == "true"


def write_relation(
    path: Path,
    relation: Relation,
    codes: Codes,
    dictionary: Dictionary,
    parameters: Mapping[str, str] = _NONE,
    replacing: Replacing = replacing,
) -> None:
    """Write facts to a file, sorted and atomically."""
    layout = output_layout(path, relation, parameters)
    codes = in_order(relation, codes, dictionary)
    if layout.kind == ".parquet":
        parts = pieces(relation, codes, dictionary, _TOGETHER)
        tables = (to_arrow(relation, part, dictionary) for part in parts)
        write_parquet(path, to_arrow(relation, codes[:0], dictionary).schema, tables, replacing)
        return
    if layout.kind == ".jsonl":
        parts = pieces(relation, codes, dictionary, _LINES)
        lines = json_lines(relation, (dictionary.decode_rows(part, relation.types) for part in parts), layout.headers)
    else:
        lines = delimited_lines(relation, codes, dictionary, layout)
    write_bytes(path, lines, compressed=layout.compressed, replacing=replacing)
