"""Atoms in the form that the kernels take: the source of each value of a key and of an output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Rows
from holdfast.plans.model import GOAL
from holdfast.program.model import Argument, Const, Term, Var, Wildcard
from holdfast.quick_dataclass import dataclass
from holdfast.values.dictionary import Dictionary

CodeArray = NDArray[np.int64]


class ColumnSources:
    """The sources of values while a step runs: live variables, columns of the joined fact, constants."""

    def __init__(self, live: Sequence[Var], dictionary: Dictionary) -> None:
        self.live = {variable: position for position, variable in enumerate(live)}
        self.fact: dict[Var, int] = {}
        self.constants: list[int] = []
        self.dictionary = dictionary

    def origin(self, term: Term) -> int:
        """The origin of a variable or constant, encoded for the kernels."""
        match term:
            case Var() if term in self.live:
                return kernels.FROM_BINDING + self.live[term]
            case Var() if term is GOAL:
                return kernels.FROM_PLACE
            case Var():
                return kernels.FROM_FACT + self.fact[term]
            case Const(value=value, type=type):
                self.constants.append(self.dictionary.encode_value(value, type))
                return kernels.FROM_CONSTANT + len(self.constants) - 1
        raise AssertionError(term)


@dataclass(frozen=True)
class AtomShape:
    """An atom in the form that the kernels take: its key with the sources of the key's values, the columns that must be
    equal because a variable repeats, and the sources of the output's columns."""

    key: CodeArray
    origins: CodeArray
    left: CodeArray
    right: CodeArray
    constants: CodeArray
    outputs: CodeArray

    @property
    def group(self) -> CodeArray:
        """The columns of a binding that the output takes."""
        return self.outputs[self.outputs < kernels.FROM_FACT]

    def pattern(self, others: CodeArray, straight: CodeArray) -> tuple[CodeArray, ...]:
        """Encodes the atom; `others` are the columns not in the key, `straight` if an index has them in order."""
        return self.origins, others, straight, self.left, self.right

    def keys_of(self, bindings: Rows) -> Rows:
        """The key that each binding looks up."""
        keys = np.empty((len(bindings), len(self.origins)), np.int64)
        for place, origin in enumerate(self.origins):
            is_constant = origin >= kernels.FROM_CONSTANT
            keys[:, place] = self.constants[origin - kernels.FROM_CONSTANT] if is_constant else bindings[:, origin]
        return keys

    @property
    def fact_columns(self) -> CodeArray:
        """The output's columns that come from the joined fact."""
        outputs = self.outputs
        return np.flatnonzero((outputs >= kernels.FROM_FACT) & (outputs < kernels.FROM_PLACE))

    @property
    def can_tally(self) -> bool:
        """Whether `kernels.tally` supports this shape."""
        return len(self.fact_columns) > 0 and not len(self.left)


def shape_of(
    arguments: Sequence[Argument],
    key: tuple[int, ...],
    columns: ColumnSources,
    outputs: Sequence[Term],
    places: Mapping[int, int] | None = None,
) -> AtomShape:
    """The shape of an atom; `places` maps each column to its place in the kernel's input, if not a table row."""
    origins = [columns.origin(_known(arguments[column])) for column in key]
    left, right = [], []
    for column, argument in enumerate(arguments):
        if column in key or not isinstance(argument, Var):
            continue
        place = column if places is None else places[column]
        if argument in columns.fact:
            left.append(columns.fact[argument])
            right.append(place)
        else:
            columns.fact[argument] = place
    wanted = [columns.origin(term) for term in outputs]
    return AtomShape(codes(key), codes(origins), codes(left), codes(right), codes(columns.constants), codes(wanted))


def _known(argument: Argument) -> Var | Const:
    assert not isinstance(argument, Wildcard)
    return argument


def codes(values: Sequence[int]) -> CodeArray:
    """Encodes origins for the kernels."""
    return np.array(values, np.int64)
