"""Which parts of an update made a fact come or go.

A fact came: a proof in the new state, opened only along facts that are new, ends in parts of the update.  These are
undone; if the fact still holds, it has another proof, which ends in further parts, and so on.  A fact went: the same
with a proof in the old state, opened along facts that are gone.  Negation and aggregates lead from facts that come to
facts that go.  What undoes the fact was tried out, so the answer is right whatever the search may miss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

from holdfast.arguments import expect
from holdfast.errors import HoldfastError, LimitReached
from holdfast.explanations.matching import Fact
from holdfast.explanations.proof import Proof, ProofStep
from holdfast.explanations.search import Explainer, SearchLimit
from holdfast.explanations.short_names import FULL_NAMES
from holdfast.explanations.terms import NoValue, fact_text, value_of
from holdfast.knowledge.copies import copied
from holdfast.knowledge.explaining import asked_fact, raw
from holdfast.knowledge.nearby import NOTHING_MOVED, NearbyFacts
from holdfast.knowledge.origins import ChangeOrigin, Moved
from holdfast.knowledge.relations import find_relation, the_relation, written_name
from holdfast.language import tree
from holdfast.language.editing import name_of
from holdfast.language.printer import show_items, show_rule
from holdfast.quick_dataclass import dataclass
from holdfast.updates import Causes, Change, Update, UpdatePart
from holdfast.values import Row

_WHAT = "set of causes"
_FEW = 64  # parts of an update that are tried out one by one where no proof tells them apart


@dataclass(frozen=True)
class _Part:
    """One of the parts that an update consists of."""

    kind: str
    fact: Fact | None = None
    relation: str = ""  # of the fact
    rule: str = ""  # its name

    @property
    def is_new(self) -> bool:
        """Whether the new state has it."""
        return self.kind in ("insert", "add_rule")


class _Parts:
    """All parts of an update, and updates that take some back or do some again."""

    def __init__(self, origin: ChangeOrigin) -> None:
        self._origin = origin
        deleted, inserted = origin.explicit
        self.of_fact: dict[Fact, _Part] = {}
        for kind, views, (_, program) in zip(("delete", "insert"), (deleted, inserted), origin.rules, strict=True):
            for name, view in views.items():
                written = written_name(name, len(view.types), program)
                facts = ((written, tuple(map(value_of, row))) for row in view)
                self.of_fact |= {fact: _Part(kind, fact, name) for fact in facts}
        self.of_rule = {name: _Part("add_rule", rule=name) for name in self._added}
        removed = {name: _Part("remove_rule", rule=name) for name in self._removed}
        self.of_rules = [*self.of_rule.values(), *removed.values()]
        self.of_removed = removed
        self.all = [*self.of_fact.values(), *self.of_rules]

    @cached_property
    def _added(self) -> dict[str, tree.Rule]:
        return {name_of(item): item for item in self._only(1) if isinstance(item, tree.Rule)}

    @cached_property
    def _removed(self) -> dict[str, tree.Rule]:
        return {name_of(item): item for item in self._only(0) if isinstance(item, tree.Rule)}

    def _only(self, side: int) -> list[tree.Item]:
        """What the old or the new program has and the other has not."""
        here, there = self._origin.rules[side][0].items, self._origin.rules[1 - side][0].items
        if here is there:
            return []
        others = set(map(id, there))
        return [item for item in here if id(item) not in others]

    def undo(self, parts: Iterable[_Part]) -> Update:
        """Takes parts back."""
        return self._update(parts, undo=True)

    def redo(self, parts: Iterable[_Part]) -> Update:
        """Does parts again; declarations that came with rules are done in any case."""
        update = self._update(parts, undo=False)
        declared = tuple(item for item in self._only(1) if not isinstance(item, tree.Rule))
        texts = ["\n".join(show_items(declared))] if declared else []
        return replace(update, add_rules=(*texts, *update.add_rules))

    def _update(self, parts: Iterable[_Part], *, undo: bool) -> Update:
        insert: dict[str, list[Row]] = {}
        delete: dict[str, list[Row]] = {}
        add, remove = [], []
        for part in parts:
            comes = part.is_new != undo
            if part.fact is not None:
                (insert if comes else delete).setdefault(part.relation, []).append(tuple(map(raw, part.fact[1])))
            elif comes:
                add.append(show_rule((self._added if part.is_new else self._removed)[part.rule]))
            else:
                remove.append(part.rule)
        return Update(delete, insert, add, remove)

    def shown(self, part: _Part) -> UpdatePart:
        """A part as users see it."""
        if part.fact is not None:
            return UpdatePart(part.kind, fact_text(part.fact))
        rule = (self._added if part.is_new else self._removed)[part.rule]
        return UpdatePart(part.kind, f"{part.rule}: {show_rule(replace(rule, attributes=())).strip()}")


class _States:
    """The states around an update: the old one, the new one, and the new one without some parts of the update."""

    def __init__(self, origin: ChangeOrigin, change: Change, parts: _Parts, limit: SearchLimit) -> None:
        self._origin, self._change, self._parts, self._limit = origin, change, parts, limit

    @cached_property
    def _what_if(self) -> Callable[[Update], Change]:
        near = copied(self._origin.state)
        return self._origin.what_if if near is None else near.what_if

    @contextmanager
    def around(self, undone: Sequence[_Part]) -> Iterator[tuple[NearbyFacts, NearbyFacts]]:
        """The old state, and the one that the update would have led to without some of its parts."""
        new = self._new(undone)  # before the old one: it tries out an update, which ends what was looked up
        with self._old() as old, new:
            old.other, new.other = new, old
            old.limit = new.limit = self._limit
            yield old, new

    def _old(self) -> NearbyFacts:
        state, rules = self._origin.state, self._origin.rules[0]
        if not self._origin.is_applied:
            return NearbyFacts(state, rules)
        deleted, inserted = self._origin.explicit
        return NearbyFacts(state, rules, (self._change.added, self._change.removed), (inserted, deleted))

    def _new(self, undone: Sequence[_Part]) -> NearbyFacts:
        origin = self._origin
        if not undone:
            moved: Moved = NOTHING_MOVED if origin.is_applied else (self._change.removed, self._change.added)
            explicit = NOTHING_MOVED if origin.is_applied else origin.explicit
            return NearbyFacts(origin.state, origin.rules[1], moved, explicit)
        left = [part for part in self._parts.all if part not in set(undone)]
        with self._limit.heeded(_WHAT):
            change = self._what_if(self._parts.undo(undone) if origin.is_applied else self._parts.redo(left))
        tried = change.origin
        assert isinstance(tried, ChangeOrigin)
        return NearbyFacts(origin.state, tried.rules[1], (change.removed, change.added), tried.explicit)


def causes(
    origin: ChangeOrigin, change: Change, relation: str, row: Row | None, seconds: float | None
) -> Causes | None:
    """The parts of an update that made a fact come or go; None if it did neither."""
    parts = _Parts(origin)
    limit = SearchLimit(seconds, None)
    states = _States(origin, change, parts, limit)
    with states.around(()) as (old, new):
        fact = _asked(relation, row, old, new)
        came = new.holds(fact)
        if came == old.holds(fact):
            return None
    return _Hunt(fact, came, parts, states, limit).causes()


def _asked(relation: str, row: Row | None, old: NearbyFacts, new: NearbyFacts) -> Fact:
    expect(relation, str, "a fact is a text, or a relation with a row", 'change.why("path(2, 4)")')
    if row is None:
        name = relation.partition("(")[0].strip().strip("<>'")
        gone = find_relation(name, new.program) is None and find_relation(name, old.program) is not None
        return asked_fact(relation, old if gone else new)
    source = old if find_relation(relation, new.program) is None else new
    found = the_relation(relation, source.program)
    expect(row, tuple, f"a row of {found.display} is a tuple")
    name = written_name(found.name, found.arity, source.program)
    return asked_fact(fact_text((name, tuple(map(value_of, row)))), source)


@dataclass(frozen=True)
class _Way:
    """Proofs that lead from a fact to parts of an update."""

    parts: dict[_Part, None]
    proofs: tuple[Proof, ...]


class _Hunt:
    """The search for the causes of one fact."""

    def __init__(self, fact: Fact, came: bool, parts: _Parts, states: _States, limit: SearchLimit) -> None:
        self._fact, self._came, self._parts, self._states, self._limit = fact, came, parts, states, limit

    def causes(self) -> Causes:
        """Parts that undo the fact, and how they led to it."""
        found, ways = self._found()
        proofs = tuple(proof for way in ways for proof in way.proofs)
        steps = tuple(_step_json(step) for proof in proofs for step in proof.inferences)
        shown = tuple(map(self._parts.shown, found))
        trees = tuple(map(str, proofs))
        names = proofs[0].names if proofs else FULL_NAMES
        return Causes(fact_text(self._fact), self._came, shown, self._parts.undo(found), trees, steps, names)

    def _found(self) -> tuple[list[_Part], list[_Way]]:
        undone: dict[_Part, None] = {}
        ways: list[_Way] = []
        try:
            while (way := self._next(list(undone))) is not None:
                if way.parts.keys() <= undone.keys():
                    return self._shrunk(), ways
                undone |= way.parts
                ways.append(way)
        except LimitReached:
            raise
        except (HoldfastError, NoValue):  # a state in between has no meaning, or a rule cannot be evaluated here
            return self._shrunk(), ways
        return list(undone), ways

    def _next(self, undone: list[_Part]) -> _Way | None:
        """Another way from the fact to parts of the update, None if it is undone."""
        self._limit.check(0, _WHAT)
        with self._states.around(undone) as (old, new):
            return _way(self._fact, self._came, old, new, self._parts, self._limit) if self._stands(new) else None

    def _stands(self, new: NearbyFacts) -> bool:
        return new.holds(self._fact) == self._came

    def _shrunk(self) -> list[_Part]:
        """All parts, without those that need not be undone."""
        found = list(self._parts.all)
        for part in list(found) if len(found) <= _FEW else ():
            self._limit.check(0, _WHAT)
            fewer = [other for other in found if other is not part]
            if self._is_undone_by(fewer):
                found = fewer
        return found

    def _is_undone_by(self, parts: list[_Part]) -> bool:
        try:
            with self._states.around(parts) as (_, new):
                return not self._stands(new)
        except LimitReached:
            raise
        except HoldfastError:
            return False


def _way(fact: Fact, came: bool, old: NearbyFacts, new: NearbyFacts, parts: _Parts, limit: SearchLimit) -> _Way:
    """One proof of a fact that is only in one of two states, and of what it leads to."""
    explainers = {True: Explainer(new, limit), False: Explainer(old, limit)}
    found: dict[_Part, None] = {}
    proofs: list[Proof] = []
    waiting, seen = [(fact, came)], {(fact, came)}
    while waiting:
        goal, in_new = waiting.pop(0)
        here, there = (new, old) if in_new else (old, new)
        steps, exact = explainers[in_new].steps(goal), dict(here.exact)
        there.together(lambda: there.holding(step.conclusion for step in steps if step.is_asserted))  # noqa: B023
        for step in steps:
            found |= dict.fromkeys(_parts_of(step, in_new, there, parts))
        noted = tuple(_noted(step, in_new, there) for step in steps)
        proofs.append(Proof(goal, noted, names=here.names))
        proved = {step.conclusion for step in steps}
        for other, is_there in here.together(lambda: [*_alone(exact, here, there)]):  # noqa: B023
            side = in_new != is_there
            if other not in proved and (other, side) not in seen:
                seen.add((other, side))
                waiting.append((other, side))
    return _Way(found, tuple(proofs))


def _alone(patterns: Mapping[Fact, Fact | None], here: NearbyFacts, there: NearbyFacts) -> Iterator[tuple[Fact, bool]]:
    """What fits patterns in one state only, and whether it is the other one: it let this one have a fact."""
    for (name, pattern), best in patterns.items():
        for one, other in ((there, here), (here, there)):
            found = one.in_order(one.facts(name, [pattern])[0])
            rows = [(name, row) for row in found if best is None or here.is_better(row, best)]
            both = other.holding(rows)
            yield from ((fact, one is there) for fact in rows if fact not in both)


def _parts_of(step: ProofStep, in_new: bool, there: NearbyFacts, parts: _Parts) -> list[_Part]:
    if step.is_asserted:
        return [] if there.holds(step.conclusion) else [parts.of_fact[step.conclusion]]
    if step.rule in there.rule_texts:
        return []
    own = (parts.of_rule if in_new else parts.of_removed).get(step.rule_name)
    return parts.of_rules if own is None else [own]  # an inlined rule has changed


def _noted(step: ProofStep, in_new: bool, there: NearbyFacts) -> ProofStep:
    """A step with what a tree says of it."""
    if step.is_asserted:
        stays = "held before" if in_new else "still holds"
        return replace(step, note=stays if there.holds(step.conclusion) else "inserted" if in_new else "deleted")
    if step.rule in there.rule_texts:
        return step
    return replace(step, note=f"by {step.rule_name}, which was {'added' if in_new else 'removed'}")


def _step_json(step: ProofStep) -> dict[str, Any]:
    return {**step.to_json(), **({"note": step.note} if step.note else {})}
