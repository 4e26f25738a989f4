"""Nemo: reads the files itself while it reasons, so that loading is part of its evaluation; so is counting."""

from __future__ import annotations

import time
from pathlib import Path

from nmo_python import NemoEngine, load_string

from bench import data
from bench.outcomes import Measured
from bench.rules import Atom, Different, Literal, Rule, Sum, Term
from bench.workloads import Workload


def run(workload: Workload, variant: str, folder: Path) -> Measured:
    """Reason and count."""
    text = "\n".join(
        [*_imports(workload, folder), *_whole(workload, folder), *map(_rule, workload.rules), *_sizes(workload)]
    )
    begun = time.perf_counter()
    engine = NemoEngine(load_string(text))
    engine.reason()
    seconds = time.perf_counter() - begun
    sizes = [next(iter(engine.result(f"size_{name}")), [0])[0] for name in workload.counted]
    return Measured(sum(sizes), seconds)


def _imports(workload: Workload, folder: Path) -> list[str]:
    return [
        f'@import {name} :- tsv{{resource="{data.path(folder, name)}", '
        f"format=({', '.join(['int'] * workload.arities[name])})}} ."
        for name in data.given(workload, folder)
    ]


def _whole(workload: Workload, folder: Path) -> list[str]:
    """Files that must be read as relations of their own.

    Nemo 0.10 reads a file straight into the head of a rule that only copies it, and then forgets that the rule swaps
    its columns: `sym(?y, ?x) :- link(?x, ?y)` gives links as they are.  What is an output is not treated so.
    """
    swapped = {
        atom.relation
        for rule in workload.rules
        for atom in rule.atoms
        if len(rule.body) == 1
        and atom.arguments != rule.head.arguments
        and set(atom.arguments) == set(rule.head.arguments)
    }
    return [f"@output {name} ." for name in data.given(workload, folder) if name in swapped]


def _sizes(workload: Workload) -> list[str]:
    lines = list[str]()
    for name in workload.counted:
        row = ", ".join(f"?{column}" for column in data.names(workload.arities[name]))
        lines += [f"size_{name}(#count({row})) :- {name}({row}) .", f"@output size_{name} ."]
    return lines


def _rule(rule: Rule) -> str:
    return f"{_literal(rule.head)} :- {', '.join(map(_literal, rule.body))} ."


def _literal(literal: Literal) -> str:
    match literal:
        case Atom(relation, arguments):
            return f"{relation}({', '.join(map(_term, arguments))})"
        case Different(left, right):
            return f"?{left} != ?{right}"
        case Sum(result, left, right):
            return f"?{result} = ?{left} + ?{right}"


def _term(term: Term) -> str:
    return f"?{term}" if isinstance(term, str) else str(term)
