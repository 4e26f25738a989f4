"""Transitive closure: `R(x, z) :- R(x, y), R(y, z)`, and alone in its hyper-node also steps over other relations.

The paper's section 5.  An edge is external when a counter says so, so no set X is needed.
"""

from __future__ import annotations

from holdfast.modules.closure import Closure
from holdfast.program.patterns import Shape


class TransitiveClosure(Closure):
    """Reachability in a directed graph."""

    name = "transitive-closure"
    about = "what reaches what, in one or more steps"
    wanted = (frozenset({Shape.TRANSITIVE}),)
    steps = True
