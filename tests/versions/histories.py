"""`python -m tests.versions.histories --seed N --updates N`: what threads read while others update, checked.

Writers apply updates of facts, and now and then of rules; each notes its update with the version that it got.  Readers
note what they read, and what was acknowledged before and after.  In the end the versions are replayed one by one, and
every answer must be that of its version: of the one that a snapshot names, or of one that was the last one meanwhile.
Threads take turns as often as Python lets them and sleep at random calls.
"""

from __future__ import annotations

import argparse
import faulthandler
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from random import Random

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.values import Row

from ..atomic.judging import judge
from ..atomic.threaded import Threads

PROGRAM = """
.decl edge(x: number, y: number)
.decl name(x: number, s: symbol)
.decl reach(x: number, y: number)
.decl hop(x: number, y: number)
.decl lone(x: number)
.decl size(n: number)
.decl extra(x: number)
reach(x, y) :- edge(x, y).
reach(x, z) :- reach(x, y), edge(y, z).
hop(x, z) :- edge(x, y), edge(y, z).
lone(x) :- name(x, _), !edge(x, _).
size(n) :- n = count : { edge(_, _) }.
"""
EXTRA = "extra(x) :- edge(x, x)."
NODES = 12

Edges = frozenset[tuple[int, int]]
Names = frozenset[tuple[int, str]]


@dataclass(frozen=True)
class World:
    """What determines everything else: the explicit facts, and whether the extra rule is there."""

    edges: Edges
    names: Names
    extra: bool = False

    def after(self, update: Update) -> World:
        """The world after an update."""
        gone, come = (
            {name: set(map(tuple, given.get(name, ()))) for name in ("edge", "name")}  # type: ignore[call-overload]
            for given in (update.delete, update.insert)
        )
        extra = (self.extra or bool(update.add_rules)) and not update.remove_rules
        edges, names = (self.edges - gone["edge"]) | come["edge"], (self.names - gone["name"]) | come["name"]
        return World(edges, names, extra)

    def relation(self, name: str) -> frozenset[tuple[object, ...]]:
        """What a relation holds."""
        edges = self.edges
        match name:
            case "edge":
                return frozenset(edges)
            case "name":
                return frozenset(self.names)
            case "reach":
                return frozenset(closure(edges))
            case "hop":
                return frozenset((x, z) for x, y in edges for v, z in edges if v == y)
            case "lone":
                return frozenset((x,) for x, _ in self.names if all(x != source for source, _ in edges))
            case "size":
                return frozenset({(len(edges),)}) if edges else frozenset()
            case _:
                return frozenset((x,) for x, y in edges if x == y) if self.extra else frozenset()


@cache
def closure(edges: Edges) -> set[tuple[int, int]]:
    """What reaches what."""
    found: set[tuple[int, int]] = set()
    for source in {x for x, _ in edges}:
        reached, waiting = set[int](), [source]
        while waiting:
            node = waiting.pop()
            new = {y for x, y in edges if x == node} - reached
            reached |= new
            waiting += new
        found |= {(source, node) for node in reached}
    return found


@dataclass(frozen=True)
class Write:
    """An acknowledged commit: the version after it, and the world that its updates made of the one before."""

    version: int
    updates: tuple[Update, ...]


@dataclass(frozen=True)
class Reading:
    """What a thread read: `holds` says of a world whether the answer is right in it."""

    what: str
    least: int  # a version that was acknowledged before it began
    most: int  # the highest version that may have been committed when it ended
    holds: Callable[[World], bool]
    version: int | None = None  # if it is known


@dataclass
class History:
    """Everything that happened."""

    start: World
    writes: list[Write] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)


class BrokenHistoryError(AssertionError):
    """A history that no order of the updates explains."""


