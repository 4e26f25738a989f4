"""Why a fact does not hold: where each rule fails, the nearest facts, and a certificate that can be checked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import Any, Protocol

from holdfast.errors import LimitReached
from holdfast.explanations.matching import ANY, Binding, Fact, FactPattern, Matcher, RuleHead, formulas
from holdfast.explanations.proof import Complete, ProofStep, complete_json, fact_text
from holdfast.explanations.scope import has_wildcard, variables
from holdfast.explanations.terms import NoValue, text_of
from holdfast.language import tree
from holdfast.language.printer import show_formula, show_rule
from holdfast.quick_dataclass import dataclass

NEAREST = 3
"""How many nearest facts are shown."""
_DEEPEST = 3
_LOOKED_AT = 200  # ways to satisfy a part of a body, of which the first failing one is shown


@dataclass(frozen=True, eq=False)
class Obstacle:
    """Where a rule fails: how many conditions of its body hold, in how many ways, and which one fails then."""

    rule_name: str
    rule: str
    held: int
    conditions: int
    ways: int
    fails: str
    nearest: tuple[str, ...] = ()
    missing: Fact | None = None  # the pattern that has no facts, if it is that


@dataclass(frozen=True, eq=False)
class Absence:
    """No fact fits a pattern.  `str()` says why; `to_json()` is a certificate that `check_proof` checks."""

    goal: Fact
    obstacles: dict[Fact, tuple[Obstacle, ...]]  # of the goal, and of what is missing for it
    nearest: tuple[str, ...]
    inferences: tuple[ProofStep, ...]
    complete: tuple[Complete, ...]
    limit: LimitReached | None = None  # what stopped the search for a certificate

    def to_json(self, **options: Any) -> str:
        """As JSON, whole: what `holdfast.check_proof` checks.  Raises `LimitReached` if no certificate was found."""
        return json.dumps(self.as_json(), ensure_ascii=False, **options)

    def as_json(self) -> dict[str, Any]:
        """What `to_json` writes."""
        if self.limit is not None:
            raise self.limit
        return {
            "absent": fact_text(self.goal),
            "inferences": [inference.to_json() for inference in self.inferences],
            "complete": complete_json(self.complete),
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return f"<absence of {fact_text(self.goal)}: {len(self.obstacles[self.goal])} rules fail>"

    def _lines(self) -> Iterator[str]:
        several = ANY in self.goal[1]
        yield f"no fact {fact_text(self.goal)} holds" if several else f"{fact_text(self.goal)} does not hold"
        if self.nearest:
            yield f"  nearest: {', '.join(self.nearest)}"
        yield from self._rules(self.goal, "  ", {self.goal})

    def _rules(self, goal: Fact, indent: str, seen: set[Fact]) -> Iterator[str]:
        if not self.obstacles.get(goal):
            yield f"{indent}it was not given, and no rule could derive it"
        for each in self.obstacles.get(goal, ()):
            yield f"{indent}{each.rule_name}: {each.rule}"
            ways = f", in {each.ways:,} way{'s' if each.ways > 1 else ''}" if each.held else ""
            before = f"{each.held} of {each.conditions} conditions hold{ways}, but " if each.held else ""
            yield f"{indent}  {before}{each.fails}"
            if each.nearest:
                yield f"{indent}  nearest: {', '.join(each.nearest)}"
            below = each.missing
            if below is not None and below in self.obstacles and below not in seen:
                seen.add(below)
                yield f"{indent}  why no {fact_text(below)}:"
                yield from self._rules(below, indent + "    ", seen)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


class _Valued(Protocol):
    def value(self, term: tree.Term, b: Binding) -> Any: ...


def reasons(source: Matcher, goal: Fact) -> dict[Fact, tuple[Obstacle, ...]]:
    """Where the rules for a fact fail, and the rules for what they miss, breadth first."""
    found: dict[Fact, tuple[Obstacle, ...]] = {}
    level = [goal]
    for _ in range(_DEEPEST):
        for fact in level:
            rules = source.heads.get((fact[0], len(fact[1])), ())
            found[fact] = tuple(filter(None, (obstacle(source, rule, fact[1]) for rule in rules)))
        missing = [each.missing for fact in level for each in found[fact] if each.missing is not None]
        level = [m for m in dict.fromkeys(missing) if m not in found and (m[0], len(m[1])) in source.heads]
    return found


def obstacle(source: Matcher, rule: RuleHead, pattern: FactPattern) -> Obstacle | None:
    """Where one rule fails; None if its head does not even fit."""
    start = source.started(rule.head, pattern, {})
    if start is None:
        return None
    given, waiting, held = [start[0]], [*formulas(rule.body), *start[1]], 0
    total, text = len(waiting), show_rule(tree.Rule(rule.rule.heads, rule.rule.body, span=rule.rule.span))
    outside = variables(rule.head)
    while waiting:
        item = source.next_formula(waiting, frozenset(given[0]), frozenset())
        waiting.remove(item)
        ways = len(given)
        try:
            given_now = _alike(source.solve(item, given[:_LOOKED_AT], frozenset(), outside))
        except NoValue as error:
            return Obstacle(rule.name, text, held, total, ways, str(error))
        if not given_now:
            fails, nearest, missing = _failure(source, item, given)
            return Obstacle(rule.name, text, held, total, ways, fails, nearest, missing)
        given, held = given_now, held + 1
    return Obstacle(rule.name, text, held, total, len(given), "its aggregates have other values")


def _alike(found: list[Binding]) -> list[Binding]:
    """Those that bind the same variables as the first."""
    return [b for b in found if b.keys() == found[0].keys()] if found else []


def _failure(source: Matcher, item: tree.Formula, given: list[Binding]) -> tuple[str, tuple[str, ...], Fact | None]:
    b = given[0]
    values = ", ".join(f"{name} = {text_of(b[name])}" for name in sorted(variables(item)) if name in b)
    match item:
        case tree.Atom() if (pattern := known_pattern(source, item, b)) is not None:
            missing = source.name(item.name), pattern
            some = [p for other in given[:NEAREST] if (p := known_pattern(source, item, other)) is not None]
            near = nearest(source, missing[0], some)
            return f"there is no {fact_text(missing)}", near, missing
        case tree.Negation(operand=tree.Atom() as atom) if (pattern := known_pattern(source, atom, b)) is not None:
            name = source.name(atom.name)
            row = next(iter(next(iter(source.lookup(name, [pattern], True)))), pattern)
            return f"{fact_text((name, row))} holds, and the rule wants that it does not", (), None
    return f"{show_formula(item)} fails" + (f" with {values}" if values else ""), (), None


def known_pattern(source: _Valued, atom: tree.Atom, b: Binding) -> FactPattern | None:
    """What is known of an atom under a binding."""
    try:
        return tuple(
            ANY if has_wildcard(a) or not variables(a) <= b.keys() else source.value(a, b) for a in atom.arguments
        )
    except NoValue:
        return None


def nearest(source: Matcher, name: str, patterns: Sequence[FactPattern]) -> tuple[str, ...]:
    """The facts that differ from patterns in one column, the most similar values first."""
    found: dict[FactPattern, float] = {}
    for pattern in patterns:
        for place, value in enumerate(pattern):
            if value is ANY:
                continue
            wider = (*pattern[:place], ANY, *pattern[place + 1 :])
            for row in islice(next(iter(source.lookup(name, [wider], False))), 1000):
                found[row] = max(found.get(row, 0.0), _likeness(row[place], value))
    best = sorted(found, key=lambda row: (-found[row], str(row)))
    return tuple(fact_text((name, row)) for row in best[:NEAREST])


def _likeness(one: Any, other: Any) -> float:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return 1 / (1 + abs(float(one) - float(other)))
    return SequenceMatcher(None, str(one), str(other)).ratio()
