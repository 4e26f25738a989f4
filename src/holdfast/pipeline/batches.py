"""Split a micro-batch: each file is an update, ordered by file time, then by name.

Spark puts everything that waits, from all sources, into one micro-batch; otherwise files of different sources would
have no common order.  The rows are collected in this process in pieces of bounded size, each of whole files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.pipeline.sources import FILE, TIME

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

AT_ONCE: Final = 200_000  # rows fetched at once; a text of this length counts as one more row
_ROW: Final = 200
Fetch = Callable[["DataFrame"], pa.Table]


class Position(NamedTuple):
    """The progress of a stream."""

    stream: str | None = None  # Spark's id of the stream
    place: int = -1  # the micro-batch of the last update
    parts: int = 0  # updates of that micro-batch that are done
    parts_of: int = 0  # all its updates; 0 if written by a very old holdfast
    taken: str = ""  # the hash of the names of the files done


class MicroBatch:
    """The files of a micro-batch in order, with the rows of each; rows without a file form one part."""

    def __init__(self, frame: DataFrame, fetch: Fetch, *, here: bool, texts: Iterable[str] = ()) -> None:
        """`here`: fetch rows into this process; `texts`: columns that may hold a whole file in a row."""
        from pyspark.sql import functions as sf

        self._frame, self._fetch, self._here = frame, fetch, here
        self._sizes: dict[str, int] = {}
        texts = list(texts)
        self._table = None if texts or not here else fetch(frame.limit(AT_ONCE + 1))
        if self._table is not None and self._table.num_rows <= AT_ONCE:
            places = set(zip(self._table[TIME].to_pylist(), self._table[FILE].to_pylist(), strict=True))
        else:
            self._table, self._frame = None, frame.cache()
            size: Column = sf.sum(sum((sf.coalesce(sf.length(f"`{t}`"), sf.lit(0)) for t in texts), sf.lit(_ROW)))
            found = fetch(self._frame.groupBy(TIME, FILE).agg((size / _ROW).cast("BIGINT").alias("size"))).to_pylist()
            self._sizes = {row[FILE]: row["size"] for row in found}
            places = {(row[TIME], row[FILE]) for row in found}
        self.files: list[str] = [file for _, file in sorted(places)] or [""]

    def rows(self, first: int) -> Iterator[DataFrame | pa.Table]:
        """The rows of each file, starting with file number `first`."""
        from pyspark.sql import functions as sf

        if not self._here:
            yield from (self._frame.filter(sf.col(FILE) == file) for file in self.files[first:])
            return
        for group in [self.files[first:]] if self._table is not None else self._groups(first):
            table = self._table
            if table is None:
                table = self._fetch(self._frame.filter(sf.col(FILE).isin(group)))
            yield from (table.filter(pc.equal(table[FILE], file)) for file in group)

    def close(self) -> None:
        """Release the rows."""
        self._frame.unpersist()

    def _groups(self, first: int) -> Iterator[list[str]]:
        """Files to fetch together: as many as fit the limit, or one."""
        group: list[str] = []
        size = 0
        for file in self.files[first:]:
            size += self._sizes.get(file, 0)
            if group and size > AT_ONCE:
                yield group
                group, size = [], self._sizes.get(file, 0)
            group.append(file)
        yield group


def hash_of(files: Iterable[str], before: str = "") -> str:
    """A hash of file names in order, continuing from that of earlier ones."""
    return list(accumulate(files, _longer, initial=before))[-1]


def _longer(digest: str, file: str) -> str:
    return hashlib.sha256(f"{digest}\n{file}".encode()).hexdigest()
