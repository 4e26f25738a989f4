"""The shards of the spark engine in threads: facts, counters and ranks are those of memory, whatever is lost.

What this cannot catch: what only Spark does to its workers; `test_spark.py` has that.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import time
from collections.abc import Callable
from itertools import count, pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import pytest

import holdfast
from holdfast import errors
from holdfast.backends.spark_parted import crew, recording
from holdfast.backends.spark_parted.images import map_image
from holdfast.backends.spark_parted.jobs import SHUFFLE, JobSettings
from holdfast.backends.spark_parted.recording import record_path
from holdfast.backends.spark_parted.store import SparkPartedBackend
from holdfast.errors import HoldfastError
from holdfast.knowledge import far_lookup
from holdfast.maintenance import backward_forward, budget, maintainer
from holdfast.maintenance.watch import Stopwatch
from tests.backends.entering import entering
from tests.equivalence.checking import run
from tests.equivalence.reference import counters_of
from tests.equivalence.runs import lanes_of, script_of, script_of_records
from tests.equivalence.scripts import Script
from tests.equivalence.shard_runs import forced

from .threads import Workers, slowly
from .twins import watched

pytestmark = pytest.mark.only_in_memory("has its own engine")
ScriptOf: TypeAlias = Callable[[int], Script]
CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
FAR = """
.decl far(x: number, n: number)
far(0, min(0)) :- edge(0, _).
far(y, min(n + 1)) :- far(x, n), edge(x, y), !edge(y, x).
"""
NAMES = """
.decl parent(x: symbol, y: symbol)
.decl full(x: symbol, y: symbol)
.decl later(x: symbol, y: symbol)
.decl longest(n: number)
full(cat(x, "/", y), y) :- parent(x, y).
full(cat(x, "/", z), z) :- full(x, y), parent(y, z).
later(x, y) :- full(x, _), full(y, _), x < y.
longest(max strlen(x) : { full(x, _) }).
"""


@pytest.fixture
def small_amounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few records are many; `forced` does the rest."""
    monkeypatch.setattr(crew, "_SMALL", 2_000)


def backend_of(kb: holdfast.KnowledgeBase) -> SparkPartedBackend:
    backend = kb._backend
    assert isinstance(backend, SparkPartedBackend)
    return backend


def take(workers: Workers, steps: int, parts: int, seeds: count[int], script: ScriptOf = script_of) -> None:
    if workers.exchange == SHUFFLE:  # where all is done twice or more often
        steps = (steps + 2) // 3
    for seed in seeds:
        if steps <= 0:
            return
        try:
            with forced(seed):
                steps -= steps_of(workers, script(seed), seed, parts)
        except Exception as error:
            error.add_note(f"seed {seed} on {parts} shards")
            raise


def steps_of(workers: Workers, script: Script, seed: int, parts: int) -> int:
    """Run a script; gives the number of steps, none when the program itself is refused."""
    try:
        lanes = lanes_of(script, seed, seed % 4, engine=workers.engine(parts))
    except HoldfastError as error:
        assert error.diagnostics[0].code != "E1005", error
        return 0
    return run(script, lanes)


@slowly
@pytest.mark.parametrize(("parts", "tasks"), [(1, 1), (3, 3), (5, 2)])
@pytest.mark.usefixtures("small_amounts")
def test_any_rules(workers: Workers, parts: int, tasks: int) -> None:
    workers.tasks = tasks
    take(workers, 8, parts, count(parts * 100_000))


@slowly
@pytest.mark.usefixtures("small_amounts")
def test_records(workers: Workers) -> None:
    take(workers, 8, 2, count(200_000), script_of_records)


@pytest.mark.parametrize(("parts", "tasks", "first"), [(1, 1, 1_000), (2, 2, 1_005), (2, 2, 1_061), (3, 2, 2_000)])
@pytest.mark.usefixtures("small_amounts")
def test_restored_shards_are_as_the_live_ones(direct: Workers, parts: int, tasks: int, first: int) -> None:
    direct.tasks = tasks
    with watched(direct, parts) as versions:
        take(direct, 10, parts, count(first))
    assert len(versions) > 10


