"""A knowledge base that a script is run on, and the algorithms that it gets: several lanes run side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

import holdfast
from holdfast.errors import HoldfastError
from holdfast.knowledge.engines import EngineChoice
from holdfast.maintenance.algorithms import Choice
from holdfast.modules import MODULES, Module
from holdfast.updates import Change, Update

from ..judges.programs import RuleSketch
from ..oracle.values import tag_row
from .reference import State, counters_of, state_of
from .scripts import Order, Script, Step, grouped

FIXED = ("dred", "dred-counting", "dred-ranked", "backward-forward", "backward-forward-counting", "recompute", "auto")
MIXED, EACH, COUNTING = "a different one each step", "a different one for each predicate", "counting"
POLICIES = (*FIXED, MIXED, EACH, COUNTING)
STRATEGIES = ("counters", "hyper-node")


LOSING_RANKS = "dred-ranked or dred-counting"
LOSING = "dred or dred-counting"  # the first keeps no counters, the second needs them


class DisagreementError(AssertionError):
    """What was maintained is not what it should be."""


@dataclass
class Lane:
    """One knowledge base on its way through a script."""

    script: Script
    number: int
    policy: str
    strategy: str
    order: Order = str
    engine: EngineChoice | None = None  # that of the test run
    rules: list[tuple[str, RuleSketch]] = field(default_factory=list)  # with the names that they have by now
    modules: Sequence[Module] = MODULES

    def __post_init__(self) -> None:
        self.rules = [(f"r{number}", rule) for number, rule in enumerate(self.script.rules, 1)]
        self.added = 0
        text = self.script.text([self.order(rule) for rule in self.script.rules])
        opened = holdfast.from_text if self.engine is None else partial(holdfast.from_text, engine=self.engine)
        self.kb = opened(text, facts=grouped(self.script.facts), modules=self.modules)
        self.state = state_of(self.kb)

    @property
    def looks_up(self) -> bool:
        """To ask for counters has facts written out that need not be: one lane never does, and looks up instead."""
        return self.number == 3

    def choice(self, dice: Random) -> Choice:
        match self.policy:
            case "a different one each step":
                return Choice(dice.choice(FIXED), strategy=dice.choice(STRATEGIES))
            case "a different one for each predicate":
                each = {predicate.name: dice.choice(FIXED) for predicate in self.script.predicates}
                return Choice("auto", each, strategy=self.strategy)
            case policy:
                return Choice(dice.choice(policy.split(" or ")), strategy=self.strategy)

    def update(self, step: Step, dice: Random) -> Update:
        """The step in this lane's words: rules are removed by name or by text."""
        left, wanted = list(self.rules), []
        for rule in step.remove:
            name, _ = found = next(pair for pair in left if pair[1] == rule)
            left.remove(found)
            same = sum(other == rule for _, other in self.rules)
            wanted.append(name if same == 1 and dice.random() < 0.5 else self.order(rule))
        add = [f'#[name("{name}")] {self.order(rule)}' for name, rule in self.named(step)]
        return Update(grouped(step.delete), grouped(step.insert), add, wanted)

    def named(self, step: Step) -> list[tuple[str, RuleSketch]]:
        """The rules that a step adds, with their names: the program's own are called after their places."""
        return [(f"added{self.added + number}", rule) for number, rule in enumerate(step.add, 1)]

    def adopt(self, step: Step) -> None:
        """The rules have changed."""
        for rule in step.remove:
            self.rules.remove(next(pair for pair in self.rules if pair[1] == rule))
        self.rules += self.named(step)
        self.added += len(step.add)

    # --- what is checked -----------------------------------------------------------------------------

    def fail(self, what: str) -> DisagreementError:
        served = ", ".join(module.name for module in self.modules) or "no modules"
        return DisagreementError(f"{self.policy}, {self.strategy}, {served}: {what}")

    def same_as_before(self, why: str) -> None:
        if (now := state_of(self.kb)) != self.state:
            raise self.fail(f"{why} left a trace: {difference(now, self.state)}")

    def refused(self, update: Update, choice: Choice, why: str) -> str:
        """An update that must be refused, and must leave nothing behind; gives the error's code."""
        before = None if self.looks_up else counters_of(self.kb)
        for attempt in (self.kb.apply, self.kb.what_if):
            try:
                attempt(update, algorithm=choice)
            except HoldfastError as error:
                code = error.diagnostics[0].code
            else:
                raise self.fail(f"an update was not refused: {why}")
        self.same_as_before(why)
        if before is not None and (now := counters_of(self.kb)) != before:
            raise self.fail(f"{why} left counters: {difference(now, before)}")
        return code

    def folds(self, change: Change) -> None:
        """The change is the difference of the two states, and nothing else."""
        now = state_of(self.kb)
        for name, facts in now.items():
            old = self.state.get(name, set())
            if rows(change, "added", name) != facts - old or rows(change, "removed", name) != old - facts:
                raise self.fail(f"the change of {name} is not the difference of the states")
        unknown = {*change.added, *change.removed} - set(now) - set(self.state)
        if unknown or not all(map(len, (*change.added.values(), *change.removed.values()))):
            raise self.fail(f"the change tells of {unknown or 'relations that it does not change'}")
        self.state = now


def rows(change: Change, which: str, name: str) -> set[object]:
    """The facts of one relation that a change adds or removes, each of them listed once."""
    listed = [tag_row(row) for row in getattr(change, which).get(name, ())]
    if len(listed) != len(set(listed)):
        raise DisagreementError(f"{which} lists a fact of {name} twice")
    return set(listed)


def same_change(one: Change, other: Change) -> bool:
    return all(
        rows(one, which, name) == rows(other, which, name)
        for which in ("added", "removed")
        for name in {*getattr(one, which), *getattr(other, which)}
    )


def difference(got: State | object, expected: State | object) -> str:
    """The relations in which two states or counters differ, with what one has and the other has not."""
    shown = []
    for name in sorted({*got, *expected}):  # type: ignore[misc]
        a, b = (
            dict.fromkeys(x.get(name, ())) | dict(x[name])
            if isinstance(x.get(name), dict)  # type: ignore
            else dict.fromkeys(x.get(name, ()))
            for x in (got, expected)
        )
        more, fewer = (
            {row: value for row, value in x.items() if row not in y or y[row] != value} for x, y in ((a, b), (b, a))
        )
        if more or fewer:
            shown.append(f"{name} has {dict(list(more.items())[:3])} and not {dict(list(fewer.items())[:3])}")
    return "; ".join(shown)
