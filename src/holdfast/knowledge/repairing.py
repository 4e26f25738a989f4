"""The search for repairs: sets of edits, the smallest first, each tried out before it counts.

A set of edits leads to a state.  If something that was asked does not hold there, `Candidates` gives edits of which
every repair that contains the set has one more; so the sets grow by one edit at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import combinations

from holdfast.arguments import expect, expect_number
from holdfast.errors import Diagnostic, HoldfastError, LimitReached, UsageError
from holdfast.explanations.candidates import Candidates, Edit
from holdfast.explanations.hitting_sets import smallest_hitting_set
from holdfast.explanations.matching import ANY, Fact
from holdfast.explanations.search import SearchLimit
from holdfast.explanations.written import written_program
from holdfast.knowledge.explaining import asked_fact, raw
from holdfast.knowledge.materialisation import Materialisation
from holdfast.knowledge.nearby import NearbyFacts
from holdfast.knowledge.origins import ChangeOrigin
from holdfast.knowledge.relations import predicate_of, the_relation
from holdfast.knowledge.repair_values import ColumnValues
from holdfast.knowledge.repairs import Repair, Repairs, repair_of
from holdfast.quick_dataclass import dataclass
from holdfast.updates import Change, Update
from holdfast.values import Row

_SUBSETS = 4  # edits of a repair of which all subsets are tried: it may do with fewer
_MORE = 4  # times as many repairs are collected as are asked for, so that those with few side effects are found


@dataclass(frozen=True)
class RepairGoals:
    """What is to hold and what not, and what may be inserted and deleted for that."""

    make: tuple[Fact, ...]
    unmake: tuple[Fact, ...]
    may_insert: frozenset[str]
    may_delete: frozenset[str]

    def open_in(self, state: NearbyFacts) -> tuple[Fact, bool] | None:
        """The first fact that is not as it should be, and whether it should hold."""
        for wanted, facts in ((True, self.make), (False, self.unmake)):
            for fact in facts:
                if state.holds(fact) != wanted:
                    return fact, wanted
        return None


def goals(
    state: Materialisation,
    make: Iterable[str],
    unmake: Iterable[str],
    may_insert: Iterable[str] | None,
    may_delete: Iterable[str] | None,
) -> RepairGoals:
    """What a user asks for, checked.  Relations that no rule derives may be edited by default."""
    for given, name in ((make, "make"), (unmake, "unmake"), (may_insert, "may_insert"), (may_delete, "may_delete")):
        if given is not None:
            expect(given, (list, tuple, set, frozenset), f"{name} is a list of texts", f'{name}=["edge(1, 2)"]')
    with NearbyFacts(state) as source:
        wanted, unwanted = (tuple(asked_fact(text, source) for text in texts) for texts in (make, unmake))
        derived = {source.relation(*place).name for place in source.heads if source.relation(*place)}  # type: ignore[union-attr]
    if not (wanted or unwanted) or set(wanted) & set(unwanted):
        message = "a repair needs facts to make true or false, and none that should be both"
        raise UsageError(Diagnostic("E0944", message, help='kb.repair(make=["path(1, 4)"])'))
    plain = [name for name, r in state.program.relations.items() if not r.auxiliary and name not in derived]
    insert, delete = (
        frozenset(plain if names is None else (the_relation(name, state.program).name for name in names))
        for names in (may_insert, may_delete)
    )
    return RepairGoals(wanted, unwanted, insert, delete)


class RepairSearch:
    """Looks for repairs of one state."""

    def __init__(
        self,
        state: Materialisation,
        what_if: Callable[[Update], Change],
        asked: RepairGoals,
        limit: SearchLimit,
    ) -> None:
        self._state, self._what_if, self._asked, self._limit = state, what_if, asked, limit
        self._found: dict[frozenset[Edit], Repair] = {}
        self._failed: set[frozenset[Edit]] = set()
        self._values = ColumnValues(state, (*asked.make, *asked.unmake))
        self._is_complete = True

    def repairs(self, limit: int | None, edits: int) -> Repairs:
        """The best repairs of at most so many edits; raises `LimitReached` if none is found within the limits."""
        expect_number(limit, "limit")
        expect_number(edits, "edits")
        cut = None
        try:
            cut = None if self._asked.make else self._cut()
            self._grow(edits, None if limit is None else _MORE * limit, limit)
        except LimitReached:
            self._is_complete = False
            if not self._found and cut is None:
                self._limit.check(0, "repair")
                raise
        if not self._found and cut is not None:
            self._is_complete = False
            self._is_kept(self._smaller(cut))
        ranked = sorted(self._found.values(), key=lambda r: (r.size, r.side_effects, str(r)))
        return Repairs(ranked if limit is None else ranked[:limit], is_complete=self._is_complete)

    def _grow(self, edits: int, most: int | None, enough: int | None) -> None:
        level = [] if self._is_kept(frozenset()) else [frozenset[Edit]()]
        for size in range(1, edits + 1):
            following: dict[frozenset[Edit], None] = {}
            for chosen in level:
                for wider in self._wider(chosen):
                    known = wider in following or self._contains_found(wider)
                    if not known and not self._is_kept(wider):
                        following[wider] = None
                    if most is not None and len(self._found) >= most:
                        self._is_complete = False
                        return
            if enough is not None and following and self._are_enough(enough, size):
                self._is_complete = False
                return
            level = list(following)

    def _are_enough(self, wanted: int, size: int) -> bool:
        """Whether larger repairs need not be looked for: of two sizes, the smallest and the next, all are known."""
        return len(self._found) >= wanted or any(len(found) < size for found in self._found)

    def _cut(self) -> frozenset[Edit] | None:
        """A repair by deletions, one proof broken after the other; it need not be the smallest."""
        chosen = frozenset[Edit]()
        while self._repairing(chosen) is None:
            self._limit.check(0, "repair")
            wider = next((some for some in self._wider(chosen) if not any(e.inserts for e in some)), None)
            if wider is None:
                return None
            chosen = wider
        with suppress(LimitReached):
            for edit in sorted(chosen, key=str):
                if self._repairing(chosen - {edit}) is not None:
                    chosen -= {edit}
        return chosen

    def _smaller(self, cut: frozenset[Edit]) -> frozenset[Edit]:
        """A cut of the fewest deletions, or the one that is known if time runs out.

        A proof that some deletions leave standing gives a set of which every cut has an element.  As long as the
        smallest set with an element of each is no cut, it leaves another proof standing.
        """
        proofs: list[frozenset[Edit]] = []
        with suppress(LimitReached):
            while True:
                self._limit.check(0, "repair")
                chosen, _ = smallest_hitting_set(proofs, lambda: self._limit.look("repair"))
                if len(chosen) >= len(cut):
                    return cut
                if self._repairing(chosen) is not None:
                    return chosen
                more = frozenset(edit for wider in self._wider(chosen) for edit in wider - chosen if not edit.inserts)
                if not more:
                    return cut
                proofs.append(more)
        return cut

    def _wider(self, chosen: frozenset[Edit]) -> Iterator[frozenset[Edit]]:
        """Sets of edits with one more: every repair with these has one of those."""
        change = self._try(chosen)
        if change is None or self._contains_found(chosen):
            return
        with self._after(change) as state:
            goal = self._asked.open_in(state)
            assert goal is not None, "it would be a repair"
            candidates = Candidates(state, lambda edit: self._may(edit, chosen, state), self._values.of, self._limit)
            for edit in candidates.toward(goal[0], wanted=goal[1]):
                yield chosen | {edit}
            self._is_complete &= candidates.is_complete and self._values.is_complete

    def _is_kept(self, chosen: frozenset[Edit]) -> bool:
        """Keep edits if they are a repair, or the parts of them that are one."""
        self._limit.check(0, "repair")
        change = self._repairing(chosen)
        if change is None:
            return False
        sizes = range(len(chosen)) if len(chosen) <= _SUBSETS else ()
        for some in (frozenset(some) for size in sizes for some in combinations(sorted(chosen, key=str), size)):
            part = None if self._contains_found(some) else self._repairing(some)
            if part is not None:
                self._keep(some, part)
        if not self._contains_found(chosen):
            self._keep(chosen, change)
        return True

    def _contains_found(self, edits: frozenset[Edit]) -> bool:
        return any(found <= edits for found in self._found)

    def _keep(self, edits: frozenset[Edit], change: Change) -> None:
        asked = {*self._asked.make, *self._asked.unmake}
        names = written_program(self._state.program).names
        self._found[edits] = repair_of(list(edits), self._update(edits), change, asked, self._state.program, names)

    def _repairing(self, edits: frozenset[Edit]) -> Change | None:
        """What edits would change, if they are a repair; that others are not is remembered."""
        if edits in self._failed:
            return None
        change = self._try(edits)
        if change is not None:
            with self._after(change) as state:
                if self._asked.open_in(state) is None:
                    return change
        self._failed.add(edits)
        return None

    def _try(self, edits: frozenset[Edit]) -> Change | None:
        """What edits would change; None if they are refused, because a rule has no value for them, say."""
        with self._limit.heeded("repair"):
            try:
                return self._what_if(self._update(edits))
            except LimitReached:
                self._limit.check(0, "repair")  # or it is a limit of the knowledge base, which refuses them
            except HoldfastError:
                pass
        return None

    @contextmanager
    def _after(self, change: Change) -> Iterator[NearbyFacts]:
        origin = change.origin
        assert isinstance(origin, ChangeOrigin)
        with NearbyFacts(self._state, None, (change.removed, change.added), origin.explicit) as state:
            state.limit = self._limit
            yield state

    def _update(self, edits: Iterable[Edit]) -> Update:
        facts: dict[bool, dict[str, list[Row]]] = {False: {}, True: {}}
        for edit in sorted(edits, key=str):
            name, row = edit.fact
            relation = predicate_of(name, len(row), self._state.program)
            facts[edit.inserts].setdefault(relation, []).append(tuple(map(raw, row)))
        return Update(facts[False], facts[True])

    def _may(self, edit: Edit, chosen: frozenset[Edit], state: NearbyFacts) -> bool:
        name, row = edit.fact
        allowed = self._asked.may_insert if edit.inserts else self._asked.may_delete
        if (
            predicate_of(name, len(row), self._state.program) not in allowed
            or Edit(not edit.inserts, edit.fact) in chosen
        ):
            return False
        return ANY in row or bool(state.explicit([edit.fact])) != edit.inserts
