"""Walks along edges: reachability, detours, and the nodes that a component reaches."""

from __future__ import annotations

import numpy as np

from holdfast.compilation import int64, njit, void
from holdfast.modules.graph_kernels.arguments import Edges, Flags, Numbers

GAINS_BY_NEWER_CPUS = True  # bits are counted in half the time; see docs/decisions/0028-kernels-built-ahead.md


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
def successors(node, edges, out):
    """List the successors of a node; returns how many."""
    first, targets, came, went = edges
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


@njit(void(Edges, Numbers, Flags), nogil=True, cache=True)
def reach(edges, starts, seen):
    """Flag all nodes that can be reached from the start nodes, which are included."""
    nodes = len(edges[0]) - 1
    waiting = np.empty(nodes, np.int64)
    out = np.empty(nodes, np.int64)
    count = int64(0)
    for start in starts:
        if not seen[start]:
            seen[start] = 1
            waiting[count] = start
            count += 1
    while count:
        count -= 1
        for k in range(successors(waiting[count], edges, out)):
            if not seen[out[k]]:
                seen[out[k]] = 1
                waiting[count] = out[k]
                count += 1


@njit(void(Edges, Numbers, Numbers, int64, Flags), nogil=True, cache=True)
def detours(edges, starts, ends, budget, found):
    """For each pair of nodes, whether the second can be reached from the first by at least one edge.

    When the budget of steps is used up, the other pairs stay at no; a negative budget is unlimited.
    """
    nodes = len(edges[0]) - 1
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
            steps = successors(node, edges, out)
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


@njit
def walk(c, graph, stamps, stamp, scratch, found):
    """List the nodes that a component's nodes reach; returns how many.

    `scratch` has two arrays with a place for each node, and a number of steps, to which those of this walk are added.
    A component that was reached has the stamp.
    """
    edges, member_first, members, cyclic, _ = graph
    waiting, out, steps = scratch
    count, n = int64(0), int64(0)
    if cyclic[c]:
        for m in range(member_first[c], member_first[c + 1]):
            found[n] = members[m]
            n += 1
    here = c
    while True:
        degree = successors(here, edges, out)
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
