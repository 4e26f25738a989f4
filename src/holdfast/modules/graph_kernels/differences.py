"""What sources reach: how much, and the gains and losses when edges change."""

from __future__ import annotations

import numpy as np

from holdfast.compilation import boolean, int64, njit, types
from holdfast.modules.graph_kernels.arguments import ONE, Condensed, Groups, Numbers, Pairs
from holdfast.modules.graph_kernels.walking import walk

GAINS_BY_NEWER_CPUS = True  # bits are counted in half the time; see docs/decisions/0028-kernels-built-ahead.md
_LONG = 1 << 26  # steps of a walk: a fraction of a second, in which limits are not checked


@njit
def _list_bits(row, found, n):
    """List the nodes whose bits are set."""
    for w in range(len(row)):
        word = row[w]
        while word:
            lowest = word & (~word + ONE)
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
            if step >> ONE:
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


@njit
def _set_bits(row, mask):
    """The number of bits of a row that are set and that a mask has, too."""
    count = int64(0)
    for w in range(len(row)):
        word = row[w] & mask
        word -= (word >> ONE) & np.uint64(0x5555555555555555)
        word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
        word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        count += int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
    return count


@njit(int64(int64, Condensed, int64, Numbers, Numbers), nogil=True, cache=True)
def count_targets(begin, graph, stride, some, counts):
    """For each of some components, from a place on, the number of target nodes that its nodes reach.

    Returns the place to go on from: it pauses after much walking.
    """
    _, _, members, cyclic, bits = graph
    found = np.empty(len(members), np.int64)
    steps = np.zeros(1, np.int64)
    scratch = (np.empty(len(members), np.int64), np.empty(len(members), np.int64), steps)
    stamps = np.full(len(cyclic), -1, np.int64)
    mask = np.uint64(0xAAAAAAAAAAAAAAAA) if stride == 2 else ~np.uint64(0)
    for place in range(begin, len(some)):
        c = some[place]
        if len(bits):
            counts[place] = _set_bits(bits[c], mask)
            continue
        n = walk(c, graph, stamps, c, scratch, found)
        for k in range(n):
            if found[k] % stride == stride - 1:
                counts[place] += 1
        if steps[0] > _LONG:
            return place + 1
    return len(some)


@njit
def _bits_apart(o, c, old_bits, new_bits, words, was, now):
    """List the nodes whose bit only the old component has, and those of the new one alone; returns how many."""
    gone, come = words
    for w in range(len(gone)):
        before = old_bits[o, w] if o >= 0 and w < old_bits.shape[1] else np.uint64(0)
        after = new_bits[c, w] if c >= 0 and w < new_bits.shape[1] else np.uint64(0)
        gone[w] = before & ~after
        come[w] = after & ~before
    return _list_bits(gone, was, int64(0)), _list_bits(come, now, int64(0))


@njit
def _walks_apart(stamp, was, n_was, now, n_now, mark):
    """Drop the nodes that two lists have in common; returns how many each has left.  A node has the stamp once."""
    for k in range(n_was):
        mark[was[k]] = 2 * stamp
    kept_now, kept_was = int64(0), int64(0)
    for k in range(n_now):
        if mark[now[k]] == 2 * stamp:
            mark[now[k]] = 2 * stamp + 1
        else:
            now[kept_now] = now[k]
            kept_now += 1
    for k in range(n_was):
        if mark[was[k]] == 2 * stamp:
            was[kept_was] = was[k]
            kept_was += 1
    return kept_was, kept_now


@njit(
    types.UniTuple(int64, 4)(int64, Groups, Condensed, Condensed, int64, boolean, int64, Pairs, Pairs),
    nogil=True,
    cache=True,
)
def differences(begin, groups, old_graph, new_graph, stride, no_loops, budget, lost, gained):
    """The nodes that the sources of each group reached and no longer do, and those that they newly reach, as pairs.

    A graph has bits for each component, or none, and is walked.  Stops before a group whose pairs do not fit; returns
    that group, the numbers of pairs written to `lost` and `gained`, and the capacity that the group needs.  Gives up,
    with -1 for the group, when it has walked more edges than the budget; if that is negative, it only pauses.
    """
    old, new, source_first, sources = groups
    (old_first, _, _, _), _, old_members, _, old_bits = old_graph
    (new_first, _, _, _), _, new_members, _, new_bits = new_graph
    nodes = max(len(old_members), len(new_members))
    was, now = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    mark = np.full(nodes, -1, np.int64)
    steps = np.zeros(1, np.int64)
    scratch = (np.empty(nodes, np.int64), np.empty(nodes, np.int64), steps)
    old_stamps = np.full(len(old_first), -1, np.int64)
    new_stamps = np.full(len(new_first), -1, np.int64)
    width = max(old_bits.shape[1], new_bits.shape[1])
    words = (np.empty(width, np.uint64), np.empty(width, np.uint64))
    by_bits = (len(old_bits) > 0 or len(old_first) == 1) and (len(new_bits) > 0 or len(new_first) == 1)
    n_lost, n_gained = int64(0), int64(0)
    for g in range(begin, len(old)):
        if by_bits:
            n_was, n_now = _bits_apart(old[g], new[g], old_bits, new_bits, words, was, now)
        else:
            n_was = walk(old[g], old_graph, old_stamps, g, scratch, was) if old[g] >= 0 else int64(0)
            n_now = walk(new[g], new_graph, new_stamps, g, scratch, now) if new[g] >= 0 else int64(0)
            if 0 <= budget < steps[0]:
                return int64(-1), n_lost, n_gained, int64(0)
            n_was, n_now = _walks_apart(g, was, n_was, now, n_now, mark)
        first, end = source_first[g], source_first[g + 1]
        if n_lost + (end - first) * n_was > len(lost) or n_gained + (end - first) * n_now > len(gained):
            return g, n_lost, n_gained, (end - first) * max(n_was, n_now)
        n_lost = _write(sources, first, end, was, n_was, stride, no_loops, lost, n_lost)
        n_gained = _write(sources, first, end, now, n_now, stride, no_loops, gained, n_gained)
        if steps[0] > _LONG:
            return g + 1, n_lost, n_gained, int64(0)
    return len(old), n_lost, n_gained, int64(0)
