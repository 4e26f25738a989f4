"""Each way to change a knowledge base leaves counters, ranks and states of modules that every other way can go on with.

Single updates by each algorithm, windows that are committed whole or in part, net changes, what-ifs, changes that are
undone and rule changes follow one another, with modules; after each, all facts are those of an evaluation from scratch
by rules.  The facts are few, so what `auto` does by the clock or where there are many is done by chance (`clocks.py`).
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

import holdfast
from holdfast import Change, KnowledgeBase, Update
from holdfast.errors import ProgramError
from holdfast.maintenance import recompute, seminaive
from holdfast.maintenance.walk import Walk
from holdfast.maintenance.window_transaction import Window

from ..amounts import some
from ..clocks import by_chance
from ..equivalence.mutants import Mutant, broken
from ..equivalence.rank_check import wrong_ranks

DECLARATIONS = """
.decl edge(x: number, y: number)
.decl reach(x: number, y: number)
.decl linked(x: number, y: number)
.decl step(x: number, y: number)
.decl far(x: number, y: number)
.decl lone(x: number)
.decl pairs(n: number)
.decl level(x: number, y: number)
"""
RULES = (
    "reach(x, y) :- edge(x, y).",
    "reach(x, z) :- reach(x, y), edge(y, z).",
    "linked(x, y) :- edge(x, y), x != 3.",
    "linked(y, x) :- linked(x, y).",
    "linked(x, z) :- linked(x, y), linked(y, z).",
    "step(x, y) :- reach(x, y), !edge(x, y), x < 5.",
    "far(x, y) :- step(x, y).",
    "far(x, z) :- far(x, y), far(y, z).",
    "far(x, y) :- far(x, z), edge(z, y), x < y.",
    "lone(x) :- edge(x, _), !reach(x, x).",
    "pairs(n) :- n = count : { far(_, _) }.",
    "level(x, y) :- edge(p, x), edge(p, y).",
    "level(x, y) :- edge(a, x), level(a, b), edge(b, y).",
)
ALGORITHMS = (
    *("auto", "dred", "dred-counting", *("dred-ranked",) * 4),
    *("backward-forward", "backward-forward-counting", "recompute"),
)
WAYS = (*("one",) * 5, *("all",) * 4, "part", "net", "what if", "undo", "rules")
DECIDED = (  # by the clock
    "; abandoned: ",
    "starting over",
    "its ranks were not known, so it was recomputed",
    "no fact was kept by its rank",
    "insertions only, and its ranks are not known",
    "; without ",  # modules
    " again: ",  # modules
    "most of the facts that its rules read were deleted",
)
Edge = tuple[int, int]


class Turns:
    """One knowledge base, its edges and rules."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.nodes = self.dice.choice([5, 8, 12])
        self.edges = set(self._edges(25))
        self.rules = [rule for rule in RULES if self.dice.random() < 0.85]
        self.favourite = self.dice.choice(ALGORITHMS)  # what one update keeps shows when the same algorithm follows
        self.met = Counter[str]()  # what `auto` did
        self.kb = self._opened()

    def _opened(self, **named: object) -> KnowledgeBase:
        text = DECLARATIONS + "\n".join(self.rules)
        return holdfast.from_text(text, {"edge": sorted(self.edges)}, **named)  # type: ignore[arg-type]

    def _edges(self, most: int) -> list[Edge]:
        number = self.dice.randrange(most + 1)
        return [(self.dice.randrange(self.nodes), self.dice.randrange(self.nodes)) for _ in range(number)]

    def _update(self) -> Update:
        there = sorted(self.edges)
        gone, come = self.dice.sample(there, min(len(there), self.dice.randrange(4))), self._edges(3)
        self.edges = (self.edges - set(gone)) | set(come)
        return Update(delete={"edge": gone}, insert={"edge": come})

    def turn(self) -> tuple[str, str]:
        """Change it in some way."""
        kb, before = self.kb, self.edges
        way = self.dice.choice(WAYS)
        algorithm = self.favourite if self.dice.random() < 0.7 else self.dice.choice(ALGORITHMS)
        match way:
            case "one":
                self._note(kb.apply(self._update(), algorithm=algorithm))
            case "all":
                kb.apply_all([self._update() for _ in range(self.dice.randint(1, 3))])
            case "part":
                self._in_part()
            case "net":
                kb.apply_net([self._update(), self._update()], algorithm=algorithm)
            case "what if":
                kb.what_if(self._update(), algorithm=algorithm)
                self.edges = before
            case "undo":
                kb.apply(self._update(), algorithm=algorithm)
                kb.undo()
                self.edges = before
            case "rules":
                self._edit(algorithm)
        return way, algorithm

    def _in_part(self) -> None:
        """A window of three updates, of which some are committed."""
        states, updates = [self.edges], []
        for _ in range(3):
            updates.append(self._update())
            states.append(self.edges)
        window, committed = self.kb.window(updates), self.dice.randrange(4)
        for _ in range(committed):
            window.advance()
        self.edges = states[committed]

    def _edit(self, algorithm: str) -> None:
        gone = [rule for rule in self.rules if self.dice.random() < 0.15]
        come = [rule for rule in RULES if rule not in self.rules and self.dice.random() < 0.4]
        try:
            self._note(self.kb.apply(Update(add_rules=come, remove_rules=gone), algorithm=algorithm))
        except ProgramError:
            return
        self.rules = [*(rule for rule in self.rules if rule not in gone), *come]

    def _note(self, change: Change) -> None:
        for figures in change.figures:
            self.met.update(what for what in DECIDED if what in figures.why)

    def check(self) -> None:
        """All facts are as from scratch."""
        right = self._opened(modules=())
        assert {name: set(view) for name, view in self.kb.relations.items()} == {
            name: set(view) for name, view in right.relations.items()
        }


