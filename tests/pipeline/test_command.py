"""`holdfast pipeline`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.shell import holdfast
from tests.pipeline.graphs import Story, closure, feed_of, paths_of
from tests.pipeline.old_folders import as_before, as_old_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Story:
    story = Story(seed=8, updates=2)
    story.write(tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    monkeypatch.setenv("COLUMNS", "100")
    return story


def test_update_mode_snapshots_damage_and_the_way_back(spark: SparkSession, story: Story) -> None:
    first = holdfast("pipeline", "run", "pipeline.toml", "--mode", "batch")
    assert (first.code, first.out.split("\n")[0]) == (0, "wrote paths")
    assert "maintenance runs in this process" in first.err
    again = holdfast("pipeline", "run", "pipeline.toml", "--mode", "batch")
    assert again.code == 2 and "error[E1109]" in again.err and "--anew" in again.err

    done = holdfast("pipeline", "run", "pipeline.toml", "--mode", "update", "--json")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert (done.code, lines[0]["update"], lines[1]["ok"], lines[1]["updates"]) == (0, 1, True, 1)
    everything = (story.edges[0] - {(a, b) for u in story.updates for a, b, op in u if op == "delete"}) | {
        (a, b) for u in story.updates for a, b, op in u if op == "insert"
    }  # one update: what is inserted stays
    assert paths_of(Path("paths")) == closure(everything)
    assert "newest" in holdfast("pipeline", "snapshots", "pipeline.toml").out

    victim = Path("state/log/0.hfl")
    victim.write_bytes(victim.read_bytes()[:-1])
    for command in (("run", "pipeline.toml"), ("snapshots", "pipeline.toml")):
        hurt = holdfast("pipeline", *command)
        assert hurt.code == 4
        assert "error[E1112]: the snapshots in state are damaged: log/0.hfl does not end" in hurt.err
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
    text = Path("reach.dl").read_text(encoding="utf-8")
    Path("reach.dl").write_text("/* says more */\n" + text.replace(" :- ", "\n  :- "), encoding="utf-8")
    same = holdfast("pipeline", "run", "pipeline.toml")
    assert same.code == 4 and "error[E1113]" in same.err  # a comment and a line end make no other program
    Path("reach.dl").write_text(text + "path(x, x) :- edge(x, _).\n", encoding="utf-8")
    other = holdfast("pipeline", "run", "pipeline.toml")
    assert other.code == 2 and "error[E1115]" in other.err


@pytest.mark.parametrize("mode", ["update", "stream"])
def test_a_folder_of_updates_that_is_not_there_is_told_before_anything_is_computed(
    spark: SparkSession, story: Story, mode: str
) -> None:
    Path("updates").rename("elsewhere")
    missing = holdfast("pipeline", "run", "pipeline.toml", "--mode", mode)
    assert missing.code == 2 and "error[E0903]: there is no file or folder updates for more to read" in missing.err
    assert "maintenance runs" not in missing.err and not Path("state/manifests").exists()


def test_a_folder_of_a_sink_that_holds_files_of_others_is_told_before_anything_is_computed(
    spark: SparkSession, story: Story
) -> None:
    Path("paths").mkdir()
    Path("paths/thesis.txt").write_text("mine", encoding="utf-8")
    Path("paths.old").mkdir()
    refused = holdfast("pipeline", "run", "pipeline.toml")
    assert refused.code == 2 and "error[E1108]" in refused.err and "maintenance runs" not in refused.err
    Path("paths/thesis.txt").unlink()
    assert holdfast("pipeline", "run", "pipeline.toml").code == 0
    assert Path("paths.old").exists()  # a backup of the user's, perhaps


def test_snapshots_of_an_older_holdfast(spark: SparkSession, story: Story) -> None:
    assert holdfast("pipeline", "run", "pipeline.toml").code == 0
    as_old_folder(Path("state"))
    as_before(Path("state"))
    manifest = Path("state/manifests/2.json")
    content = json.loads(manifest.read_text("utf-8"))
    content["source"] = hashlib.sha256(Path("reach.dl").read_bytes()).hexdigest()  # it took the text as it stands
    manifest.write_text(json.dumps(content), encoding="utf-8")
    digest = hashlib.sha256(manifest.read_bytes()).hexdigest()
    Path("state/CURRENT").write_text(json.dumps({"snapshot": 2, "sha256": digest}), encoding="utf-8")
    assert "its manifest has no hash" in holdfast("pipeline", "snapshots", "pipeline.toml").out
    again = holdfast("pipeline", "run", "pipeline.toml")
    assert again.code == 0 and "the snapshots before update 2 have no hashes" in again.err
    refused = holdfast("pipeline", "restore", "pipeline.toml", "--update", "1")
    assert refused.code == 2 and "error[E1117]" in refused.err
    assert holdfast("pipeline", "restore", "pipeline.toml", "--update", "1", "--unverified").code == 0


def test_snapshots_of_the_older_kind_become_a_store_with_the_next_update(spark: SparkSession, story: Story) -> None:
    Path("updates/001.csv").unlink()
    assert holdfast("pipeline", "run", "pipeline.toml").code == 0
    as_old_folder(Path("state"))
    before = {path: path.read_bytes() for path in Path("state").rglob("*.json")}
    assert holdfast("pipeline", "run", "pipeline.toml").code == 0  # nothing has come, and nothing is written
    assert {path: path.read_bytes() for path in Path("state").rglob("*.json")} == before
    story.write_update(Path(), 1)
    done = holdfast("pipeline", "run", "pipeline.toml")
    assert done.code == 0 and "1 update applied, the state is that after update 2" in done.err
    assert (
        holdfast("store", "check", "state").out
        == f"ok: version 2; snapshot of version 2 with {len(story.edges[-1])} facts, 0 commits since\n"
    )
    assert (feed_of(Path("feed")), paths_of(Path("paths"))) == (story.feed(), story.paths[-1])
    refused = holdfast("store", "compact", "state")
    assert refused.code == 2 and "error[E1311]: the store state belongs to a pipeline" in refused.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("run", "pipeline.toml", "--mode", "steam"), "unknown mode steam"),
        (("run", "pipeline.toml", "--conf", "spark.ui.enabled"), "error[E1004]"),
        (("run", "nowhere.toml"), "error[E1101]"),
        (("restore", "pipeline.toml", "--update", "3"), "error[E1114]"),
        (("fly",), "unknown command fly"),
    ],
)
def test_commands_that_make_no_sense(story: Story, words: tuple[str, ...], expected: str) -> None:
    result = holdfast("pipeline", *words)
    assert result.code == 2 and expected in result.err
    assert "Traceback" not in result.err


def test_check_needs_no_spark(story: Story) -> None:
    assert holdfast("pipeline", "check", "pipeline.toml").out == "ok: 1 source, 1 update, 2 sinks\n"
