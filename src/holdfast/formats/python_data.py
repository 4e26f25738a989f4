"""Facts given from Python: rows, dicts, a dict of columns, a pandas frame, an Arrow table."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from holdfast.errors import DataError, shortened
from holdfast.formats.fact_data import FactData, is_spark_frame
from holdfast.formats.parquet import MARK, arrow_type, column_places, encode_table
from holdfast.formats.places import refuse
from holdfast.lazy import lazily
from holdfast.program.model import Relation
from holdfast.settings import Memory
from holdfast.values import Type, Value
from holdfast.values.column_types import sniff_rows, sniff_values
from holdfast.values.dictionary import Codes, Dictionary, EncodingError
from holdfast.values.single_values import shown_repr

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = lazily("pyarrow")

_PART = 4096  # rows between two checks of the memory limit
_PLAIN = frozenset({list, tuple})
_SHAPES = "a list of tuples, a list of dicts, a dict of columns, a pandas or Spark DataFrame or an Arrow table"
_ROWS = "write a list of rows, even for one: [(1, 2)]"
_FILES = f'{_ROWS}; facts in files are read from a folder or RDF files: facts="folder/"'


def encode_facts(data: FactData, relation: Relation, dictionary: Dictionary) -> Codes:
    """The facts given for a relation, as codes.

    Dicts are matched by column names; frames and tables by the names that the program declares.  Columns are matched by
    position only if the program declares none, or if the frame's columns have no names.
    """
    origin = f"facts for relation {relation.display}"
    if data.__class__ is list and _PLAIN.issuperset(map(type, data)):  # the form of nearly all updates
        return _encode_rows(data, relation, dictionary, origin)
    table = _as_table(data, relation, origin)
    if table is not None and table.num_columns:
        dictionary.memory.check("facts that are given", 2 * table.nbytes)  # encoding copies it
        return encode_table(table, relation, dictionary, origin)
    if table is not None or (isinstance(data, Mapping) and not data):
        return np.empty((0, relation.arity), np.int64)
    if isinstance(data, Mapping):
        return _encode_columns(data, relation, dictionary, origin)
    return _encode_rows(_rows(data, relation, dictionary.memory), relation, dictionary, origin)


def encode_several(parts: Sequence[FactData], relation: Relation, dictionary: Dictionary) -> list[Codes]:
    """Like `encode_facts`, for several parts; plain rows are encoded together."""
    if len(parts) > 1 and all(part.__class__ is list and _PLAIN.issuperset(map(type, part)) for part in parts):
        try:
            codes = dictionary.encode_rows([row for part in parts for row in part], relation.kinds)
        except EncodingError:
            pass  # encode row by row to locate the error
        else:
            ends = list(accumulate(map(len, parts)))
            return [codes[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    return [encode_facts(part, relation, dictionary) for part in parts]


def sniff_python(data: FactData, names: Sequence[str] | None = None) -> tuple[Type, ...]:
    """The types of facts given from Python; empty if there are none or their lengths differ."""
    if is_spark_frame(data):
        return _spark_types(data, names)
    try:
        table = _as_table(data)
    except DataError:
        return ()  # the encoder reports the error
    if table is not None:
        types = tuple(map(arrow_type, table.schema)) if table.num_rows else ()
    elif isinstance(data, Mapping):
        types = tuple(sniff_values(list(column)) for column in data.values())
    else:
        rows = [_ordered(row, names or ()) for row in _iterate(data)]
        types = sniff_rows([row for row in rows if row is not None])
    return types if names is None or len(types) == len(names) else ()


def _spark_types(frame: Any, names: Sequence[str] | None) -> tuple[Type, ...]:
    from pyspark.sql.pandas.types import to_arrow_schema

    types = tuple(map(arrow_type, to_arrow_schema(frame.schema, timezone="UTC")))
    return types if names is None or len(types) == len(names) else ()


def _ordered(row: object, names: Sequence[str]) -> Sequence[Value] | None:
    """A row as a sequence; a dict's values in column order."""
    if isinstance(row, Mapping) and set(row) == set(names):
        return [row[name] for name in names]
    return _sequence(row)


def _collected(frame: Any) -> pa.Table:
    """The rows of a Spark DataFrame; columns of type `any` keep their mark, which Spark drops."""
    from holdfast.spark_session import spark_errors

    with spark_errors("the facts of a Spark DataFrame cannot be read"):
        table, kinds = frame.toArrow(), frame.schema.fields
    fields = zip(table.schema, kinds, strict=True)
    return table.cast(
        pa.schema([field.with_metadata(MARK) if kind.metadata == MARK else field for field, kind in fields])
    )


