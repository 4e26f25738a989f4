"""Folding: merges the records and pending changes of a relation into a new base."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.backends.spark.frames import Frame, Space, Wanted
from holdfast.backends.spark.relations import STATE, E, I, N, R, Stored
from holdfast.backends.spark.values import table_of_rows

_REMEMBERED = 16  # folds; then the lineage of lost blocks is dropped, since it grows with every fold


def fold(space: Space, several: Iterable[Stored]) -> None:
    """Fold records and pending changes into new bases where they are many, in one job; only then free the old bases."""
    due = [(stored, state) for stored in several if (state := _unfolded(stored)) is not None]
    for stored, _ in due:
        stored.folds += 1
    made = space.snapshot(
        *(
            Wanted(
                state.query,
                ["sum(e)", "sum(i)", "count(*)", *stored.distincts()],
                3 * stored.size,
                stored.folds % _REMEMBERED == 0,
            )
            for stored, state in due
        )
    )
    for (stored, _), (base, (explicit, derived, facts, *distinct)) in zip(due, made, strict=True):
        stored.counts[:] = explicit, derived
        stored.sampled(facts, distinct)
        stored.found(base if facts else None)


def _unfolded(stored: Stored) -> Frame | None:
    """Records and pending changes as one state, if they are many; None if there is nothing to compute."""
    if any(map(stored.waits, (E, I))) or any(stored.logs.values()):
        return _unfolded_sets(stored)
    if len(stored.records) > stored.space.fold_rows:
        changed = any(record[E:N] != record[4:] or record[N] or record[R] for record in stored.records.values())
        if changed or stored.base is None:
            return _state(stored)
        stored.found(stored.base)
    return None


def _state(stored: Stored) -> Frame:
    """Base and records as one frame."""
    live = {row: record for row, record in stored.records.items() if any(record[:4])}
    columns = {name: [record[place] for record in live.values()] for place, name in enumerate(STATE)}
    needs: list[Frame] = [stored.space.given(table_of_rows(live, stored.types, **columns))]
    parts = [f"SELECT * FROM {needs[0].table}"]
    if stored.base is not None:
        needs += [stored.base]
        held = f"SELECT {stored.list}, e, i, n, r FROM {stored.base.table}"
        if stored.records:
            needs += [keys := stored.space.rows(stored.records, stored.types)]
            held = (
                f"SELECT {keys.sent('m', stored.base)}b.* FROM ({held}) b LEFT ANTI JOIN {keys.table} m "
                f"ON {stored.equal('b', 'm')}"
            )
        parts.append(held)
    return Frame(stored.space, " UNION ALL ".join(parts), needs)


def _unfolded_sets(stored: Stored) -> Frame | None:
    """Adds up in one grouping what is known of each fact; needs no grouping if no fact is in two frames."""
    shares: dict[Frame, list[str]] = {}

    def add(frame: Frame, place: int, times: str) -> None:
        whole, condition = frame.part_of
        shares.setdefault(whole, ["0L"] * len(STATE))[place] += f" + IF({condition}, {times}, 0L)"

    for flag in (E, I):
        for frame in stored.added[flag]:
            add(frame, flag, "1L")
        for frame in stored.removed[flag]:
            add(frame, flag, "-1L")
    for place, logs in stored.logs.items():
        for log in logs:
            add(log.frame, place, f"{log.sign} * {log.times}")
    parts = [
        f"SELECT {stored.list}, {', '.join(f'{w} AS {name}' for w, name in zip(what, STATE, strict=True))} "
        f"FROM {frame.table}"
        for frame, what in shares.items()
    ]
    needs = list(shares)
    # sets added to I at different times are disjoint
    segments = {frame.part_of[0] for frame in stored.added[I] if frame.part_of[1] == "true"}
    is_apart = len(parts) == 1 or (segments.issuperset(shares) and not any(stored.removed))
    if is_apart and stored.base is None and not stored.records:
        state = Frame(stored.space, " UNION ALL ".join(parts), needs)
        if len(parts) > 1 or not needs[0].is_kept:
            return state
        stored.found(state)  # it is computed already
        return None
    if stored.base is not None or stored.records:
        needs += [state := _state(stored)]
        parts += [f"SELECT * FROM {state.table}"]
    query = (
        f"SELECT {stored.list}, CAST(sum(e) > 0 AS BIGINT) AS e, CAST(sum(i) > 0 AS BIGINT) AS i, sum(n) AS n, "
        f"sum(r) AS r FROM ({' UNION ALL '.join(parts)}) GROUP BY {stored.list} "
        "HAVING sum(e) > 0 OR sum(i) > 0 OR sum(n) <> 0 OR sum(r) <> 0"
    )
    return Frame(stored.space, query, needs)
