"""Random programs over the whole grammar: nearly all are valid, and each says which shapes it has."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from .terms import PATTERNS, Draw, Terms

TYPES = ["number", "number", "number", "symbol", "symbol", "float", "unsigned", "any"]
_NAMES = ["x", "?y", "Z", "v1", "_w", "längd", "n", "k", "?m", "a_b"]
_COMMENTS = ["// a comment % :- .\n", "/* over\n two lines . */", "\n% all of a line: p(x) :- .\n", "// .pragma like\n"]
SHAPES = frozenset(
    {
        *("declared", "undeclared", "subtype", "alias", "union", "eqrel", "qualifier", "prefix", "default prefix"),
        *("pragma", "output", "printsize", "limitsize", "input", "rule name", "comment", "query"),
        *("quoted name", "iri name", "prefixed name", "no columns", "several heads", "recursion", "mutual recursion"),
        *("fact expression", "repeated variable", "wildcard", "computed argument", "constant argument"),
        *("equation", "equation flipped", "variable = variable", "equation chain", "comparison", "range", "range step"),
        *("negation", "not", "lonely variable", "negated test", "match", "contains", "disjunction", "negated group"),
        *("truth", "aggregate:count", "aggregate:sum", "aggregate:min", "aggregate:max", "aggregate:mean"),
        *(
            "aggregate:median",
            "nested aggregate",
            "witness",
            "aggregate in term",
            "head aggregate",
            "pattern from data",
        ),
        *(f"literal:{type}" for type in TYPES),
        *("language literal", "typed literal", "iri", "variadic", "cast", "huge unsigned"),
        *("op:neg:number", "op:bnot:number", "op:lnot:number", "op:^:number", "op:bshl:number", "op:bshru:unsigned"),
        *("functor:cat", "functor:substr", "functor:strlen", "functor:ftoi", "functor:itou", "ord", "str", "datatype"),
        *("is_iri", "is_literal", "is_blank"),
    }
)


@dataclass(frozen=True)
class Relation:
    """A relation of a random program: its name as written, and the types of its columns."""

    name: str
    types: tuple[str, ...]
    level: int


@dataclass
class Written:
    """A random program; `queries` are bodies over it, `rules` may be added to it."""

    text: str
    shapes: set[str]
    relations: list[Relation] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)


def program(seed: int) -> Written:
    """The program of a seed."""
    random = Random(seed)
    return _Program(Draw(random, plain=random.random() < 0.5)).written()


class _Program:
    def __init__(self, draw: Draw) -> None:
        self.draw, self.random = draw, draw.random
        self.declared = draw.chance(0.7)
        self.type_names: dict[str, list[str]] = {}
        self.relations: list[Relation] = []

    def written(self) -> Written:
        self.draw.note("declared" if self.declared else "undeclared")
        head = ["@prefix ex: <http://example.org/> .", "@prefix : <urn:d#> ."]
        self.draw.note("prefix")
        self.draw.note("default prefix")
        items = self._types() if self.declared else []
        base, derived = self.random.randint(2, 4), self.random.randint(1, 4)
        for number in range(base + derived):
            self.relations.append(self._relation(number, 0 if number < base else number))
        if self.declared:
            items += [self._declaration(relation) for relation in self.relations]
        for relation in self.relations[:base]:
            items += [self._fact(relation) for _ in range(self.random.randint(0, 5))]
        for relation in self.relations[base:]:
            items += [self._rule(relation) for _ in range(self.random.randint(1, 3))]
        items += self._directives()
        self.random.shuffle(items)
        text = "\n".join([*head, *(self._commented(item) for item in items)]) + "\n"
        queries = [", ".join(_Body(self, 99).made()) for _ in range(2)]
        self.draw.note("query")
        rules = [self._rule(self.random.choice(self.relations[base:]))]
        return Written(text, self.draw.shapes, self.relations, queries, rules)

    def _commented(self, item: str) -> str:
        if self.draw.chance(0.1):
            self.draw.note("comment")
            return self.draw.of(_COMMENTS) + item
        return item

    def _types(self) -> list[str]:
        if self.draw.chance(0.5):
            return []
        for shape in ("subtype", "alias", "union"):
            self.draw.note(shape)
        self.type_names = {"number": ["Id", "Both"], "symbol": ["Name"], "float": ["Weight"]}
        return [
            ".type Id = number",
            ".type Both = Id | number",
            ".type Name = symbol",
            ".type Weight = float",
            ".type Part <: Name",
        ]

    def _relation(self, number: int, level: int) -> Relation:
        types = tuple(self.random.choice(TYPES) for _ in range(self.random.choice([0, 1, 1, 2, 2, 2, 3])))
        if not types:
            self.draw.note("no columns")
        name = f"{'p' if level else 'e'}{number}"
        if self.draw.chance(0.1):
            self.draw.note("quoted name")
            name = f"'{name} it''s'"
        elif self.draw.chance(0.12) and types:
            iri = self.draw.chance(0.5)
            self.draw.note("iri name" if iri else "prefixed name")
            name, types = (f"<http://a/{name}>" if iri else f"ex:{name}"), ("any",) * min(2, len(types))
        return Relation(name, types, level)

    def _declaration(self, relation: Relation) -> str:
        columns = ", ".join(f"c{i}: {self._type_name(type)}" for i, type in enumerate(relation.types))
        qualifier = ""
        if len(relation.types) == 2 and len(set(relation.types)) == 1 and self.draw.chance(0.15) and relation.level:
            self.draw.note("eqrel")
            qualifier = " eqrel"
        elif self.draw.chance(0.1):
            self.draw.note("qualifier")
            qualifier = self.draw.of([" btree", " brie", " inline", " no_magic"])
        return f".decl {relation.name}({columns}){qualifier}"

    def _type_name(self, type: str) -> str:
        return self.draw.of([type, *self.type_names.get(type, [])])

    def _fact(self, relation: Relation) -> str:
        terms = Terms(self.draw, {})
        computed = self.draw.chance(0.15)
        if computed:
            self.draw.note("fact expression")
        arguments = [terms.term(type) if computed else terms.literal(type) for type in relation.types]
        return f"{relation.name}({', '.join(arguments)})."

    def _directives(self) -> list[str]:
        found = []
        for kind, share in (("output", 0.5), ("printsize", 0.2), ("limitsize", 0.05), ("input", 0.03)):
            if self.draw.chance(share) and not (self.draw.plain and kind in ("limitsize", "input")):
                self.draw.note(kind)
                names = ", ".join(r.name for r in self.random.sample(self.relations, self.random.randint(1, 2)))
                parameters = {"limitsize": "(n=7)", "input": '(delimiter=",", IO=file)'}.get(kind, "")
                found.append(f".{kind} {names}{parameters}")
        if self.draw.chance(0.1):
            self.draw.note("pragma")
            found.append('.pragma "a key" "a value"')
        return found

    def _rule(self, relation: Relation) -> str:
        body = _Body(self, relation.level)
        literals = body.made(recursive=relation if self.draw.chance(0.35) else None)
        heads = [self._head(relation, body)]
        if self.draw.chance(0.12):
            self.draw.note("several heads")
            heads.append(self._head(relation, body))
        name = ""
        if self.draw.chance(0.1):
            self.draw.note("rule name")
            name = f'#[name("rule {self.random.randrange(10**6)}")] '
        return f"{name}{', '.join(heads)} :- {', '.join(literals)}."

    def _head(self, relation: Relation, body: _Body) -> str:
        terms = Terms(self.draw, body.types)
        if self.draw.chance(0.1) and not body.recursive:
            arguments = [self._aggregated(type, terms) for type in relation.types]
        else:
            arguments = [
                terms.plain(t) if body.recursive or self.draw.chance(0.7) else terms.term(t) for t in relation.types
            ]
        return f"{relation.name}({', '.join(arguments)})"

    def _aggregated(self, type: str, terms: Terms) -> str:
        known = terms.variables(type)
        if type not in ("number", "float") or not known or self.draw.chance(0.4):
            return terms.plain(type)
        self.draw.note("head aggregate")
        functions = ["sum", "min", "max"] + (["count"] if type == "number" else ["mean", "median"])
        return f"{self.draw.of(functions)}({self.draw.of(known)})"


class _Body:
    """The literals of a body in any order, and the types of the variables that they bind."""

    def __init__(self, program: _Program, level: int, types: dict[str, str] | None = None, depth: int = 0) -> None:
        self.program, self.draw, self.random = program, program.draw, program.random
        self.level, self.depth, self.recursive = level, depth, False
        self.types: dict[str, str] = types if types is not None else {}

    def made(self, recursive: Relation | None = None) -> list[str]:
        literals = [self._atom(self._readable()) for _ in range(self.random.choice([0, 1, 1, 2, 2, 3]))]
        if recursive is not None:
            self.draw.note("recursion")
            self.recursive = True
            literals.append(self._atom(recursive))
            later = [r for r in self.program.relations if r.level > self.level]
            if later and self.draw.chance(0.2):
                self.draw.note("mutual recursion")
                literals.append(self._atom(self.random.choice(later)))
        others = [self._equation, self._equation, self._same, self._chain, self._comparison, self._negation]
        others += [self._test, self._disjunction, self._aggregate, self._range, self._group, self._truth]
        for _ in range(self.random.choice([0, 1, 1, 2, 3]) + (not literals)):
            literals += self.random.choice(others)()
        self.random.shuffle(literals)
        return literals or ["true"]

    def _readable(self) -> Relation:
        return self.random.choice(
            [r for r in self.program.relations if r.level < self.level] or self.program.relations[:1]
        )

    def _fresh(self, type: str) -> str:
        name = f"{self.draw.of(_NAMES)}{len(self.types)}"
        self.types[name] = type
        return name

    def _atom(self, relation: Relation) -> str:
        terms, arguments = Terms(self.draw, dict(self.types)), []
        for type in relation.types:
            known = self.draw.chance(0.35) and terms.variables(type)
            if known:
                self.draw.note("repeated variable")
                arguments.append(self.draw.of(known))
            elif self.draw.chance(0.15):
                self.draw.note("wildcard")
                arguments.append("_")
            elif self.draw.chance(0.1):
                self.draw.note("constant argument")
                arguments.append(terms.literal(type))
            elif self.draw.chance(0.08) and terms.variables(type):
                self.draw.note("computed argument")
                arguments.append(terms.term(type))
            else:
                arguments.append(self._fresh(type))
        return f"{relation.name}({', '.join(arguments)})"

    def _equation(self) -> list[str]:
        type = self.random.choice(TYPES)
        term = Terms(self.draw, dict(self.types)).term(type)
        return [self._equal(self._fresh(type), term)]

    def _equal(self, left: str, right: str) -> str:
        self.draw.note("equation")
        if self.draw.chance(0.5):
            self.draw.note("equation flipped")
            return f"{right} = {left}"
        return f"{left} = {right}"

    def _same(self) -> list[str]:
        """A variable that is another one, bound or not."""
        if not self.types:
            return self._equation()
        self.draw.note("variable = variable")
        known = self.draw.of(list(self.types))
        return [self._equal(self._fresh(self.types[known]), known)]

    def _chain(self) -> list[str]:
        self.draw.note("equation chain")
        found = self._equation()
        for _ in range(self.random.randint(1, 3)):
            found += self._same() if self.draw.chance(0.7) else self._equation()
        return found

    def _comparison(self) -> list[str]:
        self.draw.note("comparison")
        type = self.random.choice([*self.types.values(), "number"])
        terms = Terms(self.draw, self.types)
        operators = ["=", "!="] if type == "any" else ["<", "<=", ">", ">=", "!=", "="]
        return [f"{terms.plain(type)} {self.draw.of(operators)} {terms.term(type)}"]

    def _negation(self) -> list[str]:
        relation = self._readable()
        sign = self.draw.of(["!", "not "])
        self.draw.note("negation" if sign == "!" else "not")
        terms, arguments = Terms(self.draw, self.types), []
        for type in relation.types:
            if self.draw.chance(0.3):
                arguments.append("_")
            elif self.draw.chance(0.05):
                self.draw.note("lonely variable")
                arguments.append(f"lonely{self.random.randrange(10**6)}")
            else:
                arguments.append(terms.plain(type))
        return [f"{sign}{relation.name}({', '.join(arguments)})"]

    def _test(self) -> list[str]:
        terms = Terms(self.draw, self.types)
        tests = ["match", "contains"] if self.draw.plain else ["match", "contains", "is_iri", "is_literal", "is_blank"]
        test = self.draw.of(tests)
        self.draw.note(test)
        if test == "match":
            pattern = self.draw.of(PATTERNS)
            if self.draw.chance(0.2) and terms.variables("symbol"):
                self.draw.note("pattern from data")
                pattern = terms.plain("symbol")
            text = f"match({pattern}, {terms.plain('symbol')})"
        elif test == "contains":
            text = f"contains({terms.plain('symbol')}, {terms.term('symbol')})"
        else:
            text = f"{test}({terms.plain('any')})"
        if self.draw.chance(0.4):
            self.draw.note("negated test")
            return [f"!{text}"]
        return [text]

    def _disjunction(self) -> list[str]:
        self.draw.note("disjunction")
        type = self.random.choice(TYPES)
        terms = Terms(self.draw, dict(self.types))
        name = self._fresh(type)
        parts = []
        for _ in range(self.random.randint(2, 3)):
            part = f"{name} = {terms.term(type)}"
            for relation in self.program.relations:
                if relation.level < self.level and type in relation.types and self.draw.chance(0.2):
                    place = relation.types.index(type)
                    arguments = [name if i == place else "_" for i in range(len(relation.types))]
                    part = f"{relation.name}({', '.join(arguments)})"
                    break
            parts.append(part if self.draw.chance(0.7) else f"{part}, {self._comparison()[0]}")
        return [f"({' ; '.join(parts)})"]

    def _group(self) -> list[str]:
        self.draw.note("negated group")
        parts = [self._comparison()[0] for _ in range(2)]
        return [f"!({self.draw.of([' ; ', ', ']).join(parts)})"]

    def _truth(self) -> list[str]:
        self.draw.note("truth")
        return [self.draw.of(["true", "true", "!false", "false"])]

    def _range(self) -> list[str]:
        self.draw.note("range")
        type = self.random.choice(["number", "float"] if self.draw.plain else ["number", "unsigned", "float"])
        if type == "unsigned":
            self.draw.note("unsigned range")
        few = {"number": ["0", "1", "3", "-2"], "unsigned": ["0u", "2u", "4u"], "float": ["0.5", "2.0", "-1.0"]}[type]
        bounds = [self.draw.of(few), self.draw.of(few)]
        if self.draw.chance(0.3):
            self.draw.note("range step")
            bounds.append(self.draw.of(few))
        return [f"{self._fresh(type)} = range({', '.join(bounds)})"]

    def _aggregate(self) -> list[str]:
        if self.depth == 2:
            return self._comparison()
        if self.depth:
            self.draw.note("nested aggregate")
        function = self.draw.of(["count", "sum", "min", "max", "mean", "median"])
        self.draw.note(f"aggregate:{function}")
        shared = {name: type for name, type in self.types.items() if self.draw.chance(0.4)}
        inner = _Body(self.program, self.level, dict(shared), self.depth + 1)
        literals = inner.made()
        target = self.random.choice([t for t in inner.types.values() if t in ("number", "float")] or ["number"])
        given = Terms(self.draw, inner.types)
        text = f"{function} {given.term(target, 1) if function != 'count' else ''} : {{ {', '.join(literals)} }}"
        result = {"count": "number", "mean": "float", "median": "float"}.get(function, target)
        if function in ("min", "max") and self.draw.chance(0.2):
            own = [(n, t) for n, t in inner.types.items() if n not in self.types]
            if own:
                self.draw.note("witness")
                self.types.update([self.random.choice(own)])
        if self.draw.chance(0.2) and result == "number":
            self.draw.note("aggregate in term")
            return [self._equal(self._fresh(result), f"1 + ({text})")]
        return [f"{self._fresh(result)} = {text}"]
