"""The order of evaluation: groups of mutually dependent predicates, by plain reachability."""

from __future__ import annotations

from .values import Fact, Tagged

Below = dict[str, set[tuple[str, bool]]]


class UnstratifiedError(Exception):
    """A relation depends on its own negation; a checked program does not get here."""


def reachable(below: Below) -> dict[str, set[str]]:
    reach = {name: {read for read, _ in reads} for name, reads in below.items()}
    size = -1
    while size != (size := sum(map(len, reach.values()))):
        for name, seen in reach.items():
            reach[name] = seen.union(*(reach[other] for other in seen))
    return reach


def strata(below: Below) -> list[set[str]]:
    """Groups of mutually dependent predicates, what they read first."""
    reach = reachable(below)
    groups = {frozenset({name} | {other for other in reach[name] if name in reach[other]}) for name in below}
    for group in groups:
        if any(read in group and closed for name in group for read, closed in below[name]):
            raise UnstratifiedError(sorted(group))

    def height(group: frozenset[str]) -> int:
        return len(group.union(*(reach[name] for name in group)))

    return [set(group) for group in sorted(groups, key=height)]


def equivalence(pairs: set[Fact]) -> set[Fact]:
    """The smallest equivalence with these pairs, over the elements that occur in them."""
    blocks: list[set[Tagged]] = []
    for pair in pairs:
        touched = [block for block in blocks if block & set(pair)]
        blocks = [block for block in blocks if block not in touched] + [set(pair).union(*touched)]
    return {(a, b) for block in blocks for a in block for b in block}
