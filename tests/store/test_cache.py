"""The cache of what follows: with it a knowledge base is what it would be without it, and it is never believed."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import BlankNode, Iri, KnowledgeBase, Literal, Record, Update
from holdfast.knowledge import derived_cache, evaluation
from holdfast.store import derived
from holdfast.store.writing import Store
from tests.equivalence.runs import KINDS, Kind

from .damage import WAYS, harm
from .test_random import compared
from .test_store import VALUES, whole

PROGRAM = """
reach(x, y) :- edge(x, y).
reach(x, z) :- reach(x, y), edge(y, z), !bad(z).
far(x, n) :- reach(x, _), n = count : { reach(x, _) }.
closure(x, y) :- link(x, y).
closure(x, z) :- closure(x, y), closure(y, z).
both(x) :- closure(x, y), reach(y, _).
"""
FACTS = {"edge": [(n, (7 * n + 3) % 50) for n in range(50)], "bad": [(3,), (9,)], "link": [(1, 2), (2, 3), (40, 41)]}


@pytest.fixture(autouse=True)
def _everything_is_worth_caching(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "worth_caching", 0.0)


class Evaluated:
    """Which hyper-nodes are evaluated."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.nodes: list[str] = []
        original = evaluation.evaluate

        def evaluate(nodes: Any, *rest: Any, **named: Any) -> Any:
            nodes = list(nodes)
            self.nodes += [name for node in nodes for name in node.predicates]
            return original(nodes, *rest, **named)

        monkeypatch.setattr(evaluation, "evaluate", evaluate)

    def taken(self) -> list[str]:
        found, self.nodes = self.nodes, []
        return found


def numbers(kb: KnowledgeBase) -> dict[str, dict[Any, Any]]:
    return {name: dict(kb.counters(name)) for name in kb}


def steps(kb: KnowledgeBase) -> list[Any]:
    """What some updates do."""
    updates = [
        Update(delete={"edge": [(3, 24)], "link": [(1, 2)]}),
        Update(insert={"edge": [(3, 24), (60, 61)], "bad": [(10,)]}),
        Update(add_rules="two(x, z) :- edge(x, y), edge(y, z)."),
        Update(delete={"bad": [(9,)]}, insert={"link": [(3, 1)]}),
    ]
    return [kb.apply(update) for update in updates]


def test_what_is_opened_from_the_cache_is_what_is_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, evaluated = tmp_path / "kb", Evaluated(monkeypatch)
    holdfast.from_text(PROGRAM, FACTS, store=folder).close()
    assert set(evaluated.taken()) >= {"reach", "closure"}
    shutil.copytree(folder, tmp_path / "anew")
    shutil.rmtree(tmp_path / "anew/derived")
    with holdfast.open(folder) as kb:
        assert evaluated.taken() == []
        with holdfast.open(tmp_path / "anew") as other:
            assert whole(kb) == whole(other)
            assert numbers(kb) == numbers(other)
            assert steps(kb) == steps(other)
            assert whole(kb) == whole(other)
            assert numbers(kb) == numbers(other)
    assert (tmp_path / "anew/derived").exists()  # it was written again


def test_what_modules_derive_is_evaluated_again_where_it_would_be_many_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derived_cache, "_FEW", 0)
    program = "closure(x, y) :- link(x, y).  closure(x, z) :- closure(x, y), closure(y, z)."
    program += " reach(x, y) :- edge(x, y).  bad(x) :- bad(x), edge(x, x)."
    facts = {**FACTS, "link": [(n, n + 1) for n in range(60)]}
    folder, evaluated = tmp_path / "kb", Evaluated(monkeypatch)
    with holdfast.from_text(program, facts, store=folder) as kb:
        assert "closure" in kb._backend.virtual  # type: ignore[attr-defined]
    evaluated.taken()
    with holdfast.open(folder) as kb:
        assert evaluated.taken() == ["closure"]
        other = holdfast.from_text(program, facts)
        assert whole(kb) == whole(other)
        assert steps(kb) == steps(other)
        assert numbers(kb) == numbers(other)


def test_the_cache_is_that_of_the_snapshot_and_the_log_comes_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, evaluated = tmp_path / "kb", Evaluated(monkeypatch)
    with holdfast.from_text(PROGRAM, FACTS, store=folder) as kb:
        steps(kb)
        kb.compact()
        kb.apply(Update(insert={"edge": [(70, 71)]}))
        kb.apply(Update(remove_rules=["r3"]))
        before, counts = whole(kb), numbers(kb)
    assert [path.name for path in (folder / "derived").iterdir()] == ["4"]
    evaluated.taken()
    with holdfast.open(folder) as kb:
        assert (whole(kb), numbers(kb)) == (before, counts)
        assert "reach" not in evaluated.taken()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_random_programs_with_a_cache(kind: Kind, tmp_path: Path) -> None:
    for seed in range(100, 104):
        compared(kind.script(seed), tmp_path / str(seed), random.Random(seed))


