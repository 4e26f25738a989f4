"""Why a fact does not hold: where each rule fails, the nearest facts, and a certificate that can be checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, TypeAlias

from holdfast.explanations.matching import ANY, Binding, Fact, FactPattern, Matcher
from holdfast.explanations.proof import Complete, ProofStep, complete_json, quoted
from holdfast.explanations.scope import bindable_or_attained
from holdfast.explanations.short_names import ShortNames
from holdfast.explanations.terms import NoValue, fact_text, text_of
from holdfast.explanations.written_rules import RuleHead
from holdfast.language import tree
from holdfast.language.printer import show_formula, show_term
from holdfast.language.syntax import conjuncts, has_wildcard, variables
from holdfast.quick_dataclass import dataclass

if TYPE_CHECKING:
    from holdfast.explanations.suspects import Suspect

NEAREST = 3
"""How many nearest facts are shown."""
_NOT_GIVEN = "it was not given, and no rule could derive it"
_COMPARED = 500  # facts with which one is compared
COMPARISON = 50
"""Facts that are matched in the time of comparing two texts."""
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

    def lines(self) -> Iterator[str]:
        """What fails, in words."""
        ways = f", in {self.ways:,} way{'s' if self.ways > 1 else ''}" if self.held else ""
        holds = "holds" if self.held == 1 else "hold"
        before = f"{self.held} of {self.conditions} conditions {holds}{ways}, but " if self.held else ""
        yield f"{before}{self.fails}"
        if self.nearest:
            yield f"nearest: {', '.join(self.nearest)}"


Certificate: TypeAlias = tuple[tuple[ProofStep, ...], tuple[Complete, ...]]
"""Inferences, and patterns with all facts that fit them."""


@dataclass(frozen=True, eq=False)
class Absence:
    """No fact fits a pattern.  `str()` says why; `to_json()` is a certificate that `check_proof` checks."""

    goal: Fact
    obstacles: dict[Fact, tuple[Obstacle, ...]]  # of the goal, and of what is missing for it
    nearest: tuple[str, ...]
    suspects: tuple[Suspect, ...]
    """Likely mistakes, the likeliest first."""
    certificate: Callable[[], Certificate]
    """What shows that it is absent; raises `LimitReached` if the search for that is stopped."""
    names: ShortNames
    """For texts, trees and pictures."""

    def to_json(self, **options: Any) -> str:
        """As JSON, whole: what `holdfast.check_proof` checks.  Raises `LimitReached` if no certificate was found."""
        return json.dumps(self.as_json(), ensure_ascii=False, **options)

    def as_json(self) -> dict[str, Any]:
        """What `to_json` writes."""
        inferences, complete = self.certificate()
        return {
            "absent": fact_text(self.goal),
            "inferences": [inference.to_json() for inference in inferences],
            "complete": complete_json(complete),
            "suspects": [suspect.as_json() for suspect in self.suspects],
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return f"<absence of {self.names(fact_text(self.goal))}: {len(self.obstacles[self.goal])} rules fail>"

    def _lines(self) -> Iterator[str]:
        yield self._headline()
        yield from (f"  {line}" for line in self._suspected())
        if self.nearest:
            yield f"  nearest: {self.names(', '.join(self.nearest))}"
        yield from self._rules(self.goal, "  ", {self.goal})

    def _headline(self) -> str:
        shown = self.names(fact_text(self.goal))
        return f"no fact {shown} holds" if ANY in self.goal[1] else f"{shown} does not hold"

    def _suspected(self) -> Iterator[str]:
        """The likeliest mistakes; where there is only one thing to say, the rules say it."""
        if self.suspects:
            yield "likely causes:"
            yield from (
                f"  {number}. {self.names(each.text)}" for number, each in enumerate(self.suspects[:NEAREST], 1)
            )

    def _rules(self, goal: Fact, indent: str, seen: set[Fact]) -> Iterator[str]:
        if not self.obstacles.get(goal):
            yield f"{indent}{_NOT_GIVEN}"
        for each in self.obstacles.get(goal, ()):
            yield f"{indent}{each.rule_name}: {each.rule}"
            yield from (f"{indent}  {self.names(line)}" for line in each.lines())
            below = self._below(each, seen)
            if below is not None:
                yield f"{indent}  why no {self.names(fact_text(below))}:"
                yield from self._rules(below, indent + "    ", seen)

    def _below(self, each: Obstacle, seen: set[Fact]) -> Fact | None:
        """What a rule misses, if there is more to say of it that was not said yet."""
        below = each.missing
        if below is None or below not in self.obstacles or below in seen:
            return None
        seen.add(below)
        return below

    def to_dot(self) -> str:
        """As a graph for Graphviz: facts that are missing, and the rules that fail because of them."""
        places = {fact: f"f{place}" for place, fact in enumerate(self._named())}
        lines = ["digraph absence {", "  rankdir=BT;", "  node [shape=box, fontname=sans];"]
        lines += [
            f"  {place} [label={quoted(self.names(fact_text(fact)))}, style=dashed];" for fact, place in places.items()
        ]
        for number, (fact, each) in enumerate((f, each) for f, some in self.obstacles.items() for each in some):
            lines.append(f"  r{number} [label={quoted(f'{each.rule_name}: {self.names(each.fails)}')}, shape=ellipse];")
            lines.append(f"  r{number} -> {places[fact]};")
            lines += [f"  {places[each.missing]} -> r{number};"] if each.missing is not None else []
        return "\n".join([*lines, "}"])

    def _named(self) -> dict[Fact, None]:
        missing = (each.missing for some in self.obstacles.values() for each in some if each.missing is not None)
        return dict.fromkeys([*self.obstacles, *missing])

    def _repr_html_(self) -> str:
        """Rules to fold and unfold."""
        from html import escape

        lines = [self._headline(), *self._suspected()]
        if self.nearest:
            lines.append(f"nearest: {self.names(', '.join(self.nearest))}")
        return f"<pre>{escape(chr(10).join(lines))}</pre>{self._html(self.goal, {self.goal})}"

    def _html(self, goal: Fact, seen: set[Fact]) -> str:
        from html import escape

        parts = []
        for each in self.obstacles.get(goal, ()):
            inside = "".join(f"<div>{escape(self.names(line))}</div>" for line in each.lines())
            if (below := self._below(each, seen)) is not None:
                summary = escape(f"why no {self.names(fact_text(below))}")
                inside += f"<details><summary>{summary}</summary>{self._html(below, seen)}</details>"
            rule = f"{escape(each.rule_name)}: <code>{escape(each.rule)}</code>"
            parts.append(f"<details open style='margin-left:1.5em'><summary>{rule}</summary>{inside}</details>")
        return "".join(parts) or f"<div>{_NOT_GIVEN}</div>"


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
    start = source.started(rule, pattern)
    if start is None:
        return None
    body = [*conjuncts(rule.body), *start[1]]
    given, waiting, held = [start[0]], list(body), 0
    total, text = len(waiting), rule.text
    better = source.group((source.name(rule.head.name), pattern))
    is_one = better is not None and better[1].count(ANY) == 1  # of several groups, each has a best fact
    if better is not None and is_one and (rows := source.facts(better[0], [better[1]])[0]):
        fails = f"the best that is offered is {fact_text((better[0], rows[0]))}"
        return Obstacle(rule.name, text, held, total, 1, fails)
    outside = variables(rule.head)
    while waiting:
        item = source.next_formula(waiting, frozenset(given[0]), body)
        others = [other for other in body if other is not item]
        mentioned = outside.union(*(variables(other, False) for other in others))
        waiting.remove(item)
        ways = len(given)
        try:
            found = source.solve(item, given[:_LOOKED_AT], bindable_or_attained(others, mentioned), mentioned)
        except NoValue as error:
            return Obstacle(rule.name, text, held, total, ways, str(error))
        if not found:
            fails, nearest, missing = _failure(source, item, given)
            return Obstacle(rule.name, text, held, total, ways, fails, nearest, missing)
        given = source.bindings_in_order([b for b in found if b.keys() == found[0].keys()])
        held += 1
    fails = "its aggregates have other values" if rule.limit is None else "better facts are offered"
    return Obstacle(rule.name, text, held, total, len(given), fails)


def _failure(source: Matcher, item: tree.Formula, given: list[Binding]) -> tuple[str, tuple[str, ...], Fact | None]:
    b = given[0]
    match item:
        case tree.Atom() if (pattern := known_pattern(source, item, b)) is not None:
            missing = source.name(item.name), pattern
            some = [p for other in given[:NEAREST] if (p := known_pattern(source, item, other)) is not None]
            near = nearest(source, missing[0], some)
            return f"there is no {fact_text(missing)}", near, missing
        case tree.Negation(operand=tree.Atom() as atom) if (pattern := known_pattern(source, atom, b)) is not None:
            name = source.name(atom.name)
            found = next(iter(source.lookup(name, [pattern], True)))
            row = min(found, key=str) if 0 < len(found) < _COMPARED else next(iter(found), pattern)
            return f"{fact_text((name, row))} holds, and the rule requires that it does not", (), None
        case tree.Comparison(left=tree.Variable(name=name), right=right) if name.startswith(" "):  # of the head
            return f"{text_of(b[name])} = {show_term(right)} fails{_with(right, b)}", (), None
    return f"{show_formula(item)} fails{_with(item, b)}", (), None


def _with(node: object, b: Binding) -> str:
    values = [f"{name} = {text_of(b[name])}" for name in sorted(variables(node)) if name in b]
    return f" with {', '.join(values)}" if values else ""


def known_pattern(source: Matcher, atom: tree.Atom, b: Binding) -> FactPattern | None:
    """What is known of an atom under a binding."""
    try:
        return tuple(
            ANY if has_wildcard(a) or not variables(a) <= b.keys() else source.value(a, b) for a in atom.arguments
        )
    except NoValue:
        return None


def nearest(source: Matcher, name: str, patterns: Sequence[FactPattern]) -> tuple[str, ...]:
    """The facts that differ from patterns in one column, as texts."""
    return tuple(map(fact_text, nearest_facts(source, name, patterns)))


def nearest_facts(source: Matcher, name: str, patterns: Sequence[FactPattern]) -> tuple[Fact, ...]:
    """The facts that differ from patterns in one column, the most similar values first."""
    found: dict[FactPattern, float] = {}
    for pattern in patterns:
        for place, value in enumerate(pattern):
            if value is ANY:
                continue
            wider = (*pattern[:place], ANY, *pattern[place + 1 :])
            for row in source.some_facts(name, wider, _COMPARED):
                source.tick(COMPARISON)
                found[row] = max(found.get(row, 0.0), likeness(row[place], value))
    best = sorted(found, key=lambda row: (-found[row], str(row)))
    return tuple((name, row) for row in best[:NEAREST])


def likeness(one: Any, other: Any) -> float:
    """How much two values resemble each other, from 0 to 1."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return 1 / (1 + abs(float(one) - float(other)))
    return SequenceMatcher(None, str(one), str(other)).ratio()
