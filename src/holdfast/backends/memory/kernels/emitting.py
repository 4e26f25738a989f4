"""The common part of all kernels that read bindings: gathering keys, testing facts, writing rows."""

from __future__ import annotations

from holdfast.backends.memory.kernels.arguments import COLUMN, FROM_CONSTANT, FROM_FACT, FROM_PLACE
from holdfast.compilation import njit


@njit
def gather(bindings, begin, block, constants, origins, wanted):
    """The key values of a block of bindings, one row each."""
    for column in range(len(origins)):
        origin = origins[column]
        if origin >= FROM_CONSTANT:
            for k in range(block):
                wanted[k, column] = constants[origin & COLUMN]
        else:
            for k in range(block):
                wanted[k, column] = bindings[begin + k, origin]


@njit
def sees(row, status, visible, low, high):
    """Whether a view shows a row: by its status or, where `visible` is empty, by its place in a range."""
    if len(visible):
        return visible[status[row]] != 0
    return low <= row < high


@njit
def emit(bindings, i, facts, fact, columns, constants, outputs, out, n):
    """Write row n: each column from a binding, from a fact, or a constant."""
    for column in range(len(outputs)):
        origin = outputs[column]
        if origin >= FROM_CONSTANT:
            out[n, column] = constants[origin & COLUMN]
        elif origin == FROM_PLACE:
            continue
        elif origin >= FROM_FACT:
            out[n, column] = facts[fact, columns[origin & COLUMN]]
        else:
            out[n, column] = bindings[i, origin]


@njit
def emit_run(bindings, i, values, place, count, constants, outputs, out, n):
    """Write rows for the facts of an index at place, place - 1 …: like `emit`, one column at a time."""
    for column in range(len(outputs)):
        origin = outputs[column]
        if origin >= FROM_FACT and origin < FROM_PLACE:
            source = origin & COLUMN
            for k in range(count):
                out[n + k, column] = values[place - k, source]
        else:
            value = constants[origin & COLUMN] if origin >= FROM_CONSTANT else bindings[i, origin]
            for k in range(count):
                out[n + k, column] = value


@njit
def within(ids, begin, place, low, high):
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
def repeats_agree(facts, fact, columns, left, right):
    """Whether the fact has equal values where the atom repeats a variable."""
    for k in range(len(left)):
        if facts[fact, columns[left[k]]] != facts[fact, columns[right[k]]]:
            return False
    return True
