"""Random programs around limit relations: groups of no, one or two columns, several limit relations in one circle,
values of all types, plain relations in the circle, negation and aggregates below and above it, limits over limits.

A script is text and plain data.  `e`, `n` and `s` are given; `deg`, `o`, `conn` and `bl` are derived below the circle.
`t`, `l` and `d` are limit relations with no, one and two columns beside the value, and `p` is a plain relation that may
be in the circle.  The others read what is finished.  Every relation may have explicit facts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

Row = tuple[Any, ...]
Facts = dict[str, set[Row]]
KEYS = (1, 2, 3, 4)
VALUES: dict[str, tuple[tuple[Any, ...], ...]] = {  # weights and values of facts; zero and negative ones among them
    "number": ((1, 2, 3), (0, 1, 2), (0, 0, 1), (-1, 1, 2), (-2, -1, 0), (1, 5, 9), (0,)),
    "unsigned": ((1, 2, 3), (0, 1, 2), (0,)),
    "float": ((0.5, 1.0, 2.5), (0.0, 0.5), (-0.5, 1.0)),
    "symbol": (("a", "b", "c"), ("a", "b b", "é", "")),
}
GIVEN = ("e", "n", "s")
BELOW = ("deg", "o", "conn", "bl")
CIRCLE = ("t", "l", "d", "p")
ABOVE = ("miss", "size", "sums", "far", "via", "near", "wit", "most", "back")


@dataclass
class Step:
    """One update."""

    delete: Facts = field(default_factory=dict)
    insert: Facts = field(default_factory=dict)
    remove: list[str] = field(default_factory=list)
    add: list[str] = field(default_factory=list)


@dataclass
class Script:
    """A program, its facts, and updates of both."""

    declarations: list[str]
    rules: list[str]
    facts: Facts
    steps: list[Step] = field(default_factory=list)

    def text(self, rules: list[str]) -> str:
        """The program with some rules."""
        return "\n".join([*self.declarations, *rules])


@dataclass(frozen=True)
class _Limit:
    name: str
    keys: int
    column: int
    function: str

    def atom(self, keys: list[str], value: str) -> str:
        return f"{self.name}({', '.join([*keys[: self.column], value, *keys[self.column :]])})"

    def head(self, keys: list[str], offer: str) -> str:
        return self.atom(keys, f"{self.function}({offer})")


class Writer:
    """Draws a script."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.type = random.choice(["number"] * 6 + ["unsigned", "float", "float", "symbol"])
        self.values = random.choice(VALUES[self.type])
        self.is_number = self.type != "symbol"
        way = random.choice(["min", "max"])
        self.limits = {}
        for name, keys in (("t", 0), ("l", 1), ("d", 2)):
            turned = {"min": "max", "max": "min"}[way] if random.random() < 0.12 else way
            self.limits[name] = _Limit(name, keys, random.randint(0, keys), turned)
        names = random.choice([["l"], ["l"], ["d"], ["t", "l"], ["l", "d"], ["t", "l", "d"], ["t", "d"], ["t"]])
        self.own = [self.limits[name] for name in names]
        self.has_plain = random.random() < 0.2
        self.kinds = random.choice([["add"], ["add", "copy"], ["copy"], ["bound"], ["add", "bound"], ["mixed"]])

    def script(self) -> Script:
        declared, pool = self.declarations(), list(dict.fromkeys(self.rules()))
        now = [rule for rule in pool if self.random.random() < 0.85]
        facts = {name: self.some(name, *span) for name, span in self.amounts().items()}
        script = Script(declared, list(now), {name: set(rows) for name, rows in facts.items()})
        spare = [rule for rule in pool if rule not in now]
        script.steps = [self.step(facts, now, spare) for _ in range(self.random.randint(4, 8))]
        return script

    def declarations(self) -> list[str]:
        v = self.type
        columns = {
            "e": ("number", "number", v), "n": ("number", v), "s": ("number", "number"), "deg": ("number", "number"),
            "o": ("number",), "conn": ("number", "number"), "bl": ("number", v), "p": ("number",), "miss": ("number",),
            "size": ("number",), "sums": (v,), "far": ("number", v), "via": ("number", "number"), "near": (v, "number"),
            "wit": ("number", v), "most": (v,), "back": ("number", "number"),
        }  # fmt: skip
        for limit in self.limits.values():
            types = ["number"] * limit.keys
            columns[limit.name] = (*types[: limit.column], v, *types[limit.column :])
        self.columns = columns
        return [f".decl {n}({', '.join(f'c{i}: {t}' for i, t in enumerate(ts))})" for n, ts in columns.items()]

    # --- rules -----------------------------------------------------------------------------------------

    def rules(self) -> list[str]:
        found = [rule for rule in self.below() if self.random.random() < 0.5]
        for limit in self.own:
            found += [self.base(limit) for _ in range(self.random.choice([0, 1, 1, 2]))]
            found += [self.recursive(limit) for _ in range(self.random.choice([1, 1, 2, 3]))]
        if self.has_plain:
            found += [self.plain() for _ in range(self.random.randint(1, 2))]
        return found + [rule for rule in self.above() if self.random.random() < 0.3]

    def below(self) -> list[str]:
        return [
            "deg(x, c) :- n(x, _), c = count : { e(x, _, _) }.",
            "o(x) :- s(x, _), !n(x, _).",
            "conn(x, y) :- e(x, y, _).",
            "conn(x, z) :- conn(x, y), conn(y, z).",
            "conn(x, y) :- conn(y, x), !s(x, y).",
            f"bl(x, {self.random.choice(['min', 'max'])}(w)) :- e(x, _, w).",
        ]

    def base(self, limit: _Limit) -> str:
        offers = ["v", "v", self.constant()]
        if limit.keys == 2:
            body, keys = ("e(x, y, v)", ["x", "y"]) if self.random.random() < 0.6 else ("n(x, v)", ["x", "x"])
        else:
            body, keys = self.random.choice(["n(x, v)", "e(x, _, v)", "bl(x, v)"]), ["x"][: limit.keys]
        if self.type == "number" and self.random.random() < 0.2:
            body = f"{body}, deg(x, c)"
            offers = ["c", "v + c"]
        return f"{limit.head(keys, self.random.choice(offers))} :- {body}{self.guard(['x'], [])}."

    def recursive(self, limit: _Limit) -> str:
        """A rule that probably reads the circle."""
        random, body, bound = self.random, list[str](), ["x", "y"]
        values = [self.read(random.choice(self.own), "d", body, bound)]
        link = random.choice(["e(x, y, w)"] * 4 + ["conn(x, y)", "s(x, y)", "n(x, w), n(y, _)", "bl(x, w), conn(x, y)"])
        body.append(link)
        weight = "w" if "w" in link else self.constant()
        if random.random() < 0.2:
            values.append(self.read(random.choice(self.own), "c", body, bound))
        if self.has_plain and random.random() < 0.5:
            body.append(f"p({random.choice(bound)})")
        known = [value for value in values if value is not None]
        random.shuffle(body)
        keys = [random.choice(bound) if random.random() < 0.3 else key for key in (["y"], ["x", "y"])[limit.keys == 2]]
        offer = self.offer(limit, known, weight)
        return f"{limit.head(keys[: limit.keys], offer)} :- {', '.join(body)}{self.guard(bound, known)}."

    def read(self, limit: _Limit, value: str, body: list[str], bound: list[str]) -> tuple[str, _Limit] | None:
        """An atom of the circle; gives its value, if it has a name."""
        keys = [self.random.choice([*bound, "z"]) if self.random.random() < 0.3 else key for key in ("x", "z")]
        keys = keys[: limit.keys]
        bound += [key for key in keys if key not in bound]
        named = value if self.random.random() < 0.85 else "_"
        body.append(limit.atom(keys, named))
        return None if named == "_" else (named, limit)

    def plain(self) -> str:
        body, bound = list[str](), ["x", "y"]
        value = self.read(self.random.choice(self.own), "d", body, bound)
        body.append("e(x, y, w)")
        test = ""
        if value is not None and self.random.random() < 0.6:
            test = f", d {'<=' if value[1].function == 'min' else '>='} {self.constant()}"
        return f"p({self.random.choice(['y', 'x'])}) :- {', '.join(body)}{test}."

    def offer(self, limit: _Limit, values: list[tuple[str, _Limit]], weight: str) -> str:
        if not values:
            return self.random.choice([weight, self.constant()])
        (value, read), random = values[0], self.random
        if read.function != limit.function:
            return f"6 - {value}" if self.type == "number" else weight
        kind = random.choice(self.kinds)
        kind = random.choice(["add", "copy", "bound", "two", "scaled"]) if kind == "mixed" else kind
        if not self.is_number or kind == "copy":
            return value
        match kind:
            case "add" if self.type != "unsigned" and random.random() < 0.2:
                return f"{value} - {weight}"
            case "add":
                return f"{value} + {random.choice([weight, weight, self.constant()])}"
            case "bound":
                return f"{random.choice(['min', 'max'])}({value}, {weight})"
            case "two" if len(values) > 1 and values[1][1].function == limit.function:
                return f"{random.choice(['max({}, {})', 'min({}, {})', '{} + {}'])}".format(value, values[1][0])
            case "scaled":
                return f"{value} + {value}"
        return value

    def guard(self, bound: list[str], values: list[tuple[str, _Limit]]) -> str:
        """Negated atoms, aggregates over what is below, comparisons."""
        found, random = "", self.random
        if random.random() < 0.3:
            negated = random.choice(["s({}, {})", "o({})", "n({}, _)", "conn({}, {})", "bl({}, _)", "deg({}, 1)"])
            found += f", !{negated.format(*random.choices(bound, k=2))}"
        if random.random() < 0.08:
            found += f", {random.choice(['count : { s(_, _) }', 'sum a : { s(a, _) }'])} {random.choice('<>')} 4"
        if random.random() < 0.15:
            found += f", {random.choice(bound)} {random.choice(['!=', '<', '>='])} {random.choice([*bound, '2'])}"
        if values and random.random() < 0.2:
            value, limit = random.choice(values)
            fitting = ["<", "<="] if limit.function == "min" else [">", ">="]
            found += f", {value} {random.choice(fitting if random.random() < 0.8 else ['<', '>'])} {self.constant()}"
        return found

    def above(self) -> list[str]:
        limit = self.random.choice(self.own)
        keys, first = ["x", "z"][: limit.keys], ["x", "_"][: limit.keys]
        seen, value = limit.atom(first, "_"), limit.atom(keys, "v")
        far = "x" if limit.keys else "1"
        rules = [
            f"size(c) :- c = count : {{ {limit.atom(['_', '_'][: limit.keys], '_')} }}.",
            f"far({far}, v) :- {value}, v {self.random.choice(['>', '<='])} {self.constant()}.",
            f"most({self.random.choice(['min', 'max'])}(v)) :- {value}.",
        ]
        if self.is_number and self.type != "float":  # sums of floats depend on their order
            rules.append(f"sums(c) :- c = sum v : {{ {value} }}.")
        if limit.keys:
            other = limit.atom(["y", "z"][: limit.keys], "u")
            rules += [
                f"miss(x) :- n(x, _), !{seen}.",
                f"near(v, {self.random.choice(['min', 'max'])}(x)) :- {value}.",
                f"wit(x, v) :- v = {self.random.choice(['min', 'max'])} u : {{ {limit.atom(keys, 'u')} }}.",
                "back(x, y) :- via(x, y).",
                "back(x, z) :- back(x, y), via(y, z).",
                f"via(y, x) :- {value}, {other}, e(x, y, w){', u = v + w' if self.is_number else ', u = v'}.",
            ]
        return rules

    def constant(self) -> str:
        if self.type == "symbol":
            return f'"{self.random.choice(self.values)}"'
        if self.type == "float":
            return self.random.choice(["0.0", "0.5", "3.0"])
        return str(self.random.choice([0, 0, 1, 2, 5])) + ("u" if self.type == "unsigned" else "")

    # --- facts and updates -----------------------------------------------------------------------------

    def amounts(self) -> dict[str, tuple[int, int]]:
        found = {"e": (3, 12), "n": (0, 4), "s": (0, 3)}
        found |= {limit.name: self.random.choice([(0, 0), (1, 2), (2, 5)]) for limit in self.own}
        return found | {
            name: (0, 1) for name in ("p", "conn", "bl", "deg", "near", "far") if self.random.random() < 0.2
        }

    def some(self, name: str, least: int, most: int) -> set[Row]:
        return {self.row(name) for _ in range(self.random.randint(least, most))}

    def row(self, name: str) -> Row:
        return tuple(
            self.random.choice(KEYS if type_ == "number" and (name, i) not in self.weighted else self.values)
            for i, type_ in enumerate(self.columns[name])
        )

    @property
    def weighted(self) -> set[tuple[str, int]]:
        """The columns that hold values, which are numbers like keys."""
        limits = {(limit.name, limit.column) for limit in self.limits.values()}
        return {("e", 2), ("n", 1), ("bl", 1), ("far", 1), ("near", 0), *limits}

    def step(self, facts: Facts, now: list[str], spare: list[str]) -> Step:
        step, random = Step(), self.random
        names = [*facts, "e", "e", "e", "n", *(limit.name for limit in self.own)]
        for name in random.choices(names, k=random.randint(1, 3)):
            here = facts.setdefault(name, set())
            if here and random.random() < 0.55:
                gone = self.gone(here)
                step.delete.setdefault(name, set()).update(gone)
                here -= gone
            else:
                come = self.some(name, 1, 2)
                step.insert.setdefault(name, set()).update(come)
                here |= come
        for name, come in step.insert.items():  # what is deleted and inserted is inserted
            step.delete.get(name, set()).difference_update(come)
        if random.random() < 0.25:
            self.edit(step, now, spare)
        return step

    def gone(self, here: set[Row]) -> set[Row]:
        """A few facts, all, the least or greatest ones, or all with one key."""
        rows = sorted(here)
        match self.random.randrange(8):
            case 0:
                return set(rows)
            case 1:
                best = min(row[-1] for row in rows) if self.random.random() < 0.5 else max(row[-1] for row in rows)
                return {row for row in rows if row[-1] == best}
            case 2:
                column, key = self.random.randrange(len(rows[0])), self.random.choice(rows)
                return {row for row in rows if row[column] == key[column]}
        return set(self.random.sample(rows, min(len(rows), self.random.randint(1, 3))))

    def edit(self, step: Step, now: list[str], spare: list[str]) -> None:
        if now and self.random.random() < 0.6:
            gone = self.random.choice(now)
            now.remove(gone)
            spare.append(gone)
            step.remove.append(gone)
        if self.random.random() < 0.7:
            fresh = [self.recursive(self.random.choice(self.own))] if self.random.random() < 0.4 else []
            come = self.random.choice([*fresh, *(rule for rule in spare if rule not in step.remove)] or [""])
            if come and come not in now:
                step.add.append(come)
                now.append(come)
                spare[:] = [rule for rule in spare if rule != come]


def wide_script(seed: int) -> Script:
    """The script of a seed."""
    return Writer(Random(seed)).script()
