"""OpenBLAS, which NumPy loads, is asked for threads that sleep, and nothing of that stays in the environment."""

from __future__ import annotations

import pytest

from tests.startup.processes import run

SCRIPT = """
import os, sys
{before}
class Watcher:
    def find_spec(self, name, *_):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))
sys.meta_path.insert(0, Watcher())
import holdfast
holdfast.from_text
print(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))
"""


@pytest.mark.parametrize(
    ("before", "during", "after"),
    [("", "4", "None"), ("os.environ['OPENBLAS_THREAD_TIMEOUT'] = '20'", "20", "20")],
    ids=["by default", "as the user has set it"],
)
def test_threads_sleep_from_the_start(before: str, during: str, after: str) -> None:
    assert run(SCRIPT.format(before=before)).split() == [during, after]