@pytest.mark.only_in_memory("windows and undo are the memory engine's")
def test_ways_in_turn() -> None:
    met = Counter[str]()
    for seed in range(some(36)):
        turns = Turns(seed)
        for _ in range(12):
            way, algorithm = turns.turn()
            turns.check()
            met[way] += 1
            met[algorithm] += 1
    assert met.keys() == {*WAYS, *ALGORITHMS}


def by_the_clock(seed: int) -> Counter[str]:
    """Twelve turns, mostly by `auto`, under a clock that goes by chance; gives what `auto` did."""
    with by_chance(seed):
        turns = Turns(seed)
        turns.favourite = "auto"
        for _ in range(12):
            turns.turn()
            turns.check()
            assert turns.dice.random() < 0.5 or wrong_ranks(turns.kb) is None
    return turns.met


@pytest.mark.only_in_memory("windows and undo are the memory engine's")
def test_ways_in_turn_by_chance() -> None:
    """`auto` abandons, recomputes, leaves modules and comes back, drops ranks and makes them anew, at any point."""
    met = Counter[str]()
    for seed in range(some(60)):
        met += by_the_clock(seed)
    assert met.keys() == {*DECIDED}, met


_back, _window = Walk._take_back, Window._put_counts
BROKEN = (
    Mutant("an abandoned deletion stays", _back, "D -= D.of(plan.predicates)", "pass", "auto"),
    Mutant("ranks outlive a window", _window, "else ledger.lose_ranks", "else str", "auto", hint=10),
    Mutant("Cr is counted on", recompute._evaluate_here, "s.Cr.forget(s.O)", "pass", "auto", hint=2),
    Mutant("Cw is set too late", seminaive.evaluate, "found > len(Δ) or found > _MANY", "False", "auto"),
)


@pytest.mark.only_in_memory("windows and undo are the memory engine's")
@pytest.mark.parametrize("mutant", BROKEN, ids=str)
def test_what_is_broken_is_noticed(mutant: Mutant) -> None:
    with broken(mutant), pytest.raises(AssertionError):
        for seed in (mutant.hint, *range(30)):
            by_the_clock(seed)


@pytest.mark.only_in_memory("windows are the memory engine's")
def test_ranks_do_not_outlive_a_window_by_a_module() -> None:
    """By name, rules take the place of the module, and keep ranks; the window is computed by the module."""
    for seed in range(6):
        turns = Turns(seed)
        for _ in range(3):
            turns.kb.apply(turns._update(), algorithm="dred-ranked")
            turns.kb.apply_all([turns._update(), turns._update()])
            turns.kb.apply(turns._update(), algorithm="dred-ranked")
            turns.check()
