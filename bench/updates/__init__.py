"""How long updates take, beside computing everything from scratch in the same process.

Each experiment has `jobs(size)`, what runs in a process of its own, and `run(case, run)`, which does it there.
"""
