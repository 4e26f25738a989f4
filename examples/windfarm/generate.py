"""Makes the facts of the wind-farm example, always the same ones: `python examples/windfarm/generate.py`."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

FARMS = {"north": 30, "coast": 30, "ridge": 30, "pilot": 3}
WEATHER = {"north": 11.0, "coast": 14.5, "ridge": 6.0, "pilot": 12.0}
BROKEN = {"north_07": 31.2, "coast_19": -4.0, "ridge_28": 14.1, "pilot_02": 40.0}
SILENT = ("north_12", "ridge_03")
EVENTS = {2: {"north_07": 11.3}, 4: {"ridge_11": 13.8}, 6: {"north_12": 10.9}, 7: {"ridge_11": 22.4}}


def turbines(farm: str) -> list[str]:
    """The turbines of a farm, in their row."""
    return [f"{farm}_{number:02}" for number in range(1, FARMS[farm] + 1)]


def next_to() -> list[tuple[str, str]]:
    """Each turbine and the one after it in the row: all that a map says."""
    rows = [turbines(farm) for farm in FARMS]
    return [pair for row in rows for pair in pairwise(row)]


def temperatures(seed: int = 1) -> list[tuple[str, float]]:
    """What the thermometers say: the weather of the farm, some noise, and a few broken ones."""
    noise = random.Random(seed)
    places = [(farm, turbine) for farm in FARMS for turbine in turbines(farm)]
    readings = [(turbine, round(WEATHER[farm] + noise.gauss(0, 0.6), 1)) for farm, turbine in places]
    return [(turbine, BROKEN.get(turbine, celsius)) for turbine, celsius in readings if turbine not in SILENT]


def stream(minutes: int = 8, seed: int = 2) -> list[list[tuple[str, object, str]]]:
    """What the thermometers report minute by minute: the reading that no longer holds, and the new one.

    On the coast a warm front arrives and every thermometer rises; north_07 is repaired, ridge_11 breaks, and the silent
    north_12 reports again.  One reading is not a number: the wire was cut in the middle of it.
    """
    noise, now = random.Random(seed), dict(temperatures())
    reported = []
    for minute in range(1, minutes + 1):
        new = {
            turbine: round(WEATHER["coast"] + 1.1 * minute + noise.gauss(0, 0.6), 1)
            for turbine in turbines("coast")
            if turbine not in BROKEN
        }
        new |= EVENTS.get(minute, {})
        rows: list[tuple[str, object, str]] = [(turbine, now[turbine], "delete") for turbine in new if turbine in now]
        reported.append(rows + [(turbine, celsius, "insert") for turbine, celsius in new.items()])
        now |= new
    reported[4].append(("ridge_20", "5.!", "insert"))
    return reported


def after(minute: int) -> dict[str, float]:
    """The readings that hold after some minutes of the stream."""
    now = dict(temperatures())
    for rows in stream()[:minute]:
        now |= {turbine: celsius for turbine, celsius, op in rows if op == "insert" and isinstance(celsius, float)}
    return now


def write_minute(path: Path, minute: int) -> None:
    """The file of one minute."""
    rows = ["turbine,celsius,op", *(",".join(map(str, row)) for row in stream()[minute - 1])]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def write(folder: Path) -> None:
    """The two facts files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("next_to", next_to()), ("temperature", temperatures())):
        text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
        (folder / f"{name}.facts").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).parent / "facts")
