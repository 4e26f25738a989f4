"""The hot loops, compiled by Numba: hashing, interning, probing, expanding.

All of them work on plain arrays with explicit signatures, so that each is compiled once for every program and
found in the on-disk cache afterwards.  A relation's rows are one C-contiguous `int64[:, :]`: the values of a fact
stand side by side, which costs one cache miss to compare instead of one for each column.

Hash tables are open addressing with linear probing over a power of two of `uint64` slots.  A slot is 0 when empty,
else the upper half holds a tag (the upper half of the hash) and the lower half the row id plus 1.  A fact's first slot is
the top bits of its tag, so a larger table is filled from a smaller one in one sequential sweep, without the rows.  Cache misses are what
these loops cost, so they run in stages over blocks: first all slots of a block are read, then all
candidate rows, then the block is resolved.  The reads of one stage do not depend on each other and overlap.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, int32, int64, njit, types, uint8, uint64, void

BLOCK = 128

_rows = int64[:, ::1]
_slots = uint64[::1]
_ids = int32[::1]
_codes = int64[::1]
_bytes = uint8[::1]

# Where an output column or a key value comes from: a binding's column, a column of the joined fact, a constant.
FROM_BINDING = 0
FROM_FACT = 1 << 20
FROM_CONSTANT = 2 << 20
_COLUMN = (1 << 20) - 1

_LOW = np.uint64(0xFFFFFFFF)
_HIGH = np.uint64(0xFFFFFFFF00000000)
_SEED = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
_SHIFT = np.uint64(32)
_ONE = np.uint64(1)


@njit(inline="always")
def _mix(state, value):
    state = (state ^ np.uint64(value)) * _MULTIPLIER
    return state ^ (state >> _SHIFT)


@njit(inline="always")
def _drop(slots):
    """How many low bits of a hash do not take part in choosing the first of these slots."""
    drop = 64
    room = len(slots)
    while room > 1:
        room >>= 1
        drop -= 1
    return np.uint64(drop)


@njit(inline="always")
def _hash_row(rows, row):
    state = _SEED
    for column in range(rows.shape[1]):
        state = _mix(state, rows[row, column])
    return state * _MULTIPLIER


@njit(inline="always")
def _hash_key(rows, row, key):
    state = _SEED
    for column in key:
        state = _mix(state, rows[row, column])
    return state * _MULTIPLIER


@njit(inline="always")
def _same_row(left, i, right, j):
    for column in range(left.shape[1]):
        if left[i, column] != right[j, column]:
            return False
    return True


@njit(inline="always")
def _same_key(rows, i, j, key):
    for column in key:
        if rows[i, column] != rows[j, column]:
            return False
    return True


@njit(inline="always")
def _take(bindings, i, constants, origin):
    """The value that a bound argument has: a binding's column or a constant."""
    if origin >= FROM_CONSTANT:
        return constants[origin & _COLUMN]
    return bindings[i, origin]


@njit(void(_slots, _slots), nogil=True, cache=True)
def move_slots(fewer, slots):
    """Enter everything of a smaller hash table into an empty larger one."""
    mask = np.uint64(len(slots) - 1)
    drop = _drop(slots)
    for entry in fewer:
        if entry != 0:
            slot = entry >> drop
            while slots[slot] != 0:
                slot = (slot + _ONE) & mask
            slots[slot] = entry


