"""The engines, which create the backend of a knowledge base."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from holdfast.backends.protocol import Engine as Factory
from holdfast.errors import Diagnostic, UsageError
from holdfast.interrupts import deferred
from holdfast.program.similar import similar
from holdfast.settings import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.spark_session import SparkOptions

ENGINES = ("memory", "parted", "spark", "spark-parted")
EngineChoice: TypeAlias = "str | SparkOptions | SparkSession | Factory"
_PARTED = re.compile(r"(spark-)?parted(?:\[([0-9]{1,4})\])?")
_SILENCE = 2.0  # seconds of compiling before the user is notified


def backend_factory(engine: EngineChoice, progress: Progress) -> Factory:
    """The factory of the backend; loads Spark or the kernels now."""
    if not _is_engine(engine):
        kinds = (
            "memory, parted, parted[4], spark, spark-parted, spark-parted[4], a Spark session, or a factory of backends"
        )
        help = similar(str(engine), ENGINES) or f"an engine is {kinds}"
        raise UsageError(Diagnostic("E0916", f"unknown engine {engine}", help=help))
    if callable(engine):
        return engine
    if engine == "memory":
        with patience(progress):
            from holdfast.backends.memory.store import MemoryBackend
        return MemoryBackend
    parted = _PARTED.fullmatch(engine) if isinstance(engine, str) else None
    if parted is not None and not parted[1]:
        with patience(progress):
            from holdfast.backends.parted.store import PartedBackend, default_shards
        return partial(PartedBackend, int(parted[2]) if parted[2] else default_shards())
    from holdfast.spark_session import spark_session

    if parted is not None:
        from holdfast.backends.spark_parted.store import spark_parted

        return spark_parted(spark_session(), int(parted[2]) if parted[2] else None)
    session = spark_session(None if isinstance(engine, str) else engine)
    from holdfast.backends.spark.store import SparkBackend

    return partial(SparkBackend, session)


def keeps_frames(engine: EngineChoice) -> bool:
    """Whether facts given as Spark DataFrames stay DataFrames."""
    return engine.startswith("spark") if isinstance(engine, str) else not callable(engine)


def has_shards_on_spark(engine: str) -> bool:
    """Whether an engine is `spark-parted`."""
    return _is_engine(engine) and engine.startswith("spark-")


def _is_engine(engine: object) -> bool:
    if isinstance(engine, str):
        parted = _PARTED.fullmatch(engine)
        return engine in ENGINES or (parted is not None and parted[2] is not None and int(parted[2]) > 0)
    from holdfast.spark_session import SparkOptions

    return isinstance(engine, SparkOptions) or hasattr(engine, "newSession") or callable(engine)


@contextmanager
def patience(progress: Progress) -> Iterator[None]:
    """Notify the user if loading the kernels takes long: they are compiled once per machine."""
    timer = threading.Timer(_SILENCE, progress.compiling)
    timer.daemon = True
    try:
        with deferred():
            timer.start()
        yield
    finally:
        with deferred():
            timer.cancel()
