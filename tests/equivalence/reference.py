"""What an update must lead to: the same rules over the same facts, evaluated from scratch.

Checking a program takes longer than evaluating a small one, so a checked program is used for as long as its rules stay
the same.  Nothing is shared with the knowledge base that is judged: no dictionary, no tables, no program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import holdfast
from holdfast.backends.memory.store import MemoryBackend
from holdfast.formats.python_data import encode_facts
from holdfast.knowledge.loading import load
from holdfast.language import parse, tree
from holdfast.maintenance.seminaive import materialise
from holdfast.maintenance.watch import Watch
from holdfast.plans import Planner
from holdfast.program.model import Program
from holdfast.values import Row
from holdfast.values.dictionary import Dictionary

from ..oracle.evaluate import Result, evaluate
from ..oracle.values import Fact as Tagged
from ..oracle.values import tag_row
from .scripts import Fact, grouped

State = dict[str, set[Tagged]]
Counters = dict[str, dict[Tagged, tuple[int, int]]]


@dataclass(frozen=True)
class Expected:
    """The materialisation with its counters."""

    state: State
    counters: Counters


class Reference:
    """A program, evaluated from scratch over any facts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._loaded = load(parse(text), {}, Dictionary())
        self.is_recursive = any(node.is_recursive for node in self._loaded.program.nodes)

    def evaluated(self, facts: Iterable[Fact]) -> Expected:
        """By the engine."""
        return evaluated(self._loaded.program, grouped(list(facts)))

    def by_oracle(self, facts: Iterable[Fact]) -> Result:
        """By the independent evaluator of tests/oracle."""
        return evaluate(self._tree, grouped(list(facts)))

    @cached_property
    def _tree(self) -> tree.Program:
        return parse(self.text)


def evaluated(program: Program, facts: Mapping[str, Iterable[Row]]) -> Expected:
    """A checked program over facts, evaluated from scratch by the engine."""
    dictionary = Dictionary()
    backend = MemoryBackend(program.relations, dictionary, Watch())
    for name, given in facts.items():
        codes = encode_facts(list(given), program.relations[name], dictionary)
        backend.explicit |= backend.facts({name: codes})
    for node in program.nodes:
        materialise(Planner(node, backend.statistics), backend, Watch())
    state, counters = {}, {}
    for name, relation in program.relations.items():
        if not relation.auxiliary:
            ids = backend.materialisation.ids(name)
            rows = [tag_row(r) for r in dictionary.decode_rows(backend.tables[name].rows[ids], relation.types)]
            numbers = (backend.nonrecursive.of(name)[ids].tolist(), backend.recursive.of(name)[ids].tolist())
            state[name] = set(rows)
            counters[name] = dict(zip(rows, zip(*numbers, strict=True), strict=True))
    return Expected(state, counters)


def state_of(kb: holdfast.KnowledgeBase) -> State:
    return {name: {tag_row(row) for row in view} for name, view in kb.relations.items()}


def counters_of(kb: holdfast.KnowledgeBase) -> Counters:
    return {name: {tag_row(row): pair for row, pair in kb.counters(name).items()} for name in kb.relations}