@slowly
@pytest.mark.parametrize(("parts", "tasks"), [(2, 2), (5, 2)])
@pytest.mark.usefixtures("small_amounts")
def test_any_rules_while_workers_die(workers: Workers, parts: int, tasks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "_TRIES", 200)
    workers.risk, workers.tasks = 0.004, tasks
    take(workers, 10, parts, count(parts * 300_000))
    assert workers.killed > 2


@pytest.mark.parametrize(("parts", "tasks"), [(2, 2), (5, 3)])
@pytest.mark.usefixtures("small_amounts")
def test_any_rules_while_connections_break(
    direct: Workers, parts: int, tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of tasks with the driver and with each other; the workers live on."""
    monkeypatch.setattr(crew, "_TRIES", 200)
    direct.tasks, dice, send = tasks, Random(parts), Connection.send_bytes
    sent, broken = WeakKeyDictionary[Connection, int](), list[Connection]()

    def breaking(self: Connection, data: bytes) -> None:
        sent[self] = sent.get(self, 0) + 1
        if sent[self] > 2 and dice.random() < 0.002:  # both sides know each other
            broken.append(self)
            with socket.socket(fileno=os.dup(self.fileno())) as opened:
                opened.shutdown(socket.SHUT_RDWR)
        send(self, data)

    monkeypatch.setattr(Connection, "send_bytes", breaking)
    take(direct, 10, parts, count(parts * 500_000))
    assert len(broken) > 2


@slowly
@pytest.mark.usefixtures("small_amounts")
def test_any_rules_while_all_memory_is_lost(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    obey, dice = crew.SparkCrew.obey, Random(5)
    mapped = list[bool]()

    def forgetting(self: crew.SparkCrew, commands: list[tuple[object, ...]]) -> list[list[object]]:
        if dice.random() < 0.3:
            self.save_images()
        if dice.random() < 0.03:
            workers.lose_memory()
        return obey(self, commands)

    def mapping(*arguments: Any) -> bool:
        mapped.append(map_image(*arguments))
        return mapped[-1]

    monkeypatch.setattr(crew.SparkCrew, "obey", forgetting)
    monkeypatch.setattr(recording, "map_image", mapping)
    workers.tasks = 2
    take(workers, 8, 3, count(500_000))
    assert workers.exchange == SHUFFLE or (workers.jobs > 10 and any(mapped))


def test_ranks_of_a_trial_do_not_count_after_a_loss(direct: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an update tried out left on facts outside I is on the live shards only, so it must not be compared."""
    obey, unrepeatable = crew.SparkCrew.obey, crew.SparkCrew._unrepeatable
    asked, differing, lost_at = count(1), list[object](), 0

    def losing(self: crew.SparkCrew, commands: list[tuple[object, ...]]) -> list[list[object]]:
        if next(asked) == lost_at:
            direct.lose_memory()
        return obey(self, commands)

    def noted(self: crew.SparkCrew) -> Exception:
        differing.append(self)
        return unrepeatable(self)

    monkeypatch.setattr(crew.SparkCrew, "obey", losing)
    monkeypatch.setattr(crew.SparkCrew, "_unrepeatable", noted)
    rules, chain = CLOSURE + "path(x, z) :- path(x, y), path(y, z).", {"edge": [(n, n + 1) for n in range(4)]}
    more = {"edge": [(4, 5), (5, 0), (9, 2)]}
    expected = set(holdfast.from_text(rules, facts={"edge": [(2, 3), (3, 4), *more["edge"]]})["path"])
    for place in range(1, 40, 3):
        kb = holdfast.from_text(rules, facts=chain, engine=direct.engine(2), modules=())
        kb.apply(holdfast.Update(delete={"edge": [(0, 1)]}), algorithm="dred-ranked")
        kb.what_if(holdfast.Update(insert=more), algorithm="dred-ranked")
        asked, lost_at = count(1), place
        kb.apply(holdfast.Update(delete={"edge": [(1, 2)]}, insert=more), algorithm="dred-ranked")
        lost_at = 0
        assert set(kb["path"]) == expected
    assert direct.jobs > 13 and not differing


@pytest.mark.usefixtures("small_amounts")
def test_any_rules_while_cores_come_and_go(direct: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    obey, dice, tasks = crew.SparkCrew.obey, Random(7), set[int]()

    def moving(self: crew.SparkCrew, commands: list[tuple[object, ...]]) -> list[list[object]]:
        if dice.random() < 0.05:
            self.release()
        return obey(self, commands)

    def now(_: object) -> int:
        tasks.add(direct.dice.randrange(1, 4))
        return max(tasks, key=lambda _: direct.dice.random())

    monkeypatch.setattr(crew.SparkCrew, "obey", moving)
    monkeypatch.setattr(JobSettings, "tasks", now)
    take(direct, 2, 4, count(520_000))
    assert tasks == {1, 2, 3}


@pytest.mark.usefixtures("small_amounts")
def test_any_rules_while_workers_die_and_few_instances_are_looked_at(
    direct: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of the instances of a goal `expand` gives depends on the order of rows: updates are done once more."""
    monkeypatch.setattr(crew, "_TRIES", 200)
    monkeypatch.setattr(maintainer, "_TRIES", 200)
    monkeypatch.setattr(backward_forward, "_FIRST", 1)
    direct.risk = 0.004
    take(direct, 10, 2, count(700_000))


@pytest.mark.parametrize("moment", ["apply", "record"])
def test_an_update_that_cannot_be_repeated_is_done_once_more(
    workers: Workers, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closures by a module too, whose edges are on the driver."""
    text = CLOSURE + ".decl far(x: number)\nfar(x) :- path(x, y), !edge(x, y)."
    facts, kinds = {"edge": [(n, n + 1) for n in range(8)]}, [{"engine": workers.engine(2)}, {}]
    update = holdfast.Update(insert={"edge": [(8, 0)]}, delete={"edge": [(2, 3)]})
    kb, expected = (holdfast.from_text(text, facts, **kind) for kind in kinds)  # type: ignore[call-overload]
    compare, failed = crew._are_equal, list[int]()

    def different(entry: crew.JournalEntry, answers: Any) -> bool:
        is_of_update = ("remember", "nonrecursive", True) in entry.commands
        if is_of_update and len(failed) < 3:
            failed.append(entry.step)
            return False
        return compare(entry, answers)

    monkeypatch.setattr(crew, "_are_equal", different)
    for number in range(4):
        workers.after = moment
        change, wanted = kb.apply(update), expected.apply(update)
        for one, other in ((change.added, wanted.added), (change.removed, wanted.removed)):
            assert {name: set(rows) for name, rows in one.items()} == {n: set(rows) for n, rows in other.items()}, (
                number
            )
        assert all(set(kb[name]) == set(expected[name]) for name in ("edge", "path", "far")), number
        update = holdfast.Update(insert=update.delete, delete=update.insert)
    assert counters_of(kb) == counters_of(expected)
    assert failed or workers.exchange == SHUFFLE  # whose tasks are retried


def test_an_update_that_looks_at_more_instances_than_an_evaluation_is_abandoned(
    direct: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "_FEW", 1)
    ring = [(n, (n + step) % 30) for n in range(30) for step in (1, 5)]
    kb = holdfast.from_text(CLOSURE, {"edge": ring}, engine=direct.engine(2), modules=())
    [node] = kb.apply(holdfast.Update(delete={"edge": ring[:15]})).figures[-1:]
    assert (node.predicates, node.algorithm) == (("path",), "recompute")
    assert "; abandoned: " in node.why
    assert "; starting over takes " in node.why
    assert node.abandoned > 0
    assert set(kb["path"]) == set(holdfast.from_text(CLOSURE, {"edge": ring[15:]})["path"])


def test_a_rolled_back_update_holds_nothing(direct: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine=direct.engine(2), modules=())
    made = backend_of(kb)
    given = made.facts({"edge": np.array([(2, 3)])})
    update = holdfast.Update(insert={"edge": [(3, 4)]})
    monkeypatch.setattr(type(made._driver), "_taken_freed", lambda _: [])  # whenever that may be
    before = {number for shard in direct.shards_of(made._settings.knowledge_base) for number in shard._held}
    kb.what_if(update)
    after = {number for shard in direct.shards_of(made._settings.knowledge_base) for number in shard._held}
    assert given.number in before
    assert len(after - before) == 1  # what the update was given: it may have to be done again


def test_facts_that_only_a_what_if_has_seen_are_not_known(workers: Workers) -> None:
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine=workers.engine(2), modules=())
    kb.what_if(holdfast.Update(insert={"edge": [(2, 3), (3, 4)]}))
    updates = [holdfast.Update(insert={"edge": [(5, 6)]}), holdfast.Update(delete={"edge": [(2, 3), (5, 6)]})]
    workers.after = "record"
    kb.apply_net(updates)
    assert sorted(kb["path"]) == [(1, 2)]


def test_a_long_evaluation_is_not_repeated_as_a_whole(direct: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "_LONG_SECONDS", 0.0)
    kb = holdfast.from_text(CLOSURE, {"edge": [(n, n + 1) for n in range(12)]}, engine=direct.engine(2), modules=())
    assert backend_of(kb).crew.version > 12  # a record in each round
    direct.lose_memory()
    expected = holdfast.from_text(CLOSURE, {"edge": [(n, n + 1) for n in range(12)]}, modules=())
    assert set(kb["path"]) == set(expected["path"])
    assert counters_of(kb) == counters_of(expected)


def test_strings_are_made_and_compared_on_shards(workers: Workers) -> None:
    facts = {"parent": [("a", "b"), ("b", "c"), ("c", "d"), ("é", "ü"), ("", "a")]}
    expected, workers.tasks = holdfast.from_text(NAMES, facts), 2
    kb = holdfast.from_text(NAMES, facts, engine=workers.engine(3))
    for update in ({"insert": {"parent": [("d", "x"), ("x", "yy")]}}, {"delete": {"parent": [("b", "c")]}}):
        for each in (expected, kb):
            each.apply(holdfast.Update(**update))
        for name in ("full", "later", "longest"):
            assert set(kb[name]) == set(expected[name]), name


def test_the_log_is_written_before_the_commit_is_said(workers: Workers) -> None:
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2), (2, 3)]}, engine=workers.engine(2))
    made = backend_of(kb)
    version, folder = made.crew.version, made._settings.folder
    workers.after = "record"  # one shard has written it, and dies
    change = kb.apply(holdfast.Update(insert={"edge": [(3, 4)]}))
    assert sorted(change.added["path"]) == [(1, 4), (2, 4), (3, 4)]
    assert made.crew.version == version + 1
    assert made.crew.restored + workers.retried == 1
    [name] = made.crew._committed.records
    assert name.startswith(f"log-{version + 1}-")
    assert all(record_path(folder, name, shard).exists() for shard in range(2))
    workers.lose_memory()
    assert sorted(kb["path"]) == [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
    assert workers.exchange == SHUFFLE or made.crew.restored == 2


def test_shards_stay_in_memory_between_jobs(direct: Workers) -> None:
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine=direct.engine(3))
    for number in range(5):
        backend_of(kb).crew.release()
        kb.apply(holdfast.Update(insert={"edge": [(number + 2, number + 3)]}))
    assert len(kb["path"]) == 21
    assert direct.jobs == 6
    assert backend_of(kb).crew.restored == 0