def test_values_get_their_ids_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
    .type Pair = [a: number, b: Pair]
    .type Shape = Round {r: float} | Flat {name: symbol, at: Pair}
    .decl any(x: any)  .decl pair(x: Pair)  .decl shape(x: Shape)  .decl same(x: any)
    same(x) :- any(x).
    .decl first(n: number)
    first(n) :- pair([n, _]).
    """
    inner = Record((1, Record((2, holdfast.values.NIL))))
    facts = {
        "any": [(value,) for value in (*VALUES, Iri("http://x"), BlankNode("y"), Literal("z", language="de"), "ü😀")],
        "pair": [(inner,), (holdfast.values.NIL,)],
        "shape": [(Record((1.5,), "Round"),), (Record(("a", inner), "Flat"),)],
    }
    evaluated = Evaluated(monkeypatch)
    with holdfast.from_text(program, facts, store=tmp_path / "kb") as kb:
        before = whole(kb)
    evaluated.taken()
    with holdfast.open(tmp_path / "kb") as kb:
        assert evaluated.taken() == []
        assert whole(kb) == before
        kb.apply(Update(insert={"any": [("new",), (Iri("http://a/b"),)], "pair": [(Record((5, inner)),)]}))
        assert (5,) in kb["first"]
        kb.apply(Update(delete={"any": facts["any"]}))
        assert set(kb["same"]) == {("new",)}


def test_other_modules_or_another_engine_mean_evaluating_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, evaluated = tmp_path / "kb", Evaluated(monkeypatch)
    with holdfast.from_text(PROGRAM, FACTS, store=folder) as kb:
        before = whole(kb)
    evaluated.taken()
    with holdfast.open(folder, modules=()) as kb:
        assert whole(kb) == before
        assert set(evaluated.taken()) >= {"reach", "closure"}
    monkeypatch.setattr(derived, "engine_hash", lambda: "another")
    with holdfast.open(folder) as kb:
        assert whole(kb) == before
        assert set(evaluated.taken()) >= {"reach", "closure"}


def test_a_damaged_cache_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, evaluated, chance = tmp_path / "kb", Evaluated(monkeypatch), random.Random(1)
    monkeypatch.setattr(derived, "_PIECE", 100)  # bytes: arrays have several checksums
    with holdfast.from_text(PROGRAM, FACTS, store=folder) as kb:
        before = whole(kb)
        changes = steps(holdfast.from_text(PROGRAM, FACTS))
    entries = json.loads((folder / "derived/0/index.json").read_text())["arrays"].values()
    assert max(len(checksums) for _, _, checksums, _, _ in entries) > 2
    assert len({name for name, *_ in entries} - {""}) < len(entries)  # arrays of zeros have no files
    files = sorted(path for path in (folder / "derived").rglob("*") if path.is_file())
    anew = 0
    for turn in range(2 * len(files)):
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        harm(copy / files[turn % len(files)].relative_to(folder), WAYS[turn % len(WAYS)], chance)
        evaluated.taken()
        with holdfast.open(copy) as kb:
            assert whole(kb) == before
            assert steps(kb) == changes
        anew += "reach" in evaluated.taken()
        shutil.rmtree(copy)
    assert anew > len(files)  # what is appended to an array, or zeros in the place of zeros, does no harm


def test_the_hash_tables_of_updates_are_read_when_an_update_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    original = derived._read_late

    def reading(folder: Path, entry: Any) -> Any:
        read.append(entry[0])
        return original(folder, entry)

    monkeypatch.setattr(derived, "_read_late", reading)
    program, facts = "p(x) :- q(x, _).  r(x) :- s(x, _).", {"q": [(1, 2), (3, 4)], "s": [(5, 6)]}
    folder = tmp_path / "kb"
    holdfast.from_text(program, facts, store=folder).close()
    with holdfast.open(folder) as kb:
        assert set(kb["p"]) == {(1,), (3,)}
        assert (1, 2) in kb["q"] and len(kb.query("q(3, y), p(3)")) == 1
        memory = kb._backend.nbytes  # type: ignore[attr-defined]
        assert read == []
        kb.apply(Update(insert={"q": [(1, 7)]}, delete={"q": [(3, 4), (9, 9)]}))
        assert set(kb["p"]) == {(1,)}
        assert len(set(read)) == len(read) == 2  # of q and p
        assert kb._backend.nbytes >= memory  # type: ignore[attr-defined]  # they were counted before


@pytest.mark.parametrize("way", ["altered", "missing", "all missing"])
def test_a_hash_table_that_cannot_be_read_is_made_again(way: str, tmp_path: Path) -> None:
    folder, chance = tmp_path / "kb", random.Random(2)
    holdfast.from_text(PROGRAM, FACTS, store=folder).close()
    late = json.loads((folder / "derived/0/index.json").read_text())["late"]
    with holdfast.open(folder) as kb:
        for name, *_ in late.values():
            if way == "altered":
                harm(folder / "derived/0" / name, "flip", chance)
            elif way == "missing":
                (folder / "derived/0" / name).unlink()
        if way == "all missing":
            shutil.rmtree(folder / "derived/0")
        other = holdfast.from_text(PROGRAM, FACTS)
        assert steps(kb) == steps(other)
        assert whole(kb) == whole(other)
        assert numbers(kb) == numbers(other)
        kb.compact()
    with holdfast.open(folder) as kb:
        assert whole(kb) == whole(other)


def test_rows_of_deleted_facts_do_not_pile_up_over_the_cache(tmp_path: Path) -> None:
    facts, folder = [(n, n) for n in range(20_000)], tmp_path / "kb"
    with holdfast.from_text("p(x) :- q(x, _).", {"q": facts}, store=folder) as kb:
        kb.apply(Update(delete={"q": facts[:9_000]}))
        kb.compact()
    with holdfast.open(folder) as kb:
        table = kb._backend.tables["q"]  # type: ignore[attr-defined]
        assert table.size == 20_000
        kb.apply(Update(delete={"q": facts[9_000:14_000]}))
        assert table.size == 6_000
        assert set(kb["p"]) == {(n,) for n in range(14_000, 20_000)}


def test_small_programs_have_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "worth_caching", 1e9)
    holdfast.from_text(PROGRAM, FACTS, store=tmp_path / "kb").close()
    assert not (tmp_path / "kb/derived").exists()
