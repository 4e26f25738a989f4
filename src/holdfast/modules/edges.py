"""Edges of directed graphs over any values, as sorted keys.

An edge is one 64-bit key, made of source and target, and a set of edges is a sorted array of keys; edges added and
removed later are in two short arrays next to it, until there are many.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from holdfast.quick_dataclass import dataclass

Numbers = NDArray[np.int64]
EdgeIndex = tuple[Numbers, Numbers]
"""Rows of edges: the first place of each node's edges, and their targets."""
EdgeRows = tuple[Numbers, Numbers, Numbers, Numbers]
"""The same, with the keys of added and of removed edges."""

HALF = np.int64(32)
LOW = np.int64(0xFFFFFFFF)
NONE: Numbers = np.empty(0, np.int64)
_SHORT = 64  # edges in the short arrays; more are merged
_DENSE = 16  # numbers are flagged if at least one in this many is used


class Numbering:
    """Small numbers for values.  A value keeps its number; new ones get the next."""

    def __init__(self) -> None:
        self.values: Numbers = NONE  # by number
        self._numbers: tuple[Numbers, Numbers] = NONE, NONE  # over sorted values; replaced together, for other threads

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return self.values.nbytes + sum(array.nbytes for array in self._numbers)

    def numbers(self, values: Numbers) -> Numbers:
        """The numbers of values; -1 for those that have none."""
        known, numbers = self._numbers
        if not len(known):
            return np.full(values.shape, -1, np.int64)
        places = np.minimum(np.searchsorted(known, values), len(known) - 1)
        return np.where(known[places] == values, numbers[places], -1)

    def enter(self, values: Numbers) -> Numbers:
        """The same, after giving numbers to those that have none."""
        if not len(values):
            return values
        found = self.numbers(values)
        if (found < 0).any():
            new, (known, numbers) = distinct(values[found < 0]), self._numbers
            places, first = np.searchsorted(known, new), len(self.values)
            self.values = np.concatenate([self.values, new])  # first, so that a number that can be found has a value
            self._numbers = np.insert(known, places, new), np.insert(numbers, places, first + np.arange(len(new)))
            found = self.numbers(values)
        return found


def keys_of(sources: Numbers, targets: Numbers) -> Numbers:
    """Edges as sorted keys, each once."""
    return distinct((sources << HALF) | targets)


def distinct(numbers: Numbers) -> Numbers:
    """Sorted and distinct.  Not `np.unique`: its hash table confuses keys that have much in common."""
    if len(numbers) > _DENSE:
        low, high = int(numbers.min()), int(numbers.max())  # the difference may exceed 64 bits
        if high - low < _DENSE * len(numbers):  # flags for the whole range are faster than sorting
            flags = np.zeros(high - low + 1, np.bool_)
            flags[numbers - low] = True
            return np.flatnonzero(flags) + low
    numbers = np.sort(numbers, axis=None)
    return numbers[np.concatenate([[True], numbers[1:] != numbers[:-1]])] if len(numbers) else numbers


def without(keys: Numbers, fewer: Numbers) -> Numbers:
    """Sorted keys without some others."""
    if not len(fewer) or not len(keys):
        return keys
    return np.delete(keys, np.searchsorted(keys, fewer[among(fewer, keys)]))


def together(*sets: Numbers) -> Numbers:
    """The union of sorted keys; NumPy's stable sort merges sorted runs."""
    filled = [keys for keys in sets if len(keys)]
    if len(filled) < 2:
        return filled[0] if filled else NONE
    keys = np.sort(np.concatenate(filled), kind="stable")
    each: Numbers = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    return each


def flipped(keys: Numbers) -> Numbers:
    """Each edge reversed."""
    return ((keys & LOW) << HALF) | (keys >> HALF)


def turned(keys: Numbers) -> Numbers:
    """The same, sorted."""
    return np.sort(flipped(keys), kind="stable")


def among(wanted: Numbers, keys: Numbers) -> NDArray[np.bool_]:
    """For each key, whether it is among sorted keys."""
    if not len(keys):
        return np.zeros(len(wanted), np.bool_)
    found: NDArray[np.bool_] = keys[np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)] == wanted
    return found


def ends(keys: Numbers) -> tuple[Numbers, Numbers]:
    """The sources and the targets."""
    return keys >> HALF, keys & LOW


@dataclass(frozen=True, eq=False)
class Edges:
    """A set of edges: sorted keys, without removed and with added ones."""

    keys: Numbers
    added: Numbers = field(default_factory=lambda: NONE)
    removed: Numbers = field(default_factory=lambda: NONE)
    _indexes: dict[bool, EdgeIndex] = field(default_factory=dict)  # rows of the keys, forward and backward

    def __len__(self) -> int:
        return len(self.keys) + len(self.added) - len(self.removed)

    def edited(self, lost: Numbers, gained: Numbers) -> Edges:
        """The set without some of its edges, and with some new ones."""
        if not len(lost) and not len(gained):
            return self
        added = together(without(self.added, lost), without(gained, self.removed))
        removed = together(without(self.removed, gained), without(lost, self.added))
        if len(added) + len(removed) > max(_SHORT, len(self.keys) >> 5):
            return Edges(together(without(self.keys, removed), added))
        return Edges(self.keys, added, removed, self._indexes)

    def change(self, new: Edges) -> tuple[Numbers, Numbers]:
        """The edges removed and added on the way from this set to another."""
        if self.keys is new.keys:  # then only the short arrays can differ
            removed = together(without(new.removed, self.removed), without(self.added, new.added))
            return removed, together(without(self.removed, new.removed), without(new.added, self.added))
        return without(self.all, new.all), without(new.all, self.all)

    def has(self, keys: Numbers) -> NDArray[np.bool_]:
        """For each key, whether it is in the set."""
        return (among(keys, self.keys) & ~among(keys, self.removed)) | among(keys, self.added)

    @cached_property
    def all(self) -> Numbers:
        """The keys of all edges, sorted."""
        return together(without(self.keys, self.removed), self.added)

    @property
    def nbytes(self) -> int:
        """The memory that it takes now."""
        indexes = (array for index in self._indexes.values() for array in index)
        return sum(array.nbytes for array in (self.keys, self.added, self.removed, *indexes))

    def rows(self, nodes: int, *, backward: bool = False) -> EdgeRows:
        """The edges, perhaps reversed, as rows for the kernels."""
        index = self._indexes.get(backward)
        if index is None:
            index = rows_of(turned(self.keys) if backward else self.keys, nodes)
        elif len(index[0]) <= nodes:
            index = np.concatenate([index[0], np.full(nodes + 1 - len(index[0]), index[0][-1])]), index[1]
        self._indexes[backward] = index
        beside = [turned(keys) if backward else keys for keys in (self.added, self.removed)]
        return index[0][: nodes + 1], index[1], beside[0], beside[1]

    def degrees(self, some: Numbers, nodes: int, *, backward: bool = False) -> Numbers:
        """The number of edges from each of some nodes, or to it."""
        first, _, added, removed = self.rows(nodes, backward=backward)
        degrees: Numbers = first[some + 1] - first[some] + _edges_from(added, some) - _edges_from(removed, some)
        return degrees


def rows_of(keys: Numbers, nodes: int) -> EdgeIndex:
    """Converts sorted keys to rows."""
    first = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(keys >> HALF, minlength=nodes), out=first[1:])
    return first, keys & LOW


def _edges_from(keys: Numbers, nodes: Numbers) -> Numbers:
    """The number of sorted keys that have each of some nodes as their source."""
    return np.searchsorted(keys, (nodes + 1) << HALF) - np.searchsorted(keys, nodes << HALF)
