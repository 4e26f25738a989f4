"""A knowledge base with a store: each commit is logged, and snapshots keep the log short."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.knowledge.derived_cache import cached_state
from holdfast.knowledge.materialisation import Commit, Materialisation
from holdfast.knowledge.stored_facts import stored_relations
from holdfast.knowledge.views import Views, visible_relations
from holdfast.language.printer import show
from holdfast.relation_view import RelationView
from holdfast.store.contents import pack
from holdfast.store.writing import Snapshot, Store, StoredData

if TYPE_CHECKING:
    from holdfast.knowledge.facade import KnowledgeBase


class InLog:
    """A commit that is in the log but not yet applied."""

    def __init__(self, store: Store, state: Materialisation, base: int) -> None:
        self._store, self._state, self._base = store, state, base

    def finish(self) -> None:
        """Wait until it is durable."""
        self._store.finish(self._base)

    def retract(self) -> None:
        """Mark the commit in the log as not applied, unless it was.  If that fails, the store is closed for writing."""
        with suppress(HoldfastError):
            self._store.retract(self._state.version)


class Durable:
    """Keeps a materialisation in a store."""

    def __init__(
        self, state: Materialisation, views: Views, store: Store, earlier: Callable[[int], KnowledgeBase]
    ) -> None:
        self._state, self._views, self.store, self.earlier = state, views, store, earlier
        self._next_try = 0  # bytes of log before a failed snapshot is retried
        state.log, state.begin_log, state.after_commit = self._log, self._begin_log, self._committed
        self._closing = weakref.finalize(self, _close, store, weakref.ref(state))
        store.publish(state.version)

    def _log(self, commit: Commit) -> None:
        if commit.updates:
            self._begin_log(commit).finish()

    def _begin_log(self, commit: Commit) -> InLog:
        base = commit.version - len(commit.updates)
        notes = [update.note for update in commit.updates]
        self.store.begin(base, commit.version, pack(commit.explicit, notes))
        return InLog(self.store, self._state, base)

    def _committed(self) -> None:
        """Publish the new version, and write a snapshot if the log is long; if that fails, the update stays durable."""
        self.store.publish(self._state.version)
        if self.store.is_due and self.store.is_open and self.store.log_size > self._next_try:
            with suppress(HoldfastError, MemoryError):
                self.compact()
            self._next_try = 2 * self.store.log_size if self.store.is_due else 0

    def compact(self) -> None:
        """Write a snapshot of the state and begin a new log."""
        self.store.rotate(snapshot_of(self._state, self._views, self.store.manifest.source))
        keep_derived(self._state, self.store)

    def close(self) -> None:
        """Release the store; the state stays, but can no longer change."""
        if self._closing.detach() is not None:
            self.store.close(self._state.version)


def keep_derived(state: Materialisation, store: Store) -> None:
    """Cache what follows from the facts of a snapshot of this state, if evaluating it takes long."""
    seconds = sum(cost.seconds for cost in state.maintainer.chooser.costs.entries().values())
    cached = cached_state(state) if seconds >= store.worth_caching else None
    if cached is not None:
        store.cache(cached)


def snapshot_of(
    state: Materialisation,
    views: Views,
    source: str,
    data: Callable[[RelationView], StoredData] = RelationView.to_arrow,
) -> Snapshot:
    """Everything that makes up a state; `data` is how the store receives explicit facts."""
    facts = {name: data(view) for name, view in _explicit(state, views)}
    return Snapshot(state.version, show(state.tree), source, stored_relations(state.program), facts)


def _explicit(state: Materialisation, views: Views) -> Iterable[tuple[str, RelationView]]:
    for name, relation in visible_relations(state.program).items():
        view = views.explicit_facts(relation)
        if len(view):
            yield name, view


def _close(store: Store, state: weakref.ref[Materialisation]) -> None:
    """Close the store of a knowledge base that is being garbage-collected."""
    alive = state()
    with suppress(HoldfastError, OSError):
        store.close(store.version if alive is None else alive.version)
