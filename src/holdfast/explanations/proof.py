"""Proofs as people and programs see them: a DAG of inferences, from facts that were given to a conclusion."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from typing import Any, TypeAlias

from holdfast.errors import LimitReached, Span
from holdfast.explanations.checker import ASSERTED
from holdfast.explanations.matching import ANY, Fact
from holdfast.explanations.terms import text_of
from holdfast.quick_dataclass import dataclass

MOST_SHOWN = 8
"""Premises of one inference that a text shows; the others are counted."""


def fact_text(fact: Fact) -> str:
    """A fact, or a pattern with `_` in it, as programs write it."""
    name, row = fact
    shown = (
        name
        if name.startswith("<") or name.replace(".", "").isidentifier()
        else f"'{name.replace(chr(39), chr(39) * 2)}'"
    )
    return f"{shown}({', '.join('_' if value is ANY else text_of(value) for value in row)})"


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
        return found


@dataclass(frozen=True, eq=False)
class Proof:
    """A proof of one fact, of the least height there is.  `str()` is a tree; `check_proof` takes `to_json()`."""

    conclusion: Fact
    inferences: tuple[ProofStep, ...]  # each after its premises, the conclusion's last
    complete: tuple[Complete, ...] = ()
    limit: LimitReached | None = None  # what stopped the search for the lists that negation and aggregates rest on

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
        """The facts that were given and that it rests on."""
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
        """The proof as an indented tree; a fact that was proved above is not proved again."""
        return "\n".join(self._lines(depth))

    def __str__(self) -> str:
        return self.tree()

    def __repr__(self) -> str:
        return f"<proof of {fact_text(self.conclusion)}: height {self.height}, {self.size} facts>"

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
            yield first + fact_text(item) + self._note(inference, again, cut)
            if again or cut:
                continue
            seen.add(item)
            below: list[Fact | str] = [*inference.premises[:MOST_SHOWN]]
            if len(inference.premises) > MOST_SHOWN:
                below.append(f"… and {len(inference.premises) - MOST_SHOWN:,} more facts")
            below += [f"no {fact_text(pattern)}" for pattern in inference.absent]
            for place, child in reversed(list(enumerate(below))):
                last = place == len(below) - 1
                stack.append((child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), level + 1))

    def _note(self, inference: ProofStep, again: bool, cut: bool) -> str:
        if inference.note:
            return f"  {inference.note}"
        if inference.is_asserted:
            return "  given"
        more = "  (shown above)" if again else "  …" if cut else ""
        return f"  by {inference.rule_name}{more}"

    def text(self) -> str:
        """The proof in sentences, what follows from what, premises first."""
        lines = []
        for each in self._reached:
            if each.is_asserted:
                continue
            shown = [fact_text(p) for p in each.premises[:MOST_SHOWN]] + [f"no {fact_text(p)}" for p in each.absent]
            more = len(each.premises) - MOST_SHOWN
            because = _listed([*shown, *([f"{more:,} more facts"] if more > 0 else [])])
            where = f" ({each.span})" if each.span is not None else ""
            lines.append(
                f"{fact_text(each.conclusion)} holds because of {because},\n  by {each.rule_name}{where}: {each.rule}"
            )
        return "\n".join(lines) or f"{fact_text(self.conclusion)} was given."

    def to_dot(self) -> str:
        """As a graph for Graphviz."""
        places = {each.conclusion: f"f{place}" for place, each in enumerate(self._reached)}
        lines = ["digraph proof {", "  rankdir=BT;", "  node [shape=box, fontname=sans];"]
        for each in self._reached:
            style = ", style=filled, fillcolor=lightgrey" if each.is_asserted else ""
            lines.append(f"  {places[each.conclusion]} [label={quoted(fact_text(each.conclusion))}{style}];")
            if not each.is_asserted:
                rule = f"r{places[each.conclusion]}"
                lines.append(f"  {rule} [label={quoted(each.rule_name)}, shape=ellipse];")
                lines.append(f"  {rule} -> {places[each.conclusion]};")
                lines += [f"  {places[premise]} -> {rule};" for premise in each.premises]
        return "\n".join([*lines, "}"])

    def _repr_html_(self) -> str:
        """A tree to fold and unfold."""
        return f"<div class='holdfast-proof'>{self._html(self.conclusion, set(), 0)}</div>"

    def _html(self, fact: Fact, seen: set[Fact], level: int) -> str:
        inference = self._by_conclusion[fact]
        again = fact in seen and not inference.is_asserted
        line = escape(fact_text(fact) + self._note(inference, again, level >= _DEEPEST))
        if inference.is_asserted or again or level >= _DEEPEST:
            return f"<div style='margin-left:1.5em'>{line}</div>"
        seen.add(fact)
        parts = [self._html(premise, seen, level + 1) for premise in inference.premises[:MOST_SHOWN]]
        if len(inference.premises) > MOST_SHOWN:
            parts.append(
                f"<div style='margin-left:1.5em'>… and {len(inference.premises) - MOST_SHOWN:,} more facts</div>"
            )
        parts += [f"<div style='margin-left:1.5em'>no {escape(fact_text(p))}</div>" for p in inference.absent]
        state = " open" if level < 2 else ""
        rule = f"<div style='margin-left:1.5em'><code>{escape(inference.rule)}</code></div>"
        return f"<details style='margin-left:1.5em'{state}><summary>{line}</summary>{rule}{''.join(parts)}</details>"


_DEEPEST = 60  # levels of nested HTML


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + " and " + texts[-1] if texts else "nothing more"


def quoted(text: str) -> str:
    """A text for Graphviz."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
