"""Checks proofs and certificates of absence against a program and its facts, without trusting their maker.

It shares the reading of programs (parser, components, names, types, strata, the scopes of variables) and what values
and functors mean with the rest of holdfast: no engine, no plans, no search, no encoding.  What it cannot evaluate it
rejects.

A proof is a list of inferences, each from conclusions that stand before it.  Negation and aggregates need to know that
there are no more facts than some: `complete` lists patterns with all facts that fit them.  These lists justify each
other: if every rule, run over them, gives nothing that they do not have, the least model has no more than they have.
In a stratified program what a negation or an aggregate asks is decided below it, so the two kinds cannot go in circles.
A fact of a limit relation, with min or max in its heads, is proved by one offer, and by a list that has no better one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holdfast.errors import Diagnostic, ExitCode, HoldfastError
from holdfast.explanations.checked_rules import (
    FREE,
    PREMISES,
    Ground,
    GroundRow,
    RuleEvaluator,
    Substitution,
    fits,
    plain,
)
from holdfast.explanations.scope import bound_in
from holdfast.explanations.terms import NoValue, Terms, alike, value_of
from holdfast.explanations.written_rules import RuleHead, written_rules
from holdfast.language import parse, tree
from holdfast.program.check import check, outline
from holdfast.program.model import Program
from holdfast.values import Row
from holdfast.values.column_types import sniff_rows

ASSERTED = "Asserted"
"""The name of the rule of facts that were given."""


class ProofError(HoldfastError):
    """A proof or a certificate that does not show what it claims."""

    exit_code = ExitCode.CHECK_FAILED


def check_proof(proof: str | Mapping[str, Any], program: str | tree.Program, facts: Mapping[str, Iterable[Row]]) -> str:
    """Check a proof or a certificate of absence, as `to_json()` returns it.  Returns the fact, or raises `ProofError`.

    `program` is the text of the rules (`kb.rules_text()`), `facts` are the explicit facts by relation.
    """
    try:
        given = json.loads(proof) if isinstance(proof, str) else dict(proof)
        rules = parse(program, "<program>") if isinstance(program, str) else program
        return _Checker(*_typed(rules, facts), given).check()
    except (ValueError, KeyError, TypeError, AttributeError, NoValue, RecursionError) as error:
        raise rejected(f"it is not a proof that can be checked: {type(error).__name__} {error}") from error
    except HoldfastError as error:
        raise error if isinstance(error, ProofError) else rejected(error.diagnostics[0].message) from error


def _typed(rules: tree.Program, facts: Mapping[str, Iterable[Row]]) -> tuple[Program, dict[str, list[Row]]]:
    """The program with its types, where facts determine those that are not declared, and the facts by relation."""
    given: dict[str, list[Row]] = {}
    for name, relation in outline(rules).items():
        called = {name, relation.display}
        given[name] = [row for key in called for row in facts.get(key, ()) if len(row) == relation.arity]
    hints = {(name, i): type for name, rows in given.items() for i, type in enumerate(sniff_rows(rows))}
    program = check(rules, hints)  # which refuses negation and aggregates in circles
    if any(node.sums for node in program.nodes):
        raise rejected("a sum or count depends on itself")
    return program, {name: [*given[name], *program.facts.get(name, ())] for name in given}


def rejected(why: str) -> ProofError:
    """The error for a proof that is wrong."""
    return ProofError(Diagnostic("E0940", f"the proof is rejected: {why}"))


class _Checker:
    def __init__(self, program: Program, facts: Mapping[str, Sequence[Row]], given: Mapping[str, Any]) -> None:
        self.given, self.terms = given, Terms(program)
        self.evaluator = RuleEvaluator(self.terms, self._looked_up)
        self.rules: dict[tuple[str, int], list[RuleHead]] = {}
        self.limits: dict[tuple[str, int], tuple[int, str]] = {}
        for rule in written_rules(program, self.terms):
            place = self.terms.relation(rule.head.name), len(rule.head.arguments)
            self.rules.setdefault(place, []).append(rule)
            self.limits |= {place: rule.limit} if rule.limit is not None else {}
        named = ((name.removesuffix(f"/{len(row)}"), row) for name, rows in facts.items() for row in rows)
        self.explicit: dict[tuple[str, int], list[GroundRow]] = {}
        for name, row in {(name, tuple(map(value_of, row, self.terms.kinds(name, len(row))))) for name, row in named}:
            self.explicit.setdefault((name, len(row)), []).append(row)
        self.complete: dict[Ground, list[GroundRow]] = {}
        self.asked: set[Ground] = set()  # lists that were used
        self.proved: set[Ground] = set()
        self.needed: set[Ground] = set()  # conclusions that were used
        self.premises: list[Ground] | None = None  # of the inference that is being checked
        self.absent: set[Ground] = set()  # patterns without facts that a negation or aggregate asked for
        self._indexes: dict[tuple[int, tuple[bool, ...]], dict[GroundRow, list[GroundRow]]] = {}

    def check(self) -> str:
        """What the proof shows."""
        for entry in self.given["complete"]:
            name, pattern = self.terms.fact(entry["pattern"])
            if pattern != self._group(name, pattern):
                raise rejected(f"{entry['pattern']} is a pattern of what one rule offers, not of the best of a group")
            if (name, pattern) in self.complete or (name, len(pattern)) not in self.rules:
                raise rejected(f"{entry['pattern']} is listed twice, or is no pattern of a derived relation")
            self.complete[name, pattern] = [self.terms.fact(text, whole=True)[1] for text in entry["facts"]]
        inferences = [(self.terms.fact(i["conclusion"], whole=True), i) for i in self.given["inferences"]]
        self.conclusions = {conclusion for conclusion, _ in inferences}
        for conclusion, inference in inferences:
            self._check_inference(conclusion, inference)
            self.proved.add(conclusion)
        self.premises = None
        if "absent" in self.given:
            if self._looked_up(*self.terms.fact(self.given["absent"]), exact=False):
                raise rejected(f"{self.given['absent']} is not absent")
        elif not inferences or inferences[-1][0] != self.terms.fact(self.given["finalConclusion"], whole=True):
            raise rejected("the last conclusion is not the final one")
        else:
            self.needed.add(inferences[-1][0])
        checked: set[Ground] = set()
        while waiting := self.asked - checked:
            for name, pattern in waiting:
                self._check_complete(name, pattern)
            checked |= waiting
        if checked != self.complete.keys() or self.needed != self.conclusions:
            raise rejected("a list or an inference is there that nothing needs")
        return str(self.given.get("absent") or self.given["finalConclusion"])

    def _check_inference(self, conclusion: Ground, inference: Mapping[str, Any]) -> None:
        name, row = conclusion
        premises = [self.terms.fact(text, whole=True) for text in inference["premises"]]
        if inference["ruleName"] == ASSERTED:
            if premises or not self._explicit(*conclusion):
                raise rejected(f"{inference['conclusion']} is not a fact that was given")
        elif not self.proved.issuperset(premises):
            raise rejected(f"a premise of {inference['conclusion']} is not proved before it")
        else:
            self._check_rule(conclusion, premises, inference)
        if (name, len(row)) in self.limits and self._all(name, self._group(name, row), False) != [row]:
            raise rejected(f"{inference['conclusion']} is not the best of its group")

    def _check_rule(self, conclusion: Ground, premises: list[Ground], inference: Mapping[str, Any]) -> None:
        self.premises, self.absent = premises, set()
        self.needed.update(premises)
        given = {name: self.terms.constant(text) for name, text in inference["substitution"].items()}
        rules = self.rules.get((conclusion[0], len(conclusion[1])), ())
        if not any(r.name == inference["ruleName"] and self._follows(r, conclusion, given) for r in rules):
            raise rejected(f"{inference['conclusion']} does not follow by {inference['ruleName']}")
        if self.absent != {self.terms.fact(text) for text in inference.get("absent", ())}:
            raise rejected(f"{inference['conclusion']} rests on the absence of other facts than it says")

    def _follows(self, rule: RuleHead, conclusion: Ground, given: Substitution) -> bool:
        """Whether an instance has just these premises and values; all are looked at, for what they rest on."""
        if not given.keys() <= bound_in(rule.body, rule.head_variables):
            return False
        found = [b for _, b in self.evaluator.instances(rule, conclusion[1], given)]
        return any(set(b.get(PREMISES, ())) == set(self.premises or ()) and plain(b) == plain(given) for b in found)

    def _check_complete(self, name: str, pattern: GroundRow) -> None:
        text, rows = f"the facts listed for a pattern of {name}", self.complete[name, pattern]
        best = {self._group(name, row): row for row in rows}
        if not all(fits(row, pattern) for row in rows) or len(best) < len(rows):
            raise rejected(f"{text} do not fit it, or are not distinct")
        if any(self._lacks(name, best, row) for row in self._explicit(name, pattern)):
            raise rejected(f"{text} lack one that was given")
        for rule in self.rules[name, len(pattern)]:
            for row, _ in self.evaluator.instances(rule, pattern, {}):
                if self._lacks(name, best, row):
                    raise rejected(f"{text} lack one that {rule.name} derives: {row}")

    def _group(self, name: str, pattern: GroundRow) -> GroundRow:
        """A pattern; of a limit relation, that of all that may be offered beside it."""
        column, _ = self.limits.get((name, len(pattern)), (None, ""))
        return tuple(FREE if i == column else value for i, value in enumerate(pattern))

    def _lacks(self, name: str, best: dict[GroundRow, GroundRow], derived: GroundRow) -> bool:
        """Whether complete facts, by their groups, lack one that is derived; of a limit relation, a better one."""
        there = best.get(self._group(name, derived))
        if there is None or (name, len(derived)) not in self.limits:
            return there is None
        column, function = self.limits[name, len(derived)]
        mine, other = alike([there[column], derived[column]])
        return bool(other < mine if function == "min" else other > mine)

    def _looked_up(self, name: str, pattern: GroundRow, exact: bool) -> list[GroundRow]:
        """Premises, in a positive part of an inference; else facts that were given, and lists that are complete."""
        if self.premises is not None and not exact:
            return [row for other, row in self.premises if other == name and fits(row, pattern)]
        rows = self._all(name, pattern, exact)
        if exact and not rows:
            self.absent.add((name, pattern))
        return rows

    def _all(self, name: str, pattern: GroundRow, exact: bool) -> list[GroundRow]:
        if (name, len(pattern)) not in self.rules:
            return self._explicit(name, pattern)
        group = self._group(name, pattern)
        listed = (name, group if (name, group) in self.complete else (FREE,) * len(pattern))
        if listed not in self.complete:
            raise rejected(f"nothing says which facts of {name} there are with {pattern}")
        self.asked.add(listed)
        rows = self._fitting(self.complete[listed], pattern)
        if exact:
            self.needed.update((name, row) for row in rows)
            if not self.conclusions.issuperset((name, row) for row in rows):
                raise rejected(f"a fact of {name} is counted on, and not proved")
        return rows

    def _explicit(self, name: str, pattern: GroundRow) -> list[GroundRow]:
        return self._fitting(self.explicit.setdefault((name, len(pattern)), []), pattern)

    def _fitting(self, rows: list[GroundRow], pattern: GroundRow) -> list[GroundRow]:
        """Those of some facts that fit a pattern, by an index; the lists stay as they are."""
        mask = tuple(value is FREE for value in pattern)
        if (id(rows), mask) not in self._indexes:
            index = self._indexes[id(rows), mask] = {}
            for row in rows:
                key = tuple(FREE if free else value for value, free in zip(row, mask, strict=True))
                index.setdefault(key, []).append(row)
        return self._indexes[id(rows), mask].get(pattern, [])