def check(history: History) -> int:
    """Raise unless each answer is that of one version, and versions never go back; gives the number of versions."""
    worlds = dict(_worlds(history))
    last = max(worlds)
    for reading in history.readings:
        if reading.version is None:
            versions = [v for v in range(reading.least, min(reading.most, last) + 1) if v in worlds]
        elif reading.least <= reading.version <= reading.most:
            versions = [reading.version]
        else:
            raise BrokenHistoryError(f"{reading.what} saw version {reading.version}, not {reading.least} or later")
        if not any(reading.holds(worlds[version]) for version in versions if version in worlds):
            raise BrokenHistoryError(f"{reading.what} is right in none of the versions {versions}")
    return last


def _worlds(history: History) -> Iterator[tuple[int, World]]:
    """The world of each version; versions inside a commit of several updates are never the last one."""
    world, version = history.start, 0
    yield version, world
    for write in sorted(history.writes, key=lambda write: write.version):
        if write.version != version + len(write.updates):
            raise BrokenHistoryError(f"version {write.version} follows {version} by {len(write.updates)} updates")
        for update in write.updates:
            world = world.after(update)
        version = write.version
        yield version, world


class Recorder:
    """A knowledge base whose users note what they do."""

    def __init__(self, kb: KnowledgeBase, start: World) -> None:
        self.kb, self.history = kb, History(start)
        self.acknowledged = kb.version
        self._lock = threading.Lock()

    def write(self, *updates: Update) -> None:
        """Apply updates in one of the ways there are, and note the version."""
        changes = [self.kb.apply(updates[0])] if len(updates) == 1 else self.kb.apply_all(updates)
        versions = [change.version or 0 for change in changes]
        assert versions == list(range(versions[0], versions[0] + len(updates)))
        with self._lock:
            self.history.writes.append(Write(versions[-1], updates))
            self.acknowledged = max(self.acknowledged, versions[-1])

    def read(self, what: str, holds: Callable[[World], bool], least: int, version: int | None = None) -> None:
        """Note a reading that has just ended."""
        with self._lock:
            self.history.readings.append(Reading(what, least, self.kb.version, holds, version))

    def new_floor(self) -> int:
        """What a reading that begins now must see."""
        with self._lock:
            return max(self.acknowledged, self.kb.version)


def random_update(dice: Random, world_names: int) -> Update:
    """Some edges and names that go and come."""

    def edges(most: int) -> list[tuple[int, int]]:
        return [(dice.randrange(NODES), dice.randrange(NODES)) for _ in range(dice.randint(0, most))]

    names = [(dice.randrange(NODES), f"name {dice.randrange(world_names)}") for _ in range(dice.randint(0, 2))]
    gone = [(dice.randrange(NODES), f"name {dice.randrange(world_names)}") for _ in range(dice.randint(0, 2))]
    return Update(delete={"edge": edges(4), "name": gone}, insert={"edge": edges(4), "name": names})


def _write(recorder: Recorder, rounds: int, rules: bool, end: float, dice: Random) -> None:
    for number in range(rounds):
        if time.monotonic() > end:
            return
        match dice.randrange(10):
            case 0:
                recorder.write(*(random_update(dice, 200) for _ in range(3)))
            case 1 if rules:
                recorder.write(Update(add_rules=[EXTRA]) if number % 2 else Update(insert={"edge": [(3, 3)]}))
                if number % 2:
                    recorder.write(Update(remove_rules=[EXTRA]))
            case _:
                recorder.write(random_update(dice, 200))


