"""clingo: its grounder derives everything that follows from a program without choices, which is all that is asked.

It reads facts in its own language only; the files are rewritten to it before the clock starts.
"""

from __future__ import annotations

import time
from pathlib import Path

from clingo import Control

from bench import data
from bench.outcomes import Measured
from bench.rules import Atom, Different, Literal, Rule, Sum, Term
from bench.workloads import Workload


def run(workload: Workload, variant: str, folder: Path) -> Measured:
    """Load, ground, count."""
    files = [_rewritten(data.path(folder, name), name) for name in data.given(workload, folder)]
    begun = time.perf_counter()
    control = Control(["--warn=none"])
    control.add("base", [], "\n".join(map(_rule, workload.rules)))
    for file in files:
        control.load(str(file))
    loaded = time.perf_counter()
    control.ground([("base", [])])
    done = time.perf_counter()
    atoms = control.symbolic_atoms
    facts = sum(sum(1 for _ in atoms.by_signature(name, workload.arities[name])) for name in workload.counted)
    return Measured(facts, done - loaded, loaded - begun)


def _rewritten(file: Path, relation: str) -> Path:
    rewritten = file.with_suffix(".lp")
    with file.open(encoding="utf-8") as lines, rewritten.open("w", encoding="utf-8") as facts:
        facts.writelines(f"{relation}({line.rstrip().replace(chr(9), ',')}).\n" for line in lines)
    return rewritten


def _rule(rule: Rule) -> str:
    return f"{_literal(rule.head)} :- {', '.join(map(_literal, rule.body))}."


def _literal(literal: Literal) -> str:
    match literal:
        case Atom(relation, arguments):
            return f"{relation}({', '.join(map(_term, arguments))})"
        case Different(left, right):
            return f"{_term(left)} != {_term(right)}"
        case Sum(result, left, right):
            return f"{_term(result)} = {_term(left)} + {_term(right)}"


def _term(term: Term) -> str:
    return term.upper() if isinstance(term, str) else str(term)
