"""What kernels take: the array types of their signatures, and tuples of arguments that belong together.

A kernel unpacks its tuples at once, under the names that are given here.
"""

from __future__ import annotations

from holdfast.compilation import int32, int64, types, uint8, uint64

Rows = int64[:, ::1]
Slots = uint64[::1]
Ids = int32[::1]
Grid = int32[:, :]  # either column may be the one whose values stand side by side
Codes = int64[::1]
Bytes = uint8[::1]

View = types.Tuple((Rows, Bytes, Bytes, int64, int64))
"""The rows of a table that a read sees: rows, status, visible, low, high.

A row is seen by its status, or, where `visible` is empty, because it lies in low..high-1.
"""

Index = types.Tuple((Slots, Ids, Rows, Ids, Rows, Ids, int64))
"""An index as `indexes.py` describes it: slots, direct, entries, ids, values, following, settled."""

Pattern = types.Tuple((Codes, Codes, Codes, Codes, Codes))
"""An atom: origins, others, straight, left, right.

`origins` says where the key's values come from.  `others` are the columns that are not in the key, `straight` is
0, 1, 2 …: where they stand in the index's values.  Of the others, `left` must be equal to `right`, pair by pair.
"""

Tally = types.Tuple((Codes, Codes, Slots, Slots, Ids, Ids, Ids))
"""How heads are counted (see `tally`): group, varying, seen, counts, weights, known, known_weights."""

HeadIndex = types.Tuple((Codes, Slots, Rows, Ids, Rows))
"""The index of the heads by all columns but one: key, slots, entries, ids, values; empty arrays without one."""

# Where an output column or a key value comes from: a binding's column, a column of the joined fact, a constant.
FROM_BINDING = 0
FROM_FACT = 1 << 20
FROM_CONSTANT = 2 << 20
FROM_PLACE = FROM_CONSTANT - 1  # only in `scan`: which of the walked facts this is
COLUMN = (1 << 20) - 1

FEW = 256
"""Rows that a loop is through with before Python's lock would have changed hands (docs/decisions/0056)."""