def _read(recorder: Recorder, done: threading.Event, dice: Random) -> None:
    kb, kept = recorder.kb, deque[holdfast.KnowledgeSnapshot](maxlen=4)
    prepared = [(name, kb.prepare(f"{name}($x, y)")) for name in ("edge", "reach", "hop")]
    newest = 0
    while not done.is_set():
        floor, x, y = recorder.new_floor(), dice.randrange(NODES), dice.randrange(NODES)
        match dice.randrange(8):
            case 0 | 1:
                name, query = dice.choice(prepared)
                rows = set(query({"x": x}))
                recorder.read(name, partial(_has_rows_of, rows, name, x), floor)
            case 2:
                name = dice.choice(["edge", "reach", "hop"])
                found = (x, y) in kb[name]
                recorder.read(f"in {name}", partial(_has_row, found, name, (x, y)), floor)
            case 3:
                answers = set(kb.query("edge(x, y), size(n)"))
                recorder.read("join", partial(_has_join, answers), floor)
            case 4:
                text = "name(x, s), !reach(x, $y), s != $s"
                answers = set(kb.query(text, {"y": y, "s": f"never {dice.random()}"}))
                recorder.read("negation", partial(_has_negation, answers, y), floor)
            case 5:
                name = dice.choice(["edge", "name", "reach", "hop", "lone", "size"])
                rows = set(kb[name])
                recorder.read(f"all of {name}", partial(_has_all, rows, name), floor)
            case _:
                kept.append(kb.snapshot())
                assert kept[-1].version >= newest, "versions go back"
                newest = kept[-1].version
        for snapshot in kept:
            _read_snapshot(recorder, snapshot, dice)


def _has_rows_of(rows: set[Row], name: str, x: int, world: World) -> bool:
    return rows == {(y,) for source, y in world.relation(name) if source == x}


def _has_row(found: bool, name: str, row: Row, world: World) -> bool:
    return (row in world.relation(name)) == found


def _has_join(answers: set[Row], world: World) -> bool:
    return answers == {(x, y, len(world.edges)) for x, y in world.edges}


def _has_negation(answers: set[Row], y: int, world: World) -> bool:
    reach = closure(world.edges)
    return answers == {(x, s) for x, s in world.names if (x, y) not in reach}


def _has_all(rows: set[Row], name: str, world: World) -> bool:
    return rows == world.relation(name)


def _read_snapshot(recorder: Recorder, snapshot: holdfast.KnowledgeSnapshot, dice: Random) -> None:
    name, x = dice.choice(["edge", "name", "reach", "hop", "lone", "size", "extra"]), dice.randrange(NODES)
    rows, some = set(snapshot[name]), set(snapshot.query("reach($x, y), !edge($x, y)", {"x": x}))
    assert len(rows) == snapshot.sizes()[name]

    def holds(world: World) -> bool:
        far = {(b,) for a, b in closure(world.edges) - world.edges if a == x}
        return rows == world.relation(name) and some == far

    recorder.read(f"snapshot {snapshot.version}: {name}", holds, snapshot.version, snapshot.version)


def run(
    seed: int,
    updates: int,
    *,
    writers: int = 2,
    readers: int = 4,
    modules: bool = True,
    rate: float = 0.001,
    seconds: float = 3600,
    store: str | None = None,
) -> History:
    """A history of writers and readers, who sleep at a rate of their calls."""
    end = time.monotonic() + seconds
    dice = Random(seed)
    edges = {(dice.randrange(NODES), dice.randrange(NODES)) for _ in range(20)}
    kwargs = {} if modules else {"modules": ()}
    facts = {"edge": sorted(edges), "name": [(0, "name 0")]}
    kb = holdfast.from_text(PROGRAM, facts, store=store, **kwargs)  # type: ignore[arg-type]
    recorder = Recorder(kb, World(frozenset(edges), frozenset({(0, "name 0")})))
    threads = Threads(seed, rate=rate, patience=3600)
    for number in range(writers):
        threads.start(lambda dice, first=not number: _write(recorder, updates // writers, first, end, dice))  # type: ignore[misc]
    for _ in range(readers):
        threads.start(lambda dice: _read(recorder, threads.done, dice))
    threads.run(writers)
    judge(kb)
    kb.close()
    return recorder.history


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.versions.histories", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--no-modules", action="store_true")
    parser.add_argument("--store", help="a folder that does not exist yet; then writers share commits")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--rate", type=float, default=0.001, help="of the calls at which threads sleep; 0 is quick")
    options = parser.parse_args()
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, and `judge` looks at it
    sys.setswitchinterval(1e-6)
    history = run(
        options.seed,
        options.updates,
        modules=not options.no_modules,
        rate=options.rate,
        seconds=options.seconds,
        store=options.store,
    )
    versions = check(history)
    print(f"right: {versions} versions, {len(history.readings)} readings")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