def _as_table(data: FactData, relation: Relation | None = None, origin: str = "") -> pa.Table | None:
    """Convert tables, record batches and frames to an Arrow table; None for anything else."""
    if "pyarrow" in sys.modules:  # if it was never imported, `data` cannot be a table
        match data:
            case pa.Table():
                return data
            case pa.RecordBatch():
                return pa.Table.from_batches([data])
    if is_spark_frame(data):
        return _collected(data)
    if not hasattr(data, "__dataframe__") and not hasattr(data, "__arrow_c_stream__"):
        return None
    if _is_pandas(data) and not hasattr(data, "columns"):
        return None  # a series is a sequence of rows
    try:
        return _from_frame(data)
    except DataError:
        if relation is not None and hasattr(data, "columns"):  # report a surplus column before its values
            column_places(list(map(str, data.columns)), relation, origin, None)
        raise


def _is_pandas(data: object) -> bool:
    return type(data).__module__.startswith("pandas")


def _from_frame(frame: Any) -> pa.Table:
    try:
        if _is_pandas(frame):
            return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()
        return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        match = re.search(r"Conversion failed for column (.*) with type", str(error))
        what = f"column {match[1]} of the frame" if match else "the frame has a column that"
        refuse(
            "E0630",
            f"{what} mixes kinds of values, or has values of an unsupported kind",
            help="give the rows as a list of tuples instead",
        )
    except OverflowError:
        refuse("E0630", "the frame has an integer of more than 64 bits")


def _encode_columns(
    data: Mapping[str, Iterable[Value]], relation: Relation, dictionary: Dictionary, origin: str
) -> Codes:
    places = column_places(list(map(str, data)), relation, origin, None)
    given = [column.tolist() if isinstance(column, np.ndarray) else list(column) for column in data.values()]
    columns = [given[place] for place in places]
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(
            f"{column.name} has {len(values)}" for column, values in zip(relation.columns, columns, strict=True)
        )
        refuse("E0615", f"{origin}: the columns differ in length: {lengths}")
    dictionary.memory.check("facts that are given", len(columns[0]) * (64 + 16 * len(columns)) if columns else 0)
    return _encode_rows(list(zip(*columns, strict=True)), relation, dictionary, origin)


def _rows(data: FactData, relation: Relation, memory: Memory) -> list[Sequence[Value]]:
    rows = []
    for number, given in enumerate(_iterate(data), 1):
        if not number % _PART:
            memory.check("facts that are given", number * (64 + 8 * relation.arity))
        row = _by_name(given, relation, number) if isinstance(given, Mapping) else _sequence(given)
        if row is None:
            refuse(
                "E0630",
                f"row {number} of the facts for relation {relation.display} is {_shown(given)}, not a tuple",
                help=f"write ({_shown(given)},) for a row of one value" if relation.arity == 1 else _ROWS,
            )
        rows.append(row)
    return rows


def _shown(value: object) -> str:
    return shortened(shown_repr(value))


def _iterate(data: FactData) -> Iterable[Any]:
    if isinstance(data, np.ndarray):
        return cast("Iterable[Any]", data.tolist())
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        help = _FILES if isinstance(data, str) else _ROWS
        refuse("E0630", f"facts are {_SHAPES}, not {type(data).__name__}", help=help)
    return data


def _sequence(row: object) -> Sequence[Value] | None:
    """A row as a sequence; a string is a single value, never a row of letters."""
    if isinstance(row, np.ndarray):
        return cast("list[Value]", row.tolist())
    if isinstance(row, Mapping):
        return list(row.values())
    return row if isinstance(row, Sequence) and not isinstance(row, str | bytes) else None


def _by_name(row: Mapping[str, Value], relation: Relation, number: int) -> Sequence[Value]:
    places = column_places(
        list(map(str, row)), relation, f"row {number} of the facts for {relation.display}", None, by_position=False
    )
    values = list(row.values())
    return [values[place] for place in places]


def _encode_rows(rows: list[Sequence[Value]], relation: Relation, dictionary: Dictionary, origin: str) -> Codes:
    try:
        return dictionary.encode_rows(rows, relation.kinds)
    except EncodingError as error:
        _refuse(error, relation, origin)


def _refuse(error: EncodingError, relation: Relation, origin: str) -> NoReturn:
    row = (error.row or 0) + 1
    if error.column is None:
        given = cast("Sequence[object]", error.value)
        refuse(
            "E0605",
            f"{origin}, row {row}: {_shown(given)} has {len(given)} value{'s' if len(given) != 1 else ''}, "
            f"but the relation has {relation.arity} column{'s' if relation.arity != 1 else ''}",
        )
    column = relation.columns[error.column]
    refuse(
        "E0606",
        f"{origin}, row {row}, column {column.name}: {error.reason}",
        notes=(f"column {column.name} has type {column.type.value}",),
    )
