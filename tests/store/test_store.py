"""A knowledge base with a store is the same when it is opened again, and what cannot be opened says why."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import holdfast
from holdfast import BlankNode, HoldfastError, Iri, KnowledgeBase, Literal, Lookahead, Record, Update
from holdfast.store.copying import copy_store
from holdfast.store.manifests import sealed, unsealed
from holdfast.store.reading import read_store
from holdfast.store.writing import Store

REACH = "reach(x, y) :- edge(x, y).  reach(x, z) :- reach(x, y), edge(y, z)."
FACTS = {"edge": [(1, 2), (2, 3)]}
MERGED = Lookahead(coalesce=1)
UNSIGNED = pa.table({"x": pa.array([5], pa.uint64())})
Whole = tuple[int, str, dict[str, Any], dict[str, Any], dict[str, Any]]


def whole(kb: KnowledgeBase) -> Whole:
    """Everything that can be seen of a knowledge base, types and names of columns too."""
    explicit = {name: frozenset(map(repr, kb.explicit(name))) for name in kb}
    facts = {name: frozenset(map(repr, kb[name])) for name in kb}
    columns = {name: (kb[name].columns, kb[name].types) for name in kb}
    return kb.version, kb.rules_text(), explicit, facts, columns


def again(kb: KnowledgeBase, folder: Path) -> KnowledgeBase:
    """The same knowledge base after it was closed, and once more after its log became a snapshot."""
    before = whole(kb)
    kb.close()
    with holdfast.open(folder) as resumed:
        assert whole(resumed) == before
        resumed.compact()
        assert whole(resumed) == before
    resumed = holdfast.open(folder)
    assert whole(resumed) == before
    return resumed


def codes(call: Callable[[], object]) -> list[str]:
    with pytest.raises(HoldfastError) as caught:
        call()
    return [found.code for found in caught.value.diagnostics]


@pytest.mark.parametrize(
    "act",
    [
        lambda kb: None,
        lambda kb: kb.apply(Update(insert={"edge": [(3, 4)]}, delete={"edge": [(1, 2), (8, 8)]})),
        lambda kb: kb.apply(Update()),
        lambda kb: kb.apply_net([Update(insert={"edge": [(5, 6)]}), Update(delete={"edge": [(5, 6), (1, 2)]})]),
        lambda kb: kb.apply_net([]),
        lambda kb: kb.apply_all([Update(insert={"edge": [(5, 6)]}), Update(delete={"edge": [(5, 6), (1, 2)]})]),
        lambda kb: kb.window([Update(insert={"edge": [(5, 6)]}), Update(delete={"edge": [(5, 6)]})]).advance(),
        lambda kb: list(kb.stream([Update(insert={"edge": [(n, n + 1)]}) for n in range(9)])),
        lambda kb: list(kb.stream([Update(insert={"edge": [(n, 0)]}) for n in range(9)], lookahead="marks")),
        lambda kb: list(kb.stream([Update(insert={"edge": [(n, 0)]}) for n in range(9)], lookahead=MERGED)),
        lambda kb: kb.apply(Update(insert={"edge": [(n, n) for n in range(1000)]})),
        lambda kb: kb.apply(Update(insert={"edge": {"x": np.arange(400), "y": np.arange(400)}})),
        lambda kb: kb.apply(Update(add_rules="two(x, z) :- edge(x, y), edge(y, z).")),
        lambda kb: kb.apply(Update(remove_rules=["r1", "r2"])),  # edge has facts, and no rule mentions it
        lambda kb: kb.apply(Update(add_rules="new(x, y) :- given(x, y).", insert={"given": [("a", 1.0)]})),
        lambda kb: kb.apply(Update(add_rules="new(x) :- given(x).", insert={"given": UNSIGNED})),
        lambda kb: [kb.apply(Update(add_rules="a(n) :- n = count : { edge(_, _) }.")), kb.apply(Update())],
        lambda kb: [kb.what_if(Update(insert={"edge": [(7, 7)]})), kb.impact(Update(remove_rules=["r1"]))],
    ],
)
def test_what_was_done_is_there_again(act: Callable[[KnowledgeBase], object], tmp_path: Path) -> None:
    kb = holdfast.from_text(REACH, FACTS, store=tmp_path / "kb")
    act(kb)
    again(kb, tmp_path / "kb").close()


def test_facts_given_in_parts_with_new_rules_get_the_same_types_again(tmp_path: Path) -> None:
    kb = holdfast.from_text(REACH, FACTS, store=tmp_path / "kb")
    with kb.update() as u:
        u.add_rules("new(x) :- given(x).")
        u.insert("given", [(1,)])
    again(kb, tmp_path / "kb").close()


@pytest.mark.parametrize("values", [[1, 2], [1.0, 2.5], ["a", "1"], pa.array([1, 2], pa.uint64())], ids=str)
def test_types_that_facts_suggest_with_new_rules_are_the_same_again(values: Any, tmp_path: Path) -> None:
    kb = holdfast.from_text(REACH, {}, store=tmp_path / "kb")
    table = pa.table({"x": values, "y": values})
    kb.apply(Update(add_rules="two(x, z) :- edge(x, y), edge(y, z).", insert={"edge": table}))
    again(kb, tmp_path / "kb").close()


def test_types_that_data_suggested_stay_when_the_data_goes(tmp_path: Path) -> None:
    kb = holdfast.from_text("p(x) :- q(x, y).", {"q": [("a", 1.5)]}, store=tmp_path / "kb")
    kb.apply(Update(delete={"q": [("a", 1.5)]}))
    with again(kb, tmp_path / "kb") as kb:
        kb.apply(Update(insert={"q": [("b", 2)]}))
        assert set(kb.explicit("q")) == {("b", 2.0)}


def test_facts_of_the_text_that_were_deleted_do_not_come_back(tmp_path: Path) -> None:
    program = ".decl e(x: number)\n.input e\ne(1). e(2).\n.decl p(x: number)\np(x) :- e(x)."
    kb = holdfast.from_text(program, {}, store=tmp_path / "kb")
    kb.apply(Update(delete={"e": [(1,)]}))
    again(kb, tmp_path / "kb").close()
    with holdfast.from_text(program, store=tmp_path / "kb") as kb:
        assert set(kb["p"]) == {(2,)}


VALUES: list[Any] = [
    *(0, 1, -1, 2**63 - 1, -(2**63), 0.0, 1.0, -1.5, 1e300, 5e-324, float("inf"), float("-inf"), float("nan")),
    *("", "a", "1", "1.0", "<http://a/b>", "_:b", '"x"', "\n\t\0", "é\u2028😀", "true", "nan"),
    *(Iri("http://a/b"), BlankNode("b"), Literal("chat", language="fr"), Literal("01", datatype="http://t")),
]


@pytest.mark.parametrize("copies", [1, 300], ids=["rows", "tables"])
def test_values_are_exactly_what_they_were(copies: int, tmp_path: Path) -> None:
    program = ".decl p(n: number, x: any)\n.decl f(x: float)\n.decl s(x: symbol)\n.decl u(x: unsigned)\n.decl z()"
    numbers = [value for value in VALUES if isinstance(value, float)]
    texts = [value for value in VALUES if isinstance(value, str)]
    facts = {
        "p": [(n, value) for n in range(copies) for value in VALUES],
        "f": [(value,) for value in (*numbers, *map(float, range(2, copies)))],
        "s": [(value,) for value in (*texts, *map(str, range(2, copies)))],
        "u": [(value,) for value in (2**64 - 1, 2**63, *range(copies))],
        "z": [()],
    }
    kb = holdfast.from_text(program, {}, store=tmp_path / "kb")
    kb.apply(Update(insert=facts))
    again(kb, tmp_path / "kb").close()


def test_records_are_exactly_what_they_were(tmp_path: Path) -> None:
    program = """
    .type Pair = [a: number, b: Pair]
    .type Shape = Round {r: float} | Flat {name: symbol, at: Pair}
    .decl p(x: Pair)  .decl s(x: Shape)
    """
    inner = Record((1, Record((2, holdfast.values.NIL))))
    facts = {
        "p": [(inner,), (holdfast.values.NIL,)],
        "s": [(Record((1.5,), "Round"),), (Record(("a", inner), "Flat"),)],
    }
    for copies in (1, 300):
        folder = tmp_path / str(copies)
        kb = holdfast.from_text(program, {}, store=folder)
        kb.apply(Update(insert={**facts, "p": [*facts["p"], *((Record((n, inner)),) for n in range(copies))]}))
        again(kb, folder).close()


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    names = ["<http://a/b#c>", "<http://b/b#c>", "'..'", "'A'", "a", "'a b'"]
    program = "".join(f"out{n}(x) :- {name}(x).\n" for n, name in enumerate(names))
    plain = [name.replace("'", "") for name in names]
    kb = holdfast.from_text(program, {name: [(n,)] for n, name in enumerate(plain)}, store=tmp_path / "kb")
    again(kb, tmp_path / "kb").close()


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_logged_update_that_did_not_happen_is_not_there(goes_on: bool, tmp_path: Path) -> None:
    kb = holdfast.from_text(REACH, FACTS, store=tmp_path / "kb")
    log = kb._state.begin_log
    assert log is not None

    def cut_short(commit: Any) -> Any:
        log(commit).finish()
        raise RecursionError  # as another thread may put into this one

    kb._state.begin_log = cut_short
    with pytest.raises(RecursionError):
        kb.apply(Update(insert={"edge": [(3, 4)]}))
    kb._state.begin_log = log
    if goes_on:
        kb.apply(Update(insert={"edge": [(5, 6)]}))
    assert ((3, 4) in kb["edge"], kb.version) == (False, int(goes_on))
    again(kb, tmp_path / "kb").close()


# --- who may write -----------------------------------------------------------------------------------


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    with holdfast.from_text(REACH, FACTS, store=folder):
        assert codes(lambda: holdfast.open(folder)) == ["E1303"]
        assert codes(lambda: holdfast.from_text(REACH, FACTS, store=folder)) == ["E1303"]
    holdfast.open(folder).close()


def test_a_closed_store_takes_nothing_and_can_be_read(tmp_path: Path) -> None:
    kb = holdfast.from_text(REACH, FACTS, store=tmp_path / "kb")
    kb.close()
    kb.close()
    assert codes(lambda: kb.apply(Update(insert={"edge": [(3, 4)]}))) == ["E1305"]
    assert codes(kb.compact) == ["E1305"]
    assert len(kb["reach"]) == 3


def test_a_copy_of_the_process_cannot_write(tmp_path: Path) -> None:
    kb = holdfast.from_text(REACH, FACTS, store=tmp_path / "kb")
    child = os.fork()
    if child == 0:
        try:
            kb.apply(Update(insert={"edge": [(3, 4)]}))
        except HoldfastError as error:
            os._exit(7 if error.diagnostics[0].code == "E1305" else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    kb.apply(Update(insert={"edge": [(9, 9)]}))
    again(kb, tmp_path / "kb").close()


def test_a_knowledge_base_that_nobody_closed_closes_its_store(tmp_path: Path) -> None:
    import gc

    holdfast.from_text(REACH, FACTS, store=tmp_path / "kb").apply(Update(insert={"edge": [(3, 4)]}))
    gc.collect()
    assert (tmp_path / "kb/CLOSED").exists()
    with holdfast.open(tmp_path / "kb") as kb:
        assert kb.version == 1


# --- what is no store --------------------------------------------------------------------------------


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert codes(lambda: holdfast.from_text(REACH, FACTS, store=tmp_path)) == ["E1301"]
    assert codes(lambda: holdfast.open(tmp_path)) == ["E1301"]
    assert codes(lambda: holdfast.from_text(REACH, FACTS, store=tmp_path / "notes.txt")) == ["E1301"]
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_store_whose_creation_was_interrupted_is_none_yet(tmp_path: Path) -> None:
    """As a first run of a pipeline that fails, or a process that is killed, leaves it."""
    holdfast.from_text(REACH, FACTS, store=tmp_path / "whole").close()
    (tmp_path / "begun").mkdir()
    for name in ("HOLDFAST", "lock"):
        (tmp_path / "begun" / name).write_bytes((tmp_path / "whole" / name).read_bytes())
    assert codes(lambda: holdfast.open(tmp_path / "begun")) == ["E1301"]
    assert codes(lambda: holdfast.open(tmp_path / "begun", read_only=True)) == ["E1301"]
    with holdfast.from_text(REACH, FACTS, store=tmp_path / "begun") as kb:
        assert kb.version == 0
    (tmp_path / "begun/CURRENT").unlink()
    assert codes(lambda: holdfast.open(tmp_path / "begun")) == ["E1306"]  # it was closed, so it was whole


@pytest.mark.parametrize("change", [{"format": 2}, {"features": ["shards"]}])
def test_a_newer_format(change: dict[str, object], tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    holdfast.from_text(REACH, FACTS, store=folder).close()
    path = folder / "HOLDFAST"
    path.write_bytes(sealed({**unsealed(path.read_bytes()), **change}))
    assert codes(lambda: holdfast.open(folder)) == ["E1302"]
    assert codes(lambda: holdfast.from_text(REACH, FACTS, store=folder)) == ["E1302"]


@pytest.mark.parametrize("exists", [False, True])
def test_a_medium_that_is_read_only(exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "kb"
    if exists:
        holdfast.from_text(REACH, FACTS, store=folder).close()
    before = sorted(tmp_path.rglob("*"))

    def read_only(path: Path, flags: int, *rest: Any, **named: Any) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY) and tmp_path in Path(path).parents:
            raise OSError(errno.EROFS, "Read-only file system")
        return opened(path, flags, *rest, **named)

    opened = os.open
    monkeypatch.setattr(os, "open", read_only)
    assert codes(lambda: holdfast.from_text(REACH, FACTS, store=folder)) == ["E1304"]
    assert [path for path in sorted(tmp_path.rglob("*")) if path != folder] == [p for p in before if p != folder]


def test_a_record_of_another_store_is_damage(tmp_path: Path) -> None:
    for name in ("one", "two"):
        holdfast.from_text(REACH, FACTS, store=tmp_path / name).apply(Update(insert={"edge": [(3, 4)]}))
    import gc

    gc.collect()
    (tmp_path / "two/log/0.hfl").write_bytes((tmp_path / "one/log/0.hfl").read_bytes())
    assert codes(lambda: holdfast.open(tmp_path / "two")) == ["E1306"]
    with pytest.raises(HoldfastError) as caught:
        holdfast.open(tmp_path / "two")
    assert caught.value.exit_code == 4


def test_a_valid_record_behind_a_broken_one_is_damage(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    with holdfast.from_text(REACH, FACTS, store=folder) as kb:
        for n in range(3):
            kb.apply(Update(insert={"edge": [(n, 9)]}))
    (folder / "CLOSED").unlink()  # as if the process had been killed
    log = folder / "log/0.hfl"
    data = bytearray(log.read_bytes())
    data[100] ^= 1
    log.write_bytes(data)
    assert codes(lambda: holdfast.open(folder)) == ["E1306"]
    assert log.read_bytes() == data


def test_no_store_on_spark_and_none_without_one(tmp_path: Path) -> None:
    assert codes(lambda: holdfast.from_text(REACH, FACTS, store=tmp_path / "kb", engine="spark")) == ["E1308"]
    assert codes(holdfast.from_text(REACH, FACTS).compact) == ["E1308"]
    assert codes(lambda: holdfast.from_text(REACH, FACTS).backup(tmp_path / "copy")) == ["E1308"]


# --- programs that change ----------------------------------------------------------------------------


def test_another_program_shows_its_impact_and_needs_migrate(tmp_path: Path) -> None:
    folder, new = tmp_path / "kb", REACH + " two(x, z) :- edge(x, y), edge(y, z). edge(7, 8)."
    with holdfast.from_text(REACH, FACTS, store=folder) as kb:
        kb.apply(Update(insert={"edge": [(3, 4)]}))
    with pytest.raises(HoldfastError) as caught:
        holdfast.from_text(new, store=folder)
    assert "it also has: two(x, z) :- edge(x, y), edge(y, z)." in str(caught.value)
    assert "brings up to date: two" in str(caught.value)
    with holdfast.from_text(new, store=folder, migrate=True) as kb:
        assert (kb.version, set(kb["two"])) == (2, {(1, 3), (2, 4)})
        assert set(kb.explicit("edge")) == {(1, 2), (2, 3), (3, 4), (7, 8)}
        before = whole(kb)
    with holdfast.from_text(new, store=folder) as kb:
        assert whole(kb) == before


def test_a_program_that_does_not_fit_the_facts_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    with holdfast.from_text(REACH, FACTS, store=folder) as kb:
        before = whole(kb)
    for other in ("p(x) :- q(x).", ".decl edge(x: symbol, y: symbol)", "p(x) :- "):
        assert codes(lambda other=other: holdfast.from_text(other, store=folder, migrate=True))  # type: ignore[misc]
        with holdfast.open(folder) as kb:
            assert whole(kb) == before


# --- logs and snapshots ------------------------------------------------------------------------------


def test_the_log_stays_within_three_times_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "smallest", 1000)
    folder, sizes = tmp_path / "kb", set[int]()
    with holdfast.from_text(REACH, FACTS, store=folder) as kb:
        kb.sync = "os"
        for n in range(200):
            kb.apply(Update(insert={"edge": [(n % 5, n % 7)]}, delete={"edge": [((n + 3) % 5, (n + 3) % 7)]}))
            [log] = (folder / "log").iterdir()
            [facts] = (folder / "facts").iterdir()
            snapshot = sum(path.stat().st_size for path in facts.iterdir())
            assert log.stat().st_size <= 3 * max(snapshot, 1000)
            sizes.add(int(facts.name))
        assert len(sizes) > 5
        again(kb, folder).close()


def test_earlier_versions_can_be_read(tmp_path: Path) -> None:
    with holdfast.from_text(REACH, FACTS, store=tmp_path / "kb") as kb:
        states = {0: whole(kb)}
        kb.apply(Update(insert={"edge": [(3, 4)]}))
        states[1] = whole(kb)
        kb.apply(Update(add_rules="two(x, z) :- edge(x, y), edge(y, z).", delete={"edge": [(1, 2)]}))
        states[2] = whole(kb)
        kb.apply_net([Update(insert={"edge": [(5, 6)]}), Update(insert={"edge": [(6, 7)]})])
        states[4] = whole(kb)
        assert {version: whole(kb.at(version)) for version in states} == states
        assert codes(lambda: kb.at(3)) == codes(lambda: kb.at(5)) == ["E1309"]
        earlier = kb.at(1)
        earlier.apply(Update(insert={"edge": [(8, 8)]}))
        assert whole(kb) == states[4]
        kb.compact()
        assert codes(lambda: kb.at(1)) == ["E1309"]
        assert whole(kb.at(4)) == states[4]
    assert codes(lambda: holdfast.from_text(REACH, FACTS).at(0)) == ["E1308"]


def test_a_backup_is_a_store(tmp_path: Path) -> None:
    with holdfast.from_text(REACH, FACTS, store=tmp_path / "kb") as kb:
        kb.apply(Update(insert={"edge": [(3, 4)]}))
        kb.backup(tmp_path / "deep/copy")
        before = whole(kb)
        kb.apply(Update(insert={"edge": [(4, 5)]}))
        assert codes(lambda: kb.backup(tmp_path / "deep/copy")) == ["E1310"]
    with holdfast.open(tmp_path / "deep/copy") as copy:
        assert whole(copy) == before
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["copy"]


def test_a_store_can_be_read_and_copied_while_another_thread_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "smallest", 300)
    folder, done, versions = tmp_path / "kb", threading.Event(), [0]
    holdfast.from_text(REACH, FACTS, store=folder).close()

    def write() -> None:
        try:
            for _ in range(4):
                with holdfast.open(folder) as kb:
                    for n in range(25):
                        kb.apply(Update(insert={"edge": [(n, n)]}))
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        versions.append(read_store(folder).version)
        copy = tmp_path / f"copy{len(versions)}"
        versions.append(copy_store(folder, copy).version)
        assert read_store(copy).version == versions[-1]
    writer.join()
    assert versions == sorted(versions)
    assert read_store(folder).version == 100


def test_sync_is_one_of_two(tmp_path: Path) -> None:
    with holdfast.from_text(REACH, FACTS, store=tmp_path / "kb") as kb:
        assert kb.sync == "full"
        kb.sync = "os"
        assert kb.sync == "os"

        def wrong() -> None:
            kb.sync = "sometimes"

        assert codes(wrong) == ["E0926"]


def test_facts_can_be_read_by_anybody(tmp_path: Path) -> None:
    holdfast.from_text(REACH, FACTS, store=tmp_path / "kb").close()
    table = pa.parquet.read_table(tmp_path / "kb/facts/0/edge.parquet")
    assert sorted(map(tuple, (row.values() for row in table.to_pylist()))) == [(1, 2), (2, 3)]
    assert json.loads((tmp_path / "kb/HOLDFAST").read_text())["format"] == 1
