"""Read results of `make bench`, and compare two of them figure by figure.

docs/benchmarks.md describes the files; the program that writes them is not part of the package.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from holdfast.cli import codes
from holdfast.errors import Diagnostic, UsageError

FORMAT = 1
_QUARTILES = 5  # with this many runs or more, the range is the middle half of them

FigureKey: TypeAlias = tuple[str, str, str, str]
"""Table key, row name, system and variant."""


@dataclass(frozen=True)
class Figure:
    """The runs of one figure, or the reason for its failure."""

    unit: str
    runs: tuple[float, ...]
    failure: str

    @property
    def median(self) -> float:
        """The median of the runs."""
        return statistics.median(self.runs)

    @property
    def range(self) -> tuple[float, float]:
        """The range of the runs: all of them, or the middle half if there are many."""
        if len(self.runs) < _QUARTILES:
            return min(self.runs), max(self.runs)
        low, _, high = statistics.quantiles(self.runs, n=4, method="inclusive")
        return low, high


@dataclass(frozen=True)
class Results:
    """All figures in a file."""

    name: str
    size: str
    commit: str
    machine: str  # where it was measured, in words; empty if the file does not say
    figures: Mapping[FigureKey, Figure]


@dataclass(frozen=True)
class Difference:
    """A figure that both files have: the ratio of its times, and whether the difference is significant."""

    place: FigureKey
    before: Figure
    after: Figure

    @property
    def ratio(self) -> float:
        """The second median over the first; inverted for rates."""
        if not self.after.runs:
            return math.inf
        before, after = max(self.before.median, 1e-12), max(self.after.median, 1e-12)
        return before / after if self.before.unit.endswith("/s") else after / before

    @property
    def apart(self) -> bool:
        """Whether the two ranges do not overlap."""
        if not self.after.runs:
            return True
        (low, high), (other_low, other_high) = self.before.range, self.after.range
        return high < other_low or other_high < low

    def slower(self, threshold: float) -> bool:
        """Whether it is slower, beyond the threshold and beyond the noise of the runs."""
        return self.apart and self.ratio > threshold

    def quicker(self, threshold: float) -> bool:
        """Whether it is faster, beyond the threshold and beyond the noise of the runs."""
        return self.apart and self.ratio < 1 / threshold


def differences(before: Results, after: Results) -> list[Difference]:
    """The figures in both files that the first has runs for, the largest slowdown first."""
    if before.size != after.size:
        raise UsageError(
            Diagnostic(
                codes.OTHER_SIZE,
                f"{before.name} is of size {before.size}, {after.name} of size {after.size}",
                help="compare results of one size",
            )
        )
    found = [
        Difference(place, figure, after.figures[place])
        for place, figure in before.figures.items()
        if place in after.figures and figure.runs and after.figures[place].unit == figure.unit
    ]
    if not found:
        message = f"{before.name} and {after.name} have no figure in common"
        raise UsageError(Diagnostic(codes.NOTHING_IN_COMMON, message))
    return sorted(found, key=lambda one: -one.ratio)


def read(path: Path) -> Results:
    """The figures in a file; an error names the malformed place."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(Diagnostic(codes.NO_SUCH_FILE, f"cannot read {path}: {error.strerror}")) from error
    except (UnicodeDecodeError, ValueError) as error:
        raise UsageError(Diagnostic(codes.NO_RESULT, f"{path} is not JSON: {error}")) from error
    return _Reader(path).results(value)


def _machine(machine: Mapping[str, object]) -> str:
    """The machine's cores, processor and memory, as far as known."""
    cores, processor, memory = (machine.get(word) for word in ("cores", "processor", "memory"))
    size = f"{memory / 2**30:.0f} GiB" if isinstance(memory, int) else None
    return ", ".join(str(word) for word in (f"{cores} cores" if cores else None, processor, size) if word)


@dataclass(frozen=True)
class _Reader:
    path: Path

    def results(self, value: object) -> Results:
        top = self._object(value, "the file")
        if "format" not in top or "tables" not in top:
            raise UsageError(
                Diagnostic(
                    codes.NO_RESULT,
                    f"{self.path} is not a result of `make bench`",
                    help="such files are in bench/results/, with the ending .json",
                )
            )
        if top["format"] != FORMAT:
            raise UsageError(
                Diagnostic(
                    codes.OTHER_FORMAT,
                    f"{self.path} has the format {top['format']!r}",
                    notes=(f"this holdfast knows format {FORMAT}",),
                )
            )
        machine = self._object(top.get("machine"), "machine")
        figures = dict[FigureKey, Figure]()
        for place, figure in self._figures(top["tables"]):
            if place in figures:
                raise self._bad(" / ".join(place), "occurs twice")
            figures[place] = figure
        return Results(
            str(self.path),
            self._text(top.get("size"), "size"),
            self._text(machine.get("commit"), "machine.commit"),
            _machine(machine),
            figures,
        )

    def _figures(self, tables: object) -> Iterator[tuple[FigureKey, Figure]]:
        for number, table in enumerate(self._list(tables, "tables")):
            at = f"tables[{number}]"
            fields = self._object(table, at)
            key = self._text(fields.get("key"), f"{at}.key")
            for place, row in enumerate(self._list(fields.get("rows"), f"{at}.rows")):
                yield from self._row(key, row, f"{at}.rows[{place}]")

    def _row(self, key: str, row: object, at: str) -> Iterator[tuple[FigureKey, Figure]]:
        fields = self._object(row, at)
        name = self._text(fields.get("name"), f"{at}.name")
        for number, figure in enumerate(self._list(fields.get("figures"), f"{at}.figures")):
            here = f"{at}.figures[{number}]"
            own = self._object(figure, here)
            system, variant, unit, failure = (
                self._text(own.get(word), f"{here}.{word}") for word in ("system", "variant", "unit", "failure")
            )
            yield (key, name, system, variant), Figure(unit, self._runs(own.get("runs"), f"{here}.runs"), failure)

    def _runs(self, value: object, at: str) -> tuple[float, ...]:
        runs = list[float]()
        for run in self._list(value, at):
            if isinstance(run, bool) or not isinstance(run, int | float) or not 0 <= run < math.inf:
                raise self._bad(at, "has something that is not a time")
            runs.append(float(run))
        return tuple(runs)

    def _object(self, value: object, at: str) -> dict[str, object]:
        if not isinstance(value, dict):
            raise self._bad(at, "is not an object")
        return value

    def _list(self, value: object, at: str) -> list[object]:
        if not isinstance(value, list):
            raise self._bad(at, "is not a list")
        return value

    def _text(self, value: object, at: str) -> str:
        if not isinstance(value, str):
            raise self._bad(at, "is not a text")
        return value

    def _bad(self, at: str, what: str) -> UsageError:
        return UsageError(Diagnostic(codes.BAD_RESULT, f"{self.path}: {at} {what}"))
