"""Histories of updates in all the ways in which they can be made, and what the state is after each."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

import holdfast
from holdfast import HoldfastError, KnowledgeBase, Update
from holdfast.store.contents import unpack
from holdfast.store.reading import read_store
from holdfast.store.writing import Store

from .disk import Disk, mounted

PROGRAM = "reach(x, y) :- edge(x, y).  reach(x, z) :- reach(x, y), edge(y, z), !bad(z)."
EXTRA = '#[name("extra")] two(x, z) :- edge(x, y), edge(y, z).'
FACTS = {"edge": [(0, 1), (1, 2)], "bad": [(9,)]}
WAYS = ("apply", "apply", "apply", "net", "all", "window", "stream", "rules", "compact", "reopen")


@dataclass(frozen=True)
class State:
    """The explicit facts and whether the extra rule is there."""

    edges: frozenset[tuple[int, int]] = frozenset(FACTS["edge"])
    bad: frozenset[tuple[int]] = frozenset(FACTS["bad"])
    has_extra: bool = False

    def after(self, update: Update) -> State:
        """The state after an update."""

        def changed(name: str, facts: frozenset[object]) -> frozenset[object]:
            return (facts - set(update.delete.get(name, ()))) | set(update.insert.get(name, ()))  # type: ignore[arg-type]

        extra = bool(update.add_rules) or (self.has_extra and not update.remove_rules)
        return State(changed("edge", self.edges), changed("bad", self.bad), extra)  # type: ignore[arg-type]


def state_of(kb: KnowledgeBase) -> State:
    """The state of a knowledge base; that its conclusions are right is looked at too."""
    edges, bad = frozenset(kb.explicit("edge")), frozenset(kb.explicit("bad"))
    assert set(kb["reach"]) == _reach(set(edges), {x for (x,) in bad})  # type: ignore[arg-type]
    return State(edges, bad, "two" in kb)  # type: ignore[arg-type]


def _reach(edges: set[tuple[int, int]], bad: set[int]) -> set[tuple[int, int]]:
    found = set(edges)
    while new := {(x, z) for x, y in found for other, z in edges if y == other and z not in bad} - found:
        found |= new
    return found


@dataclass(frozen=True)
class Action:
    """Updates, and the way in which they are made."""

    way: str
    updates: tuple[Update, ...]


def history(number: int, seed: int) -> list[Action]:
    """So many updates."""
    chance = random.Random(seed)
    actions, has_extra, done = list[Action](), False, 0
    while done < number:
        way = chance.choice(WAYS)
        if way == "rules":
            has_extra = not has_extra
            change = Update(add_rules=[EXTRA]) if has_extra else Update(remove_rules=["extra"])
            actions.append(Action(way, (change,)))
        elif way in ("compact", "reopen"):
            actions.append(Action(way, ()))
            continue
        else:
            count = 1 if way == "apply" else chance.randint(1, 4)
            actions.append(Action(way, tuple(_update(chance) for _ in range(count))))
        done += len(actions[-1].updates)
    return actions


def _update(chance: random.Random) -> Update:
    def edges(most: int) -> list[tuple[int, int]]:
        return [(chance.randrange(7), chance.randrange(7)) for _ in range(chance.randint(0, most))]

    bad = {"bad": [(chance.randrange(9),)]} if chance.random() < 0.2 else {}
    return Update(delete={"edge": edges(2)}, insert={"edge": edges(3), **bad})


@dataclass
class Run:
    """A history on a disk: what was acknowledged, and what may be found afterwards beside that."""

    disk: Disk
    folder: Path
    acknowledged: tuple[int, State] | None = None
    in_doubt: list[tuple[int, State]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    smallest: int = 400  # bytes of a snapshot: the log is soon long enough for a new one
    closed: Callable[[], None] = lambda: None  # called when the store was closed, to be opened again

    def perform(self, actions: list[Action]) -> Run:
        """Do everything; errors are noted, and the next action comes.  It may begin with a store that is there."""
        with mounted(self.disk), _short_logs(self.smallest):
            self.in_doubt = [(0, State())] if self.acknowledged is None else []
            kb = self._attempt(lambda: holdfast.from_text(PROGRAM, FACTS, store=self.folder))
            for action in actions if kb is not None else ():
                assert kb is not None
                kb = self._act(kb, action)
                if kb is None:
                    return self
            if kb is not None:
                self._attempt(kb.close)
                kb.close()
        return self

    def _act(self, kb: KnowledgeBase, action: Action) -> KnowledgeBase | None:
        if action.way == "reopen":
            self._attempt(kb.close)
            kb.close()
            self.closed()
            return self._attempt(lambda: holdfast.from_text(PROGRAM, FACTS, store=self.folder))  # type: ignore[no-any-return]
        assert self.acknowledged is not None
        version, state = self.acknowledged
        steps = []
        for update in action.updates:
            version, state = version + 1, state.after(update)
            steps.append((version, state))
        if action.way in ("net", "all"):
            steps = steps[-1:]
        before = self.in_doubt
        self.in_doubt = [*before, *steps[:1]]
        try:
            for _ in _made(kb, action):
                self.acknowledged, self.in_doubt = steps[0], steps[1:2]
                steps = steps[1:]
        except HoldfastError as error:
            self.errors += [found.code for found in error.diagnostics]
            if not self.errors[-1].startswith("E13"):  # the rule is there already, or is not
                self.in_doubt = before
        assert (kb.version, state_of(kb)) == self.acknowledged
        return kb

    def _attempt(self, act):  # type: ignore[no-untyped-def]
        try:
            found = act()
        except HoldfastError as error:
            self.errors += [each.code for each in error.diagnostics]
            return None
        if isinstance(found, KnowledgeBase):
            now = found.version, state_of(found)
            assert self.acknowledged is None or now in (self.acknowledged, *self.in_doubt)
            self.acknowledged, self.in_doubt = now, []
        return found

    def judge(self, folder: Path, *, whole: bool = True) -> None:
        """What is found in a folder is the last acknowledged state, or one that was under way.

        With `whole`, a knowledge base is opened; otherwise the files are read.
        """
        with mounted(None):
            try:
                found = _opened(folder) if whole else on_disk(folder)
            except HoldfastError:
                if self.acknowledged is not None:
                    raise
                with holdfast.from_text(PROGRAM, FACTS, store=folder) as kb:  # it was never finished: made anew
                    found = kb.version, state_of(kb)
        allowed = [*([self.acknowledged] if self.acknowledged else []), *self.in_doubt]
        assert found in allowed, f"found {found}, allowed {allowed}"


def _opened(folder: Path) -> tuple[int, State]:
    with holdfast.open(folder) as kb:
        return kb.version, state_of(kb)


def on_disk(folder: Path) -> tuple[int, State]:
    """The version and state that files hold, without an engine."""
    stored = read_store(folder)
    rows = {
        file.relation: frozenset(tuple(row.values()) for row in pq.read_table(folder / file.path).to_pylist())
        for file in stored.manifest.facts
    }
    nothing: frozenset[object] = frozenset()
    state = State(rows.get("edge", nothing), rows.get("bad", nothing), "two(" in stored.manifest.program)  # type: ignore[arg-type]
    for logged in (logged for record in stored.log.applied() for logged in unpack(record.content).updates):
        facts = ({name: list(map(tuple, rows)) for name, rows in part.items()} for part in _parts(logged.update))  # type: ignore[arg-type]
        state = state.after(Update(*facts, logged.update.add_rules, logged.update.remove_rules))
    return stored.version, state


def _parts(update: Update) -> tuple[Mapping[str, object], Mapping[str, object]]:
    return update.delete, update.insert


def _made(kb: KnowledgeBase, action: Action) -> Iterator[object]:
    """Yields when something is acknowledged."""
    match action.way:
        case "compact":
            kb.compact()
        case "net":
            yield kb.apply_net(action.updates)
        case "all":
            yield kb.apply_all(action.updates)
        case "window":
            window = kb.window(action.updates)
            for _ in action.updates:
                yield window.advance()
        case "stream":
            yield from kb.stream(action.updates, lookahead="none")
        case _:
            yield from map(kb.apply, action.updates)


class _short_logs:  # noqa: N801  used like a function
    """Snapshots are soon due, and whether there is a cache does not depend on how busy the machine is."""

    def __init__(self, smallest: int) -> None:
        self._smallest, self._was = smallest, (Store.smallest, Store.worth_caching)

    def __enter__(self) -> None:
        Store.smallest = self._smallest
        Store.worth_caching = math.inf if Store.worth_caching else 0.0

    def __exit__(self, *_: object) -> None:
        Store.smallest, Store.worth_caching = self._was
