"""The measured process: `python -m bench.updates.child EXPERIMENT SIZE RUNS PATIENCE CASE…` prints one line of JSON."""

from __future__ import annotations

import json
import sys

from bench.updates.experiments import EXPERIMENTS
from bench.updates.timing import Run
from bench.workloads import Size


def main(experiment: str, size: Size, runs: str, patience: str, *case: str) -> None:
    """Measure one case."""
    rows = EXPERIMENTS[experiment].run(case, Run(size, int(runs), float(patience)))
    print(json.dumps([row.as_json() for row in rows]))


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
