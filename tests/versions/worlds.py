"""Random programs that change: updates of facts and rules, and everything that a knowledge base says."""

from __future__ import annotations

from random import Random

import holdfast
from holdfast import KnowledgeBase, KnowledgeSnapshot, Update

PROGRAM = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
hop(x, z) :- edge(x, y), edge(y, z), x != z.
dead(x) :- label(x, _), !edge(x, _).
degree(x, n) :- edge(x, _), n = count : { edge(x, _) }.
named(s, y) :- label(x, s), path(x, y).
"""
RULES = (
    "hop(x, x) :- edge(x, x).",
    "path(x, y) :- edge(y, x), x > 6.",
    "extra(x, y) :- path(x, y), !edge(x, y).",
    "far(x) :- extra(x, _), degree(x, n), n > 1.",
)
NODES = 10


def opened(dice: Random, *, modules: bool = True) -> KnowledgeBase:
    """A program with some facts."""
    edges = sorted({(dice.randrange(NODES), dice.randrange(NODES)) for _ in range(14)})
    facts = {"edge": edges, "label": [(x, f"s{x % 3}") for x in range(4)]}
    return holdfast.from_text(PROGRAM, facts) if modules else holdfast.from_text(PROGRAM, facts, modules=())


def update(dice: Random, kb: KnowledgeBase) -> Update:
    """Some facts that go and come, sometimes a rule."""
    edges = [[(dice.randrange(NODES), dice.randrange(NODES)) for _ in range(dice.randint(0, 5))] for _ in range(2)]
    labels = [[(dice.randrange(NODES), f"s{dice.randrange(30)}") for _ in range(dice.randint(0, 2))] for _ in range(2)]
    gone = dice.sample(sorted(kb.explicit("edge")), min(2, len(kb.explicit("edge"))))
    facts = Update({"edge": edges[0] + gone, "label": labels[0]}, {"edge": edges[1], "label": labels[1]})
    if dice.random() < 0.75:
        return facts
    rule = dice.choice(RULES)
    there = rule.replace(" ", "") in kb.rules_text().replace(" ", "")
    return Update(facts.delete, facts.insert, add_rules=[] if there else [rule], remove_rules=[rule] if there else [])


def step(dice: Random, kb: KnowledgeBase) -> None:
    """One or several updates, in one of the ways there are."""
    match dice.randrange(6):
        case 0:
            updates = [Update(u.delete, u.insert) for u in (update(dice, kb) for _ in range(3))]
            kb.apply_all(updates)
        case 1:
            updates = [Update(u.delete, u.insert) for u in (update(dice, kb) for _ in range(3))]
            kb.apply_net(updates)
        case 2:
            kb.what_if(update(dice, kb))
        case _:
            kb.apply(update(dice, kb))


State = tuple[int, str, dict[str, set[object]], dict[str, set[object]]]


def state_of(kb: KnowledgeBase | KnowledgeSnapshot) -> State:
    """Version, rules, all facts and the explicit ones."""
    names = list(kb.relations)
    return (
        kb.version,
        kb.rules_text(),
        {name: set(kb[name]) for name in names},
        {name: set(kb.explicit(name)) for name in names},
    )
