"""Shards in the Python workers of Spark: as in memory, also when a worker is killed; DataFrames in and out."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import holdfast
from holdfast import errors
from holdfast.backends.parted import hubs
from holdfast.backends.spark_parted.crew import SparkCrew
from holdfast.backends.spark_parted.jobs import DIRECT, SHUFFLE, LostError
from holdfast.backends.spark_parted.store import SparkPartedBackend, _exchange, job_settings
from holdfast.errors import HoldfastError
from holdfast.values import Iri
from tests.backends.parted.test_hubs import SALES, SALES_FACTS
from tests.equivalence.checking import run
from tests.equivalence.reference import counters_of
from tests.equivalence.runs import lanes_of, script_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.only_in_memory("has its own engine"), pytest.mark.usefixtures("exchange")]
ENGINE = "spark[2]"
CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
MIXED = """
.decl given(s: symbol, u: unsigned, f: float, a: any)
.decl named(s: symbol, a: any)
.decl some()
named(cat(s, "!"), a) :- given(s, _, _, a).
some() :- given(_, _, _, _).
"""
CHAIN = [(number, number + 1) for number in range(40)]


@pytest.fixture
def exchange(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """How rows move between shards: directly, unless a test says otherwise."""
    chosen = str(getattr(request, "param", DIRECT))
    spark.conf.set("spark.holdfast.exchange", chosen)
    yield chosen
    for name in ("exchange", "tls", "tasks", "holdSeconds", "shards", "directory"):
        spark.conf.unset(f"spark.holdfast.{name}")


def crew_of(kb: holdfast.KnowledgeBase) -> SparkCrew:
    backend = kb._backend
    assert isinstance(backend, SparkPartedBackend)
    return backend.crew


@pytest.mark.parametrize("exchange", [DIRECT, pytest.param(SHUFFLE, marks=pytest.mark.slow)], indirect=True)
def test_random_scripts() -> None:
    steps = 12
    for seed in count(700_000):
        if steps <= 0:
            return
        script = script_of(seed)
        try:
            lanes = lanes_of(script, seed, seed % 4, engine=ENGINE)
        except HoldfastError as error:
            assert not error.diagnostics[0].code.startswith("E1"), error
            continue
        steps -= run(script, lanes)


@pytest.mark.parametrize(
    ("algorithm", "exchange"),
    [
        *((name, DIRECT) for name in ("dred-counting", "dred-ranked", "backward-forward")),
        pytest.param("dred-counting", SHUFFLE, marks=pytest.mark.slow),
    ],
    indirect=["exchange"],
)
def test_a_worker_is_killed_in_the_middle_of_an_update(
    algorithm: str, exchange: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = CHAIN if exchange == DIRECT else CHAIN[18:23]
    engine = ENGINE if algorithm == "dred-ranked" else "spark[8]"  # one shard a task, or four
    kb = holdfast.from_text(CLOSURE, {"edge": edges}, engine=engine, modules=())
    assert crew_of(kb)._settings.tasks() == 2
    expected = holdfast.from_text(CLOSURE, {"edge": edges}, modules=())
    ask, asked = SparkCrew._ask, count(1)

    def killing(self: SparkCrew, *arguments: Any) -> Any:
        if next(asked) == 9:
            os.kill(self.pids[1], signal.SIGKILL)
        return ask(self, *arguments)

    update = holdfast.Update(delete={"edge": [(20, 21)]}, insert={"edge": [(20, 30), (3, 60)]})
    monkeypatch.setattr(SparkCrew, "_ask", killing)
    change = kb.apply(update, algorithm=algorithm)
    monkeypatch.undo()
    assert next(asked) > 9
    assert set(change.removed["path"]) == set(expected.apply(update, algorithm=algorithm).removed["path"])
    assert set(kb["path"]) == set(expected["path"])
    assert crew_of(kb).restored == 1 or exchange == SHUFFLE  # where another worker repeats what that one did
    assert counters_of(kb) == counters_of(expected)


def test_a_worker_is_killed_between_log_and_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(CLOSURE, {"edge": CHAIN}, engine=ENGINE, modules=())
    ask, lost = SparkCrew._ask, list[int]()

    def losing(self: SparkCrew, job: Any, commands: Any, step: int) -> Any:
        replies = ask(self, job, commands, step)
        if commands and commands[0][0] == "record" and not lost:
            lost.append(self.pids[0])
            os.kill(self.pids[0], signal.SIGKILL)
            raise LostError("killed")  # all have written, and nobody has said so
        return replies

    monkeypatch.setattr(SparkCrew, "_ask", losing)
    version = crew_of(kb).version
    kb.apply(holdfast.Update(delete={"edge": [(0, 1)]}))
    assert lost
    assert crew_of(kb).version == version + 1
    assert set(kb["path"]) == {(x, y) for x in range(1, 41) for y in range(x + 1, 41)}


def test_frames_of_several_relations_are_read_together(spark: SparkSession) -> None:
    program = """
    .decl a(x: number, y: number)
    .decl b(x: number, y: unsigned)
    .decl c(s: symbol)
    .decl d()
    .decl all(x: number, s: symbol)
    all(x, s) :- a(x, _), b(x, _), c(s), d().
    """
    facts = {
        "a": spark.createDataFrame([(number, -number) for number in range(50)], "x long, y long"),
        "b": spark.createDataFrame([(number, 2 * number) for number in range(40, 60)], "x long, y long"),
        "c": spark.createDataFrame([("s",), ("t",), ("s",)], "s string"),
        "d": spark.createDataFrame([(1,)], "any long").select(),
    }
    jobs = int(spark.sparkContext._jsc.sc().dagScheduler().nextJobId())  # type: ignore[attr-defined]
    kb = holdfast.from_text(program, facts, engine=ENGINE)
    made = int(spark.sparkContext._jsc.sc().dagScheduler().nextJobId()) - jobs  # type: ignore[attr-defined]
    assert set(kb["all"]) == {(number, s) for number in range(40, 50) for s in "st"}
    assert (len(kb["a"]), len(kb["b"]), len(kb["c"]), len(kb["d"])) == (50, 20, 2, 1)
    assert made <= 4  # one for each kind of columns, and that of the shards after them


@pytest.mark.parametrize("exchange", [SHUFFLE], indirect=True)
def test_dataframes_where_tasks_have_no_connections(spark: SparkSession) -> None:
    """With more shards than cores, which the shuffle allows; `test_data.py` has connections."""
    schema, rows = "s string, u decimal(20,0), f double, a string", [("a", 2**63 + 1, 1.5, "x"), ("é", 7, -0.0, "")]
    frame = spark.createDataFrame([(s, Decimal(u), f, a) for s, u, f, a in rows], schema)
    spark.conf.set("spark.holdfast.driverRows", "0")
    try:
        kb = holdfast.from_text(MIXED, {"given": frame}, engine="spark[3]")
        expected = holdfast.from_text(MIXED, {"given": rows})
        new = {"given": [("b", 1, 2.0, Iri("http://i")), ("c", 2, 3.0, 4)]}
        kb.apply(holdfast.Update(insert=new, delete={"given": frame.where("s = 'a'")}))
        expected.apply(holdfast.Update(insert=new, delete={"given": rows[:1]}))
        for name in ("given", "named", "some"):
            assert set(kb[name]) == set(expected[name])
        there, here = kb["given"].to_spark(), expected["given"].to_spark()
        assert there.schema.simpleString() == here.schema.simpleString()
        assert sorted(there.collect()) == sorted(here.collect())
    finally:
        spark.conf.unset("spark.holdfast.driverRows")


@pytest.mark.parametrize("exchange", [SHUFFLE], indirect=True)
def test_a_level_of_a_proof_is_one_job(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where each request is a job; repairs are tried out on the driver."""
    monkeypatch.setattr("holdfast.knowledge.far_lookup.SMALL", 2)
    rules, edges = CLOSURE + "path(x, z) :- path(x, y), path(y, z), x > z.", [(n, n + 1) for n in range(8)]
    kb, here = (holdfast.from_text(rules, {"edge": edges}, engine=e, modules=()) for e in (ENGINE, "memory"))

    def jobs() -> int:
        return int(spark.sparkContext._jsc.sc().dagScheduler().nextJobId())  # type: ignore[attr-defined]

    first = jobs()
    proof, absence = kb.why("path(1, 7)", seconds=None), kb.why_not("path(7, 1)", seconds=None)
    assert proof is not None
    assert absence is not None
    assert jobs() - first <= 2 * proof.height + 5
    assert proof.to_json() == here.why("path(1, 7)").to_json()  # type: ignore[union-attr]
    assert absence.to_json() == here.why_not("path(7, 1)").to_json()  # type: ignore[union-attr]
    first = jobs()
    found = kb.repair(unmake=["path(1, 7)"], seconds=None)
    assert str(found) == str(here.repair(unmake=["path(1, 7)"], seconds=None))
    assert jobs() - first <= 3