@njit(int64(_rows, int64, _rows, int64, _slots, _ids), nogil=True, cache=True)
def intern(new, count, rows, size, slots, ids):
    """Find each of the first `count` rows of `new` in `rows`, appending those that are not there.

    Writes the row ids to `ids` and gives the new size.  The caller has made room for `count` more.
    """
    mask = np.uint64(len(slots) - 1)
    drop = _drop(slots)
    hashes = np.empty(BLOCK, np.uint64)
    found = np.empty(BLOCK, np.uint64)
    touched = int64(0)
    for start in range(0, count, BLOCK):
        block = min(BLOCK, count - start)
        for k in range(block):
            hashes[k] = _hash_row(new, start + k)
            found[k] = slots[hashes[k] >> drop]
        for k in range(block):
            if found[k] != 0:
                touched ^= rows[np.int64(found[k] & _LOW) - 1, 0] if rows.shape[1] else 0
        for k in range(block):
            state = hashes[k]
            slot = state >> drop
            tag = state & _HIGH
            row = int64(-1)
            while True:
                entry = slots[slot]
                if entry == 0:
                    break
                if (entry & _HIGH) == tag:
                    candidate = np.int64(entry & _LOW) - 1
                    if _same_row(new, start + k, rows, candidate):
                        row = candidate
                        break
                slot = (slot + _ONE) & mask
            if row < 0:
                row = size
                for column in range(rows.shape[1]):
                    rows[row, column] = new[start + k, column]
                slots[slot] = tag | np.uint64(row + 1)
                size += 1
            ids[start + k] = row
    if touched == -0x7FFFFFFFFFFFFFF1:  # keeps the touching reads alive; the condition never matters
        return size + 0
    return size


@njit(void(_rows, int64, _rows, _slots, _ids), nogil=True, cache=True)
def find(wanted, count, rows, slots, ids):
    """The row ids of the first `count` rows of `wanted`, -1 for those that are not in `rows`."""
    mask = np.uint64(len(slots) - 1)
    drop = _drop(slots)
    for i in range(count):
        state = _hash_row(wanted, i)
        slot = state >> drop
        tag = state & _HIGH
        ids[i] = -1
        while slots[slot] != 0:
            entry = slots[slot]
            if (entry & _HIGH) == tag:
                candidate = np.int64(entry & _LOW) - 1
                if _same_row(wanted, i, rows, candidate):
                    ids[i] = candidate
                    break
            slot = (slot + _ONE) & mask


@njit(int64(_rows, int64, int64, _codes, _slots, _ids, int64), nogil=True, cache=True)
def grow_index(rows, start, stop, key, slots, following, keys):
    """Put rows start..stop-1 at the front of the chains of their keys; gives the number of distinct keys."""
    mask = np.uint64(len(slots) - 1)
    drop = _drop(slots)
    for row in range(start, stop):
        state = _hash_key(rows, row, key)
        slot = state >> drop
        tag = state & _HIGH
        following[row] = -1
        while slots[slot] != 0:
            entry = slots[slot]
            if (entry & _HIGH) == tag:
                head = np.int64(entry & _LOW) - 1
                if _same_key(rows, row, head, key):
                    following[row] = head
                    break
            slot = (slot + _ONE) & mask
        if following[row] < 0:
            keys += 1
        slots[slot] = tag | np.uint64(row + 1)
    return keys


@njit(inline="always")
def _chain(bindings, i, constants, origins, rows, key, slots, mask, drop):
    """The first row of the chain whose key equals the bound values of binding i, or -1."""
    state = _SEED
    for origin in origins:
        state = _mix(state, _take(bindings, i, constants, origin))
    state = state * _MULTIPLIER
    slot = state >> drop
    tag = state & _HIGH
    while slots[slot] != 0:
        entry = slots[slot]
        if (entry & _HIGH) == tag:
            head = np.int64(entry & _LOW) - 1
            same = True
            for k in range(len(key)):
                if rows[head, key[k]] != _take(bindings, i, constants, origins[k]):
                    same = False
                    break
            if same:
                return head
        slot = (slot + _ONE) & mask
    return int64(-1)


@njit(inline="always")
def _emit(bindings, i, rows, row, constants, outputs, out, n):
    for column in range(len(outputs)):
        origin = outputs[column]
        if origin >= FROM_CONSTANT:
            out[n, column] = constants[origin & _COLUMN]
        elif origin >= FROM_FACT:
            out[n, column] = rows[row, origin & _COLUMN]
        else:
            out[n, column] = bindings[i, origin]


