"""The measured process: `python -m bench.child ENGINE VARIANT WORKLOAD FOLDER` prints one line of JSON."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from bench import data
from bench.memory import own_peak


def main(engine: str, variant: str, workload: str, folder: str) -> None:
    """Measure once."""
    system = import_module(f"bench.engines.{engine}")
    measured = system.run(data.workload(workload, Path(folder)), variant, Path(folder))
    print(replace(measured, peak=own_peak()).line())


if __name__ == "__main__":
    main(*sys.argv[1:])
