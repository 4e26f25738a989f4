"""The commit: what was computed becomes the state, in steps that nothing comes between.

Signals wait meanwhile (`interrupts.py`), and no step has a checkpoint or a limit.  If a step is cut short all the same,
by a lack of memory or by an exception that another thread put into this one, it is done again: each says what is to be,
not what is to be changed, so that doing it twice is doing it once.  Where the backend cannot do that, the knowledge
base says from then on that it cannot be used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from holdfast.backends.protocol import Backend
from holdfast.exclusive import CutShortError
from holdfast.interrupts import shielded

CommitStep: TypeAlias = Callable[[], None]
"""May be done again, also when it was done in part."""


def commit(backend: Backend, steps: Sequence[CommitStep]) -> None:
    """Do all steps; what cuts one short is raised when all are done."""
    cut: BaseException | None = None
    with shielded():
        for step in steps:
            try:
                step()
            except BaseException as error:
                if not backend.repeats:
                    raise CutShortError from error
                cut = error
                step()
    if cut is not None:
        raise cut
