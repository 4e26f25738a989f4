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

ENGINES = ("memory", "parted", "spark")
EngineChoice: TypeAlias = "str | SparkOptions | SparkSession | Factory"
_NAME = re.compile(r"memory|(?:parted|spark)(?:\[0*([1-9][0-9]{0,3})\])?")
_SILENCE = 2.0  # seconds of compiling before the user is notified


def backend_factory(engine: EngineChoice, progress: Progress) -> Factory:
    """The factory of the backend; loads Spark or the kernels now."""
    if not _is_engine(engine):
        kinds = "memory, parted, parted[4], spark, spark[4], a Spark session, or a factory of backends"
        help = ("[" not in str(engine) and similar(str(engine), ENGINES)) or f"an engine is {kinds}"
        raise UsageError(Diagnostic("E0916", f"unknown engine {engine}", help=help))
    if callable(engine):
        return engine
    shards = shards_of(engine) if isinstance(engine, str) else None
    if engine == "memory":
        with patience(progress):
            from holdfast.backends.memory.store import MemoryBackend
        return MemoryBackend
    if isinstance(engine, str) and engine.startswith("parted"):
        with patience(progress):
            from holdfast.backends.parted.store import PartedBackend, default_shards
        return partial(PartedBackend, shards or default_shards())
    from holdfast.spark_session import spark_session

    session = spark_session(None if isinstance(engine, str) else engine)
    from holdfast.backends.spark_parted.store import spark_parted

    return spark_parted(session, shards)


def keeps_frames(engine: EngineChoice) -> bool:
    """Whether facts given as Spark DataFrames stay DataFrames."""
    return engine.startswith("spark") if isinstance(engine, str) else not callable(engine)


def shards_of(engine: str) -> int | None:
    """The number of shards that the name of an engine says: `spark[4]`."""
    named = _NAME.fullmatch(engine)
    return int(named[1]) if named is not None and named[1] else None


def _is_engine(engine: object) -> bool:
    if isinstance(engine, str):
        return _NAME.fullmatch(engine) is not None
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
