"""`holdfast pipeline`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.shell import holdfast
from tests.pipeline.graphs import Story, closure, paths_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Story:
    told = Story(seed=8, updates=2)
    told.write(tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    monkeypatch.setenv("COLUMNS", "100")
    return told


def test_update_mode_snapshots_damage_and_the_way_back(spark: SparkSession, story: Story) -> None:
    first = holdfast("pipeline", "run", "pipeline.toml", "--mode", "batch")
    assert (first.code, first.out.split("\n")[0]) == (0, "wrote paths")
    assert "maintenance runs in this process" in first.err
    again = holdfast("pipeline", "run", "pipeline.toml", "--mode", "batch")
    assert again.code == 2 and "error[E1109]" in again.err and "--anew" in again.err

    done = holdfast("pipeline", "run", "pipeline.toml", "--mode", "update", "--json")
    told = [json.loads(line) for line in done.out.splitlines()]
    assert (done.code, told[0]["update"], told[1]["ok"], told[1]["updates"]) == (0, 1, True, 1)
    everything = (story.edges[0] - {(a, b) for u in story.updates for a, b, op in u if op == "delete"}) | {
        (a, b) for u in story.updates for a, b, op in u if op == "insert"
    }  # one update: what is inserted stays
    assert paths_of(Path("paths")) == closure(everything)
    assert "newest" in holdfast("pipeline", "snapshots", "pipeline.toml").out

    victim = next(Path("state/updates/1").glob("*.parquet"))
    victim.write_bytes(victim.read_bytes()[:-1])
    for command in (("run", "pipeline.toml"), ("snapshots", "pipeline.toml")):
        hurt = holdfast("pipeline", *command)
        assert hurt.code == 4
        assert "error[E1112]: the snapshots in state are damaged: updates/1/" in hurt.err
        assert "holdfast pipeline restore pipeline.toml --update 0" in hurt.err
    assert holdfast("pipeline", "restore", "pipeline.toml", "--update", "0").code == 0
    assert holdfast("pipeline", "run", "pipeline.toml", "--mode", "update").code == 0
    assert paths_of(Path("paths")) == closure(everything)


def test_a_stream_that_is_ahead_of_its_snapshots_stops(spark: SparkSession, story: Story) -> None:
    assert holdfast("pipeline", "run", "pipeline.toml").code == 0
    assert holdfast("pipeline", "restore", "pipeline.toml", "--update", "1").code == 0
    Path("updates/late.csv").write_text("0,0,insert\n", encoding="utf-8")
    lost = holdfast("pipeline", "run", "pipeline.toml")
    assert lost.code == 4 and "error[E1113]" in lost.err
    Path("reach.dl").write_text(Path("reach.dl").read_text(encoding="utf-8") + "// other\n", encoding="utf-8")
    other = holdfast("pipeline", "run", "pipeline.toml")
    assert other.code == 2 and "error[E1115]" in other.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "pipeline.toml", "--mode", "steam"), "there is no mode steam"),
        (("run", "pipeline.toml", "--conf", "spark.ui.enabled"), "error[E1004]"),
        (("run", "nowhere.toml"), "error[E1101]"),
        (("restore", "pipeline.toml", "--update", "3"), "error[E1114]"),
        (("fly",), "there is no command fly"),
    ],
)
def test_commands_that_make_no_sense(story: Story, words: tuple[str, ...], told: str) -> None:
    result = holdfast("pipeline", *words)
    assert result.code == 2 and told in result.err
    assert "Traceback" not in result.err


def test_check_needs_no_spark(story: Story) -> None:
    assert holdfast("pipeline", "check", "pipeline.toml").out == "ok: 1 source, 1 update, 2 sinks\n"
