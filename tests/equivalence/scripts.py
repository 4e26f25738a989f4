"""Random scripts: a program with facts, and updates of its facts and rules one after the other.

A script is plain data, so that one that fails can be cut down and printed.  Predicates stand in layers as in
tests/judges/programs.py, whose rules are used; here all rules are drawn beforehand and some of them are in the program
at first, so that recursion comes and goes.  Now and then a rule looks up from a lower layer: it joins hyper-nodes, or
makes the program unstratifiable, which must be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from holdfast.values import Row

from ..judges.programs import (
    COUNTABLE,
    DOMAIN,
    EVERYTHING,
    RECORDS,
    STRUCTURES,
    TYPES,
    WITNESSES,
    Features,
    Predicate,
    RuleBuilder,
    RuleSketch,
    declare,
    random_head_aggregate,
    random_predicates,
    random_rule,
)

Fact = tuple[str, Row]
BOOM = ".decl boom(x: number)"  # for updates that fail while they are evaluated
NUMBERS = replace(EVERYTHING, types=("number",), any_columns=False)
VARIED = replace(EVERYTHING, types=(*EVERYTHING.types, "any"))
COUNTED = replace(COUNTABLE, types=("number",), any_columns=False)
KINDS = (NUMBERS, NUMBERS, COUNTED, COUNTED, VARIED)
STRUCTURED = replace(RECORDS, any_columns=False)


@dataclass(frozen=True)
class Step:
    """One update.  `dice` decides everything that is drawn while it is applied and checked."""

    delete: tuple[Fact, ...] = ()
    insert: tuple[Fact, ...] = ()
    add: tuple[RuleSketch, ...] = ()
    remove: tuple[RuleSketch, ...] = ()
    dice: int = 0


@dataclass(frozen=True)
class Script:
    """A program, its first facts, and updates."""

    predicates: tuple[Predicate, ...]
    rules: tuple[RuleSketch, ...]
    facts: tuple[Fact, ...]
    steps: tuple[Step, ...]

    @property
    def declarations(self) -> str:
        structures = any(STRUCTURES.keys() & set(predicate.types) for predicate in self.predicates)
        return "\n".join([*(TYPES if structures else ()), *map(declare, self.predicates), BOOM]) + "\n"

    def text(self, rules: Sequence[object]) -> str:
        return self.declarations + "\n".join(map(str, rules)) + "\n"

    def __str__(self) -> str:
        lines = [f'program = """\n{self.text(self.rules)}"""', f"facts = {grouped(self.facts)}"]
        for number, step in enumerate(self.steps, 1):
            lines.append(f"update_{number} = Update(delete={grouped(step.delete)}, insert={grouped(step.insert)},")
            lines.append(
                f"    add_rules={[str(r) for r in step.add]}, remove_rules={[str(r) for r in step.remove]})"
                f"  # dice {step.dice}"
            )
        return "\n".join(lines)


def grouped(facts: Sequence[Fact]) -> dict[str, list[Row]]:
    """Facts by relation."""
    found: dict[str, list[Row]] = {}
    for name, row in facts:
        found.setdefault(name, []).append(row)
    return found


# --- drawing -----------------------------------------------------------------------------------------


@dataclass
class Writer:
    """A script in the making."""

    random: Random
    features: Features

    def __post_init__(self) -> None:
        self.predicates: list[Predicate] = []
        self.pool: list[RuleSketch] = []
        self.domains = {
            type_: self.random.sample(values, min(len(values), self.random.choice((2, 3, 4, 5))))
            for type_, values in DOMAIN.items()
            if type_ not in STRUCTURES or type_ in self.features.types
        }

    def draw(self, least: int, most: int) -> int:
        return self.random.randint(least, most)

    def layers(self) -> None:
        """Predicates from below, and a pool of rules for each layer."""
        self.predicates += random_predicates(self.draw, self.features, "e", 2, 3)
        for layer in range(self.draw(1, 3)):
            below = list(self.predicates)
            own = random_predicates(self.draw, self.features, f"p{layer}", 1, 3)
            for _ in range(self.draw(3, 6)):
                self.pool.append(random_rule(self.draw, self.features, own, [*below, *own], below))
            self.pool += [rule for rule in map(self.closure, own) if rule and self.random.random() < 0.5]
            self.pool += [self.guarded(own, below) for _ in range(self.draw(0, 1))]
            if self.features.head_aggregates and self.random.random() < 0.5:
                head = random_predicates(self.draw, self.features, f"h{layer}", 1, 1)[0]
                rule = random_head_aggregate(self.draw, head, [*below, *own])
                self.pool += [rule] if rule else []
                own.append(head)
            self.predicates += own
        if self.random.random() < 0.3:
            heads = self.predicates[: len(self.predicates) // 2 + 1]
            self.pool.append(random_rule(self.draw, self.features, heads, self.predicates, self.predicates))

    def closure(self, predicate: Predicate) -> RuleSketch | None:
        """Rules that close a binary predicate, which random rules seldom do."""
        if len(set(predicate.types)) != 1 or len(predicate.types) != 2:
            return None
        p = predicate.name
        bodies = [(f"{p}(x, y)", f"{p}(y, z)")]
        bodies += [(f"{q.name}(x, y)", f"{p}(y, z)") for q in self.predicates if q.types == predicate.types]
        return RuleSketch((f"{p}(x, z)",), self.random.choice(bodies))

    def guarded(self, own: Sequence[Predicate], below: Sequence[Predicate]) -> RuleSketch:
        """A rule with several negations."""
        build = RuleBuilder(self.draw, self.features, below, below)
        build.body.append(build.atom(build.pick(below)))
        for _ in range(self.draw(2, 3)):
            build.negation()
        return RuleSketch((build.head(build.pick(own)),), tuple(build.body))

    def fact(self) -> Fact:
        predicate = self.random.choice([*self.predicates[:3], *self.predicates])
        return predicate.name, tuple(self.random.choice(self.domains[t]) for t in predicate.types)

    def facts(self, most: int) -> list[Fact]:
        return [self.fact() for _ in range(self.draw(0, most))]


GRAPH = tuple(
    Predicate(name, ("number",) * arity) for name, arity in (("e", 2), ("f", 1), ("p", 2), ("q", 2), ("r", 1))
)
GRAPH_RULES = tuple(
    RuleSketch((head,), body)
    for head, body in [
        ("p(x, y)", ("e(x, y)",)),
        ("p(x, z)", ("p(x, y)", "p(y, z)")),
        ("p(x, z)", ("e(x, y)", "p(y, z)")),
        ("p(y, x)", ("p(x, y)", "f(x)")),
        ("q(x, y)", ("p(x, y)", "!f(y)")),
        ("q(x, z)", ("q(x, y)", "q(y, z)")),
        ("p(x, y)", ("q(y, x)", "e(x, _)")),
        ("r(x)", ("q(x, x)", "!e(x, x)")),
        ("r(y)", ("r(x)", "p(x, y)")),
        ("f(x)", ("e(x, 0)",)),
    ]
)


def graph_writer(random: Random) -> Writer:
    """Closures of a graph that is dense enough for facts to have many proofs."""
    writer = Writer(random, COUNTED)
    writer.predicates, writer.pool = [GRAPH[0], *GRAPH], list(GRAPH_RULES)
    writer.domains["number"] = list(range(random.choice((4, 6, 8))))
    return writer


CLOSED = tuple(
    Predicate(name, ("number",) * arity)
    for name, arity in (("e", 2), ("f", 2), ("p", 2), ("q", 2), ("t", 3), ("r", 1), ("h", 2))
)
CLOSURES = tuple(
    RuleSketch((head,), body)
    for head, body in [
        ("p(x, y)", ("e(x, y)",)),
        ("p(x, y)", ("f(y, x)",)),
        ("p(x, z)", ("p(x, y)", "p(y, z)")),
        ("p(x, z)", ("p(x, y)", "p(y, z)", "x != z")),
        ("p(y, x)", ("p(x, y)",)),
        ("p(x, x)", ("p(x, _)",)),
        ("p(x, x)", ("p(_, x)",)),
        ("p(x, z)", ("e(x, y)", "p(y, z)")),
        ("p(x, z)", ("p(x, y)", "f(z, y)")),
        ("p(x, z)", ("f(x, y)", "p(y, z)", "x != y")),
        ("p(x, y)", ("q(y, x)",)),
        ("p(x, y)", ("p(y, z)", "f(x, z)", "!e(z, x)")),
        ("q(x, y)", ("p(x, y)", "!f(x, y)")),
        ("q(x, z)", ("q(x, y)", "q(y, z)", "x != z", "x != y")),
        ("q(y, x)", ("q(x, y)", "x != y")),
        ("q(x, z)", ("q(x, y)", "e(y, z)")),
        ("t(x, 1, z)", ("t(x, 1, y)", "t(y, 1, z)")),
        ("t(x, 2, z)", ("t(y, 2, z)", "t(x, 2, y)")),
        ("t(x, 2, z)", ("t(z, 2, x)",)),
        ("t(x, 1, y)", ("t(x, 2, y)", "e(x, y)")),
        ("t(x, 2, y)", ("q(x, y)",)),
        ("p(x, y)", ("t(x, 1, y)",)),
        ("r(x)", ("p(x, x)", "!q(x, x)")),
        ("r(y)", ("p(0, y)",)),
        ("r(x)", ("f(x, _)", "!p(x, 1)")),
        ("h(x, y)", ("e(x, y)", "p(y, x)")),
        ("h(x, z)", ("f(x, y)", "p(z, y)")),
        ("h(x, y)", ("e(x, y)", "!p(_, x)", "!q(x, y)")),
        ("h(x, n)", ("e(x, _)", "n = count : { p(x, _) }")),
    ]
)


def closure_writer(random: Random) -> Writer:
    """Closures in all the forms that modules serve, beside rules that make and break them."""
    writer = Writer(random, COUNTED)
    writer.predicates = [*CLOSED[:3], *CLOSED]
    writer.pool = random.sample(CLOSURES, random.randint(4, 16))
    writer.domains["number"] = list(range(random.choice((3, 4, 6))))
    return writer


def layered_writer(random: Random) -> Writer:
    """Any kind of rules, in layers."""
    writer = Writer(random, random.choice(KINDS))
    writer.layers()
    return writer


def record_writer(random: Random) -> Writer:
    """Any kind of rules over records and algebraic data types, in layers."""
    writer = Writer(random, STRUCTURED)
    writer.layers()
    return writer


def witness_writer(random: Random) -> Writer:
    """Rules that use variables of the bodies of min and max outside, in layers."""
    writer = Writer(random, replace(WITNESSES, types=random.choice((("number",), WITNESSES.types)), any_columns=False))
    writer.layers()
    return writer


def random_script(
    random: Random,
    length: int = 12,
    *,
    rules_change: bool = True,
    writer: Writer | None = None,
    rules: Sequence[RuleSketch] | None = None,
    most_facts: Sequence[int] = (4, 12, 25),
) -> Script:
    """A script of so many updates, with certain rules at first or with some of the writer's."""
    writer = writer or (graph_writer(random) if random.random() < 0.25 else layered_writer(random))
    share = random.choice((0.3, 0.6, 0.9))
    rules = [rule for rule in writer.pool if random.random() < share] if rules is None else rules
    facts = writer.facts(random.choice(most_facts))
    steps, now, there = [], list(rules), list(facts)
    chance = random.choice((0.1, 0.3, 0.5)) if rules_change else 0.0
    for _ in range(length):
        step = _random_step(writer, now, there, chance)
        now = after(now, step)
        there = [fact for fact in there if fact not in step.delete] + list(step.insert)
        steps.append(step)
    return Script(tuple(dict.fromkeys(writer.predicates)), tuple(rules), tuple(facts), tuple(steps))


