"""The planner's statistics of facts on shards."""

from __future__ import annotations

from holdfast.backends.memory.statistics import TableStatistics
from holdfast.backends.parted.driver import Driver
from holdfast.backends.parted.placement import Placement

_GROWN = 4  # growth factor; then the shards are asked again


class PartedStatistics:
    """The sizes of I, and how many facts share a key, as the shards estimate it."""

    many = TableStatistics.many

    def __init__(self, driver: Driver, placement: Placement) -> None:
        self._driver, self._placement = driver, placement
        self._keys: dict[tuple[str, tuple[int, ...]], tuple[float, float]] = {}  # the size then, and keys per fact

    def forget(self, predicate: str) -> None:
        """Forget a dropped relation."""
        self._keys = {place: known for place, known in self._keys.items() if place[0] != predicate}

    def clear(self) -> None:
        """Forget all estimates."""
        self._keys.clear()

    def size(self, predicate: str) -> float:
        """The number of facts in I, without queued changes."""
        return float(self._driver.sizes_before_queue("materialisation").get(predicate, 0))

    def smallest(self, predicate: str, column: int) -> float:
        """The least number that a shard has ever seen in a column."""
        return float(min(self._driver.ask("smallest", predicate, column)))

    def fanout(self, predicate: str, columns: tuple[int, ...], arity: int) -> float:
        """The average number of facts that share their values in these columns; at most 1 for all columns."""
        if self._placement.parts == 1:
            return float(self._driver.ask("fanout", predicate, columns)[0])
        size = self.size(predicate)
        if not size or not arity:
            return min(1.0, size)
        if len(columns) < arity:
            return size / self._number_of_keys(predicate, columns, size)
        rows = 1.0
        for column in range(arity):
            rows *= self._number_of_keys(predicate, (column,), size)
        return min(1.0, size / rows)

    def unindexed(self, predicate: str, columns: tuple[int, ...]) -> float:
        """On several shards 0, as if all indexes existed: the shards build them in parallel."""
        return float(self._driver.ask("unindexed", predicate, columns)[0]) if self._placement.parts == 1 else 0.0

    def _number_of_keys(self, predicate: str, columns: tuple[int, ...], size: float) -> float:
        then, share = self._keys.get((predicate, columns), (0.0, 1.0))
        if size > _GROWN * then:
            rows, keys = zip(*self._driver.ask("keys", predicate, columns), strict=True)
            is_apart = self._placement.primary[predicate] in columns  # no key is on two shards
            share = (sum(keys) if is_apart else max(keys)) / max(1, sum(rows))
            self._keys[predicate, columns] = size, share
        return max(1.0, share * size)
