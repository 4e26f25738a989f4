"""A program of four times the size takes about four times the work: calls are counted, not seconds.

These tests cannot see work inside one call of C code, such as a long list that is copied often.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

import holdfast

from .sizes import SIZES

_SMALL, _TIMES = 50, 4


@contextmanager
def counted() -> Iterator[list[int]]:
    """Counts the calls of Python and C functions."""
    count = [0]

    def note(frame: object, event: str, argument: object) -> None:
        count[0] += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        yield count
    finally:
        sys.setprofile(None)


def work(text: str) -> int:
    with counted() as count, suppress(holdfast.HoldfastError):
        holdfast.from_text(text)
    return count[0]


@pytest.mark.parametrize("shape", SIZES)
def test_work_grows_with_the_size(shape: str) -> None:
    work(SIZES[shape](2))  # what is done once in a process
    small, large = work(SIZES[shape](_SMALL)), work(SIZES[shape](_SMALL * _TIMES))
    assert large < 1.5 * _TIMES * small
