"""Recursion through `min` and `max`: how far derived facts can be relied on while they still improve.

An *offer* is the head of an instance of a limit relation's rule, or an explicit fact; it is *tight* if it is the
group's fact.  A deletion may look at tight instances only (`maintenance/limits.py`) if every fact has a proof of tight
instances alone.  That holds in two regimes, which `regime` infers from the rules and from signs of numbers in the data:

- *levelled*: all relations are limits in one direction, and no offer is better than a value that it is computed from.
  No fact of such a proof is on a worse level than what it proves.
- *strict*: integers only; every offer changes with each value that it is computed from.

In all other programs that the checker accepts, facts may support each other although what they came from is gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from holdfast.program.model import Atom, Limit, Rule, Term, Var
from holdfast.program.movement import (
    ANYTHING,
    Interval,
    compared_bounds,
    definitions,
    expanded,
    growth,
    interval,
    is_added,
    is_strict,
)
from holdfast.quick_dataclass import dataclass
from holdfast.values import Type

Smallest = Callable[[str, int], float]
"""Returns a lower bound of the numbers in a column."""
_NUMERIC = (Type.NUMBER, Type.UNSIGNED, Type.FLOAT)
_NATURAL = {"min": "up", "max": "down"}


@dataclass(frozen=True)
class Regime:
    """The properties of a hyper-node that maintenance may rely on.

    `below` says how the level of a fact that proves another compares with the other's, if levels distinguish them.
    """

    tight: bool  # every fact has a proof of tight instances
    below: str | None = None  # < or >
    best_first: bool = False  # a fact derived from a value is never better than it
    additive: bool = False  # every offer is a value plus something: a proof longer than the number of groups never ends
    why: str = ""
    levelled: bool = False  # no offer is better than a value that it is computed from
    climbs: bool = False  # each offer is worse than every value that it is computed from


@dataclass(frozen=True)
class _Offer:
    """A rule's offer: its term, and the values of the hyper-node that its body reads (None: an unnamed one)."""

    rule: Rule
    term: Term
    values: tuple[Var | None, ...]


def regime(
    rules: Sequence[Rule], limits: Mapping[str, Limit], predicates: Iterable[str], smallest: Smallest | None = None
) -> Regime:
    """The regime of a hyper-node's rules; without `smallest`, from the program alone."""
    own = frozenset(predicates)
    recursive = [offer for rule in rules if (offer := _offer(rule, limits, own)) is not None and _reads(rule, own)]
    if not any(_reads(rule, own) for rule in rules):
        return Regime(tight=True, why="not recursive")
    plain = own - limits.keys()
    if plain:
        return Regime(tight=False, why=f"{min(plain)} is no limit relation")
    functions = {limit.function for limit in limits.values()}
    least = smallest or _unknown
    directions, strict = _directions(recursive, rules, limits, own, least), _is_strict(recursive)
    function = min(functions)
    additive = len(functions) == 1 and all(_is_additive(offer) for offer in recursive)
    if len(functions) == 1 and _NATURAL[function] in directions and _same_type(rules, limits):
        numeric = all(offer.term.type in _NUMERIC for offer in recursive)
        nearer = "<" if function == "min" else ">"
        why, climbs = "no offer is better than what it is made of", _climbs(recursive, rules, limits, own, least)
        return Regime(True, nearer, numeric, additive, why, levelled=True, climbs=climbs)
    if strict:
        below = next((sign for way, sign in (("up", "<"), ("down", ">")) if way in directions), None)
        return Regime(
            True, below if len(functions) == 1 else None, False, additive, "every offer moves with its values"
        )
    return Regime(False, additive=additive, why="an offer may be better than what it is made of")


def _unknown(predicate: str, column: int) -> float:
    return -math.inf


def _reads(rule: Rule, own: frozenset[str]) -> bool:
    return any(isinstance(literal, Atom) and literal.predicate in own for literal in rule.body)


def value_of(atom: Atom, limits: Mapping[str, Limit]) -> Var | None:
    """The variable in an atom's limit column."""
    argument = atom.arguments[limits[atom.predicate].column]
    return argument if isinstance(argument, Var) else None


