"""What a module is: an algorithm of its own for some recursive rules of a hyper-node.

The paper (modular-materialisation, Definitions 3 to 7) asks four functions of a module: Add, Del, Diff and Red.  Here
a module answers two questions about facts, and `maintenance/modular.py` makes the four out of them:

* `uses(X, Δ)`: what follows from the facts X by the module's rules in a derivation that uses one of Δ, a part of X;
* `among(X, goals)`: which of some goals follow from X by the module's rules.

X are the *external* facts: those that are explicit or that other rules derive.  Facts that only the module derived
are not among them.  A module that serves a hyper-node alone may answer a third question better than out of the first
two: the exact facts that a `change` of the external facts removes and adds.

Facts are rows of 64-bit codes: of a `Slice` of a relation, so that a module need not know which columns it is given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.program.model import HyperNode, Relation, Rule
from holdfast.program.patterns import Slice
from holdfast.quick_dataclass import dataclass

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Service:
    """What a module does in one hyper-node: which rules it serves, all of them with heads in one slice.

    `alone`: there are no other recursive rules.  Only then may the rules read other relations, through `reads`.
    `form` is what the module wants to know again.
    """

    module: Module
    slice: Slice
    rules: tuple[Rule, ...]
    alone: bool
    reads: tuple[Slice, ...] = ()
    form: Any = None


@dataclass(frozen=True)
class Declined:
    """Why a module does not serve some rules of a hyper-node."""

    rules: tuple[Rule, ...]
    why: str


class ModuleContext(Protocol):
    """What a module that is alone sees of an update: external facts, and facts that its rules read elsewhere."""

    def before(self) -> Rows:
        """The external facts before the update."""
        ...

    def lost(self) -> Rows:
        """The facts that are no longer external."""
        ...

    def gained(self) -> Rows:
        """The facts that have become external."""
        ...

    def read(self, slice: Slice, when: str) -> Rows:
        """The facts of an earlier hyper-node, `when` they are wanted: "before", "removed" or "added"."""
        ...


@dataclass(frozen=True)
class Changed:
    """The effect of a change of external facts: the facts removed and added, each once, in parts, and the new state."""

    parts: Iterable[tuple[Rows, Rows]]
    state: Any = None


class Module(ABC):
    """An algorithm for rules of a certain shape."""

    name: str
    about: str
    """What it is for, in a few words."""
    tells_all = False
    """Whether its state says all that `sizes`, `listed`, `matching` and `has` need: then facts need not be rows."""

    @abstractmethod
    def offers(self, node: HyperNode, relations: Mapping[str, Relation]) -> Iterator[Service | Declined]:
        """The rules of a hyper-node that the module can serve, or why it cannot."""

    @abstractmethod
    def uses(self, service: Service, X: Rows, Δ: Rows) -> Rows:
        """All facts that follow from X in a derivation that uses one of Δ.  Some of Δ and X may be among them."""

    @abstractmethod
    def among(self, service: Service, X: Rows, goals: Rows) -> Rows:
        """Those of the goals that follow from X, or are in it."""

    def carried(self, service: Service) -> int | None:
        """The column whose value every head has from the fact that it follows from, if there is such a column."""
        return None

    def supports(self, service: Service, X: Rows, goals: Rows) -> Rows:
        """A superset of the facts of X that derivations of the goals use."""
        return X

    def start(self, service: Service, context: ModuleContext) -> tuple[Iterator[Rows], Any]:
        """All that follows from what the context has gained, in parts, and what to keep; for a module that is alone."""
        changed = self.change(service, None, context)
        return (added for _, added in changed.parts), changed.state

    # Parts, here and above, should be small: limits are checked after each.

    def listed(self, state: Any) -> Iterator[Rows]:
        """All facts by a state, each once, in parts."""
        raise NotImplementedError

    def sizes(self, state: Any) -> Iterator[int]:
        """How many facts there are by a state, in parts."""
        return map(len, self.listed(state))

    def matching(self, state: Any, column: int, values: Rows) -> Iterator[Rows]:
        """The facts by a state that have one of some values, each given once, in a column."""
        return (part[np.isin(part[:, column], values)] for part in self.listed(state))

    def has(self, state: Any, rows: Rows) -> NDArray[np.bool_]:
        """Of each of some rows, whether it is a fact by a state."""
        found = {tuple(row) for part in self.listed(state) for row in part.tolist()}
        return np.array([tuple(row) in found for row in rows.tolist()], np.bool_)

    def nbytes(self, state: Any) -> int:
        """The memory that a state takes."""
        return 0

    def takes_over(self, service: Service, state: Any) -> bool:
        """Whether `change` can go on from what was kept for other rules that served the same slice alone."""
        return False

    def change(self, service: Service, state: Any, context: ModuleContext) -> Changed:
        """The exact facts that a change removes and adds, for a module that serves alone and reads nothing else.

        `state` is what the last change gave, None at first and whenever something else has changed the facts.
        """
        lost, gained, before = context.lost(), context.gained(), context.before()
        kept = _without(before, lost)
        after = np.concatenate([kept, gained])
        touched = np.unique(np.concatenate([self.uses(service, before, lost), lost]), axis=0)
        removed = _without(touched, self.among(service, after, touched))
        new = np.unique(np.concatenate([self.uses(service, after, gained), gained]), axis=0)
        return Changed([(removed, _without(new, self.among(service, before, new)))])


def _without(rows: Rows, fewer: Rows) -> Rows:
    """Rows that are not among others."""
    if not len(rows) or not len(fewer):
        return rows
    _, numbers = np.unique(np.concatenate([rows, fewer]), axis=0, return_inverse=True)
    return rows[~np.isin(numbers[: len(rows)], numbers[len(rows) :])]
