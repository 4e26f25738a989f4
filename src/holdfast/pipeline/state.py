"""The maintained state of a pipeline: its engine, how an update is applied, how it is kept and found again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from holdfast.errors import HoldfastError, LimitReached
from holdfast.formats.fact_data import FactParts
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.knowledge.opening import from_text
from holdfast.pipeline.checking import DELETE, INSERT
from holdfast.pipeline.intake import Line
from holdfast.pipeline.model import EngineSettings
from holdfast.pipeline.snapshots import Logged, Manifest, Part, Position, SnapshotStore
from holdfast.relation_view import RelationView
from holdfast.settings import Limits
from holdfast.update_lines import UpdateLine
from holdfast.updates import Change, Update
from holdfast.values import Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RowTable = "pa.Table | DataFrame"
Given = tuple[str, str, "pa.Table | DataFrame"]  # what is to be done, the relation, the rows
_BEGINNING = Position()
_TOO_MANY_FACTS = "E0802"


@dataclass
class PipelineState:
    """What is maintained, on which engine, and why there."""

    base: KnowledgeBase
    engine: str
    reason: str = ""
    limit: int | None = None  # of facts, if they are here because they are not more

    @property
    def why(self) -> str:
        """Why it is on this engine; how many facts there are is counted now."""
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
        """One update: the rows at once, then the lines one by one; a refused line is reported and has no effect."""
        parts: dict[str, dict[str, list[pa.Table | DataFrame]]] = {DELETE: {}, INSERT: {}}
        for kind, relation, data in rows:
            parts[kind].setdefault(relation, []).append(data)
        delete, insert = (
            {name: FactParts(tuple(several)) for name, several in parts[kind].items()} for kind in (DELETE, INSERT)
        )
        change = self.base.apply(Update(delete, insert)) if delete or insert else Change({}, {})
        for line in lines:
            try:
                change = composed(change, self.base.apply(as_update(line)))
            except LimitReached:
                raise
            except HoldfastError as error:
                refused(line, error)
        return change


def as_update(line: Line) -> Update:
    """The update that a line of JSON holds."""
    return UpdateLine(line.file, line.number, line.number, line.text.encode()).update()


def composed(first: Change, second: Change) -> Change:
    """What two updates, one after the other, changed together."""
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
    """Materialises a program and facts on the engine that a pipeline asks for."""

    def __init__(self, engine: EngineSettings, session: SparkSession) -> None:
        self._engine = engine
        self._session = session

    def fits(self, rows: int) -> bool:
        """Whether this number of facts is kept in this process."""
        return self._engine.kind == "memory" or (self._engine.kind == "auto" and rows <= self._engine.limit)

    def open(
        self,
        text: str,
        name: str,
        facts: Mapping[str, list[pa.Table | DataFrame]],
        rows: int,
        *,
        spark_why: str | None = None,
    ) -> PipelineState:
        """A state from a program and its explicit facts; `spark_why` is a reason that it must be on Spark."""
        kind, limit = self._engine.kind, self._engine.limit
        given = {relation: FactParts(tuple(parts)) for relation, parts in facts.items()}
        if kind == "memory":
            return PipelineState(from_text(text, given, name=name), "memory", "the pipeline file sets it")
        if kind == "auto" and spark_why is None and rows <= limit:
            try:
                base = from_text(text, given, name=name, limits=Limits(facts=limit))
                return PipelineState(base, "memory", limit=limit)
            except LimitReached as error:
                if not too_many_facts(error):
                    raise
                spark_why = f"the rules derive more facts than the limit of {limit:,}"
        why = spark_why or (
            "the pipeline file sets it" if kind == "spark" else f"{rows:,} facts are more than the limit of {limit:,}"
        )
        return PipelineState(from_text(text, given, name=name, engine=self._session), "spark", why)


def too_many_facts(error: LimitReached) -> bool:
    """Whether the limit that was reached is the one on facts."""
    return any(found.code == _TOO_MANY_FACTS for found in error.diagnostics)


# --- snapshots ---------------------------------------------------------------------------------------


class Keeper:
    """Keeps a state in snapshots, and finds it again."""

    def __init__(self, store: SnapshotStore, opener: Opener, session: SparkSession, every: int) -> None:
        self._store, self._opener, self._session, self._every = store, opener, session, every
        self.newest: Manifest | None = None

    def restore(self, manifest: Manifest, name: str, *, spark_why: str | None = None) -> PipelineState:
        """The state of a snapshot: its facts materialised, then the updates since."""
        if manifest.engine == "spark":
            spark_why = spark_why or "the facts did not fit before"
        rows = sum(part.rows for part in manifest.facts)
        on_spark = spark_why is not None or not self._opener.fits(rows)
        facts = {part.relation: [self._data(part, on_spark)] for part in manifest.facts}
        state = self._opener.open(manifest.program, name, facts, rows, spark_why=spark_why)
        try:
            for update in manifest.updates:
                lines = [Line("", "", i, text) for i, text in enumerate(update.lines)]
                state.apply(self.rows(update.parts, state), lines, _impossible)
        except LimitReached as error:  # it was a higher one when they were applied
            if state.limit is None or not too_many_facts(error):
                raise
            why = f"there are more facts than the limit of {state.limit:,}"
            return self.restore(manifest, name, spark_why=why)
        self.newest = manifest
        return state

    def unverified(self) -> list[int]:
        """The snapshots whose manifests have no hash."""
        return self._store.unverified()

    def log(self, number: int, rows: Iterable[Given]) -> tuple[Part, ...]:
        """Put the rows of an update on the disk before it is applied."""
        folder = f"updates/{number}"
        self._store.clear(folder)
        parts = (
            self._store.write_part(folder, f"{place}-{kind}", relation, data, kind)
            for place, (kind, relation, data) in enumerate(rows)
        )
        return tuple(part for part in parts if part.rows)

    def rows(self, parts: Iterable[Part], state: PipelineState) -> list[Given]:
        """Rows that were put on the disk, for the engine that a state is on."""
        return [(part.kind, part.relation, self._data(part, state.is_distributed)) for part in parts]

    def commit(
        self,
        number: int,
        state: PipelineState,
        parts: tuple[Part, ...],
        lines: Iterable[str],
        stream: Position | None = None,
    ) -> bool:
        """The state after an update becomes the newest snapshot; whether its facts were written whole."""
        assert self.newest is not None
        logged = (*self.newest.updates, Logged(number, parts, tuple(lines)))
        stream = stream or self.newest.position
        if len(logged) >= self._every:
            self.commit_whole(number, state, source=self.newest.source, stream=stream)
            return True
        newest = replace(self.newest, number=number, updates=logged, sizes=state.sizes(), engine=state.engine)
        self._commit(replace(newest, **stream._asdict()))
        return False

    def commit_whole(
        self, number: int, state: PipelineState, *, source: str = "", stream: Position = _BEGINNING
    ) -> None:
        """Like `commit`, with all explicit facts written again."""
        folder = f"facts/{number}"
        self._store.clear(folder)
        facts = []
        for place, (name, view) in enumerate(explicit(state.base).items()):
            rows = view.to_spark() if state.is_distributed and not _driver_only(view) else view.to_arrow()
            facts.append(self._store.write_part(folder, f"{place}", name, rows))
        self._commit(
            Manifest(
                number,
                source,
                state.base.rules_text(),
                tuple(facts),
                number,
                (),
                state.sizes(),
                *stream,
                engine=state.engine,
            )
        )

    def _commit(self, manifest: Manifest) -> None:
        self._store.commit(manifest)
        self.newest = manifest

    def _data(self, part: Part, on_spark: bool) -> pa.Table | DataFrame:
        path = self._store.folder / part.path
        if on_spark and path.is_dir():
            return self._session.read.parquet(str(path.absolute()))
        return self._store.table(part)


def _impossible(line: Line, error: HoldfastError) -> None:
    raise error  # a line that was refused is not kept


def _driver_only(view: RelationView) -> bool:
    """RDF terms and unsigned integers are kept as what they are by our own Parquet only."""
    return Type.ANY in view.types or Type.UNSIGNED in view.types


def explicit(base: KnowledgeBase) -> dict[str, RelationView]:
    """The explicit facts of every relation that has some."""
    return {name: view for name in base.relations if len(view := base.explicit(name))}
