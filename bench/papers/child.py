"""The measured process: `python -m bench.papers.child FOLDER FILE MODULE SIZE RUNS PATIENCE CASE…`.

Each answer is a line of JSON in the file as soon as it is there, so that a process that is stopped has not lost it.
The folder keeps what other processes need too; "" if there is none.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from bench.papers import kept
from bench.papers.measuring import Run


def main(folder: str, file: str, module: str, size: str, runs: str, patience: str, *case: str) -> None:
    """Measure one job."""
    kept.folder = Path(folder) if folder else None
    with Path(file).open("a", encoding="utf-8") as lines:
        for answer in import_module(f"bench.papers.{module}").measure(case, Run(size, int(runs), float(patience))):
            print(json.dumps([answer[0], asdict(answer[1])]), file=lines, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
