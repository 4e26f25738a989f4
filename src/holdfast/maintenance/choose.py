"""`auto`: which algorithm a hyper-node gets, by its rules and by what was measured on it so far."""

from __future__ import annotations

from holdfast.backends.memory.store import MemoryBackend
from holdfast.maintenance.stratum import Figures
from holdfast.program.model import HyperNode

_TOO_MUCH = 0.5  # of a hyper-node's facts: when so many were overdeleted only to come back, look for proofs first
_MANY = 64  # facts overdeleted before that is worth a thought


class Chooser:
    """Remembers, for each hyper-node, how DRed^c and B/F^c did."""

    def __init__(self) -> None:
        self._wasteful: dict[tuple[str, ...], str] = {}

    def choose(self, node: HyperNode, backend: MemoryBackend) -> tuple[str, str]:
        """The algorithm's name, and why."""
        if not node.is_recursive:
            return "counting", "no recursion: counting is exact and cheapest"
        why = self._wasteful.get(node.predicates)
        if why is not None:
            return "backward-forward-counting", why
        return "dred-counting", "recursive, and overdeletion has been cheap so far"

    def learn(self, node: HyperNode, figures: Figures) -> None:
        """Take note of what an update took."""
        if figures.algorithm != "dred-counting" or figures.overdeleted < _MANY:
            return
        if figures.rederived > _TOO_MUCH * figures.overdeleted:
            self._wasteful[node.predicates] = (
                f"an update overdeleted {figures.overdeleted:,} facts, and {figures.rederived:,} of them came back"
            )
