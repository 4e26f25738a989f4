"""Sets of row ids: bits of status bytes, counters, links."""

from __future__ import annotations

from holdfast.backends.memory.kernels.arguments import FEW, Bytes, Ids
from holdfast.compilation import boolean, int32, int64, njit, types, uint8, void

KEEPS_THE_LOCK = FEW


@njit(int64(Ids, Bytes, Bytes, uint8, Ids), nogil=True, cache=True)
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


@njit(int64(Ids, int64, boolean[::1]), nogil=True, cache=True)
def meet(ids, first, met):
    """Say of each row from a first one on whether it is among some ids; gives how many are."""
    n = int64(0)
    for row in ids:
        if row >= first:
            n += not met[row - first]
            met[row - first] = True
    return n


@njit(int64(Ids, Ids, boolean, Ids), nogil=True, cache=True)
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


@njit(void(Ids, int64, Ids, Ids), nogil=True, cache=True)
def link(ids, first, heads, links):
    """Write the head plus 1 beside each of some rows, 0 for no head; without ids, of the rows from a first on."""
    for k in range(len(heads)):
        links[ids[k] if len(ids) else first + k] = heads[k] + 1


@njit(int64(Ids, Bytes, Bytes, Ids, Ids, Ids), nogil=True, cache=True)
def linked(ids, status, visible, links, facts, heads):
    """Those of some rows that are visible and have a head beside them, and these heads; gives how many."""
    n = int64(0)
    for row in ids:
        if visible[status[row]] and row < len(links) and links[row]:
            facts[n] = row
            heads[n] = links[row] - 1
            n += 1
    return n


@njit(types.UniTuple(int64, 2)(Ids), nogil=True, cache=True)
def ends(ids):
    """The least and the greatest of some ids."""
    first, last = int64(ids[0]), int64(ids[0])
    for row in ids:
        first, last = min(first, int64(row)), max(last, int64(row))
    return first, last


@njit(int64(Ids, Bytes, uint8, Ids), nogil=True, cache=True)
def enter(ids, status, bit, out):
    """Set a status bit of some rows; gives how many had it not, and which."""
    n = int64(0)
    for row in ids:
        if not (status[row] & bit):
            status[row] |= bit
            out[n] = row
            n += 1
    return n


@njit(void(Ids, Bytes, uint8, uint8), nogil=True, cache=True)
def restatus(ids, status, clear, set):
    """Clear and set status bits of some rows."""
    for row in ids:
        status[row] = (status[row] & ~clear) | set


@njit(void(Ids, Bytes, Bytes, uint8, uint8), nogil=True, cache=True)
def restatus_both(ids, status, proof, clear, set):
    """As `restatus`, of two bytes."""
    for row in ids:
        status[row] = (status[row] & ~clear) | set
        proof[row] = (proof[row] & ~clear) | set


@njit(int64(Ids, int32[::1], Ids), nogil=True, cache=True)
def zero(ids, counters, out):
    """Those of some ids whose counter is 0; gives how many."""
    n = int64(0)
    for row in ids:
        if counters[row] == 0:
            out[n] = row
            n += 1
    return n


@njit(boolean(Ids, Ids, int32[::1], int64), nogil=True, cache=True)
def count(ids, weights, counters, step):
    """Move the counter of each id by `step`, times its weight if it has one; gives whether all fit in 32 bits."""
    fits = True
    for k in range(len(ids)):
        moved = counters[ids[k]] + step * int64(weights[k] if len(weights) else 1)
        fits &= moved <= 0x7FFFFFFF
        counters[ids[k]] = moved
    return fits
