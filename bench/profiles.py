"""Where holdfast's time goes: `python -m bench.profiles MODULE ARGUMENT…` runs a measured process and looks on.

Evaluations (`from_text`) and updates (`apply`, `stream`) are looked at apart; what is around them, such as
generating facts and checking results, is not.  Kernels are machine code that no profiler of Python sees into, so each
is timed by a wrapper; those that run in several threads at once may add up to more than the whole.
"""

from __future__ import annotations

import cProfile
import json
import pstats
import runpy
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import Any

from bench.outcomes import Failure
from bench.processes import Limits, last_line
from bench.tables import OURS, Figure, PaperTable, Row

_LINES = 8  # of a profile
_SOURCE = "holdfast"


@dataclass(frozen=True)
class Part:
    """Evaluations or updates: how often, how long in all, and what took the most, in seconds."""

    what: str
    calls: int
    seconds: float
    kernels: dict[str, float]
    functions: dict[str, float]  # own time, without that of what they call


@dataclass(frozen=True)
class Profile:
    """A row of a table, and what its process did."""

    table: str
    row: str
    variant: str
    parts: tuple[Part, ...] = ()
    failure: str = ""

    @staticmethod
    def from_json(value: dict[str, Any]) -> Profile:
        """What `asdict` and JSON made of one."""
        return Profile(**{**value, "parts": tuple(Part(**part) for part in value["parts"])})


def slowest(tables: Sequence[PaperTable]) -> list[tuple[PaperTable, Row, Figure]]:
    """The slowest of our figures that can be made again, one for each process."""
    found = [
        (table, row, figure)
        for table in tables
        for row in table.rows
        for figure in row.figures
        if figure.system == OURS and figure.unit == "s" and figure.runs and figure.command
    ]
    found.sort(key=lambda one: -(one[2].median or 0))
    return list({figure.command: (table, row, figure) for table, row, figure in reversed(found)}.values())[::-1]


def profiles(
    tables: Sequence[PaperTable], number: int, limits: Limits, tell: Callable[[str], None]
) -> tuple[Profile, ...]:
    """Profiles of so many of the slowest rows."""
    made = list[Profile]()
    for table, row, figure in slowest(tables)[:number]:
        tell(f"profile of {row.name}, {figure.variant or figure.system}")
        match last_line("bench.profiles", figure.command, Limits(2 * limits.seconds, limits.memory)):
            case Failure(reason):
                made.append(Profile(table.key, row.name, figure.variant, failure=reason))
            case line:
                parts = tuple(Part(**part) for part in json.loads(line))
                made.append(Profile(table.key, row.name, figure.variant, parts))
    return tuple(made)


# --- in the process that is looked at -----------------------------------------------------------------------


class _Watch:
    """Looks on while a certain kind of call runs."""

    def __init__(self, what: str) -> None:
        self.what, self.profile, self.kernels = what, cProfile.Profile(), Counter[str]()
        self.calls, self.seconds = 0, 0.0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, watched; a watched call within another is part of it."""

        def watched(*arguments: Any, **options: Any) -> Any:
            if _Kernels.watch is not None:
                return function(*arguments, **options)
            _Kernels.watch, begun = self, time.perf_counter()
            self.profile.enable()
            try:
                return function(*arguments, **options)
            finally:
                self.profile.disable()
                self.seconds += time.perf_counter() - begun
                self.calls += 1
                _Kernels.watch = None

        return watched

    def part(self) -> Part:
        """What was seen, the largest first."""
        if not self.calls:
            return Part(self.what, 0, 0.0, {}, {})
        own = Counter[str]()
        for (file, line, name), (_, _, seconds, _, _) in pstats.Stats(self.profile).stats.items():  # type: ignore[attr-defined]
            if name != _Kernels.timed.__name__:
                own[_place(file, line, name)] += seconds
        return Part(
            self.what, self.calls, self.seconds, dict(self.kernels.most_common(_LINES)), dict(own.most_common(_LINES))
        )


class _Kernels:
    """Puts a clock around each kernel of a module."""

    watch: _Watch | None = None

    @classmethod
    def clock(cls, module: ModuleType) -> None:
        """All kernels that other modules call; they are compiled by now and call each other directly."""
        for name, kernel in vars(module).copy().items():
            if isinstance(kernel, BuiltinFunctionType) or getattr(kernel, "signatures", ()):
                setattr(module, name, cls.timed(name, kernel))

    @classmethod
    def timed(cls, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel with a clock."""

        def timed(*arguments: Any) -> Any:
            begun = time.perf_counter()
            try:
                return kernel(*arguments)
            finally:
                if cls.watch is not None:
                    cls.watch.kernels[name] += time.perf_counter() - begun  # type: ignore[assignment]

        return timed


def _place(file: str, line: int, name: str) -> str:
    """A function as a reader finds it."""
    if f"/{_SOURCE}/" in file:
        return f"{name} ({file.rpartition(f'/{_SOURCE}/')[2]}:{line})"
    return name if file == "~" else f"{name} ({Path(file).name})"


def main(module: str, *arguments: str) -> None:
    """Run the module as its own process would, and say what was seen in one line of JSON."""
    import holdfast
    from holdfast.backends.memory import kernels
    from holdfast.modules import graph_kernels

    holdfast.from_text("ready(1).")
    for kernel_module in (kernels, graph_kernels):
        _Kernels.clock(kernel_module)
    evaluations, updates = _Watch("evaluations"), _Watch("updates")
    holdfast.from_text = evaluations.around(holdfast.from_text)
    holdfast.KnowledgeBase.apply = updates.around(holdfast.KnowledgeBase.apply)  # type: ignore[method-assign]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    print(json.dumps([asdict(watch.part()) for watch in (evaluations, updates) if watch.calls]))


if __name__ == "__main__":
    main(*sys.argv[1:])
