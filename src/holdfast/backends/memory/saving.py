"""Tables as plain arrays, to be saved to a file and restored: with row ids, counters, ranks and hash tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.abilities import SavedTable
from holdfast.backends.memory.membership import GriddedRows, HashedRows, LateRows
from holdfast.backends.memory.table import Table

if TYPE_CHECKING:
    from holdfast.backends.memory.store import MemoryBackend

_COLUMNS = "rows", "status", "nonrecursive", "recursive"
_RANKS = "rank", "founded"


def saved_table(backend: MemoryBackend, name: str) -> SavedTable:
    """The arrays of a table between two updates, with a row for each fact."""
    is_virtual = name in backend.virtual
    table = _with_all_rows(backend, name) if is_virtual else backend.tables[name]
    arrays: dict[str, NDArray[Any]] = {column: getattr(table, column)[: table.size] for column in _COLUMNS}
    ranks = () if is_virtual else backend.ranking.saved(name)
    arrays |= {kind: numbers[: table.size] for kind, numbers in zip(_RANKS, ranks, strict=False)}
    prefixes = {
        "explicit": backend.explicit.prefix(name),
        "materialisation": None if is_virtual else backend.materialisation.prefix(name),
    }
    numbers = {kind: None if prefix is None else int(prefix) for kind, prefix in prefixes.items()}
    known = table.membership
    if isinstance(known, GriddedRows):
        arrays["cells"] = known.cells[: known.largest + 1]
        numbers |= {"growing": int(known.growing), "largest": int(known.largest)}
        return SavedTable(arrays, numbers)
    numbers |= {"may_be_gridded": int(known.may_be_gridded), "slots": known.nbytes}
    return SavedTable(arrays, numbers, {"slots": lambda: known.slots})


def _with_all_rows(backend: MemoryBackend, name: str) -> Table:
    """A copy of a virtual relation's table with a row for every fact.

    The added facts have no derivations but those of their module, so their counters are 0.
    """
    table = backend.tables[name]
    whole = Table(name, table.arity)
    whole.intern(np.ascontiguousarray(table.rows[: table.size]))  # in order, so that the ids stay the same
    for column in _COLUMNS[1:]:
        getattr(whole, column)[: table.size] = getattr(table, column)[: table.size]
    for part in backend.virtual[name].now().parts():
        ids = whole.intern(np.ascontiguousarray(part))
        whole.status[ids] |= backend.materialisation.bit
    return whole


def restore_table(backend: MemoryBackend, name: str, saved: SavedTable) -> None:
    """Replace an empty table by a saved one."""
    table, arrays, numbers = backend.tables[name], saved.arrays, saved.numbers
    rows = arrays["rows"]
    if not len(rows):
        return
    numbers_of_rows = arrays["nonrecursive"], arrays["recursive"]
    table.take_over(len(rows), rows, arrays["status"], *numbers_of_rows, _membership(backend, saved))
    backend.ranking.restore(name, [arrays[kind] for kind in _RANKS if kind in arrays])
    backend.explicit.take_over(name, numbers["explicit"])
    backend.materialisation.take_over(name, numbers["materialisation"])


def _membership(backend: MemoryBackend, saved: SavedTable) -> HashedRows | GriddedRows:
    arrays, numbers = saved.arrays, saved.numbers
    if "cells" in arrays:
        growing, largest = numbers["growing"], numbers["largest"]
        assert growing is not None and largest is not None
        return GriddedRows(arrays["cells"], growing, largest)
    nbytes = numbers["slots"]
    assert nbytes is not None
    may_be_gridded = bool(numbers["may_be_gridded"])
    return LateRows(arrays["rows"], saved.late["slots"], nbytes, backend.invested, may_be_gridded=may_be_gridded)
