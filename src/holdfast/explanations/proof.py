"""Proofs as people and programs see them: a DAG of inferences, from facts that were given to a conclusion."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from typing import Any, TypeAlias

from holdfast.errors import LimitReached, Span
from holdfast.explanations.matching import Fact
from holdfast.explanations.short_names import FULL_NAMES, ShortNames
from holdfast.explanations.terms import fact_text, text_of
from holdfast.language.editing import ASSERTED
from holdfast.quick_dataclass import dataclass

MOST_SHOWN = 8
"""Premises of one inference that a text shows; the others are counted."""


Complete: TypeAlias = tuple[Fact, tuple[Fact, ...]]
"""A pattern with all facts that fit it."""


def complete_json(lists: Iterable[Complete]) -> list[dict[str, Any]]:
    """Patterns with their facts, for JSON."""
    return [{"pattern": fact_text(pattern), "facts": list(map(fact_text, facts))} for pattern, facts in lists]


@dataclass(frozen=True, eq=False)
class ProofStep:
    """A conclusion with the rule and the facts that it follows from; a fact that was given has neither."""

    conclusion: Fact
    rule_name: str = ASSERTED
    rule: str = ""
    span: Span | None = None
    substitution: Mapping[str, Any] | None = None
    premises: tuple[Fact, ...] = ()
    absent: tuple[Fact, ...] = ()
    note: str = ""  # what a tree says of it, if not how it is proved
    aggregates: tuple[Mapping[str, str], ...] = ()  # of the rule: function, what it is over, value
    limit: str = ""  # min or max, of a limit relation: then it is the first of the aggregates
    module: str = ""  # what found it, if not the rules one by one
    is_bound: bool = False  # whether its conclusion is a lower bound of a sum, and no fact

    @property
    def is_asserted(self) -> bool:
        """Whether the fact was given."""
        return self.rule_name == ASSERTED

    def to_json(self) -> dict[str, Any]:
        """In the shape that Evee and nemo write, with more beside it."""
        found: dict[str, Any] = {
            "conclusion": fact_text(self.conclusion),
            "ruleName": self.rule_name,
            "premises": list(map(fact_text, self.premises)),
        }
        if not self.is_asserted:
            found |= {
                "rule": self.rule,
                "substitution": {name: text_of(value) for name, value in (self.substitution or {}).items()},
            }
            found |= {"span": str(self.span)} if self.span is not None else {}
            found |= {"absent": list(map(fact_text, self.absent))} if self.absent else {}
            found |= {"aggregate": list(map(dict, self.aggregates))} if self.aggregates else {}
            found |= {"module": self.module} if self.module else {}
            found |= {"lowerBound": True} if self.is_bound else {}
        return found


@dataclass(frozen=True, eq=False)
class _ShownStep:
    """An inference as a text shows it: a rule that is applied again and again to its own results is one step."""

    step: ProofStep
    times: int
    premises: Sequence[Fact]
    absent: Sequence[Fact]
    names: ShortNames

    def below(self) -> list[Fact | str]:
        """What the step uses; where that is much, it is counted."""
        absent = [f"no {self.names(fact_text(pattern))}" for pattern in self.absent[:MOST_SHOWN]]
        shown: list[Fact | str] = [*self.premises[:MOST_SHOWN]]
        if (more := len(self.premises) - MOST_SHOWN) > 0:
            shown.append(f"… and {more:,} more fact{'s' if more > 1 else ''}")
        shown += [*self.aggregates, *absent]
        if len(self.absent) > MOST_SHOWN:
            shown.append(f"… and {len(self.absent) - MOST_SHOWN:,} more that are absent")
        return shown

    @property
    def aggregates(self) -> list[str]:
        """What the aggregates of the rule give over its premises."""
        limit = self.step.limit
        known = [each for each in self.step.aggregates[bool(limit) :] if "value" in each and self.times == 1]
        shown = [self.names(f"{each['function']} of {{ {each['over']} }} is {each['value']}") for each in known]
        return [*shown, *([f"no {'smaller' if limit == 'min' else 'larger'} value is derived"] if limit else [])]

    @property
    def how(self) -> str:
        """By which rule."""
        return f"by {self.step.rule_name}" + (f", {self.times:,} times" if self.times > 1 else "")


@dataclass(frozen=True, eq=False)
class Proof:
    """A proof of one fact, of the least height.  `str()` is a tree; `check_proof` takes `to_json()`."""

    conclusion: Fact
    inferences: tuple[ProofStep, ...]  # each after its premises, the conclusion's last
    complete: tuple[Complete, ...] = ()
    limit: LimitReached | None = None  # what stopped the search for the lists that negation and aggregates rest on
    names: ShortNames = FULL_NAMES  # in texts, trees and pictures

    def _shown_fact(self, fact: Fact) -> str:
        step = self._by_conclusion.get(fact)
        return self.names(fact_text(fact)) + (" or more" if step is not None and step.is_bound else "")

    @cached_property
    def _by_conclusion(self) -> dict[Fact, ProofStep]:
        return {inference.conclusion: inference for inference in self.inferences}

    @cached_property
    def _reached(self) -> list[ProofStep]:
        """The inferences that the conclusion rests on, premises first."""
        wanted = {self.conclusion}
        found = []
        for inference in reversed(self.inferences):
            if inference.conclusion in wanted:
                wanted.update(inference.premises)
                found.append(inference)
        return found[::-1]

    @cached_property
    def height(self) -> int:
        """The number of inferences on the longest way up: 0 for a fact that was given."""
        heights: dict[Fact, int] = {}
        for each in self._reached:
            below = max((heights[premise] for premise in each.premises), default=0)
            heights[each.conclusion] = 0 if each.is_asserted else 1 + below
        return heights[self.conclusion]

    @property
    def size(self) -> int:
        """The number of facts in it."""
        return len(self._reached)

    @property
    def facts(self) -> list[str]:
        """The explicit facts that it depends on."""
        return [fact_text(each.conclusion) for each in self._reached if each.is_asserted]

    @property
    def rules(self) -> list[str]:
        """The names of the rules that it uses, in order of their first use."""
        return list(dict.fromkeys(each.rule_name for each in self._reached if not each.is_asserted))

    def to_json(self, **options: Any) -> str:
        """As JSON, whole: what `holdfast.check_proof` checks.  Raises `LimitReached` if it could not be certified."""
        return json.dumps(self.as_json(), ensure_ascii=False, **options)

    def as_json(self) -> dict[str, Any]:
        """What `to_json` writes."""
        if self.limit is not None:
            raise self.limit
        return {
            "finalConclusion": fact_text(self.conclusion),
            "inferences": [inference.to_json() for inference in self.inferences],
            "complete": complete_json(self.complete),
        }

    def tree(self, depth: int | None = None) -> str:
        """The proof as an indented tree, without a depth folded; a fact that was proved above is not proved again."""
        return "\n".join(self._lines(depth))

    def __str__(self) -> str:
        return self.tree()

    def __repr__(self) -> str:
        return f"<proof of {self._shown_fact(self.conclusion)}: height {self.height}, {self.size} facts>"

    def _lines(self, depth: int | None) -> Iterator[str]:
        """Depth first, on a stack of our own: proofs may be as deep as chains are long."""
        seen: set[Fact] = set()
        stack: list[tuple[Fact | str, str, str, int]] = [(self.conclusion, "", "", 0)]
        while stack:
            item, first, rest, level = stack.pop()
            if isinstance(item, str):
                yield first + item
                continue
            inference = self._by_conclusion[item]
            again = item in seen and not inference.is_asserted
            cut = depth is not None and level >= depth and not inference.is_asserted
            shown = self._shown(inference, fold=depth is None)
            yield first + self._shown_fact(item) + self._note(shown, again, cut)
            if again or cut:
                continue
            seen.add(item)
            below = shown.below()
            for place, child in reversed(list(enumerate(below))):
                last = place == len(below) - 1
                stack.append((child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), level + 1))

    def _shown(self, step: ProofStep, *, fold: bool) -> _ShownStep:
        """A step, or all steps below it by the same rule as one, if they are many."""
        premises: dict[Fact, None] = {}
        absent: dict[Fact, None] = {}
        same: set[Fact] = set()
        stack = [step.conclusion] if fold and not step.is_asserted else []
        while stack:
            fact = stack.pop()
            below = self._by_conclusion[fact]
            if (fact[0], below.rule_name, below.note) != (step.conclusion[0], step.rule_name, step.note):
                premises[fact] = None
            elif fact not in same:
                same.add(fact)
                absent |= dict.fromkeys(below.absent)
                stack += below.premises[::-1]
        if len(same) <= MOST_SHOWN:
            return _ShownStep(step, 1, step.premises, step.absent, self.names)
        return _ShownStep(step, len(same), list(premises), list(absent), self.names)

    def _note(self, shown: _ShownStep, again: bool, cut: bool) -> str:
        if shown.step.note:
            return f"  {shown.step.note}"
        if shown.step.is_asserted:
            return "  given"
        return f"  {shown.how}" + ("  (shown above)" if again else "  …" if cut else "")

    def text(self) -> str:
        """The proof in sentences, what follows from what, premises first."""
        lines = []
        for shown in self._shown_steps():
            where = f" ({shown.step.span})" if shown.step.span is not None else ""
            lines.append(f"{self._shown_fact(shown.step.conclusion)} holds because {self._because(shown)},")
            lines.append(f"  {shown.how}{where}: {shown.step.rule}")
        return "\n".join(lines) or f"{self._shown_fact(self.conclusion)} was given."

    def _because(self, shown: _ShownStep) -> str:
        """What a step rests on, in clauses: what holds, what was given, what is not there."""
        clauses = []
        premises = {fact: self._shown_fact(fact) for fact in shown.premises[:MOST_SHOWN]}
        derived = [text for fact, text in premises.items() if not self._by_conclusion[fact].is_asserted]
        given = [text for fact, text in premises.items() if self._by_conclusion[fact].is_asserted]
        more = len(shown.premises) - MOST_SHOWN
        if derived:
            clauses.append(f"{_listed(derived)} {'hold' if len(derived) > 1 else 'holds'}")
        if given:
            clauses.append(f"{_listed(given)} {'were' if len(given) > 1 else 'was'} given")
        if more > 0:
            clauses.append(f"{more:,} more fact{'s hold' if more > 1 else ' holds'}")
        absent = [self._shown_fact(pattern) for pattern in shown.absent[:MOST_SHOWN]]
        if len(shown.absent) > MOST_SHOWN:
            absent.append(f"fact of {len(shown.absent) - MOST_SHOWN:,} more patterns")
        if absent:
            clauses.append("there is " + _listed([f"no {text}" for text in absent]))
        clauses += [text if text.startswith("no ") else f"the {text}" for text in shown.aggregates]
        return _listed(clauses) or "its conditions hold without any facts"

    def _shown_steps(self) -> list[_ShownStep]:
        """The steps that a text shows, premises first: none that is folded into another or that a list leaves out."""
        wanted, found = {self.conclusion}, []
        for step in reversed(self._reached):
            if step.conclusion in wanted and not step.is_asserted:
                found.append(self._shown(step, fold=True))
                wanted.update(found[-1].premises[:MOST_SHOWN])
        return found[::-1]

    def to_dot(self, depth: int | None = None) -> str:
        """As a graph for Graphviz, cut and folded as the tree is."""
        lines = ["digraph proof {", "  rankdir=BT;", "  node [shape=box, fontname=sans];"]
        levels, places = {self.conclusion: 0}, {self.conclusion: "f0"}
        for fact in (waiting := [self.conclusion]):
            step, place = self._by_conclusion[fact], places[fact]
            style = ", style=filled, fillcolor=lightgrey" if step.is_asserted else ""
            lines.append(f"  {place} [label={quoted(self._shown_fact(fact))}{style}];")
            if step.is_asserted:
                continue
            shown, is_cut = self._shown(step, fold=depth is None), depth is not None and levels[fact] >= depth
            how = shown.how.removeprefix("by ") + (" …" if is_cut else "")
            lines += [f"  r{place} [label={quoted(how)}, shape=ellipse];", f"  r{place} -> {place};"]
            for number, child in enumerate(() if is_cut else shown.below()):
                if isinstance(child, str):
                    lines.append(f"  r{place}n{number} [label={quoted(child)}, shape=plaintext];")
                    lines.append(f"  r{place}n{number} -> r{place};")
                    continue
                if child not in places:
                    levels[child], places[child] = levels[fact] + 1, f"f{len(places)}"
                    waiting.append(child)
                lines.append(f"  {places[child]} -> r{place};")
        return "\n".join([*lines, "}"])

    def _repr_html_(self) -> str:
        """A tree to fold and unfold."""
        return f"<div class='holdfast-proof'>{self._html(self.conclusion, set(), 0)}</div>"

    def _html(self, fact: Fact, seen: set[Fact], level: int) -> str:
        inference = self._by_conclusion[fact]
        shown = self._shown(inference, fold=True)
        again = fact in seen and not inference.is_asserted
        line = escape(self._shown_fact(fact) + self._note(shown, again, level >= _DEEPEST))
        if inference.is_asserted or again or level >= _DEEPEST:
            return f"<div style='margin-left:1.5em'>{line}</div>"
        seen.add(fact)
        parts = [
            f"<div style='margin-left:1.5em'>{escape(part)}</div>"
            if isinstance(part, str)
            else self._html(part, seen, level + 1)
            for part in shown.below()
        ]
        state = " open" if level < 2 else ""
        rule = f"<div style='margin-left:1.5em'><code>{escape(inference.rule)}</code></div>"
        return f"<details style='margin-left:1.5em'{state}><summary>{line}</summary>{rule}{''.join(parts)}</details>"


_DEEPEST = 60  # levels of nested HTML


def _listed(texts: Sequence[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def quoted(text: str) -> str:
    """A text for Graphviz."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
