"""Checks proofs and certificates of absence against a program and its facts, without trusting their maker.

It shares the parser, the expansion of components and the classes of values with the rest of holdfast: no engine, no
plans, no types, no encoding.  What it cannot evaluate it rejects.

A proof is a list of inferences, each from conclusions that stand before it.  Negation and aggregates need to know that
there are no more facts than some: `complete` lists patterns with all facts that fit them.  These lists justify each
other: if every rule, run over them, gives nothing that they do not have, the least model has no more than they have.
In a stratified program what a negation or an aggregate asks is decided below it, so the two kinds cannot go in circles.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holdfast.errors import Diagnostic, ExitCode, HoldfastError
from holdfast.explanations.matching import ANY, USED, Binding, Fact, FactPattern, Matcher, RuleHead, fits
from holdfast.explanations.scope import children, variables
from holdfast.explanations.terms import NoValue, value_of
from holdfast.language import parse, parse_body, tree
from holdfast.values import Row

ASSERTED = "Asserted"
"""The name of the rule of facts that were given."""
_WRONG = "E0940"


class ProofError(HoldfastError):
    """A proof or a certificate that does not show what it claims."""

    exit_code = ExitCode.CHECK_FAILED


def check_proof(proof: str | Mapping[str, Any], program: str | tree.Program, facts: Mapping[str, Iterable[Row]]) -> str:
    """Check a proof, or a certificate of absence, as `to_json()` gives it; gives what it shows, or raises `ProofError`.

    `program` is the text of the rules (`kb.rules_text()`), `facts` are the explicit facts by relation.
    """
    try:
        given = json.loads(proof) if isinstance(proof, str) else dict(proof)
        rules = parse(program, "<program>") if isinstance(program, str) else program
        return _Checker(rules, facts, given).check()
    except (ValueError, KeyError, TypeError, AttributeError, NoValue, RecursionError) as error:
        raise rejected(f"it is not a proof that can be checked: {type(error).__name__} {error}") from error
    except HoldfastError as error:
        raise error if isinstance(error, ProofError) else rejected(error.diagnostics[0].message) from error


def rejected(why: str) -> ProofError:
    """The error for a proof that is wrong."""
    return ProofError(Diagnostic(_WRONG, f"the proof is rejected: {why}"))


class _Checker(Matcher):
    def __init__(self, program: tree.Program, facts: Mapping[str, Iterable[Row]], given: Mapping[str, Any]) -> None:
        super().__init__(program)
        self.given, self.proved = given, set[Fact]()
        self.explicit: dict[str, list[FactPattern]] = {}
        written = {name for rule in self.rules for name, _ in self._reads(rule.body, False)}
        written |= {name for name, _ in self.heads} | self.columns.keys()
        given_facts = {(n, self._row(n, row)) for n, rows in facts.items() for row in rows}
        for name, row in self.asserted | given_facts:
            plain = name if name in written else name.removesuffix(f"/{len(row)}")  # of relations that share a name
            self.explicit.setdefault(plain, []).append(row)
        self._indexes: dict[tuple[str, tuple[bool, ...]], dict[FactPattern, list[FactPattern]]] = {}
        self.premises: list[Fact] | None = None  # of the inference that is being checked
        self.complete: dict[Fact, list[FactPattern]] = {}
        self.asked: set[Fact] = set()
        self.needed: set[Fact] = set()  # conclusions
        self.absent: set[Fact] = set()  # patterns without facts that a negation or aggregate asked for

    def _row(self, name: str, row: Sequence[Any]) -> FactPattern:
        kinds = self.columns.get(name) or self.columns.get(f"<{name}>") or [""] * len(row)
        return tuple(map(value_of, row, kinds))

    def check(self) -> str:
        """What the proof shows."""
        self._check_strata()
        for entry in self.given["complete"]:
            pattern = self.fact(entry["pattern"])
            if pattern in self.complete or (pattern[0], len(pattern[1])) not in self.heads:
                raise rejected(f"{entry['pattern']} is listed twice, or is no pattern of a derived relation")
            self.complete[pattern] = [self.fact(text, whole=True)[1] for text in entry["facts"]]
        inferences = [(self.fact(i["conclusion"], whole=True), i) for i in self.given["inferences"]]
        self.conclusions = {conclusion for conclusion, _ in inferences}
        for conclusion, inference in inferences:
            self._check_inference(conclusion, inference)
            self.proved.add(conclusion)
        if "absent" in self.given:
            goal = self.fact(self.given["absent"])
            self.premises = None
            if any(self.lookup(goal[0], [goal[1]], exact=False)[0]):
                raise rejected(f"{self.given['absent']} is not absent")
        elif not inferences or inferences[-1][0] != self.fact(self.given["finalConclusion"], whole=True):
            raise rejected("the last conclusion is not the final one")
        else:
            self.needed.add(inferences[-1][0])
        checked: set[Fact] = set()
        while waiting := self.asked - checked:
            for name, pattern in waiting:
                self._check_complete(name, pattern, self.complete[name, pattern])
            checked |= waiting
        if checked != self.complete.keys() or self.needed != self.conclusions:
            raise rejected("a list or an inference is there that nothing needs")
        return str(self.given.get("absent") or self.given["finalConclusion"])

    def _check_inference(self, conclusion: Fact, inference: Mapping[str, Any]) -> None:
        premises = [self.fact(text, whole=True) for text in inference["premises"]]
        if inference["ruleName"] == ASSERTED:
            if premises or not self._explicit(*conclusion):
                raise rejected(f"{inference['conclusion']} is not a fact that was given")
            return
        if not self.proved.issuperset(premises):
            raise rejected(f"a premise of {inference['conclusion']} is not proved before it")
        self.premises, self.absent = premises, set()
        self.needed.update(premises)
        given = {name: self.value(_term(text), {}) for name, text in inference["substitution"].items()}
        for rule in self.heads.get((conclusion[0], len(conclusion[1])), ()):
            if rule.name == inference["ruleName"] and self._follows(rule, conclusion, given):
                if self.absent != {self.fact(text) for text in inference.get("absent", ())}:
                    raise rejected(f"{inference['conclusion']} rests on the absence of other facts than it says")
                return
        raise rejected(f"{inference['conclusion']} does not follow by {inference['ruleName']}")

    def _follows(self, rule: RuleHead, conclusion: Fact, given: Binding) -> bool:
        found = list(self.instances(rule, [(conclusion[1], given)]))
        return any(set(b.get(USED, ())) == set(self.premises or ()) and _plain(b) == given for _, _, b in found)

    def _check_complete(self, name: str, pattern: FactPattern, rows: list[FactPattern]) -> None:
        self.premises = None
        text = f"the facts listed for a pattern of {name}"
        if not all(fits(row, pattern) for row in rows) or len(set(rows)) < len(rows):
            raise rejected(f"{text} do not fit it, or are not distinct")
        if not set(rows).issuperset(self._explicit(name, pattern)):
            raise rejected(f"{text} lack one that was given")
        for rule in self.heads[name, len(pattern)]:
            for _, row, _ in self.instances(rule, [(pattern, {})]):
                if row not in rows:
                    raise rejected(f"{text} lack one that {rule.name} derives: {row}")

    def lookup(self, name: str, patterns: Sequence[FactPattern], exact: bool) -> list[list[FactPattern]]:
        """Premises, in a positive part of an inference; else facts that were given, and lists that are complete."""
        if self.premises is not None and not exact:
            return [[row for other, row in self.premises if other == name and fits(row, p)] for p in patterns]
        found = [self._all(name, pattern, exact) for pattern in patterns]
        self.absent |= {(name, pattern) for pattern, rows in zip(patterns, found, strict=True) if exact and not rows}
        return found

    def _all(self, name: str, pattern: FactPattern, exact: bool) -> list[FactPattern]:
        if (name, len(pattern)) not in self.heads:
            return self._explicit(name, pattern)
        listed = pattern if (name, pattern) in self.complete else (ANY,) * len(pattern)
        if (name, listed) not in self.complete:
            raise rejected(f"nothing says which facts of {name} there are with {pattern}")
        self.asked.add((name, listed))
        rows = [row for row in self.complete[name, listed] if fits(row, pattern)]
        self.needed.update((name, row) for row in rows if exact)
        if not self.conclusions.issuperset(self.needed):
            raise rejected(f"a fact of {name} is counted on, and not proved")
        return rows

    def _explicit(self, name: str, pattern: FactPattern) -> list[FactPattern]:
        mask = tuple(value is ANY for value in pattern)
        if (name, mask) not in self._indexes:
            index = self._indexes[name, mask] = {}
            for row in self.explicit.get(name, ()):
                if len(row) == len(mask):
                    index.setdefault(tuple(ANY if free else v for v, free in zip(row, mask, strict=True)), []).append(
                        row
                    )
        return self._indexes[name, mask].get(pattern, [])

    def _check_strata(self) -> None:
        """No relation depends on its own negation or aggregate."""
        reads: dict[str, set[str]] = {}
        closed: set[tuple[str, str]] = set()
        for rule in self.rules:
            head = self.name(rule.head.name)
            below = reads.setdefault(head, set())
            everything = any(isinstance(a, tree.HeadAggregate) for a in rule.head.arguments)
            for name, inside in self._reads(rule.body, everything):
                below.add(name)
                closed |= {(head, name)} if inside else set()
        for head, start in closed:
            seen, waiting = {start}, [start]
            while waiting:
                new = reads.get(waiting.pop(), set()) - seen
                seen |= new
                waiting += new
            if head in seen:
                raise rejected(f"{head} depends on its own negation or aggregate")

    def _reads(self, node: object, inside: bool) -> Iterable[tuple[str, bool]]:
        if isinstance(node, tree.Atom):
            yield self.name(node.name), inside
        for child in children(node):
            yield from self._reads(child, inside or isinstance(node, tree.Negation | tree.Aggregate))


def _plain(b: Binding) -> Binding:
    return {name: value for name, value in b.items() if not name.startswith(" ")}


def _term(text: str) -> tree.Term:
    comparison = parse_body(f"x = {text}", "<proof>")
    if not isinstance(comparison, tree.Comparison) or variables(comparison.right):
        raise rejected(f"{text} is not a value")
    return comparison.right
