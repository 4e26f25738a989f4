"""Reflexive-transitive closure and equivalence: closures with `R(x, x) :- R(x, _)` or `R(x, x) :- R(_, x)`.

A relation declared `eqrel` has the rules of an equivalence, and so has owl:sameAs in OWL 2 RL (eq-ref, eq-sym,
eq-trans).  Neither the framework nor the other modules know of this file: it only states which shapes belong together.
"""

from __future__ import annotations

from holdfast.modules.closure import Closure
from holdfast.program.patterns import Shape

_REFLEXIVE = frozenset({Shape.REFLEXIVE_SOURCE, Shape.REFLEXIVE_TARGET})


class ReflexiveTransitiveClosure(Closure):
    """Reachability in a graph, in zero or more steps."""

    name = "reflexive-transitive-closure"
    about = "what reaches what, in any number of steps"
    wanted = (frozenset({Shape.TRANSITIVE}), _REFLEXIVE)


class Equivalence(Closure):
    """Classes of equal values."""

    name = "equivalence"
    about = "what is equal to what: reflexive, symmetric and transitive"
    wanted = (frozenset({Shape.TRANSITIVE}), frozenset({Shape.SYMMETRIC}), _REFLEXIVE)
