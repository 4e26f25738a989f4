"""The property: after every update, state and counters equal from-scratch evaluation, and the change is the difference.

What this cannot catch: what only large relations show (several batches, tables that grow), and mistakes that
from-scratch evaluation shares with maintenance; a share of the states is therefore judged by the oracle too.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from holdfast.errors import HoldfastError
from holdfast.updates import Update

from .lanes import COUNTING, DisagreementError, Lane, difference, same_change
from .rank_check import wrong_ranks
from .reference import Counters, Expected, Reference, State, counters_of, state_of
from .scripts import Fact, Script, Step, after, explicit_after, fitting

BOOM_RULE = "boom(n) :- n = 9223372036854775807 + k, k = count : { %s }."


class Course:
    """A script on its way: the rules and facts by now, and what follows from them."""

    def __init__(self, script: Script, lanes: Sequence[Lane], oracle: float) -> None:
        self.script, self.lanes, self.oracle = script, lanes, oracle
        self.rules, self.facts = list(script.rules), set(script.facts)
        self.reference = Reference(script.text(self.rules))
        expected = self.reference.evaluated(self.facts)
        for lane in lanes:
            agree(lane, expected, counters=lane.number % 2 == 0)

    def advance(self, step: Step) -> int:
        """Apply one update on all lanes and compare; gives how often that was done, not at all if it is refused."""
        step = fitting(self.rules, step)
        rules, facts = after(self.rules, step), explicit_after(self.facts, step)
        try:
            reference = Reference(self.script.text(rules)) if step.add or step.remove else self.reference
            expected = reference.evaluated(facts)
        except HoldfastError:  # also of facts: a sum that is part of a recursion adds up no negative numbers
            for lane in self.lanes:
                dice = Random(step.dice + lane.number)
                lane.refused(lane.update(step, dice), lane.choice(dice), "from scratch the program is refused")
            return 0
        if Random(step.dice).random() < self.oracle:
            judged(reference, facts, expected, self.script)
        for lane in self.lanes:
            applied(lane, step, reference, expected, Random(step.dice + lane.number))
        self.rules, self.facts, self.reference = rules, facts, reference
        return len(self.lanes)


def run(script: Script, lanes: Sequence[Lane], *, oracle: float = 0.05, most: int | None = None) -> int:
    """Run a script on all lanes, up to so many updates; gives the number of those that were applied and compared."""
    course, done = Course(script, lanes, oracle), 0
    for step in script.steps:
        if most is not None and done >= most:
            break
        done += course.advance(step)
    return done


def applied(lane: Lane, step: Step, reference: Reference, expected: Expected, dice: Random) -> None:
    """One update on one lane, with everything that must hold of it."""
    update, choice = lane.update(step, dice), lane.choice(dice)
    if lane.policy == COUNTING and reference.is_recursive:
        choice = counting_or_not(lane, update, choice, dice)
    if dice.random() < 0.1:
        lane.refused(spoilt(lane, update, expected, dice), choice, "a bad update")
    hypothetical = None
    curious = 0.0 if lane.looks_up else 0.6 if lane.number % 2 == 0 else 0.1
    if dice.random() < 0.2:
        before = counters_of(lane.kb) if dice.random() < curious else None
        hypothetical = lane.kb.what_if(update, algorithm=choice)
        lane.same_as_before("what_if")
        if before is not None and counters_of(lane.kb) != before:
            raise lane.fail("what_if left counters")
    change = lane.kb.apply(update, algorithm=choice)
    if hypothetical is not None and not same_change(change, hypothetical):
        raise lane.fail("what_if reports another change")
    lane.folds(change)
    lane.adopt(step)
    for _ in range(4 if lane.looks_up else dice.random() < 0.2):
        looked_up(lane, expected, dice)
    agree(lane, expected, counters=dice.random() < curious)


def counting_or_not(lane: Lane, update: Update, choice: object, dice: Random) -> object:
    """Counting refuses a hyper-node that is recursive, if the update touches it; then another algorithm goes on."""
    try:
        lane.kb.what_if(update, algorithm=choice)  # type: ignore[arg-type]
    except HoldfastError as error:
        if error.diagnostics[0].code != "E0906":
            raise
        lane.refused(update, choice, "counting on recursive rules")  # type: ignore[arg-type]
        return dice.choice(("auto", "dred"))
    return choice


def agree(lane: Lane, expected: Expected, *, counters: bool) -> None:
    """State and counters are those of the reference; to ask for counters may count anew, so it is not always done."""
    if lane.state != expected.state:
        raise lane.fail(f"wrong facts: {difference(lane.state, expected.state)}")
    if counters and (found := counters_of(lane.kb)) != expected.counters:
        raise lane.fail(f"wrong counters: {difference(found, expected.counters)}")
    if counters and (wrong := wrong_ranks(lane.kb)):
        raise lane.fail(f"wrong ranks: {wrong}")
    if counters and state_of(lane.kb) != expected.state:
        raise lane.fail("asking for the counters changed the facts")


def looked_up(lane: Lane, expected: Expected, dice: Random) -> None:
    """What a query finds by one value, and whether a fact is there."""
    predicate = dice.choice(lane.script.predicates)
    if set(predicate.types) != {"number"}:
        return
    rows = sorted(tuple(value for _, value in row) for row in expected.state[predicate.name])  # without their types
    column = dice.randrange(len(predicate.types))
    wanted = dice.choice(rows)[column] if rows and dice.random() < 0.8 else 77
    atom = ", ".join(str(wanted) if i == column else f"x{i}" for i in range(len(predicate.types)))
    found = set(lane.kb.query(f"{predicate.name}({atom})"))
    if found != {row[:column] + row[column + 1 :] for row in rows if row[column] == wanted}:
        raise lane.fail(f"wrong answers to {predicate.name}({atom})")
    one = (*dice.choice(rows)[:-1], wanted) if rows else (wanted,) * len(predicate.types)
    if (one in lane.kb[predicate.name]) != (one in rows):
        raise lane.fail(f"wrong about {predicate.name}{one}")


def judged(reference: Reference, facts: set[Fact], expected: Expected, script: Script) -> None:
    """The oracle agrees with from-scratch evaluation."""
    found = reference.by_oracle(facts)
    names = [predicate.name for predicate in script.predicates]
    state: State = {name: set(found.facts.get(name, ())) for name in names}
    if state != {name: expected.state[name] for name in names}:
        raise DisagreementError(f"the oracle disagrees: {difference(expected.state, state)}")
    text = "\n".join(reference.text.splitlines()[len(names) + 1 :])
    if not any(mark in text for mark in ("{", ";", "count(", "sum(", "min(", "max(", "mean(", "median(")):
        counters: Counters = {name: found.counters.get(name, {}) for name in names}
        if counters != {name: expected.counters[name] for name in names}:
            raise DisagreementError(f"the oracle counts differently: {difference(expected.counters, counters)}")


def spoilt(lane: Lane, update: Update, expected: Expected, dice: Random) -> Update:
    """The same update with something in it that must be refused, at once or while rules are evaluated."""
    add, remove, insert = list(update.add_rules), list(update.remove_rules), dict(update.insert)
    some = dice.choice(lane.script.predicates)
    match dice.randrange(6):
        case 0:
            add.append("boom(x :- nothing.")
        case 1:
            add.append("boom(x) :- boom(y).")
        case 2:
            insert["nowhere"] = [(1,)]
        case 3:
            insert[some.name] = [*insert.get(some.name, ()), (1,) * (len(some.types) + 1)]
        case 4:
            remove.append("r999")
        case _:
            full = [p for p in lane.script.predicates if expected.state[p.name]] or [None]
            predicate = dice.choice(full)
            atom = f"{predicate.name}({', '.join('_' * len(predicate.types))})" if predicate else "1 = 1"
            add.append(BOOM_RULE % atom)  # a number too large
    return Update(update.delete, insert, add, remove)