@pytest.mark.parametrize("exchange", [DIRECT, SHUFFLE], indirect=True)
def test_dataframes_in_which_most_rows_have_one_value(
    spark: SparkSession, exchange: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shards share them from the first update on, also when a worker is lost after they were dealt."""
    monkeypatch.setattr(hubs, "LEAST", 100)
    ask, dealt = SparkCrew._ask, list[int]()

    def losing(self: SparkCrew, job: Any, commands: Any, step: int) -> Any:
        replies = ask(self, job, commands, step)
        if any(command[0] == "deal" for command in commands):
            dealt.append(len(dealt))
            if exchange == DIRECT and len(dealt) == 1:
                raise LostError("lost")
        return replies

    monkeypatch.setattr(SparkCrew, "_ask", losing)
    given = {name: spark.createDataFrame(rows, columns_of(SALES, name)) for name, rows in SALES_FACTS.items()}
    kb = holdfast.from_text(SALES, given if exchange == DIRECT else None, engine="spark[3]", modules=())
    if exchange == SHUFFLE:  # they come with an update
        kb.what_if(holdfast.Update(insert={"sale": given["sale"]}))
        kb.apply(holdfast.Update(insert=given))
    here = holdfast.from_text(SALES, SALES_FACTS, modules=())
    assert len(dealt) == (2 if exchange == DIRECT else 1)  # what is rolled back leaves the hubs
    sizes = kb._backend._driver.ask("sizes", ("kept", "explicit"))  # type: ignore[attr-defined]
    assert sum(each["sale"] for each in sizes) == len(SALES_FACTS["sale"])
    assert max(each["sale"] for each in sizes) < 0.4 * len(SALES_FACTS["sale"])
    some = SALES_FACTS["sale"][:300]
    kb.apply(holdfast.Update(delete={"sale": spark.createDataFrame(some, columns_of(SALES, "sale"))}))
    here.apply(holdfast.Update(delete={"sale": some}))
    for name in here.relations:
        assert set(kb[name]) == set(here[name]), name
    if exchange == DIRECT:
        assert counters_of(kb) == counters_of(here)


def columns_of(text: str, name: str) -> str:
    """A relation's columns, all numbers, as Spark declares them."""
    return ", ".join(f"{column} long" for column in holdfast.from_text(text)[name].columns)


def test_functors_of_users() -> None:
    holdfast.functor(_shouted, name="shouted")
    program = ".functor shouted(symbol): symbol\n.decl p(s: symbol)\n.decl q(s: symbol)\nq(@shouted(s)) :- p(s)."
    kb = holdfast.from_text(program, {"p": [("a",), ("é",)]}, engine=ENGINE)
    kb.apply(holdfast.Update(insert={"p": [("b",)]}, delete={"p": [("a",)]}))
    assert set(kb["q"]) == {("É!",), ("B!",)}


END = "!"


def _shouted(text: str) -> str:
    return text.upper() + END


def test_more_tasks_than_cores_are_refused(spark: SparkSession) -> None:
    spark.conf.set("spark.holdfast.tasks", "500")
    with pytest.raises(errors.UsageError, match="500 tasks need 500 cores at once"):
        holdfast.from_text(CLOSURE, engine="spark[500]")
    kb = holdfast.from_text(CLOSURE, {"edge": CHAIN[:3]}, engine=ENGINE)
    assert len(kb["path"]) == 6


def test_an_unknown_exchange_is_refused(spark: SparkSession) -> None:
    spark.conf.set("spark.holdfast.exchange", "pigeons")
    with pytest.raises(errors.UsageError, match="auto, direct or shuffle, not 'pigeons'"):
        holdfast.from_text(CLOSURE, engine=ENGINE)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("shards", "-3", "spark.holdfast.shards is a whole number that is not negative, not '-3'"),
        ("shards", "2.5", "whole number"),
        ("tasks", "-1", "not negative"),
        ("holdSeconds", "nan", "spark.holdfast.holdSeconds is a number that is not negative"),
        ("tls", "yes", "spark.holdfast.tls is true or false, not 'yes'"),
        ("directory", "/proc/none", "the folder /proc/none cannot be used: No such file or directory"),
    ],
)
def test_a_setting_that_has_no_meaning_is_refused(spark: SparkSession, name: str, value: str, expected: str) -> None:
    spark.conf.set(f"spark.holdfast.{name}", value)
    with pytest.raises(errors.UsageError, match=expected):
        holdfast.from_text(CLOSURE, engine=spark)


