"""Where a relation's name becomes a file's: different relations, different files, or a word about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.errors import DataError
from holdfast.formats.paths import file_stem
from holdfast.program.model import Relation
from tests.formats.relations import relation


def named(display: str) -> Relation:
    return relation(name=display)


@given(st.sets(st.text(min_size=1, max_size=6) | st.text("aéB./\\% ~:", min_size=190, max_size=210)))
def test_different_names_are_different_files(names: set[str]) -> None:
    stems = {file_stem(named(name)) for name in names}
    assert len(stems) == len(names)
    assert all("/" not in stem and len(stem) <= 200 for stem in stems)


@pytest.mark.parametrize("length", [199, 260, 5000])
def test_long_names_go_out_and_come_back(tmp_path: Path, length: int) -> None:
    name = "p" * length
    kb = holdfast.from_text(f"{name}(1). {name}(2).\n.output {name}\n")
    [path] = kb.write_outputs(tmp_path)
    assert path.read_text(encoding="utf-8") == "1\n2\n"
    again = holdfast.from_text(f"q(x) :- {name}(x).\n", tmp_path)
    assert sorted(again["q"]) == [(1,), (2,)]


def test_one_file_for_two_relations_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ex_knows.facts").write_text("a\tb\n", encoding="utf-8")
    rules = "@prefix ex: <http://e/> .\np(?x) :- ex:knows(?x, _).\n"
    assert len(holdfast.from_text(rules, tmp_path)["p"]) == 1
    with pytest.raises(DataError, match=r"E0624.*ex:knows and ex_knows would both be read from"):
        holdfast.from_text(rules + "q(?x) :- ex_knows(?x, _).\n", tmp_path)


@pytest.mark.parametrize("other", ["x.csv", "./x.csv", "y/../x.csv"])
def test_two_outputs_to_one_file_are_refused_before_anything_is_written(tmp_path: Path, other: str) -> None:
    text = f'p(1). q(2).\n.output p(filename="x.csv")\n.output q(filename="{other}")\n'
    (tmp_path / "y").mkdir()
    with pytest.raises(DataError, match=r"E0624.*p and q would both be written to"):
        holdfast.from_text(text, output=tmp_path)
    kb = holdfast.from_text(text)
    with pytest.raises(DataError, match="E0624"):
        kb.write_outputs(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["y"]


def test_an_rdf_file_may_hold_several(tmp_path: Path) -> None:
    text = '@prefix ex: <http://e/> .\nex:p(ex:a, ex:b). ex:C(ex:a).\n.output ex:p, ex:C(filename="x.nt")\n'
    [path] = holdfast.from_text(text).write_outputs(tmp_path)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2
