"""Closures of every shape: the rules that a closure may have, how closures depend on one another, and random scripts
in which every combination of these rules comes.

`closure_writer` of scripts.py draws from one pool of rules, most of which break what a module serves.  Here the number
of a script says which combination of rules its first closure has; the other closures are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import combinations
from random import Random

from ..judges.programs import Predicate, RuleSketch
from .scripts import COUNTED, Fact, Script, Writer, after, explicit_after, fitting, random_script


class Part(Enum):
    """A rule of a closure R with base relations B and C and step relations S and U."""

    BASE = "R(x, y) :- B(x, y)"
    OTHER_BASE = "R(x, y) :- C(y, x)"
    STEP_LEFT = "R(x, z) :- S(x, y), R(y, z)"
    STEP_RIGHT = "R(x, z) :- R(x, y), S(y, z)"
    OTHER_STEP_LEFT = "R(x, z) :- U(y, x), R(y, z)"
    OTHER_STEP_RIGHT = "R(x, z) :- R(x, y), U(y, z)"
    TRANSITIVE = "R(x, z) :- R(x, y), R(y, z)"
    WITHOUT_LOOPS = "R(x, z) :- R(x, y), R(y, z), x != z"
    SYMMETRIC = "R(y, x) :- R(x, y)"
    REFLEXIVE_SOURCE = "R(x, x) :- R(x, _)"
    REFLEXIVE_TARGET = "R(x, x) :- R(_, x)"
    LOOP = "R(x, x) :- B(x, _)"
    CONSTANT = "R(0, y) :- B(y, _)"
    RECURSIVE_CONSTANT = "R(x, 0) :- R(x, 1)"


class Link(Enum):
    """How other relations depend on the first closure p, or it on them."""

    OVER = "a closure over a closure"
    STEPS = "a closure whose steps are a closure, on both sides: one module reads it twice"
    TWO_MODULES = "a closure that two modules of one hyper-node read"
    MUTUAL = "mutual recursion around a closure"
    SLICES = "closures in two slices of one relation, which feed another closure"
    READERS = "rules that negate, aggregate and look up what is in closures"


LINKED: Mapping[Link, tuple[str, ...]] = {
    Link.OVER: ("q(x, y) :- p(x, y)",),
    Link.STEPS: ("q(x, z) :- p(x, y), q(y, z)", "q(x, z) :- q(x, y), p(y, z)"),
    Link.TWO_MODULES: (
        "q(x, z) :- q(x, y), q(y, z)",
        "w(x, z) :- w(x, y), w(y, z)",
        "w(y, x) :- w(x, y)",
        "q(x, z) :- w(x, y), p(y, z)",
        "w(x, z) :- p(x, y), q(y, z)",
        "w(x, y) :- p(y, x), g(x, y)",
    ),
    Link.MUTUAL: ("q(x, y) :- p(y, x)", "p(x, y) :- q(x, y), e(_, y)"),
    Link.SLICES: (
        "t(x, 1, z) :- t(x, 1, y), t(y, 1, z)",
        "t(x, 2, z) :- t(x, 2, y), t(y, 2, z)",
        "t(x, 2, y) :- t(y, 2, x)",
        "t(x, 1, y) :- e(x, y)",
        "p(x, z) :- p(x, y), t(y, 1, z)",
        "q(x, z) :- t(x, 1, y), q(y, z)",
        "q(x, z) :- q(x, y), t(y, 2, z)",
    ),
    Link.READERS: (
        "r(x) :- p(x, x), !q(x, x)",
        "r(y) :- p(0, y), !p(y, 1)",
        "h(x, y) :- e(x, y), p(y, x), !q(_, x)",
        "h(x, n) :- e(x, _), n = count : { p(x, _) }",
        "h(x, z) :- p(x, y), q(y, z)",
    ),
}


class Given(Enum):
    """What facts and updates a script has."""

    INSIDE = "explicit facts of a closure itself"
    OUTSIDE = "no explicit facts of closures"
    SELF_LOOP = "a base fact of a value with itself"
    EMPTY = "a program that begins without facts"
    ONE_FACT = "an update of one fact"
    RULES = "rules of a closure that come or go"


KINDS = (
    (Part.BASE,),
    (Part.OTHER_BASE,),
    (Part.STEP_LEFT,),
    (Part.STEP_RIGHT,),
    (Part.OTHER_STEP_LEFT, Part.OTHER_STEP_RIGHT),
    (Part.TRANSITIVE, Part.TRANSITIVE, Part.WITHOUT_LOOPS),
    (Part.SYMMETRIC,),
    (Part.REFLEXIVE_SOURCE, Part.REFLEXIVE_TARGET),
)
"""Parts of which a closure has one or none: all combinations of these kinds come, in turn."""
BESIDE = (Part.LOOP, Part.CONSTANT, Part.RECURSIVE_CONSTANT)
Combination = frozenset[tuple[Part, ...]]
COMBINATIONS = tuple(frozenset(some) for size in range(len(KINDS) + 1) for some in combinations(KINDS, size))
_BETWEEN = re.compile(r", (?![^(]*\))(?![^{]*\})")  # a comma outside parentheses and braces
_STRIDE = 89  # odd, so that any run of as many seeds as there are combinations has each of them once
BASES, CLOSURES = ("e", "f", "g"), ("p", "q", "w", "t")
PREDICATES = tuple(
    Predicate(name, ("number",) * arity)
    for names, arity in (((*BASES, "p", "q", "w", "h"), 2), (("t",), 3), (("r",), 1))
    for name in names
)


def combination_of(seed: int) -> Combination:
    """The kinds of rules that the first closure has at first."""
    return COMBINATIONS[seed * _STRIDE % len(COMBINATIONS)]


def sketch(text: str) -> RuleSketch:
    """A rule from its text."""
    head, body = text.split(" :- ")
    return RuleSketch((head,), tuple(_BETWEEN.split(body)))


@dataclass
class ShapeWriter(Writer):
    """Draws facts of base relations, and of closures if they are to have explicit ones."""

    inside: bool = False
    fed: tuple[str, ...] = BASES
    parts: dict[RuleSketch, tuple[str, Part]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.predicates = list(PREDICATES)
        self.domains["number"] = list(range(self.random.choice((3, 3, 4, 6))))

    def fact(self) -> Fact:
        names = self.random.choice((self.fed[:1], self.fed, CLOSURES if self.inside else self.fed[:2]))
        name = self.random.choice(names)
        arity = next(len(p.types) for p in PREDICATES if p.name == name)
        return name, tuple(self.random.choice(self.domains["number"]) for _ in range(arity))

    def closure(self, name: str, below: tuple[str, ...]) -> dict[Part, RuleSketch]:  # type: ignore[override]
        """All rules that a closure may have; its steps are mostly over its base, as one writes them."""
        base = self.random.choice(below)
        step = base if self.random.random() < 0.6 else self.random.choice((*below, *self.fed))
        other_base = self.random.choice((base, *BASES))
        other_step = self.random.choice([name for name in (base, *BASES) if name != step])
        relations = {"R": name, "B": base, "C": other_base, "S": step, "U": other_step}
        rules = {part: sketch("".join(relations.get(letter, letter) for letter in part.value)) for part in Part}
        self.parts.update({rule: (name, part) for part, rule in rules.items()})
        return rules

    def named(self, rule: RuleSketch) -> list[tuple[str, Part]]:
        """The closure that a rule belongs to and what it is there, if it is a closure's."""
        return [self.parts[rule]] if rule in self.parts else []


