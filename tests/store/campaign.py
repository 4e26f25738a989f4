"""The whole fault campaign: `python -m tests.store.campaign --updates 200 --seconds 3600`.

A fault at every system call of a history, processes killed at random moments, and files with flipped and cut bytes.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from holdfast.store.writing import Store

from . import damage, faults, kills
from .histories import history

PARTS = ("crashes", "damage", "kills", "errors")
ROUNDS = 3  # kills of one store


def main() -> None:
    """Run everything, or as much as there is time for; the first failure ends it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--updates", type=int, default=200)
    options.add_argument("--kills", type=int, default=1000)
    options.add_argument("--damages", type=int, default=500)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds", type=float, default=float("inf"))
    options.add_argument("--cache", action="store_true", help="keep a cache of conclusions, however small")
    options.add_argument("--first", type=int, default=0, help="the call at which a part goes on that had no more time")
    options.add_argument("--only", choices=PARTS, action="append", help="some of the parts; all unless given")
    asked = options.parse_args()
    Store.worth_caching = 0.0 if asked.cache else Store.worth_caching
    parts = {"crashes": _crashes, "damage": _damage, "kills": _kills, "errors": _errors}
    end = time.monotonic() + asked.seconds
    with tempfile.TemporaryDirectory(prefix="holdfast-faults-") as folder:
        chosen = [part for part in PARTS if part in (asked.only or PARTS)]
        for left, part in zip(range(len(chosen), 0, -1), chosen, strict=True):
            now = time.monotonic()
            parts[part](asked, Path(folder), now + (end - now) / left)


def _crashes(asked: argparse.Namespace, tmp: Path, end: float) -> None:
    actions = history(asked.updates, asked.seed)
    calls = faults.calls(actions, tmp)
    print(f"{asked.updates} updates, {len(calls)} calls: {dict(Counter(calls))}", flush=True)
    print(f"crashes: {faults.crashes(actions, tmp, lambda _: True, asked.seed)} folders recovered", flush=True)


def _damage(asked: argparse.Namespace, tmp: Path, end: float) -> None:
    print(f"damage: {Counter(damage.damages(tmp, asked.damages, asked.seed))}", flush=True)


def _kills(asked: argparse.Namespace, tmp: Path, end: float) -> None:
    stores = -(-asked.kills // ROUNDS)
    each = f"stores, each killed {ROUNDS} times"
    _until(end, each, range(asked.first, stores), lambda number: _killed(tmp, asked.seed + number))


def _killed(tmp: Path, seed: int) -> str:
    return f"up to {10 * (kills.killed(tmp / 'killed', seed, ROUNDS) // 10 + 1)} updates"


def _errors(asked: argparse.Namespace, tmp: Path, end: float) -> None:
    actions = history(asked.updates, asked.seed)
    number, known = len(faults.calls(actions, tmp)), faults.starts(actions, tmp)
    places = random.Random(asked.seed).sample(range(number), number)

    def failing(place: int) -> str:
        return ",".join(faults.errors(actions, tmp, [places[place]], known=known, most=2)) or "no error"

    _until(end, "calls, each failing in 5 ways", range(asked.first, number), failing)


def _until(end: float, what: str, numbers: range, act) -> None:  # type: ignore[no-untyped-def]
    seen: Counter[str] = Counter()
    for number in numbers:
        if time.monotonic() > end:
            print(f"{numbers.start} to {number} of {numbers.stop} {what}, no time for more; {dict(seen)}", flush=True)
            return
        seen.update(act(number).split(","))
    print(f"{numbers.start} to {numbers.stop} {what}; {dict(seen)}", flush=True)


if __name__ == "__main__":
    main()