def _offer(rule: Rule, limits: Mapping[str, Limit], own: frozenset[str]) -> _Offer | None:
    if rule.limit is None:
        return None
    atoms = [a for a in rule.body if isinstance(a, Atom) and a.predicate in own and a.predicate in limits]
    term = expanded(rule.arguments[rule.limit.column], definitions(rule))
    return _Offer(rule, term, tuple(value_of(atom, limits) for atom in atoms))


def _same_type(rules: Sequence[Rule], limits: Mapping[str, Limit]) -> bool:
    types = {rule.arguments[rule.limit.column].type for rule in rules if rule.limit is not None}
    return len(types) == 1


def _is_strict(offers: Iterable[_Offer]) -> bool:
    return all(v is not None and is_strict(offer.term, v) for offer in offers for v in offer.values)


def _is_additive(offer: _Offer) -> bool:
    return all(v is not None and is_added(offer.term, v) for v in offer.values)


def _directions(
    recursive: Sequence[_Offer],
    rules: Sequence[Rule],
    limits: Mapping[str, Limit],
    own: frozenset[str],
    smallest: Smallest,
) -> frozenset[str]:
    """`up` if no offer is below a value that it is computed from, `down` if none is above."""
    values = _own_values(rules, limits, own, smallest)
    found = frozenset(("up", "down"))
    for offer in recursive:
        known = _intervals(offer.rule, limits, own, smallest, values)
        for v in offer.values:
            found &= frozenset() if v is None else growth(offer.term, v, known)
    return found


def _climbs(
    recursive: Sequence[_Offer],
    rules: Sequence[Rule],
    limits: Mapping[str, Limit],
    own: frozenset[str],
    smallest: Smallest,
) -> bool:
    """Whether each offer is an integer above (under `max` below) every value that it is computed from."""
    values = _own_values(rules, limits, own, smallest)
    for offer in recursive:
        known = _intervals(offer.rule, limits, own, smallest, values)
        for v in offer.values:
            if v is None or offer.term.type is Type.FLOAT or not is_added(offer.term, v):
                return False
            low, high = interval(offer.term, {**known, v: (0.0, 0.0)})
            if not (low > 0 if limits[offer.rule.predicate].function == "min" else high < 0):
                return False
    return True


def _own_values(
    rules: Sequence[Rule], limits: Mapping[str, Limit], own: frozenset[str], smallest: Smallest
) -> Interval:
    """The range of the hyper-node's values: at least 0 if no fact is below 0, nor, assuming this range, any offer."""
    supposed = (0.0, math.inf)
    if any(smallest(name, limit.column) < 0 for name, limit in limits.items()):
        return ANYTHING
    for rule in rules:
        offer = _offer(rule, limits, own)
        known = _intervals(rule, limits, own, smallest, supposed)
        if offer is not None and interval(offer.term, known)[0] < 0:
            return ANYTHING
    return supposed


def _intervals(
    rule: Rule, limits: Mapping[str, Limit], own: frozenset[str], smallest: Smallest, values: Interval
) -> dict[Var, Interval]:
    """The ranges of a rule's variables, from comparisons, the data, and, for values of the hyper-node, `values`."""
    found = compared_bounds(rule)
    for variable, predicate, column in _places(rule):
        low, high = found.get(variable, ANYTHING)
        if predicate in own:
            more = values if predicate in limits and limits[predicate].column == column else ANYTHING
        else:
            more = _at_least(smallest(predicate, column), variable.type)
        found[variable] = max(low, more[0]), min(high, more[1])
    return found


def _at_least(code: float, type: Type) -> Interval:
    """The range of a column's numbers, given its least code: of a float, a code only tells the sign."""
    if type is Type.FLOAT:
        return (0.0 if code >= 0 else -math.inf), math.inf
    return (code, math.inf) if type is Type.NUMBER else ANYTHING


def _places(rule: Rule) -> Iterator[tuple[Var, str, int]]:
    for atom in rule.body:
        if isinstance(atom, Atom):
            for column, argument in enumerate(atom.arguments):
                if isinstance(argument, Var):
                    yield argument, atom.predicate, column
