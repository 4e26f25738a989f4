"""Rules as data, written twice: in our language and, without a part of ours, in clingo's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from .values import asp, declared, structure, text


@dataclass(frozen=True)
class Relation:
    """`key` is its name in clingo, `name` the one that users give; `kind` is plain, eqrel, inline, min or max."""

    key: str
    name: str
    types: tuple[str, ...]
    kind: str = "plain"

    @property
    def declaration(self) -> str:
        columns = ", ".join(f"c{i}: {declared(t)}" for i, t in enumerate(self.types))
        return f".decl {self.written}({columns}){' ' + self.kind if self.kind in ('eqrel', 'inline') else ''}"

    @property
    def written(self) -> str:
        return f"'{self.name}'" if " " in self.name else self.name


@dataclass(frozen=True)
class Var:
    number: int

    @property
    def name(self) -> str:
        return ("x{}", "?x{}", "X{}", "_x{}")[self.number % 4].format(self.number)


@dataclass(frozen=True)
class Wild:
    pass


@dataclass(frozen=True)
class Const:
    value: Any
    type: str
    parameter: str = ""  # by which a query takes it


@dataclass(frozen=True)
class Make:
    branch: str
    fields: tuple[Term, ...]


@dataclass(frozen=True)
class Plus:
    var: Var
    step: int


@dataclass(frozen=True)
class Call:
    functor: str
    arguments: tuple[Term, ...]


Term = Var | Wild | Const | Make | Plus | Call


@dataclass(frozen=True)
class Atom:
    relation: Relation
    arguments: tuple[Term, ...]
    negated: bool = False


@dataclass(frozen=True)
class Test:
    __test__ = False
    operator: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Either:
    branches: tuple[tuple[Literal, ...], ...]


@dataclass(frozen=True)
class NotAll:
    body: tuple[Atom, ...]
    bound: tuple[Var, ...]


@dataclass(frozen=True)
class Aggregate:
    """`left operator function target : { body }`; what is neither local nor a witness is bound outside."""

    left: Term
    operator: str
    function: str
    target: Term | None
    body: tuple[Literal, ...]
    local: tuple[Var, ...]
    witnesses: tuple[Var, ...] = ()


Literal = Atom | Test | Either | NotAll | Aggregate


@dataclass(frozen=True)
class Rule:
    heads: tuple[Atom, ...]
    body: tuple[Literal, ...]
    function: str = ""  # an aggregate around the last argument of the head

    def __str__(self) -> str:
        heads = ", ".join(_head(head, self.function) for head in self.heads)
        return f"{heads} :- {body_text(self.body)}."


# --- in our language ---------------------------------------------------------------------------------


def _head(atom: Atom, function: str) -> str:
    arguments = [term_text(a) for a in atom.arguments]
    if function:
        arguments[-1] = f"{function}({arguments[-1]})"
    return f"{atom.relation.written}({', '.join(arguments)})"


def body_text(body: Iterable[Literal]) -> str:
    return ", ".join(map(literal_text, body))


def literal_text(literal: Literal) -> str:
    match literal:
        case Atom(negated=negated):
            return ("!" if negated else "") + _head(literal, "")
        case Test(operator=operator, left=left, right=right):
            return f"{term_text(left)} {operator} {term_text(right)}"
        case Either(branches=branches):
            return f"({' ; '.join(map(body_text, branches))})"
        case NotAll(body=body):
            return f"!({body_text(body)})"
        case Aggregate(left=left, operator=operator, function=function, target=target, body=body):
            over = f" {term_text(target)}" if target is not None else ""
            return f"{term_text(left)} {operator} {function}{over} : {{ {body_text(body)} }}"


def term_text(term: Term) -> str:
    match term:
        case Var():
            return term.name
        case Wild():
            return "_"
        case Const(value=value, type=type_, parameter=parameter):
            return f"${parameter}" if parameter else text(value, type_)
        case Make(branch=branch, fields=fields):
            inside = ", ".join(map(term_text, fields))
            return f"${branch}({inside})" if branch and fields else f"${branch}" if branch else f"[{inside}]"
        case Plus(var=var, step=step):
            return f"{var.name} {'-' if step < 0 else '+'} {abs(step)}"
        case Call(functor=functor, arguments=arguments):
            return f"@{functor}({', '.join(map(term_text, arguments))})"


# --- in clingo's -------------------------------------------------------------------------------------


@dataclass
class Asp:
    """Rules for clingo; what it has no form for gets relations of its own."""

    lines: list[str] = field(default_factory=list)
    fresh: count[int] = field(default_factory=lambda: count(1))

    def rule(self, rule: Rule) -> None:
        for body in branches(rule.body):
            for head in rule.heads:
                if rule.function in ("count", "sum"):
                    self._grouped(head, rule.function, body)
                else:
                    offered = head.relation if rule.function else None
                    parts = self.body(body, offered)
                    self.add(_asp_atom(head, {}, head.relation.key + ("_all" if offered else "")), parts)

    def _grouped(self, head: Atom, function: str, body: tuple[Literal, ...]) -> None:
        """`h(x, count(y)) :- body`: over the distinct values of the named variables."""
        named = sorted({v.number for literal in body for v in variables(literal)})
        row = f"g{next(self.fresh)}({','.join(['0', *(f'V{n}' for n in named)])})"
        self.add(row, self.body(body))
        groups = ",".join(["0", *(_asp_term(a, {}) for a in head.arguments[:-1])])
        value = _asp_term(head.arguments[-1], {})
        seen = f"s{next(self.fresh)}"
        self.add(f"{seen}(({groups}),{value},({','.join(['0', *(f'V{n}' for n in named)])}))", [row])
        tuple_ = "T" if function == "count" else "A,T"
        result = f"#{function} {{ {tuple_} : {seen}(G,A,T) }}"
        inner = ",".join(["0", *(f"G{i}" for i in range(len(head.arguments) - 1))])
        arguments = ",".join([*(f"G{i}" for i in range(len(head.arguments) - 1)), "N"])
        self.add(f"{head.relation.key}({arguments})", [f"{seen}(G,_,_)", f"G = ({inner})", f"N = {result}"])

    def add(self, head: str, body: Iterable[str]) -> None:
        joined = "; ".join(body)
        self.lines.append(f"{head} :- {joined}." if joined else f"{head}.")

    def body(
        self, body: Iterable[Literal], own: Relation | None = None, names: Mapping[int, str] | None = None
    ) -> list[str]:
        """`own` is the limit relation whose values are still open here; `names` are given inside aggregates only."""
        items = list(body)
        return [part for literal in items for part in self._literal(literal, own, names, items)]

    def _literal(
        self, literal: Literal, own: Relation | None, names: Mapping[int, str] | None, around: list[Literal]
    ) -> list[str]:
        known = names or {}
        match literal:
            case Atom(relation=relation, negated=negated) if relation.kind == "inline":
                left, right = (_asp_term(a, known) for a in literal.arguments)
                return [f"{left} {'=' if negated else '!='} {right}"]
            case Atom(relation=relation, negated=negated):
                key = relation.key + ("_all" if relation == own else "")
                return [("not " if negated else "") + _asp_atom(literal, known, key)]
            case Test(operator=operator, left=left, right=right):
                return [f"{_asp_term(left, known)} {operator} {_asp_term(right, known)}"]
            case NotAll(body=body, bound=bound):
                hidden = f"n{next(self.fresh)}"
                self.add(f"{hidden}({_row(bound, {})})", self.body(body))
                return [f"not {hidden}({_row(bound, known)})"]
            case Aggregate():
                return self._aggregate(literal) if names is None else self._nested(literal, names, around)
        raise AssertionError(literal)

    def _aggregate(self, a: Aggregate) -> list[str]:
        renamed = {v.number: f"L{next(self.fresh)}" for v in (*a.local, *a.witnesses)}
        inner = self.body(_wildcards_named(a.body, renamed, self.fresh), None, renamed)
        target = [_asp_term(a.target, renamed)] if a.target is not None else []
        result = f"R{next(self.fresh)}"
        parts = [f"{result} = #{a.function} {{ {','.join([*target, '0', *renamed.values()])} : {', '.join(inner)} }}"]
        parts += [f"{result} != #sup", f"{result} != #inf"] if a.function in ("min", "max") else []
        if a.witnesses:
            again = {v.number: f"F{next(self.fresh)}" for v in a.local}
            parts += [*self.body(a.body, None, again), f"{_asp_term(a.target or Wild(), again)} = {result}"]
        return [*parts, f"{_asp_term(a.left, {})} {a.operator} {result}"]

    def _nested(self, a: Aggregate, names: Mapping[int, str], around: list[Literal]) -> list[str]:
        """An aggregate inside another one has a relation: its result for the values that the other one binds."""
        own = set(a.local) | variables(a)
        bound = sorted({v for lit in a.body for v in variables(lit)} - own, key=lambda v: v.number)
        key, result = f"a{next(self.fresh)}", f"N{next(self.fresh)}"
        binding = self.body(lit for lit in around if isinstance(lit, Atom) and not lit.negated)
        parts = self._aggregate(Aggregate(a.left, "=", a.function, a.target, a.body, a.local))
        self.add(f"{key}({_row(bound, {})},{_asp_term(a.left, {})})", [*binding, *parts])
        return [f"{key}({_row(bound, names)},{result})", f"{_asp_term(a.left, names)} {a.operator} {result}"]


def _row(variables: Iterable[Var], names: Mapping[int, str]) -> str:
    return ",".join(["0", *(names.get(v.number, f"V{v.number}") for v in variables)])


WILD = 1_000_000  # the numbers of variables that stand for wildcards begin here


def _wildcards_named(body: Iterable[Literal], renamed: dict[int, str], fresh: count[int]) -> list[Literal]:
    """Inside an aggregate every `_` is a variable."""

    def named(term: Term) -> Term:
        if isinstance(term, Wild):
            number = WILD + next(fresh)
            renamed[number] = f"L{number}"
            return Var(number)
        return Make(term.branch, tuple(map(named, term.fields))) if isinstance(term, Make) else term

    return [
        Atom(lit.relation, tuple(map(named, lit.arguments))) if isinstance(lit, Atom) and not lit.negated else lit
        for lit in body
    ]


def branches(body: tuple[Literal, ...]) -> list[tuple[Literal, ...]]:
    found: list[tuple[Literal, ...]] = [()]
    for literal in body:
        choices = literal.branches if isinstance(literal, Either) else ((literal,),)
        found = [(*before, *choice) for before in found for choice in choices]
    return found


def _asp_atom(atom: Atom, names: Mapping[int, str], key: str) -> str:
    arguments = ",".join(_asp_term(a, names) for a in atom.arguments)
    return f"{key}({arguments})" if arguments else key


def _asp_term(term: Term, names: Mapping[int, str]) -> str:
    match term:
        case Var(number=number):
            return names.get(number, f"V{number}")
        case Wild():
            return "_"
        case Const(value=value, type=type_):
            return asp(value, type_)
        case Make(branch=branch, fields=fields):
            return structure(branch, [_asp_term(f, names) for f in fields])
        case Plus(var=var, step=step):
            return f"({_asp_term(var, names)}+({step}))"
        case Call(functor=functor, arguments=arguments):
            return f"@{functor}({','.join(_asp_term(a, names) for a in arguments)})"


def variables(node: Literal) -> set[Var]:
    """The variables outside of aggregates within it."""
    match node:
        case Atom(arguments=arguments):
            return {Var(n) for a in arguments for n in _of(a)}
        case Test(left=left, right=right):
            return {Var(n) for n in _of(left) | _of(right)}
        case Either(branches=branches):
            return {v for branch in branches for lit in branch for v in variables(lit)}
        case NotAll(bound=bound):
            return set(bound)
        case Aggregate(left=left, witnesses=witnesses):
            return {Var(n) for n in _of(left)} | set(witnesses)


def _of(term: Term | None) -> set[int]:
    match term:
        case Var(number=number) | Plus(var=Var(number=number)):
            return {number}
        case Make(fields=parts) | Call(arguments=parts):
            return {n for part in parts for n in _of(part)}
    return set()
