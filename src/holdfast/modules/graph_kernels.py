"""The hot loops over graphs, compiled by Numba: components, reachability, and what a closure gains and loses.

A file of its own beside `backends/memory/kernels.py`, for the same reason that that is one file: Numba's cache notices
a change only in the file of the cached function, and no loop here uses a helper from there.

A graph is compressed sparse rows: the successors of node v are `targets[first[v]:first[v + 1]]`, in order; and beside
them two short sorted lists of edges as keys (see `graph.py`), those that `came` since and those that `went`.
Components are numbered so that each comes after all that it reaches; `members` are the nodes of the components in a
row, and a component is *cyclic* when its nodes reach themselves.  A graph that is not condensed is one in which each
node is a component and none is cyclic.
"""

from __future__ import annotations

import numpy as np

from holdfast.compilation import boolean, int64, njit, types, uint8, uint64, void

GAINS_BY_NEWER_CPUS = True  # bits are counted in half the time; see docs/decisions/0028-kernels-built-ahead.md

_numbers = int64[::1]
_flags = uint8[::1]
_bits = uint64[:, ::1]
_pairs = int64[:, ::1]
_ONE = np.uint64(1)
_LONG = 1 << 26  # steps of a walk: a fraction of a second, in which nobody looks at limits


@njit(int64(_numbers, _numbers, _numbers), nogil=True, cache=True)
def components(first, targets, component):
    """Strongly connected components (Tarjan 1972, without recursion); gives their number."""
    nodes = len(first) - 1
    order = np.full(nodes, -1, np.int64)
    low = np.empty(nodes, np.int64)
    place = np.empty(nodes, np.int64)
    path = np.empty(nodes, np.int64)
    stack = np.empty(nodes, np.int64)
    component[:] = -1
    seen, count, top = int64(0), int64(0), int64(0)
    for root in range(nodes):
        if order[root] >= 0:
            continue
        depth = int64(0)
        path[0] = root
        order[root] = low[root] = seen
        seen += 1
        place[root] = first[root]
        stack[top] = root
        top += 1
        while depth >= 0:
            node = path[depth]
            if place[node] < first[node + 1]:
                successor = targets[place[node]]
                place[node] += 1
                if order[successor] < 0:
                    depth += 1
                    path[depth] = successor
                    order[successor] = low[successor] = seen
                    seen += 1
                    place[successor] = first[successor]
                    stack[top] = successor
                    top += 1
                elif component[successor] < 0:
                    low[node] = min(low[node], order[successor])
                continue
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[node])
            if low[node] == order[node]:
                while True:
                    top -= 1
                    component[stack[top]] = count
                    if stack[top] == node:
                        break
                count += 1
    return count


@njit(int64(_numbers, _numbers, _numbers, _numbers, _numbers, _flags, _numbers, _numbers), nogil=True, cache=True)
def condense(first, targets, component, member_first, members, cyclic, between_first, between):
    """The edges between components as rows, each once and in no order; flags those with an edge inside.

    Gives the number of edges.
    """
    seen = np.full(len(cyclic), -1, np.int64)
    count = int64(0)
    for group in range(len(cyclic)):
        between_first[group] = count
        for place in range(member_first[group], member_first[group + 1]):
            node = members[place]
            for k in range(first[node], first[node + 1]):
                other = component[targets[k]]
                if other == group:
                    cyclic[group] = 1
                elif seen[other] != group:
                    seen[other] = group
                    between[count] = other
                    count += 1
    between_first[len(cyclic)] = count
    return count


@njit
def _from(keys, node):
    """The place of a node's first edge in sorted keys, or where it would be."""
    low, high, wanted = int64(0), int64(len(keys)), int64(node) << 32
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def _successors(node, first, targets, came, went, out):
    """List the successors of a node; gives how many."""
    n = int64(0)
    place = _from(went, node) if len(went) else int64(0)
    if place < len(went) and went[place] >> 32 == node:
        for k in range(first[node], first[node + 1]):
            key = (int64(node) << 32) | targets[k]
            while place < len(went) and went[place] < key:
                place += 1
            if place == len(went) or went[place] != key:
                out[n] = targets[k]
                n += 1
    else:
        for k in range(first[node], first[node + 1]):
            out[n] = targets[k]
            n += 1
    if len(came):
        place = _from(came, node)
        while place < len(came) and came[place] >> 32 == node:
            out[n] = came[place] & 0xFFFFFFFF
            n += 1
            place += 1
    return n


@njit(void(_numbers, _numbers, _numbers, _numbers, _numbers, _flags), nogil=True, cache=True)
def reach(first, targets, came, went, starts, seen):
    """Flag all nodes that can be reached from some, these included."""
    waiting = np.empty(len(first) - 1, np.int64)
    out = np.empty(len(first) - 1, np.int64)
    count = int64(0)
    for start in starts:
        if not seen[start]:
            seen[start] = 1
            waiting[count] = start
            count += 1
    while count:
        count -= 1
        for k in range(_successors(waiting[count], first, targets, came, went, out)):
            if not seen[out[k]]:
                seen[out[k]] = 1
                waiting[count] = out[k]
                count += 1