def test_an_update_keeps_its_cores(direct: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """However soon they are given back after it, and however long the driver thinks between two commands."""
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine=direct.engine(2, hold=0.0), modules=())
    ask = crew.SparkCrew._ask

    def thoughtful(self: crew.SparkCrew, *arguments: Any) -> Any:
        answers = ask(self, *arguments)
        time.sleep(0.03)
        return answers

    monkeypatch.setattr(crew.SparkCrew, "_ask", thoughtful)
    jobs = direct.jobs
    kb.apply(holdfast.Update(insert={"edge": [(2, 3), (3, 4)]}))
    assert direct.jobs <= jobs + 3  # for what comes before it, for the update, and for what is read after it
    assert len(kb["path"]) == 6


def test_an_idle_job_ends_by_itself(direct: Workers) -> None:
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine=direct.engine(2, hold=0.01))
    job = backend_of(kb).crew._job
    while backend_of(kb).crew._job is not None:
        assert job is not None
        job._thread.join(0.05)
    assert sorted(kb["path"]) == [(1, 2)]
    assert backend_of(kb).crew.restored == 0


def test_a_knowledge_base_that_nobody_refers_to_leaves_no_files(workers: Workers) -> None:
    kb = holdfast.from_text("p(x) :- q(x).", {"q": [(1,)]}, engine=workers.engine(2))
    kb.apply(holdfast.Update(insert={"q": [(2,)]}))
    assert len(kb["p"]) == 2
    assert list(workers.folder.iterdir())
    del kb
    gc.collect()
    assert not list(workers.folder.iterdir())


