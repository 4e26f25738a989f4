"""Random programs with facts: safe, stratified and ending by construction, on domains so small that joins hit.

Predicates stand in layers.  A rule reads its own layer and those below, negation and aggregates only those below.
Every column has a type, every variable a name that tells its type, so a program is also well typed; integers
made by arithmetic are held within bounds by a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

from holdfast.values import NIL, Iri, Record, Row

T = TypeVar("T")
Draw = Callable[[int, int], int]
"""A number from … to …, by Hypothesis or by a random generator of one's own."""

DOMAIN: dict[str, tuple[Any, ...]] = {
    "number": (0, 1, 2, 3, -1),
    "symbol": ("a", "b", "c", "a b"),
    "float": (0.5, 1.0, 2.5),
    "any": (1, 2.5, "1", "a", Iri("http://example.org/a")),
    "Pair": (NIL, Record((0, "a")), Record((1, "b")), Record((0, "a b"))),
    "List": (NIL, Record((0, NIL)), Record((1, Record((0, NIL)))), Record((0, Record((1, Record((0, NIL))))))),
    "Tree": (
        Record((), "None"),
        Record((1,), "Leaf"),
        Record((Record((0,), "Leaf"), Record((), "None")), "Node"),
        Record((Record((Record((2,), "Leaf"), Record((1,), "Leaf")), "Node"), Record((1,), "Leaf")), "Node"),
    ),
}
NAMES = {
    "number": ("x", "y", "z", "?w"),
    "symbol": ("s", "T", "u"),
    "float": ("f", "g"),
    "any": ("m", "n"),
    "Pair": ("pair", "other"),
    "List": ("list", "rest"),
    "Tree": ("tree", "left", "right"),
}
STRUCTURES = {  # what a value is made of and taken apart into
    "Pair": (("", ("number", "symbol")),),
    "List": (("", ("number", "List")),),
    "Tree": (("None", ()), ("Leaf", ("number",)), ("Node", ("Tree", "Tree"))),
}
TYPES = (
    ".type Pair = [n: number, s: symbol]",
    ".type List = [head: number, tail: List]",
    ".type Tree = None {} | Leaf {n: number} | Node {l: Tree, r: Tree}",
)
ARITIES = (2, 2, 2, 1, 1, 3, 2, 0)
BOUND = 6  # integers made by arithmetic stay within -BOUND … BOUND


@dataclass(frozen=True)
class Features:
    """What a random program may contain; the judges do not know everything that we do."""

    types: tuple[str, ...] = ("number", "number", "number", "symbol", "float")
    aggregates: tuple[str, ...] = ("count", "sum", "min", "max", "mean", "median")
    head_aggregates: bool = True
    disjunction: bool = True
    functors: bool = True
    string_order: bool = True
    any_columns: bool = True  # in programs with declarations
    outer_in_aggregate: bool = True  # an aggregate's body may compare with an outer variable
    witnesses: bool = False  # variables of the body of a min or max may be used outside, its target among them


EVERYTHING = Features()
WITNESSES = replace(EVERYTHING, aggregates=("min", "max", "min", "max", "count"), witnesses=True)
RECORDS = Features(types=("number", "number", "symbol", *STRUCTURES))
COUNTABLE = Features(aggregates=(), head_aggregates=False, disjunction=False)
FOR_CLINGO = Features(
    types=("number", "number", "symbol"),
    aggregates=("count", "sum", "min", "max"),
    head_aggregates=False,
    functors=False,
    any_columns=False,
)
FOR_NEMO = replace(FOR_CLINGO, string_order=False, outer_in_aggregate=False)


@dataclass(frozen=True)
class Predicate:
    name: str
    types: tuple[str, ...]


@dataclass(frozen=True)
class RuleSketch:
    heads: tuple[str, ...]
    body: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.heads)} :- {', '.join(self.body)}."


