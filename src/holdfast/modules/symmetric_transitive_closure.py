"""Symmetric-transitive closure: `R(x, z) :- R(x, y), R(y, z)` and `R(y, x) :- R(x, y)` (the paper's section 6).

It has all pairs of each connected component.  If edges are taken both ways, strongly connected components are the
connected ones, so this is the transitive closure of another graph.
"""

from __future__ import annotations

from holdfast.modules.closure import Closure
from holdfast.program.patterns import Shape


class SymmetricTransitiveClosure(Closure):
    """Connectivity in an undirected graph."""

    name = "symmetric-transitive-closure"
    about = "what is connected with what"
    wanted = (frozenset({Shape.TRANSITIVE}), frozenset({Shape.SYMMETRIC}))
    steps = True
