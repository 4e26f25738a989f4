"""Hash tables: what a slot is, how a row is hashed, and how it is found.

Hash tables use open addressing with linear probing over a power of two of `uint64` slots.  A slot is 0 when empty;
otherwise its upper half holds a tag (the upper half of the hash) and its lower half the row id plus 1.  A fact's first
slot is the top bits of its tag, so a larger table is filled from a smaller one in one sequential sweep, without the
rows.
"""

from __future__ import annotations

import numpy as np

from holdfast.backends.memory.kernels.arguments import Slots
from holdfast.compilation import int64, njit, void

BLOCK = 128

LOW = np.uint64(0xFFFFFFFF)
HIGH = np.uint64(0xFFFFFFFF00000000)
HALF = np.uint64(32)
ONE = np.uint64(1)
MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
_SEED = np.uint64(0x9E3779B97F4A7C15)


@njit(inline="always")
def mix(state, value):
    """Combine a hash with one more value."""
    state = (state ^ np.uint64(value)) * MULTIPLIER
    return state ^ (state >> HALF)


@njit(inline="always")
def dropped_bits(slots):
    """The number of low bits of a hash that do not take part in choosing the first of these slots."""
    drop = 64
    capacity = len(slots)
    while capacity > 1:
        capacity >>= 1
        drop -= 1
    return np.uint64(drop)


@njit(inline="always")
def hash_row(rows, row):
    """The hash of a row's values."""
    state = _SEED
    for column in range(rows.shape[1]):
        state = mix(state, rows[row, column])
    return state * MULTIPLIER


@njit(inline="always")
def hash_key(rows, row, key):
    """The hash of a row's values in some columns."""
    state = _SEED
    for k in range(len(key)):
        state = mix(state, rows[row, key[k]])
    return state * MULTIPLIER


@njit(inline="always")
def same_row(wanted, i, rows, row):
    """Whether a row begins with the wanted values."""
    for column in range(wanted.shape[1]):
        if wanted[i, column] != rows[row, column]:
            return False
    return True


@njit(inline="always")
def _enter_slot(entry, slots, mask, drop):
    slot = entry >> drop
    while slots[slot] != 0:
        slot = (slot + ONE) & mask
    slots[slot] = entry


@njit(void(Slots, Slots), nogil=True, cache=True)
def move_slots(fewer, slots):
    """Enter all entries of a smaller hash table into an empty larger one."""
    mask = np.uint64(len(slots) - 1)
    drop = dropped_bits(slots)
    for entry in fewer:
        if entry != 0:
            _enter_slot(entry, slots, mask, drop)


@njit(void(Slots, int64, Slots), nogil=True, cache=True)
def spread_slots(slots, fewer, aside):
    """Spread a hash table that occupies the first slots over all of them; the others are empty.

    Entries move from the last to the first, since none moves towards the front.  An entry that would have to pass slots
    that are still to be moved waits `aside` until the end: a few at the front, and those that wrap around.
    """
    mask = np.uint64(len(slots) - 1)
    drop = dropped_bits(slots)
    waiting = int64(0)
    for place in range(fewer - 1, -1, -1):
        entry = slots[place]
        if entry == 0:
            continue
        slots[place] = 0
        slot = entry >> drop
        while slot >= np.uint64(place) and slots[slot] != 0:
            slot = (slot + ONE) & mask
        if slot >= np.uint64(place):
            slots[slot] = entry
        else:
            aside[waiting] = entry
            waiting += 1
    for k in range(waiting):
        _enter_slot(aside[k], slots, mask, drop)


@njit
def find_tags(hashes, block, slots, starts, facts):
    """For a block of hashes, the first slot that is empty or has the tag; reads the facts there to bring them into the
    cache.

    Each loop does only what it must, so that many of its cache misses are outstanding at once.
    """
    mask = np.uint64(len(slots) - 1)
    drop = dropped_bits(slots)
    found = np.empty(BLOCK, np.uint64)
    touched = int64(0)
    for k in range(block):
        found[k] = slots[hashes[k] >> drop]
    for k in range(block):
        slot = hashes[k] >> drop
        entry = found[k]
        while entry != 0 and ((entry ^ hashes[k]) & HIGH) != 0:
            slot = (slot + ONE) & mask
            entry = slots[slot]
        starts[k] = slot
        found[k] = entry
    if facts.shape[1]:
        for k in range(block):
            fact = np.int64(found[k] & LOW)
            fact -= fact > 0
            touched ^= facts[fact, 0] ^ facts[fact, facts.shape[1] - 1]
    starts[BLOCK] = np.uint64(touched)  # never read: without it the compiler drops the reads


@njit
def look_up_block(wanted, block, rows, slots, found):
    """For a block of rows, the rows of a table that begin with their values; -1 for rows without one."""
    mask = np.uint64(len(slots) - 1)
    hashes = np.empty(BLOCK, np.uint64)
    starts = np.empty(BLOCK + 1, np.uint64)
    for k in range(block):
        hashes[k] = hash_row(wanted, k)
    find_tags(hashes, block, slots, starts, rows)
    for k in range(block):
        slot = starts[k]
        entry = slots[slot]
        found[k] = -1
        while entry != 0:
            if ((entry ^ hashes[k]) & HIGH) == 0:
                row = np.int64(entry & LOW) - 1
                if same_row(wanted, k, rows, row):
                    found[k] = row
                    break
            slot = (slot + ONE) & mask
            entry = slots[slot]
