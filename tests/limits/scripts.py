"""Random programs with limit relations, and random updates of their facts and rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from .rules import Fact, Lit, Rule, Term, num, op, var

ARITY = {"edge": 3, "node": 2, "shut": 2, "l": 2, "m": 2, "open": 1, "far": 1, "best": 2, "left": 1}
KEYS = range(1, 5)
LATER = ("far", "best", "left")


@dataclass
class Script:
    """A program, its facts and what happens to both; `shapes` says what it is made of."""

    rules: list[Rule]
    facts: dict[str, set[Fact]]
    steps: list[Step] = field(default_factory=list)
    shapes: set[str] = field(default_factory=set)


@dataclass
class Step:
    """An update."""

    delete: dict[str, set[Fact]] = field(default_factory=dict)
    insert: dict[str, set[Fact]] = field(default_factory=dict)
    remove: list[Rule] = field(default_factory=list)
    add: list[Rule] = field(default_factory=list)


class Writer:
    """Draws a script."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.shapes: set[str] = set()
        self.weights = random.choice([(1, 2, 3), (0, 1, 2), (0, 0, 1), (-1, 1, 2), (-2, -1, 0), (1, 5, 9)])
        self.heights = {key: random.randint(0, 6) for key in KEYS} if random.random() < 0.3 else None
        turned = random.random() < 0.25
        self.column = {"l": 0 if turned else 1, "m": 1}
        function = random.choice(["min", "max"])
        other = function if random.random() < 0.7 else {"min": "max", "max": "min"}[function]
        self.function = {"l": function, "m": other}
        self.own = ["l"] + ["m"] * (random.random() < 0.5) + ["open"] * (random.random() < 0.25)
        self.shapes |= {"limit column first"} if turned else set()
        self.shapes |= {"min and max"} if other != function and "m" in self.own else set()
        self.kind = random.choice(["add", "add", "copy", "bound", "mixed", "mixed", "closure"])

    def script(self) -> Script:
        rules = self.program()
        facts = {name: self.facts(name) for name in ("edge", "node", "shut", "l")}
        script = Script(rules, facts, shapes=self.shapes)
        now, there = {name: set(found) for name, found in facts.items()}, list(rules)
        for _ in range(self.random.randint(3, 8)):
            script.steps.append(self.step(now, there))
        return script

    # --- rules -----------------------------------------------------------------------------------------

    def program(self) -> list[Rule]:
        rules = []
        for name in self.own:
            if name == "l" and self.random.random() < 0.1:  # its rules come later, if at all
                continue
            rules += [self.start(name)] if self.random.random() < 0.7 else []
            rules += [self.rule(name) for _ in range(self.random.randint(1, 2))]
        rules += [self.later(name) for name in LATER if self.random.random() < 0.4]
        return list({str(rule): rule for rule in rules}.values())

    def start(self, name: str) -> Rule:
        if name == "open":
            return Rule("open", (var("x"),), (Lit("node", ("x", "_")),))
        offered = self.random.choice([num(self.random.randint(0, 3)), var("v"), var("v"), var("x")])
        return self.head(name, var("x"), offered, (Lit("node", ("x", "v")),))

    def head(self, name: str, key: Term, value: Term, body: tuple[Lit, ...]) -> Rule:
        if name == "open":
            return Rule("open", (key,), body)
        arguments = (key, value) if self.column[name] else (value, key)
        return Rule(name, arguments, body, (self.column[name], self.function[name]))

    def atom(self, name: str, key: str, value: str) -> Lit:
        if name == "open":
            return Lit("open", (key,))
        return Lit(name, (key, value) if self.column.get(name, 1) else (value, key))

    def closure(self, name: str) -> Rule:
        """What without min or max would be a rule of a transitive closure."""
        self.shapes.add("closure")
        along = ("x", "y") if self.random.random() < 0.7 else ("y", "x")
        return self.head(name, var("y"), var("d"), (self.atom(name, "x", "d"), Lit("shut", along)))

    def rule(self, name: str) -> Rule:
        """A rule that is probably recursive."""
        if self.kind == "closure" and name != "open":
            return self.closure(name)
        read = self.random.choice(self.own)
        body = [self.atom(read, "x", "d"), Lit("edge", ("x", "y", "w"))]
        values = [] if read == "open" else ["d"]
        if self.random.random() < 0.2:
            second = self.random.choice(self.own)
            body.append(self.atom(second, "y", "c" if self.random.random() < 0.7 else "_"))
            values += ["c"] if second != "open" and "c" in body[-1].arguments else []
            self.shapes.add("two recursive atoms")
        if self.random.random() < 0.35:
            body.append(Lit("shut", ("x", "y"), negated=True))
            self.shapes.add("negated atom")
        if self.random.random() < 0.25:
            body.append(self.comparison(values))
        self.random.shuffle(body)
        return self.head(name, var("y"), self.offered(name, values), tuple(body))

    def comparison(self, values: list[str]) -> Lit:
        left = var(self.random.choice([*values, "w"]))
        left = op("+", left, var("w")) if self.random.random() < 0.3 else left
        self.shapes.add("comparison")
        return Lit(
            compare=(left, self.random.choice(["<", "<=", ">", ">=", ">=", "!="]), num(self.random.randint(-1, 9)))
        )

    def offered(self, name: str, values: list[str]) -> Term:
        if not values:
            return self.random.choice([var("w"), num(2)])
        value = var(values[0])
        kind = (
            self.random.choice(["add", "copy", "bound", "turned", "two", "scaled"])
            if self.kind == "mixed"
            else self.kind
        )
        match kind:
            case "add":
                return op(self.random.choice("++-"), value, self.random.choice([var("w"), num(1)]))
            case "bound":
                return op(self.random.choice(["min", "max"]), value, var("w"))
            case "turned":
                return op("-", num(6), value)
            case "two" if len(values) > 1:
                return op("+", value, var(values[1]))
            case "scaled":
                return op("*", num(2), value)
        return value

    def later(self, name: str) -> Rule:
        """A rule outside the circle, which sees finished values."""
        column = self.column["l"]
        match name:
            case "far":
                return Rule("far", (var("x"),), (self.atom("l", "x", "d"), Lit(compare=(var("d"), ">", num(2)))))
            case "left":
                hidden = ("x", "_") if column else ("_", "x")
                return Rule("left", (var("x"),), (Lit("node", ("x", "_")), Lit("l", hidden, negated=True)))
        body = (self.atom("l", "x", "d"), Lit("edge", ("x", "y", "w")))
        return Rule("best", (var("w"), var("d")), body, (1, self.random.choice(["min", "max"])))

    # --- facts and updates -----------------------------------------------------------------------------

    def facts(self, name: str) -> set[Fact]:
        size = {"edge": self.random.randint(4, 12), "node": 3, "shut": 2, "l": self.random.choice([0, 1, 2, 5])}[name]
        return {self.fact(name) for _ in range(size)}

    def fact(self, name: str) -> Fact:
        x, y = self.random.choice(KEYS), self.random.choice(KEYS)
        match name:
            case "edge" if self.heights is not None:  # no circle of edges adds up to less than 0, and many to 0
                self.shapes.add("circles of 0")
                return x, y, self.heights[y] - self.heights[x] + (self.random.random() < 0.3)
            case "edge":
                return x, y, self.random.choice(self.weights)
            case "node":
                return x, self.random.randint(0, 6)
            case "l" | "m":
                value = self.random.randint(0, 8)
                return (x, value) if self.column[name] else (value, x)
        return x, y

    def step(self, facts: dict[str, set[Fact]], rules: list[Rule]) -> Step:
        step = Step()
        for name in self.random.choices(
            ["edge", "edge", "edge", "node", "shut", "shut", "l"], k=self.random.randint(1, 3)
        ):
            here = facts.setdefault(name, set())
            if here and self.random.random() < 0.55:
                gone = set(self.random.sample(sorted(here), min(len(here), self.random.randint(1, 3))))
                step.delete.setdefault(name, set()).update(gone)
                here -= gone
            else:
                come = {self.fact(name) for _ in range(self.random.randint(1, 2))}
                step.insert.setdefault(name, set()).update(come)
                here |= come
        for name, come in step.insert.items():  # what is deleted and inserted is inserted
            step.delete.get(name, set()).difference_update(come)
        if self.random.random() < 0.3:
            self.edit(step, rules)
        return step

    def edit(self, step: Step, rules: list[Rule]) -> None:
        name = self.random.choice(["best", "l", "m"])
        if name in self.function | {"best": ""} and self.random.random() < 0.25:
            self.turn(name, step, rules)
            return
        if rules and self.random.random() < 0.5:
            gone = self.random.choice(rules)
            rules.remove(gone)
            step.remove.append(gone)
        if self.random.random() < 0.6:
            name = self.random.choice([*self.own, *LATER])
            come = self.later(name) if name in LATER else self.rule(name)
            if str(come) not in map(str, rules):
                rules.append(come)
                step.add.append(come)

    def turn(self, name: str, step: Step, rules: list[Rule]) -> None:
        """All rules of a relation go, and others come: min for max, perhaps."""
        step.remove += [rule for rule in rules if rule.predicate == name]
        if name != "best" and not any(read.predicate == name for rule in rules for read in rule.body):
            self.function[name] = self.random.choice(["min", "max"])
        if self.random.random() < 0.7:
            step.add.append(self.later(name) if name in LATER else self.rule(name))
        rules[:] = [rule for rule in rules if rule.predicate != name] + step.add


