"""The commits since a snapshot: who changed what, when and why."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from holdfast.store.contents import unpack
from holdfast.store.manifests import damaged
from holdfast.store.reading import StoreContents
from holdfast.updates import Note


class CommitInfo(NamedTuple):
    """A commit: the version after it, its updates, facts and rules, and the note of each update."""

    version: int
    updates: int
    delete: int
    insert: int
    rules: int
    time: datetime
    notes: tuple[Note, ...]


def commits(stored: StoreContents) -> list[CommitInfo]:
    """The commits in a store, the oldest first."""
    found = []
    for record in stored.log.applied():
        try:
            commit = unpack(record.content)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise damaged(stored.folder, f"the record of version {record.version} cannot be read: {error}") from error
        updates, notes = record.version - record.base, tuple(note for note in commit.notes if note)
        found.append(CommitInfo(record.version, updates, *commit.sizes(), commit.time, notes))
    return found
