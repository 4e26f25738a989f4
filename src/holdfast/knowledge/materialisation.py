"""A program with everything that follows from its facts: what the parts of a knowledge base share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from holdfast.backends.abilities import Lookups, housekeeping
from holdfast.backends.protocol import Backend
from holdfast.deadline import within
from holdfast.errors import LimitReached
from holdfast.knowledge.fact_lookup import BackendLookup, FactLookup
from holdfast.knowledge.far_lookup import FarLookup
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


class ReadState(Protocol):
    """The rules and facts of a state, for one thread to read."""

    @property
    def tree(self) -> tree.Program:
        """The written rules."""
        ...

    @property
    def program(self) -> Program:
        """The checked rules."""
        ...

    @property
    def lookup(self) -> FactLookup:
        """The facts, to be looked up; it is to be closed."""
        ...

    @property
    def dictionary(self) -> Dictionary:
        """The codes of the facts."""
        ...


@dataclass(frozen=True)
class VersionState:
    """The state of a version."""

    tree: tree.Program
    program: Program
    lookup: FactLookup
    dictionary: Dictionary


class LoggedAhead(Protocol):
    """A commit that is in the log before it happens."""

    def finish(self) -> None:
        """Wait until it is durable; it may happen then."""
        ...

    def retract(self) -> None:
        """It is not going to happen."""
        ...


class Limited:
    """A run within the limits, inside a `with`.  A class: a generator takes longer to begin."""

    def __init__(self, state: Materialisation, *, keep: bool) -> None:
        self._state, self._keep, self._facts = state, keep, state.watch.facts

    def __enter__(self) -> Watch:
        watch = self._state.watch
        watch.begin(self._state.limits)
        return watch

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        watch, is_refused = self._state.watch, kind is not None and issubclass(kind, LimitReached)
        watch.rest(watch.facts if self._keep and kind is None else self._facts)
        if is_refused and self._state.limits.memory is not None:
            housekeeping(self._state.backend).reclaim()


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
        self.maintainer, self.watch, self.limits, self.has_limits = maintainer, watch, limits, limits != Limits()
        self.version = 0
        """The number of updates that the state has taken."""
        self.log: Callable[[Commit], None] | None = None
        """Makes a commit durable before it happens; if it raises, nothing has changed.  A commit that was logged but
        did not happen, because its thread was killed in between, is followed by another with the same version, which
        replaces it."""
        self.begin_log: Callable[[Commit], LoggedAhead] | None = None
        """Begins to make a commit durable while its consequences are computed."""
        self.after_commit: Callable[[], None] | None = None
        """What is to be done when a commit has happened; it does not raise."""
        self.observers: list[Callable[[Sequence[Change]], None]] = []
        """Receive the changes of each commit when it has happened, one after the other; they do not raise."""
        self._far_lookups = WeakValueDictionary[int, FarLookup]()  # by version: what one has found, others use

    @property
    def lookup(self) -> FactLookup:
        """The facts, to be looked up; it is to be closed."""
        lookups = self.backend.ability(Lookups)
        if lookups is None:
            return BackendLookup(self.backend)
        found = self._far_lookups.get(self.version) or FarLookup(self.backend, lookups)
        self._far_lookups[self.version] = found
        return found

    @property
    def takes_one_by_one(self) -> bool:
        """Whether updates cannot share a pass: limits hold for each, or the backend or the program has no windows."""
        return self.has_limits or self.backend.ability(Windows) is None or bool(self.program.recursive_limits)

    def within_seconds(self) -> AbstractContextManager[None]:
        """The limit on seconds, for what happens before a run begins."""
        return within(self.limits.seconds)

    def limited(self, *, keep: bool) -> Limited:
        """The limits hold for each run; facts and memory count with what is there before it."""
        return Limited(self, keep=keep)

    def log_commit(
        self,
        updates: Sequence[Update],
        changes: Sequence[Change],
        explicit: Callable[[], Sequence[ExplicitChange]],
    ) -> None:
        """Log a commit that is about to happen: after everything else that may fail, and before its first step."""
        if self.log is not None:
            self.log(Commit(self.version + len(updates), updates, changes, explicit()))

    def log_ahead(
        self, updates: Sequence[Update], explicit: Callable[[], Sequence[ExplicitChange]]
    ) -> LoggedAhead | None:
        """Begin to log updates of facts whose consequences are about to be computed; None if that is not done: they
        may be refused yet, and what is in the log when the process dies happens when the store is opened."""
        if self.begin_log is None or self.has_limits or not self.program.cannot_fail:
            return None
        return self.begin_log(Commit(self.version + len(updates), updates, (), explicit()))

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
