"""Whether a knowledge base is whole: what it says, what it counts, what its tables, hash tables and indexes hold."""

from __future__ import annotations

import signal
import threading
from typing import cast

import numpy as np
from numpy.typing import NDArray

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.backends.memory import kernels
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.memory.table import Table
from holdfast.backends.parted.store import PartedBackend

from ..equivalence.reference import Expected, counters_of, state_of

Key = tuple[str, tuple[tuple[str, frozenset[object]], ...]]
_EXPECTED: dict[Key, Expected] = {}


def key_of(kb: KnowledgeBase) -> Key:
    """What determines the state: the rules and the explicit facts."""
    facts = tuple(sorted((name, frozenset(kb.explicit(name))) for name in kb.relations))
    return kb.rules_text(), facts


def expected(key: Key) -> Expected:
    """The same rules over the same facts, from scratch and without modules; not computed twice."""
    if key not in _EXPECTED:
        text, facts = key
        known = holdfast.from_text(text, {}, modules=()).relations
        given = {name: list(rows) for name, rows in facts if name in known}
        kb = holdfast.from_text(text, given, modules=())  # type: ignore[arg-type]
        _EXPECTED[key] = Expected(state_of(kb), counters_of(kb))
    return _EXPECTED[key]


def judge(kb: KnowledgeBase, later: tuple[Update, ...] = ()) -> Key:
    """Raise AssertionError if something is wrong with it now, or goes wrong with later updates; gives what it was."""
    free(kb)
    key = key_of(kb)
    sound(kb)
    agrees(kb)
    for update in later:
        kb.apply(update)
        sound(kb)
        agrees(kb)
    if later:
        assert counters_of(kb) == _of(kb, expected(key_of(kb)).counters)
        sound(kb)
    return key


def agrees(kb: KnowledgeBase) -> None:
    state = state_of(kb)
    assert state == _of(kb, expected(key_of(kb)).state)
    assert kb.sizes() == {name: len(rows) for name, rows in state.items()}


def _of(kb: KnowledgeBase, whole: dict[str, object]) -> dict[str, object]:
    """Relations that only have facts are not in the text of the rules."""
    empty: dict[str, object] = {name: type(next(iter(whole.values())))() for name in kb.relations}
    return empty | {name: found for name, found in whole.items() if name in kb.relations}


def fingerprint(kb: KnowledgeBase) -> object:
    """The same for the same facts under the same rules in one knowledge base; quicker than looking at values."""
    backend = cast("MemoryBackend", kb._backend)
    found = [
        (name, [_sorted(backend.rows(name, kept)) for kept in (backend.explicit, backend.materialisation)])
        for name in backend.relations
    ]
    return kb.rules_text(), found


def _sorted(rows: NDArray[np.int64]) -> bytes:
    return bytes(rows[np.lexsort(rows.T)]) if rows.shape[1] else bytes(len(rows))


def free(kb: KnowledgeBase) -> None:
    """No lock is held, no signal waits."""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    taken: list[bool] = []
    thread = threading.Thread(target=lambda: taken.append(_takes(kb)))
    thread.start()
    thread.join()
    assert taken == [True]


def _takes(kb: KnowledgeBase) -> bool:
    taken = kb._guard.lock.acquire(blocking=False)
    if taken:
        kb._guard.lock.release()
    return taken


def sound(kb: KnowledgeBase) -> None:
    """The invariants of the memory backend between updates; on shards of each of them, copies included."""
    assert kb._backend.relations.keys() == kb.program.relations.keys()
    assert not kb._maintainer.states._next
    if isinstance(kb._backend, PartedBackend):
        kb._backend.commit()  # what waits in the queue
        for shard in kb._backend._shards:
            assert shard.relations.keys() - shard._copies.keys() == kb.program.relations.keys()
            _sound_backend(shard)
        _same_in_copies(kb._backend)
    else:
        _sound_backend(cast("MemoryBackend", kb._backend))


def _sound_backend(backend: MemoryBackend) -> None:
    assert backend.relations.keys() == backend.tables.keys()
    for counters in (backend.nonrecursive, backend.recursive):
        assert not counters.remembers and not counters._undo
    for listed in (backend.deleted, backend.added, backend.checked, backend.proved, backend.delayed):
        assert not listed._lists
    for name, table in backend.tables.items():
        _sound_table(table)
        for kept in (backend.explicit, backend.materialisation):
            bits = np.flatnonzero(table.status[: table.size] & kept.bit)
            assert kept.ids(name).tolist() == bits.tolist()
        if name in backend.virtual:
            assert backend.virtual[name].size == len(backend.virtual[name].now().codes())
        else:
            assert table.fetch is None


def _same_in_copies(backend: PartedBackend) -> None:
    """A copy has the facts of its primary, each on the shards that its kind says."""
    shards = backend._shards
    for table, copy in shards[0]._copies.items():
        hubs = shards[0].spread[table]
        for which in ("explicit", "materialisation"):
            primary = np.concatenate([shard.rows(copy.predicate, getattr(shard, which)) for shard in shards])
            for shard, expected in zip(shards, copy.dealt(primary, len(shards), hubs), strict=True):
                assert _sorted(shard.rows(table, getattr(shard, which))) == _sorted(expected)


def _sound_table(table: Table) -> None:
    size, rows = table.size, table.rows[: table.size]
    columns = (table.rows, table.status, table.proof, table.nonrecursive, table.recursive)
    assert len({len(column) for column in columns}) == 1 and size <= len(table.rows)
    assert not (table.status[:size] & ~np.uint8(3)).any() and not table.proof[:size].any()
    assert table.find(np.ascontiguousarray(rows)).tolist() == list(range(size))
    absent = rows + np.int64(1 << 40)
    assert not table.arity or (table.find(np.ascontiguousarray(absent)) == -1).all()
    for key, index in table._indexes.items():
        assert index.covered <= size
        wanted = np.ascontiguousarray(np.unique(rows[: index.covered, list(key)], axis=0))
        assert len(wanted) == index.keys
        found = np.empty(size, np.int32)
        count = kernels.rows_of_keys(wanted, index.arrays, found)
        assert sorted(found[:count].tolist()) == list(range(index.covered))
