"""What a stream took, update by update and in total."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from typing import TYPE_CHECKING

from holdfast.cli import terminal
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast import Change, KnowledgeBase
    from holdfast.maintenance.stratum import Figures

_PHASES = ("deletion", "backward", "forward", "insertion", "overdeleted", "rederived")


@dataclasses.dataclass
class _NodeTotal:
    seconds: float = 0.0
    phases: Counter[str] = dataclasses.field(default_factory=Counter)
    algorithms: Counter[str] = dataclasses.field(default_factory=Counter)

    def to_json(self) -> dict[str, object]:
        return {"seconds": self.seconds, **{phase: self.phases[phase] for phase in _PHASES},
                "algorithms": dict(self.algorithms)}


class StreamFigures:
    """Collects figures; an update's seconds are those from when it was read."""

    def __init__(self, base: KnowledgeBase) -> None:
        self._start = dataclasses.asdict(base.statistics)
        self._each: list[dict[str, object]] = []
        self._total: Counter[str] = Counter()
        self._nodes: dict[tuple[str, ...], _NodeTotal] = {}
        self.updates = self.skipped = 0
        self.seconds = 0.0
        self._begun = time.monotonic()

    def begin(self) -> None:
        """An update has been read."""
        self._begun = time.monotonic()

    def add(self, number: int, change: Change) -> None:
        """An update is done."""
        self.updates += 1
        seconds = self._passed()
        added, removed = (sum(map(len, part.values())) for part in (change.added, change.removed))
        self._total.update(added=added, removed=removed, no_ops=change.no_ops)
        for node in change.figures:
            self._total.update({phase: getattr(node, phase) for phase in _PHASES})
            self._add_node(node)
        self._each.append({"update": number, "seconds": seconds, "added": added, "removed": removed,
                           "no_ops": change.no_ops, "nodes": list(map(dataclasses.asdict, change.figures))})

    def _add_node(self, node: Figures) -> None:
        total = self._nodes.setdefault(node.predicates, _NodeTotal())
        total.seconds += node.seconds
        total.phases.update({phase: getattr(node, phase) for phase in _PHASES})
        total.algorithms[node.algorithm] += 1

    def skip(self, number: int, error: HoldfastError) -> None:
        """An update was refused."""
        self.skipped += 1
        found = [diagnostic.to_json() for diagnostic in error.diagnostics]
        self._each.append({"update": number, "seconds": self._passed(), "error": found})

    def totals(self) -> dict[str, object]:
        """Sums over all updates."""
        names = ("added", "removed", "no_ops", *_PHASES)
        return {"updates": self.updates, "skipped": self.skipped, "seconds": self.seconds,
                **{name: self._total[name] for name in names}}

    def to_json(self) -> dict[str, object]:
        """Everything, for `--stats`."""
        nodes = [{"predicates": list(predicates), **total.to_json()} for predicates, total in self._nodes.items()]
        return {"start": self._start, "total": {**self.totals(), "nodes": nodes}, "updates": self._each}

    def summary(self) -> str:
        """One line for a person."""
        done, skipped = terminal.counted(self.updates, "updates"), f", {self.skipped:,} skipped" if self.skipped else ""
        return (f"{done}{skipped}: {self._total['added']:,} facts added, {self._total['removed']:,} removed, "
                f"{self.seconds:.2f} s")

    def _passed(self) -> float:
        seconds = time.monotonic() - self._begun
        self.seconds += seconds
        return seconds
