"""Rules that go and come: ZodiacEdge's second rule set on its second data set, made here anew.

Each of the eighteen rules is removed and added again, by both strategies.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import holdfast
from bench.graphs import Facts
from bench.updates.rows import Row, Taken, row
from bench.updates.timing import Run, arrow, check, fingerprint, from_scratch, size_of, timed
from bench.workloads import Size
from holdfast import Choice, Update

RULES = (
    "p11(x, y) :- p1(x, y).",
    "p11(x, y) :- p11(y, x).",
    "p11(x, y) :- p11(x, z), p11(z, y), x != y.",
    "p12(x, y) :- p2(x, y).",
    "p12(x, y) :- p12(x, z), p12(z, y), x != y.",
    "p13(x, y) :- p3(x, y).",
    "p14(x, y) :- p13(x, y).",
    "p13(x, y) :- p14(y, x).",
    "p20(x, y) :- p11(x, y).",
    "p20(x, y) :- p12(x, y).",
    "p20(x, y) :- p13(x, y).",
    "p21(x, y) :- p20(x, y).",
    "p22(x, y) :- p21(x, y).",
    "p20(x, y) :- p22(x, y).",
    "p25(x, z) :- p11(x, y), p12(y, z), !p5(y, z).",
    "p26(x, z) :- p12(x, y), p13(z, y), !p5(z, y).",
    "p30(x, z) :- p22(x, y), p21(y, z).",
    "p31(x, y) :- p25(x, y), p26(y, z).",
)
DERIVED = {rule.partition("(")[0] for rule in RULES}
STRATEGIES = ("counters", "hyper-node")
WIDTHS: Mapping[Size, tuple[int, ...]] = {"small": (8,), "paper": (50, 200), "max": (50, 200, 400)}
_TINY = 4


def chains(width: int) -> Facts:
    """Four chains of so many edges, each beginning where the one before ends."""
    return {f"p{number + 1}": [(node, node + 1) for node in range(number * width, (number + 1) * width)]
            for number in range(4)}


def program(without: int | None = None) -> str:
    """The rules, but for one of them; declarations keep the types when rules go."""
    relations = sorted({*DERIVED, "p1", "p2", "p3", "p4", "p5"})
    declared = [f".decl {relation}(x: number, y: number)" for relation in relations]
    return "\n".join([*declared, *(rule for number, rule in enumerate(RULES) if number != without)]) + "\n"


def jobs(size: Size) -> list[tuple[str, ...]]:
    """A process for each width and strategy."""
    return [(str(width), strategy) for width in WIDTHS[size] for strategy in STRATEGIES]


def run(case: tuple[str, ...], told: Run) -> list[Row]:
    """Every rule out and in, as often as asked."""
    width, strategy = int(case[0]), case[1]
    _Rules(_TINY, strategy).turn()  # nobody looks: everything is loaded now
    rules = _Rules(width, strategy)
    for _ in range(told.runs):
        rules.turn()
        if told.impatient:
            break
    return rules.rows()


class _Rules:
    """One materialisation, and what was measured on it, rule by rule."""

    def __init__(self, width: int, strategy: str) -> None:
        self.width, self.strategy, self.choice = width, strategy, Choice(strategy=strategy)
        self.facts = {relation: arrow(rows) for relation, rows in chains(width).items()}
        self.kb = holdfast.from_text(program(), facts=self.facts)
        self.size = size_of(self.kb)
        self.removed: list[list[Taken]] = [[] for _ in RULES]
        self.added: list[list[Taken]] = [[] for _ in RULES]
        self.without: list[list[float]] = [[] for _ in RULES]
        self.whole = list[float]()

    def turn(self) -> None:
        """Each rule once."""
        seconds, whole = from_scratch(program(), self.facts)
        self.whole.append(seconds)
        for number, rule in enumerate(RULES):
            self.removed[number].append(timed(self.kb, Update(remove_rules=[rule]), self.choice))
            seconds, right = from_scratch(program(number), self.facts)
            check(fingerprint(self.kb), right, f"removing r{number + 1} by {self.strategy}")
            self.without[number].append(seconds)
            self.added[number].append(timed(self.kb, Update(add_rules=[rule]), self.choice))
            check(fingerprint(self.kb), whole, f"adding r{number + 1} by {self.strategy}")

    def rows(self) -> list[Row]:
        """Both directions over all rules, and each rule for those who want to know."""
        table = f"rule changes, RS2 on four chains of {self.width} edges, {self.size:,} facts"
        rows = [
            row(table, f"a rule removed, {self.strategy}", chain(*self.removed), chain(*self.without), facts=self.size),
            row(table, f"a rule added, {self.strategy}", chain(*self.added), self.whole, facts=self.size),
        ]
        for number in range(len(RULES)):
            name = f"r{number + 1}"
            rows += [row(table, f"{name} removed, {self.strategy}", self.removed[number], self.without[number],
                         facts=self.size, hidden=True),
                     row(table, f"{name} added, {self.strategy}", self.added[number], self.whole, facts=self.size,
                         hidden=True)]
        return rows
