"""Converts Arrow columns to codes and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from holdfast.lazy import lazily
from holdfast.values.model import Type
from holdfast.values.single_values import Codes, EncodingError, float_codes, numeric_code

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    pa = lazily("pyarrow")
    pc = lazily("pyarrow.compute")


def checked_column(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The column in a plain layout; refuses missing values."""
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise EncodingError("a value is missing", None, row)
    return _plain_layout(column)


def _plain_layout(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Converts dictionaries of anything but text, and run-end encoded columns, to plain ones."""
    if pa.types.is_run_end_encoded(column.type):
        return _plain_layout(pc.run_end_decode(column))
    if pa.types.is_dictionary(column.type) and not is_text(column.type):
        return column.cast(column.type.value_type)
    return column


def is_numeric(column: pa.Array | pa.ChunkedArray) -> bool:
    """Whether a column holds integers or floats."""
    return bool(pa.types.is_integer(column.type) or pa.types.is_floating(column.type))


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of strings, dictionary-encoded or not."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_foreign(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of booleans, decimals, dates or times."""
    tests = (pa.types.is_boolean, pa.types.is_decimal, pa.types.is_date, pa.types.is_timestamp)
    return any(test(kind) for test in tests)


def with_microseconds(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column of times of any precision in microseconds, as in Python; other columns as they are."""
    if not pa.types.is_timestamp(column.type):
        return column
    try:
        return column.cast(pa.timestamp("us", column.type.tz and "UTC"))
    except pa.ArrowInvalid:
        raise EncodingError("times have more than six digits behind the seconds; round them to microseconds") from None


def numeric_codes(column: pa.Array | pa.ChunkedArray, type: Type) -> Codes | None:
    """The codes of a column of numbers; None for a column of another kind."""
    kind = column.type
    match type:
        case Type.NUMBER if _is_whole(kind):
            return cast("Codes", _cast(column, pa.int64(), type))
        case Type.UNSIGNED if _is_whole(kind):
            return _cast(column, pa.uint64(), type).view(np.int64)
        case Type.FLOAT if is_numeric(column):
            return float_codes(_cast(column, pa.float64(), type))
    return None


def _is_whole(kind: pa.DataType) -> bool:
    """Whether a type is of integers, or of decimals without fractional digits, which Spark uses beyond 63 bits."""
    return bool(pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0))


def _cast(column: pa.Array | pa.ChunkedArray, kind: pa.DataType, type: Type) -> npt.NDArray[Any]:
    try:
        return _to_numpy(column.cast(kind))
    except pa.ArrowInvalid:
        row, value = next((row, value) for row, value in enumerate(column.to_pylist()) if not _fits(value, type))
        raise EncodingError(f"{value} does not fit type {type.value}", value, row) from None


def _fits(value: object, type: Type) -> bool:
    try:
        numeric_code(value, type)
    except EncodingError:
        return False
    return True


def _to_numpy(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Numbers without nulls; avoids `to_numpy`, which imports pandas where it is installed (half a second, once)."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return cast("npt.NDArray[Any]", np.from_dlpack(whole))


def encode_distinct(
    column: pa.Array | pa.ChunkedArray,
    encode: Callable[[list[Any]], Codes],
    expect: Callable[[pa.Array], None] = lambda _values: None,
) -> Codes:
    """The codes of a column, given those of its distinct values, so that each value becomes a Python object once.

    `expect` sees the distinct values before they become Python objects.
    """
    encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    chunks = encoded.unify_dictionaries().chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]
    if not chunks:
        return np.empty(0, np.int64)
    expect(chunks[0].dictionary)
    codes = encode(_python_values(chunks[0].dictionary))
    parts = [codes[chunk.indices.to_numpy(zero_copy_only=False)] for chunk in chunks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _python_values(values: pa.Array) -> list[Any]:
    if not is_foreign(values.type):
        return cast("list[Any]", values.to_numpy(zero_copy_only=False).tolist())
    try:
        return cast("list[Any]", values.to_pylist())
    except (ValueError, OverflowError):
        raise EncodingError("there is a date or time whose year is not within 1 to 9999") from None


def distinct(codes: Codes, bound: int) -> tuple[Codes, Codes]:
    """The distinct ids among codes below `bound`, ascending, and for each code its place among them."""
    if bound > 8 * len(codes) + 1024:
        ids, positions = np.unique(codes, return_inverse=True)
        return ids, positions
    seen = np.zeros(bound, np.bool_)
    seen[codes] = True
    ids = np.flatnonzero(seen)
    places = np.empty(bound, np.int64)
    places[ids] = np.arange(len(ids))
    return ids, places[codes]
