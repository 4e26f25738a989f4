"""Structured Streaming, one micro-batch at a time; failures reach the caller unchanged."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from holdfast.errors import Diagnostic, UsageError
from holdfast.spark_session import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CAUGHT_UP: Final = "available"  # the trigger of a stream that ends when it has read everything available
_LOOK: Final = 0.05  # seconds between checks for the end of the stream
Take = Callable[["DataFrame", int, str], None]


def follow(frame: DataFrame, checkpoint: Path, trigger: str, take: Take) -> None:
    """Pass each micro-batch to `take`, with its number and the stream's id; returns when the stream has ended.

    Spark records the contents of a micro-batch before it runs, and its completion after `take` has returned.  An
    incomplete micro-batch is repeated with the same rows and the same number.
    """
    failures: list[BaseException] = []

    def one(batch: DataFrame, place: int) -> None:
        try:
            take(batch, place, _name(checkpoint))
        except BaseException as failure:  # Spark would convert it to text
            failures.append(failure)
            raise

    with spark_errors("the stream cannot start"):
        writer = frame.writeStream.foreachBatch(one).option("checkpointLocation", str(checkpoint.absolute()))
        writer = (
            writer.trigger(availableNow=True)
            if trigger == CAUGHT_UP
            else writer.trigger(processingTime=_interval(trigger))
        )
        query = writer.start()
    try:
        with spark_errors("the stream failed"):
            while query.isActive:  # `awaitTermination` would block Ctrl-C
                time.sleep(_LOOK)
            query.awaitTermination()  # raises the failure that ended it
    except KeyboardInterrupt:
        query.stop()
        raise
    except BaseException as failure:
        raise (failures[0] if failures else failure) from None


def changed_since(checkpoint: Path) -> list[str]:
    """The files on this machine that have changed since Spark read them, and that it will not read again.

    Uses Spark's records: file names and times, and the progress of each micro-batch.  A file is reported until another
    micro-batch completes; none is if the checkpoint has another format.
    """
    changed: set[str] = set()
    with suppress(OSError, ValueError, KeyError, TypeError):
        done = max((int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")), default=None)
        if done is None:
            return []
        last = (checkpoint / f"commits/{done}").stat().st_mtime_ns
        offsets = _lines(checkpoint / f"offsets/{done}")[1:]  # one line about the micro-batch, then one per source
        for place, offset in enumerate(offsets):
            reached = json.loads(offset).get("logOffset", -1) if offset.startswith("{") else -1
            logs = (checkpoint / f"sources/{place}").glob("[0-9]*") if reached >= 0 else ()
            for noted in (json.loads(line) for log in logs for line in _lines(log)):
                uri = urlsplit(noted["path"])
                file = Path(unquote(uri.path))
                if uri.scheme == "file" and noted["batchId"] <= reached and file.is_file():
                    now = file.stat()
                    if now.st_mtime_ns // 10**6 != noted["timestamp"] and now.st_ctime_ns > last:
                        changed.add(str(file))
    return sorted(changed)


def _lines(path: Path) -> list[str]:
    """The lines of a file in Spark's checkpoint, without the version line."""
    return path.read_text(encoding="utf-8").splitlines()[1:]


def _name(checkpoint: Path) -> str:
    """The id that Spark gave the stream with its checkpoint; it survives restarts."""
    return str(json.loads((checkpoint / "metadata").read_text(encoding="utf-8"))["id"])


def _interval(trigger: str) -> str:
    words = trigger.split()
    if len(words) != 2 or not words[0].isdigit():
        raise UsageError(Diagnostic("E1104", f"{trigger!r} is not a trigger", help='"available", or "2 seconds"'))
    return trigger