def test_an_unknown_setting_is_refused(spark: SparkSession) -> None:
    spark.conf.set("spark.holdfast.task", "1")
    try:
        with pytest.raises(errors.UsageError, match=r"unknown setting spark\.holdfast\.task") as refused:
            holdfast.from_text(CLOSURE, engine=spark)
        assert refused.value.diagnostics[0].help == "did you mean tasks?"
    finally:
        spark.conf.unset("spark.holdfast.task")


def test_tls_may_be_written_as_sparks_own_settings(spark: SparkSession) -> None:
    spark.conf.set("spark.holdfast.tls", "TRUE")
    assert job_settings(spark, 2).identity is not None
    conf: Any = {"spark.io.encryption.enabled": "True"}
    with pytest.raises(errors.UsageError, match="its files are not encrypted"):
        _exchange(spark, conf)


@pytest.mark.parametrize(
    ("chosen", "setting", "expected"),
    [
        ("auto", "", DIRECT),
        ("shuffle", "", SHUFFLE),
        ("auto", "spark.dynamicAllocation.enabled", DIRECT),
        ("auto", "spark.network.crypto.enabled", SHUFFLE),
        ("direct", "spark.ssl.enabled", "not encrypted, and spark.ssl.enabled is set"),
        ("shuffle", "spark.io.encryption.enabled", "its files are not encrypted"),
    ],
)
def test_the_session_decides_how_rows_move(spark: SparkSession, chosen: str, setting: str, expected: str) -> None:
    conf: Any = {setting: "true"}
    spark.conf.set("spark.holdfast.exchange", chosen)
    if expected in (DIRECT, SHUFFLE):
        assert _exchange(spark, conf) == expected
    else:
        with pytest.raises(errors.UsageError, match=expected):
            _exchange(spark, conf)


