"""`python -m tests.atomic.threaded NAME --seed N --rounds N`: one knowledge base, or several, used from many threads.

In a process of its own, since a wrong use of arrays may end it.  Threads take turns as often as Python lets them, and
sleep at random calls.  Readers check each answer for being one of a single state; in the end every acknowledged update
must be there, and the whole must agree with an evaluation from scratch.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import threading
import time
from collections.abc import Callable
from random import Random
from types import FrameType

import holdfast
from holdfast import KnowledgeBase, Update

from .judging import judge, sound

PROGRAM = """
.decl left(w: number, i: number)
.decl right(w: number, i: number)
.decl both(w: number, i: number)
.decl alone(w: number, i: number)
.decl next(w: number, i: number, j: number)
.decl chain(w: number, i: number, j: number)
.decl size(w: number, n: number)
.decl name(w: number, s: symbol)
.decl extra0(i: number)
.decl extra1(i: number)
both(w, i) :- left(w, i), right(w, i).
alone(w, i) :- left(w, i), !right(w, i).
alone(w, i) :- right(w, i), !left(w, i).
chain(w, i, j) :- next(w, i, j).
chain(w, i, k) :- chain(w, i, j), next(w, j, k).
size(w, n) :- left(w, _), n = count : { left(w, _) }.
"""
CLOSURE = """
reach(x, y) :- edge(x, y).
reach(x, z) :- reach(x, y), reach(y, z).
"""
WRITERS, READERS = 2, 4


class Threads:
    """Runs functions in threads; what any of them raises is raised in the end, and none may hang."""

    def __init__(self, seed: int, *, rate: float = 0.001, patience: float = 240) -> None:
        self.seed, self.failures = seed, list[BaseException]()
        self.rate, self.patience = rate, patience  # of the calls at which a thread sleeps; seconds to wait for one
        self.threads: list[threading.Thread] = []
        self.done = threading.Event()

    def start(self, work: Callable[[Random], None]) -> None:
        dice = Random(f"{self.seed} {len(self.threads)}")

        def run() -> None:
            sys.setprofile(_sleepy(Random(dice.random()), self.rate) if self.rate else None)
            try:
                work(dice)
            except BaseException as error:
                self.failures.append(error)
            finally:
                sys.setprofile(None)

        self.threads.append(threading.Thread(target=run, daemon=True))

    def run(self, writers: int) -> None:
        """The first so many threads write; the others go on until these are done."""
        for thread in self.threads:
            thread.start()
        for number, thread in enumerate(self.threads):
            if number == writers:
                self.done.set()
            thread.join(self.patience)
            assert not thread.is_alive(), "a thread hangs"
        if self.failures:
            raise self.failures[0]


def _sleepy(dice: Random, rate: float) -> Callable[[FrameType, str, object], None]:
    def profile(_frame: FrameType, _event: str, _argument: object) -> None:
        if dice.random() < rate:
            time.sleep(dice.random() * 2e-4)

    return profile


def readers(seed: int, rounds: int) -> None:
    """Two write, four only read: queries, views, figures, hypothetical updates."""
    kb = holdfast.from_text(PROGRAM, {"left": [(w, 0) for w in range(WRITERS)]}, modules=())
    threads = Threads(seed)
    reported: list[set[int]] = [{0} for _ in range(WRITERS)]
    for writer in range(WRITERS):
        threads.start(lambda dice, w=writer: _write(kb, w, reported[w], rounds, dice))  # type: ignore[misc]
    for _ in range(READERS):
        threads.start(lambda dice: _read(kb, threads.done, dice))
    threads.run(WRITERS)
    for writer, mine in enumerate(reported):
        assert {i for w, i in kb["left"] if w == writer} == mine, "an acknowledged update is lost"
    judge(kb)


def _write(kb: KnowledgeBase, w: int, mine: set[int], rounds: int, dice: Random) -> None:
    """Updates in each of the ways there are; what is acknowledged is noted."""
    for number in range(1, rounds + 1):
        gone = dice.choice([None, *mine - {0}]) if number % 3 == 0 else None
        rows = {"left": [(w, number)], "right": [(w, number)], "next": [(w, number - 1, number)]}
        less = {} if gone is None else {"left": [(w, gone)], "right": [(w, gone)]}
        update = Update(delete=less, insert={**rows, "name": [(w, f"name {w} {number}")]})
        match number % 4:
            case 0:
                with kb.update() as block:
                    assert (w, 0) in kb["left"]  # nothing is locked inside
                    for name, facts in update.delete.items():
                        block.delete(name, facts)
                    for name, facts in update.insert.items():
                        block.insert(name, facts)
            case 1:
                kb.apply_all([Update(delete=less), Update(insert=update.insert)])
            case _:
                kb.apply(update, algorithm=dice.choice(["auto", "dred", "backward-forward"]))
        mine.add(number)
        mine.discard(gone or -1)
        if number % 5 == 0:
            rule = f"extra{w}(i) :- both({w}, i)."
            kb.apply(Update(add_rules=[rule]))
            assert {i for (i,) in kb[f"extra{w}"]} == mine - {0}
            kb.apply(Update(remove_rules=[rule]))


def _read(kb: KnowledgeBase, done: threading.Event, dice: Random) -> None:
    while not done.is_set():
        match dice.randrange(9):
            case 0:
                assert set(kb["alone"]) == {(w, 0) for w in range(WRITERS)}
            case 1:
                answers = set(kb.query("left(w, i), size(w, n)"))
                for w in range(WRITERS):
                    assert {n for v, _, n in answers if v == w} == {sum(v == w for v, _, _ in answers)}
            case 2:
                chain = kb["chain"]
                assert len(chain) == len(set(chain)) and (0, 0, 0) not in chain
            case 3:
                table, text = kb["name"].to_arrow(), kb["name"].sorted_rows()
                assert all(s.startswith("name ") for s in table.column(1).to_pylist()) and list(text) is not None
            case 4:
                assert set(kb.sizes()) >= {"left", "both"} and "left" in kb and len(kb.relations) >= 8
            case 5:
                change = kb.what_if(Update(insert={"left": [(9, 9)], "name": [(9, f"never {dice.random()}")]}))
                assert {(9, 9)} == set(change.added["left"]) == set(change.added["alone"])
            case 6:
                counts = kb.counters("both")
                assert set(counts.values()) <= {(1, 0)}
            case 7:
                assert not set(kb.query("both(w, i), alone(w, i)"))
            case _:
                assert {w for w, _ in kb.explicit("left")} == set(range(WRITERS))


def closures(seed: int, rounds: int) -> None:
    """A relation that a module knows and nobody has written out, looked up and read while it changes."""
    kb = holdfast.from_text(CLOSURE, {"edge": [(i, i + 1) for i in range(30)]})
    threads = Threads(seed)

    def write(dice: Random) -> None:
        for _ in range(rounds):
            i = dice.randrange(29)
            kb.apply(Update(delete={"edge": [(i, i + 1)]}))
            kb.apply(Update(insert={"edge": [(i, i + 1)]}))

    def read(dice: Random) -> None:
        while not threads.done.is_set():
            view, i = kb["reach"], dice.randrange(30)
            rows = set(view)
            assert len(rows) == len(view) and all((x, z) in rows for x, y in rows for z in [y + 1] if (y, z) in rows)
            found = {y for (y,) in kb.query(f"reach({i}, y)")}
            assert found == set(range(i + 1, i + 1 + len(found)))

    threads.start(write)
    for _ in range(READERS):
        threads.start(read)
    threads.run(1)
    judge(kb)


def streams(seed: int, rounds: int) -> None:
    """A stream that computes several updates in one pass, and others who write meanwhile."""
    kb = holdfast.from_text(PROGRAM, {"left": [(0, 0), (1, 0)]}, modules=())
    threads, reported = Threads(seed), {0}

    def stream(dice: Random) -> None:
        rows = [Update(insert={"left": [(1, n)], "right": [(1, n)]}) for n in range(1, 8 * rounds + 1)]
        for lookahead, part in (("window", rows[::2]), ("marks", rows[1::2])):
            answers = list(kb.stream(part, lookahead=lookahead))
            assert [set(answer.change.added["both"]) for answer in answers if answer.change] == [
                set(update.insert["left"]) for update in part
            ]

    threads.start(stream)
    threads.start(lambda dice: _write(kb, 0, reported, rounds, dice))
    threads.run(2)
    assert {i for w, i in kb["left"] if w == 0} == reported
    assert {i for w, i in kb["left"] if w == 1} == set(range(8 * rounds + 1))
    judge(kb)


def several(seed: int, rounds: int) -> None:
    """Knowledge bases of their own, opened in their threads; and two that feed on each other's views."""
    threads, fed = Threads(seed), [holdfast.from_text(CLOSURE, {"edge": [(i, i)]}) for i in range(2)]

    def own(dice: Random) -> None:
        for _ in range(max(1, rounds // 4)):
            edges = {(dice.randrange(9), dice.randrange(9)) for _ in range(12)}
            kb = holdfast.from_text(
                CLOSURE + f'word(cat("a{dice.random()}", "b")) :- edge(x, x).', {"edge": list(edges)}
            )
            for _ in range(4):
                row = (dice.randrange(9), dice.randrange(9))
                kb.apply(Update(**{dice.choice(["insert", "delete"]): {"edge": [row]}}))
            sound(kb)
            edges = set(kb["edge"])
            reach = set(edges)
            while more := {(x, z) for x, y in reach for v, z in edges if v == y} - reach:
                reach |= more
            assert set(kb["reach"]) == reach

    def feed(dice: Random, here: int) -> None:
        for _number in range(rounds):
            fed[here].apply(Update(insert={"edge": [(here, dice.randrange(9))]}))
            fed[here].apply(Update(insert={"edge": fed[1 - here]["edge"]}))

    for here in range(2):
        threads.start(lambda dice, here=here: feed(dice, here))  # type: ignore[misc]
    for _ in range(3):
        threads.start(own)
    threads.run(5)
    for kb in fed:
        judge(kb)


NAMES: dict[str, Callable[[int, int], None]] = {f.__name__: f for f in (readers, closures, streams, several)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.atomic.threaded", description=__doc__)
    parser.add_argument("name", choices=[*NAMES])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    faulthandler.enable()
    sys.setswitchinterval(1e-6)
    NAMES[options.name](options.seed, options.rounds)
    print("right")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
