"""Runs a script of `wide.py` on an engine and compares each state, and each net change, with the oracle, which
evaluates all rules on everything until nothing changes.  Programs without recursion through min and max take some
updates in windows.  The engine may get the script in another form (`forms.py`); the oracle has the plain one.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import holdfast
from holdfast import Change, HoldfastError, KnowledgeBase, Update
from holdfast.errors import ProgramError
from holdfast.language import parse, tree
from holdfast.program import check

from ..equivalence.reference import State
from ..oracle.evaluate import Evaluation
from ..oracle.functors import UndefinedError
from ..oracle.strata import Below
from ..oracle.values import tag_row
from .forms import Form
from .running import ENDLESS, LIMITS, Mismatch
from .wide import Facts, Script, Step

MOST = 250  # rounds; values that still move then move for ever
REFUSED = ("E0204", "E0501", "E0502", "E0503", "E0504", "E0505")


class EndlessError(Exception):
    """The oracle does not come to an end, or a number gets too large."""


class _Bounded(Evaluation):
    rounds = 0

    def best(self, facts: set[Any], column: int, function: str) -> set[Any]:
        self.rounds += 1
        if self.rounds > MOST:
            raise EndlessError
        return super().best(facts, column, function)

    def saturate(self, rules: list[tuple[tree.Atom, tree.Formula]], stratum: set[str], below: Below) -> None:
        self.rounds = 0
        super().saturate(rules, stratum, below)


class Judged:
    """One script on one engine; `met` counts what came about."""

    def __init__(self, script: Script, seed: int, engine: Any = "memory", form: Form | None = None) -> None:
        self.script, self.engine, self.random, self.form = script, engine, Random(seed), form
        self.names = [line.split("(")[0].removeprefix(".decl ") for line in script.declarations]
        self.met: Counter[str] = Counter()

    def all(self) -> Counter[str]:
        self.rules, self.facts = list(self.script.rules), copy.deepcopy(self.script.facts)
        opened = self.opened()
        if opened is None:
            return self.met
        self.kb, steps = opened, list(self.script.steps)
        self.met.update(() if self.form is None else self.form.shapes)
        while steps:
            count = self.window(steps)
            taken, steps = steps[:count], steps[count:]
            if count > 1:
                self.together(taken)
            else:
                self.alone(taken[0])
        return self.met + self.crossed()

    def crossed(self) -> Counter[str]:
        """Each part of the form with each thing that came about."""
        shapes = () if self.form is None else self.form.shapes
        return Counter({f"{shape} with {event}": n for shape in shapes for event, n in self.met.items() if n})

    def window(self, steps: list[Step]) -> int:
        """How many of the next steps are taken in one pass."""
        if self.kb.program.recursive_limits or self.engine != "memory" or self.random.random() < 0.3:
            return 1
        plain = next((i for i, step in enumerate(steps) if step.add or step.remove), len(steps))
        return max(1, min(plain, self.random.randint(2, 4)))

    # --- the truth -------------------------------------------------------------------------------------

    def truth(self, rules: list[str], facts: Facts) -> State | None:
        """What follows; None if that has no end."""
        try:
            program = parse(self.script.text(rules))
            found = _Bounded(program).run({name: set(rows) for name, rows in facts.items()}, counted=False).facts
        except (EndlessError, UndefinedError):
            return None
        return {name: set(found.get(name, ())) for name in self.names}

    def after(self, facts: Facts, step: Step) -> Facts:
        names = facts.keys() | step.insert.keys()
        return {n: (facts.get(n, set()) - step.delete.get(n, set())) | step.insert.get(n, set()) for n in names}

    def same(self, truth: State | None, when: str) -> None:
        if truth is None:
            raise Mismatch(f"{when}: the oracle does not end")
        found = self.state()
        wrong = {name: (found[name], truth[name]) for name in self.names if found[name] != truth[name]}
        if wrong:
            raise Mismatch(f"{when}: found and true: {wrong}")

    # --- steps -----------------------------------------------------------------------------------------

    def opened(self) -> KnowledgeBase | None:
        text = self.script.text(self.rules) if self.form is None else self.form.text(self.rules)
        try:
            self.kb = holdfast.from_text(text, facts=self.given(self.facts), engine=self.engine, limits=LIMITS)
        except ProgramError as error:
            if self.form is not None:
                self.plain_is_refused(error)
            elif not _codes(error) <= set(REFUSED):
                raise
            self.met["refused"] += 1
            return None
        except HoldfastError as error:
            self.endless(error, self.truth(self.rules, self.facts))
            return None
        self.same(self.truth(self.rules, self.facts), "at first")
        return self.kb

    # --- forms -----------------------------------------------------------------------------------------

    def given(self, facts: Facts) -> dict[str, list[Any]]:
        if self.form is not None:
            return self.form.facts(facts)
        return {name: sorted(rows) for name, rows in facts.items()}

    def rows(self, name: str, rows: Iterable[Any]) -> set[Any]:
        return {tag_row(row if self.form is None else self.form.plain(name, row)) for row in rows}

    def shown(self, name: str) -> str:
        return name if self.form is None else self.form.name(name)

    def state(self) -> State:
        return {name: self.rows(name, self.kb[self.shown(name)]) for name in self.names}

    def plain_is_refused(self, error: ProgramError) -> None:
        """In another form a program is refused for what it is refused for when it is plain."""
        try:
            check(parse(self.script.text(self.rules)))
        except ProgramError as plain:
            if _codes(plain) == _codes(error):
                return
        raise error

    # --- updates ---------------------------------------------------------------------------------------

    def endless(self, error: HoldfastError, truth: State | None) -> None:
        codes = {diagnostic.code for diagnostic in error.diagnostics}
        if truth is not None or not codes <= set(ENDLESS):
            raise Mismatch(f"{codes}: {error}") from error
        self.met[f"no end: {min(codes)}"] += 1

    def update(self, step: Step) -> Update:
        written = str if self.form is None else self.form.rule
        come, gone = self.edits(step)
        given = (self.given({n: rows for n, rows in part.items() if rows}) for part in (step.delete, step.insert))
        return Update(*given, list(map(written, come)), list(map(written, gone)))

    def edits(self, step: Step) -> tuple[list[str], list[str]]:
        gone = [rule for rule in step.remove if rule in self.rules]
        return [rule for rule in step.add if rule not in self.rules], gone

    def alone(self, step: Step) -> None:
        before, update = self.state(), self.update(step)
        come, gone = self.edits(step)
        rules = [rule for rule in self.rules if rule not in gone] + come
        facts = self.after(self.facts, step)
        truth = self.truth(rules, facts)
        algorithm = "recompute" if self.random.random() < 0.1 else "auto"
        try:
            tried = self.kb.what_if(update) if self.random.random() < 0.3 else None
            self.met["what-if"] += tried is not None
            self.same(before, "after what_if")
            change = self.kb.apply(update, algorithm=algorithm)
        except ProgramError as error:
            if not _codes(error) <= set(REFUSED):
                raise
            self.met["refused update"] += 1
            self.same(before, "after a refused update")
            return
        except HoldfastError as error:
            self.endless(error, truth)
            self.same(before, "after an update without end")
            return
        if tried is not None and algorithm == "auto" and tried != change:
            raise Mismatch("what_if and apply differ")
        self.same(truth, f"after {update}")
        self.net([before, truth or {}], [change])
        self.met["rule changes"] += bool(come or gone)
        self.rules, self.facts = rules, facts
        self.note(change)

    def together(self, steps: list[Step]) -> None:
        """Several updates in one pass; if one of them has no value, all are taken alone."""
        states, facts = [self.state()], [self.facts]
        for step in steps:
            facts.append(self.after(facts[-1], step))
            found = self.truth(self.rules, facts[-1])
            if found is None:
                raise Mismatch("without recursion everything ends")
            states.append(found)
        changes = self.kb.apply_all([self.update(step) for step in steps])
        self.same(states[-1], f"after a window of {len(steps)}")
        self.net(states, changes)
        self.facts = facts[-1]
        self.met["window"] += len(steps)

    def net(self, states: Sequence[State], changes: Sequence[Change]) -> None:
        for (before, after), change in zip(pairwise(states), changes, strict=True):
            for name in self.names:
                expected = before[name] - after[name], after[name] - before[name]
                reported = tuple(
                    self.rows(name, each.get(self.shown(name), ())) for each in (change.removed, change.added)
                )
                if reported != expected:
                    raise Mismatch(f"{name} changed by {expected}, not {reported}")

    def note(self, change: Change) -> None:
        self.met["updates"] += 1
        for figures in change.figures:
            if figures.algorithm in ("limits", "recompute"):
                self.met[f"{figures.algorithm}: {figures.why}"] += 1
                self.met["overdeleted"] += figures.overdeleted > 0
                self.met["came back"] += figures.rederived > 0


def _codes(error: ProgramError) -> set[str]:
    return {diagnostic.code for diagnostic in error.diagnostics if diagnostic.code[0] == "E"}
