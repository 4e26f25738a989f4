"""How readers fare beside updates: `python -m bench.readers [--facts N] [--seconds S]`.

A knowledge base of N facts is asked for bound atoms by a prepared query: by itself, then while another thread updates
without a pause.  The figures are of one run, so their ratio does not depend on the machine's load as much as they do.
Then several threads ask at once, without updates.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Sequence
from random import Random

import holdfast
from holdfast import KnowledgeBase, Update

PROGRAM = """
.decl may(who: number, what: number)
.decl granted(who: number, what: number)
.decl denied(who: number, what: number)
.decl both(who: number, what: number, other: number)
may(u, r) :- granted(u, r), !denied(u, r).
both(u, r, s) :- may(u, r), may(u, s), r < s.
"""
_EACH = 10  # facts of one user
_UPDATE = 20  # facts of one update
_LATENCIES = (0.5, 0.99, 0.999)


def opened(facts: int) -> KnowledgeBase:
    """So many facts are granted."""
    rows = [(user, (user * 7 + i * 13) % 100_003) for user in range(facts // _EACH) for i in range(_EACH)]
    return holdfast.from_text(PROGRAM, {"granted": rows})


def asked(kb: KnowledgeBase, facts: int, seconds: float, seed: int = 0) -> list[float]:
    """The seconds that each of many point queries took."""
    ask, dice, taken = kb.prepare("may($who, x)"), Random(seed), list[float]()
    ask({"who": 1})
    users = facts // _EACH
    end = time.perf_counter() + seconds
    while (begun := time.perf_counter()) < end:
        ask({"who": dice.randrange(users)})
        taken.append(time.perf_counter() - begun)
    return taken


def updating(kb: KnowledgeBase, facts: int, done: threading.Event, counted: list[int]) -> None:
    """Updates one after the other."""
    dice, users = Random(1), facts // _EACH
    while not done.is_set():
        rows = [(dice.randrange(users), 200_000 + dice.randrange(1000)) for _ in range(_UPDATE)]
        kb.apply(Update(insert={"granted": rows[::2]}, delete={"granted": rows[1::2]}))
        counted.append(len(rows))


def beside_updates(kb: KnowledgeBase, facts: int, seconds: float) -> tuple[list[float], int]:
    """The same with updates in another thread; and how many updates there were."""
    done, counted = threading.Event(), list[int]()
    thread = threading.Thread(target=updating, args=(kb, facts, done, counted))
    thread.start()
    try:
        return asked(kb, facts, seconds), len(counted)
    finally:
        done.set()
        thread.join()


def together(kb: KnowledgeBase, facts: int, seconds: float, threads: int) -> float:
    """The queries of several threads in a second."""
    found: list[list[float]] = []
    running = [
        threading.Thread(target=lambda seed=seed: found.append(asked(kb, facts, seconds, seed)))  # type: ignore[misc]
        for seed in range(threads)
    ]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return sum(map(len, found)) / seconds


def quantiles(taken: Sequence[float]) -> list[float]:
    """Some latencies in microseconds."""
    ordered = sorted(taken)
    return [ordered[min(len(ordered) - 1, int(part * len(ordered)))] * 1e6 for part in _LATENCIES]


def main(tell: Callable[[str], None] = print) -> int:
    """Measure and show."""
    parser = argparse.ArgumentParser(prog="python -m bench.readers", description=__doc__)
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    kb = opened(options.facts)
    tell(f"{sum(kb.sizes().values()):,} facts")
    alone = quantiles(asked(kb, options.facts, options.seconds))
    taken, updates = beside_updates(kb, options.facts, options.seconds)
    beside = quantiles(taken)
    tell(f"microseconds of a bound atom    p50 {alone[0]:8.1f}  p99 {alone[1]:8.1f}  p99.9 {alone[2]:8.1f}")
    tell(f"beside {updates:6,} updates           p50 {beside[0]:8.1f}  p99 {beside[1]:8.1f}  p99.9 {beside[2]:8.1f}")
    tell(f"p99 beside updates over p99 alone: {beside[1] / alone[1]:.2f}")
    assert (0, 0) in kb["may"]
    begun = time.perf_counter()
    for n in range(1000):
        assert (n, (n * 7) % 100_003) in kb["may"]
    tell(f"(row) in kb[…]: {(time.perf_counter() - begun) * 1e3:.1f} microseconds")
    for threads in (1, 2, 8):
        rate = together(kb, options.facts, options.seconds / 2, threads)
        tell(f"{threads} reading threads: {rate:,.0f} queries in a second")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