def test_logs_are_gathered_into_a_base_and_removed(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "_SMALL", 0)
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine=workers.engine(2))
    for number in range(2, 12):
        kb.apply(holdfast.Update(insert={"edge": [(number, number + 1)]}))
    known = backend_of(kb).crew._committed
    assert known.base is not None
    assert not known.base.startswith("base-1-")
    assert records_in(workers) == {f"{name}-{shard}.npz" for name in known.names for shard in range(2)}
    workers.lose_memory()
    assert len(kb["path"]) == 66


def records_in(workers: Workers) -> set[str]:
    return {path.name for path in workers.folder.rglob("*.npz")}


def test_attempts_to_commit_that_failed_leave_no_files(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "_SMALL", 0)
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine=workers.engine(2), modules=())
    made = backend_of(kb)
    for number in range(2, 8):
        workers.after = "record"  # one shard has written its base or log, and dies
        kb.apply(holdfast.Update(insert={"edge": [(number, number + 1)]}))
        (Path(made._settings.folder) / f".{number}-base-{number}-0.npz").touch()  # one that had begun
    made.crew.abandon()
    kb.apply(holdfast.Update(delete={"edge": [(1, 2)]}))
    assert workers.killed == 6
    assert records_in(workers) == {f"{name}-{shard}.npz" for name in made.crew._committed.names for shard in range(2)}
    assert len(kb["path"]) == 21


