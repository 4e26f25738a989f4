"""Keeps the shards about equally full: finds hubs, and drops copies that have become too large."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

import numpy as np

from holdfast.backends.parted import hubs
from holdfast.backends.parted.driver import Driver
from holdfast.backends.parted.hubs import hubs_of
from holdfast.backends.parted.partition import ON_ONE, Copy, Hubs
from holdfast.backends.parted.placement import Placement
from holdfast.backends.parted.shard import summed
from holdfast.interrupts import shielded
from holdfast.values.dictionary import Codes


class Balance:
    """Decides how the facts of frequent values are spread; plans are cut again when that changes."""

    def __init__(self, driver: Driver, placement: Placement, forget_plans: Callable[[], None]) -> None:
        self._driver, self._placement, self._forget_plans = driver, placement, forget_plans
        self.least: float = hubs.LEAST
        self._looked_at = 0  # the number of facts at the last check

    def first_facts(self, rows: Mapping[str, Codes], relations: Iterable[str]) -> None:
        """Before the first facts of a relation are placed, spread their hubs at once."""
        parts = self._placement.parts
        found = {name: hubs_of(codes, self.columns(name), parts, self.least) for name, codes in rows.items()}
        self.first_hubs(found, relations)

    def columns(self, name: str) -> set[int]:
        """The columns of a relation in which hubs matter."""
        return {self._placement.primary[name], *self._placement.joined.get(name, ())} - {ON_ONE}

    def first_hubs(self, found: Mapping[str, Hubs], relations: Iterable[str]) -> bool:
        """Spread the hubs of the first facts of relations; gives whether there are new ones."""
        are_new = False
        for name, values in found.items():
            if not np.isin(values, self._placement.hubs).all():
                known = summed(self._driver.ask("known"))
                if not known.get(name):
                    self._add(values, [relation for relation in relations if not known.get(relation)])
                    are_new = True
        return are_new

    def _add(self, found: Hubs, spreading: Iterable[str]) -> None:
        """Declare more values as hubs; the given relations, which have no rows yet, spread their facts."""
        placement = self._placement
        placement.hubs = np.union1d(placement.hubs, found)
        placement.spread.update(dict.fromkeys(spreading, placement.hubs))
        placement.stale.update(copy.name for copy in self._copies() if copy.kind == "hubs")
        self._forget_plans()
        self._driver.ask("hubs", placement.hubs, {name: placement.spread[name] for name in placement.primary})

    def tidy(self) -> None:
        """Between updates: drop the copies that no plan reads, and spread the facts of values that have become hubs."""
        for copy in [copy for copy in self._copies() if copy.name in self._placement.stale]:
            self._drop(copy)
        sizes = self._driver.lasting_sizes("materialisation")
        size = sum(sizes.values())
        if self._placement.parts > 1 and size > max(self.least, 2 * self._looked_at):
            self._looked_at = size
            self._spread_anew(sizes)

    def _spread_anew(self, sizes: Mapping[str, int]) -> None:
        placement = self._placement
        tables = {name: (name, column) for name, column in placement.primary.items()}
        tables |= {copy.name: (copy.predicate, copy.column) for copy in self._copies() if copy.kind == "column"}
        places = {
            table: (column, sizes.get(name, 0))
            for table, (name, column) in tables.items()
            if column != ON_ONE and sizes.get(name, 0) > self.least
        }
        found = dict[str, Hubs]()
        for answer in self._driver.ask("frequent", places):
            for table, values in answer.items():
                found[table] = np.union1d(found.get(table, values), values)
        if found:
            self._add(np.unique(np.concatenate([*found.values()])), ())
            for copy in [copy for copy in self._copies() if copy.name in found or copy.name in placement.stale]:
                self._drop(copy)
            self._move({table: values for table, values in found.items() if table in placement.primary})

    def _move(self, found: Mapping[str, Hubs]) -> None:
        """Move facts with new hubs to other shards.  All shards do it or none, so it must not be interrupted."""
        placement = self._placement
        spread = {name: np.union1d(placement.spread[name], values) for name, values in found.items()}
        with shielded(), suppress(MemoryError):  # on failure the facts stay where they are
            self._driver.ask("move", {name: (placement.primary[name], hubs) for name, hubs in spread.items()})
            placement.spread.update(spread)

    def _copies(self) -> list[Copy]:
        return [copy for copies in self._placement.copies.values() for copy in copies.values()]

    def _drop(self, copy: Copy) -> None:
        """Drop a copy that no plan reads."""
        self._driver.ask("drop_copy", copy.name)
        self._driver.forget_copy(copy.name)
        self._placement.copies[copy.predicate].pop(copy.name)
        self._placement.drop_table(copy.name)
