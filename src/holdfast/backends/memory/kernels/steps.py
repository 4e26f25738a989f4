"""Steps that give at most one row for each binding or fact: scan, lookup, comparison."""

from __future__ import annotations

import numpy as np

from holdfast.backends.memory.kernels.arguments import (
    COLUMN,
    FEW,
    FROM_CONSTANT,
    FROM_PLACE,
    Bytes,
    Codes,
    Grid,
    Ids,
    Pattern,
    Rows,
    Slots,
    View,
)
from holdfast.backends.memory.kernels.emitting import emit, gather, repeats_agree, sees
from holdfast.backends.memory.kernels.hashing import BLOCK
from holdfast.backends.memory.kernels.membership import find_rows
from holdfast.compilation import boolean, int64, njit, types

KEEPS_THE_LOCK = FEW


@njit(int64(Rows, int64, Codes, Codes, boolean, Codes, Rows), nogil=True, cache=True)
def compare(bindings, count, constants, sides, equal, outputs, out):
    """The bindings in which two values are equal, or are not; gives how many."""
    n = int64(0)
    left, right = sides[0], sides[1]
    for i in range(count):
        one = constants[left & COLUMN] if left >= FROM_CONSTANT else bindings[i, left]
        other = constants[right & COLUMN] if right >= FROM_CONSTANT else bindings[i, right]
        if (one == other) == equal:
            emit(bindings, i, bindings, int64(0), outputs, constants, outputs, out, n)
            n += 1
    return n


@njit(
    types.UniTuple(int64, 2)(Ids, int64, int64, Rows, Bytes, Bytes, Codes, Codes, Pattern, Codes, Rows),
    nogil=True,
    cache=True,
)
def scan(ids, i, stop, rows, status, visible, constants, key, pattern, outputs, out):
    """Bindings from the facts numbered ids[i..stop-1], or i..stop-1 when `ids` is empty, until `out` is full.

    An empty `visible` takes them all.  Gives the number of rows written and where to go on.
    """
    origins, _, columns, left, right = pattern
    n = int64(0)
    capacity = out.shape[0]
    if not (len(visible) or len(left) or len(key)):
        n = min(stop - i, capacity)
        for column in range(len(outputs)):
            origin = outputs[column]
            for k in range(n):
                if origin == FROM_PLACE:
                    out[k, column] = i + k
                elif origin >= FROM_CONSTANT:
                    out[k, column] = constants[origin & COLUMN]
                else:
                    out[k, column] = rows[int64(ids[i + k]) if len(ids) else i + k, columns[origin & COLUMN]]
        return n, i + n
    while i < stop and n < capacity:
        row = int64(ids[i]) if len(ids) else i
        i += 1
        if len(visible) and not visible[status[row]]:
            continue
        if len(left) and not repeats_agree(rows, row, columns, left, right):
            continue
        fits = True
        for k in range(len(key)):
            if rows[row, key[k]] != constants[origins[k] & COLUMN]:
                fits = False
                break
        if fits:
            emit(rows, 0, rows, row, columns, constants, outputs, out, n)
            for column in range(len(outputs)):
                if outputs[column] == FROM_PLACE:
                    out[n, column] = i - 1
            n += 1
    return n, i


@njit(
    int64(Rows, int64, Codes, View, Slots, Grid, Codes, boolean, Codes, int64, Ids, Rows),
    nogil=True,
    cache=True,
)
def probe(bindings, count, constants, view, slots, grid, origins, wanted, outputs, goal, quota, out):
    """The bindings whose values are a fact that is seen (`wanted`), or are not; gives how many.

    `goal` and `quota` as for `expand`.
    """
    rows, status, visible, low, high = view
    n = int64(0)
    facts = np.empty((BLOCK, rows.shape[1]), np.int64)
    found = np.empty(BLOCK, np.int64)
    for begin in range(0, count, BLOCK):
        block = min(BLOCK, count - begin)
        gather(bindings, begin, block, constants, origins, facts)
        find_rows(facts, block, rows, slots, grid, found)
        for k in range(block):
            if (found[k] >= 0 and sees(found[k], status, visible, low, high)) == wanted:
                if goal >= 0:
                    if quota[bindings[begin + k, goal]] <= 0:
                        continue
                    quota[bindings[begin + k, goal]] -= 1
                emit(bindings, begin + k, rows, int64(0), outputs, constants, outputs, out, n)
                n += 1
    return n
