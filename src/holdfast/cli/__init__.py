"""What a shell user holds: one file a command, and `main.run`, where every error ends."""

import atexit
import gc

gc.set_threshold(100_000, 50, 100)  # to import makes many objects and no garbage: a tenth of a tiny program's time
atexit.register(gc.freeze)  # at the end Python would look through all objects twice, for as long
