"""`python -m bench`, from the top folder of the repository."""

from __future__ import annotations

import sys

from bench.command import main

sys.exit(main())