@dataclass(frozen=True)
class Sketch:
    """A program as pieces of text that can be shuffled, and its facts."""

    declarations: tuple[str, ...]
    text_facts: tuple[str, ...]
    rules: tuple[RuleSketch, ...]
    facts: dict[str, list[Row]]
    predicates: tuple[Predicate, ...]

    @property
    def text(self) -> str:
        return "\n".join([*self.declarations, *self.text_facts, *map(str, self.rules)]) + "\n"

    def shuffled(self, random: Random) -> Sketch:
        """The same program in another order of rules and of body literals."""
        rules = [
            RuleSketch(tuple(random.sample(r.heads, len(r.heads))), tuple(random.sample(r.body, len(r.body))))
            for r in self.rules
        ]
        return Sketch(
            self.declarations,
            tuple(random.sample(self.text_facts, len(self.text_facts))),
            tuple(random.sample(rules, len(rules))),
            self.facts,
            self.predicates,
        )

    def __repr__(self) -> str:
        return f"\n{self.text}facts = {self.facts!r}"


def literal(value: Any) -> str:
    """A value as the language writes it."""
    if isinstance(value, Record):
        return "nil" if value.is_nil else structured(value.branch, map(literal, value.fields))
    return f'"{value}"' if isinstance(value, str) else str(value)


def structured(branch: str, fields: Iterable[str]) -> str:
    """A record or a branch of an algebraic data type."""
    inside = ", ".join(fields)
    return (f"${branch}({inside})" if inside else f"${branch}") if branch else f"[{inside}]"


