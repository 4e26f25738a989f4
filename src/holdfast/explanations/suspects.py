"""The likeliest mistakes because of which a fact does not hold, the likeliest first.

The edits of one explicit fact that would make it hold come from `Candidates`.  What the facts look like ranks them: a
condition that alone stands in the way, a fact whose value looks misspelt, columns that look swapped, a value of which
a relation that has one row for each value has none.  These are guesses, and they are shown as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations, islice
from typing import Any, TypeAlias

from holdfast.errors import LimitReached
from holdfast.explanations.absence import COMPARISON, likeness, nearest_facts
from holdfast.explanations.candidates import VAGUE, Candidates, Edit, is_editable
from holdfast.explanations.matching import ANY, Binding, Fact, FactPattern, Matcher, fits
from holdfast.explanations.scope import bindable
from holdfast.explanations.search import SearchLimit
from holdfast.explanations.terms import NoValue, fact_text, text_of
from holdfast.explanations.written_rules import RuleHead
from holdfast.language import tree
from holdfast.language.printer import show_formula
from holdfast.language.syntax import variables
from holdfast.quick_dataclass import dataclass
from holdfast.values import Iri

SHOWN = 3
"""Facts that one suspect names."""
_MOST = 5  # suspects
_MANY = 5_000  # facts of a relation, where each step is dear
_STEPS, _FEW_STEPS = 200, 25  # on the way to the goal
_EDITS = 200
_COMPARED = 500  # facts with which one is compared
_VALUES = 8  # of one column, of facts that are shown together
_DIGITS = re.compile("[0-9]+")
_ALIKE = 0.8  # of two spellings that may be meant for one another


@dataclass(frozen=True, eq=False)
class Suspect:
    """A likely mistake: in what way, in words, the facts that would help, and those that look wrong."""

    kind: str
    text: str
    missing: tuple[Fact, ...] = ()
    there: tuple[Fact, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For `to_json`; facts are texts."""
        return {
            "kind": self.kind,
            "text": self.text,
            "missing": list(map(fact_text, self.missing)),
            "there": list(map(fact_text, self.there)),
        }


_Found: TypeAlias = tuple[Suspect, list[Fact]]  # and the wanted facts that it speaks of


class SuspectSource(Matcher):
    """Facts, and what they look like."""

    def is_given(self, name: str, arity: int) -> bool:
        """Whether facts of a relation are given, not only derived."""
        raise NotImplementedError

    def keys(self, name: str, arity: int) -> frozenset[int]:
        """The columns in which explicit facts hardly ever share a value."""
        raise NotImplementedError

    def are_joined(self, name: str, arity: int, one: int, other: int) -> bool:
        """Whether rules connect two columns, so that they have values of one kind."""
        raise NotImplementedError

    def is_only_end(self, name: str, arity: int, place: int, value: Any) -> bool:
        """Whether a value is the one end of a hierarchy, such as the root of a tree."""
        raise NotImplementedError

    def occurs(self, name: str, arity: int, place: int, value: Any) -> int:
        """How many explicit facts have a value in a column, or in one that rules connect with it; may stop at 2."""
        raise NotImplementedError


class _Steps(SearchLimit):
    """A limit that counts: an answer does not depend on how fast a machine is."""

    def __init__(self, steps: int) -> None:
        super().__init__(None, None)
        self._left = steps

    def check(self, size: int, what: str) -> None:
        """Raise if it is reached."""
        self._left -= 1
        if self._left < 0:
            raise self.reached(what)


def suspects(source: SuspectSource, goal: Fact) -> tuple[Suspect, ...]:
    """The likeliest mistakes because of which a fact does not hold; those that are found in time."""
    found: list[Suspect] = []
    with suppress(LimitReached):
        for suspect in islice(_Hunt(source).of(goal), _MOST):
            found.append(suspect)  # noqa: PERF402  what was found stays when time is over
    return tuple(found)


