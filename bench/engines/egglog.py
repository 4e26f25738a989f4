"""egglog, through its text language: relations, rules, and a schedule that runs them until nothing is new."""

from __future__ import annotations

import time
from pathlib import Path

from egglog.bindings import EGraph

from bench import data
from bench.outcomes import Measured
from bench.rules import Atom, Different, Literal, Rule, Sum
from bench.workloads import Workload


def run(workload: Workload, variant: str, folder: Path) -> Measured:
    """Load, saturate, count."""
    graph = EGraph(fact_directory=str(folder))
    _say(graph, *(f"(relation {name} ({' '.join(['i64'] * arity)}))" for name, arity in workload.arities.items()))
    _say(graph, *map(_rule, workload.rules))
    begun = time.perf_counter()
    _say(graph, *(f'(input {name} "{data.path(folder, name).name}")' for name in data.given(workload, folder)))
    loaded = time.perf_counter()
    _say(graph, "(run-schedule (saturate (run)))")
    done = time.perf_counter()
    return Measured(sum(_size(graph, name) for name in workload.counted), done - loaded, loaded - begun)


def _say(graph: EGraph, *commands: str) -> list[object]:
    return list(graph.run_program(*graph.parse_program("\n".join(commands))))


def _size(graph: EGraph, name: str) -> int:
    (output,) = _say(graph, f"(print-size {name})")
    return int(str(getattr(output, "size", output)))


def _rule(rule: Rule) -> str:
    return f"(rule ({' '.join(map(_literal, rule.body))}) ({_literal(rule.head)}))"


def _literal(literal: Literal) -> str:
    match literal:
        case Atom(relation, arguments):
            return f"({' '.join(map(str, (relation, *arguments)))})"
        case Different(left, right):
            return f"(!= {left} {right})"
        case Sum(result, left, right):
            return f"(= {result} (+ {left} {right}))"