def drawn(seed: int, *, rules_change: bool) -> tuple[Script, ShapeWriter]:
    """The script of a number, and its writer, which knows what each rule is.

    In every other round of the combinations the closure is bare: it begins without facts, its steps are over its base,
    no other relation has facts, and there is no other closure.
    """
    random = Random(seed)
    bare = seed // len(COMBINATIONS) % 2 == 1
    inside = random.random() < 0.25
    writer = ShapeWriter(random, COUNTED, inside=inside and not bare, fed=BASES[:1] if bare else BASES)
    p, q = writer.closure("p", ("e",)), writer.closure("q", random.choice((("p",), BASES)))
    rules = [p[random.choice(kind)] for kind in KINDS if kind in combination_of(seed)]
    beside = [p[part] for part in BESIDE if random.random() < 0.1]
    second = [q[random.choice(kind)] for kind in random.sample(KINDS, random.choice((0, 0, 1, 2, 3, 4)))]
    links = random.sample(tuple(Link), random.choice((0, 0, 1, 1, 2)))
    linked = [sketch(text) for link in links for text in LINKED[link] if random.random() < 0.85]
    if bare:
        second, linked = [], []
    writer.pool = list(dict.fromkeys([*rules, *p.values(), *second, *linked]))
    return (
        random_script(
            random,
            random.choice((3, 6)),
            rules_change=rules_change,
            writer=writer,
            rules=list(dict.fromkeys([*rules, *beside, *second, *linked])),
            most_facts=(0,) if bare else (0, 4, 12),
        ),
        writer,
    )


# --- what came -----------------------------------------------------------------------------------------


def programs(script: Script) -> Iterator[tuple[RuleSketch, ...]]:
    """The rules at first and after each update."""
    rules = list(script.rules)
    yield tuple(rules)
    for step in script.steps:
        rules = after(rules, fitting(rules, step))
        yield tuple(rules)


def shapes_in(script: Script, writer: ShapeWriter) -> set[Part | Link | Given | Combination]:
    """The parts, links and kinds of facts that a script has, and the combinations of kinds that a closure ever has."""
    found = set[Part | Link | Given | Combination](_given(script, writer))
    for rules in programs(script):
        for name in ("p", "q"):
            parts = frozenset(part for rule in rules for of, part in writer.named(rule) if of == name)
            found |= parts | {frozenset(kind for kind in KINDS if not parts.isdisjoint(kind))}
        found |= {link for link, wanted in LINKED.items() if set(rules).issuperset(map(sketch, wanted))}
    return found


def _given(script: Script, writer: ShapeWriter) -> Iterator[Given]:
    steps = script.steps
    facts = [*script.facts, *(fact for step in steps for fact in step.insert)]
    yield Given.INSIDE if any(name in CLOSURES for name, _ in facts) else Given.OUTSIDE
    if any(name in BASES and row[0] == row[1] for name, row in facts):
        yield Given.SELF_LOOP
    if not script.facts:
        yield Given.EMPTY
    if any(len(explicit_after(set(), step)) == 1 and not step.delete for step in steps):
        yield Given.ONE_FACT
    if any(rule in writer.parts for step in steps for rule in (*step.add, *step.remove)):
        yield Given.RULES
