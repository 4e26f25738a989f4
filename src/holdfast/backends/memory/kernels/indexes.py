"""Indexes: the keys of some columns, numbered by a hash table, and the rows of each.

An entry has the key's values, its run and the newest row of its tail, -1 for none.  A run is where it begins, times 2
to the 32, plus where it stops: the key's rows stand there side by side in `ids`, oldest first, with their other columns
in `values`.  Rows from `settled` on hang in tails: `following` has the key's next older row.  `direct` has the number
plus 1 of each key of one column below its length, 0 where there is no such key.
"""

from __future__ import annotations

import numpy as np

from holdfast.backends.memory.kernels.arguments import FEW, Codes, Ids, Index, Rows, Slots
from holdfast.backends.memory.kernels.hashing import BLOCK, HIGH, LOW, ONE, dropped_bits, hash_key, look_up_block
from holdfast.compilation import int64, njit, types, void

KEEPS_THE_LOCK = FEW


@njit
def agree(rows, i, j, columns):
    """Whether two rows have the same values in some columns."""
    for k in range(len(columns)):
        if rows[i, columns[k]] != rows[j, columns[k]]:
            return False
    return True


@njit
def find_key(rows, row, key, entries, slots):
    """The number of one row's key in an index, -1 if it has none; the slot where that was seen, and the key's hash."""
    mask = np.uint64(len(slots) - 1)
    state = hash_key(rows, row, key)
    slot = state >> dropped_bits(slots)
    while slots[slot] != 0:
        if ((slots[slot] ^ state) & HIGH) == 0:
            number = np.int64(slots[slot] & LOW) - 1
            same = True
            for k in range(len(key)):
                if rows[row, key[k]] != entries[number, k]:
                    same = False
                    break
            if same:
                return number, slot, state
        slot = (slot + ONE) & mask
    return int64(-1), slot, state


@njit
def run_of(entries, number, width):
    """Where the run of a key begins, its last place, and the newest row of its tail."""
    run = entries[number, width]
    return run >> 32, (run & 0xFFFFFFFF) - 1, entries[number, width + 1]


@njit(
    types.UniTuple(int64, 2)(Rows, int64, int64, Codes, Slots, Ids, Rows, Ids, Ids, int64, int64, int64),
    nogil=True,
    cache=True,
)
def grow_index(rows, begin, end, key, slots, direct, entries, tail_key, following, settled, keys, most_keys):
    """Enter rows begin..end-1 into an index, each at the front of its key's tail, until it has `most_keys` keys.

    Gives the first row that is not in it, and the number of keys.  `tail_key` has the keys of the rows from `settled`
    on.  The caller has made the arrays large enough.
    """
    width = len(key)
    number = int64(-1)
    for row in range(begin, end):
        if row == begin or not agree(rows, row - 1, row, key):  # often neighbours have the same key
            number, slot, state = find_key(rows, row, key, entries, slots)
        if number < 0:
            if keys == most_keys:
                return row, keys
            number = keys
            keys += 1
            for k in range(width):
                entries[number, k] = rows[row, key[k]]
            entries[number, width] = 0
            entries[number, width + 1] = -1
            slots[slot] = (state & HIGH) | np.uint64(number + 1)
            if width == 1 and 0 <= rows[row, key[0]] < len(direct):
                direct[rows[row, key[0]]] = number + 1
        following[row - settled] = entries[number, width + 1]
        tail_key[row - settled] = number
        entries[number, width + 1] = row
    return end, keys


@njit(void(Rows, Codes, Rows, int64, int64, int64, Ids, Rows, Ids), nogil=True, cache=True)
def settle_index(rows, others, entries, width, keys, settled, ids, values, tail_key):
    """Move the tails of an index into its runs: the rows of a key side by side, oldest first, with their other columns.

    Runs stand in the order of their keys and move up in place, the last one first.  The caller has made the arrays
    large enough.
    """
    for number in range(keys):
        entries[number, width + 1] = 0
    for k in range(len(tail_key)):
        entries[tail_key[k], width + 1] += 1
    place = settled + len(tail_key)
    for number in range(keys - 1, -1, -1):
        begin = entries[number, width] >> 32
        stop = entries[number, width] & 0xFFFFFFFF
        place -= entries[number, width + 1]
        entries[number, width + 1] = -1
        if place > stop:
            for old in range(stop - 1, begin - 1, -1):
                ids[old + place - stop] = ids[old]
                for column in range(len(others)):
                    values[old + place - stop, column] = values[old, column]
        entries[number, width] = ((place - stop + begin) << 32) | place  # stops grow below, one arrival at a time
        place -= stop - begin
    for k in range(len(tail_key)):
        number = tail_key[k]
        place = entries[number, width] & 0xFFFFFFFF
        entries[number, width] += 1
        ids[place] = settled + k
        for column in range(len(others)):
            values[place, column] = rows[settled + k, others[column]]


@njit
def find_keys(wanted, block, entries, slots, direct, numbers):
    """The numbers of a block of keys in an index, -1 for those it does not have."""
    hashed = not len(direct)
    if not hashed:
        for k in range(block):
            value = wanted[k, 0]
            if 0 <= value < len(direct):
                numbers[k] = int64(direct[value]) - 1
            else:
                hashed = True
                break
    if hashed:
        look_up_block(wanted, block, entries, slots, numbers)


@njit
def touch_runs(numbers, block, entries, width, values):
    """Read the ends of the runs of a block of keys, so that they are near."""
    touched = int64(0)
    for k in range(block):
        if numbers[k] >= 0:
            place = (entries[numbers[k], width] & 0xFFFFFFFF) - 1
            if place >= 0:
                touched ^= values[place, 0]
    numbers[BLOCK] = touched  # as in `hashing.find_tags`; not in `wanted`, whose rows are empty where the key is


@njit(int64(Rows, Index, Ids), nogil=True, cache=True)
def rows_of_keys(wanted, index, out):
    """The rows of an index that have one of some distinct keys; gives how many, of which `out` gets what fits."""
    slots, direct, entries, ids, _, following, settled = index
    n = int64(0)
    width = wanted.shape[1]
    numbers = np.empty(BLOCK, np.int64)
    for begin in range(0, len(wanted), BLOCK):
        block = min(BLOCK, len(wanted) - begin)
        find_keys(wanted[begin : begin + block], block, entries, slots, direct, numbers)
        for k in range(block):
            if numbers[k] >= 0:
                begin_run, last, row = run_of(entries, numbers[k], width)
                for place in range(begin_run, last + 1):
                    if n < len(out):
                        out[n] = ids[place]
                    n += 1
                while row >= 0:
                    if n < len(out):
                        out[n] = row
                    n += 1
                    row = int64(following[row - settled])
    return n