@njit(void(_numbers, _numbers, _numbers, _numbers, _numbers, _numbers, int64, _flags), nogil=True, cache=True)
def detours(first, targets, came, went, starts, ends, budget, found):
    """Of each pair of nodes, whether the second can be reached from the first, by at least one edge.

    After so many steps the others are left at not; with a negative budget there is no end of it.
    """
    nodes = len(first) - 1
    stamp = np.full(nodes, -1, np.int64)
    waiting = np.empty(nodes, np.int64)
    out = np.empty(nodes, np.int64)
    last = int64(-1)
    for i in range(len(starts)):
        if i and starts[i] == starts[i - 1]:
            found[i] = stamp[ends[i]] == last
            continue
        last = int64(i)
        count = int64(0)
        alone = i + 1 == len(starts) or starts[i + 1] != starts[i]
        node = starts[i]
        while True:
            steps = _successors(node, first, targets, came, went, out)
            for k in range(steps):
                if stamp[out[k]] != last:
                    stamp[out[k]] = last
                    waiting[count] = out[k]
                    count += 1
            if budget >= 0:
                budget -= steps + 1
                if budget < 0:
                    return
            if count == 0 or (alone and stamp[ends[i]] == last):
                break
            count -= 1
            node = waiting[count]
        found[i] = stamp[ends[i]] == last


@njit(void(_numbers, _numbers, _numbers, _numbers, _flags, _bits), nogil=True, cache=True)
def fill_bits(first, targets, member_first, members, cyclic, bits):
    """For each component, from the first to the last, a bit for each node that its nodes reach."""
    words = bits.shape[1]
    for c in range(len(first) - 1):
        for k in range(first[c], first[c + 1]):
            successor = targets[k]
            for w in range(words):
                bits[c, w] |= bits[successor, w]
            for m in range(member_first[successor], member_first[successor + 1]):
                node = members[m]
                bits[c, node >> 6] |= _ONE << np.uint64(node & 63)
        if cyclic[c]:
            for m in range(member_first[c], member_first[c + 1]):
                node = members[m]
                bits[c, node >> 6] |= _ONE << np.uint64(node & 63)


@njit
def _walk(c, first, targets, came, went, member_first, members, cyclic, stamps, stamp, waiting, out, found, steps):
    """List the nodes that a component's nodes reach; gives how many, and adds the edges walked to `steps`."""
    count, n = int64(0), int64(0)
    if cyclic[c]:
        for m in range(member_first[c], member_first[c + 1]):
            found[n] = members[m]
            n += 1
    here = c
    while True:
        degree = _successors(here, first, targets, came, went, out)
        steps[0] += degree + 1
        for k in range(degree):
            successor = out[k]
            if stamps[successor] != stamp:
                stamps[successor] = stamp
                waiting[count] = successor
                count += 1
                for m in range(member_first[successor], member_first[successor + 1]):
                    found[n] = members[m]
                    n += 1
        if count == 0:
            return n
        count -= 1
        here = waiting[count]


@njit
def _list_bits(row, found, n):
    """List the nodes whose bits are set."""
    for w in range(len(row)):
        word = row[w]
        while word:
            lowest = word & (~word + _ONE)
            node = w << 6
            step = lowest
            if step >> np.uint64(32):
                node += 32
                step >>= np.uint64(32)
            if step >> np.uint64(16):
                node += 16
                step >>= np.uint64(16)
            if step >> np.uint64(8):
                node += 8
                step >>= np.uint64(8)
            if step >> np.uint64(4):
                node += 4
                step >>= np.uint64(4)
            if step >> np.uint64(2):
                node += 2
                step >>= np.uint64(2)
            if step >> _ONE:
                node += 1
            found[n] = node
            n += 1
            word ^= lowest
    return n


@njit
def _write(sources, begin, end, found, count, stride, no_loops, out, n):
    """Pair each source with each node found that is a target."""
    for s in range(begin, end):
        source = sources[s]
        for k in range(count):
            target = found[k]
            if target % stride == stride - 1 and not (no_loops and target == source):
                out[n, 0] = source // stride
                out[n, 1] = target // stride
                n += 1
    return n


_condensed = (_numbers, _numbers, _numbers, _numbers, _numbers, _numbers, _flags, _bits)


@njit
def _set_bits(row, mask):
    """How many bits of a row are set that a mask has, too."""
    count = int64(0)
    for w in range(len(row)):
        word = row[w] & mask
        word -= (word >> _ONE) & np.uint64(0x5555555555555555)
        word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
        word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        count += int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
    return count


