"""Statistics of a stream, per update and in total."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING

from holdfast.cli import terminal
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast import Change, KnowledgeBase
    from holdfast.maintenance.stratum import Figures
    from holdfast.streaming.driver import Answer
    from holdfast.streaming.queue import UpdateQueue

_MARKS = ("marks_explicit", "marks_implicit", "marks_saved")
_PHASES = ("deletion", "backward", "forward", "insertion", "overdeleted", "rederived")


@dataclasses.dataclass
class _NodeTotal:
    seconds: float = 0.0
    phases: Counter[str] = dataclasses.field(default_factory=Counter)
    algorithms: Counter[str] = dataclasses.field(default_factory=Counter)

    def to_json(self) -> dict[str, object]:
        return {
            "seconds": self.seconds,
            **{phase: self.phases[phase] for phase in _PHASES},
            "algorithms": dict(self.algorithms),
        }


class StreamFigures:
    """Collects statistics; an update's time starts when it is taken from the queue."""

    def __init__(self, base: KnowledgeBase, queue: UpdateQueue) -> None:
        self._queue = queue
        self._start = dataclasses.asdict(base.statistics)
        self._each: list[dict[str, object]] = []
        self._total: Counter[str] = Counter()
        self._nodes: dict[tuple[str, ...], _NodeTotal] = {}
        self.updates = self.skipped = 0
        self.seconds = 0.0

    def add(self, answer: Answer, change: Change) -> None:
        """Record an applied update, or several merged into one."""
        self.updates += max(1, len(answer.merged))
        self.seconds += answer.seconds
        added, removed = (sum(map(len, part.values())) for part in (change.added, change.removed))
        self._total.update(added=added, removed=removed, no_ops=change.no_ops)
        for node in change.figures:
            self._total.update({phase: getattr(node, phase) for phase in _PHASES})
            self._add_node(node)
        marks = {f"marks_{name}": number for name, number in dataclasses.asdict(answer.marks).items()}
        self._total.update(marks)
        self._each.append(
            {
                "update": answer.number,
                "seconds": answer.seconds,
                "added": added,
                "removed": removed,
                "no_ops": change.no_ops,
                "waiting": answer.waiting,
                "window": answer.window,
                "merged": list(answer.merged),
                **marks,
                "nodes": list(map(dataclasses.asdict, change.figures)),
            }
        )

    def _add_node(self, node: Figures) -> None:
        total = self._nodes.setdefault(node.predicates, _NodeTotal())
        total.seconds += node.seconds
        total.phases.update({phase: getattr(node, phase) for phase in _PHASES})
        total.algorithms[node.algorithm] += 1

    def skip(self, answer: Answer, error: HoldfastError) -> None:
        """Record a refused update."""
        self.skipped += 1
        self.seconds += answer.seconds
        found = [diagnostic.to_json() for diagnostic in error.diagnostics]
        self._each.append({"update": answer.number, "seconds": answer.seconds, "error": found})

    def passed_over(self, answer: Answer) -> None:
        """Record an update that was merged into a later one."""
        self._each.append({"update": answer.number, "merged_into": answer.into})

    def totals(self) -> dict[str, object]:
        """Sums over all updates."""
        names = ("added", "removed", "no_ops", *_PHASES, *_MARKS)
        return {
            "updates": self.updates,
            "skipped": self.skipped,
            "seconds": self.seconds,
            **{name: self._total[name] for name in names},
        }

    def to_json(self) -> dict[str, object]:
        """All statistics, for `--stats`."""
        nodes = [{"predicates": list(predicates), **total.to_json()} for predicates, total in self._nodes.items()]
        queue = {"capacity": self._queue.capacity, "longest": self._queue.longest, "held_up": self._queue.held_up}
        return {"start": self._start, "total": {**self.totals(), "nodes": nodes}, "queue": queue, "updates": self._each}

    def summary(self) -> str:
        """One line for the user."""
        done, skipped = terminal.counted(self.updates, "updates"), f", {self.skipped:,} skipped" if self.skipped else ""
        return (
            f"{done}{skipped}: {self._total['added']:,} facts added, {self._total['removed']:,} removed, "
            f"{self.seconds:.2f} s"
        )
