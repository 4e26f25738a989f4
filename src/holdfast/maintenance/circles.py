"""Recursion through `min` and `max` that does not terminate: finds the cycle of facts that improves a value each time.

A fact added in one round has a premise among those added in the round before.  Going back from premise to premise for
more rounds than there are groups meets a group twice, with a better value the second time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from holdfast.backends.protocol import Backend, Facts
from holdfast.errors import Diagnostic, EvaluationError
from holdfast.plans import Planner, Read
from holdfast.program.model import Rule
from holdfast.values.dictionary import Codes

_LONGEST = 200  # rounds that are kept for going back
_SHOWN = 8  # facts of a cycle
_FALLS = {"min": "smaller", "max": "larger"}
_Row = tuple[str, Codes]
"""A predicate and one of its rows."""


def codes_of(backend: Backend, predicate: str, facts: Facts) -> Codes:
    """The rows of some facts of a predicate."""
    rows = backend.rows(predicate, facts)
    return rows if isinstance(rows, np.ndarray) else rows.codes()


class History:
    """The facts added in the last rounds."""

    def __init__(self, planner: Planner, backend: Backend) -> None:
        self._planner, self._backend, self._limits = planner, backend, planner.node.limits
        self._rounds: deque[Facts] = deque(maxlen=_LONGEST)

    def came(self, Δ: Facts) -> None:
        """Record the facts added in one round."""
        self._rounds.append(Δ)

    def endless(self, J: Facts, rules: Sequence[Rule]) -> EvaluationError:
        """The error for a recursion that is still adding facts after the last allowed round."""
        first = min(self._rows(self._rounds[-1]), key=self._shown)
        circle = self._circle(first, J, rules)
        first = circle[0] if circle else first
        limit = self._limits[first[0]]
        way = f"each time round {self._path(circle)}" if circle else "along a cycle of facts"
        note = f"{way} the rules add up to a better value; nothing has changed"
        help = "correct the facts, or exclude those that form such a cycle"
        span = next(rule.span for rule in rules if rule.predicate == first[0])
        message = f"{self._shown(first)} gets {_FALLS[limit.function]} forever"
        return EvaluationError(Diagnostic("E0704", message, span, notes=(note,), help=help))

    def _rows(self, facts: Facts) -> list[_Row]:
        names = [name for name, size in facts.sizes().items() if size and name in self._limits]
        return [(name, row) for name in names for row in codes_of(self._backend, name, facts)]

    def _facts(self, rows: Sequence[_Row]) -> Facts:
        names = dict.fromkeys(name for name, _ in rows)
        return self._backend.facts({name: np.stack([row for other, row in rows if other == name]) for name in names})

    def _circle(self, last: _Row, J: Facts, rules: Sequence[Rule]) -> list[_Row]:
        """Facts each of which is a premise of the next, and the last of the first; empty if the cycle is too long."""
        chain, met = [last], {self._shown(last): 0}
        for Δ in list(self._rounds)[-2::-1]:
            ground = self._ground(chain[-1], self._rows(Δ), J, rules)
            if ground is None:
                return []
            if self._shown(ground) in met:
                found = chain[met[self._shown(ground)] :][::-1]
                start = min(range(len(found)), key=lambda place: self._shown(found[place]))
                return found[start:] + found[:start]
            met[self._shown(ground)] = len(chain)
            chain.append(ground)
        return []

    def _ground(self, fact: _Row, among: Sequence[_Row], J: Facts, rules: Sequence[Rule]) -> _Row | None:
        """A fact among these that derives another, by bisection; None is possible where rules read two values."""
        wanted = self._facts([fact])
        if not self._derives(among, wanted, J, rules):
            return None
        while len(among) > 1:
            half = among[: len(among) // 2]
            among = half if self._derives(half, wanted, J, rules) else among[len(half) :]
        return among[0]

    def _derives(self, rows: Sequence[_Row], wanted: Facts, J: Facts, rules: Sequence[Rule]) -> bool:
        Δ = self._facts(rows)
        sources = {Read.ALL: J, Read.OLD: J - Δ, Read.DELTA: Δ, Read.ABSENT: J}
        return bool(self._backend.apply(self._planner.recursive(Δ.sizes(), rules), sources).support() & wanted)

    def _shown(self, fact: _Row) -> str:
        """The fact's group as text."""
        name, row = fact
        relation, column = self._backend.relations[name], self._limits[name].column
        [values] = self._backend.dictionary.decode_rows(row[np.newaxis], relation.types)
        parts = ["_" if place == column else str(value) for place, value in enumerate(values)]
        return f"{relation.display}({', '.join(parts)})"

    def _path(self, circle: Sequence[_Row]) -> str:
        names = [self._shown(fact) for fact in circle]
        middle = names[:_SHOWN] + ([f"… ({len(names) - _SHOWN} more)"] if len(names) > _SHOWN else [])
        return " -> ".join([*middle, names[0]])
