"""Writes the golden files anew: `python -m tests.errors.rewrite [NAME …]`.  Read the difference before committing."""

from __future__ import annotations

import sys

from tests.errors.golden import programs, reported


def rewrite(names: list[str]) -> None:
    """Write the expected diagnostics of the named programs, or of all."""
    for program in programs():
        if not names or program.stem in names:
            program.with_suffix(".txt").write_text(reported(program), encoding="utf-8")
            print("wrote", program.with_suffix(".txt"))


if __name__ == "__main__":
    rewrite(sys.argv[1:])
