"""The session of the process, and sessions beside it whose settings make small data take the ways of large data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tests.pipeline.conftest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

spark = tests.pipeline.conftest.spark  # one session for all tests
WAYS = {
    "driver": {},  # deltas and records on the driver, as small data has it
    "folded": {"foldRows": "0"},  # facts in DataFrames, deltas on the driver
    "mixed": {"driverRows": "6", "foldRows": "3"},  # some deltas here, some there
    "far": {"driverRows": "0", "foldRows": "0"},  # nothing on the driver
}


def session(spark: SparkSession, way: str) -> SparkSession:
    """A session with the settings of one way."""
    made = spark.newSession()
    for name, value in WAYS[way].items():
        made.conf.set(f"spark.holdfast.{name}", value)
    return made
