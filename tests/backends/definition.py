"""Π⟦Ip, In : P, N⟧ by brute force, and random rules and sets for it: what every backend must agree with.

What this cannot catch: a definition misread here and in the planner alike, and anything that needs many facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from random import Random

from hypothesis import strategies as st

from holdfast.program.model import (
    Apply,
    Argument,
    Assign,
    Atom,
    BodyLiteral,
    Compare,
    Const,
    Negated,
    Rule,
    Var,
    Wildcard,
)
from holdfast.values import Type

from .memory.building import Fact, var

ARITY = {"a": 1, "b": 2, "c": 3, "z": 0}
DOMAIN = range(3)
VARIABLES = [var(name) for name in "uvwxy"]
Facts = frozenset[tuple[str, Fact]]
Binding = dict[Var, int]
EVERY_FACT = [(name, fact) for name, arity in ARITY.items() for fact in product(DOMAIN, repeat=arity)]
COMPARE = {"=": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}


# --- the definition ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sets:
    Ip: Facts
    In: Facts
    P: Facts
    N: Facts


def instances(rule: Rule, sets: Sets) -> Counter[Fact]:
    """The heads of the instances of a rule that use a fact of P or N; one for each choice of positive facts."""
    heads: Counter[Fact] = Counter()
    for used, binding in _choices([a for a in rule.body if isinstance(a, Atom)], sets.Ip, (), {}):
        full = _computed(rule, binding)
        if full is None or not all(_holds(literal, full, sets) for literal in rule.body):
            continue
        if any(fact in sets.P for fact in used) or any(_uses(literal, full, sets.N) for literal in rule.body):
            heads[tuple(_value(term, full) for term in rule.arguments)] += 1
    return heads


def _choices(
    atoms: list[Atom], facts: Facts, used: tuple[tuple[str, Fact], ...], binding: Binding
) -> Iterator[tuple[tuple[tuple[str, Fact], ...], Binding]]:
    if not atoms:
        yield used, binding
        return
    for name, fact in sorted(facts):
        extended = _matched(atoms[0], name, fact, binding)
        if extended is not None:
            yield from _choices(atoms[1:], facts, (*used, (name, fact)), extended)


def _matched(atom: Atom | Negated, name: str, fact: Fact, binding: Binding) -> Binding | None:
    if atom.predicate != name:
        return None
    extended = dict(binding)
    for argument, value in zip(atom.arguments, fact, strict=True):
        if isinstance(argument, Wildcard):
            continue
        if (argument.value if isinstance(argument, Const) else extended.setdefault(argument, value)) != value:
            return None
    return extended


def _computed(rule: Rule, binding: Binding) -> Binding | None:
    """With the variables that assignments bind; None where one of them compares and fails."""
    full = dict(binding)
    for literal in rule.body:
        if isinstance(literal, Assign) and full.setdefault(literal.variable, _value(literal.term, full)) != _value(
            literal.term, full
        ):
            return None
    return full


def _holds(literal: BodyLiteral, binding: Binding, sets: Sets) -> bool:
    match literal:
        case Negated():
            return not _uses(literal, binding, sets.In)
        case Compare(operator=operator, left=left, right=right):
            return bool(COMPARE[operator](_value(left, binding), _value(right, binding)))
    return True


def _uses(literal: BodyLiteral, binding: Binding, facts: Facts) -> bool:
    return isinstance(literal, Negated) and any(_matched(literal, n, f, binding) is not None for n, f in facts)


def _value(term: object, binding: Binding) -> int:
    match term:
        case Var():
            return binding[term]
        case Const(value=int(value)):
            return value
        case Apply(function="+", arguments=(left, right)):
            return _value(left, binding) + _value(right, binding)
    raise AssertionError(term)


# --- random rules and sets ---------------------------------------------------------------------------


@st.composite
def rules(draw: st.DrawFn, *, negated_wildcards: bool) -> Rule:
    constants = st.builds(Const, st.sampled_from(DOMAIN), st.just(Type.NUMBER))
    free = st.one_of(st.sampled_from(VARIABLES), st.sampled_from(VARIABLES), constants, st.just(Wildcard()))
    positive = [draw(_atoms(Atom, free)) for _ in range(draw(st.integers(1, 3)))]
    bound = sorted({a for atom in positive for a in atom.arguments if isinstance(a, Var)}, key=lambda v: v.name)
    known: st.SearchStrategy[Argument] = st.one_of(st.sampled_from(bound), constants) if bound else constants
    maybe_wild = st.one_of(known, st.just(Wildcard())) if negated_wildcards else known
    negated = [draw(_atoms(Negated, maybe_wild)) for _ in range(draw(st.integers(0, 2)))]
    others: list[BodyLiteral] = []
    if draw(st.booleans()):
        others.append(Compare(draw(st.sampled_from(sorted(COMPARE))), draw(known), draw(known)))
    if bound and draw(st.booleans()):
        total = Apply("+", (draw(known), draw(known)), Type.NUMBER)
        others.append(Assign(draw(st.sampled_from([*bound, var("sum")])), total))
    head = draw(st.lists(known, min_size=1, max_size=3))
    if any(isinstance(literal, Assign) and literal.variable.name == "sum" for literal in others):
        head[0] = var("sum")
    body = draw(st.permutations([*positive, *negated, *others]))
    return Rule("r", "head", tuple(head), tuple(body))  # type: ignore[arg-type]  # no wildcard among the known


def _atoms(kind: type[Atom | Negated], argument: st.SearchStrategy[Argument]) -> st.SearchStrategy[Atom | Negated]:
    names = st.sampled_from(["a", "b", "b", "c", "z"])
    return names.flatmap(lambda name: st.builds(kind, st.just(name), st.tuples(*[argument] * ARITY[name])))


@st.composite
def some_sets(draw: st.DrawFn) -> Sets:
    chance = Random(draw(st.integers(0, 2**32)))
    shares = [draw(st.sampled_from([0.1, 0.4, 0.7])) for _ in range(4)]
    return Sets(*(frozenset(f for f in EVERY_FACT if chance.random() < share) for share in shares))


def pivots(rule: Rule) -> list[int]:
    return [i for i, literal in enumerate(rule.body) if isinstance(literal, Atom | Negated)]


def orders(rule: Rule, pivot: int) -> list[tuple[int, ...]]:
    atoms = [i for i, literal in enumerate(rule.body) if isinstance(literal, Atom)]
    return list(permutations(atoms if pivot in atoms else [pivot, *atoms]))