@dataclass
class RuleBuilder:
    """One rule in the making: its literals so far and the variables they bind."""

    draw: Draw
    features: Features
    here: Sequence[Predicate]  # may be read positively
    below: Sequence[Predicate]  # may be negated and aggregated
    body: list[str] = field(default_factory=list)
    bound: dict[str, list[str]] = field(default_factory=lambda: {type_: [] for type_ in DOMAIN})
    made: int = 0
    looks_out: bool = False
    wildcards: bool = True  # in the body of a head aggregate they are no variables; the oracle knows only one kind

    def pick(self, options: Sequence[T]) -> T:
        return options[self.draw(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        return bool(self.draw(0, 99) >= 100 - percent)

    def fresh(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"

    def bind(self, name: str, type_: str) -> str:
        if name not in self.bound[type_]:
            self.bound[type_].append(name)
        return name

    # --- literals ------------------------------------------------------------------------------------

    def atom(self, predicate: Predicate) -> str:
        return f"{predicate.name}({', '.join(self.argument(type_) for type_ in predicate.types)})"

    def argument(self, type_: str) -> str:
        if type_ in STRUCTURES and self.chance(40):
            return self.pattern(type_)
        match self.draw(0, 9):
            case 8 if self.chance(50):
                return literal(self.pick(DOMAIN[type_]))
            case 9 if self.wildcards:
                return "_"
            case _:
                return self.bind(self.pick(NAMES[type_]), type_)

    def pattern(self, type_: str) -> str:
        """A record that is taken apart; what is in it may be taken apart, too."""
        branch, fields = self.pick(STRUCTURES[type_])
        return structured(branch, [self.argument(field) for field in fields])

    def making(self, type_: str) -> str:
        """A record of bound variables and constants; never of records that are bound, or recursion might not end."""
        branch, fields = self.pick(STRUCTURES[type_])
        return structured(
            branch,
            [
                literal(self.pick(DOMAIN[field]))
                if field in STRUCTURES or not self.bound[field]
                else self.pick(self.bound[field])
                for field in fields
            ],
        )

    def record(self) -> None:
        """An equation that takes a record apart or makes one."""
        type_ = self.pick(tuple(STRUCTURES))
        if self.bound[type_] and self.chance(60):
            sides = [self.pick(self.bound[type_]), self.pattern(type_)]
        else:
            made = self.making(type_)
            sides = [self.bind(self.fresh("v"), type_), f"as({made}, {type_})" if made[0] == "[" else made]
        self.body.append(" = ".join(sides if self.chance(50) else sides[::-1]))

    def closed_argument(self, type_: str) -> str:
        """An argument under negation: bound, constant or wildcard."""
        if self.bound[type_] and self.chance(75):
            return self.pick(self.bound[type_])
        return "_" if self.chance(50) else literal(self.pick(DOMAIN[type_]))

    def negation(self) -> None:
        predicate = self.pick(self.below)
        mark = self.pick(("!", "not "))
        self.body.append(f"{mark}{predicate.name}({', '.join(map(self.closed_argument, predicate.types))})")

    def comparison(self) -> str:
        type_ = self.pick([t for t in self.bound if self.bound[t]] or ["number"])
        left = self.pick(self.bound[type_]) if self.bound[type_] else literal(self.pick(DOMAIN[type_]))
        right = self.pick(self.bound[type_]) if self.bound[type_] and self.chance(50) else None
        ordered = type_ not in ("any", *STRUCTURES) and (type_ != "symbol" or self.features.string_order)
        operator = self.pick(("=", "!=", "<", "<=", ">", ">=") if ordered else ("=", "!="))
        return f"{left} {operator} {right or literal(self.pick(DOMAIN[type_]))}"

    def arithmetic(self) -> None:
        if not self.bound["number"]:
            return
        a, b = self.pick(self.bound["number"]), self.pick((*self.bound["number"], "1", "2"))
        forms = [f"{a} + {b}", f"{a} - {b}", f"{a} * {b}", f"({a} + 1) * 2"]
        if self.features.functors:
            forms += [f"max({a}, {b})", f"min({a}, {b})", f"{a} / 2", f"{a} % 3", f"abs({a})", f"-{a}"]
        new = self.fresh("v")
        self.body.append(f"{new} = {self.pick(forms)}")
        self.body += [f"{new} <= {BOUND}", f"-{BOUND} <= {new}"]
        self.bind(new, "number")

    def text(self) -> None:
        if not self.bound["symbol"]:
            return
        a, b = self.pick(self.bound["symbol"]), self.pick((*self.bound["symbol"], '"c"'))
        new = self.fresh("v")
        match self.draw(0, 3):
            case 0:
                self.body += [f"{new} = cat({a}, {b})", f"strlen({new}) < 4"]
                self.bind(new, "symbol")
            case 1:
                self.body.append(f"{new} = strlen({a})")
                self.bind(new, "number")
            case 2:
                self.body.append(f"{new} = substr({a}, 0, 1)")
                self.bind(new, "symbol")
            case _:
                self.body.append(self.pick((f"contains({b}, {a})", f'match("a.*", {a})', f"!contains({b}, {a})")))

    def disjunction(self) -> None:
        """Branches that bind nothing new, or one variable that both bind."""
        if self.chance(50) and any(self.bound.values()):
            self.body.append(f"({self.comparison()} ; {self.closed_atom()})")
            return
        type_ = self.pick(self.features.types)
        holders = [p for p in self.here if type_ in p.types]
        if len(holders) >= 1:
            name = self.pick(NAMES[type_])
            self.body.append(f"({self.holder(holders, type_, name)} ; {self.holder(holders, type_, name)})")
            self.bind(name, type_)

    def closed_atom(self) -> str:
        predicate = self.pick(self.here)
        return f"{predicate.name}({', '.join(map(self.closed_argument, predicate.types))})"

    def holder(self, holders: Sequence[Predicate], type_: str, name: str) -> str:
        predicate = self.pick(holders)
        place = predicate.types.index(type_)
        rest = [name if i == place else self.closed_argument(t) for i, t in enumerate(predicate.types)]
        return f"{predicate.name}({', '.join(rest)})"

    # --- aggregates ----------------------------------------------------------------------------------

    def aggregate(self) -> None:
        """`v = f e : { q(outer, local, _), … }` over a predicate below."""
        function = self.pick(self.features.aggregates)
        numeric = [p for p in self.below if "number" in p.types or "float" in p.types]
        if not numeric:
            function = "count"
        predicate = self.pick(self.below if function == "count" else numeric)
        local: dict[str, list[str]] = {type_: [] for type_ in DOMAIN}
        arguments = [self.inner_argument(type_, local) for type_ in predicate.types]
        target, type_ = "", "number"
        if function != "count":
            place = self.pick([i for i, t in enumerate(predicate.types) if t in ("number", "float")])
            arguments[place] = self.fresh("k")
            target, type_ = f" {arguments[place]}", predicate.types[place]
            local[type_].append(arguments[place])
        inner = [f"{predicate.name}({', '.join(arguments)})"]
        numbers = [name for name in local["number"] if name in arguments]
        if numbers and self.chance(30):
            inner.append(f"{self.pick(numbers)} {self.pick(('<', '>=', '!='))} {self.other_side()}")
        new = self.fresh("v")
        self.body.append(f"{new} = {function}{target} : {{ {', '.join(inner)} }}")
        if type_ == "number" and function not in ("mean", "median"):
            self.body += [f"{new} <= {BOUND}", f"-{BOUND} <= {new}"]
        self.bind(new, "float" if function in ("mean", "median") else type_)
        if self.features.witnesses and function in ("min", "max"):
            self.witness({t: [name for name in names if name in arguments] for t, names in local.items()}, target[1:])

    def witness(self, local: dict[str, list[str]], target: str) -> None:
        """Use the target of a min or max outside, and perhaps other variables of its body."""
        for type_, names in local.items():
            for name in names:
                if self.chance(70 if name == target else 40):
                    self.bind(name, type_)
                    self.use(name, type_)

    def use(self, name: str, type_: str) -> None:
        """A literal with a variable, or nothing: then the head may have it."""
        holders = [p for p in self.here if type_ in p.types]
        others = [other for other in self.bound[type_] if other != name]
        match self.draw(0, 5):
            case 0 if holders:
                self.body.append(self.holder(holders, type_, name))
            case 1 if others:
                self.body.append(f"{name} {self.pick(('=', '!='))} {self.pick(others)}")
            case 2 if others and type_ == "number":
                self.body.append(f"{name} = {self.pick(others)} {self.pick('+-')} {self.pick('01')}")
            case 3 if type_ == "number":
                self.body.append(f"{name} {self.pick(('<', '>=', '='))} {self.pick(('1', '2'))}")

    def other_side(self) -> str:
        """What an aggregate's body compares with.

        That is an outer variable in one aggregate of a rule only (E0306), and not in a rule that may be recursive,
        where the aggregate would have to wait for the recursion (E0502).
        """
        nonrecursive = len(self.here) == len(self.below)
        if self.features.outer_in_aggregate and nonrecursive and self.bound["number"] and not self.looks_out:
            self.looks_out = True
            return self.pick(self.bound["number"])
        return self.pick(("1", "2"))

    def inner_argument(self, type_: str, local: dict[str, list[str]]) -> str:
        match self.draw(0, 9):
            case 0 | 1 | 2 if self.bound[type_]:
                return self.pick(self.bound[type_])
            case 3:
                return "_"
            case 4:
                return literal(self.pick(DOMAIN[type_]))
            case _:
                name = self.pick(local[type_]) if local[type_] and self.chance(15) else self.fresh("k")
                local[type_] = list({*local[type_], name})
                return name

    # --- heads ---------------------------------------------------------------------------------------

    def head(self, predicate: Predicate) -> str:
        return f"{predicate.name}({', '.join(map(self.head_argument, predicate.types))})"

    def head_argument(self, type_: str) -> str:
        if type_ == "any" and self.bound["symbol"] and self.chance(30):
            return self.pick(self.bound["symbol"])  # a symbol is a value of any kind
        if type_ in STRUCTURES and self.chance(30):
            return self.making(type_)
        if not self.bound[type_] or self.chance(10):
            return literal(self.pick(DOMAIN[type_]))
        name = self.bound[type_][-1] if self.chance(40) else self.pick(self.bound[type_])
        if type_ == "number" and self.chance(15):
            self.body.append(f"{name} < {BOUND}")
            return f"{name} + 1"
        return name


def random_rule(
    draw: Draw, features: Features, heads: Sequence[Predicate], here: Sequence[Predicate], below: Sequence[Predicate]
) -> RuleSketch:
    build = RuleBuilder(draw, features, here, below)
    for _ in range(draw(1, 3)):
        build.body.append(build.atom(build.pick(here)))
    extras: list[Callable[[], None]] = [build.negation, lambda: build.body.append(build.comparison()), build.arithmetic]
    extras += [build.text] if features.functors else []
    extras += [build.record, build.record] if STRUCTURES.keys() & set(features.types) else []
    extras += [build.disjunction] if features.disjunction else []
    extras += [build.aggregate] if features.aggregates else []
    for _ in range(draw(0, 2)):
        build.pick(extras)()
    chosen = [build.pick(heads)] + ([build.pick(heads)] if build.chance(10) else [])
    return RuleSketch(tuple(build.head(predicate) for predicate in chosen), tuple(build.body))


def random_head_aggregate(draw: Draw, head: Predicate, below: Sequence[Predicate]) -> RuleSketch | None:
    """`h(group…, f(t)) :- body` for a head whose last column is numeric; the body lies below."""
    build = RuleBuilder(draw, EVERYTHING, below, below, wildcards=False)
    for _ in range(draw(1, 2)):
        build.body.append(build.atom(build.pick(below)))
    if not head.types or head.types[-1] in ("symbol", "any", *STRUCTURES) or not build.bound["number"]:
        return None
    function = build.pick(("count", "sum", "min", "max") if head.types[-1] == "number" else ("mean", "median"))
    group = [build.pick(build.bound[t]) if build.bound[t] else literal(DOMAIN[t][0]) for t in head.types[:-1]]
    term = f"{function}({build.pick(build.bound['number'])})"
    return RuleSketch((f"{head.name}({', '.join([*group, term])})",), tuple(build.body))


def random_predicates(draw: Draw, features: Features, prefix: str, least: int, most: int) -> list[Predicate]:
    arities = [ARITIES[draw(0, len(ARITIES) - 1)] for _ in range(draw(least, most))]
    return [
        Predicate(f"{prefix}{i}", tuple(features.types[draw(0, len(features.types) - 1)] for _ in range(arity)))
        for i, arity in enumerate(arities)
    ]


def random_rows(draw: Draw, predicate: Predicate, least: int, most: int) -> list[Row]:
    def row() -> Row:
        return tuple(DOMAIN[t][draw(0, len(DOMAIN[t]) - 1)] for t in predicate.types)

    return [row() for _ in range(draw(least, most))]


def written(predicate: Predicate, row: Row) -> str:
    return f"{predicate.name}({', '.join(map(literal, row))})."


@st.composite
def sketches(draw: Callable[[st.SearchStrategy[int]], int], features: Features = EVERYTHING) -> Sketch:
    """A random program with its facts."""
    return sketch(lambda least, most: draw(st.integers(least, most)), features)


def sketch(draw: Draw, features: Features = EVERYTHING) -> Sketch:
    """A random program with its facts, whatever gives the numbers."""
    structures = bool(STRUCTURES.keys() & set(features.types))
    declared = bool(draw(0, 1)) or structures
    if declared and features.any_columns:
        features = replace(features, types=(*features.types, "any"))
    least = (8, 4, 0) if declared else (8, 4, 1)  # without a declaration, the facts tell the types
    data = random_predicates(draw, features, "e", 1, 3)
    facts: dict[str, list[Row]] = {p.name: random_rows(draw, p, least[draw(0, 2)], 12) for p in data}
    known, rules, text_facts = list(data), [], []
    for layer in range(draw(1, 3)):
        own = random_predicates(draw, features, f"p{layer}", 1, 2)
        rules += [random_rule(draw, features, [predicate], known, known) for predicate in own]
        rules += [random_rule(draw, features, own, [*known, *own], known) for _ in range(draw(0, 3))]
        if features.head_aggregates and draw(0, 3) == 3:
            head = random_predicates(draw, features, f"h{layer}", 1, 1)[0]
            aggregated = random_head_aggregate(draw, head, [*known, *own])
            rules += [aggregated] if aggregated else []
            own += [head] if aggregated else []
        for predicate in own:
            if draw(0, 4) == 4:
                facts[predicate.name] = random_rows(draw, predicate, 0, 2)
            if draw(0, 4) == 4:
                text_facts += [written(predicate, row) for row in random_rows(draw, predicate, 0, 2)]
        known += own
    declarations = [*(TYPES if structures else ()), *map(declare, known)] if declared else []
    text = " ".join([*declarations, *text_facts, *map(str, rules)])
    used = [p for p in known if f"{p.name}(" in text]  # facts of a relation that nothing mentions are refused
    facts = {p.name: facts[p.name] for p in used if p.name in facts}
    return Sketch(tuple(declarations), tuple(text_facts), tuple(rules), facts, tuple(used))


def declare(predicate: Predicate) -> str:
    return f".decl {predicate.name}({', '.join(f'c{i}: {t}' for i, t in enumerate(predicate.types))})"