class _Hunt:
    """The suspects of one goal."""

    def __init__(self, source: SuspectSource) -> None:
        self._source = source
        self._failing: dict[str, Suspect] = {}

    def of(self, goal: Fact) -> Iterator[Suspect]:
        """The likeliest first; a fact that would help is named once."""
        edits = list(self._edits(goal))
        wanted = _most_general(list(dict.fromkeys(edit.fact for edit in edits if edit.inserts)))
        blocking = [edit.fact for edit in edits if not edit.inserts]
        if blocking:
            stands = "hold and stand" if len(blocking) > 1 else "holds and stands"
            text = f"{_some(blocking)} {stands} in the way"
            yield Suspect("blocks", text, there=tuple(blocking[:SHOWN]))
        yield from self._failing.values()
        for look in (
            self._misspelt,
            self._swapped,
            self._doubled,
            self._absent_keys,
            self._plain,
            self._instead,
            self._ends,
            self._rest,
        ):
            for suspect, used in look(wanted):
                yield suspect
                wanted = [fact for fact in wanted if fact not in used]

    def _edits(self, goal: Fact) -> Iterator[Edit]:
        """The edits that need the fewest others beside them."""
        steps = _STEPS if self._source.size(goal[0], len(goal[1])) <= _MANY else _FEW_STEPS
        candidates = Candidates(self._source, self._may, lambda *_: (ANY,), _Steps(steps), self._look_at)
        openness: int | None = None
        try:
            for edit in islice(candidates.toward(goal, wanted=True), _EDITS):
                if candidates.openness >= VAGUE or (openness is not None and candidates.openness > openness):
                    return
                openness = candidates.openness
                yield edit
        except (LimitReached, NoValue):
            return  # what was found is as good as it was

    def _may(self, edit: Edit) -> bool:
        name, row = edit.fact
        if not self._source.is_given(name, len(row)):
            return False
        if ANY in row:
            return True
        return not self._source.facts(name, [row])[0] if edit.inserts else bool(self._source.given([edit.fact]))

    # --- conditions that no fact can change ------------------------------------------------------------

    def _look_at(self, rule: RuleHead, items: Sequence[tree.Formula], start: Binding) -> None:
        """A comparison that fails where everything else holds."""
        written, around = (item for item in items if not is_editable(item)), bindable(items)
        for item in (item for item in written if not any(name.startswith(" ") for name in variables(item))):
            others = [other for other in items if other is not item]
            b = self._first(others, start, around)
            if b is not None and variables(item) <= b.keys() and not self._holds(item, b, around):
                values = ", ".join(f"{name} = {text_of(b[name])}" for name in sorted(variables(item)))
                fails = f"which fails with {values}" if values else "which never holds"
                text = f"{rule.name} requires {show_formula(item)}, {fails}"
                self._failing.setdefault(text, Suspect("fails", text))

    def _first(self, items: Sequence[tree.Formula], start: Binding, around: frozenset[str]) -> Binding | None:
        """The first way in which conditions hold."""
        if not items:
            return start
        try:
            found = self._source.solve(items, [start], around, frozenset().union(*map(variables, items)))
        except NoValue:
            return None
        return next(iter(self._source.bindings_in_order(found) if len(found) <= _COMPARED else found), None)

    def _holds(self, item: tree.Formula, b: Binding, around: frozenset[str]) -> bool:
        try:
            return bool(self._source.solve([item], [b], around, frozenset()))
        except NoValue:
            return True  # nothing can be said of it

    # --- facts that would help -------------------------------------------------------------------------

    def _misspelt(self, wanted: list[Fact]) -> Iterator[_Found]:
        """A fact with a value that resembles the wanted one and occurs nowhere else."""
        found: dict[Fact, tuple[float, Fact]] = {}
        for name, row in wanted:
            for place, other in self._beside((name, row)):
                alike = _same_word(other[place], row[place])
                known = found[name, other][0] if (name, other) in found else _ALIKE
                if alike >= known and self._source.occurs(name, len(row), place, other[place]) < 2:
                    found[name, other] = (alike, (name, row))
        ranked = sorted(found, key=lambda fact: (-found[fact][0], str(fact)))[:SHOWN]
        for fact in ranked[:1]:
            text = f"{_some(ranked)} may be misspelt: {fact_text(found[fact][1])} would do"
            yield Suspect("misspelt", text, (found[fact][1],), tuple(ranked)), [found[fact][1]]

    def _beside(self, fact: Fact) -> Iterator[tuple[int, FactPattern]]:
        """The facts that differ from one in one column of text, with the column."""
        for place, wider in _widened(fact):
            for other in self._source.some_facts(fact[0], wider, _COMPARED):
                self._source.tick(COMPARISON)
                yield place, other

    def _absent_keys(self, wanted: list[Fact]) -> Iterator[_Found]:
        """A value of which a relation says nothing, though it says something once of others."""
        yield from self._without_key(wanted, lambda *place: not self._source.is_only_end(*place))

    def _ends(self, wanted: list[Fact]) -> Iterator[_Found]:
        """The same where some value has to be the last: the root of a tree."""
        yield from self._without_key(wanted, lambda *_: True)

    def _without_key(self, wanted: list[Fact], is_odd: Callable[[str, int, int, Any], bool]) -> Iterator[_Found]:
        groups: dict[Fact, list[Fact]] = {}
        for name, row in wanted:
            for place, pattern in self._by_key((name, row)):
                if not self._source.facts(name, [pattern])[0] and is_odd(name, len(row), place, row[place]):
                    groups.setdefault((name, pattern), []).append((name, row))
        for pattern, facts in groups.items():
            more = [fact for fact in facts if fact != pattern]
            does = f"; {_some(more, 'or')} would do" if more else ""
            yield Suspect("missing", f"there is no {fact_text(pattern)}{does}", (pattern, *more[:SHOWN])), facts

    def _by_key(self, fact: Fact) -> Iterator[tuple[int, FactPattern]]:
        """What shares a fact's value in a key, with the column."""
        name, row = fact
        for place in self._source.keys(name, len(row)):
            if row[place] is not ANY:
                yield place, tuple(value if i == place else ANY for i, value in enumerate(row))

    def _swapped(self, wanted: list[Fact]) -> Iterator[_Found]:
        """A fact with the same values in other columns, where it does not look right."""
        turned = {other: (fact, i, j) for fact in wanted for other, i, j in _turned(fact)}
        whole = self._source.given(other for other in turned if ANY not in other[1])
        for (name, row), (fact, i, j) in turned.items():
            rows = [row] if (name, row) in whole else []
            if ANY in row:
                rows = self._source.some_facts(name, row, _COMPARED)
            for swapped in ((name, row) for row in rows if self._is_odd((name, row), i, j)):
                text = f"{fact_text(swapped)} may have its values in the wrong columns: {fact_text(fact)} would do"
                yield Suspect("swapped", text, (fact,), (swapped,)), [fact]

    def _doubled(self, wanted: list[Fact]) -> Iterator[_Found]:
        """A fact that should have another value where its own is twice and others are once."""
        found: dict[Fact, Fact] = {}
        for name, row in wanted:
            for place, _ in self._by_key((name, row)):
                wider = (*row[:place], ANY, *row[place + 1 :])
                others = self._source.some_facts(name, wider, _COMPARED)
                for other in (other for other in others if other[place] != row[place]):
                    key = tuple(value if i == place else ANY for i, value in enumerate(other))
                    if len(self._source.facts(name, [key])[0]) > 1:
                        found.setdefault((name, other), (name, row))
        if found:
            there, helps = list(found)[:SHOWN], list(dict.fromkeys(found.values()))
            text = f"{_some(there)} may be wrong: {_some(helps, 'or')} instead would do"
            yield Suspect("instead", text, tuple(helps[:SHOWN]), tuple(there)), helps

    def _is_odd(self, fact: Fact, i: int, j: int) -> bool:
        """Whether two columns have values of different kinds, or a value is twice in one where others are once."""
        name, row = fact
        if not self._source.are_joined(name, len(row), i, j):
            return True
        return any(len(self._source.facts(name, [pattern])[0]) > 1 for _, pattern in self._by_key(fact))

    def _plain(self, wanted: list[Fact]) -> Iterator[_Found]:
        """Facts that are missing, of relations that may have any number of them for a value."""
        yield from self._rest([fact for fact in wanted if not self._source.keys(fact[0], len(fact[1]))])

    def _rest(self, wanted: list[Fact]) -> Iterator[_Found]:
        """Facts that are missing; of a pattern that has facts, another one is."""
        groups = _by_relation(fact for fact in wanted if not self._source.facts(fact[0], [fact[1]])[0])
        for group in sorted(groups, key=lambda group: ANY in group[0][1]):  # what is known in whole says more
            near = nearest_facts(self._source, group[0][0], [row for _, row in group[:SHOWN]])
            also = f"; nearest: {', '.join(map(fact_text, near))}" if near else ""
            shown, named = _together(group)
            yield Suspect("missing", f"there is no {shown}{also}", named, near), group

    def _instead(self, wanted: list[Fact]) -> Iterator[_Found]:
        """A fact that has the one place which another would need."""
        for group in _by_relation(wanted):
            found: dict[Fact, Fact] = {}
            for name, row in group:
                for pattern in (row, *(pattern for _, pattern in self._by_key((name, row)))):
                    rows = self._source.facts(name, [pattern])[0]
                    for other in self._source.in_order(rows) if len(rows) <= _COMPARED else rows:
                        found.setdefault((name, other), (name, row))
            if found:
                there, helps = list(found)[:SHOWN], list(dict.fromkeys(found.values()))[:SHOWN]
                text = f"{_some(there)} may be wrong: {_some(helps, 'or')} instead would do"
                yield Suspect("instead", text, tuple(helps), tuple(there)), group


