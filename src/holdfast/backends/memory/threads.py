"""Runs the two halves of a piece of work in parallel.

The kernels release Python's global lock, so a second thread uses a second core.  Only work large enough to pay for the
hand-over is split.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_WORTH_IT = 8_192  # rows; a hand-over costs as much as some hundred rows


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
    """Call a kernel twice in parallel, with two sets of arguments that do not overlap."""
    helping = _helper().submit(kernel, *other)
    try:
        result = kernel(*mine)
    finally:
        helped = helping.result()  # also on an interrupt: the other half must not go on writing
    return result, helped
