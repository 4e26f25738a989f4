"""The engines: what makes the backend of a knowledge base."""

from __future__ import annotations

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

ENGINES = ("memory", "spark")
EngineChoice: TypeAlias = "str | SparkOptions | SparkSession | Factory"
_SILENCE = 2.0  # seconds of compiling before the user is notified


def backend_factory(engine: EngineChoice, progress: Progress) -> Factory:
    """What makes the backend; Spark, or the kernels, are loaded now."""
    if not _is_engine(engine):
        help = similar(str(engine), ENGINES) or "an engine is memory, spark, a Spark session, or a factory of backends"
        raise UsageError(Diagnostic("E0916", f"unknown engine {engine}", help=help))
    if callable(engine):
        return engine
    if engine == "memory":
        with patience(progress):
            from holdfast.backends.memory.store import MemoryBackend
        return MemoryBackend
    from holdfast.spark_session import spark_session

    session = spark_session(None if isinstance(engine, str) else engine)
    from holdfast.backends.spark.store import SparkBackend

    return partial(SparkBackend, session)


def keeps_frames(engine: EngineChoice) -> bool:
    """Whether facts that are given as Spark DataFrames stay what they are."""
    return not (engine == "memory" or callable(engine))


def _is_engine(engine: object) -> bool:
    if isinstance(engine, str):
        return engine in ENGINES
    from holdfast.spark_session import SparkOptions

    return isinstance(engine, SparkOptions) or hasattr(engine, "newSession") or callable(engine)


@contextmanager
def patience(progress: Progress) -> Iterator[None]:
    """Tell the user when loading the kernels takes long: they are compiled once on a machine."""
    timer = threading.Timer(_SILENCE, progress.compiling)
    timer.daemon = True
    try:
        with deferred():
            timer.start()
        yield
    finally:
        with deferred():
            timer.cancel()
