"""Tracks which literals can run as variables are bound: each variable is visited once for each of its literals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.plans.literals import needs
from holdfast.program.model import BodyLiteral, Var


class Readiness:
    """Literals by their positions; those that need nothing are `ready` from the start."""

    def __init__(self, literals: Mapping[int, BodyLiteral]) -> None:
        self._missing: dict[int, int] = {}
        self._readers: dict[Var, list[int]] = {}
        for position, literal in literals.items():
            wanted, count = needs(literal)
            self._missing[position] = count
            for variable in wanted:
                self._readers.setdefault(variable, []).append(position)
        self.ready = [position for position, count in self._missing.items() if not count]

    def bind(self, variables: Iterable[Var]) -> list[int]:
        """Bind new variables; returns the literals that can run now and could not before."""
        found = []
        for variable in variables:
            for position in self._readers.get(variable, ()):
                self._missing[position] -= 1
                if not self._missing[position]:
                    found.append(position)
        return found


class BoundVariables:
    """Bound variables, including those that literals compute from them."""

    def __init__(self, literals: Mapping[int, BodyLiteral], variables: Mapping[int, set[Var]]) -> None:
        self.bound: set[Var] = set()
        self._readiness, self._variables = Readiness(literals), variables
        for position in self._readiness.ready:
            self.add(variables[position])

    def add(self, variables: Iterable[Var]) -> set[Var]:
        """Bind variables; returns all that have become bound."""
        new, waiting = set[Var](), [set(variables)]
        while waiting:
            fresh = waiting.pop() - self.bound
            self.bound |= fresh
            new |= fresh
            waiting += [self._variables[position] for position in self._readiness.bind(fresh)]
        return new
