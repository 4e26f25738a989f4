"""holdfast by itself on a workload: `python -m bench.alone WORKLOAD VARIANT SIZE`, for a profile of it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench import data
from bench.beside_papers import EVERY
from bench.engines import holdfast
from bench.workloads import Size


def main(name: str, variant: str, size: Size) -> None:
    """Materialise once."""
    workload = EVERY[name]
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        data.write(workload, workload.facts[size](), Path(folder))
        print(holdfast.run(workload, variant, Path(folder)).line())


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