def _random_step(writer: Writer, rules: list[RuleSketch], facts: list[Fact], rule_chance: float) -> Step:
    random = writer.random
    most = random.choice((1, 2, 6))
    delete = writer.facts(most // 3)
    if facts:
        delete += random.choices(facts, k=random.randint(0, most))
    add = remove = ()
    if random.random() < rule_chance:
        spare = [rule for rule in writer.pool if rule not in rules or random.random() < 0.05]
        add = tuple(random.sample(spare, min(len(spare), random.choice((0, 1, 1, 2)))))
        remove = tuple(random.sample(rules, min(len(rules), random.choice((0, 1, 1, 2)))))
    return Step(tuple(delete), tuple(writer.facts(most)), add, remove, random.getrandbits(32))


def fitting(rules: Sequence[RuleSketch], step: Step) -> Step:
    """The step without removals of rules that are not there: the update that was to add them may have been refused."""
    left, wanted = list(rules), []
    for rule in step.remove:
        if rule in left:
            left.remove(rule)
            wanted.append(rule)
    return replace(step, remove=tuple(wanted))


def after(rules: Sequence[RuleSketch], step: Step) -> list[RuleSketch]:
    """The rules after an update."""
    left = list(rules)
    for rule in step.remove:
        left.remove(rule)
    return [*left, *step.add]


def explicit_after(facts: set[Fact], step: Step) -> set[Fact]:
    """The explicit facts after an update: what is both deleted and inserted is inserted."""
    return (facts - set(step.delete)) | set(step.insert)


Order = Callable[[RuleSketch], str]


def shuffled(random: Random) -> Order:
    """Each rule with its body in another order, always the same one for the same rule."""
    order: dict[RuleSketch, str] = {}

    def write(rule: RuleSketch) -> str:
        if rule not in order:
            order[rule] = str(RuleSketch(rule.heads, tuple(random.sample(rule.body, len(rule.body)))))
        return order[rule]

    return write
