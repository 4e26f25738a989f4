"""The maintained state of a pipeline: its engine, and how updates are applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from holdfast.errors import HoldfastError, LimitReached
from holdfast.formats.fact_data import FactParts
from holdfast.knowledge.engines import EngineChoice
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.knowledge.opening import from_text
from holdfast.pipeline.checking import DELETE, INSERT
from holdfast.pipeline.intake import Line
from holdfast.pipeline.model import EngineSettings
from holdfast.relation_view import RelationView
from holdfast.settings import Limits
from holdfast.store.writing import StoredData
from holdfast.update_lines import UpdateLine
from holdfast.updates import Change, Update
from holdfast.values import Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Given = tuple[str, str, "pa.Table | DataFrame"]  # the operation, the relation, the rows
Load: TypeAlias = "Callable[[EngineChoice, Limits | None], KnowledgeBase]"
"""Loads a knowledge base on an engine, within limits."""
_TOO_MANY_FACTS = "E0802"
_DIRECTORY = "spark.holdfast.directory"


@dataclass
class PipelineState:
    """The maintained knowledge base, its engine, and the reason for that engine."""

    base: KnowledgeBase
    engine: str
    reason: str = ""
    limit: int | None = None  # on facts, if that is why the state is in this process

    @property
    def why(self) -> str:
        """The reason for this engine, with the current number of facts."""
        if self.limit is None:
            return self.reason
        facts = sum(self.sizes().values())
        return f"{facts:,} {'fact fits' if facts == 1 else 'facts fit'} the limit of {self.limit:,}"

    @property
    def is_distributed(self) -> bool:
        """Whether relations live on Spark."""
        return self.engine == "spark"

    def sizes(self) -> dict[str, int]:
        """The number of facts of each relation."""
        return self.base.sizes()

    def apply(
        self, rows: Iterable[Given], lines: Iterable[Line], refused: Callable[[Line, HoldfastError], None]
    ) -> Change:
        """Apply one update: the rows at once, then the lines one by one; a refused line is reported and skipped."""
        return apply_to(self.base, rows, lines, refused)

    def rest(self) -> None:
        """Leave the cores of Spark to other jobs."""
        if self.is_distributed:
            from holdfast.backends.spark_parted.crew import release_idle

            release_idle()

    def stored_data(self, view: RelationView) -> StoredData:
        """Explicit facts for a snapshot; Spark writes its own, except types that only our Parquet preserves."""
        is_here = {Type.ANY, Type.UNSIGNED, Type.RECORD} & set(view.types)
        return on_spark(view) if self.is_distributed and not is_here else view.to_arrow()


def on_spark(view: RelationView) -> DataFrame:
    """A relation as a DataFrame for a job that follows; the shards leave it their cores."""
    from holdfast.backends.spark_parted.crew import release_idle

    frame = view.to_spark()
    release_idle()
    return frame


def apply_to(
    base: KnowledgeBase,
    rows: Iterable[Given],
    lines: Iterable[Line],
    refused: Callable[[Line, HoldfastError], None],
) -> Change:
    """Apply one update of a pipeline to a knowledge base."""
    parts: dict[str, dict[str, list[pa.Table | DataFrame]]] = {DELETE: {}, INSERT: {}}
    for kind, relation, data in rows:
        parts[kind].setdefault(relation, []).append(data)
    delete, insert = (
        {name: FactParts(tuple(several)) for name, several in parts[kind].items()} for kind in (DELETE, INSERT)
    )
    change = base.apply(Update(delete, insert)) if delete or insert else Change({}, {})
    for line in lines:
        try:
            change = composed(change, base.apply(as_update(line)))
        except LimitReached:
            raise
        except HoldfastError as error:
            refused(line, error)
    return change


def as_update(line: Line) -> Update:
    """Parse the update in a line of JSON."""
    return UpdateLine(line.file, line.number, line.number, line.text.encode()).update()


def composed(first: Change, second: Change) -> Change:
    """The combined change of two consecutive updates."""
    if not first or not second:
        return first if first else second
    added: dict[str, RelationView] = {}
    removed: dict[str, RelationView] = {}
    for name in {**first.removed, **first.added, **second.removed, **second.added}:
        a1, r1, a2, r2 = (_rows(part.get(name)) for part in (first.added, first.removed, second.added, second.removed))
        some = next(p[name] for p in (second.added, second.removed, first.added, first.removed) if name in p)
        for found, rows in ((added, (a1 - r2) | (a2 - r1)), (removed, (r1 - a2) | (r2 - a1))):
            if rows:
                codes = np.array(sorted(rows), np.int64).reshape(len(rows), len(some.types))
                found[name] = RelationView(some._relation, codes, some._dictionary)
    return Change(added, removed, first.figures + second.figures, first.no_ops + second.no_ops)


def _rows(view: RelationView | None) -> set[tuple[int, ...]]:
    return set() if view is None else set(map(tuple, view.codes.tolist()))


# --- engines -----------------------------------------------------------------------------------------


class Opener:
    """Materialises a program and facts on the engine of a pipeline."""

    def __init__(self, engine: EngineSettings, session: SparkSession, folder: Path | None = None) -> None:
        """The spark engine keeps its files in `folder`, unless a setting says where, or all is on this machine."""
        self._engine = engine
        self._session = session
        self._folder = folder

    def fits(self, rows: int) -> bool:
        """Whether this many facts are kept in this process."""
        return self._engine.kind == "memory" or (self._engine.kind == "auto" and rows <= self._engine.limit)

    def open(self, text: str, name: str, facts: Mapping[str, list[pa.Table | DataFrame]], rows: int) -> PipelineState:
        """Create a state from a program and its explicit facts."""
        given = {relation: FactParts(tuple(parts)) for relation, parts in facts.items()}
        return self.opened(rows, lambda engine, limits: from_text(text, given, name=name, engine=engine, limits=limits))

    def opened(self, rows: int, load: Load, *, spark_why: str | None = None) -> PipelineState:
        """Create a state with `load` on the right engine; `spark_why` is a reason for Spark."""
        kind, limit = self._engine.kind, self._engine.limit
        why = "the pipeline file sets it"
        if kind == "memory":
            return PipelineState(load("memory", None), "memory", why)
        if kind == "auto" and spark_why is None and rows <= limit:
            try:
                return PipelineState(load("memory", Limits(facts=limit)), "memory", limit=limit)
            except LimitReached as error:
                if not too_many_facts(error):
                    raise
                spark_why = f"the rules derive more facts than the limit of {limit:,}"
        if kind == "auto":
            why = spark_why or f"{rows:,} facts are more than the limit of {limit:,}"
        return PipelineState(load(self._for_shards(), None), "spark", why)

    def _for_shards(self) -> SparkSession:
        """The session, or one beside it that knows where shards keep their files."""
        session = self._session
        is_local = (session.sparkContext.master or "").startswith("local")
        if self._folder is None or is_local or session.conf.get(_DIRECTORY, None):
            return session
        made = session.newSession()
        for key, value in session.conf.getAll.items():
            if key.startswith("spark.holdfast."):
                made.conf.set(key, value)
        made.conf.set(_DIRECTORY, str(self._folder.absolute()))
        return made


def too_many_facts(error: LimitReached) -> bool:
    """Whether the limit on facts was the one reached."""
    return any(found.code == _TOO_MANY_FACTS for found in error.diagnostics)
