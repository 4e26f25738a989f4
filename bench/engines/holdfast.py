"""holdfast, as a user would call it from Python.

Evaluation is what the hyper-nodes took, counters included; loading is the rest: reading the files, checking the
program, encoding and storing the facts.  The package is imported and the kernels are loaded before the clock starts.
The variant `modules` keeps a closure compact, `generic` derives and stores each pair, as the other systems do.
"""

from __future__ import annotations

import time
from pathlib import Path

import holdfast
from bench import data
from bench.memory import own, own_peak
from bench.outcomes import Measured
from bench.workloads import Workload
from holdfast.modules import MODULES


def run(workload: Workload, variant: str, folder: Path) -> Measured:
    """Materialise once."""
    holdfast.from_text("ready(x, z) :- ready(x, y), ready(y, z). ready(1, 2).")  # nobody looks: loads all kernels
    begun = time.perf_counter()
    facts = data.tables(workload, folder)
    before = own()
    kb = holdfast.from_text(workload.program, facts=facts, modules=() if variant == "generic" else MODULES)
    seconds, peak = time.perf_counter() - begun, own_peak()
    figures = kb.statistics
    facts_in_all = max(1, figures.facts + figures.derived)
    evaluation = sum(node.seconds for node in figures.nodes)
    return Measured(
        facts=sum(len(kb[name]) for name in workload.counted),
        evaluation=evaluation,
        load=seconds - evaluation,
        rounds=figures.rounds,
        bytes_per_fact=figures.memory / facts_in_all,
        peak_per_fact=(peak - before) / facts_in_all if before else None,
    )
