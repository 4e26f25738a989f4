"""The state without Spark: net changes of several lines, and that a snapshot gives back what was put into it."""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

import holdfast
from holdfast.errors import HoldfastError
from holdfast.pipeline.batches import Position
from holdfast.pipeline.intake import Line
from holdfast.pipeline.keeping import KeptState, PipelineStore
from holdfast.pipeline.model import EngineSettings, Snapshots
from holdfast.pipeline.state import Opener, PipelineState
from holdfast.updates import Change

DECLARED = """
@prefix ex: <http://e/> .
.decl edge(a: number, b: number)
.decl name(a: number, n: symbol)
.decl path(a: number, b: number)
.decl named(a: number, n: symbol)
.decl degree(a: number, n: number)
.decl alone(a: number)
.decl both(a: number)
edge(1, 2). edge(2, 3).
name(1, "one"). name(2, "two").
"""
RULES = """
#[name("step")]
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
named(x, n) :- path(x, _), name(x, n).
degree(x, count(y)) :- edge(x, y).
ex:linked(?x, ?y) :- ex:link(?x, ?y).
alone(x) :- name(x, _), !path(x, _).
"""
EXTRA = "both(x) :- path(x, y), path(y, x)."
NO_SESSION = cast("Any", None)  # nothing here is on Spark


def facts_of(base: holdfast.KnowledgeBase) -> dict[str, set[Any]]:
    return {name: set(view) for name, view in base.relations.items() if len(view)}


def line(update: dict[str, Any]) -> Line:
    return Line("lines", "x.jsonl", 1, json.dumps(update))


def random_update(dice: random.Random, has_extra: bool) -> dict[str, Any]:
    def edges() -> list[list[int]]:
        return [[dice.randint(1, 4), dice.randint(1, 4)] for _ in range(dice.randint(0, 3))]

    update: dict[str, Any] = {"delete": {"edge": edges()}, "insert": {"edge": edges()}}
    match dice.randint(0, 5):
        case 0:
            update["delete"]["name"] = [[1, "one"], [2, "two"], [3, "three"]]
        case 1:
            update["insert"]["name"] = [[3, "three"]]
        case 2:
            update["insert"]["ex:link"] = [[{"@id": "http://e/a"}, dice.choice([1, 2.5, "x"])]]
        case 3:
            update["remove_rules" if has_extra else "add_rules"] = [EXTRA]
        case 4:
            update["delete"]["edge"] = [[a, b] for a in range(5) for b in range(5)]
    return update


def refused(bad: list[tuple[Line, HoldfastError]], line: Line, error: HoldfastError) -> None:
    assert "E0002" not in str(error)
    bad.append((line, error))


def changed(before: dict[str, set[Any]], after: dict[str, set[Any]]) -> tuple[dict[str, set[Any]], dict[str, set[Any]]]:
    names = {*before, *after}
    added = {name: after.get(name, set()) - before.get(name, set()) for name in names}
    removed = {name: before.get(name, set()) - after.get(name, set()) for name in names}
    return (
        {name: rows for name, rows in added.items() if rows},
        {name: rows for name, rows in removed.items() if rows},
    )


def as_sets(change: Change) -> tuple[dict[str, set[Any]], dict[str, set[Any]]]:
    return (
        {name: set(view) for name, view in change.added.items()},
        {name: set(view) for name, view in change.removed.items()},
    )


@pytest.mark.parametrize("head", [DECLARED, "@prefix ex: <http://e/> .\n"], ids=["declared", "undeclared"])
@pytest.mark.parametrize("seed", range(4))
def test_several_lines_are_one_update_and_snapshots_give_the_state_back(tmp_path: Path, seed: int, head: str) -> None:
    dice = random.Random(seed)
    opener = Opener(EngineSettings(), NO_SESSION)
    store = PipelineStore(Snapshots(tmp_path, keep=2, every=4))
    with store.alone():
        state = opener.open(head + RULES, "p.dl", {}, 0)
        store.begin(state, "source")
        several_updates(store, state, opener, dice)


