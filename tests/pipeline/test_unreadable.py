"""A file that Spark cannot read: the error names it, and those beside it are applied once it is mended."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import pipeline
from holdfast.errors import HoldfastError
from holdfast.spark_session import unread_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = ".decl s(x: symbol)\n.decl t(x: symbol)\nt(x) :- s(x).\n"
PIPELINE = """\
[pipeline]
program = "p.dl"
[updates.s]
path = "in"
format = "csv"
[snapshots]
path = "state"
"""


class Java:
    """An exception of the JVM."""

    def __init__(self, message: str, cause: Java | None = None) -> None:
        self._message, self._cause = message, cause

    def getMessage(self) -> str:  # noqa: N802
        return self._message

    def getCause(self) -> Java | None:  # noqa: N802
        return self._cause


@pytest.mark.parametrize("end", [". SQLSTATE: KD001", ".", "", "\nsomething more"])
def test_the_file_is_found_in_what_spark_says(end: str) -> None:
    failure = Exception("job aborted")
    inner = Java(f"[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///a/b%20c/2.csv.gz{end}")
    failure.java_exception = Java("[STREAM_FAILED] it failed", inner)  # type: ignore[attr-defined]
    assert unread_file(failure) == "/a/b c/2.csv.gz"
    assert unread_file(Exception("reading file file:///a")) is None


def test_the_error_names_the_file_and_the_stream_goes_on_when_it_is_mended(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "p.toml").write_text(PIPELINE, encoding="utf-8")
    (tmp_path / "in").mkdir()
    for name, content in (("1.csv", b"a\n"), ("2.csv.gz", b"\x1f\x8b\x08nonsense"), ("3.csv", b"c\n")):
        (tmp_path / "in" / name).write_bytes(content)
    declared = pipeline.read(tmp_path / "p.toml")
    with pytest.raises(HoldfastError, match=r"in/2\.csv\.gz: ") as caught:
        pipeline.run(declared, mode="stream", spark=spark)
    assert "correct the file" in str(caught.value)
    (tmp_path / "in/2.csv.gz").write_bytes(gzip.compress(b"b\n"))
    outcome = pipeline.run(declared, mode="stream", spark=spark)
    assert set(outcome.base["t"]) == {("a",), ("b",), ("c",)} and outcome.updates == 3