def test_a_rolled_back_update_leaves_nothing_to_repeat(workers: Workers) -> None:
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine=workers.engine(2))
    for number in range(20):
        kb.what_if(holdfast.Update(insert={"edge": [(2, number)]}))
    names = {command[0] for entry in backend_of(kb).crew._journal for command in entry.commands}
    assert names <= {"given", "let", "free", "copy", "clear", "clear_undo", "remember"}
    workers.lose_memory()
    assert sorted(kb["path"]) == [(1, 2)]


def test_an_error_in_a_rule_is_the_rules_own(workers: Workers) -> None:
    program = ".decl p(x: number)\n.decl q(x: number)\nq(10 / x) :- p(x)."
    kb = holdfast.from_text(program, {"p": [(1,), (2,)]}, engine=workers.engine(3))
    for _ in range(3):
        with pytest.raises(errors.EvaluationError, match="division"):
            kb.apply(holdfast.Update(insert={"p": [(0,), (5,)]}))
    kb.apply(holdfast.Update(insert={"p": [(5,)]}))
    assert sorted(kb["q"]) == [(2,), (5,), (10,)]
    assert backend_of(kb).crew.restored == 0


def test_limits_stop_shards_inside_a_round(workers: Workers) -> None:
    program = ".decl n(x: number)\nn(0).\nn(x + 1) :- n(x)."
    with pytest.raises(errors.LimitReached, match="more than 500 facts"):
        holdfast.from_text(program, engine=workers.engine(2), limits=holdfast.Limits(facts=500))
    square = ".decl n(x: number)\n.decl s(x: number, y: number)\ns(x, y) :- n(x), n(y)."
    numbers = {"n": [(number,) for number in range(3_000)]}
    with pytest.raises(errors.LimitReached, match="facts, strings and indexes take more than"):
        holdfast.from_text(square, numbers, engine=workers.engine(2), limits=holdfast.Limits(memory=1 << 23))


