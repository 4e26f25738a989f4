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
