"""Where the time goes: figures for each rule and delta rule, the slowest first, as text, JSON and HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from math import fsum
from typing import Any

from holdfast.backends.abilities import Profiling
from holdfast.backends.protocol import Backend
from holdfast.backends.protocol import Engine as Factory
from holdfast.errors import Diagnostic, UsageError
from holdfast.maintenance.seminaive import NodeFigures
from holdfast.plans.explain import plan_lines
from holdfast.plans.model import AggregatePlan
from holdfast.plans.profile import PlanFigures, PlanProfile
from holdfast.program.model import Program, Relation
from holdfast.program.show import show_rule
from holdfast.quick_dataclass import dataclass
from holdfast.values.dictionary import Dictionary

_NO_PROFILE = "E0945"
_FAR = 4  # factor between expected and actual rows above which a step is flagged


def profiled(make_backend: Factory) -> Factory:
    """A factory of backends that record the work of each rule."""

    def make(relations: Mapping[str, Relation], dictionary: Dictionary, watch: Any) -> Backend:
        backend = make_backend(relations, dictionary, watch)
        profiling = backend.ability(Profiling)
        if profiling is None:
            message = "this engine keeps no profile; the memory engine does"
            raise UsageError(Diagnostic("E0917", message, help="remove profile=True, or --profile"))
        profiling.profile = PlanProfile(backend.statistics)
        return backend

    return make


@dataclass(frozen=True)
class ProfiledStep:
    """A step of a join order: the rows it produced, and the rows expected from the output of the previous step."""

    text: str
    rows: int | None = None
    expected: float | None = None

    def __str__(self) -> str:
        rows = "" if self.rows is None else f"  {_counted(self.rows, 'row')}"
        far = self.expected is not None and self.rows is not None and _are_far(self.rows, self.expected)
        return self.text + rows + ("" if self.expected is None else f" (expected {self.expected:,.0f})") + "!" * far

    def as_json(self) -> dict[str, Any]:
        """The step, for `to_json`."""
        return {"step": self.text, "rows": self.rows, "expectedRows": self.expected}


@dataclass(frozen=True)
class ProfiledRule:
    """A rule, or one of its delta rules, over all its runs."""

    rule: str
    text: str
    delta: str | None  # the relation whose delta it starts from
    runs: int
    instances: int
    heads: int
    new_facts: int
    seconds: float
    steps: tuple[ProfiledStep, ...]

    def __str__(self) -> str:
        delta = "" if self.delta is None else f", from changed facts of {self.delta}"
        counts = ((self.instances, "instance"), (self.heads, "head"), (self.new_facts, "new fact"), (self.runs, "run"))
        figures = ", ".join(_counted(number, noun) for number, noun in counts)
        lines = [f"{self.seconds:.3f} s  {self.rule}{delta}: {self.text}", figures, *map(str, self.steps)]
        return "\n    ".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The rule, for `to_json`."""
        return {
            "rule": self.rule,
            "text": self.text,
            "delta": self.delta,
            "runs": self.runs,
            "instances": self.instances,
            "heads": self.heads,
            "newFacts": self.new_facts,
            "seconds": self.seconds,
            "steps": [step.as_json() for step in self.steps],
        }


