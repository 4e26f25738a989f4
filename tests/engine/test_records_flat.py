"""A program over records means what the same program means with a column for each field, whatever the updates.

A record `[a, b]` is three columns: 1, a, b; and `nil` is 0, 0, 0.  Rules are drawn at random, with records that are
taken apart, made, compared and negated, in any order of literals.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import ProgramError
from holdfast.values import NIL, Record

NUMBERS, RECORDS = ("x", "y", "z"), ("r", "s")
DECLARED = """
.type Pair = [a: number, b: number]
.decl e(r: Pair)
.decl f(n: number, r: Pair)
.decl p(r: Pair)
.decl q(n: number)
.decl m(n: number, r: Pair)
"""
FLAT = """
.decl e(t: number, a: number, b: number)
.decl f(n: number, t: number, a: number, b: number)
.decl p(t: number, a: number, b: number)
.decl q(n: number)
.decl m(n: number, t: number, a: number, b: number)
"""
COLUMNS = {"e": "r", "f": "nr", "p": "r", "q": "n", "m": "nr"}
INPUTS = ("e", "f")
unhurried = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@dataclass
class Drawn:
    """A literal or an argument twice: with records, and without."""

    record: str
    flat: str
    variables: set[str] = field(default_factory=set)


numbers = st.one_of(
    st.sampled_from(NUMBERS).map(lambda name: Drawn(name, name, {name})),
    st.integers(0, 1).map(lambda n: Drawn(f"{n}", f"{n}")),
)


@st.composite
def records(draw: st.DrawFn, wildcards: bool) -> Drawn:
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return Drawn("nil", "0, 0, 0")
    if kind < 3:
        name = draw(st.sampled_from(RECORDS))
        return Drawn(name, f"{name}t, {name}a, {name}b", {name})
    parts = [draw(numbers) if not wildcards or draw(st.integers(0, 3)) else Drawn("_", "_") for _ in "ab"]
    inside = ", ".join(part.record for part in parts)
    return Drawn(f"[{inside}]", "1, " + ", ".join(part.flat for part in parts), parts[0].variables | parts[1].variables)


@st.composite
def atoms(draw: st.DrawFn, names: str, wildcards: bool = True) -> Drawn:
    name = draw(st.sampled_from(names))
    parts = [draw(numbers if kind == "n" else records(wildcards)) for kind in COLUMNS[name]]
    return Drawn(
        f"{name}({', '.join(part.record for part in parts)})",
        f"{name}({', '.join(part.flat for part in parts)})",
        {variable for part in parts for variable in part.variables},
    )


@st.composite
def equations(draw: st.DrawFn) -> Drawn:
    name, other = draw(st.sampled_from(RECORDS)), draw(records(wildcards=False))
    sides = zip([f"{name}{part}" for part in "tab"], other.flat.split(", "), strict=True)
    record = draw(st.sampled_from([f"{name} = {other.record}", f"{other.record} = {name}"]))
    return Drawn(record, ", ".join(f"{one} = {two}" for one, two in sides), {name, *other.variables})


@st.composite
def literals(draw: st.DrawFn) -> Drawn:
    kind = draw(st.integers(0, 5))
    if kind == 0:
        atom = draw(atoms("ef", wildcards=False))
        return Drawn(f"!{atom.record}", f"!{atom.flat}", atom.variables)
    if kind == 1:
        return draw(equations())
    if kind == 2:
        name = draw(st.sampled_from(RECORDS))
        return Drawn(f"{name} != nil", f"{name}t != 0", {name})
    return draw(atoms("efpqm"))


@st.composite
def rules(draw: st.DrawFn) -> Drawn:
    body = [draw(atoms("ef")), *draw(st.lists(literals(), max_size=2))]
    head = draw(atoms("pqm", wildcards=False))
    order = draw(st.permutations(body))
    return Drawn(
        f"{head.record} :- {', '.join(literal.record for literal in order)}.",
        f"{head.flat} :- {', '.join(literal.flat for literal in order)}.",
    )


values = st.one_of(st.none(), st.tuples(st.integers(0, 1), st.integers(0, 1)))
facts = st.fixed_dictionaries(
    {
        "e": st.frozensets(st.tuples(values), min_size=3, max_size=5),
        "f": st.frozensets(st.tuples(st.integers(0, 1), values), min_size=3, max_size=8),
    }
)


changes = st.fixed_dictionaries(
    {
        "e": st.frozensets(st.tuples(values), max_size=3),
        "f": st.frozensets(st.tuples(st.integers(0, 1), values), max_size=4),
    }
)


def _flat(row: tuple[object, ...]) -> tuple[object, ...]:
    """A row with its records as columns."""
    result: list[object] = []
    for value in row:
        if isinstance(value, Record):
            result += [0, 0, 0] if value.is_nil else [1, *value.fields]
        elif isinstance(value, tuple) or value is None:
            result += [0, 0, 0] if value is None else [1, *value]
        else:
            result.append(value)
    return tuple(result)


def _state(kb: holdfast.KnowledgeBase) -> dict[str, frozenset[tuple[object, ...]]]:
    return {name: frozenset(map(_flat, kb[name])) for name in COLUMNS}


def _flat_facts(given: dict[str, frozenset[tuple[object, ...]]]) -> dict[str, list[tuple[object, ...]]]:
    return {name: [_flat(row) for row in rows] for name, rows in given.items()}


@unhurried
@given(st.lists(rules(), min_size=1, max_size=3), facts, st.lists(st.tuples(changes, changes), max_size=3))
def test_records_mean_what_their_columns_mean(
    drawn: list[Drawn],
    given: dict[str, frozenset[tuple[object, ...]]],
    updates: list[tuple[dict[str, frozenset[tuple[object, ...]]], dict[str, frozenset[tuple[object, ...]]]]],
) -> None:
    try:
        kb = holdfast.from_text(DECLARED + "\n".join(rule.record for rule in drawn), given)
        flat = holdfast.from_text(FLAT + "\n".join(rule.flat for rule in drawn), _flat_facts(given))
    except ProgramError:
        assume(False)
    assert _state(kb) == _state(flat)
    for come, gone in updates:
        kb.apply(holdfast.Update(insert=come, delete=gone))
        flat.apply(holdfast.Update(insert=_flat_facts(come), delete=_flat_facts(gone)))
        assert _state(kb) == _state(flat)


def test_a_cast_says_which_record_it_is() -> None:
    """Two types fit `[x, "a"]` as far as its fields tell; `as` decides, on both sides of equations and in functors."""
    text = """
    .type Pair = [n: number, s: symbol]
    .type Other = [n: number, s: Pair]
    .decl e(x: number)
    .decl p(x: number)
    e(1).
    p(x) :- e(x), as([x, "a"], Pair) = r, r = as([x, "a"], Pair).
    p(x + 1) :- e(x), r = as([x, "a"], Pair), ord(as([x, "a"], Pair)) = ord(r).
    """
    assert set(holdfast.from_text(text)["p"]) == {(1,), (2,)}


def test_each_value_of_a_wildcard_inside_a_record_counts() -> None:
    """As it does in a column: an aggregate ranges over the substitutions of its body."""
    text = """
    .type Pair = [n: number, t: Tree]
    .type Tree = Leaf {n: number} | Fork {pair: Pair}
    .decl e(p: Pair)
    .decl c(kind: symbol, n: number)
    e([1, $Leaf(2)]). e([1, $Leaf(3)]). e([2, $Fork([1, $Leaf(5)])]). e([2, $Fork([1, $Leaf(6)])]). e([2, $Fork(nil)]).
    c("all", n) :- n = count : { e([_, _]) }.
    c("of 1", n) :- n = count : { e([1, _]) }.
    c("nested", n) :- n = count : { e([2, $Fork([_, $Leaf(_)])]) }.
    c("sum", n) :- n = sum x : { e([x, $Leaf(_)]) }.
    c("equation", n) :- n = count : { e(r), r = [_, $Leaf(_)] }.
    """
    expected = {("all", 5), ("of 1", 2), ("nested", 2), ("sum", 2), ("equation", 2)}
    assert set(holdfast.from_text(text)["c"]) == expected


def test_the_head_says_which_record_an_aggregate_groups_by() -> None:
    """Its column has a type, though the relations that the aggregate needs have none of their own."""
    text = """
    .type Pair = [n: number, s: symbol]
    .type List = [head: number, tail: List]
    .decl e(x: number)
    .decl h(p: Pair, n: number)
    .decl l(p: List, n: number)
    e(1). e(2).
    h([1, "a"], sum(x)) :- e(x).
    h([x, "b"], count(x)) :- e(x).
    h(p, count(x)) :- e(x), p = [7, "c"].
    l([x, nil], max(x)) :- e(x).
    """
    kb = holdfast.from_text(text)
    pairs = {(Record((1, "a")), 3), (Record((1, "b")), 1), (Record((2, "b")), 1), (Record((7, "c")), 2)}
    assert set(kb["h"]) == pairs
    assert set(kb["l"]) == {(Record((n, NIL)), n) for n in (1, 2)}


def test_a_string_stays_a_string_beside_a_record_that_is_made_of_it() -> None:
    """A field of type any takes it, as a column does: it keeps its order, and fits columns of strings."""
    text = """
    .type Both = [a: any, f: float]
    .decl e(x: symbol)
    .decl h(s: symbol, b: Both)
    .decl g(b: Both)
    e("a"). e("b").
    h(x, [x, 1.0]) :- e(x), x > "a".
    h(x, r) :- e(x), x < "b", r = [x, 1.0].
    g([x, 2.0]) :- e(x), !h(x, [x, 1.0]) ; x = max y : { e(y) }.
    """
    kb = holdfast.from_text(text)
    assert set(kb["h"]) == {(x, Record((x, 1.0))) for x in ("a", "b")}
    assert set(kb["g"]) == {(Record(("b", 2.0)),)}
