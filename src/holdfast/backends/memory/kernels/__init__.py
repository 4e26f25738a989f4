"""The hot loops: hashing, interning, probing, joining, counting.

All of them work on plain arrays with explicit signatures, so that each is compiled once for every program.  A
relation's rows are one C-contiguous `int64[:, :]`: the values of a fact are adjacent, so comparing them costs one cache
miss instead of one for each column.  Helpers come from this folder only: where Numba's cache is used, it is valid for
all files of the folder together (docs/decisions/0034).
"""

from holdfast.backends.memory.kernels.arguments import FROM_BINDING, FROM_CONSTANT, FROM_FACT, FROM_PLACE
from holdfast.backends.memory.kernels.cascades import cascade
from holdfast.backends.memory.kernels.hashing import move_slots, spread_slots
from holdfast.backends.memory.kernels.indexes import grow_index, rows_of_keys, settle_index
from holdfast.backends.memory.kernels.joins import expand, reject, spread_groups
from holdfast.backends.memory.kernels.membership import find, intern, intern_in_grid, reach
from holdfast.backends.memory.kernels.ranked import tally_ranked
from holdfast.backends.memory.kernels.sets import (
    among,
    count,
    distinct,
    ends,
    enter,
    link,
    linked,
    meet,
    restatus,
    restatus_both,
    zero,
)
from holdfast.backends.memory.kernels.steps import compare, probe, scan
from holdfast.backends.memory.kernels.tallies import tally
from holdfast.backends.memory.kernels.words import (
    count_moves,
    count_words,
    explicit_words,
    list_moves,
    meet_words,
    put_words,
    recount,
)

__all__ = [
    "FROM_BINDING",
    "FROM_CONSTANT",
    "FROM_FACT",
    "FROM_PLACE",
    "among",
    "cascade",
    "compare",
    "count",
    "count_moves",
    "count_words",
    "distinct",
    "ends",
    "enter",
    "expand",
    "explicit_words",
    "find",
    "grow_index",
    "intern",
    "intern_in_grid",
    "link",
    "linked",
    "list_moves",
    "meet",
    "meet_words",
    "move_slots",
    "probe",
    "put_words",
    "reach",
    "recount",
    "reject",
    "restatus",
    "restatus_both",
    "rows_of_keys",
    "scan",
    "settle_index",
    "spread_groups",
    "spread_slots",
    "tally",
    "tally_ranked",
    "zero",
]
