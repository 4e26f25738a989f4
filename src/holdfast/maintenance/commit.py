"""The commit: the computed result becomes the state, in steps that are not interrupted.

Signals wait meanwhile (`interrupts.py`), and so do threads that are about to read the last version.  No step has a
checkpoint or a limit.  If a lack of memory or an exception from another thread nevertheless interrupts a step, the step
is repeated: each step is idempotent.  If the backend cannot repeat it, the knowledge base refuses all later calls.
The step in which the backend commits comes before those that cannot be undone: it may say that nothing was done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from holdfast.backends.abilities import committing
from holdfast.backends.protocol import Backend, UndoneError
from holdfast.exclusive import InterruptedCommitError
from holdfast.interrupts import shielded

CommitStep: TypeAlias = Callable[[], None]
"""May be repeated, even after it was done in part."""


def commit(backend: Backend, steps: Sequence[CommitStep]) -> None:
    """Run all steps; an exception that interrupts one is raised after the last step."""
    cut: BaseException | None = None
    with shielded(), committing(backend):
        for step in steps:
            try:
                step()
            except UndoneError:
                raise
            except BaseException as error:
                if not backend.repeats:
                    raise InterruptedCommitError from error
                cut = error
                step()
    if cut is not None:
        raise cut