def _widened(fact: Fact) -> Iterator[tuple[int, FactPattern]]:
    row = fact[1]
    for place, value in enumerate(row):
        if isinstance(value, str | Iri):
            yield place, (*row[:place], ANY, *row[place + 1 :])


def _turned(fact: Fact) -> Iterator[tuple[Fact, int, int]]:
    """The facts with two columns exchanged, and these."""
    known = [place for place, value in enumerate(fact[1]) if value is not ANY]
    for i, j in (pair for pair in combinations(known, 2) if fact[1][pair[0]] != fact[1][pair[1]]):
        row = list(fact[1])
        row[i], row[j] = row[j], row[i]
        yield (fact[0], tuple(row)), i, j


def _same_word(one: Any, other: Any) -> float:
    """How much two values resemble each other; those that differ in their digits only are numbered, not misspelt.

    Values that differ in case, spaces and punctuation only, or by two exchanged letters, are one word.
    """
    words = [re.split("[/#]", value.value)[-1] if isinstance(value, Iri) else str(value) for value in (one, other)]
    letters = ["".join(filter(str.isalnum, word)).casefold() for word in words]
    if letters[0] == letters[1] != "" and words[0] != words[1]:
        return 1.0
    plain = [_DIGITS.sub("", word) for word in words]
    if plain[0] == plain[1]:
        return 0.0
    return max(likeness(*words), _ALIKE if _are_exchanged(*letters) else 0.0)


