"""The command line: one file per command, and `main.run`, which handles every error."""

import atexit
import gc

gc.set_threshold(100_000, 50, 100)  # imports create many objects and no garbage; this saves a tenth of a tiny run
atexit.register(gc.freeze)  # otherwise Python scans all objects twice at exit, which takes as long
