"""Random programs whose features meet: any two of them may be in one rule.

Relations stand in layers: a rule reads its own layer and those below, by negation and aggregates only those below.
Numbers that rules compute are held within bounds by a comparison, and no rule builds a recursive record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from .rules import (
    Aggregate,
    Atom,
    Call,
    Const,
    Either,
    Literal,
    Make,
    NotAll,
    Plus,
    Relation,
    Rule,
    Term,
    Test,
    Var,
    Wild,
    body_text,
)
from .values import FIELDS, SYMBOLS, TYPES, declared, domain, writable

Row = tuple[Any, ...]
TYPED = ("number", "number", "symbol", "any", "wide", "unsigned", "float", "nan", *FIELDS)
UNTYPED = ("number", "number", "symbol", "float")
ORDERED = ("number", "symbol", "wide", "unsigned", "float")
PREFIX = "@prefix ex: <http://example.org/> .\n"
FUNCTORS = {"swap": ("symbol", "symbol"), "turn": ("number", "number"), "pick": ("number", "symbol", "symbol")}
COMPONENT = """.comp Net<T> {
  .decl in(x: T, y: T)
  .decl out(x: T, y: T)
  out(x, y) :- in(x, y), !in(y, x).
  out(x, z) :- out(x, y), in(y, z).
}
"""


@dataclass
class Program:
    """What is declared, the rules that an update may add, those of components, and which of them are there at first."""

    declarations: str
    relations: list[Relation]
    pool: list[Rule]
    fixed: list[Rule] = field(default_factory=list)
    first: list[Rule] = field(default_factory=list)

    def text(self, rules: Sequence[Rule]) -> str:
        return self.declarations + "".join(f"{rule}\n" for rule in rules)


@dataclass(frozen=True)
class Query:
    """A body, the values of its parameters, and the types of its variables by name."""

    body: tuple[Literal, ...]
    parameters: dict[str, Any]
    types: dict[str, str]

    @property
    def text(self) -> str:
        return body_text(self.body)


@dataclass
class Draw:
    """A source of programs, rules, queries and facts."""

    random: Random

    def __post_init__(self) -> None:
        self.typed = self.random.random() < 0.8
        self.types = [*self.random.sample(TYPED, 3), "number"] if self.typed else list(UNTYPED)
        self.values = {t: self._some(t) for t in dict.fromkeys((*TYPED, *UNTYPED))}
        self.relations: list[Relation] = []

    def _some(self, type_: str) -> list[Any]:
        values = domain(type_)
        return self.random.sample(values, min(len(values), self.random.choice((3, 4, 6))))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def program(self) -> Program:
        pool: list[Rule] = []
        base = [self.relation("e", i) for i in range(self.random.randint(2, 4))]
        fixed = self._component(base) if self.typed and self.chance(0.2) else []
        self.relations += base
        for layer in range(self.random.randint(1, 3)):
            below = list(self.relations)
            own = [self.relation(f"p{layer}", i) for i in range(self.random.randint(1, 3))]
            pool += [Body(self, [*below, *own], below).rule(own) for _ in range(self.random.randint(2, 5))]
            pool += [self.closure(r, below) for r in own if len(r.types) == 2 and len(set(r.types)) == 1]
            own += self._special(layer, below, pool)
            self.relations += own
        share = self.random.choice((0.4, 0.7, 1.0))
        first = [rule for rule in pool if self.chance(share)]
        return Program(self._declarations(bool(fixed)), self.relations, pool, fixed, first)

    def relation(self, group: str, number: int, kind: str = "plain") -> Relation:
        types = tuple(self.random.choice(self.types) for _ in range(self.random.choice((0, 1, 1, 2, 2, 2, 3))))
        key = f"{group}_{number}"
        name = self.random.choice((key, key, key, f"ex:{key}", f"odd {key}")) if self.typed else key
        if self.typed and group != "e" and self.chance(0.15):
            kind, types = "eqrel", (self.random.choice(self.types),) * 2
        return Relation(key, name, types, kind)

    def _special(self, layer: int, below: list[Relation], pool: list[Rule]) -> list[Relation]:
        """Relations with a form of their own: limits, counts in heads, rules whose callers bind their variables."""
        made = []
        if self.chance(0.35):
            made.append(self._limit(f"l{layer}", below, pool))
        if self.chance(0.3):
            key = f"h{layer}"
            counted = Relation(key, key, (*self.random.choices(self.types, k=self.random.randint(0, 2)), "number"))
            body = Body(self, below, below, plain=True)
            pool.append(body.counting(counted, self.random.choice(("count", "sum"))))
            made.append(counted)
        if self.typed and self.chance(0.25):
            type_ = self.random.choice(["number", *(t for t in self.types if t not in FIELDS)])
            asked = Relation(f"i{layer}", f"i{layer}", (type_, type_), "inline")
            made.append(asked)
        return made

    def _limit(self, key: str, below: list[Relation], pool: list[Rule]) -> Relation:
        kind = self.random.choice(("min", "max"))
        limit = Relation(key, key, (*self.random.choices(self.types, k=self.random.randint(0, 2)), "number"), kind)
        forms = (False, True, True)
        pool += [Body(self, below, below, plain=True).limit(limit, recursive=recursive) for recursive in forms]
        return limit

    def closure(self, relation: Relation, below: Sequence[Relation]) -> Rule:
        x, y, z = Var(1), Var(2), Var(3)
        same = [r for r in below if r.types == relation.types and r.kind != "inline"]
        first = self.random.choice([relation, *same])
        return Rule((Atom(relation, (x, z)),), (Atom(first, (x, y)), Atom(relation, (y, z))))

    def _component(self, base: list[Relation]) -> list[Rule]:
        x, y, z = Var(1), Var(2), Var(3)
        rules = []
        for name in ("net", "second")[: self.random.randint(1, 2)]:
            type_ = self.random.choice(("number", "symbol", "any", "float"))
            into, out = (
                Relation(f"{name}_{end}", f"{name}.{end}", (type_, type_), "component") for end in ("in", "out")
            )
            rules.append(Rule((Atom(out, (x, y)),), (Atom(into, (x, y)), Atom(into, (y, x), True))))
            rules.append(Rule((Atom(out, (x, z)),), (Atom(out, (x, y)), Atom(into, (y, z)))))
            base += [into]
            self.relations.append(out)
        return rules

    def _declarations(self, component: bool) -> str:
        if not self.typed:
            return ""
        functors = [f".functor {name}({', '.join(types[:-1])}): {types[-1]}\n" for name, types in FUNCTORS.items()]
        own = [f"{r.declaration}\n" for r in self.relations if r.kind != "component"]
        inits = [
            f".init {r.name[:-3]} = Net<{declared(r.types[0])}>\n" for r in self.relations if r.name.endswith(".in")
        ]
        asked = [f"{r.written}(x, y) :- x != y.\n" for r in self.relations if r.kind == "inline"]
        return "".join([PREFIX, TYPES, *functors, COMPONENT if component else "", *own, *inits, *asked])

    # --- facts, queries ------------------------------------------------------------------------------

    def fact(self) -> tuple[Relation, Row]:
        relation = self.random.choice([r for r in self.relations if r.kind != "inline"])
        return relation, tuple(self.value(t) for t in relation.types)

    def facts(self, most: int) -> list[tuple[Relation, Row]]:
        return [self.fact() for _ in range(self.random.randint(0, most))]

    def value(self, type_: str) -> Any:
        return self.random.choice(self.values[type_])

    def query(self) -> Query:
        """A body with values for its parameters."""
        body = Body(self, [r for r in self.relations if r.kind != "inline"], self.relations)
        body.fill()
        parameters: dict[str, Any] = {}
        items = [self._with_parameters(lit, parameters) for lit in body.literals]
        return Query(tuple(items), parameters, {var.name.lstrip("?"): type_ for var, type_ in body.bound.items()})

    def _with_parameters(self, literal: Literal, parameters: dict[str, Any]) -> Literal:
        if not isinstance(literal, Atom):
            return literal

        def changed(term: Term) -> Term:
            if isinstance(term, Const) and self.chance(0.5):
                name = f"p{len(parameters)}"
                parameters[name] = term.value
                return replace(term, parameter=name)
            return term

        return replace(literal, arguments=tuple(map(changed, literal.arguments)))


class Body:
    """The body of a rule in the making: its literals, and the variables that they bind, by type."""

    def __init__(self, draw: Draw, here: Sequence[Relation], below: Sequence[Relation], *, plain: bool = False) -> None:
        self.draw, self.random, self.plain = draw, draw.random, plain
        self.here = [r for r in here if r.kind != "inline"]
        self.below = [r for r in below if r.kind != "inline"]
        self.asked = [r for r in below if r.kind == "inline"]
        self.literals: list[Literal] = []
        self.bound: dict[Var, str] = {}
        self.shown: dict[Var, str] = {}  # witnesses: what binds them outside would make them groups
        self.number = 0

    def rule(self, own: Sequence[Relation]) -> Rule:
        self.fill()
        heads = self.random.choices(own, k=self.random.choice((1, 1, 1, 2)))
        return Rule(tuple(self.head(head) for head in heads), tuple(self.literals))

    def fill(self) -> None:
        for _ in range(self.random.choice((0, 1, 1, 2, 2, 3))):
            self.literals.append(self.atom(self.random.choice(self.here)))
        forms = [self.test, self.negation, self.either, self.equation]
        forms += [] if self.plain else [self.aggregate, self.witness, self.not_all, self.call, self.taken_apart]
        for _ in range(self.random.choice((0, 1, 1, 2, 3)) + (not self.literals)):
            self.random.choice(forms)()
        if not self.literals:
            self.literals.append(Test("=", Const(1, "number"), Const(1, "number")))
        self.random.shuffle(self.literals)
        self.bound |= self.shown

    def counting(self, head: Relation, function: str) -> Rule:
        self.literals += [self.atom(self.random.choice(self.below)) for _ in range(self.random.randint(1, 2))]
        self.test()
        return Rule((self.head(head, computed=False),), tuple(self.literals), function)

    def limit(self, head: Relation, *, recursive: bool) -> Rule:
        value: Term
        if recursive:
            own = Var(self.fresh())
            groups = tuple(self.argument(t, 0.1) for t in head.types[:-1])
            self.literals.append(Atom(head, (*groups, own)))
            if self.random.random() < 0.8:
                self.literals.append(self.atom(self.random.choice(self.below)))
            value = own
            if head.kind == "min":
                self.literals.append(Test("<", own, Const(5, "number")))
                value = self.random.choice((own, Plus(own, 1)))
        else:
            self.literals.append(self.atom(self.random.choice(self.below)))
            value = self.given("number")
        arguments = tuple(self.given(t) for t in head.types[:-1])
        return Rule((Atom(head, (*arguments, value)),), tuple(self.literals), head.kind)

    # --- terms ---------------------------------------------------------------------------------------

    def fresh(self) -> int:
        self.number += 1
        return self.number

    def new(self, type_: str) -> Var:
        var = Var(self.fresh())
        self.bound[var] = type_
        return var

    def of(self, type_: str) -> list[Var]:
        return [var for var, t in self.bound.items() if t == type_ or (type_ == "any" and t == "symbol")]

    def const(self, type_: str) -> Const:
        values = [v for v in self.draw.values[type_] if writable(v)] or [v for v in domain(type_) if writable(v)]
        return Const(self.random.choice(values), type_)

    def given(self, type_: str) -> Term:
        """A bound variable, or a constant."""
        known = self.of(type_)
        return self.random.choice(known) if known and self.draw.chance(0.85) else self.const(type_)

    def argument(self, type_: str, wild: float = 0.15) -> Term:
        chance = self.random.random()
        known = self.of(type_)
        if chance < wild:
            return Wild()
        if chance < wild + 0.12:
            return self.const(type_)
        if chance < wild + 0.25 and type_ in FIELDS:
            return self.pattern(type_)
        return self.random.choice(known) if known and self.draw.chance(0.5) else self.new(type_)

    def pattern(self, type_: str) -> Make:
        branch = self.random.choice(list(FIELDS[type_]))
        return Make(branch, tuple(self.argument(t) for t in FIELDS[type_][branch]))

    def head(self, relation: Relation, *, computed: bool = True) -> Atom:
        return Atom(relation, tuple(self.made(t) if computed else self.given(t) for t in relation.types))

    def made(self, type_: str) -> Term:
        """What a head may hold: also what is computed, if it stays within bounds."""
        if type_ == "number" and self.of("number") and self.draw.chance(0.2):
            return self.step(self.random.choice(self.of("number")))
        if type_ in ("Pair", "Both", "Tag") and self.draw.chance(0.4):
            branch = self.random.choice(list(FIELDS[type_]))
            return Make(branch, tuple(self.given(t) for t in FIELDS[type_][branch]))
        if self.draw.typed and not self.plain and self.draw.chance(0.15):
            for name, types in FUNCTORS.items():
                if types[-1] == type_:
                    return Call(name, tuple(self.given(t) for t in types[:-1]))
        return self.given(type_)

    def step(self, var: Var) -> Plus:
        up = self.draw.chance(0.6)
        self.literals.append(Test("<", var, Const(5, "number")) if up else Test(">", var, Const(-2, "number")))
        return Plus(var, 1 if up else -1)

    # --- literals ------------------------------------------------------------------------------------

    def atom(self, relation: Relation) -> Atom:
        return Atom(relation, tuple(self.argument(t) for t in relation.types))

    def negation(self) -> None:
        asked = [r for r in self.asked if self.of(r.types[0])]
        if asked and self.draw.chance(0.5):
            relation = self.random.choice(asked)
            variables = self.of(relation.types[0])
            pair = (self.random.choice(variables), self.given(relation.types[0]))
            self.literals.append(Atom(relation, pair, self.draw.chance(0.3)))
            return
        relation = self.random.choice(self.below)
        arguments = (Wild() if self.draw.chance(0.25) else self.built(t) for t in relation.types)
        self.literals.append(Atom(relation, tuple(arguments), True))

    def built(self, type_: str) -> Term:
        if type_ in FIELDS and self.draw.chance(0.3):
            branch = self.random.choice(list(FIELDS[type_]))
            return Make(branch, tuple(self.given(t) for t in FIELDS[type_][branch]))
        return self.given(type_)

    def test(self) -> None:
        if not self.bound:
            return
        var, type_ = self.random.choice(list(self.bound.items()))
        operators = ("<", "<=", ">", ">=", "!=", "=") if type_ in ORDERED else ("=", "!=")
        others: list[Term] = [*self.of(type_), self.const(type_)]
        right = self.given(type_) if type_ != "any" else self.random.choice(others)
        self.literals.append(Test(self.random.choice(operators), var, right))

    def equation(self) -> None:
        """A variable that only an equation binds."""
        type_ = self.random.choice(self.draw.types)
        term = self.built(type_)
        var = self.new(type_)
        self.literals.append(Test("=", var, term) if self.draw.chance(0.7) else Test("=", term, var))

    def either(self) -> None:
        relation = self.random.choice([r for r in self.here if r.types] or [None])
        if relation is None:
            return
        place = self.random.randrange(len(relation.types))
        type_ = relation.types[place]
        known = [(Wild() if self.draw.chance(0.5) else self.given(t)) for t in relation.types]
        var = self.new(type_)
        known[place] = var
        other = Test("=", var, self.const(type_))
        self.literals.append(Either(((Atom(relation, tuple(known)),), (other,))))

    def not_all(self) -> None:
        bodies, bound = [], set()
        for relation in self.random.choices(self.below, k=2):
            arguments = tuple(Wild() if self.draw.chance(0.3) else self.given(t) for t in relation.types)
            bound |= {a for a in arguments if isinstance(a, Var)}
            bodies.append(Atom(relation, arguments))
        self.literals.append(NotAll(tuple(bodies), tuple(sorted(bound, key=lambda v: v.number))))

    def call(self) -> None:
        if self.draw.typed:
            name, types = self.random.choice(list(FUNCTORS.items()))
            term = Call(name, tuple(self.given(t) for t in types[:-1]))
            known = self.of(types[-1])
            var = self.random.choice(known) if known and self.draw.chance(0.4) else self.new(types[-1])
            self.literals.append(Test("=", var, term))

    def taken_apart(self) -> None:
        records = [(var, t) for var, t in self.bound.items() if t in FIELDS]
        if records:
            var, type_ = self.random.choice(records)
            self.literals.append(Test("=", var, self.pattern(type_)))

    def _inner(self) -> tuple[list[Literal], dict[Var, str]]:
        """The body of an aggregate, and its own variables; outer ones may be among its arguments."""
        outer = dict(self.bound)
        body: list[Literal] = [self.atom(self.random.choice(self.below)) for _ in range(self.random.choice((1, 1, 2)))]
        local = {var: t for var, t in self.bound.items() if var not in outer}
        if self.draw.chance(0.3):
            relation = self.random.choice(self.below)
            body.append(Atom(relation, tuple(self.given(t) for t in relation.types), True))
        if local and self.draw.chance(0.3):
            var, type_ = self.random.choice(list(local.items()))
            body.append(Test("!=", var, self.given(type_) if type_ != "any" else self.const("any")))
        self.bound = outer
        return body, local

    def aggregate(self) -> None:
        body, local = self._inner()
        if local and self.draw.chance(0.2):
            self._nest(body, local)
        function, target, type_ = self._target(local, ("count", "sum", "min", "max"))
        if type_ == "number" and self.of("number") and self.draw.chance(0.3):
            left: Term = self.random.choice(self.of("number"))
            operator = self.random.choice(("<", "=", "!="))
        else:
            left, operator = self.new(type_), "="
        self.literals.append(Aggregate(left, operator, function, target, tuple(body), tuple(local)))

    def _target(self, local: dict[Var, str], functions: Sequence[str]) -> tuple[str, Term | None, str]:
        function = self.random.choice(functions)
        fitting = ["number"] if function == "sum" else list(ORDERED)
        targets = [(var, t) for var, t in local.items() if t in fitting]
        if function == "count" or not targets:
            return "count", None, "number"
        target, type_ = self.random.choice(targets)
        return function, target, type_

    def _nest(self, body: list[Literal], local: dict[Var, str]) -> None:
        """An aggregate within, over one of the variables of the body around it."""
        outer, self.bound = self.bound, dict(local)
        inner, deeper = self._inner()
        atoms = [lit for lit in body if isinstance(lit, Atom) and not lit.negated]
        self.bound = outer
        if atoms:
            result = Var(self.fresh())
            local[result] = "number"
            body.append(Aggregate(result, "=", "count", None, tuple(inner), tuple(deeper)))

    def witness(self) -> None:
        body, local = self._inner()
        function, target, type_ = self._target(local, ("min", "max"))
        others = [var for var in local if var != target]
        if target is None or not others:
            return
        shown = {var: local[var] for var in self.random.sample(others, self.random.randint(1, len(others)))}
        self.shown |= shown
        left = self.new(type_)
        kept = tuple(var for var in local if var not in shown)
        self.literals.append(Aggregate(left, "=", function, target, tuple(body), kept, tuple(shown)))
        if self.draw.chance(0.5):
            self.literals += [Test("!=", var, self.const(t)) for var, t in shown.items()]
            self._use(shown)

    def _use(self, shown: dict[Var, str]) -> None:
        """What may read witnesses, and binds none of them."""
        self.bound |= shown
        self.random.choice((self.negation, self.aggregate))()
        match self.literals[-1]:
            case Aggregate(left=left, operator="=") as own if left in shown:
                self.literals[-1] = replace(own, operator="!=")
        self.bound = {var: t for var, t in self.bound.items() if var not in shown}


def functor_values() -> dict[str, Any]:
    """The functions behind `FUNCTORS`, on values."""
    places = {value: place for place, value in enumerate(SYMBOLS)}
    return {
        "swap": lambda s: SYMBOLS[(places[s] * 5 + 3) % len(SYMBOLS)],
        "turn": lambda n: (n * 3 + 1) % 5,
        "pick": lambda n, s: SYMBOLS[(places[s] + n) % len(SYMBOLS)],
    }