def several_updates(store: PipelineStore, state: PipelineState, opener: Opener, dice: random.Random) -> None:
    for number in range(1, 8):
        before = facts_of(state.base)
        has_extra = "both(x) :-" in state.base.rules_text()
        lines = [line(random_update(dice, has_extra)) for _ in range(dice.randint(1, 3))]
        bad: list[tuple[Line, HoldfastError]] = []
        table = pa.table({"a": [dice.randint(1, 4)], "b": [dice.randint(1, 4)]})
        rows = [(dice.choice(["insert", "delete"]), "edge", table)]
        store.collect(state.base)
        change = state.apply(rows, lines, partial(refused, bad))
        assert as_sets(change) == changed(before, facts_of(state.base))
        position = Position("stream", number, 1, 2, "hash") if dice.random() < 0.5 else None
        expected = position or store.position
        assert store.commit(number, state, position, lambda: None) == (number % 4 == 0)
        newest = store.current()
        assert isinstance(newest, KeptState) and newest.number == number == state.base.version
        assert newest.progress == (expected, "memory", state.sizes())
        again = opener.opened(newest.rows, newest.load)
        assert facts_of(again.base) == facts_of(state.base)
        assert again.sizes() == newest.progress.sizes
        assert again.base.rules_text() == state.base.rules_text()
        scratch = holdfast.from_text(
            state.base.rules_text(),
            {name: state.base.explicit(name).to_arrow() for name in state.base.relations if state.base.explicit(name)},
        )
        assert facts_of(scratch) == facts_of(state.base)
        if dice.random() < 0.3:
            state = again


def test_a_line_that_is_refused_has_no_effect_and_the_others_have() -> None:
    state = Opener(EngineSettings(), NO_SESSION).open(DECLARED + RULES, "p.dl", {}, 0)
    bad: list[tuple[Line, HoldfastError]] = []
    lines = [
        line({"insert": {"edge": [[7, 8]]}}),
        line({"insert": {"edge": [["x", 8]]}}),
        line({"nonsense": 1}),
        Line("lines", "x.jsonl", 4, "{"),
        line({"insert": {"edge": [[8, 9]]}}),
    ]
    change = state.apply([], lines, partial(refused, bad))
    assert [reported for reported, _ in bad] == lines[1:4]
    assert [error.diagnostics[0].code for _, error in bad] == ["E0606", "E0907", "E0613"]
    assert set(change.added["path"]) == {(7, 8), (8, 9), (7, 9)}


def test_memory_is_chosen_as_the_pipeline_says() -> None:
    state = Opener(EngineSettings("memory", limit=1), NO_SESSION).open(DECLARED + RULES, "p.dl", {}, 0)
    assert (state.engine, state.why) == ("memory", "the pipeline file sets it")
    assert isinstance(state, PipelineState)


class FakeSession:
    """A session of Spark on some master, as far as its settings go."""

    def __init__(self, master: str, settings: dict[str, str]) -> None:
        self.sparkContext = SimpleNamespace(master=master)
        self.conf = SimpleNamespace(get=settings.get, set=settings.__setitem__, getAll=settings)

    def newSession(self) -> FakeSession:  # noqa: N802
        return FakeSession(self.sparkContext.master, {})


@pytest.mark.parametrize(
    ("master", "asked", "folder"),
    [("yarn", None, "arriving"), ("yarn", "/elsewhere", "/elsewhere"), ("local[2]", None, None)],
)
def test_on_a_cluster_shards_have_their_files_beside_the_snapshots(
    tmp_path: Path, master: str, asked: str | None, folder: str | None
) -> None:
    settings = {"spark.holdfast.shards": "3", **({"spark.holdfast.directory": asked} if asked else {})}
    session: Any = FakeSession(master, dict(settings))
    used: list[Any] = []
    opener = Opener(EngineSettings("spark"), session, tmp_path / "arriving")
    opener.opened(0, lambda engine, _: used.append(engine))  # type: ignore[func-returns-value,arg-type,return-value]
    found = used[0].conf.get("spark.holdfast.directory")
    assert (found, used[0].conf.get("spark.holdfast.shards")) == (folder and str(tmp_path / folder), "3")
    assert session.conf.getAll == settings  # the user's session is as it was


def test_a_restart_on_spark_tells_the_same_reason() -> None:
    local: Any = SimpleNamespace(sparkContext=SimpleNamespace(master="local"))
    state = Opener(EngineSettings("spark"), local).opened(
        0, lambda *_: holdfast.from_text(DECLARED), spark_why="the facts did not fit before"
    )
    assert (state.engine, state.why) == ("spark", "the pipeline file sets it")
