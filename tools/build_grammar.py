"""Make the parser's tables: `python -m tools.build_grammar OUT`."""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.language.tables import from_grammar, stored

if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(stored(from_grammar()))
