"""The hot loops, compiled by Numba: hashing, interning, probing, expanding.

All of them work on plain arrays with explicit signatures, so that each is compiled once for every program and
found in the on-disk cache afterwards.  They are in one file on purpose: the cache notices a change only in the file
of the cached function, not in that of a helper.  A relation's rows are one C-contiguous `int64[:, :]`: the values of
a fact stand side by side, which costs one cache miss to compare instead of one for each column.

Hash tables are open addressing with linear probing over a power of two of `uint64` slots.  A slot is 0 when empty,
else the upper half holds a tag (the upper half of the hash) and the lower half the row id plus 1.  A fact's first
slot is the top bits of its tag, so a larger table is filled from a smaller one in one sequential sweep, without the
rows.

Cache misses are what these loops cost, so they run in stages over blocks: first all slots of a block are read, then
all candidate rows, then the block is resolved.  The reads of one stage do not depend on each other and overlap.
"""

from __future__ import annotations

import numpy as np

from holdfast.compilation import boolean, int32, int64, njit, types, uint8, uint64, void

BLOCK = 128
MANY = 1 << 22
FEW_OTHERS = 4  # known heads of a group for each that was told

_rows = int64[:, ::1]
_slots = uint64[::1]
_ids = int32[::1]
_grid = int32[:, :]  # either column may be the one whose values stand side by side
_codes = int64[::1]
_bytes = uint8[::1]

# Where an output column or a key value comes from: a binding's column, a column of the joined fact, a constant.
FROM_BINDING = 0
FROM_FACT = 1 << 20
FROM_CONSTANT = 2 << 20
FROM_PLACE = FROM_CONSTANT - 1  # only in `scan`: which of the walked facts this is
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
    for k in range(len(key)):
        state = _mix(state, rows[row, key[k]])
    return state * _MULTIPLIER


@njit(inline="always")
def _same_row(left, i, right, j):
    for column in range(left.shape[1]):
        if left[i, column] != right[j, column]:
            return False
    return True


@njit(inline="always")
def _enter_slot(entry, slots, mask, drop):
    slot = entry >> drop
    while slots[slot] != 0:
        slot = (slot + _ONE) & mask
    slots[slot] = entry


@njit(void(_slots, _slots), nogil=True, cache=True)
def move_slots(fewer, slots):
    """Enter everything of a smaller hash table into an empty larger one."""
    mask = np.uint64(len(slots) - 1)
    drop = _drop(slots)
    for entry in fewer:
        if entry != 0:
            _enter_slot(entry, slots, mask, drop)


@njit(void(_slots, int64, _slots), nogil=True, cache=True)
def spread_slots(slots, fewer, aside):
    """Make a hash table that takes so many of these slots, the others being empty, take all of them.

    From the last entry to the first, since none goes further to the front.  One whose way would lead over slots that
    are still to come waits `aside` until the end: a few at the front, and those that go round at the end.
    """
    mask = np.uint64(len(slots) - 1)
    drop = _drop(slots)
    waiting = int64(0)
    for place in range(fewer - 1, -1, -1):
        entry = slots[place]
        if entry == 0:
            continue
        slots[place] = 0
        slot = entry >> drop
        while slot >= np.uint64(place) and slots[slot] != 0:
            slot = (slot + _ONE) & mask
        if slot >= np.uint64(place):
            slots[slot] = entry
        else:
            aside[waiting] = entry
            waiting += 1
    for k in range(waiting):
        _enter_slot(aside[k], slots, mask, drop)


@njit
def _find_tags(hashes, block, slots, starts, facts):
    """For a block of hashes, the first slot that is empty or has the tag; reads the facts there, so that they are near.

    Each loop only does what it must, so that many of its cache misses are under way at once.
    """
    mask = np.uint64(len(slots) - 1)
    drop = _drop(slots)
    found = np.empty(BLOCK, np.uint64)
    touched = int64(0)
    for k in range(block):
        found[k] = slots[hashes[k] >> drop]
    for k in range(block):
        slot = hashes[k] >> drop
        entry = found[k]
        while entry != 0 and ((entry ^ hashes[k]) & _HIGH) != 0:
            slot = (slot + _ONE) & mask
            entry = slots[slot]
        starts[k] = slot
        found[k] = entry
    if facts.shape[1]:
        for k in range(block):
            fact = np.int64(found[k] & _LOW)
            fact -= fact > 0
            touched ^= facts[fact, 0] ^ facts[fact, facts.shape[1] - 1]
    starts[BLOCK] = np.uint64(touched)  # nobody looks at it: or else the compiler leaves the reads out


