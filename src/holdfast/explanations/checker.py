"""Checks proofs and certificates of absence against a program and its facts, without trusting their maker.

It shares the reading of programs (parser, components, names, types, strata, conditions as steps in their order) and
what values and functors mean with the rest of holdfast: no engine, no plans, no search, no encoding.  What it cannot
evaluate it rejects.

A proof is a list of inferences, each from conclusions that stand before it.  Negation and aggregates need to know that
there are no more facts than some: `complete` lists patterns with all facts that fit them.  These lists justify each
other: if every rule, run over them, gives nothing that they do not have, the least model has no more than they have.
In a stratified program what a negation or an aggregate asks is decided below it, so the two kinds cannot go in circles.
A fact of a limit relation, with min or max in its heads, is proved by one offer, and by a list that has no better one.
Its list may have better facts than there are, which in its own recursion give more and not less; what other rules find
in it must be proved.
A sum that depends on itself is like a maximum, but that smaller ones, of fewer members, are proved before it as lower
bounds.  Rules of the same recursion may use them, which read the sum only from below.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from holdfast.errors import Diagnostic, ExitCode, HoldfastError
from holdfast.explanations.conditions import Absent, ConditionStep, Each, Gather, Let, Match, Parts, Passes, Way
from holdfast.explanations.scope import bound_in
from holdfast.explanations.terms import NOTHING, NoValue, Terms, aggregated, alike, as_close, passes, spanned, value_of
from holdfast.explanations.written_rules import RuleHead, rules_by_head
from holdfast.language import tree
from holdfast.language.editing import ASSERTED
from holdfast.program.check import check, outline
from holdfast.program.model import Program
from holdfast.values import Row
from holdfast.values.column_types import sniff_rows
from holdfast.values.model import Record

GroundRow: TypeAlias = tuple[Any, ...]
Ground: TypeAlias = tuple[str, GroundRow]
Substitution: TypeAlias = dict[str, Any]
HeadInstance: TypeAlias = tuple[GroundRow, Substitution]
_FREE = None  # in a pattern: any value
_PREMISES = " premises"  # in a substitution: the facts that atoms were matched with


class ProofError(HoldfastError):
    """A proof or a certificate that does not show what it claims."""

    exit_code = ExitCode.CHECK_FAILED


def checked(proof: str | Mapping[str, Any], rules: tree.Program, facts: Mapping[str, Iterable[Row]]) -> str:
    """What a proof or a certificate of absence shows; raises `ProofError` if it does not.

    `facts` are the explicit facts by the names of relations, with values as `kb.explicit` has them.
    """
    try:
        given = json.loads(proof) if isinstance(proof, str) else dict(proof)
        return _Checker(*_typed(rules, facts), given).check()
    except (ValueError, KeyError, TypeError, AttributeError, NoValue, RecursionError) as error:
        raise _rejected(f"it is not a proof that can be checked: {type(error).__name__} {error}") from error
    except HoldfastError as error:
        raise error if isinstance(error, ProofError) else _rejected(error.diagnostics[0].message) from error


def _typed(rules: tree.Program, facts: Mapping[str, Iterable[Row]]) -> tuple[Program, dict[str, list[Row]]]:
    """The program with its types, where facts determine those that are not declared, and the facts by relation."""
    given = {name: [*facts.get(name, ())] for name in outline(rules)}
    hints = {(name, i): type for name, rows in given.items() for i, type in enumerate(sniff_rows(rows))}
    program = check(rules, hints)  # which refuses negation and aggregates in circles
    return program, {name: [*given[name], *program.facts.get(name, ())] for name in given}


def _rejected(why: str) -> ProofError:
    """The error for a proof that is wrong."""
    return ProofError(Diagnostic("E0940", f"the proof is rejected: {why}"))


class _Checker:
    def __init__(self, program: Program, facts: Mapping[str, Sequence[Row]], given: Mapping[str, Any]) -> None:
        self.given, self.terms = given, Terms(program)
        self.rules = rules_by_head(program, self.terms)
        self.evaluator = _Evaluator(self.terms, self._looked_up)
        self.limits = {r.place: r.limit for rules in self.rules.values() for r in rules if r.limit is not None}
        self.circles = {place: rules[0].circle for place, rules in self.rules.items()}
        self.explicit: dict[tuple[str, int], list[GroundRow]] = {place: [] for place in self.terms.places}
        for name, row in ((name.removesuffix(f"/{len(row)}"), row) for name, rows in facts.items() for row in rows):
            self.explicit[name, len(row)].append(tuple(map(value_of, row, self.terms.kinds(name, len(row)))))
        self.complete: dict[Ground, list[GroundRow]] = {}
        self.asked: set[Ground] = set()  # lists that were used
        self.proved: set[Ground] = set()
        self.bounds: set[Ground] = set()  # lower bounds of sums among them
        self.needed: set[Ground] = set()  # conclusions that were used
        self.premises: list[Ground] | None = None  # of the inference that is being checked
        self.absent: set[Ground] = set()  # patterns without facts that a negation or aggregate asked for
        self._indexes: dict[tuple[int, tuple[bool, ...]], dict[GroundRow, list[GroundRow]]] = {}

    def check(self) -> str:
        """What the proof shows."""
        for entry in self.given["complete"]:
            name, pattern = self.terms.fact(entry["pattern"])
            if pattern != self._group(name, pattern):
                raise _rejected(f"{entry['pattern']} is a pattern of what one rule offers, not of the best of a group")
            if (name, pattern) in self.complete or (name, len(pattern)) not in self.rules:
                raise _rejected(f"{entry['pattern']} is listed twice, or is no pattern of a derived relation")
            listed = [self.terms.fact(text, whole=True) for text in entry["facts"]]
            if any(other != name for other, _ in listed):
                raise _rejected(f"{entry['pattern']} has facts of another relation in its list")
            self.complete[name, pattern] = [row for _, row in listed]
        inferences = [(self.terms.fact(i["conclusion"], whole=True), i) for i in self.given["inferences"]]
        for conclusion, inference in inferences:
            self._check_inference(conclusion, inference)
            self.proved.add(conclusion)
        self.premises, self.reader = None, ("", 0)  # no rule reads what follows
        if "absent" in self.given:
            if self._looked_up(*self.terms.fact(self.given["absent"]), exact=False):
                raise _rejected(f"{self.given['absent']} is not absent")
        else:
            final = self.terms.fact(self.given["finalConclusion"], whole=True)
            if not inferences or inferences[-1][0] != final or final in self.bounds:
                raise _rejected("the last conclusion is not the final one, or is a lower bound")
            self.needed.add(final)
        checked: set[Ground] = set()
        while waiting := self.asked - checked:
            for name, pattern in waiting:
                self._check_complete(name, pattern)
            checked |= waiting
        for name, _ in self.needed - self.proved:
            raise _rejected(f"a fact of {name} is counted on, and not proved")
        if checked != self.complete.keys() or self.needed != self.proved:
            raise _rejected("a list or an inference is there that nothing needs")
        return str(self.given.get("absent") or self.given["finalConclusion"])

    def _check_inference(self, conclusion: Ground, inference: Mapping[str, Any]) -> None:
        (name, row), self.reader = conclusion, (conclusion[0], len(conclusion[1]))
        premises = [self.terms.fact(text, whole=True) for text in inference["premises"]]
        if inference["ruleName"] == ASSERTED:
            if premises or not self._explicit(*conclusion):
                raise _rejected(f"{inference['conclusion']} is not a fact that was given")
        elif not self.proved.issuperset(premises):
            raise _rejected(f"a premise of {inference['conclusion']} is not proved before it")
        else:
            self._check_rule(conclusion, premises, inference)
        if self.reader in self.limits and self._all(name, self._group(name, row), False) != [row]:
            if not (inference.get("lowerBound") and any(rule.has_aggregates for rule in self.rules[self.reader])):
                raise _rejected(f"{inference['conclusion']} is not the best of its group")
            self.bounds.add(conclusion)

    def _check_rule(self, conclusion: Ground, premises: list[Ground], inference: Mapping[str, Any]) -> None:
        self.premises, self.absent = premises, set()
        self.needed.update(premises)
        given = {name: self.terms.constant(text) for name, text in inference["substitution"].items()}
        rules = [r for r in self.rules.get(self.reader, ()) if r.name == inference["ruleName"]]
        if not any(inference.get("rule", r.text) == r.text and self._follows(r, conclusion, given) for r in rules):
            raise _rejected(f"{inference['conclusion']} does not follow by {inference['ruleName']}")
        if self.absent != {self.terms.fact(text) for text in inference.get("absent", ())}:
            raise _rejected(f"{inference['conclusion']} rests on the absence of other facts than it says")

    def _follows(self, rule: RuleHead, conclusion: Ground, given: Substitution) -> bool:
        """Whether an instance has just these premises and values; all are looked at, for what they rest on."""
        bounds = {(name, len(row)) for name, row in self.bounds.intersection(self.premises or ())}
        if not (bounds <= rule.circle and given.keys() <= bound_in(rule.body, rule.head_variables)):
            return False
        found = [b for _, b in self.evaluator.instances(rule, conclusion[1], given)]
        return any(set(b.get(_PREMISES, ())) == set(self.premises or ()) and _plain(b) == _plain(given) for b in found)

    def _check_complete(self, name: str, pattern: GroundRow) -> None:
        text, rows = f"the facts listed for a pattern of {name}", self.complete[name, pattern]
        self.reader = (name, len(pattern))
        best = {self._group(name, row): row for row in rows}
        if not all(_fits(row, pattern) for row in rows) or len(best) < len(rows):
            raise _rejected(f"{text} do not fit it, or are not distinct")
        if any(self._lacks(name, best, row) for row in self._explicit(name, pattern)):
            raise _rejected(f"{text} lack one that was given")
        for rule in self.rules[self.reader]:
            for row, _ in self.evaluator.instances(rule, pattern, {}):
                if self._lacks(name, best, row):
                    raise _rejected(f"{text} lack one that {rule.name} derives: {self.terms.text(name, row)}")

    def _group(self, name: str, pattern: GroundRow) -> GroundRow:
        """A pattern; of a limit relation, that of all that may be offered beside it."""
        column, _ = self.limits.get((name, len(pattern)), (None, ""))
        return tuple(_FREE if i == column else value for i, value in enumerate(pattern))

    def _lacks(self, name: str, best: dict[GroundRow, GroundRow], derived: GroundRow) -> bool:
        """Whether complete facts, by their groups, lack one that is derived; of a limit relation, a better one."""
        there = best.get(self._group(name, derived))
        if there is None or (name, len(derived)) not in self.limits:
            return there is None
        column, function = self.limits[name, len(derived)]
        return bool((derived, there)[function == "max"][column] < (derived, there)[function == "min"][column])

    def _looked_up(self, name: str, pattern: GroundRow, exact: bool) -> list[GroundRow]:
        """Premises, in a positive part of an inference; else facts that were given, and lists that are complete."""
        if self.premises is not None and not exact:
            return [row for other, row in self.premises if other == name and _fits(row, pattern)]
        rows = self._all(name, pattern, exact)
        self.absent |= {(name, pattern)} if exact and not rows else set()
        return rows

    def _all(self, name: str, pattern: GroundRow, exact: bool) -> list[GroundRow]:
        place, group = (name, len(pattern)), self._group(name, pattern)
        if place not in self.rules:
            return self._explicit(name, pattern)
        listed = (name, group if (name, group) in self.complete else (_FREE,) * place[1])
        if listed not in self.complete:
            raise _rejected(f"nothing says which facts fit {self.terms.text(name, pattern)}")
        self.asked.add(listed)
        if exact or (place in self.limits and place not in self.circles.get(self.reader, ())):
            self.needed.update((name, row) for row in self._fitting(self.complete[listed], group))
        return self._fitting(self.complete[listed], pattern)

    def _explicit(self, name: str, pattern: GroundRow) -> list[GroundRow]:
        if (name, len(pattern)) not in self.explicit:
            raise _rejected(f"the program has no relation {name} with {len(pattern)} columns")
        return self._fitting(self.explicit[name, len(pattern)], pattern)

    def _fitting(self, rows: list[GroundRow], pattern: GroundRow) -> list[GroundRow]:
        """Those of some facts that fit a pattern, by an index; the lists stay as they are."""
        mask = tuple(value is _FREE for value in pattern)
        if (id(rows), mask) not in self._indexes:
            index = self._indexes[id(rows), mask] = {}
            for row in rows:
                key = tuple(_FREE if free else value for value, free in zip(row, mask, strict=True))
                index.setdefault(key, []).append(row)
        return self._indexes[id(rows), mask].get(pattern, [])


class _Evaluator:
    """Finds the instances of rules: slow and simple, one substitution at a time, facts looked up by a function."""

    def __init__(self, terms: Terms, look: Callable[[str, GroundRow, bool], Iterable[GroundRow]]) -> None:
        self._terms, self._look = terms, look
        self._ways: dict[tuple[RuleHead, frozenset[str]], Sequence[Way]] = {}

    def instances(self, rule: RuleHead, pattern: GroundRow, given: Substitution) -> Iterator[HeadInstance]:
        """The instances of a rule whose heads fit a pattern: the head's values, and the substitution.

        What is `given` must not narrow a group down.
        """
        start = {**({} if rule.has_aggregates else given), **rule.asked(pattern)}
        known = frozenset(start)
        if (rule, known) not in self._ways:
            self._ways[rule, known] = rule.ways(known)
        ways, exact = self._ways[rule, known], rule.is_exact
        found = [b for way in ways for b in self._followed((*way.steps, *way.then), start, exact)]
        for b in _grouped(rule, found) if rule.has_aggregates else found:
            row = tuple(value_of(b[name], kind) for name, kind in zip(rule.columns, rule.kinds, strict=True))
            near = tuple(map(as_close, rule.functions, row, pattern)) if rule.has_aggregates else row
            if _fits(near, pattern):
                yield near, b

    def _followed(self, steps: Iterable[ConditionStep], start: Substitution, exact: bool) -> list[Substitution]:
        """All ways to extend a substitution by some steps; `exact`: over all facts there are, and no others."""
        value, found = self._terms.value, [{**start}]  # steps change what is theirs
        for step in steps:
            match step:
                case Match():
                    found = [new for b in found for new in self._matched(step, b, exact)]
                case Parts(record=name, branch=branch, names=fields):
                    records = [b for b in found if isinstance(b[name], Record) and b[name].branch == branch]
                    found = [b for b in records if len(b[name].fields) == len(fields)]
                    for b in found:
                        b.update(zip(fields, b[name].fields, strict=True))
                case Let(name=name, term=term):
                    for b in found:
                        b[name] = value(term, b)
                    found = [b for b in found if b[name] is not NOTHING]
                case Passes(test=test, terms=terms):
                    found = [b for b in found if passes(test, [value(term, b) for term in terms])]
                case Each(name=name, terms=terms):
                    ends = [(b, [value(term, b) for term in terms]) for b in found]
                    found = [{**b, name: n} for b, e in ends if NOTHING not in e for n in spanned(*alike(e))]
                case Absent():
                    found = [b for b in found if not self._among(step, b)]
                case Gather():
                    found = [new for b in found for new in self._gathered(step, b)]
        return found

    def _among(self, step: Absent | Gather, b: Substitution) -> list[tuple[Way, Substitution]]:
        """What a negation or an aggregate is about; all ways are looked at, for what they ask."""
        seen = {name: b[name] for name in step.sees}
        return [(way, new) for way in step.ways for new in self._followed(way.steps, seen, True)]

    def _matched(self, step: Match, b: Substitution, exact: bool) -> Iterator[Substitution]:
        pattern = tuple(c and value_of(self._terms.value(c[0], b)) for c in step.known)
        for row in self._look(step.relation, pattern, exact) if NOTHING not in pattern else ():
            new = {**b, _PREMISES: (*b.get(_PREMISES, ()), (step.relation, row))}
            new.update([(name, row[i]) for name, i in step.names])
            yield new

    def _gathered(self, step: Gather, b: Substitution) -> Iterator[Substitution]:
        """An aggregate, computed anew over the distinct substitutions of its body."""
        members = {}
        for way, new in self._among(step, b):
            members[_plain(new), step.counts_facts and new.get(_PREMISES)] = self._followed(way.then, new, True)
        ends = [end for some in members.values() for end in some]
        value = self._terms.aggregate(step.term, [end.get(" target", 0) for end in ends], b.get(step.wanted))
        facts = (*b.get(_PREMISES, ()), *(fact for end in ends for fact in end.get(_PREMISES, ())))
        attain = [end for end in ends if end.get(" target") == value] if step.witness else [{}]
        distinct = {_plain(some): some for some in ({n: e[n] for n in step.witness if n in e} for e in attain)}
        for some in distinct.values() if value is not None else ():
            if all(b.get(name, found) == found for name, found in some.items()):
                yield {**b, **some, step.name: value, _PREMISES: facts}


def _grouped(rule: RuleHead, found: Iterable[Substitution]) -> Iterator[Substitution]:
    """The aggregates of a head, computed anew over the distinct substitutions of each group."""
    columns = [*zip(rule.columns, rule.functions, strict=True)]
    groups: dict[GroundRow, list[Substitution]] = {}
    for b in found:
        groups.setdefault(tuple(b[name] for name, function in columns if not function), []).append(b)
    for members in groups.values():
        distinct = {_plain(b): b for b in members}.values()
        new = {n: v for n, v in members[0].items() if all(n in b and b[n] == v for b in members)}
        for name, function in (each for each in columns if each[1]):
            new[name] = aggregated(function, [b[name] for b in distinct])
            if rule.limit is not None and function == "sum" and min(b[name] for b in distinct) < 0:
                raise _rejected(f"{rule.name} adds up a negative number in its own recursion")
        yield {**new, _PREMISES: tuple(fact for b in members for fact in b.get(_PREMISES, ()))}


def _plain(b: Substitution) -> frozenset[tuple[str, Any]]:
    """What a substitution says of variables."""
    return frozenset((name, value) for name, value in b.items() if not name.startswith(" "))


def _fits(row: GroundRow, pattern: GroundRow) -> bool:
    """Whether a fact has the values that a pattern asks for, and as many."""
    return len(row) == len(pattern) and all(w is _FREE or v == w for v, w in zip(row, pattern, strict=True))
