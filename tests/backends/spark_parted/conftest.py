"""The session of the process, and shards in threads, which need no Java."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import tests.pipeline.conftest
from holdfast.backends.spark_parted.jobs import DIRECT, SHUFFLE
from holdfast.backends.spark_parted.links import Door, Link
from holdfast.backends.spark_parted.task import LOOPBACK

from . import threads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

spark = tests.pipeline.conftest.spark  # one session for all tests


def small(spark: SparkSession, **settings: int | None) -> SparkSession:
    """A session whose settings make small data take the ways of large data."""
    made = spark.newSession()
    for name, value in settings.items():
        if value is not None:
            made.conf.set(f"spark.holdfast.{name}", str(value))
    return made


@pytest.fixture
def guests() -> queue.Queue[tuple[Link, Any]]:
    """Who has come through the door, with what they said."""
    return queue.Queue()


@pytest.fixture
def door(request: pytest.FixtureRequest, guests: queue.Queue[tuple[Link, Any]]) -> Iterator[Door]:
    """A door for those who have the key of the test's file."""
    made = Door(LOOPBACK, request.module.KEY, lambda link, hello: guests.put((link, hello)))
    yield made
    made.close()


@pytest.fixture
def direct(tmp_path_factory: pytest.TempPathFactory) -> Iterator[threads.Workers]:
    """Threads in place of the Python workers of Spark, whose shards send rows directly."""
    with threads.installed(tmp_path_factory.mktemp("shards")) as found:
        yield found


@pytest.fixture(params=[DIRECT, SHUFFLE])
def workers(request: pytest.FixtureRequest, direct: threads.Workers) -> threads.Workers:
    """Such threads, with both exchanges."""
    direct.exchange = request.param
    return direct
