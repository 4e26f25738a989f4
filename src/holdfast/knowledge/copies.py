"""A copy of a knowledge base in this process, for what is tried out many times where the facts are elsewhere.

On Spark an update takes dozens of commands, and with the shuffle exchange each is a job.  Causes and repairs try out
many updates; if the facts are few, evaluating them once more here takes less time than one of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from holdfast.backends.abilities import FactRequest, Lookups
from holdfast.knowledge.loading import Loaded
from holdfast.knowledge.materialisation import Materialisation

if TYPE_CHECKING:
    from holdfast.knowledge.facade import KnowledgeBase

MOST_COPIED = 300_000
"""Facts of a knowledge base that is copied."""


def copied(state: Materialisation) -> KnowledgeBase | None:
    """A copy; None if the facts are here already, or too many."""
    from holdfast.knowledge.opening import evaluation

    lookups, sizes = state.backend.ability(Lookups), state.backend.materialisation.sizes()
    if lookups is None or sum(sizes.values()) > MOST_COPIED:
        return None
    names = [name for name in state.program.relations if state.backend.explicit.size(name)]
    nothing = np.empty((0, 0), np.int64)
    found = lookups.looked_up([FactRequest(name, (), nothing, explicit=True) for name in names])
    rows = {name: answer[0] for name, answer in zip(names, found, strict=True) if answer is not None}
    loaded = Loaded(state.program, rows, state.dictionary)
    return evaluation(None, "memory")(state.tree, lambda _tree, _dictionary: loaded)
