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


def main() -> None:
    """Run everything, or as much as there is time for; the first failure ends it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--updates", type=int, default=200)
    options.add_argument("--kills", type=int, default=1000)
    options.add_argument("--damages", type=int, default=500)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds", type=float, default=float("inf"))
    options.add_argument("--cache", action="store_true", help="keep a cache of conclusions, however small")
    asked = options.parse_args()
    Store.worth_caching = 0.0 if asked.cache else Store.worth_caching
    end = time.monotonic() + asked.seconds
    with tempfile.TemporaryDirectory(prefix="holdfast-faults-") as folder:
        tmp, actions = Path(folder), history(asked.updates, asked.seed)
        calls = faults.calls(actions, tmp)
        print(f"{asked.updates} updates, {len(calls)} calls: {dict(Counter(calls))}", flush=True)
        print(f"crashes: {faults.crashes(actions, tmp, lambda _: True, asked.seed)} folders recovered", flush=True)
        print(f"damage: {Counter(damage.damages(tmp, asked.damages, asked.seed))}", flush=True)
        half = time.monotonic() + (end - time.monotonic()) / 2  # the other half is for errors
        _until(half, "kills", asked.kills, lambda number: str(kills.killed(tmp / f"kill{number}", asked.seed + number)))
        places, known = random.Random(asked.seed).sample(range(len(calls)), len(calls)), faults.starts(actions, tmp)

        def failing(number: int) -> str:
            return ",".join(faults.errors(actions, tmp, [places[number]], known=known, most=2))

        _until(end, "errors", len(places), failing)


def _until(end: float, what: str, number: int, act) -> None:  # type: ignore[no-untyped-def]
    seen: Counter[str] = Counter()
    for done in range(number):
        if time.monotonic() > end:
            print(f"{what}: no time for more than {done} of {number}; {dict(seen)}", flush=True)
            return
        seen.update(act(done).split(","))
    print(f"{what}: {number}; {dict(seen)}", flush=True)


if __name__ == "__main__":
    main()
