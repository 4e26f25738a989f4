"""`holdfast store`."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast as library
from holdfast import Update
from tests.cli.shell import holdfast

RULES = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z)."


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with three commits after its snapshot: an update, two at once, and a rule."""
    folder = tmp_path / "kb"
    with library.from_text(RULES, {"edge": [(1, 2)]}, store=folder) as kb:
        kb.apply(Update(insert={"edge": [(2, 3)]}, delete={"edge": [(1, 2)]}))
        kb.apply_all([Update(insert={"edge": [(3, 4)]}), Update(insert={"edge": [(n, n) for n in range(300)]})])
        kb.apply(Update(add_rules="end(x) :- edge(_, x), !edge(x, _)."))
    return folder


def broken(store: Path) -> Path:
    """The same store with a flipped byte in its second commit."""
    log = store / "log/0.hfl"
    data = bytearray(log.read_bytes())
    data[data.index(b"HFR1", data.index(b"HFR1") + 1) + 60] ^= 1
    log.write_bytes(data)
    return store


def test_check(store: Path) -> None:
    result = holdfast("store", "check", store)
    assert (result.code, result.out) == (0, "ok: version 4; snapshot of version 0 with 1 fact, 3 commits since\n")
    assert holdfast("store", "check", store, "--json").json["version"] == 4


def test_check_says_how_far_a_damaged_store_can_be_read(store: Path) -> None:
    result = holdfast("store", "check", broken(store))
    assert result.code == 4
    assert "E1306" in result.err
    assert "it can be read up to version 1" in result.err


def test_an_incomplete_record_is_no_damage(store: Path) -> None:
    (store / "CLOSED").unlink()
    with (store / "log/0.hfl").open("ab") as log:
        log.write(b"HFR1 and then the power was cut")
    result = holdfast("store", "check", store)
    assert result.code == 0
    assert "ends in an incomplete record" in result.err


def test_log(store: Path) -> None:
    lines = holdfast("store", "log", store).out.split("\n")
    assert [line.split()[:5] for line in lines[2:] if line] == [
        ["1", "1", "1", "1", "0"],
        ["3", "2", "0", "301", "0"],
        ["4", "1", "0", "0", "1"],
    ]
    assert len(holdfast("store", "log", store, "--json").out.splitlines()) == 3


def test_compact(store: Path) -> None:
    assert holdfast("store", "compact", store).out == "the snapshot is that of version 4\n"
    assert holdfast("store", "log", store).out == "there are no commits since the snapshot of version 4\n"


def test_a_backup_while_another_process_writes(store: Path, tmp_path: Path) -> None:
    with library.open(store) as kb:
        kb.apply(Update(insert={"edge": [(7, 7)]}))
        assert holdfast("store", "backup", store, tmp_path / "copy").out == f"{tmp_path / 'copy'} has version 5\n"
    assert holdfast("store", "check", tmp_path / "copy").code == 0


@pytest.mark.parametrize(("version", "edges"), [(0, {(1, 2)}), (1, {(2, 3)})])
def test_restore_an_earlier_state_of_a_damaged_store(
    version: int, edges: set[tuple[int, int]], store: Path, tmp_path: Path
) -> None:
    broken(store)
    assert holdfast("store", "restore", store, tmp_path / "new").code == 4
    assert not (tmp_path / "new").exists()
    assert holdfast("store", "restore", store, tmp_path / "new", "--update", version).code == 0
    with library.open(tmp_path / "new") as kb:
        assert (kb.version, set(kb.explicit("edge"))) == (version, edges)


@pytest.mark.parametrize("version", [-1, 5])
def test_states_that_there_are_not(version: int, store: Path, tmp_path: Path) -> None:
    result = holdfast("store", "restore", store, tmp_path / "new", "--update", version)
    assert (result.code, "E1309" in result.err) == (2, True)


