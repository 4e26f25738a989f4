"""A knowledge base that follows a store written by another process."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from holdfast.errors import Diagnostic, HoldfastError
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.knowledge.materialisation import Commit
from holdfast.knowledge.recipes import Evaluate
from holdfast.knowledge.storing import earlier, replay, resumed
from holdfast.store.following import FollowedLog, follow
from holdfast.store.manifests import read_identity
from holdfast.store.publishing import published
from holdfast.store.reading import current_snapshot
from holdfast.store.records import LogRecord, StoreLog

_TRIES = 20  # the writer may replace the snapshot meanwhile
_T = TypeVar("_T")


def following(folder: Path, evaluate: Evaluate) -> KnowledgeBase:
    """The last state of a store that another process may be writing."""
    kb, log = _loaded(folder, evaluate)
    kb.follow(Following(weakref.proxy(kb), evaluate, log))
    return kb


def _loaded(folder: Path, evaluate: Evaluate) -> tuple[KnowledgeBase, FollowedLog]:
    """A state and its log from there on; retried if the writer deletes the snapshot while it is being read."""

    def load() -> tuple[KnowledgeBase, FollowedLog]:
        stored, log = follow(folder)
        try:
            return resumed(stored, evaluate), log
        except BaseException:
            log.close()
            raise

    return _while_it_changes(folder, load)


def _while_it_changes(folder: Path, act: Callable[[], _T]) -> _T:
    read_identity(folder)
    for _ in range(_TRIES):
        before = current_snapshot(folder)
        with suppress(HoldfastError):
            return act()
        if current_snapshot(folder) == before:
            break
    return act()


class Following:
    """Keeps a knowledge base up to date with a store."""

    def __init__(self, kb: KnowledgeBase, evaluate: Evaluate, log: FollowedLog) -> None:
        self._kb, self._evaluate, self._log = kb, evaluate, log
        self._is_refreshing = False
        self._is_lost = False  # records were read but not applied
        self.earlier = earlier(log.folder, evaluate)
        kb.log_with(self._refuse)

    @property
    def folder(self) -> Path:
        """The folder of the store."""
        return self._log.folder

    def _refuse(self, _commit: Commit) -> None:
        if not self._is_refreshing:
            raise self.refusal()

    def refusal(self) -> HoldfastError:
        """The error for calls that only the writer may make."""
        message = f"the store {self._log.folder.as_posix()} was opened for reading only"
        return HoldfastError(Diagnostic("E1305", message, help="open it without read_only to write"))

    def refresh(self) -> int:
        """Apply everything committed since; returns the version."""
        self._is_refreshing = True
        try:
            while not self._is_current():
                pass
        except BaseException:
            self._is_lost = True
            raise
        finally:
            self._is_refreshing = False
        return self._kb.version

    def _is_current(self) -> bool:
        """Read on in the log; True at its end, False if another log must be read."""
        if self._is_lost or read_identity(self._log.folder).id != self._log.id:
            return self._reload()
        snapshot, known = current_snapshot(self._log.folder), published(self._log.folder)
        if snapshot == self._log.number:
            end = known[1] if known is not None and known[0] == snapshot else None
            return self._go_on(self._log.read(end)) or self._reload()
        log = self._log.read(None)
        rest = [record for record in log.applied() if record.version <= snapshot]
        if not self._go_on(StoreLog(tuple(rest))) or self._kb.version != snapshot:
            return self._reload()
        return self._switch()

    def _go_on(self, log: StoreLog) -> bool:
        """Apply records; False if they do not continue the current state."""
        records, version = log.applied(), self._kb.version
        if any(record.base < version for record in log.records) or (records and records[0].base != version):
            return False
        self._apply(records)
        return True

    def _apply(self, records: Sequence[LogRecord]) -> None:
        for record in records:
            replay(self._kb, [record], self._log.folder)
            self._kb.start_at(record.version)

    def _switch(self) -> bool:
        """Continue with the next log, which begins at the current version."""
        stored, log = follow(self._log.folder, check_facts=False)
        if log.number != self._kb.version:
            log.close()
            return False
        self._log.close()
        self._log = log
        self._apply(stored.log.applied())
        return False

    def _reload(self) -> bool:
        """Load the last state, because the missing updates are no longer in a log."""
        fresh, log = _loaded(self._log.folder, self._evaluate)
        self._log.close()
        self._kb.become(fresh)
        self._kb.log_with(self._refuse)
        self._log, self._is_lost = log, False
        return True

    def close(self) -> None:
        """Stop following; the state stays."""
        self._log.close()
