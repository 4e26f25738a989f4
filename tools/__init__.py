"""What builds a wheel's compiled parts, and tools for developers."""

from __future__ import annotations

import sys
from pathlib import Path

# Not by PYTHONPATH alone: in a build, pip drops the paths that the environment has, also that of an editable install.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