def test_export_can_be_run(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert holdfast("store", "export", store, out).code == 0
    with library.open(store) as kb:
        exported = library.open(out / "program.dl", facts=out / "facts")
        assert {name: set(kb[name]) for name in kb} == {name: set(exported[name]) for name in exported}
    assert holdfast("store", "export", store, out).code == 2


@pytest.mark.parametrize("command", ["check", "log", "compact", "backup", "restore", "export"])
def test_what_is_no_store_is_said_to_be_none(command: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "rules.dl").write_text(RULES)
    more = ["new"] if command in ("backup", "restore", "export") else []
    for name in ("nothing", "folder", "rules.dl"):
        result = holdfast("store", command, tmp_path / name, *(tmp_path / new for new in more))
        assert result.code == 2 and "E1301" in result.err, (command, name, result.err)
    with pytest.raises(library.HoldfastError) as caught:
        library.open(tmp_path / "nothing", read_only=True)
    assert caught.value.diagnostics[0].code == "E1301"


# --- other commands ----------------------------------------------------------------------------------


def test_a_store_is_read_in_place_of_a_program(store: Path, tmp_path: Path) -> None:
    before = sorted((path, path.read_bytes()) for path in store.rglob("*") if path.is_file())
    assert holdfast("query", store, "path(2, x), x > 3").out == "4\n"
    assert holdfast("query", store, "path($from, 4)", "-P", "from=2").out == "true\n"
    assert holdfast("query", store, "end(x)", "--json").json["rows"] == []
    assert "path(2, 4)  by" in holdfast("why", store, "path(2, 4)").out
    assert holdfast("why-not", store, "path(4, 2)").code == 0
    impact = holdfast("impact", store, "--insert", "edge(300, 301)", "--delete", "edge(3, 4)", "--json").json
    assert impact["added"]["end"]["rows"] == [[301]]
    assert [2, 4] in impact["removed"]["path"]["rows"]
    added = holdfast("impact", store, "--add", "far(x) :- path(2, x), !edge(2, x).", "--json").json["added"]
    assert added["far"]["rows"] == [[4]]
    assert holdfast("impact", store, "--insert", "edge(1)").code == 2
    assert holdfast("repair", store, "--unmake", "path(2, 4)").code == 0
    assert holdfast("run", store, "-D", tmp_path / "out").code == 0
    assert before == sorted((path, path.read_bytes()) for path in store.rglob("*") if path.is_file())


def test_a_store_is_read_while_it_is_written(store: Path) -> None:
    with library.open(store) as kb:
        kb.apply(Update(insert={"edge": [(1000, 1001)]}))
        assert holdfast("query", store, "path(1000, x)").out == "1001\n"
        assert holdfast("impact", store, "--delete", "edge(1000, 1001)", "--json").json["removed"]["path"]["size"] == 1
        assert "E1303" in holdfast("stream", store, "--updates", "-", stdin="").err


def test_a_stream_writes_to_a_store(store: Path) -> None:
    lines = '{"insert": {"edge": [[500, 501]]}, "note": {"who": "ann"}}\n{"delete": {"edge": [[500, 501]]}}\n'
    result = holdfast("stream", store, "--updates", "-", stdin=lines)
    assert result.code == 0, result.err
    with library.open(store) as kb:  # it was closed
        assert (kb.version, kb.commits()[-2].notes) == (6, ({"who": "ann"},))
        assert (500, 501) not in kb["edge"]


@pytest.mark.parametrize("command", [("query", "path(1, x)"), ("impact", "--insert", "edge(1, 9)")])
def test_what_is_no_store_or_does_not_belong_to_one(command: tuple[str, ...], store: Path, tmp_path: Path) -> None:
    name, *rest = command
    (tmp_path / "empty").mkdir()
    for words, code in (
        ((name, store, *rest, "-F", tmp_path), "E0926"),
        ((name, store, *rest, "-M", "A=1"), "E0926"),
        ((name, store, *rest, "-I", tmp_path), "E0926"),
        ((name, tmp_path / "empty", *rest), "E0011"),
        ((name, tmp_path / "none", *rest), "E0011"),
        ((name, "x" * 5000, *rest), "E0012"),
    ):
        result = holdfast(*words)
        assert result.code == 2 and f"error[{code}]" in result.err, result.err
    result = holdfast(name, broken(store), *rest)
    assert result.code == 4 and "E1306" in result.err
