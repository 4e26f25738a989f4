"""Records in and out: text, JSON, Parquet, Python.  What goes out comes in again; what is none is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import DataError, HoldfastError
from holdfast.values import NIL, Record, Type
from holdfast.values.number_text import NumberError
from holdfast.values.records import as_record, parse_record, record_text
from holdfast.values.structures import Structure
from tests.formats.strategies import any_values, odd_terms, strings

PAIR, TREE = Structure("Pair"), Structure("Tree")
PAIR.branches[""] = (Type.SYMBOL, Type.FLOAT, Type.UNSIGNED, PAIR)
TREE.branches.update({"Leaf": (), "Node": (Type.NUMBER, TREE, PAIR)})
MIXED = Structure("Mixed")
MIXED.branches[""] = (Type.ANY, Type.SYMBOL, MIXED)
DECLARED = """
.type Pair = [s: symbol, x: float, n: unsigned, rest: Pair]
.type Tree = Leaf {} | Node {n: number, tree: Tree, pair: Pair}
.decl p(a: Pair, t: Tree)
"""

texts = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=5)
floats = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)
pairs = st.recursive(
    st.just(NIL),
    lambda rest: st.builds(lambda *f: Record(f), texts, floats, st.integers(0, 2**64 - 1), rest),
    max_leaves=4,
)
trees = st.recursive(
    st.just(Record((), "Leaf")),
    lambda tree: st.builds(lambda *f: Record(f, "Node"), st.integers(-(2**63), 2**63 - 1), tree, pairs),
    max_leaves=3,
)


@given(pairs, trees)
def test_text_comes_back(pair: Record, tree: Record) -> None:
    assert parse_record(record_text(pair, PAIR), PAIR) == pair
    assert parse_record(record_text(tree, TREE), TREE) == tree
    assert as_record(pair, PAIR) == pair


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(pairs, trees), max_size=4), st.sampled_from(["p.csv", "p.jsonl", "p.parquet", "p.tsv"]))
def test_files_come_back(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, Any]], file: str) -> None:
    folder = tmp_path_factory.mktemp("out")
    kb = holdfast.from_text(f'{DECLARED}.output p(filename="{file}")', {"p": rows})
    assert set(kb["p"]) == set(rows)
    kb.write_outputs(folder)
    again = holdfast.from_text(f'{DECLARED}.input p(filename="{file}")', folder)
    assert set(again["p"]) == set(rows)


anything = (any_values | odd_terms).filter(lambda value: value == value)  # not NaN
mixed = st.recursive(st.just(NIL), lambda rest: st.builds(lambda *f: Record(f), anything, strings, rest), max_leaves=3)


@given(mixed)
def test_text_of_any_fields_comes_back(record: Record) -> None:
    assert repr(parse_record(record_text(record, MIXED), MIXED)) == repr(record)
    assert parse_record(record_text(record, MIXED), MIXED) == record


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(mixed, anything), max_size=4))
def test_a_store_keeps_any_fields(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, Any]]) -> None:
    """An IRI with a blank was a string in a store that was opened again; one with a comma in a record, an error."""
    folder = tmp_path_factory.mktemp("store") / "kb"
    program = ".type Mixed = [a: any, s: symbol, rest: Mixed]  .decl p(m: Mixed, a: any)"
    with holdfast.from_text(program, {"p": rows}, store=folder) as kb:
        before = set(kb["p"])
        kb.compact()
    with holdfast.open(folder) as kb:
        assert set(kb["p"]) == before


def test_as_souffle_writes_them(tmp_path: Path) -> None:
    text = ".type L = [s: symbol, rest: L]\n.decl p(x: number, l: L)\n.input p\n"
    (tmp_path / "p.facts").write_text("1\t[a b, [c, nil]]\n2\tnil\n3\t[a,nil]\n4\t[ , nil]\n")
    kb = holdfast.from_text(text, tmp_path)
    found = {n: str(record) for n, record in kb["p"]}
    assert found == {1: "[a b, [c, nil]]", 2: "nil", 3: "[a, nil]", 4: '["", nil]'}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[a, 1, 2", "ends where , should be"),
        ("[a, 1, 2, nil] x", "continues after its end: x"),
        ("[a, x, 2, nil]", "is not a float"),
        ("[a, 1, -2, nil]", "is out of range for an unsigned 64-bit number, 0 to 18446744073709551615"),
        ("[a, 1, 2, 3, nil]", "has 3 where [ should be"),
        ("", "ends where [ should be"),
    ],
)
def test_what_is_none_is_reported(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(NumberError, match=reason.replace("[", r"\[")):
        parse_record(text, PAIR)
    (tmp_path / "p.facts").write_text(f"nil\t$Leaf\n{text}\t$Leaf\n")
    with pytest.raises(DataError) as refused:
        holdfast.from_text(DECLARED + ".input p\n", tmp_path)
    [diagnostic] = refused.value.diagnostics
    assert diagnostic.code == "E0606"
    assert diagnostic.span is not None and diagnostic.span.line == 2


@pytest.mark.parametrize(
    "value",
    [
        1,
        "nil",
        (1, 2.0, 3, None),
        ("a", 1.5, 3),
        ("a", 1.5, -1, None),
        ("a", "b", 1, None),
        Record((), "Leaf"),
        {"Leaf": []},
    ],
)
def test_what_python_gives_is_held_against_the_type(value: Any) -> None:
    kb = holdfast.from_text(DECLARED, {"p": [(None, {"Leaf": []})]})
    with pytest.raises(HoldfastError) as refused:
        kb.apply(holdfast.Update(insert={"p": [(value, Record((), "Leaf"))]}))
    assert refused.value.diagnostics[0].code == "E0606"
    assert len(kb["p"]) == 1
    assert (value, Record((), "Leaf")) not in kb["p"]


def test_a_record_is_no_value_of_another_column() -> None:
    with pytest.raises(HoldfastError):
        holdfast.from_text(".decl p(x: any)\n", {"p": [(Record((1,)),)]})


def test_long_lists() -> None:
    length = 5_000
    nested: Any = None
    for number in range(length):
        nested = (number, nested)
    text = """
    .type L = [n: number, rest: L]
    .decl l(x: L) .decl n(x: number)
    l(r) :- l([_, r]), r != nil.
    n(x) :- l([x, _]).
    """
    kb = holdfast.from_text(text, {"l": [(nested,)]})
    assert len(kb["l"]) == len(kb["n"]) == length
    [(longest,)] = [row for row in kb["l"] if row[0].fields[0] == length - 1]
    structure = kb.program.relations["l"].columns[0].structure
    assert structure is not None
    assert parse_record(str(longest), structure) == longest
    kb.apply(holdfast.Update(delete={"l": [(nested,)]}))
    assert len(kb["l"]) == 0


DEEP = """.type List = [head: number, tail: List]
.decl list(l: List)
.decl first(n: number)
first(n) :- list([n, _]).
"""


def test_a_list_that_is_too_long_for_json_is_refused_and_otherwise_as_good_as_any(tmp_path: Path) -> None:
    long: Any = None
    for number in range(3000):
        long = (number, long)
    update = holdfast.Update(insert={"list": [(long,)]})
    with holdfast.from_text(DEEP, store=tmp_path / "store") as kb:  # whose log is JSON
        with pytest.raises(DataError, match="E0612"):
            kb.apply(update)
        assert kb.version == 0 and not kb["list"]
        assert len(kb.apply(holdfast.Update(insert={"list": [((1, None),)]})).added["first"]) == 1
    kb = holdfast.from_text(DEEP + '.output list(filename="list.jsonl")')
    change = kb.apply(update)
    with pytest.raises(DataError, match="E0612"):
        change.to_json()
    with pytest.raises(DataError, match="E0612"):
        kb.write_outputs(tmp_path)
    assert str(kb.why("first(2999)")).count("]") == 3000
    [(found,)] = kb["list"]
    assert set(holdfast.from_text(DEEP, {"list": [(found,)]})["first"]) == {(2999,)}