@njit(inline="always")
def _fits(rows, row, left, right):
    """Whether the fact has equal values where the atom repeats a variable."""
    for k in range(len(left)):
        if rows[row, left[k]] != rows[row, right[k]]:
            return False
    return True


@njit(types.UniTuple(int64, 3)(_rows, int64, int64, int64, _codes, _rows, _bytes, _bytes, _slots, _ids, _codes, _codes,
                               _codes, _codes, _codes, _rows), nogil=True, cache=True)
def expand(bindings, count, i, row, constants, rows, status, visible, slots, following, key, origins,
           left, right, outputs, out):
    """Join bindings i..count-1 with the facts of an index, until `out` is full.

    `row` continues an interrupted chain (-1: none).  Gives the number of rows written and where to go on.
    """
    mask = np.uint64(len(slots) - 1)
    drop = _drop(slots)
    n = int64(0)
    room = out.shape[0]
    while i < count:
        if row < 0:
            row = _chain(bindings, i, constants, origins, rows, key, slots, mask, drop)
        while row >= 0:
            if visible[status[row]] and _fits(rows, row, left, right):
                if n == room:
                    return n, i, row
                _emit(bindings, i, rows, row, constants, outputs, out, n)
                n += 1
            row = int64(following[row]) if len(following) else int64(-1)
        i += 1
    return n, i, int64(-1)


@njit(int64(_rows, int64, _codes, _rows, _bytes, _bytes, _slots, _ids, _codes, _codes, _codes, _codes, boolean, _codes, _rows),
      nogil=True, cache=True)
def keep(bindings, count, constants, rows, status, visible, slots, following, key, origins, left, right, wanted,
         outputs, out):
    """The bindings for which a visible fact with their key exists (`wanted`) or does not; gives how many."""
    mask = np.uint64(len(slots) - 1)
    drop = _drop(slots)
    n = int64(0)
    for i in range(count):
        row = _chain(bindings, i, constants, origins, rows, key, slots, mask, drop)
        while row >= 0 and not (visible[status[row]] and _fits(rows, row, left, right)):
            row = int64(following[row]) if len(following) else int64(-1)
        if (row >= 0) == wanted:
            _emit(bindings, i, rows, int64(0), constants, outputs, out, n)
            n += 1
    return n


@njit(types.UniTuple(int64, 2)(_ids, int64, int64, int64, _rows, _bytes, _bytes, _codes, _codes, _codes, _codes, _codes, _codes,
                               _rows), nogil=True, cache=True)
def scan(ids, first, i, stop, rows, status, visible, constants, key, origins, left, right, outputs, out):
    """Bindings from the facts numbered ids[i..stop-1], or first+i..first+stop-1 when `ids` is empty."""
    n = int64(0)
    room = out.shape[0]
    while i < stop and n < room:
        row = int64(ids[i]) if len(ids) else first + i
        i += 1
        if not visible[status[row]] or not _fits(rows, row, left, right):
            continue
        fits = True
        for k in range(len(key)):
            if rows[row, key[k]] != constants[origins[k] & _COLUMN]:
                fits = False
                break
        if fits:
            _emit(rows, 0, rows, row, constants, outputs, out, n)
            n += 1
    return n, i


@njit(int64(_ids, _bytes, _bytes, uint8, _ids), nogil=True, cache=True)
def distinct(ids, status, visible, seen, out):
    """The distinct ids whose status is visible, each once, in order of appearance; leaves `seen` set on them."""
    n = int64(0)
    for row in ids:
        state = status[row]
        if visible[state] and not (state & seen):
            status[row] = state | seen
            out[n] = row
            n += 1
    return n


@njit(void(_ids, _bytes, uint8, uint8), nogil=True, cache=True)
def restatus(ids, status, clear, set):
    """Clear and set status bits of some rows."""
    for row in ids:
        status[row] = (status[row] & ~clear) | set


@njit(void(_ids, int32[::1], int32), nogil=True, cache=True)
def count(ids, counters, step):
    """Move the counter of each id by `step`, once for each time it occurs."""
    for row in ids:
        counters[row] += step
