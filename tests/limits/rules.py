"""Rules over limit relations as plain data: written as text for the engine, evaluated by `naive` for the truth.

Nothing here uses the engine.  `naive` applies all rules to everything and keeps the best of each group, until nothing
changes: no deltas, no regimes, no ranks.  What it cannot catch: a meaning that this page and the checker share wrongly;
`test_meaning.py` compares with programs without recursion through min, and with clingo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

Fact = tuple[int, ...]
World = dict[str, set[Fact]]
Binding = dict[str, int]


@dataclass(frozen=True)
class Term:
    """A variable (`name`), a number, or an operator on terms."""

    name: str = ""
    number: int = 0
    operator: str = ""
    parts: tuple[Term, ...] = ()

    def __str__(self) -> str:
        if self.operator in ("min", "max"):
            return f"{self.operator}({', '.join(map(str, self.parts))})"
        if self.operator:
            left, right = (f"({part})" if part.operator in ("+", "-", "*") else str(part) for part in self.parts)
            return f"{left} {self.operator} {right}"
        return self.name or str(self.number)

    def value(self, binding: Binding) -> int:
        if self.operator:
            return OPERATORS[self.operator](*(part.value(binding) for part in self.parts))
        return binding[self.name] if self.name else self.number


OPERATORS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "min": min, "max": max}
COMPARE = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "!=": int.__ne__, "=": int.__eq__}


def var(name: str) -> Term:
    return Term(name=name)


def num(number: int) -> Term:
    return Term(number=number)


def op(operator: str, *parts: Term) -> Term:
    return Term(operator=operator, parts=parts)


@dataclass(frozen=True)
class Lit:
    """An atom, perhaps negated, or a comparison; `_` is an argument that may be anything."""

    predicate: str = ""
    arguments: tuple[str, ...] = ()
    negated: bool = False
    compare: tuple[Term, str, Term] | None = None

    def __str__(self) -> str:
        if self.compare is not None:
            left, operator, right = self.compare
            return f"{left} {operator} {right}"
        return f"{'!' if self.negated else ''}{self.predicate}({', '.join(self.arguments)})"


@dataclass(frozen=True)
class Rule:
    """`limit` is (column, min or max)."""

    predicate: str
    arguments: tuple[Term, ...]
    body: tuple[Lit, ...]
    limit: tuple[int, str] | None = None

    def __str__(self) -> str:
        shown = [
            f"{self.limit[1]}({term})" if self.limit and self.limit[0] == column else str(term)
            for column, term in enumerate(self.arguments)
        ]
        return f"{self.predicate}({', '.join(shown)}) :- {', '.join(map(str, self.body))}."


class NoEnd(Exception):
    """The naive evaluation does not come to an end."""


def naive(rules: Sequence[Rule], explicit: Mapping[str, set[Fact]], most: int = 150) -> World:
    """The least model: facts of all relations, one for each group of a limit relation."""
    limits = {rule.predicate: rule.limit for rule in rules}
    world: World = {name: set(facts) for name, facts in explicit.items()}
    for stratum in strata(rules):
        here = [rule for rule in rules if rule.predicate in stratum]
        for _ in range(most):
            new = {name: set(explicit.get(name, ())) | world.get(name, set()) for name in stratum}
            for rule in here:
                new[rule.predicate] |= set(heads(rule, world))
            new = {name: best(facts, limits[name]) for name, facts in new.items()}
            if all(new[name] == world.get(name, set()) for name in stratum):
                break
            world |= new
        else:
            raise NoEnd
        world |= {name: best(world.get(name, set()), limits[name]) for name in stratum}
    return {name: facts for name, facts in world.items() if facts}


def best(facts: set[Fact], limit: tuple[int, str] | None) -> set[Fact]:
    if limit is None:
        return facts
    column, function = limit
    found: dict[Fact, int] = {}
    for fact in facts:
        key, value = fact[:column] + fact[column + 1 :], fact[column]
        found[key] = value if key not in found else OPERATORS[function](found[key], value)
    return {(*key[:column], value, *key[column:]) for key, value in found.items()}


def heads(rule: Rule, world: World) -> Iterator[Fact]:
    for binding in bindings(rule.body, world, {}):
        yield tuple(term.value(binding) for term in rule.arguments)


def bindings(body: Sequence[Lit], world: World, binding: Binding) -> Iterator[Binding]:
    """Atoms in their order, then comparisons and negated atoms."""
    atoms = [literal for literal in body if literal.predicate and not literal.negated]
    tests = [literal for literal in body if not literal.predicate or literal.negated]
    yield from (found for found in _atoms(atoms, world, binding) if all(_holds(test, found, world) for test in tests))


def _atoms(atoms: Sequence[Lit], world: World, binding: Binding) -> Iterator[Binding]:
    if not atoms:
        yield binding
        return
    for fact in world.get(atoms[0].predicate, ()):
        extended = _agrees(atoms[0], fact, binding)
        if extended is not None:
            yield from _atoms(atoms[1:], world, extended)


def _agrees(atom: Lit, fact: Fact, binding: Binding) -> Binding | None:
    extended = dict(binding)
    for argument, value in zip(atom.arguments, fact, strict=True):
        if argument == "_":
            continue
        known = int(argument) if argument.lstrip("-").isdigit() else extended.setdefault(argument, value)
        if known != value:
            return None
    return extended


def _holds(test: Lit, binding: Binding, world: World) -> bool:
    if test.compare is not None:
        left, operator, right = test.compare
        return bool(COMPARE[operator](left.value(binding), right.value(binding)))
    return not any(_agrees(test, fact, binding) is not None for fact in world.get(test.predicate, ()))


def strata(rules: Sequence[Rule]) -> list[set[str]]:
    """The relations that rules derive, those that depend on each other together, in an order of evaluation."""
    derived = {rule.predicate for rule in rules}
    reach = {(r.predicate, lit.predicate) for r in rules for lit in r.body if lit.predicate in derived}
    for middle, one, other in product(sorted(derived), repeat=3):
        if (one, middle) in reach and (middle, other) in reach:
            reach.add((one, other))
    found: list[set[str]] = []
    left = set(derived)
    while left:
        for name in sorted(left):
            group = {name} | {o for o in left if (name, o) in reach and (o, name) in reach}
            if not any((member, other) in reach for member in group for other in left - group):
                found.append(group)
                left -= group
                break
    return found
