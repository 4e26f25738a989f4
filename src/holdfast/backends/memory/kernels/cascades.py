"""Deletion in a cascade: facts that go, what loses its last support by that and goes too, and so on, in one loop."""

from __future__ import annotations

import numpy as np

from holdfast.backends.memory.kernels.arguments import Bytes, Codes, Grid, Ids, Index, Pattern, Rows, Slots, View
from holdfast.backends.memory.kernels.hashing import BLOCK
from holdfast.backends.memory.kernels.joins import expand
from holdfast.backends.memory.kernels.membership import find_rows
from holdfast.backends.memory.kernels.ranked import late
from holdfast.backends.memory.kernels.steps import scan
from holdfast.compilation import int32, int64, njit, types, uint8, void

CascadeTable = types.Tuple((Rows, Bytes, Slots, Grid))
"""A table: rows, status, slots, grid."""

CascadeSupport = types.Tuple((Ids, Ids, Ids, Ids, Codes))
"""Cn; Cr; what keeps a fact besides Cn, Cw or Cr, or Cn again; the ranks, empty where that is not Cw; the spans of
ranks that the rule saw together, as pairs."""

CascadeScan = types.Tuple((Bytes, Codes, Codes, Pattern, Codes))
"""A scan: an empty `visible`, constants, key, pattern, outputs; the last output is the place of the fact."""

CascadeJoin = types.Tuple((Codes, View, Index, Pattern, Codes, Ids))
"""A join: constants, view, index, pattern, outputs, an empty quota; the last output is the place of the fact."""

CascadeBuffers = types.Tuple((Rows, Rows, Rows))
"""For bindings, for heads with places, and for heads alone."""


@njit(
    void(Ids, Codes, uint8, CascadeTable, CascadeSupport, CascadeScan, CascadeJoin, CascadeBuffers, Ids, Ids),
    nogil=True,
    cache=True,
)
def cascade(work, state, deleted, table, support, scanned, joined, buffers, moved, founded):
    """Subtract the instances of a rule with facts that have gone; heads without support go too, and join `work`.

    The rule joins one fact of the table with other facts.  `state` says how far it has come: the next place in `work`
    and the number of facts there; the number of bindings, the next one, and the cursor of its join.  The heads whose
    Cr was moved go to `moved`, those whose Cw was to `founded`; `state` gets how many there are, and how often a fact
    was kept by what else keeps facts.  Stops at the end, or when `moved` is full.  `work` and `founded` have a place
    more than they can need.
    """
    rows, status, slots, grid = table
    Cn, Cr, other, ranks, spans = support
    visible, scan_constants, key, scan_pattern, scan_outputs = scanned
    constants, view, index, pattern, outputs, quota = joined
    bindings, out, heads = buffers
    place, facts, count, i, cursor = state[0], state[1], state[2], state[3], state[4]
    width, capacity = heads.shape[1], out.shape[0]
    found = np.empty(BLOCK, np.int64)
    m, f, kept = int64(0), int64(0), int64(0)
    while i < count or place < facts:
        if i == count:
            stop = min(facts, place + bindings.shape[0])
            count, place = scan(
                work, place, stop, rows, status, visible, scan_constants, key, scan_pattern, scan_outputs, bindings
            )
            i, cursor = int64(0), int64(-1)
            continue
        if m + capacity > len(moved):
            break
        n, i, cursor = expand(bindings, count, i, cursor, constants, view, index, pattern, outputs, -1, quota, out)
        for k in range(n):
            for column in range(width):
                heads[k, column] = out[k, column]
        for begin in range(0, n, BLOCK):
            block = min(BLOCK, n - begin)
            find_rows(heads[begin : begin + block], block, rows, slots, grid, found)
            for k in range(block):
                head = found[k]
                if head < 0:
                    continue
                Cr[head] -= 1
                moved[m] = head
                m += 1
                if len(ranks):  # branch-free: these branches would be unpredictable
                    is_founded = int32(late(ranks[work[out[begin + k, width]]], spans) < ranks[head])
                    other[head] -= is_founded
                    founded[f] = head
                    f += is_founded
                may_go = (Cn[head] == 0) & (status[head] & deleted == 0)
                goes = may_go & (other[head] == 0)
                status[head] |= deleted * uint8(goes)
                work[facts] = head
                facts += int64(goes)
                kept += int64(may_go) - int64(goes)
    state[0], state[1], state[2], state[3], state[4] = place, facts, count, i, cursor
    state[5], state[6], state[7] = m, f, kept