@pytest.mark.parametrize("functor", ["replace", "regex_replace"])
def test_a_limit_on_memory_stops_shards_before_they_make_a_string(workers: Workers, functor: str) -> None:
    text = f'made({functor}(s, "a", t)) :- one(s), other(t).'
    facts = {"one": [("a" * 10**4,)], "other": [("b" * 10**4,)]}  # their product has 10^8 characters
    with pytest.raises(errors.LimitReached, match="limit reached: strings take more than 64 MiB"):
        holdfast.from_text(text, facts, engine=workers.engine(2), limits=holdfast.Limits(memory=2**26))


@pytest.mark.parametrize(("parts", "tasks", "most"), [(2, 2, 12_048), (4, 2, 12_048), (3, 1, 6_024)])
def test_each_task_stops_soon_after_a_limit_on_facts(
    direct: Workers, parts: int, tasks: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct.tasks = tasks
    square = ".decl n(x: number)\n.decl s(x: number, y: number)\ns(x, y) :- n(x), n(y)."
    numbers = {"n": [(number,) for number in range(600)]}
    with entering("s", monkeypatch) as sizes, pytest.raises(errors.LimitReached, match="more than 5,000 facts"):
        holdfast.from_text(square, numbers, engine=direct.engine(parts), limits=holdfast.Limits(facts=5_000))
    assert sum(sizes.values()) <= most


def test_a_disk_that_takes_nothing_stops_the_opening(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("holdfast.backends.spark_parted.recording._write", full)
    with pytest.raises(holdfast.HoldfastError, match="a shard cannot write its log: No space left on device"):
        holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine=workers.engine(2))


def test_a_disk_that_is_full_at_a_commit_ends_the_knowledge_base(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine=workers.engine(2))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("holdfast.backends.spark_parted.recording._write", full)
    with pytest.raises(holdfast.HoldfastError):
        kb.apply(holdfast.Update(insert={"edge": [(2, 3)]}))
    with pytest.raises(holdfast.HoldfastError):
        list(kb["path"])


def test_workers_that_die_again_and_again_are_an_error(workers: Workers) -> None:
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine=workers.engine(2))
    workers.risk = 1.0
    with pytest.raises(holdfast.HoldfastError, match="the shards were lost 4 times in a row"):
        kb.apply(holdfast.Update(insert={"edge": [(2, 3)]}))
    workers.risk = 0.0
    assert sorted(kb["path"]) == [(1, 2)]
    kb.apply(holdfast.Update(insert={"edge": [(2, 3)]}))
    assert sorted(kb["path"]) == [(1, 2), (1, 3), (2, 3)]


FUNCTORS = """
.functor twice(number): number
.functor shout(symbol): symbol
.decl p(x: number, s: symbol)
.decl q(x: number, s: symbol)
q(@twice(x), @shout(s)) :- p(x, s).
q(x + 1, s) :- q(x, s), x < 4.
"""


