"""Components, the edges between them, and the nodes that each reaches, as bits."""

from __future__ import annotations

import numpy as np

from holdfast.compilation import int64, njit, void
from holdfast.modules.graph_kernels.arguments import ONE, Bits, Edges, Flags, Numbers
from holdfast.modules.graph_kernels.walking import successors

GAINS_BY_NEWER_CPUS = True  # bits are counted in half the time; see docs/decisions/0028-kernels-built-ahead.md


@njit(int64(Numbers, Numbers, Numbers), nogil=True, cache=True)
def components(first, targets, component):
    """Strongly connected components (Tarjan 1972, without recursion); returns their number."""
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


@njit(int64(Numbers, Numbers, Numbers, Numbers, Numbers, Flags, Numbers, Numbers), nogil=True, cache=True)
def condense(first, targets, component, member_first, members, cyclic, between_first, between):
    """The edges between components as rows, without duplicates and unordered; flags components with an edge inside.

    Returns the number of edges.
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


@njit(void(Edges, Numbers, Numbers, Flags, Numbers, Bits), nogil=True, cache=True)
def fill_bits(edges, member_first, members, cyclic, some, bits):
    """For some components, in ascending order, set a bit for each node that their nodes reach.

    The rows of the other components that they reach must be filled already.
    """
    words = bits.shape[1]
    out = np.empty(len(cyclic), np.int64)
    for c in some:
        for w in range(words):
            bits[c, w] = 0
        for k in range(successors(c, edges, out)):
            successor = out[k]
            for w in range(words):
                bits[c, w] |= bits[successor, w]
            for m in range(member_first[successor], member_first[successor + 1]):
                node = members[m]
                bits[c, node >> 6] |= ONE << np.uint64(node & 63)
        if cyclic[c]:
            for m in range(member_first[c], member_first[c + 1]):
                node = members[m]
                bits[c, node >> 6] |= ONE << np.uint64(node & 63)