@dataclass(frozen=True, eq=False)
class Profile:
    """The work of rules since the knowledge base was opened, slowest first, and of hyper-nodes in its evaluation."""

    rules: tuple[ProfiledRule, ...]
    nodes: tuple[NodeFigures, ...]

    @property
    def seconds(self) -> float:
        """The time spent in rules, without modules, counters and loading."""
        return sum(rule.seconds for rule in self.rules)

    def __str__(self) -> str:
        lines = [f"{self.seconds:.3f} s in rules, {sum(rule.instances for rule in self.rules):,} instances", ""]
        lines += [f"{number:>2}. {rule}" for number, rule in enumerate(self.rules, 1)]
        lines += ["", "hyper-nodes, when the program was evaluated:"]
        lines += [f"    {_node_text(node)}" for node in self._slowest]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<profile: {len(self.rules)} rules and delta rules, {self.seconds:.3f} s>"

    @property
    def _slowest(self) -> list[NodeFigures]:
        return sorted(self.nodes, key=lambda node: -node.seconds)

    def to_json(self, **options: Any) -> str:
        """As JSON."""
        return json.dumps(self.as_json(), ensure_ascii=False, **options)

    def as_json(self) -> dict[str, Any]:
        """What `to_json` writes."""
        return {
            "seconds": self.seconds,
            "rules": [rule.as_json() for rule in self.rules],
            "nodes": [
                {
                    "predicates": list(node.predicates),
                    "rounds": node.rounds,
                    "instances": node.instances,
                    "facts": node.facts,
                    "seconds": node.seconds,
                    "modules": list(node.modules),
                }
                for node in self._slowest
            ],
        }

    def to_html(self) -> str:
        """A self-contained HTML page."""
        return _PAGE.replace("BODY", self._repr_html_())

    def _repr_html_(self) -> str:
        head = ("seconds", "", "rule", "instances", "heads", "new facts", "runs")
        rows = "".join(map(self._row, self.rules))
        cells = "".join(f"<th>{title}</th>" for title in head)
        nodes = "".join(f"<li>{escape(_node_text(node))}</li>" for node in self._slowest)
        return (
            f"<p>{self.seconds:.3f} s in rules</p><table class='holdfast-profile'><tr>{cells}</tr>{rows}</table>"
            f"<p>Hyper-nodes, when the program was evaluated:</p><ul>{nodes}</ul>"
        )

    def _row(self, rule: ProfiledRule) -> str:
        share = rule.seconds / (self.seconds or 1)
        bar = f"<div style='background:#c66;height:0.8em;width:{10 * share:.2f}em'></div>"
        delta = "" if rule.delta is None else f" from changed facts of {escape(rule.delta)}"
        steps = "".join(f"<div>{escape(str(step))}</div>" for step in rule.steps)
        text = f"<details><summary><b>{escape(rule.rule)}</b>{delta} <code>{escape(rule.text)}</code></summary>{steps}"
        numbers = "".join(
            f"<td align='right'>{n:,}</td>" for n in (rule.instances, rule.heads, rule.new_facts, rule.runs)
        )
        return f"<tr><td align='right'>{rule.seconds:.3f}</td><td>{bar}</td><td>{text}</details></td>{numbers}</tr>"


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>holdfast profile</title>
<style>
body { font-family: sans-serif; margin: 2em; }
td, th { padding: 0.2em 0.6em; vertical-align: top; text-align: left; }
details div { margin-left: 1.5em; font-family: monospace; }
</style></head>
<body><h1>Where the time went</h1>
BODY
</body>
</html>
"""


def profile_of(backend: Backend, program: Program, nodes: Sequence[NodeFigures]) -> Profile:
    """The profile of a backend; raises if it was opened without one."""
    profiling = backend.ability(Profiling)
    if profiling is None or profiling.profile is None:
        message = "this knowledge base was opened without a profile"
        raise UsageError(Diagnostic(_NO_PROFILE, message, help="open it with profile=True"))
    return Profile(tuple(_merged(profiling.profile.plans, program)), tuple(nodes))


def _merged(plans: Sequence[PlanFigures], program: Program) -> list[ProfiledRule]:
    """Merge plans of the same rule with the same steps."""
    found: dict[tuple[object, ...], list[PlanFigures]] = {}
    for figures in plans:
        pivot = None if isinstance(figures.plan, AggregatePlan) else (figures.plan.pivot, figures.plan.order)
        found.setdefault((figures.plan.rule.name, show_rule(figures.plan.rule, program.relations), pivot), []).append(
            figures
        )
    rules = [_rule(several, program) for several in found.values()]
    return sorted(rules, key=lambda rule: -rule.seconds)


def _rule(several: Sequence[PlanFigures], program: Program) -> ProfiledRule:
    plan = several[0].plan
    delta = None if isinstance(plan, AggregatePlan) else plan.delta_predicate
    shown = None if delta is None else program.relations[delta].display if delta in program.relations else delta
    return ProfiledRule(
        plan.rule.name,
        show_rule(plan.rule, program.relations),
        shown,
        sum(figures.runs for figures in several),
        sum(figures.instances for figures in several),
        sum(figures.heads for figures in several),
        sum(figures.new for figures in several),
        sum(figures.seconds for figures in several),
        tuple(_steps(several, program)),
    )


def _steps(several: Sequence[PlanFigures], program: Program) -> list[ProfiledStep]:
    plan = several[0].plan
    lines = list(plan_lines(plan, program))
    if isinstance(plan, AggregatePlan):
        return [ProfiledStep(line) for line in lines]
    rows = [sum(numbers) for numbers in zip(*(figures.rows for figures in several), strict=True)][: len(plan.steps)]
    if rows:  # equal heads may be written only once
        rows[-1] = sum(figures.instances for figures in several)
    steps = [ProfiledStep(line, rows[place], _expected(several, place)) for place, line in enumerate(lines[:-1])]
    return [*steps, ProfiledStep(lines[-1])]


def _expected(several: Sequence[PlanFigures], place: int) -> float | None:
    """The rows expected from a step, by what each plan expected for a row of the step before: or for a run, if it is
    the first."""
    if several[0].fanouts[place] is None:
        return None
    return fsum(
        (figures.fanouts[place] or 0.0) * (figures.rows[place - 1] if place else figures.runs) for figures in several
    )


def _are_far(rows: float, expected: float) -> bool:
    return max(rows, expected) > 1_000 and not expected / _FAR <= rows <= _FAR * expected


def _node_text(node: NodeFigures) -> str:
    figures = (
        f"{_counted(node.rounds, 'round')}, {_counted(node.instances, 'instance')}, {_counted(node.facts, 'fact')}"
    )
    modules = f"; the module {' and '.join(node.modules)} derives what no rule above does" if node.modules else ""
    return f"{node.seconds:.3f} s  {', '.join(node.predicates)}: {figures}{modules}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