def test_without_barriers_as_many_tasks_as_can_run_hold_the_shards(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under dynamic allocation, on a cluster that has fewer cores than there are shards."""
    monkeypatch.setattr("holdfast.backends.spark_parted.store._has_barriers", lambda conf: False)
    monkeypatch.setattr("holdfast.backends.spark_parted.jobs._PATIENCE", 2.0)
    cores, edges = spark.sparkContext.defaultParallelism, [(n, n + 1) for n in range(20)]
    spark.conf.set("spark.holdfast.holdSeconds", "60")
    kb = holdfast.from_text(CLOSURE, {"edge": edges}, engine=f"spark[{cores + 1}]", modules=())
    here = holdfast.from_text(CLOSURE, {"edge": edges}, modules=())
    for update in (holdfast.Update(delete={"edge": [(3, 4)]}), holdfast.Update(insert={"edge": [(3, 4), (20, 0)]})):
        kb.apply(update)
        here.apply(update)
        assert (set(kb["path"]), counters_of(kb)) == (set(here["path"]), counters_of(here))
        used = {*crew_of(kb).pids}
        assert 0 < len(used) <= cores
        os.kill(used.pop(), signal.SIGKILL)
    assert crew_of(kb).restored
    kb.close()


def test_connections_are_encrypted(spark: SparkSession) -> None:
    spark.conf.set("spark.holdfast.tls", "true")
    conf: Any = {"spark.network.crypto.enabled": "true"}
    assert _exchange(spark, conf) == DIRECT
    named = ".decl e(x: symbol, y: symbol)\n.decl p(x: symbol)\np(cat(x, y)) :- e(x, z), e(z, y)."
    frame = spark.createDataFrame([("a", "b"), ("b", "c")], "x string, y string")
    kb = holdfast.from_text(named, {"e": frame}, engine=ENGINE)
    assert crew_of(kb)._settings.identity is not None
    kb.apply(holdfast.Update(insert={"e": [("c", "d")]}))
    assert set(kb["p"]) == {("ac",), ("bd",)}


def test_killed_workers_leave_images() -> None:
    kb = holdfast.from_text(CLOSURE, {"edge": CHAIN}, engine=ENGINE, modules=())
    crew = crew_of(kb)
    crew.save_images()
    assert len(list(Path(crew._settings.folder).glob("image-*"))) == 2
    for pid in crew.pids:
        os.kill(pid, signal.SIGKILL)
    kb.apply(holdfast.Update(delete={"edge": [(3, 4)]}))
    expected = holdfast.from_text(CLOSURE, {"edge": [edge for edge in CHAIN if edge != (3, 4)]}, modules=())
    assert crew.restored == 1
    assert counters_of(kb) == counters_of(expected)


@pytest.mark.parametrize("exchange", [DIRECT, SHUFFLE], indirect=True)
def test_workers_without_holdfast_are_explained(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", sys._base_executable)  # type: ignore[attr-defined]
    with pytest.raises(HoldfastError, match="in a row: ModuleNotFoundError: No module named 'holdfast'") as refused:
        holdfast.from_text(CLOSURE, {"edge": CHAIN}, engine=ENGINE)
    assert "PYSPARK_PYTHON" in str(refused.value.diagnostics[0].help)
