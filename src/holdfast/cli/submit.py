"""For `spark-submit`, which takes a file: the remaining arguments are those of `holdfast pipeline`."""

from __future__ import annotations

import sys

from holdfast.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["pipeline", *sys.argv[1:]]))
