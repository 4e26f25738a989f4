"""Tasks of an ordinary stage come one by one, some twice and some never."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from holdfast.backends.spark_parted.jobs import FewTasksError, JobSettings, ShardJob
from holdfast.backends.spark_parted.links import own_address
from holdfast.backends.spark_parted.task import LOOPBACK, Arrival, TaskSettings
from holdfast.spark_session import SparkFailure
from holdfast.values.dictionary import Dictionary

pytestmark = pytest.mark.only_in_memory("has its own engine")


class Stage(ShardJob):
    """One that runs until its end is called for, and whose tasks are the test's."""

    def __init__(self, folder: Path) -> None:
        self._is_over = Event()
        settings = JobSettings(None, "kb", 2, str(folder), True, wanted_tasks=2, has_barriers=False)  # type: ignore[arg-type]
        super().__init__(settings, Dictionary(), lambda: None)

    def _run_tasks(self, task: TaskSettings) -> None:
        self._is_over.wait()

    def come(self, rank: int, pid: int) -> Connection:
        """A task comes; gives its side of the connection."""
        ours, theirs = Pipe()
        self._arrivals.put((Arrival(rank, pid, ("", 0)), ours))
        return theirs

    def close(self) -> None:
        self._is_over.set()
        self.end(b"over")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.close()


def test_of_two_attempts_at_a_task_the_later_one_counts(stage: Stage) -> None:
    first, second, other = stage.come(0, 10), stage.come(0, 11), stage.come(1, 12)
    assert [arrival.pid for arrival in stage.arrivals()] == [11, 12]
    with pytest.raises((EOFError, OSError)):
        first.recv_bytes()
    stage.close()
    assert (second.recv_bytes(), other.recv_bytes()) == (b"over", b"over")


def test_tasks_that_do_not_come_are_not_waited_for_for_ever(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.backends.spark_parted.jobs._PATIENCE", 0.1)
    kept = stage.come(1, 10)
    with pytest.raises(FewTasksError) as few:
        stage.arrivals()
    assert few.value.tasks == 1
    del kept


def test_a_job_may_be_ended_by_its_own_thread(tmp_path: Path) -> None:
    """Python collects garbage in any thread, and a knowledge base that is garbage is closed."""

    class Ending(Stage):
        def _run_tasks(self, task: TaskSettings) -> None:
            super()._run_tasks(task)
            self.end(b"over")

    stage = Ending(tmp_path)
    came = stage.come(0, 10)
    stage.come(1, 11)
    stage.arrivals()
    stage._is_over.set()
    stage._thread.join()
    assert came.recv_bytes() == b"over"
    assert stage._failure is None


def test_the_address_from_which_another_is_reached() -> None:
    assert own_address((LOOPBACK, 9)) == LOOPBACK


@pytest.mark.parametrize("wanted", [0, 2])
def test_a_stopped_session_is_told(wanted: int) -> None:
    stopped = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None))
    settings = JobSettings(stopped, "kb", 2, "nowhere", True, wanted_tasks=wanted)  # type: ignore[arg-type]
    with pytest.raises(SparkFailure, match="the Spark session of this knowledge base was stopped"):
        settings.tasks()
