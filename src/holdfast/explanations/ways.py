"""All ways in which a fact follows, one step deep for each fact, and the smallest sets of given facts that suffice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any, overload

from holdfast.errors import LimitReached
from holdfast.explanations.matching import Fact, Matcher
from holdfast.explanations.proof import MOST_SHOWN, ProofStep, quoted
from holdfast.explanations.search import Instance, Search, SearchLimit, inference
from holdfast.explanations.short_names import FULL_NAMES, ShortNames
from holdfast.explanations.terms import Unknown, fact_text
from holdfast.quick_dataclass import dataclass

_KEPT = 300  # sets of facts that are kept for one fact
_RULE = " rule"


@dataclass(frozen=True, eq=False)
class Derivations:
    """The ways in which a fact follows, and those of the facts that they use, nearest first, up to a number."""

    conclusion: Fact
    ways: Mapping[Fact, tuple[ProofStep, ...]]  # of each fact that was opened, in the order of opening
    more: Mapping[Fact, int]  # how many further ways such a fact has
    given: frozenset[Fact]
    names: ShortNames = FULL_NAMES  # in texts and pictures

    @property
    def number(self) -> int:
        """How many ways the fact itself has; that it was given does not count."""
        return len(self.ways[self.conclusion]) + self.more.get(self.conclusion, 0)

    @property
    def is_complete(self) -> bool:
        """Whether every fact that is used was opened, with all its ways."""
        used = {premise for steps in self.ways.values() for step in steps for premise in step.premises}
        return not self.more and used <= self.ways.keys()

    def __str__(self) -> str:
        return "\n".join(line for fact in self.ways for line in self._lines(fact))

    def __repr__(self) -> str:
        return f"<derivations of {self._shown(self.conclusion)}: {_counted(self.number)}>"

    def _shown(self, fact: Fact) -> str:
        return self.names(fact_text(fact))

    def _repr_html_(self) -> str:
        """Facts with their ways, to fold and unfold."""
        parts = []
        for place, (first, *ways) in enumerate(list(self._lines(fact)) or [""] for fact in self.ways):
            inside = "".join(f"<div>{escape(way)}</div>" for way in ways)
            state = " open" if place == 0 else ""
            parts.append(f"<details{state}><summary>{escape(first)}</summary>{inside}</details>" if first else "")
        return "".join(parts)

    def _lines(self, fact: Fact) -> Iterator[str]:
        steps, more = self.ways[fact], self.more.get(fact, 0)
        given = ["given"] if fact in self.given else []
        if not steps and not more and fact != self.conclusion:
            return
        count = [f"in {_counted(len(steps) + more)}:"] if steps or more else []
        yield f"{self._shown(fact)}  {', '.join([*given, *count])}"
        for step in steps:
            shown = [*map(self._shown, step.premises[:MOST_SHOWN]), *(f"no {self._shown(p)}" for p in step.absent)]
            rest = len(step.premises) - MOST_SHOWN
            yield f"  {step.rule_name}: {', '.join([*shown, *([f'… and {rest:,} more facts'] if rest > 0 else [])])}"
        if more:
            yield f"  … and {_counted(more, 'more ')}"

    def to_json(self, **options: Any) -> str:
        """As JSON, in the shape of a proof with several inferences for one conclusion."""
        return json.dumps(self.as_json(), ensure_ascii=False, **options)

    def as_json(self) -> dict[str, Any]:
        """What `to_json` writes."""
        asserted = [ProofStep(fact) for fact in self.ways if fact in self.given]
        steps = [*asserted, *(step for steps in reversed(self.ways.values()) for step in steps)]  # type: ignore[call-overload]
        return {
            "finalConclusion": fact_text(self.conclusion),
            "inferences": [step.to_json() for step in steps],
            "more": {fact_text(fact): count for fact, count in self.more.items()},
        }

    def to_dot(self) -> str:
        """As a graph for Graphviz."""
        facts = dict.fromkeys([*self.ways, *(p for steps in self.ways.values() for s in steps for p in s.premises)])
        places = {fact: f"f{place}" for place, fact in enumerate(facts)}
        lines = ["digraph derivations {", "  rankdir=BT;", "  node [shape=box, fontname=sans];"]
        for fact, place in places.items():
            style = ", style=filled, fillcolor=lightgrey" if fact in self.given else ""
            lines.append(f"  {place} [label={quoted(self._shown(fact))}{style}];")
        for number, step in enumerate(step for steps in self.ways.values() for step in steps):
            lines.append(f"  r{number} [label={quoted(step.rule_name)}, shape=ellipse];")
            lines.append(f"  r{number} -> {places[step.conclusion]};")
            lines += [f"  {places[premise]} -> r{number};" for premise in step.premises]
        return "\n".join([*lines, "}"])


def _counted(number: int, more: str = "") -> str:
    return f"{number:,} {more}way{'' if number == 1 else 's'}"


def derivations(source: Matcher, goal: Fact, most: int, limit: SearchLimit) -> Derivations:
    """The ways of a fact that holds and of the facts below it, breadth first, until there are so many."""
    search = Search(source, limit, chains=False)
    ways: dict[Fact, tuple[ProofStep, ...]] = {}
    more: dict[Fact, int] = {}
    level = [goal]
    while level and most > 0:
        limit.check(len(ways), f"list of the ways to {fact_text(goal)}")
        met = search.instances(level)
        for fact in level:
            steps = [inference(source, instance)[0] for instance in met[fact][:most]]
            ways[fact] = tuple(steps)
            more |= {fact: len(met[fact]) - len(steps)} if len(steps) < len(met[fact]) else {}
            most -= len(steps)
        used = dict.fromkeys(p for fact in level for step in ways[fact] for p in step.premises)
        level = [fact for fact in used if fact not in ways]
    return Derivations(goal, ways, more, frozenset(source.given([*ways, *level])), source.names)


# --- supports ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MinimalSupport:
    """A minimal set of explicit facts from which a fact follows; with rules, if requested."""

    facts: tuple[str, ...]
    rules: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join([*self.facts, *self.rules]) or "nothing"


class Supports(Sequence[MinimalSupport]):
    """Minimal supports of a fact, the smallest first; `is_complete` says whether there are no others."""

    def __init__(
        self, fact: str, found: Sequence[MinimalSupport], *, is_complete: bool, names: ShortNames = FULL_NAMES
    ) -> None:
        self.fact, self._found, self.is_complete, self._names = fact, tuple(found), is_complete, names

    @overload
    def __getitem__(self, place: int) -> MinimalSupport: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[MinimalSupport]: ...

    def __getitem__(self, place: int | slice) -> MinimalSupport | Sequence[MinimalSupport]:
        return self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def __str__(self) -> str:
        lines = [f"{number}. {self._names(str(support))}" for number, support in enumerate(self._found, 1)]
        return "\n".join([*lines, *([] if self.is_complete else ["there may be more"])])

    def __repr__(self) -> str:
        return f"<supports of {self._names(self.fact)}: {len(self)}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_dot(self) -> str:
        """As a graph for Graphviz: each support with its facts and rules."""
        texts = [[*map(self._names, support.facts), *support.rules] for support in self._found]
        places = {text: f"f{place}" for place, text in enumerate(dict.fromkeys(t for some in texts for t in some))}
        lines = ["digraph supports {", "  rankdir=BT;", "  node [shape=box, fontname=sans];"]
        lines.append(f"  goal [label={quoted(self._names(self.fact))}];")
        lines += [
            f"  {place} [label={quoted(text)}, style=filled, fillcolor=lightgrey];" for text, place in places.items()
        ]
        for number, some in enumerate(texts, 1):
            lines.append(f"  s{number} [label={quoted(str(number))}, shape=ellipse];")
            lines += [f"  s{number} -> goal;", *(f"  {places[text]} -> s{number};" for text in some)]
        return "\n".join([*lines, "}"])

    def to_json(self, **options: Any) -> str:
        """As JSON."""
        return json.dumps(self.as_json(), ensure_ascii=False, **options)

    def as_json(self) -> dict[str, Any]:
        """What `to_json` writes."""
        found = [
            {"facts": list(support.facts), **({"rules": list(support.rules)} if support.rules else {})}
            for support in self._found
        ]
        return {"fact": self.fact, "complete": self.is_complete, "supports": found}


class _Cone:
    """The facts and rule instances that a fact may rest on, and the minimal sets of given facts below each.

    Invariant: every set in `sets[fact]` suffices for the fact, and none contains another.
    """

    def __init__(self, source: Matcher, limit: SearchLimit, *, rules: bool) -> None:
        self._source, self._limit, self._rules = source, limit, rules
        self._search = Search(source, limit, chains=False)
        self._users: dict[Fact, list[Instance]] = {}
        self._all: list[Instance] = []
        self.given: set[Fact] = set()
        self.sets: dict[Fact, list[frozenset[Fact]]] = {}
        self.is_complete = True

    def explore(self, goal: Fact) -> None:
        """Meet all instances below a fact; what the limits leave out is missing, and nothing is wrong for it."""
        level, seen = [goal], {goal}
        try:
            while level:
                self._limit.check(len(seen), "support")
                self.given |= self._source.given(level)
                met = [instance for some in self._search.instances(level).values() for instance in some]
                self._all += met
                for instance in met:
                    for premise in instance.premises:
                        self._users.setdefault(premise, []).append(instance)
                used = dict.fromkeys(premise for instance in met for premise in instance.premises)
                level = [fact for fact in used if fact not in seen]
                seen.update(level)
        except LimitReached:
            self.is_complete = False

    def spread(self) -> None:
        """Carry the sets upwards until nothing is new."""
        waiting = [(fact, frozenset((fact,))) for fact in sorted(self.given, key=str)]
        waiting += [(instance.conclusion, self._own(instance)) for instance in self._all if not instance.premises]
        try:
            while waiting:
                kept = [each for each in waiting if self._keep(*each)]
                waiting = [new for each in kept for new in self._above(*each)]
        except LimitReached:
            self.is_complete = False

    def _above(self, fact: Fact, found: frozenset[Fact]) -> Iterator[tuple[Fact, frozenset[Fact]]]:
        for instance in self._users.get(fact, ()):
            self._limit.check(0, "support")
            sets = [found | self._own(instance)]
            for premise in instance.premises:
                if premise != fact:
                    sets = _smallest({one | other for one in sets for other in self.sets.get(premise, ())})
            self.is_complete &= len(sets) <= _KEPT
            yield from ((instance.conclusion, each) for each in islice(sets, _KEPT))

    def _own(self, instance: Instance) -> frozenset[Fact]:
        return frozenset(((_RULE, (instance.rule.name,)),)) if self._rules else frozenset()

    def _keep(self, fact: Fact, found: frozenset[Fact]) -> bool:
        known = self.sets.setdefault(fact, [])
        if any(other <= found for other in known):
            return False
        self.sets[fact] = [other for other in known if not found <= other] + [found]
        if len(self.sets[fact]) > _KEPT:
            self.is_complete = False
            self.sets[fact] = sorted(self.sets[fact], key=len)[:_KEPT]
        return found in self.sets[fact]

    def minimal(self, goal: Fact) -> set[frozenset[Fact]]:
        """The sets of a fact, made minimal; if time runs out, those that are known to be."""
        found: set[frozenset[Fact]] = set()
        try:
            for each in sorted(self.sets[goal], key=len):
                found.add(self.shrunk(goal, each))
        except LimitReached:
            self.is_complete = False
            if not found:
                raise
        return found

    def shrunk(self, goal: Fact, found: frozenset[Fact]) -> frozenset[Fact]:
        """Without what can be spared: where sets were left out, a smaller one may have been among them."""
        for fact in sorted(found, key=str):
            self._limit.check(0, "support")
            if self._follows(goal, found - {fact}):
                found -= {fact}
        return found

    def _follows(self, goal: Fact, facts: frozenset[Fact]) -> bool:
        there = set(facts)
        open_instances = [i for i in self._all if self._own(i) <= facts]
        while goal not in there:
            self._source.tick(len(open_instances))
            new = [i for i in open_instances if i.conclusion not in there and there.issuperset(i.premises)]
            if not new:
                return False
            there.update(instance.conclusion for instance in new)
        return True


def _smallest(sets: set[frozenset[Fact]]) -> list[frozenset[Fact]]:
    return sorted(sets, key=len)[: _KEPT + 1]


def supports(source: Matcher, goal: Fact, most: int | None, limit: SearchLimit, *, rules: bool) -> Supports:
    """Minimal supports of a fact that holds."""
    cone = _Cone(source, limit, rules=rules)
    cone.explore(goal)
    cone.spread()
    if not cone.sets.get(goal) and cone.is_complete:
        raise Unknown(f"{fact_text(goal)} holds, and the rules as they are written give no support of it")
    if not cone.sets.get(goal):
        raise limit.reached(f"support of {fact_text(goal)}")
    sets = cone.minimal(goal)
    found = sorted(map(_support, sets), key=lambda s: (len(s.facts) + len(s.rules), s.facts, s.rules))
    kept = found if most is None else found[:most]
    complete = cone.is_complete and len(kept) == len(found)
    return Supports(fact_text(goal), kept, is_complete=complete, names=source.names)


def _support(found: frozenset[Fact]) -> MinimalSupport:
    facts = sorted(fact_text(fact) for fact in found if fact[0] != _RULE)
    return MinimalSupport(tuple(facts), tuple(sorted(str(row[0]) for name, row in found if name == _RULE)))
