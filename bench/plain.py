"""The right number of facts by the plainest means: sets of tuples, for small sizes only.

It shares no code with holdfast and knows nothing of indexes but dictionaries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from bench.graphs import Facts, Row
from bench.rules import Atom, Different, Rule, Sum, components
from bench.workloads import Workload

Binding = dict[str, int]


def count(workload: Workload, facts: Facts) -> int:
    """How many facts the counted relations have when nothing more follows."""
    known = {name: set(facts.get(name, ())) for name in workload.arities}
    for component in components(workload.rules):
        _complete(known, [rule for rule in workload.rules if rule.head.relation in component], component)
    return sum(len(known[name]) for name in workload.counted)


def _complete(known: Mapping[str, set[Row]], rules: list[Rule], component: tuple[str, ...]) -> None:
    for rule in rules:
        if not rule.inside(component):
            known[rule.head.relation].update(_heads(rule, known))
    fresh = {name: set(known[name]) for name in component}
    while any(fresh.values()):
        found = {name: set[Row]() for name in component}
        for rule in rules:
            for place in rule.inside(component):
                found[rule.head.relation].update(_heads(rule, known, place, fresh))
        fresh = {name: rows - known[name] for name, rows in found.items()}
        for name, rows in fresh.items():
            known[name].update(rows)


def _heads(
    rule: Rule, known: Mapping[str, set[Row]], place: int = -1, fresh: Mapping[str, set[Row]] | None = None
) -> Iterator[Row]:
    """What a rule gives; the atom at one place, which goes first, reads only the fresh facts."""
    order = sorted(range(len(rule.atoms)), key=lambda number: number != place)
    bindings: Iterable[Binding] = [{}]
    for number in order:
        atom = rule.atoms[number]
        rows = fresh[atom.relation] if fresh is not None and number == place else known[atom.relation]
        bindings = _joined(bindings, atom, rows)
    for binding in bindings:
        if _holds(rule, binding):
            yield tuple(binding[str(name)] for name in rule.head.arguments)


def _joined(bindings: Iterable[Binding], atom: Atom, rows: set[Row]) -> list[Binding]:
    """The bindings, each with every row that fits it."""
    bindings = list(bindings)
    if not bindings:
        return []
    shared = [place for place, term in enumerate(atom.arguments) if isinstance(term, int) or term in bindings[0]]
    index = defaultdict[Row, list[Row]](list)
    for row in rows:
        index[tuple(row[place] for place in shared)].append(row)
    keys = [(term if isinstance(term, int) else None, str(term)) for term in (atom.arguments[p] for p in shared)]
    names = [(str(term), place) for place, term in enumerate(atom.arguments) if place not in shared]
    return [
        {**binding, **{name: row[place] for name, place in names}}
        for binding in bindings
        for row in index.get(tuple(binding[name] if fixed is None else fixed for fixed, name in keys), ())
    ]


def _holds(rule: Rule, binding: Binding) -> bool:
    """Whether the comparisons hold; sums are put into the binding."""
    for literal in rule.body:
        match literal:
            case Different(left, right) if binding[left] == binding[right]:
                return False
            case Sum(result, left, right):
                binding[result] = binding[left] + binding[right]
    return True