def random_script(seed: int) -> Script:
    """The script of a seed."""
    return Writer(Random(seed)).script()


def paths_script(seed: int) -> Script:
    """Shortest or longest paths and nothing else; circles of edges that add up to 0, and sometimes ones without end."""
    random = Random(seed)
    writer = Writer(random)
    writer.column, writer.function = {"l": 1, "m": 1}, {"l": random.choice(["min", "min", "max"]), "m": "min"}
    writer.heights = {key: random.randint(0, 3) for key in KEYS}
    if random.random() < 0.3:
        writer.heights, writer.weights = None, random.choice([(-1, 1, 1), (0, 0, 1), (0, 1, 3)])
    step = (writer.atom("l", "x", "d"), Lit("edge", ("x", "y", "w")))
    rules = [
        writer.head("l", var("x"), var("v"), (Lit("node", ("x", "v")),)),
        writer.head("l", var("y"), op("+", var("d"), var("w")), step),
    ]
    facts = {"edge": {writer.fact("edge") for _ in range(7)}, "node": {writer.fact("node") for _ in range(2)}}
    script = Script(rules, {name: set(found) for name, found in facts.items()}, shapes={"paths"})
    script.steps = [_of_paths(random, writer, facts) for _ in range(6)]
    return script


def _of_paths(
    random: Random, writer: Writer, facts: dict[str, set[Fact]], names: tuple[str, ...] = ("node", "edge", "edge")
) -> Step:
    name = random.choice(names)
    gone = set(random.sample(sorted(facts[name]), min(len(facts[name]), 1 + (name == "edge"))))
    come = {writer.fact(name)} if random.random() < 0.4 else set()
    facts[name] = (facts[name] - gone) | come
    return Step({name: gone - come}, {name: come})


def supporting_script(seed: int) -> Script:
    """Facts that came from worse values of their own groups, and support each other when those are gone."""
    random = Random(seed)
    writer = Writer(random)
    writer.column, writer.function, writer.heights, writer.weights = {"l": 1, "m": 1}, {"l": "min"}, None, (0, 1, 3)
    step = (writer.atom("l", "x", "d"), Lit("edge", ("x", "y", "w")))
    low = Lit(compare=(var("d"), "<", num(9)))
    rules = [writer.head("l", var("y"), op("min", var("d"), var("w")), step)]
    if random.random() < 0.5:
        rules = [
            writer.head("open", var("y"), num(0), (*step, low)),
            writer.head("l", var("x"), num(2), (Lit("open", ("x",)),)),
        ]
    facts = {"edge": {writer.fact("edge") for _ in range(6)}, "l": {writer.fact("l") for _ in range(2)}}
    script = Script(rules, {name: set(found) for name, found in facts.items()}, shapes={"supporting"})
    script.steps = [_of_paths(random, writer, facts, ("l", "l", "edge")) for _ in range(5)]
    return script