def test_functors_of_users_run_on_shards(workers: Workers) -> None:
    holdfast.functor(_twice, name="twice")
    holdfast.functor(name="shout")(lambda s: s.upper() + "!")
    facts = {"p": [(1, "a"), (2, "b"), (5, "é")]}
    kb = holdfast.from_text(FUNCTORS, facts, engine=workers.engine(2))
    expected = holdfast.from_text(FUNCTORS, facts)
    for update in ({"insert": {"p": [(0, "c")]}}, {"delete": {"p": [(1, "a")]}}):
        workers.lose_memory()
        for each in (kb, expected):
            each.apply(holdfast.Update(**update))
        assert set(kb["q"]) == set(expected["q"])


def test_a_functor_that_raises_is_an_error_of_its_rule(workers: Workers) -> None:
    holdfast.functor(name="twice")(lambda x: 10 // x)
    holdfast.functor(name="shout")(str.upper)
    kb = holdfast.from_text(FUNCTORS, {"p": [(5, "a")]}, engine=workers.engine(2))
    with pytest.raises(errors.EvaluationError, match="@twice raised ZeroDivisionError"):
        kb.apply(holdfast.Update(insert={"p": [(0, "b")]}))
    assert set(kb["q"]) == {(2, "A"), (3, "A"), (4, "A")}


def test_a_functor_that_cannot_be_sent_is_refused(workers: Workers) -> None:
    lock = Lock()
    holdfast.functor(name="twice")(lambda x: x if lock.locked() else 2 * x)
    holdfast.functor(name="shout")(str.upper)
    with pytest.raises(errors.UsageError, match="@twice cannot be sent to executors"):
        holdfast.from_text(FUNCTORS, {"p": [(5, "a")]}, engine=workers.engine(2))


def _twice(x: int) -> int:
    return 2 * x


def test_a_view_shows_the_state_in_which_it_was_made(workers: Workers) -> None:
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2), (2, 3)]}, engine=workers.engine(2, rows=1))
    before, unread = kb["path"], kb["path"]
    assert sorted(before) == [(1, 2), (1, 3), (2, 3)]
    change = kb.apply(holdfast.Update(delete={"edge": [(1, 2)]}, insert={"edge": [(2, 4)]}))
    assert len(unread) == 3
    assert sorted(unread) == [(1, 2), (1, 3), (2, 3)]
    assert sorted(change.removed["path"]) == [(1, 2), (1, 3)]
    assert sorted(kb["path"]) == [(2, 3), (2, 4)]