@njit(int64(int64, *_condensed, int64, _numbers), nogil=True, cache=True)
def count_targets(begin, first, targets, came, went, member_first, members, cyclic, bits, stride, counts):
    """For each component from one on, how many nodes that are targets its nodes reach.

    Gives the component to go on from: a pause comes after much walking.
    """
    found = np.empty(len(members), np.int64)
    waiting = np.empty(len(members), np.int64)
    out = np.empty(len(members), np.int64)
    stamps = np.full(len(cyclic), -1, np.int64)
    steps = np.zeros(1, np.int64)
    mask = np.uint64(0xAAAAAAAAAAAAAAAA) if stride == 2 else ~np.uint64(0)
    for c in range(begin, len(cyclic)):
        if len(bits):
            counts[c] = _set_bits(bits[c], mask)
            continue
        n = _walk(c, first, targets, came, went, member_first, members, cyclic, stamps, c, waiting, out, found, steps)
        for k in range(n):
            if found[k] % stride == stride - 1:
                counts[c] += 1
        if steps[0] > _LONG:
            return c + 1
    return len(cyclic)


@njit(
    types.UniTuple(int64, 4)(
        int64, _numbers, _numbers, _numbers, _numbers, *_condensed, *_condensed, int64, boolean, int64, _pairs, _pairs
    ),
    nogil=True,
    cache=True,
)
def differences(
    begin,
    old,
    new,
    source_first,
    sources,
    old_first,
    old_targets,
    old_came,
    old_went,
    old_member_first,
    old_members,
    old_cyclic,
    old_bits,
    new_first,
    new_targets,
    new_came,
    new_went,
    new_member_first,
    new_members,
    new_cyclic,
    new_bits,
    stride,
    no_loops,
    budget,
    lost,
    gained,
):
    """What the sources of each group reached and no longer do, and what they reach and did not, as pairs.

    The sources of group g are in component old[g] of the old graph and new[g] of the new one, -1 for an empty graph.
    A graph without bits for its components is walked.  Stops before a group that exceeds the buffers, and returns
    that group, the pairs written to `lost` and `gained`, and the capacity that it needs.  Gives up, with -1 for the
    group, after more edges than the budget; a negative budget only pauses.
    """
    nodes = max(len(old_members), len(new_members))
    was = np.empty(nodes, np.int64)
    now = np.empty(nodes, np.int64)
    mark = np.full(nodes, -1, np.int64)
    waiting = np.empty(nodes, np.int64)
    out = np.empty(nodes, np.int64)
    steps = np.zeros(1, np.int64)
    old_stamps = np.full(len(old_first), -1, np.int64)
    new_stamps = np.full(len(new_first), -1, np.int64)
    words = max(old_bits.shape[1], new_bits.shape[1])
    gone_word = np.empty(words, np.uint64)
    come_word = np.empty(words, np.uint64)
    by_bits = (len(old_bits) > 0 or len(old_first) == 1) and (len(new_bits) > 0 or len(new_first) == 1)
    n_lost, n_gained = int64(0), int64(0)
    for g in range(begin, len(old)):
        o, c = old[g], new[g]
        if by_bits:
            for w in range(words):
                before = old_bits[o, w] if o >= 0 and w < old_bits.shape[1] else np.uint64(0)
                after = new_bits[c, w] if c >= 0 and w < new_bits.shape[1] else np.uint64(0)
                gone_word[w] = before & ~after
                come_word[w] = after & ~before
            n_was = _list_bits(gone_word, was, int64(0))
            n_now = _list_bits(come_word, now, int64(0))
        else:
            n_was, n_now = int64(0), int64(0)
            if o >= 0:
                n_was = _walk(
                    o,
                    old_first,
                    old_targets,
                    old_came,
                    old_went,
                    old_member_first,
                    old_members,
                    old_cyclic,
                    old_stamps,
                    g,
                    waiting,
                    out,
                    was,
                    steps,
                )
            if c >= 0:
                n_now = _walk(
                    c,
                    new_first,
                    new_targets,
                    new_came,
                    new_went,
                    new_member_first,
                    new_members,
                    new_cyclic,
                    new_stamps,
                    g,
                    waiting,
                    out,
                    now,
                    steps,
                )
            if 0 <= budget < steps[0]:
                return int64(-1), n_lost, n_gained, int64(0)
            for k in range(n_was):
                mark[was[k]] = 2 * g
            kept = int64(0)
            for k in range(n_now):
                if mark[now[k]] == 2 * g:
                    mark[now[k]] = 2 * g + 1
                else:
                    now[kept] = now[k]
                    kept += 1
            n_now, kept = kept, int64(0)
            for k in range(n_was):
                if mark[was[k]] == 2 * g:
                    was[kept] = was[k]
                    kept += 1
            n_was = kept
        first, end = source_first[g], source_first[g + 1]
        capacity = (end - first) * max(n_was, n_now)
        if n_lost + (end - first) * n_was > len(lost) or n_gained + (end - first) * n_now > len(gained):
            return g, n_lost, n_gained, capacity
        n_lost = _write(sources, first, end, was, n_was, stride, no_loops, lost, n_lost)
        n_gained = _write(sources, first, end, now, n_now, stride, no_loops, gained, n_gained)
        if steps[0] > _LONG:
            return g + 1, n_lost, n_gained, int64(0)
    return len(old), n_lost, n_gained, int64(0)
