"""Two halves of one piece of work side by side.

The kernels run without Python's global lock, so that a second thread really is a second core.  Only pieces large
enough to pay for handing them over are split.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_WORTH_IT = 8_192  # rows; handing work over costs as much as some hundred of them


@cache
def _helper() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, thread_name_prefix="holdfast")


@cache
def _has_second_core() -> bool:
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return len(usable) > 1


def worth_splitting(rows: int) -> bool:
    """Whether a second thread pays for this number of rows."""
    return rows >= _WORTH_IT and _has_second_core()


def side_by_side(kernel: Callable[..., Any], mine: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, Any]:
    """Call a kernel twice at once, with two sets of arguments that do not get in each other's way."""
    helping = _helper().submit(kernel, *other)
    try:
        result = kernel(*mine)
    finally:
        helped = helping.result()  # also when interrupted: the other half must not go on writing
    return result, helped