def test_an_interrupted_update_leaves_the_state_before_it(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2), (2, 3)]}, engine=workers.engine(2), modules=())
    ask, asked = crew.SparkCrew._ask, count(1)

    def interrupted(self: crew.SparkCrew, job: Any, commands: Any, step: int) -> Any:
        if next(asked) == 8:
            os.kill(os.getpid(), signal.SIGINT)
        return ask(self, job, commands, step)

    monkeypatch.setattr(crew.SparkCrew, "_ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kb.apply(holdfast.Update(insert={"edge": [(3, 4)]}, delete={"edge": [(1, 2)]}))
    assert next(asked) > 8
    assert sorted(kb["path"]) == [(1, 2), (1, 3), (2, 3)]
    kb.apply(holdfast.Update(insert={"edge": [(3, 4)]}))
    expected = holdfast.from_text(CLOSURE, {"edge": [(1, 2), (2, 3), (3, 4)]}, modules=())
    assert set(kb["path"]) == set(expected["path"])
    assert counters_of(kb) == counters_of(expected)


def test_a_limit_on_seconds_stops_shards_that_are_busy(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(
        CLOSURE, {"edge": [(1, 2)]}, engine=workers.engine(2), modules=(), limits=holdfast.Limits(seconds=100)
    )
    clock = kb._state.watch
    monkeypatch.setattr(type(clock), "seconds", property(lambda _: 1_000.0))
    with pytest.raises(errors.LimitReached, match="100 seconds"):
        kb.apply(holdfast.Update(insert={"edge": [(2, 3)]}))
    monkeypatch.undo()
    assert backend_of(kb).crew.version == 1


def test_the_job_of_one_knowledge_base_gives_way_to_that_of_another(direct: Workers) -> None:
    one, two = (holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine=direct.engine(2)) for _ in range(2))
    assert backend_of(one).crew._job is None
    one.apply(holdfast.Update(insert={"edge": [(2, 3)]}))
    assert backend_of(two).crew._job is None
    assert len(one["path"]) == 3
    assert backend_of(one).crew.restored == 0


REACH = """
.decl edge(x: number, y: number)
.decl reached(x: number)
reached(0).
reached(y) :- reached(x), edge(x, y).
"""


def test_an_update_that_asks_the_shards_too_often_is_abandoned(workers: Workers) -> None:
    """A long way from 2 is deleted and inserted again, one fact a round: twice the rounds of starting over."""
    edges = [(0, 2), (0, 1), (1, 2), *((i, i + 1) for i in range(2, 60))]
    kb = holdfast.from_text(REACH, facts={"edge": edges}, engine=workers.engine(2), modules=())
    full = max(node.requests for node in kb.statistics.nodes)
    assert full >= 60, "a round takes a request at least"
    named = kb.what_if(holdfast.Update(delete={"edge": [(0, 2)]}), algorithm="dred-ranked").figures[-1]
    assert named.requests > 1.5 * full
    chosen = kb.apply(holdfast.Update(delete={"edge": [(0, 2)]})).figures[-1]
    assert "; abandoned: " in chosen.why
    assert " requests and " in chosen.why
    assert chosen.algorithm == "recompute"
    assert chosen.requests <= 1.1 * full
    assert len(kb["reached"]) == 61


def test_many_messages_for_few_instances_are_not_dearer_than_starting_over(
    direct: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each update deletes and inserts a long way one fact a round, beside a dense graph that is evaluated in two."""
    monkeypatch.setattr(Stopwatch, "processor", time.thread_time)  # of the driver, as if the shards were elsewhere
    edges = [(x, y) for x in range(100, 240) for y in range(100, 240)]
    for begin in (1_000, 2_000, 3_000):
        way = range(begin, begin + 30)
        edges += [*pairwise(way), (begin, begin + 2)]
    kb = holdfast.from_text(CLOSURE, facts={"edge": edges}, engine=direct.engine(2), modules=())
    full = max(kb.statistics.nodes, key=lambda node: node.instances)
    assert full.instances > 140**3
    for begin in (1_000, 2_000, 3_000):  # of the first one nothing is known
        figures = kb.apply(holdfast.Update(delete={"edge": [(begin, begin + 2)]})).figures[-1]
        assert figures.algorithm == "dred-ranked"
        assert figures.requests > full.requests
        assert figures.instances < 1_000


def test_the_jobs_of_explanations(direct: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far_lookup, "SMALL", 2)
    direct.exchange = SHUFFLE
    rules = CLOSURE + FAR
    edges = [(10 * chain + n, 10 * chain + n + 1) for chain in range(20) for n in range(9)]
    kb = holdfast.from_text(rules, facts={"edge": edges}, engine=direct.engine(2), modules=())
    (backend,) = direct.backends

    def jobs(explain: Callable[[], Any]) -> tuple[Any, int]:
        before = backend.crew.requests
        return explain(), backend.crew.requests - before

    for fact in ("path(20, 26)", "path(8, 9)", "far(6, 6)"):
        proof, taken = jobs(lambda fact=fact: kb.why(fact))  # type: ignore[misc]
        assert 0 < taken <= 2 * proof.height + 5, fact
        assert jobs(lambda fact=fact: kb.why(fact, ways="all"))[1] <= 2 * proof.height + 5, fact  # type: ignore[misc]
    for fact in ("path(26, 20)", "far(6, 7)"):
        absence, taken = jobs(lambda fact=fact: kb.why_not(fact))  # type: ignore[misc]
        assert absence is not None
        assert 0 < taken <= 2 * 6 + 5, fact