@njit(int64(_rows, int64, _rows, _slots, _ids), nogil=True, cache=True)
def intern(new, size, rows, slots, ids):
    """Find each row of `new` in `rows`, writing those that are not there from row `size` on; gives the next free row.

    The ids go to `ids`.  The caller has made room.
    """
    mask = np.uint64(len(slots) - 1)
    hashes = np.empty(BLOCK, np.uint64)
    starts = np.empty(BLOCK + 1, np.uint64)
    for start in range(0, len(new), BLOCK):
        block = min(BLOCK, len(new) - start)
        for k in range(block):
            hashes[k] = _hash_row(new, start + k)
        _find_tags(hashes, block, slots, starts, rows)
        for k in range(block):
            tag = hashes[k] & _HIGH
            slot = starts[k]
            entry = slots[slot]  # again: a row of this block may have taken it
            row = int64(-1)
            while entry != 0:
                if (entry & _HIGH) == tag:
                    candidate = np.int64(entry & _LOW) - 1
                    if _same_row(new, start + k, rows, candidate):
                        row = candidate
                        break
                slot = (slot + _ONE) & mask
                entry = slots[slot]
            if row < 0:
                row = size
                for column in range(rows.shape[1]):
                    rows[row, column] = new[start + k, column]
                slots[slot] = tag | np.uint64(row + 1)
                size += 1
            ids[start + k] = row
    return size


@njit(inline="always")
def _cell(rows, row):
    """Where a grid has the place of a fact with one or two columns."""
    return rows[row, 0], rows[row, 1] if rows.shape[1] > 1 else int64(0)


@njit(types.UniTuple(int64, 3)(_rows), nogil=True, cache=True)
def reach(new):
    """The least value of some facts with one or two columns, and the greatest of each column."""
    least, x_most, y_most = int64(0), int64(0), int64(0)
    for i in range(len(new)):
        x, y = _cell(new, i)
        least = min(least, x, y)
        x_most, y_most = max(x_most, x), max(y_most, y)
    return least, x_most, y_most


@njit(int64(_rows, _rows, int64, _grid, _ids), nogil=True, cache=True)
def intern_in_grid(new, rows, size, grid, ids):
    """As `intern`: a cell of the grid has the row id plus 1, or 0."""
    for start in range(0, len(new), BLOCK):
        stop = min(start + BLOCK, len(new))
        for i in range(start, stop):
            x, y = _cell(new, i)
            ids[i] = grid[x, y]
        for i in range(start, stop):
            row = int64(ids[i])
            if row == 0:
                x, y = _cell(new, i)
                row = int64(grid[x, y])  # again: a row of this block may have taken it
                if row == 0:
                    for column in range(rows.shape[1]):
                        rows[size, column] = new[i, column]
                    size += 1
                    row = size
                    grid[x, y] = row
            ids[i] = row - 1
    return size


@njit
def _agree(rows, i, j, columns):
    for k in range(len(columns)):
        if rows[i, columns[k]] != rows[j, columns[k]]:
            return False
    return True


@njit
def _find_key(rows, row, key, entries, slots):
    """The number of one row's key in an index, -1 if it has none; the slot where that was seen, and the key's hash."""
    mask = np.uint64(len(slots) - 1)
    state = _hash_key(rows, row, key)
    slot = state >> _drop(slots)
    while slots[slot] != 0:
        if ((slots[slot] ^ state) & _HIGH) == 0:
            number = np.int64(slots[slot] & _LOW) - 1
            same = True
            for k in range(len(key)):
                if rows[row, key[k]] != entries[number, k]:
                    same = False
                    break
            if same:
                return number, slot, state
        slot = (slot + _ONE) & mask
    return int64(-1), slot, state


@njit(
    types.UniTuple(int64, 2)(_rows, int64, int64, _codes, _slots, _ids, _rows, _ids, _ids, int64, int64, int64),
    nogil=True,
    cache=True,
)
def grow_index(rows, begin, end, key, slots, direct, entries, tail_key, following, settled, keys, most_keys):
    """Enter rows begin..end-1 into an index, each at the front of its key's tail, until it has `most_keys` keys.

    Gives the first row that is not in it, and the number of keys.

    `direct` has the number plus 1 of each key of one column below its length, 0 where there is no such key.

    An entry of `entries` has the key's values, its run (see `settle_index`) and the newest row of its tail, -1 for
    none.  `tail_key` and `following` (the key's next older row) belong to row `settled` and after.  The caller has
    made room.
    """
    width = len(key)
    number = int64(-1)
    for row in range(begin, end):
        if row == begin or not _agree(rows, row - 1, row, key):  # often neighbours have the same key
            number, slot, state = _find_key(rows, row, key, entries, slots)
        if number < 0:
            if keys == most_keys:
                return row, keys
            number = keys
            keys += 1
            for k in range(width):
                entries[number, k] = rows[row, key[k]]
            entries[number, width] = 0
            entries[number, width + 1] = -1
            slots[slot] = (state & _HIGH) | np.uint64(number + 1)
            if width == 1 and 0 <= rows[row, key[0]] < len(direct):
                direct[rows[row, key[0]]] = number + 1
        following[row - settled] = entries[number, width + 1]
        tail_key[row - settled] = number
        entries[number, width + 1] = row
    return end, keys