def _are_exchanged(one: str, other: str) -> bool:
    """Whether two words differ by two neighbouring letters in the other order."""
    apart = [place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if len(one) != len(other) or len(apart) != 2 or apart[1] != apart[0] + 1:
        return False
    return (one[apart[0]], one[apart[1]]) == (other[apart[1]], other[apart[0]])


def _together(facts: Sequence[Fact]) -> tuple[str, tuple[Fact, ...]]:
    """Facts of one relation; where they are many, those that differ in one column together, with its values."""
    if len(facts) <= SHOWN:
        return _some(facts, "or"), tuple(facts)
    name, width = facts[0][0], len(facts[0][1])
    ways: list[dict[FactPattern, list[Fact]]] = []
    for place in range(width):
        ways.append({})
        for fact in facts:
            rest = (*fact[1][:place], ANY, *fact[1][place + 1 :])
            ways[-1].setdefault(rest, []).append(fact)
    place = min(range(width), key=lambda place: len(ways[place]))
    shown = list(ways[place].items())[:SHOWN]
    texts = []
    for pattern, some in shown:
        values = ["_" if row[place] is ANY else text_of(row[place]) for _, row in some[:_VALUES]]
        values += [f"{len(some) - _VALUES:,} more"] if len(some) > _VALUES else []
        columns = ["_" if value is ANY else text_of(value) for value in pattern]
        columns[place] = " or ".join(values)
        texts.append(f"{fact_text((name, ())).removesuffix('()')}({', '.join(columns)})")
    more = f", and {len(ways[place]) - SHOWN:,} more" if len(ways[place]) > SHOWN else ""
    return ", no ".join(texts) + more, tuple(fact for _, some in shown for fact in some[:_VALUES])


def _most_general(facts: list[Fact]) -> list[Fact]:
    """Without facts that fit a pattern among them."""
    wide = [fact for fact in facts if ANY in fact[1]]
    return [
        fact
        for fact in facts
        if not any(fact is not other and fact[0] == other[0] and fits(fact[1], other[1]) for other in wide)
    ]


def _by_relation(facts: Iterable[Fact]) -> list[list[Fact]]:
    groups: dict[tuple[str, int], list[Fact]] = {}
    for name, row in facts:
        groups.setdefault((name, len(row)), []).append((name, row))
    return list(groups.values())


def _some(facts: Sequence[Fact], word: str = "and") -> str:
    """The first few facts."""
    texts, more = [fact_text(fact) for fact in facts[:SHOWN]], len(facts) - SHOWN
    if more > 0:
        return f"{', '.join(texts)} {word} {more:,} more"
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {word} {texts[-1]}"
