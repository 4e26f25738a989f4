"""A knowledge base on a random walk through everything that changes or reads it, judged by clingo after each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import holdfast
from holdfast.errors import HoldfastError, UsageError
from holdfast.store.writing import Store

from ..clocks import by_chance
from ..thresholds import lowered
from .drawing import Draw, Query, functor_values
from .judge import State, answers, derived, encoded
from .rules import Relation, Rule
from .values import declared, text, writable

FIXED = (
    *("auto",) * 3,
    *("dred", "dred-counting", "dred-ranked", "backward-forward", "backward-forward-counting", "recompute"),
)
LOOKAHEADS = ("auto", "none", "window", "marks")
REFUSALS = {"E0906", "E0931", "E0914"}  # of an algorithm or of windows, not of the program


class WrongError(AssertionError):
    """What was computed is not what it should be."""


@dataclass(frozen=True)
class Stand:
    """The rules and the explicit facts at one time."""

    rules: tuple[Rule, ...]
    facts: frozenset[tuple[Relation, tuple[str, ...]]]  # encoded


@dataclass(frozen=True)
class Step:
    """An update, with the rules that it adds and removes."""

    delete: tuple[tuple[Relation, tuple[Any, ...]], ...]
    insert: tuple[tuple[Relation, tuple[Any, ...]], ...]
    add: tuple[Rule, ...] = ()
    remove: tuple[Rule, ...] = ()

    def update(self) -> holdfast.Update:
        return holdfast.Update(
            _grouped(self.delete), _grouped(self.insert), [*map(str, self.add)], [*map(str, self.remove)]
        )

    def after(self, stand: Stand) -> Stand:
        rules = list(stand.rules)
        for rule in self.remove:
            rules.remove(rule)
        gone, come = ({(r, given(row, r)) for r, row in part} for part in (self.delete, self.insert))
        return Stand((*rules, *self.add), (stand.facts - gone) | come)


def given(row: Iterable[Any], relation: Relation) -> tuple[str, ...]:
    """A given row, encoded: -0.0 is 0.0."""
    return encoded((0.0 if type(value) is float and value == 0 else value for value in row), relation.types)


def _grouped(facts: Iterable[tuple[Relation, tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for relation, row in facts:
        found.setdefault(relation.name, []).append(row)
    return found


for _name, _function in functor_values().items():
    holdfast.functor(name=_name)(_function)


class Walk:
    """One program and its updates, from a seed."""

    def __init__(self, seed: int, engine: str | None = None) -> None:
        self.seed, self.random = seed, Random(seed)
        self.draw = Draw(self.random)
        self.program = self.draw.program()
        self.done: Counter[str] = Counter()
        self.engine = engine or self.random.choice(("memory", "memory", "memory", "parted[2]"))
        self.has_store = self.engine == "memory" and self.random.random() < 0.3
        self.log: list[str] = []
        self.refusals: dict[str, str] = {}
        facts = self.draw.facts(self.random.choice((6, 15, 40)))
        if not self.draw.typed:
            facts += [(r, tuple(self.draw.value(t) for t in r.types)) for r in self.program.relations]
            mentioned = self.program.text(self.program.first)
            facts = [(r, row) for r, row in facts if f"{r.name}(" in mentioned]
        self.first_facts = facts
        self.stand = Stand(tuple(self.program.first), frozenset((r, encoded(row, r.types)) for r, row in facts))
        self.store: dict[str, str] = {}
        self.past: list[Stand] = []
        self.held: list[tuple[Any, State, int]] = []
        self.watched: list[tuple[Any, Query, Sequence[str]]] = []

    def opened(self) -> holdfast.KnowledgeBase | None:
        program = self.program.text(self.stand.rules)
        modules = self.random.choice(((), None))
        more: Any = {} if modules is None else {"modules": modules}
        options = {"engine": self.engine, "profile": self.random.random() < 0.2, **more, **self.store}
        self.log.append(f"kb = holdfast.from_text('''{program}''', {_grouped(self.first_facts)!r}, **{options})")
        try:
            return holdfast.from_text(program, _grouped(self.first_facts), **options)
        except HoldfastError as error:
            self.refused(error, "program")
            return None

    def refused(self, error: HoldfastError, what: str) -> None:
        codes = {found.code for found in error.diagnostics}
        if not codes or codes & {"E0001", "E0002"}:
            raise WrongError(f"an internal error: {error}") from error
        self.done[f"refused {what} {' '.join(sorted(codes))}"] += 1
        self.refusals[" ".join(sorted(codes))] = str(error)

    def run(self, steps: int = 10) -> Counter[str]:
        """Of four seeds two have lower thresholds, and two a clock that goes by chance."""
        with ExitStack() as around:
            if self.seed % 2:
                self.log.append(f"# {around.enter_context(lowered(Random(self.seed)))}")
            if self.seed % 4 > 1:
                around.enter_context(by_chance(self.seed))
            if self.has_store:
                around.enter_context(patch.object(Store, "worth_caching", 0.0))
                self.store["store"] = f"{around.enter_context(TemporaryDirectory())}/kb"
            return self._run(steps)

    def _run(self, steps: int) -> Counter[str]:
        kb = self.opened()
        if kb is None:
            return self.done
        self.kb = kb
        self.compare("program")
        actions: list[Callable[[], None]] = [self.applied] * 5 + [self.what_if, self.undone, self.several, self.net]
        actions += [
            self.streamed,
            self.asked,
            self.asked,
            self.hold,
            self.watch,
            self.reopened,
            self.explained,
            self.brought,
        ]
        actions += [self.opened_again, self.opened_again] if self.has_store else []
        for _ in range(steps):
            self.random.choice(actions)()
        self.check_held()
        return self.done

    # --- comparing -----------------------------------------------------------------------------------

    def expected(self, stand: Stand) -> State:
        return derived(self.program, stand.rules, stand.facts)

    def compare(self, what: str) -> None:
        expected = self.expected(self.stand)
        self.same(self.kb, expected, what)
        for relation in self.program.relations:
            if relation.kind != "inline" and self.known(self.kb, relation):
                explicit = self.rows(self.kb.explicit(relation.name), relation)
                wanted = {row for r, row in self.stand.facts if r == relation}
                if explicit != wanted:
                    raise WrongError(f"{what}: explicit facts of {relation.name}: {explicit ^ wanted}")
        self.done[what] += 1
        self.check_watches()

    def known(self, kb: Any, relation: Relation) -> bool:
        """Without declarations, a relation is there if a rule or fact mentions it."""
        return self.draw.typed or relation.name in kb

    def same(self, kb: Any, expected: State, what: str) -> None:
        for relation in self.program.relations:
            if relation.kind == "inline":
                continue
            found = self.rows(kb[relation.name], relation) if self.known(kb, relation) else set()
            if found != expected[relation.key]:
                more, fewer = found - expected[relation.key], expected[relation.key] - found
                raise WrongError(f"{what}: {relation.name} has {list(more)[:4]} and not {list(fewer)[:4]}")

    def rows(self, view: Any, relation: Relation) -> set[tuple[str, ...]]:
        listed = [encoded(row, relation.types) for row in view]
        if len(listed) != len(set(listed)) or len(listed) != len(view):
            raise WrongError(f"{relation.name} lists a fact twice")
        return set(listed)

    # --- steps ---------------------------------------------------------------------------------------

    def step(self, *, rules: bool = True) -> Step:
        there = [(r, row) for r, row in self.first_facts]
        delete = self.draw.facts(2) + (self.random.choices(there, k=self.random.randint(0, 4)) if there else [])
        insert = self.draw.facts(self.random.choice((1, 3, 6)))
        insert += self.random.choices([*insert, *delete], k=1) if insert and self.random.random() < 0.3 else []
        insert = [(r, tuple(-0.0 if v == 0 and type(v) is float else v for v in row)) for r, row in insert]
        self.first_facts += insert
        add: list[Rule] = []
        remove: list[Rule] = []
        if rules and self.random.random() < 0.5:
            now = list(self.stand.rules)
            remove = self.random.sample(now, min(len(now), self.random.choice((0, 1, 1, 2, len(now)))))
            spare = [rule for rule in self.program.pool if rule not in now or self.random.random() < 0.1]
            add = self.random.sample(spare, min(len(spare), self.random.choice((0, 1, 1, 3))))
        return Step(tuple(delete), tuple(insert), tuple(add), tuple(remove))

    def choice(self) -> holdfast.Choice:
        each = {r.name: self.random.choice(FIXED) for r in self.program.relations if self.random.random() < 0.2}
        each = {name: a for name, a in each.items() if name in self.kb}
        return holdfast.Choice(self.random.choice(FIXED), each, strategy=self.random.choice(("counters", "hyper-node")))

    def attempt(self, what: str, call: Callable[[], Any], shown: str) -> Any:
        self.log.append(shown)
        try:
            return call()
        except HoldfastError as error:
            self.refused(error, what)
            self.compare(f"after a refused {what}")
            return None

    def applied(self) -> None:
        step, choice = self.step(), self.choice()
        before = self.expected(self.stand)
        update = step.update()
        change = self.attempt(
            "update", lambda: self.kb.apply(update, algorithm=choice), f"kb.apply({update!r}, algorithm={choice!r})"
        )
        if change is not None:
            self.advance([step])
            self.compare(f"{'rules' if step.add or step.remove else 'facts'}")
            self.folds(before, change)

    def advance(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self.past.append(self.stand)
            self.stand = step.after(self.stand)

    def folds(self, before: State, change: Any) -> None:
        after = self.expected(self.stand)
        for relation in self.program.relations:
            for part, wanted in (
                ("added", after[relation.key] - before[relation.key]),
                ("removed", before[relation.key] - after[relation.key]),
            ):
                view = _of_relation(getattr(change, part), relation, self.kb)
                if self.rows(view, relation) != wanted:
                    raise WrongError(f"the change says {relation.name} {part} {list(view)}, not {wanted}")

    def what_if(self) -> None:
        update, choice = self.step().update(), self.choice()
        if self.attempt(
            "what_if",
            lambda: self.kb.what_if(update, algorithm=choice),
            f"kb.what_if({update!r}, algorithm={choice!r})",
        ):
            self.compare("what_if")

    def undone(self) -> None:
        if self.past and self.attempt("undo", self.kb.undo, "kb.undo()") is not None:
            self.stand = self.past.pop()
            self.compare("undo")

    def brought(self) -> None:
        """An update that brings a component and its instance is undone, and comes again."""
        relation = self.random.choice([r for r in self.program.relations if r.kind != "inline"])
        if not self.draw.typed or self.engine != "memory":  # others undo nothing
            return
        columns = ", ".join(f"c{i}: {declared(type_)}" for i, type_ in enumerate(relation.types))
        row = ", ".join(f"x{i}" for i in range(len(relation.types)))
        own = f"copy{len(self.log)}"
        text = (
            f".comp Copy {{ .decl all({columns}) .decl some({columns}) some({row}) :- all({row}). }} .init {own} = Copy"
        )
        update = holdfast.Update(
            add_rules=[text.replace("Copy", own.title()), f"{own}.all({row}) :- {relation.written}({row})."]
        )
        for _ in range(2):
            if self.attempt("instance", lambda: self.kb.apply(update), f"kb.apply({update!r})") is None:
                return
            if self.rows(self.kb[f"{own}.some"], relation) != self.expected(self.stand)[relation.key]:
                raise WrongError(f"{own}.some is no copy of {relation.name}")
            self.attempt("undo", self.kb.undo, "kb.undo()")
            self.compare("an instance and back")

    def several(self) -> None:
        steps = self.steps(rules=False)
        updates = [step.update() for step in steps]
        if self.attempt("apply_all", lambda: self.kb.apply_all(updates), f"kb.apply_all({updates!r})") is not None:
            self.advance(steps)
            self.compare("apply_all")

    def steps(self, *, rules: bool) -> list[Step]:
        """Steps one after the other, each for the state after the one before."""
        stand, found = self.stand, []
        for _ in range(self.random.randint(2, 5)):
            found.append(self.step(rules=rules))
            self.stand = found[-1].after(self.stand)
        self.stand = stand
        return found

    def net(self) -> None:
        steps = self.steps(rules=False)
        updates, choice = [step.update() for step in steps], self.choice()
        shown = f"kb.apply_net({updates!r}, algorithm={choice!r})"
        if self.attempt("apply_net", lambda: self.kb.apply_net(updates, algorithm=choice), shown) is not None:
            before = self.stand
            self.advance(steps)
            self.past = [*self.past[: -len(steps)], before]
            self.compare("apply_net")

    def streamed(self) -> None:
        steps = self.steps(rules=self.random.random() < 0.5)
        lookahead = self.random.choice(LOOKAHEADS)
        updates, algorithm = [step.update() for step in steps], self.random.choice(FIXED)
        queue = holdfast.UpdateQueue()
        for update in updates:
            queue.put(update)
        queue.close()
        self.log.append(f"list(kb.stream({updates!r}, lookahead={lookahead!r}, algorithm={algorithm!r}))")
        try:
            for step, answer in zip(
                steps, self.kb.stream(queue, lookahead=lookahead, algorithm=algorithm), strict=False
            ):
                before = self.expected(self.stand)
                self.advance([step])
                self.compare(f"stream {lookahead}")
                self.folds(before, answer.change)
        except HoldfastError as error:
            self.refused(error, "stream")
            self.compare("after a refused stream")

    # --- reading -------------------------------------------------------------------------------------

    def asked(self) -> None:
        query = self.draw.query()
        self.log.append(f"kb.query({query.text!r}, {query.parameters!r})")
        try:
            prepared = self.random.random() < 0.5
            view = (
                self.kb.prepare(query.text)(query.parameters)
                if prepared
                else self.kb.query(query.text, query.parameters)
            )
        except HoldfastError as error:
            self.refused(error, "query")
            return
        self.same_answers(view, query, view.columns)
        self.done["query"] += 1

    def same_answers(self, rows: Any, query: Query, columns: Sequence[str]) -> None:
        columns = [column.lstrip("?") for column in columns]
        shown, wanted = answers(self.expected(self.stand), query.body, columns)
        if sorted(shown) != sorted(columns):
            raise WrongError(f"{query.text}: columns {columns} for {shown}")
        types = [query.types[column] for column in columns]
        places = [columns.index(name) for name in shown]
        found = {tuple(row[i] for i in places) for row in (encoded(row, types) for row in rows)}
        if found != wanted:
            raise WrongError(f"{query.text}: has {sorted(found - wanted)[:4]} and not {sorted(wanted - found)[:4]}")

    def hold(self) -> None:
        if self.engine == "memory":
            self.log.append("held = kb.snapshot()")
            self.held.append((self.kb.snapshot(), self.expected(self.stand), len(self.log)))

    def check_held(self) -> None:
        for snapshot, expected, since in self.held:
            self.same(snapshot, expected, f"a snapshot held since {since}")
            self.done["snapshot"] += 1

    def watch(self) -> None:
        if self.engine != "memory":
            return
        query = self.draw.query()
        self.log.append(f"watch = kb.watch({query.text!r}, {query.parameters!r})")
        try:
            watch = self.kb.watch(query.text, query.parameters)
            columns = self.kb.query(query.text, query.parameters).columns
        except HoldfastError as error:
            self.refused(error, "watch")
            return
        self.watched.append((watch, query, columns))

    def check_watches(self) -> None:
        for watched in list(self.watched):
            watch, query, columns = watched
            try:
                while watch.next(timeout=0) is not None:
                    pass
                self.same_answers(watch.rows, query, columns)
                self.done["watch"] += 1
            except HoldfastError as error:
                self.refused(error, "watched")
                self.watched.remove(watched)

    def explained(self) -> None:
        """A fact has a proof if it holds, and a reason if it does not; in a snapshot too."""
        kb, expected, which = self.kb, self.expected(self.stand), "kb"
        if self.held and self.random.random() < 0.4:
            kb, expected, since = self.random.choice(self.held)
            which = f"the snapshot held since {since}"
        relation, row = self.draw.fact()
        held = [r for r in kb[relation.name] if all(map(writable, r))] if relation.name in kb else []
        if held and self.random.random() < 0.7:
            row = self.random.choice(held)
        if not all(map(writable, row)) or relation.name not in kb:
            return
        fact = f"{relation.written}({', '.join(map(text, row, relation.types))})"
        self.log.append(f"kb.why({fact!r}), kb.why_not({fact!r})  # {which}")
        try:
            proof, absence = kb.why(fact, seconds=60), kb.why_not(fact, seconds=60)
        except UsageError as error:  # the rules that there are give a column another type than the generator meant
            assert not self.draw.typed and error.diagnostics[0].code == "E0941", error
            self.refused(error, "why")
            return
        holds = given(row, relation) in expected[relation.key]
        if (proof is not None, absence is None) != (holds, holds):
            raise WrongError(f"{fact} holds: {holds}, but its proof is {proof} and its absence {absence}")
        rules = "".join(map(str, self.stand.rules if kb is self.kb else self.program.pool))
        # the checker knows no functors of users
        checkable = "@" not in rules and (self.draw.typed or f"{relation.name}(" in kb.rules_text())
        for certificate in (proof, absence) if checkable else ():
            if certificate is not None:
                holdfast.check_proof(certificate.to_json(), kb.rules_text(), self.explicit(kb))
        self.done["explained"] += 1

    def explicit(self, kb: Any) -> dict[str, list[tuple[Any, ...]]]:
        names = [r.name for r in self.program.relations if r.kind != "inline" and r.name in kb]
        return {name: list(kb.explicit(name)) for name in names}

    def opened_again(self) -> None:
        """The store has the same knowledge base."""
        self.check_held()
        self.held, self.watched, self.past = [], [], []
        if self.random.random() < 0.5:
            self.log.append("kb.compact()")
            self.kb.compact()
        self.log.append("kb.close(); kb = holdfast.open(kb.store)")
        self.kb.close()
        self.kb = holdfast.open(self.store["store"])
        self.compare("opened again")

    def reopened(self) -> None:
        """What the knowledge base says of itself is the same knowledge base."""
        explicit = self.explicit(self.kb)
        self.log.append("holdfast.from_text(kb.rules_text(), {name: list(kb.explicit(name)) …})")
        rules = self.kb.rules_text()
        if not self.draw.typed and any(f"{name}(" not in rules for name in explicit):
            return  # without declarations, facts that no rule mentions have nowhere to go
        again = holdfast.from_text(rules, explicit)
        self.same(again, self.expected(self.stand), "reopened")
        self.done["reopened"] += 1


def _of_relation(part: Any, relation: Relation, kb: Any) -> Any:
    for name in (relation.name, f"http://example.org/{relation.key}", f"<http://example.org/{relation.key}>"):
        if name in part:
            return part[name]
    return ()
