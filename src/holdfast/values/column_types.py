"""The types of columns of Python values, where nothing declares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from holdfast.values.foreign_values import FOREIGN
from holdfast.values.model import Type

_PLAIN: dict[type, type] = {
    **dict.fromkeys((np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64), int),
    np.float32: float,
    np.float64: float,
    np.str_: str,
}


def sniff_rows(rows: Sequence[Sequence[object]]) -> tuple[Type, ...]:
    """The narrowest type of each column of Python values; empty if there are no rows or their lengths differ."""
    if not rows or len(set(map(len, rows))) != 1:
        return ()
    return tuple(sniff_values(column) for column in zip(*rows, strict=True))


def sniff_values(values: Sequence[object]) -> Type:
    """The narrowest type that fits all values."""
    kinds = {_PLAIN.get(kind, kind) for kind in {value.__class__ for value in values}}
    if kinds <= {int}:
        return _integers(cast("Sequence[int]", values))
    if kinds <= {int, float}:
        return Type.ANY if any(_needs_company(value) for value in values) else Type.FLOAT
    return Type.SYMBOL if kinds <= {str} or (len(kinds) == 1 and kinds <= FOREIGN) else Type.ANY


def _needs_company(value: object) -> bool:
    """Whether an integer is allowed beside floats although no float equals it."""
    return isinstance(value, int) and abs(value) < 2**63 and int(float(value)) != value


def _integers(values: Sequence[int]) -> Type:
    return Type.UNSIGNED if values and min(values) >= 0 and max(values) > 2**63 - 1 else Type.NUMBER
