"""Runs a script on an engine and compares each state, and each change, with naive evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import holdfast
from holdfast import HoldfastError, KnowledgeBase, Limits, Update
from holdfast.errors import ProgramError

from .ranks import ranked, unfounded
from .rules import Fact, NoEnd, Rule, World, naive
from .scripts import ARITY, Script, Step

ENDLESS = ("E0704", "E0705", "E0801", "E0701")
REFUSED = ("E0501", "E0502", "E0503", "E0504", "E0505")
LIMITS = Limits(rounds=600)


def text(rules: list[Rule]) -> str:
    columns = {3: "x: number, y: number, z: number", 2: "x: number, y: number", 1: "x: number"}
    declared = [f".decl {name}({columns[arity]})" for name, arity in ARITY.items()]
    return "\n".join([*declared, *map(str, rules)])


def world(kb: KnowledgeBase) -> World:
    found = {name: set(kb[name]) for name in ARITY}
    return {name: facts for name, facts in found.items() if facts}


class Mismatch(AssertionError):
    """The engine and the naive evaluation disagree."""


class Run:
    """One script on one engine; `met` counts what came about."""

    def __init__(self, script: Script, engine: Any = "memory", algorithm: str = "auto") -> None:
        self.script, self.engine, self.algorithm = script, engine, algorithm
        self.met: Counter[str] = Counter()

    def all(self) -> Counter[str]:
        rules, facts = list(self.script.rules), {n: set(f) for n, f in self.script.facts.items()}
        kb = self._opened(rules, facts)
        if kb is None:
            return self.met
        self.met.update(self.script.shapes)
        for step in self.script.steps:
            rules, facts = self._step(kb, step, rules, facts)
        return self.met

    def _opened(self, rules: list[Rule], facts: dict[str, set[Fact]]) -> KnowledgeBase | None:
        truth = _truth(rules, facts)
        try:
            given = {name: sorted(found) for name, found in facts.items()}
            kb = holdfast.from_text(text(rules), facts=given, engine=self.engine, limits=LIMITS)
        except ProgramError as error:
            self.met["refused"] += 1
            if not all(d.code in REFUSED for d in error.diagnostics if d.code[0] == "E"):
                raise
            return None
        except HoldfastError as error:
            self._endless(error, truth)
            return None
        self._same(world(kb), truth, "at first")
        self._ranked(kb, rules, facts)
        return kb

    def _endless(self, error: HoldfastError, truth: World | None) -> None:
        codes = [diagnostic.code for diagnostic in error.diagnostics]
        if truth is not None or not set(codes) <= set(ENDLESS):
            raise Mismatch(f"{codes}: {error}") from error
        if "paths" in self.script.shapes and codes != ["E0704"]:  # where values are only added up it is found
            raise Mismatch(f"{codes}, not E0704")
        self.met[f"no end: {codes[0]}"] += 1

    def _same(self, found: World, truth: World | None, when: str) -> None:
        if truth is None:
            raise Mismatch(f"{when}: naive evaluation does not end")
        for name in found.keys() | truth.keys():
            if found.get(name) != truth.get(name):
                raise Mismatch(f"{when}: {name} is {found.get(name)}, not {truth.get(name)}")

    def _step(
        self, kb: KnowledgeBase, step: Step, rules: list[Rule], facts: dict[str, set[Fact]]
    ) -> tuple[list[Rule], dict[str, set[Fact]]]:
        before = world(kb)
        gone = [rule for rule in step.remove if rule in rules]  # it may have come with an update that was refused
        come = [rule for rule in step.add if rule not in rules or rule in gone]
        new_rules = [rule for rule in rules if rule not in gone] + come
        names = facts.keys() | step.insert.keys()
        new_facts = {n: (facts.get(n, set()) - step.delete.get(n, set())) | step.insert.get(n, set()) for n in names}
        truth = _truth(new_rules, new_facts)
        update = Update(
            {name: sorted(found) for name, found in step.delete.items() if found},
            {name: sorted(found) for name, found in step.insert.items()},
            [str(rule) for rule in come],
            [str(rule) for rule in gone],
        )
        try:
            tried = kb.what_if(update, algorithm=self.algorithm)
            self._same(world(kb), before, "after what_if")
            change = kb.apply(update, algorithm=self.algorithm)
        except ProgramError:
            self.met["refused update"] += 1
            self._same(world(kb), before, "after a refused update")
            return rules, facts
        except HoldfastError as error:
            self._endless(error, truth)
            self._same(world(kb), before, "after an update without end")
            return rules, facts
        if tried != change:
            raise Mismatch("what_if and apply differ")
        self._same(world(kb), truth, f"after {update}")
        self._ranked(kb, new_rules, new_facts)
        self._net(change, before, truth or {})
        self._note(change, step, before, truth or {})
        return new_rules, new_facts

    def _ranked(self, kb: KnowledgeBase, rules: list[Rule], facts: dict[str, set[Fact]]) -> None:
        if (wrong := unfounded(kb, rules, facts, world(kb))) is not None:
            raise Mismatch(f"wrong ranks: {wrong}")
        self.met["ranked"] += bool(ranked(kb))

    def _net(self, change: holdfast.Change, before: World, after: World) -> None:
        for name in ARITY:
            gone, come = (
                before.get(name, set()) - after.get(name, set()),
                after.get(name, set()) - before.get(name, set()),
            )
            reported = set(change.removed.get(name, ())), set(change.added.get(name, ()))
            if reported != (gone, come):
                raise Mismatch(f"{name} changed by {(gone, come)}, not {reported}")

    def _note(self, change: holdfast.Change, step: Step, before: World, after: World) -> None:
        for figures in change.figures:
            if figures.algorithm in ("limits", "recompute"):
                self.met[f"{figures.algorithm}: {figures.why}"] += 1
                self.met["overdeleted"] += figures.overdeleted > 0
                self.met["came back"] += figures.rederived > 0
        self.met["updates"] += 1
        self.met["rule changes"] += bool(step.add or step.remove)
        gone, come = before.get("l", set()) - after.get("l", set()), after.get("l", set()) - before.get("l", set())
        self.met["value changed"] += bool(gone and come)
        self.met["group gone"] += len(gone) > len(come)


def _truth(rules: list[Rule], facts: dict[str, set[Fact]]) -> World | None:
    try:
        return naive(rules, facts)
    except NoEnd:
        return None


def failure(make: Callable[[], Script], engine: Any = "memory", algorithm: str = "auto") -> str | None:
    """What is wrong with a script, or None."""
    try:
        Run(make(), engine, algorithm).all()
    except Mismatch as error:
        return str(error)
    return None
