"""What is measured of updates: one row for each kind of update, with every single one of them in it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from holdfast import Change


@dataclass(frozen=True)
class Work:
    """What updates took besides time, summed over updates and hyper-nodes: rule instances by phase, and facts."""

    deletion: int = 0
    backward: int = 0
    forward: int = 0
    insertion: int = 0
    overdeleted: int = 0
    rederived: int = 0
    changed: int = 0  # net, in all relations

    def __add__(self, other: Work) -> Work:
        return Work(*(one + two for one, two in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    @staticmethod
    def of(change: Change) -> Work:
        """The work of one update."""
        nodes = change.figures
        return Work(sum(node.deletion for node in nodes), sum(node.backward for node in nodes),
                    sum(node.forward for node in nodes), sum(node.insertion for node in nodes),
                    sum(node.overdeleted for node in nodes), sum(node.rederived for node in nodes), len(change))


@dataclass(frozen=True)
class Taken:
    """One update that was made: its time, its work, and the algorithms that its hyper-nodes got."""

    seconds: float
    work: Work
    algorithms: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """Updates of one kind."""

    table: str
    name: str
    seconds: tuple[float, ...]
    scratch: tuple[float, ...]  # seconds of evaluating everything anew, in the same process
    work: Work = field(default_factory=Work)  # of all updates in `seconds`
    first: float | None = None  # seconds of the first update, where it is told apart: it builds indexes
    facts: int = 0  # of the whole materialisation
    algorithms: tuple[str, ...] = ()  # that were used
    hidden: bool = False  # in the JSON file only
    group: str = ""  # the jobs that it belongs with: what one of them lost is told below the table

    @property
    def median(self) -> float:
        """Seconds of one update."""
        return statistics.median(self.seconds)

    @property
    def ratio(self) -> float | None:
        """An update's median over that of an evaluation from scratch: 0.001 is a thousandth."""
        return self.median / max(statistics.median(self.scratch), 1e-9) if self.scratch else None

    def as_json(self) -> dict[str, Any]:
        """For a file or another process."""
        return {**asdict(self), "median": self.median, "over_scratch": self.ratio}

    @staticmethod
    def from_json(value: dict[str, Any]) -> Row:
        """What `as_json` made."""
        lists: dict[str, Any] = {name: tuple(value[name]) for name in ("seconds", "scratch", "algorithms")}
        plain = {name: value[name] for name in ("table", "name", "first", "facts", "hidden", "group")}
        return Row(work=Work(**value["work"]), **lists, **plain)


def row(table: str, name: str, updates: Iterable[Taken], scratch: Iterable[float], *, first_apart: bool = False,
        facts: int = 0, hidden: bool = False) -> Row:
    """Updates of one kind as a row; if there is but one, it is not set apart."""
    taken = list(updates)
    apart = first_apart and len(taken) > 1
    counted = taken[1:] if apart else taken
    return Row(
        table, name, tuple(one.seconds for one in counted), tuple(scratch),
        work=sum((one.work for one in counted), Work()),
        first=taken[0].seconds if apart else None,
        facts=facts,
        algorithms=tuple(sorted({name for one in counted for name in one.algorithms})),
        hidden=hidden,
    )
