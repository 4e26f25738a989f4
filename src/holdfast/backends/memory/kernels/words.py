"""Facts in several states at once: a word has one bit for each state (backends/memory/window/versions.py).

The word of an unchanged fact is `every` bit if it is in I, else 0; beside each row stands the difference to that.
"""

from __future__ import annotations

from holdfast.backends.memory.kernels.arguments import FEW, Bytes, Codes, Ids
from holdfast.compilation import boolean, int32, int64, njit, uint8, void

KEEPS_THE_LOCK = FEW


@njit
def _unchanged(state, bit, every):
    return every if state & bit else int64(0)


@njit(void(Ids, Bytes, uint8, int64, Codes, boolean, Codes), nogil=True, cache=True)
def meet_words(ids, status, bit, every, beside, negated, words):
    """Keep of each word the states in which a fact holds, or does not hold if `negated`; row -1 never holds."""
    for k in range(len(ids)):
        row, held = ids[k], int64(0)
        if row >= 0:
            held = _unchanged(status[row], bit, every)
            if row < len(beside):
                held ^= beside[row]
        words[k] &= ~held if negated else held


@njit(int64(Ids, Codes, Bytes, uint8, int64, Codes, Ids), nogil=True, cache=True)
def put_words(ids, words, status, bit, every, beside, out):
    """Set the words of distinct facts; gives how many change, and which."""
    n = int64(0)
    for k in range(len(ids)):
        row = ids[k]
        difference = words[k] ^ _unchanged(status[row], bit, every)
        if beside[row] != difference:
            beside[row] = difference
            out[n] = row
            n += 1
    return n


@njit(int64(Ids, Codes, Ids, Codes, Bytes, uint8, int64, Ids, Codes, Codes), nogil=True, cache=True)
def explicit_words(ids, order, parts, later, status, bit, every, found, words, effects):
    """The words of facts that updates delete (in parts 0, 2, …) and insert (in parts 1, 3, …), where they change.

    `order` sorts the ids, and keeps the parts of each in order.  `later` has for each part the states after its update;
    `effects` counts the facts that each update changes.
    """
    n, k, end = int64(0), int64(0), len(order)
    while k < end:
        row = ids[order[k]]
        word = _unchanged(status[row], bit, every)
        while k < end and ids[order[k]] == row:
            update = int64(parts[order[k]]) >> 1
            before = (word >> update) & 1
            while k < end and ids[order[k]] == row and int64(parts[order[k]]) >> 1 == update:
                part = parts[order[k]]
                word = word | later[part] if part & 1 else word & ~later[part]
                k += 1
            effects[update] += int64(before != (word >> (update + 1)) & 1)
        if word != 0 and word != every:
            found[n] = row
            words[n] = word
            n += 1
    return n


@njit(int64(Ids, Codes, Codes, int32[::1], int64, Codes, Ids, Codes), nogil=True, cache=True)
def count_words(ids, order, words, counters, known, counts, found, held):
    """The heads of instances, each once, with the states in which their counters are positive; gives how many.

    `order` sorts the ids, and `known` is the bit of the state that the counters are of; `counts` can hold a number
    for each state.
    """
    n, k, end = int64(0), int64(0), len(order)
    while k < end:
        row = ids[order[k]]
        counts[:] = counters[row]
        while k < end and ids[order[k]] == row:
            word = words[order[k]]
            counted = int64(word & known != 0)
            for state in range(len(counts)):
                counts[state] += ((word >> state) & 1) - counted
            k += 1
        found[n] = row
        held[n] = 0
        for state in range(len(counts)):
            if counts[state] > 0:
                held[n] |= int64(1) << state
        n += 1
    return n


@njit(void(Ids, Codes, int64, int64, Ids, int32[::1], int32[::1]), nogil=True, cache=True)
def recount(ids, words, known, state, found, before, counters):
    """Set the counters of the heads of instances to those of a state, from those of the `known` one."""
    for k in range(len(found)):
        counters[found[k]] = before[k]
    for k in range(len(ids)):
        counters[ids[k]] += int64((words[k] >> state) & 1) - int64(words[k] & known != 0)


@njit(int64(Codes, Codes), nogil=True, cache=True)
def count_moves(words, borders):
    """How many facts each step removes (twice its number) and adds (that plus 1), as the borders of lists of them, one
    after the other; gives how many in all."""
    steps = (len(borders) - 1) >> 1
    for word in words:
        changes = word ^ (word >> 1)
        for step in range(steps):
            if (changes >> step) & 1:
                borders[2 * step + ((word >> (step + 1)) & 1) + 1] += 1
    for place in range(2 * steps):
        borders[place + 1] += borders[place]
    return borders[2 * steps]


@njit(void(Ids, Codes, Codes, Ids), nogil=True, cache=True)
def list_moves(ids, words, places, out):
    """These facts; `places` says where each list begins, and is moved on."""
    steps = len(places) >> 1
    for k in range(len(ids)):
        word = words[k]
        changes = word ^ (word >> 1)
        for step in range(steps):
            if (changes >> step) & 1:
                place = 2 * step + ((word >> (step + 1)) & 1)
                out[places[place]] = ids[k]
                places[place] += 1