@njit(void(_rows, _codes, _rows, int64, int64, int64, _ids, _rows, _ids), nogil=True, cache=True)
def settle_index(rows, others, entries, width, keys, settled, ids, values, tail_key):
    """Move the tails of an index into its runs: the rows of a key side by side, oldest first, with their other columns.

    A run is where it begins, times 2 to the 32, plus where it stops.  Runs stand in the order of their keys and move up
    in place, the last one first.  The caller has made room.
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
def _gather(bindings, begin, block, constants, origins, wanted):
    """The key values of a block of bindings, side by side."""
    for column in range(len(origins)):
        origin = origins[column]
        if origin >= FROM_CONSTANT:
            for k in range(block):
                wanted[k, column] = constants[origin & _COLUMN]
        else:
            for k in range(block):
                wanted[k, column] = bindings[begin + k, origin]


@njit
def _find_keys(wanted, block, entries, slots, direct, numbers):
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
        _find_hashed_keys(wanted, block, entries, slots, numbers)


@njit
def _find_hashed_keys(wanted, block, entries, slots, numbers):
    mask = np.uint64(len(slots) - 1)
    hashes = np.empty(BLOCK, np.uint64)
    starts = np.empty(BLOCK + 1, np.uint64)
    for k in range(block):
        hashes[k] = _hash_row(wanted, k)
    _find_tags(hashes, block, slots, starts, entries)
    for k in range(block):
        slot = starts[k]
        entry = slots[slot]
        numbers[k] = -1
        while entry != 0:
            if ((entry ^ hashes[k]) & _HIGH) == 0:
                number = np.int64(entry & _LOW) - 1
                same = True
                for column in range(wanted.shape[1]):
                    if entries[number, column] != wanted[k, column]:
                        same = False
                        break
                if same:
                    numbers[k] = number
                    break
            slot = (slot + _ONE) & mask
            entry = slots[slot]


@njit
def _touch_runs(numbers, block, entries, width, values):
    """Read the ends of the runs of a block of keys, so that they are near."""
    touched = int64(0)
    for k in range(block):
        if numbers[k] >= 0:
            place = (entries[numbers[k], width] & 0xFFFFFFFF) - 1
            if place >= 0:
                touched ^= values[place, 0]
    numbers[BLOCK] = touched  # as in `_find_tags`; not in `wanted`, whose rows are empty where the key is


@njit
def _find_rows(wanted, block, rows, slots, grid, found):
    """The row ids of a block of facts in a table, -1 for those it does not have."""
    if len(grid):
        for k in range(block):
            x, y = _cell(wanted, k)
            inside = 0 <= x < grid.shape[0] and 0 <= y < grid.shape[1]
            found[k] = int64(grid[x, y]) - 1 if inside else int64(-1)
        return
    mask = np.uint64(len(slots) - 1)
    hashes = np.empty(BLOCK, np.uint64)
    starts = np.empty(BLOCK + 1, np.uint64)
    for k in range(block):
        hashes[k] = _hash_row(wanted, k)
    _find_tags(hashes, block, slots, starts, rows)
    for k in range(block):
        slot = starts[k]
        entry = slots[slot]
        found[k] = -1
        while entry != 0:
            if ((entry ^ hashes[k]) & _HIGH) == 0:
                row = np.int64(entry & _LOW) - 1
                if _same_row(wanted, k, rows, row):
                    found[k] = row
                    break
            slot = (slot + _ONE) & mask
            entry = slots[slot]


@njit
def _sees(row, status, visible, low, high):
    """Whether a view shows a row: by its status, or, where `visible` is empty, because it lies in a range."""
    if len(visible):
        return visible[status[row]] != 0
    return low <= row < high


@njit
def _emit(bindings, i, facts, fact, columns, constants, outputs, out, n):
    for column in range(len(outputs)):
        origin = outputs[column]
        if origin >= FROM_CONSTANT:
            out[n, column] = constants[origin & _COLUMN]
        elif origin == FROM_PLACE:
            continue
        elif origin >= FROM_FACT:
            out[n, column] = facts[fact, columns[origin & _COLUMN]]
        else:
            out[n, column] = bindings[i, origin]


@njit
def _emit_run(bindings, i, values, place, count, constants, outputs, out, n):
    """Rows for the facts of an index at place, place - 1 …: as `_emit`, a column at a time."""
    for column in range(len(outputs)):
        origin = outputs[column]
        if origin >= FROM_FACT and origin < FROM_PLACE:
            source = origin & _COLUMN
            for k in range(count):
                out[n + k, column] = values[place - k, source]
        else:
            value = constants[origin & _COLUMN] if origin >= FROM_CONSTANT else bindings[i, origin]
            for k in range(count):
                out[n + k, column] = value


@njit
def _within(ids, begin, place, low, high):
    """The first and last place of a run begin..place whose ids, which ascend, are in low..high-1."""
    if place >= begin and ids[place] >= high:
        below, above = begin - 1, place
        while above - below > 1:
            middle = (below + above) >> 1
            if ids[middle] >= high:
                above = middle
            else:
                below = middle
        place = below
    if place >= begin and ids[begin] < low:
        below, above = begin, place + 1
        while above - below > 1:
            middle = (below + above) >> 1
            if ids[middle] < low:
                below = middle
            else:
                above = middle
        begin = above
    return begin, place


@njit
def _fits(facts, fact, columns, left, right):
    """Whether the fact has equal values where the atom repeats a variable."""
    for k in range(len(left)):
        if facts[fact, columns[left[k]]] != facts[fact, columns[right[k]]]:
            return False
    return True


@njit(
    types.UniTuple(int64, 3)(
        _rows,
        int64,
        int64,
        int64,
        _codes,
        _rows,
        _bytes,
        _bytes,
        int64,
        int64,
        _slots,
        _ids,
        _rows,
        _ids,
        _rows,
        _ids,
        int64,
        _codes,
        _codes,
        _codes,
        _codes,
        _codes,
        _codes,
        int64,
        _ids,
        _rows,
    ),
    nogil=True,
    cache=True,
)
def expand(
    bindings,
    count,
    i,
    cursor,
    constants,
    rows,
    status,
    visible,
    low,
    high,
    slots,
    direct,
    entries,
    ids,
    values,
    following,
    settled,
    origins,
    others,
    straight,
    left,
    right,
    outputs,
    goal,
    quota,
    out,
):
    """Join bindings i..count-1 with the facts of an index, newest first, until `out` is full.

    `others` are the columns that are not in the key, `straight` is 0, 1, 2 …: where they stand in `values`.  `cursor`
    is where an interrupted join goes on (-1: with a new binding; a place in the runs; or below -1 a row of the tail).
    If the bindings' column `goal` is not -1, it numbers goals of which each is given at most its `quota` of rows.
    Gives the number of rows written and where to go on.
    """
    n = int64(0)
    room = out.shape[0]
    width = len(origins)
    wanted = np.empty((BLOCK, width), np.int64)
    numbers = np.empty(BLOCK + 1, np.int64)
    all_runs_seen = low == 0 and high >= settled
    while i < count:
        begin_block = i
        block = min(BLOCK, count - i)
        _gather(bindings, i, block, constants, origins, wanted)
        _find_keys(wanted, block, entries, slots, direct, numbers)
        _touch_runs(numbers, block, entries, width, values)
        while i < begin_block + block:
            number = numbers[i - begin_block]
            if number >= 0 and (goal < 0 or quota[bindings[i, goal]] > 0):
                begin = entries[number, width] >> 32
                place = (entries[number, width] & 0xFFFFFFFF) - 1
                row = entries[number, width + 1]
                if cursor < -1:
                    row = -cursor - 2
                elif cursor >= 0:
                    row = int64(-1)
                    place = cursor
                while row >= low:
                    if _sees(row, status, visible, low, high) and (
                        not len(left) or _fits(rows, row, others, left, right)
                    ):
                        if n == room:
                            return n, i, -row - 2
                        _emit(bindings, i, rows, row, others, constants, outputs, out, n)
                        n += 1
                        if goal >= 0:
                            quota[bindings[i, goal]] -= 1
                            if quota[bindings[i, goal]] == 0:
                                place = begin - 1
                                break
                    row = int64(following[row - settled])
                if len(visible) == 0:
                    if not all_runs_seen:
                        begin, place = _within(ids, begin, place, low, high)
                    if goal < 0 and not len(left):
                        taken = min(place - begin + 1, room - n)
                        _emit_run(bindings, i, values, place, taken, constants, outputs, out, n)
                        n += taken
                        place -= taken
                        if place >= begin:
                            return n, i, place
                while place >= begin:
                    if (not len(visible) or visible[status[ids[place]]]) and (
                        not len(left) or _fits(values, place, straight, left, right)
                    ):
                        if n == room:
                            return n, i, place
                        _emit(bindings, i, values, place, straight, constants, outputs, out, n)
                        n += 1
                        if goal >= 0:
                            quota[bindings[i, goal]] -= 1
                            if quota[bindings[i, goal]] == 0:
                                break
                    place -= 1
            cursor = int64(-1)
            i += 1
    return n, i, cursor


@njit
def _count_in_place(facts, start, step, length, source, here, counts, column, out, n):
    """Count the values of one column in some facts, each in its own place, until one has none or `out` is full.

    A place has the group's number and the count; new values go into a column of `out`.  Gives how many facts were
    counted and how many rows there are now.
    """
    room = out.shape[0]
    for k in range(length):
        value = facts[start + step * k, source]
        if not 0 <= value < len(counts):
            return k, n
        entry = counts[value]
        if (entry >> _SHIFT) == here:
            counts[value] = entry + _ONE
        elif n < room:
            counts[value] = here << _SHIFT | _ONE
            out[n, column] = value
            n += 1
        else:
            return k, n
    return length, n


@njit
def _complete(bindings, i, constants, outputs, here, begin, end, tallied, heads):
    """Write what all rows of a group have in common, and the weights of those that were counted in place.

    Those that an index of the heads shows to be known go to `known` instead, if it has few others of the group: that is
    read in order, where each head by itself would be a cache miss or two.  Gives how many rows there are now.
    """
    column, counts, weights, out = tallied
    for other in range(len(outputs)):
        origin = outputs[other]
        if origin < FROM_FACT or origin >= FROM_PLACE:
            value = constants[origin & _COLUMN] if origin >= FROM_CONSTANT else bindings[i, origin]
            for k in range(begin, end):
                out[k, other] = value
    if len(counts):
        for k in range(begin, end):
            if 0 <= out[k, column] < len(counts):
                weights[k] = int32(counts[out[k, column]] & _LOW)
    head_key, head_slots, head_entries, head_ids, head_values, known, known_weights = heads
    if begin == end or not (len(counts) and len(head_entries)):
        return end
    number, _, _ = _find_key(out, begin, head_key, head_entries, head_slots)
    if number < 0:
        return end
    run = head_entries[number, len(head_key)]
    first, stop = run >> 32, run & 0xFFFFFFFF
    if stop - first > FEW_OTHERS * (end - begin):
        return end
    before = found = int64(known[len(known) - 1])
    for place in range(first, stop):
        value = head_values[place, 0]
        if 0 <= value < len(counts) and (counts[value] >> _SHIFT) == here:
            known[found] = head_ids[place]
            known_weights[found] = int32(counts[value] & _LOW)
            counts[value] = 0
            found += 1
    known[len(known) - 1] = found
    if found == before:
        return end
    kept = begin
    for k in range(begin, end):
        value = out[k, column]
        if 0 <= value < len(counts) and counts[value] == 0:
            continue
        for other in range(len(outputs)):
            out[kept, other] = out[k, other]
        weights[kept] = weights[k]
        kept += 1
    return kept


@njit(
    types.UniTuple(int64, 3)(
        _rows,
        int64,
        int64,
        int64,
        _codes,
        _rows,
        _bytes,
        _bytes,
        int64,
        int64,
        _slots,
        _ids,
        _rows,
        _ids,
        _rows,
        _ids,
        int64,
        _codes,
        _codes,
        _codes,
        _codes,
        _codes,
        _slots,
        _slots,
        _ids,
        _codes,
        _slots,
        _rows,
        _ids,
        _rows,
        _ids,
        _ids,
        _rows,
    ),
    nogil=True,
    cache=True,
)
def tally(
    bindings,
    count,
    i,
    cursor,
    constants,
    rows,
    status,
    visible,
    low,
    high,
    slots,
    direct,
    entries,
    ids,
    values,
    following,
    settled,
    origins,
    others,
    outputs,
    group,
    told,
    seen,
    counts,
    weights,
    head_key,
    head_slots,
    head_entries,
    head_ids,
    head_values,
    known,
    known_weights,
    out,
):
    """As `expand`, but what neighbouring bindings tell alike is written once, with how often in `weights`.

    Bindings that agree in the columns `group`, all that the outputs take from them, are tallied together.  `told` are
    the output columns that come from the joined fact, at least one.  `seen` is a hash table that needs no emptying: an
    entry holds for the group whose number is in its upper half, and its last place counts the groups.  If there is only
    one such column, values below the length of `counts` are counted there, in their own place; and if there is an index
    of the heads by all other columns, those it shows to be known are not written: `known` gets their row ids and in its
    last place their number, `known_weights` how often each was told.  Stops also after very many instances, so that
    limits and Ctrl-C are seen.
    """
    n = int64(0)
    room = out.shape[0]
    width = len(origins)
    wanted = np.empty((BLOCK, width), np.int64)
    numbers = np.empty(BLOCK + 1, np.int64)
    tail = np.empty((BLOCK, len(others)), np.int64)
    tail_rows = np.empty(BLOCK, np.int64)
    all_runs_seen = low == 0 and high >= settled
    column = told[0]
    source = outputs[column] & _COLUMN
    mask = int64(len(seen) - 2)
    here = seen[len(seen) - 1] + _ONE
    first = i
    of_group = int64(0)  # where its rows begin
    tallied = (column, counts, weights, out)
    heads = (head_key, head_slots, head_entries, head_ids, head_values, known, known_weights)
    instances = int64(0)
    while i < count and instances < MANY:
        begin_block = i
        block = min(BLOCK, count - i)
        _gather(bindings, i, block, constants, origins, wanted)
        _find_keys(wanted, block, entries, slots, direct, numbers)
        _touch_runs(numbers, block, entries, width, values)
        while i < begin_block + block and instances < MANY:
            if i > first and not _agree(bindings, i - 1, i, group):
                n = _complete(bindings, i - 1, constants, outputs, here, of_group, n, tallied, heads)
                of_group = n
                if known[len(known) - 1] > room:
                    seen[len(seen) - 1] = here
                    return n, i, cursor
                here += _ONE
            number = numbers[i - begin_block]
            begin, place, row = int64(0), int64(-1), int64(-1)
            if number >= 0:
                begin = entries[number, width] >> 32
                place = (entries[number, width] & 0xFFFFFFFF) - 1
                row = entries[number, width + 1]
                if cursor < -1:
                    row = -cursor - 2
                elif cursor >= 0:
                    row = int64(-1)
                    place = cursor
                if not (all_runs_seen or len(visible)):
                    begin, place = _within(ids, begin, place, low, high)
            while row >= low or place >= begin:
                facts, start, step, length = values, place, int64(-1), place - begin + 1
                in_tail = row >= low
                if in_tail:  # some of the tail, copied so that it can be read like a run
                    facts, start, step, length = tail, int64(0), int64(1), int64(0)
                    while row >= low and length < BLOCK:
                        if _sees(row, status, visible, low, high):
                            for k in range(len(others)):
                                tail[length, k] = rows[row, others[k]]
                            tail_rows[length] = row
                            length += 1
                        row = int64(following[row - settled])
                else:
                    place = begin - 1
                instances += length
                by_status = len(visible) > 0 and not in_tail
                counted = int64(0)
                if len(counts) and not by_status:
                    counted, n = _count_in_place(facts, start, step, length, source, here, counts, column, out, n)
                for k in range(counted, length):
                    fact = start + step * k
                    if by_status and not visible[status[ids[fact]]]:
                        continue
                    value = facts[fact, source]
                    if 0 <= value < len(counts):
                        one, n = _count_in_place(facts, fact, step, int64(1), source, here, counts, column, out, n)
                        if one == 0:
                            seen[len(seen) - 1] = here
                            n = _complete(bindings, i, constants, outputs, here, of_group, n, tallied, heads)
                            return n, i, -tail_rows[k] - 2 if in_tail else fact
                        continue
                    state = np.uint64(value) * _MULTIPLIER
                    for other in range(1, len(told)):
                        state = _mix(state, facts[fact, outputs[told[other]] & _COLUMN]) * _MULTIPLIER
                    slot = int64(state >> _SHIFT) & mask
                    while True:
                        entry = seen[slot]
                        if (entry >> _SHIFT) != here:
                            if n == room:
                                seen[len(seen) - 1] = here
                                n = _complete(bindings, i, constants, outputs, here, of_group, n, tallied, heads)
                                return n, i, -tail_rows[k] - 2 if in_tail else fact
                            seen[slot] = here << _SHIFT | np.uint64(n)
                            for other in range(len(told)):
                                out[n, told[other]] = facts[fact, outputs[told[other]] & _COLUMN]
                            weights[n] = 1
                            n += 1
                            break
                        earlier = int64(entry & _LOW)
                        same = out[earlier, column] == value
                        for other in range(1, len(told)):
                            same &= out[earlier, told[other]] == facts[fact, outputs[told[other]] & _COLUMN]
                        if same:
                            weights[earlier] += 1
                            break
                        slot = (slot + 1) & mask
            cursor = int64(-1)
            i += 1
    seen[len(seen) - 1] = here
    if of_group < n:
        n = _complete(bindings, i - 1, constants, outputs, here, of_group, n, tallied, heads)
    return n, i, cursor


@njit(
    int64(
        _rows,
        int64,
        _codes,
        _rows,
        _bytes,
        _bytes,
        int64,
        int64,
        _slots,
        _ids,
        _rows,
        _ids,
        _rows,
        _ids,
        int64,
        _codes,
        _codes,
        _codes,
        _codes,
        _codes,
        _codes,
        _rows,
    ),
    nogil=True,
    cache=True,
)
def reject(
    bindings,
    count,
    constants,
    rows,
    status,
    visible,
    low,
    high,
    slots,
    direct,
    entries,
    ids,
    values,
    following,
    settled,
    origins,
    others,
    straight,
    left,
    right,
    outputs,
    out,
):
    """The bindings for which an index shows no fact; gives how many.  Arguments as for `expand`."""
    n = int64(0)
    width = len(origins)
    wanted = np.empty((BLOCK, width), np.int64)
    numbers = np.empty(BLOCK + 1, np.int64)
    for begin_block in range(0, count, BLOCK):
        block = min(BLOCK, count - begin_block)
        _gather(bindings, begin_block, block, constants, origins, wanted)
        _find_keys(wanted, block, entries, slots, direct, numbers)
        for k in range(block):
            number = numbers[k]
            found = False
            if number >= 0:
                begin = entries[number, width] >> 32
                place = (entries[number, width] & 0xFFFFFFFF) - 1
                row = entries[number, width + 1]
                while row >= low and not found:
                    found = _sees(row, status, visible, low, high) and (
                        not len(left) or _fits(rows, row, others, left, right)
                    )
                    row = int64(following[row - settled])
                while place >= begin and not found:
                    found = _sees(ids[place], status, visible, low, high) and (
                        not len(left) or _fits(values, place, straight, left, right)
                    )
                    place -= 1
            if not found:
                _emit(bindings, begin_block + k, rows, int64(0), others, constants, outputs, out, n)
                n += 1
    return n


@njit(
    int64(
        _rows,
        int64,
        _codes,
        _rows,
        _bytes,
        _bytes,
        int64,
        int64,
        _slots,
        _grid,
        _codes,
        boolean,
        _codes,
        int64,
        _ids,
        _rows,
    ),
    nogil=True,
    cache=True,
)
def probe(
    bindings,
    count,
    constants,
    rows,
    status,
    visible,
    low,
    high,
    slots,
    grid,
    origins,
    wanted,
    outputs,
    goal,
    quota,
    out,
):
    """The bindings whose values are a fact that is seen (`wanted`), or are not; gives how many.

    `goal` and `quota` as for `expand`.
    """
    n = int64(0)
    facts = np.empty((BLOCK, rows.shape[1]), np.int64)
    found = np.empty(BLOCK, np.int64)
    for begin in range(0, count, BLOCK):
        block = min(BLOCK, count - begin)
        _gather(bindings, begin, block, constants, origins, facts)
        _find_rows(facts, block, rows, slots, grid, found)
        for k in range(block):
            if (found[k] >= 0 and _sees(found[k], status, visible, low, high)) == wanted:
                if goal >= 0:
                    if quota[bindings[begin + k, goal]] <= 0:
                        continue
                    quota[bindings[begin + k, goal]] -= 1
                _emit(bindings, begin + k, rows, int64(0), outputs, constants, outputs, out, n)
                n += 1
    return n


@njit(int64(_rows, int64, _codes, _codes, boolean, _codes, _rows), nogil=True, cache=True)
def compare(bindings, count, constants, sides, equal, outputs, out):
    """The bindings in which two values are equal, or are not; gives how many."""
    n = int64(0)
    left, right = sides[0], sides[1]
    for i in range(count):
        one = constants[left & _COLUMN] if left >= FROM_CONSTANT else bindings[i, left]
        other = constants[right & _COLUMN] if right >= FROM_CONSTANT else bindings[i, right]
        if (one == other) == equal:
            _emit(bindings, i, bindings, int64(0), outputs, constants, outputs, out, n)
            n += 1
    return n


@njit(void(_rows, _rows, _slots, _grid, _ids), nogil=True, cache=True)
def find(wanted, rows, slots, grid, ids):
    """The row ids of some facts, -1 for those that are not in `rows`."""
    found = np.empty(BLOCK, np.int64)
    for begin in range(0, len(wanted), BLOCK):
        block = min(BLOCK, len(wanted) - begin)
        _find_rows(wanted[begin : begin + block], block, rows, slots, grid, found)
        for k in range(block):
            ids[begin + k] = found[k]


@njit(
    types.UniTuple(int64, 2)(
        _ids, int64, int64, _rows, _bytes, _bytes, _codes, _codes, _codes, _codes, _codes, _codes, _codes, _rows
    ),
    nogil=True,
    cache=True,
)
def scan(ids, i, stop, rows, status, visible, constants, key, origins, columns, left, right, outputs, out):
    """Bindings from the facts numbered ids[i..stop-1], or i..stop-1 when `ids` is empty, until `out` is full.

    An empty `visible` takes them all.  Gives the number of rows written and where to go on.
    """
    n = int64(0)
    room = out.shape[0]
    if not (len(visible) or len(left) or len(key)):
        n = min(stop - i, room)
        for column in range(len(outputs)):
            origin = outputs[column]
            for k in range(n):
                if origin == FROM_PLACE:
                    out[k, column] = i + k
                elif origin >= FROM_CONSTANT:
                    out[k, column] = constants[origin & _COLUMN]
                else:
                    out[k, column] = rows[int64(ids[i + k]) if len(ids) else i + k, columns[origin & _COLUMN]]
        return n, i + n
    while i < stop and n < room:
        row = int64(ids[i]) if len(ids) else i
        i += 1
        if len(visible) and not visible[status[row]]:
            continue
        if len(left) and not _fits(rows, row, columns, left, right):
            continue
        fits = True
        for k in range(len(key)):
            if rows[row, key[k]] != constants[origins[k] & _COLUMN]:
                fits = False
                break
        if fits:
            _emit(rows, 0, rows, row, columns, constants, outputs, out, n)
            for column in range(len(outputs)):
                if outputs[column] == FROM_PLACE:
                    out[n, column] = i - 1
            n += 1
    return n, i


@njit(int64(_rows, _slots, _ids, _rows, _ids, _ids, int64, _ids), nogil=True, cache=True)
def rows_of_keys(wanted, slots, direct, entries, ids, following, settled, out):
    """The rows of an index that have one of some distinct keys; gives how many."""
    n = int64(0)
    width = wanted.shape[1]
    numbers = np.empty(BLOCK, np.int64)
    for begin in range(0, len(wanted), BLOCK):
        block = min(BLOCK, len(wanted) - begin)
        _find_keys(wanted[begin : begin + block], block, entries, slots, direct, numbers)
        for k in range(block):
            if numbers[k] >= 0:
                run = entries[numbers[k], width]
                for place in range(run >> 32, run & 0xFFFFFFFF):
                    out[n] = ids[place]
                    n += 1
                row = entries[numbers[k], width + 1]
                while row >= 0:
                    out[n] = row
                    n += 1
                    row = int64(following[row - settled])
    return n


@njit(int64(_ids, _bytes, _bytes, uint8, _ids), nogil=True, cache=True)
def distinct(ids, status, visible, seen, out):
    """The ids whose status is visible, each once, in order of appearance; `seen` is a bit that is free meanwhile."""
    n = int64(0)
    for row in ids:
        state = status[row]
        if visible[state] and not (state & seen):
            status[row] = state | seen
            out[n] = row
            n += 1
    for k in range(n):
        status[out[k]] &= ~seen
    return n


@njit(int64(_ids, int64, boolean[::1]), nogil=True, cache=True)
def meet(ids, first, met):
    """Say of each row from a first one on whether it is among some ids; gives how many are."""
    n = int64(0)
    for row in ids:
        if row >= first:
            n += not met[row - first]
            met[row - first] = True
    return n


@njit(int64(_ids, _ids, boolean, _ids), nogil=True, cache=True)
def among(ids, others, wanted, out):
    """Those of some ids that are, or are not, among others; gives how many.  For a few: each is compared with each."""
    n = int64(0)
    for row in ids:
        found = False
        for other in others:
            if other == row:
                found = True
                break
        if found == wanted:
            out[n] = row
            n += 1
    return n


@njit(void(_ids, int64, _ids, _ids), nogil=True, cache=True)
def link(ids, first, heads, links):
    """Write beside each of some rows its head, one more so that 0 is none; without ids, of the rows from a first on."""
    for k in range(len(heads)):
        links[ids[k] if len(ids) else first + k] = heads[k] + 1


@njit(int64(_ids, _bytes, _bytes, _ids, _ids, _ids), nogil=True, cache=True)
def linked(ids, status, visible, links, facts, heads):
    """Those of some rows that are visible and have a head beside them, and these heads; gives how many."""
    n = int64(0)
    for row in ids:
        if visible[status[row]] and row < len(links) and links[row]:
            facts[n] = row
            heads[n] = links[row] - 1
            n += 1
    return n


@njit(types.UniTuple(int64, 2)(_ids), nogil=True, cache=True)
def ends(ids):
    """The least and the greatest of some ids."""
    first, last = int64(ids[0]), int64(ids[0])
    for row in ids:
        first, last = min(first, int64(row)), max(last, int64(row))
    return first, last


@njit(int64(_ids, _bytes, uint8, _ids), nogil=True, cache=True)
def enter(ids, status, bit, out):
    """Set a status bit of some rows; gives how many had it not, and which."""
    n = int64(0)
    for row in ids:
        if not (status[row] & bit):
            status[row] |= bit
            out[n] = row
            n += 1
    return n


@njit(void(_ids, _bytes, _bytes, uint8, uint8), nogil=True, cache=True)
def restatus_both(ids, status, proof, clear, set):
    """As `restatus`, of two bytes."""
    for row in ids:
        status[row] = (status[row] & ~clear) | set
        proof[row] = (proof[row] & ~clear) | set


@njit(int64(_ids, int32[::1], _ids), nogil=True, cache=True)
def zero(ids, counters, out):
    """Those of some ids whose counter is 0; gives how many."""
    n = int64(0)
    for row in ids:
        if counters[row] == 0:
            out[n] = row
            n += 1
    return n


@njit(void(_ids, _bytes, uint8, uint8), nogil=True, cache=True)
def restatus(ids, status, clear, set):
    """Clear and set status bits of some rows."""
    for row in ids:
        status[row] = (status[row] & ~clear) | set


@njit(boolean(_ids, _ids, int32[::1], int64), nogil=True, cache=True)
def count(ids, weights, counters, step):
    """Move the counter of each id by `step`, times its weight if it has one; gives whether all fit in 32 bits."""
    fits = True
    for k in range(len(ids)):
        moved = counters[ids[k]] + step * int64(weights[k] if len(weights) else 1)
        fits &= moved <= 0x7FFFFFFF
        counters[ids[k]] = moved
    return fits
