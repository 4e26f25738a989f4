"""Recursion that cannot be circular, because each derivation increases a number, or each decreases it.

Then no fact can support itself, so a fact that has a derivation left is still true: with counters, a deletion needs no
overdeletion (`maintenance/dred_counting.py`).  Path lengths, distances and levels are examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from holdfast.program.model import Apply, Assign, Atom, Compare, Const, Rule, Term, Var
from holdfast.quick_dataclass import dataclass
from holdfast.values import Type

_MOST = 64  # try this number of choices of columns


@dataclass(frozen=True)
class Rank:
    """A column of each predicate that every recursive derivation moves in one direction.

    That holds if the columns of `positive`, given by predicate and number, hold positive numbers only.
    """

    columns: Mapping[str, int]
    grows: bool
    positive: frozenset[tuple[str, int]]


def ranks(rules: Sequence[Rule], predicates: Iterable[str]) -> Iterator[Rank]:
    """The ranks of some recursive rules of a hyper-node."""
    own = frozenset(predicates)
    heads = sorted({rule.predicate for rule in rules})
    choices = [
        [column for column, term in enumerate(_head(rules, name).arguments) if term.type is Type.NUMBER]
        for name in heads
    ]
    for number, columns in enumerate(product(*choices)):
        if number == _MOST:
            return
        chosen = dict(zip(heads, columns, strict=True))
        for grows in (True, False):
            needed = [_needed(rule, own, chosen, grows) for rule in rules]
            found = [positive for positive in needed if positive is not None]
            if found and len(found) == len(needed):
                yield Rank(chosen, grows, frozenset().union(*found))


def _head(rules: Iterable[Rule], predicate: str) -> Rule:
    return next(rule for rule in rules if rule.predicate == predicate)


def _needed(rule: Rule, own: frozenset[str], columns: Mapping[str, int], grows: bool) -> set[tuple[str, int]] | None:
    """The columns that must be positive for the head to be beyond each fact of its hyper-node in the body, or None."""
    head, needed = rule.arguments[columns[rule.predicate]], set[tuple[str, int]]()
    for atom in rule.body:
        if isinstance(atom, Atom) and atom.predicate in own:
            if atom.predicate not in columns:  # only nonrecursive rules derive it
                continue
            given = atom.arguments[columns[atom.predicate]]
            steps = _steps(rule, head, given, grows) if isinstance(given, Var) else None
            if steps is None:
                return None
            needed |= steps
    return needed


def _steps(rule: Rule, head: Term, given: Var, grows: bool) -> set[tuple[str, int]] | None:
    """The columns that must be positive for the head's number to be beyond a given one; None if none suffice."""
    beyond = {("<", given, head), (">", head, given)} if grows else {(">", given, head), ("<", head, given)}
    if any(isinstance(test, Compare) and (test.operator, test.left, test.right) in beyond for test in rule.body):
        return set()
    terms = [head, *(known.term for known in rule.body if isinstance(known, Assign) and known.variable == head)]
    for term in terms:
        match term:
            case Apply(function="+", arguments=(left, right)) if grows and given in (left, right):
                return _positive(rule, right if left == given else left)
            case Apply(function="-", arguments=(left, right)) if not grows and left == given:
                return _positive(rule, right)
    return None


def _positive(rule: Rule, step: Term) -> set[tuple[str, int]] | None:
    """The columns that a step, which must be positive, comes from."""
    match step:
        case Const(value=int(value)):
            return set() if value > 0 else None
        case Var():
            if any(isinstance(test, Compare) and test.left == step and _is_positive_bound(test) for test in rule.body):
                return set()
            places = (
                (atom.predicate, column)
                for atom in rule.body
                if isinstance(atom, Atom)
                for column, argument in enumerate(atom.arguments)
                if argument == step
            )
            place = next(places, None)
            return None if place is None else {place}
    return None


def _is_positive_bound(comparison: Compare) -> bool:
    bound = comparison.right
    if not isinstance(bound, Const) or not isinstance(bound.value, int):
        return False
    return (comparison.operator == ">" and bound.value >= 0) or (comparison.operator == ">=" and bound.value > 0)
