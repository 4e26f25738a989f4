"""A program with everything that follows from its facts: what the parts of a knowledge base share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from holdfast.backends.protocol import Backend
from holdfast.deadline import within
from holdfast.language import tree
from holdfast.language.editing import rules_named
from holdfast.maintenance.commit import CommitStep
from holdfast.maintenance.watch import Watch
from holdfast.maintenance.windows import Windows
from holdfast.program.model import Program
from holdfast.quick_dataclass import dataclass
from holdfast.settings import Limits
from holdfast.updates import Change, Update
from holdfast.values.dictionary import Dictionary

if TYPE_CHECKING:
    from holdfast.maintenance.maintainer import Maintainer
    from holdfast.store.contents import ExplicitChange


@dataclass(frozen=True)
class Commit:
    """Updates that become the state together, and what each changes; of updates that were merged, the net change."""

    version: int  # of the state after them
    updates: Sequence[Update]
    changes: Sequence[Change]
    explicit: Sequence[ExplicitChange] = ()  # what they delete and insert; of updates that were merged, one


@dataclass(frozen=True)
class ReadState:
    """The rules and facts of a state, for one thread to read."""

    tree: tree.Program
    program: Program
    backend: Backend
    dictionary: Dictionary


class Materialisation:
    """The rules, the facts, and what keeps them.

    Invariant: between two calls the backend has the relations of `program` and no others, I is what follows from E, and
    D and A are empty.  `tree`, `program`, `version` and the facts change in the steps of a commit and nowhere else.
    """

    def __init__(
        self,
        tree_program: tree.Program,
        program: Program,
        dictionary: Dictionary,
        maintainer: Maintainer,
        watch: Watch,
        limits: Limits,
    ) -> None:
        self.tree, self.program, self.dictionary = rules_named(tree_program), program, dictionary
        self.backend: Backend = maintainer.backend
        self.maintainer, self.watch, self.limits = maintainer, watch, limits
        self.version = 0
        """The number of updates that the state has taken."""
        self.log: Callable[[Commit], None] | None = None
        """Makes a commit durable before it happens; if it raises, nothing has changed.  A commit that was logged but
        did not happen, because its thread was killed in between, is followed by another with the same version, which
        replaces it."""
        self.after_commit: Callable[[], None] | None = None
        """What is to be done when a commit has happened; it does not raise."""
        self.observers: list[Callable[[Sequence[Change]], None]] = []
        """Receive the changes of each commit when it has happened, one after the other; they do not raise."""

    @property
    def takes_one_by_one(self) -> bool:
        """Whether updates cannot share a pass: limits hold for each, or the backend or the program has no windows."""
        return self.limits != Limits() or self.backend.ability(Windows) is None or self.program.has_limits

    @property
    def to_read(self) -> ReadState:
        """What a reader needs of it."""
        return ReadState(self.tree, self.program, self.backend, self.dictionary)

    def within_seconds(self) -> AbstractContextManager[None]:
        """The limit on seconds, for what happens before a run begins."""
        return within(self.limits.seconds)

    @contextmanager
    def limited(self, *, keep: bool) -> Iterator[Watch]:
        """The limits hold for each run; facts and memory count with what is there before it."""
        watch, facts = self.watch, self.watch.facts
        watch.begin(self.limits)
        try:
            yield watch
            facts = watch.facts if keep else facts
        finally:
            watch.rest(facts)

    def log_commit(
        self,
        updates: Sequence[Update],
        changes: Sequence[Change],
        explicit: Callable[[], Sequence[ExplicitChange]],
    ) -> None:
        """Log a commit that is about to happen: after everything else that may fail, and before its first step."""
        if self.log is not None:
            self.log(Commit(self.version + len(updates), updates, changes, explicit()))

    def committed(self, changes: Sequence[Change]) -> None:
        """A commit with some changes has happened."""
        for observe in self.observers:
            observe(changes)
        if self.after_commit is not None:
            self.after_commit()

    def next_version(self, updates: Sequence[Update]) -> CommitStep:
        """The step of a commit that raises the version."""
        return partial(self._reach, self.version + len(updates))

    def _reach(self, version: int) -> None:
        self.version = version
