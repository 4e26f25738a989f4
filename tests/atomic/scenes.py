"""What may be interrupted: small updates, rule changes, windows, queries and openings that meet every path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.maintenance.algorithms import Choice
from holdfast.modules import MODULES
from holdfast.streaming.driver import Lookahead
from holdfast.streaming.queue import UpdateQueue

Facts = Mapping[str, Sequence[tuple[Any, ...]]]
Action = Callable[[KnowledgeBase], object]

REACH = """
reach(x, y) :- edge(x, y).
reach(x, z) :- reach(x, y), hop(y, z).
hop(x, y) :- edge(x, y), !bad(y).
node(x) :- edge(x, _).
node(y) :- edge(_, y).
far(x, y) :- reach(x, y), !edge(x, y).
size(n) :- n = count : { reach(_, _) }.
"""
CLOSURE = """
reach(x, y) :- edge(x, y).
reach(x, z) :- reach(x, y), reach(y, z).
seen(y) :- start(x), reach(x, y).
"""
BOTH_WAYS = """
same(x, y) :- link(x, y).
same(y, x) :- same(x, y).
same(x, z) :- same(x, y), same(y, z).
same(x, y) :- same(x, z), more(z, y).
"""
WORDS = """
.decl word(x: symbol)
.decl other(x: any)
.decl pair(x: symbol, y: symbol)
.decl long(x: symbol)
pair(x, y) :- word(x), word(y), x < y.
long(cat(x, y)) :- pair(x, y).
long(cat(x, "!")) :- long(x), strlen(x) < 4.
"""
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5), (5, 4), (6, 7)]
MANY = [(i, (i * 7 + 3) % 41) for i in range(41)]


@dataclass(frozen=True)
class Scene:
    """A knowledge base, what happens before, and what is interrupted."""

    name: str
    text: str
    facts: Facts
    action: Action
    before: tuple[Update, ...] = ()
    modules: Sequence[str] = ()
    later: tuple[Update, ...] = ()
    """Updates that come afterwards, whatever the state is then."""

    def opened(self) -> KnowledgeBase:
        kb = holdfast.from_text(self.text, self.facts, modules=self.modules)
        for update in self.before:
            kb.apply(update)
        return kb


def applied(update: Update, algorithm: str | Choice = "auto") -> Action:
    return lambda kb: kb.apply(update, algorithm=algorithm)


def streamed(*updates: Update, lookahead: str) -> Action:
    def action(kb: KnowledgeBase) -> object:
        queue = UpdateQueue()
        for update in updates:
            queue.put(update)
        queue.close()
        return list(kb.stream(queue, lookahead=Lookahead(lookahead, window=2)))

    return action


def by_window(*updates: Update) -> Action:
    def action(kb: KnowledgeBase) -> object:
        window = kb.window(updates)
        return [window.advance() for _ in updates]

    return action


BOTH = Update(delete={"edge": [(2, 3), (6, 7)]}, insert={"edge": [(4, 6), (0, 7), (7, 8)], "bad": [(2,)]})
ONLY_OUT = Update(delete={"edge": [(0, 1), (3, 4)]})
GROWS = Update(insert={"edge": [(i, i + 1) for i in range(10, 90)]})
LATER = (
    Update(insert={"edge": [(5, 0), (2, 9)]}, delete={"edge": [(1, 2)]}),
    Update(delete={"edge": [(5, 0), (3, 0), (4, 5)]}, insert={"edge": [(1, 2), (9, 3)]}),
)
RULES = Update(
    add_rules=["far(x, x) :- node(x), !bad(x).", "twice(x, z) :- hop(x, y), hop(y, z)."],
    remove_rules=["reach(x, z) :- reach(x, y), hop(y, z)."],
    insert={"edge": [(8, 9)]},
)
TURNED = Update(add_rules=["edge2(x, y) :- reach(x, y).", "hop(x, y) :- far(x, y), edge2(y, x), x < y."])
WINDOW = (ONLY_OUT, Update(insert={"edge": [(0, 1), (8, 0)]}), BOTH, Update(delete={"edge": [(8, 0)]}))
LINKS = Update(delete={"link": [(1, 2)]}, insert={"link": [(3, 9)], "more": [(4, 8)]})
LINKS_LATER = (
    Update(insert={"link": [(1, 2), (5, 6)]}, delete={"more": [(2, 3)]}),
    Update(delete={"link": [(0, 1)]}),
)
LINKED: Facts = {"link": [(0, 1), (1, 2), (3, 4)], "more": [(2, 3)]}
WORDY = Update(
    insert={"word": [("c",), ("new",), ("other",)], "other": [(1,), ("x",), (2.5,)]}, delete={"word": [("a",)]}
)


def scenes() -> list[Scene]:
    reach: Facts = {"edge": EDGES, "bad": [(5,)]}
    closed: Facts = {"edge": MANY, "start": [(0,), (5,)]}
    return [
        *(
            Scene(f"{name}, {how}", REACH, reach, applied(update, Choice(name)), later=LATER)
            for name in (
                "dred",
                "dred-counting",
                "dred-ranked",
                "backward-forward",
                "backward-forward-counting",
                "recompute",
            )
            for how, update in (("both", BOTH), ("out", ONLY_OUT))
        ),
        Scene("auto, grows", REACH, reach, applied(GROWS), later=LATER),
        Scene("uncounted before", REACH, reach, applied(BOTH, Choice("dred-counting")), later=LATER),
        Scene("rules", REACH, reach, applied(RULES), later=LATER),
        Scene("rules by hyper-node", REACH, reach, applied(RULES, Choice(strategy="hyper-node")), later=LATER),
        Scene("rules become recursive", REACH, reach, applied(TURNED), later=LATER),
        Scene(
            "relations go",
            REACH,
            reach,
            applied(Update(remove_rules=["far(x, y) :- reach(x, y), !edge(x, y)."])),
            later=LATER,
        ),
        Scene("what if", REACH, reach, lambda kb: kb.what_if(BOTH), later=LATER),
        Scene(
            "what if rules", REACH, reach, lambda kb: kb.what_if(RULES, algorithm=Choice("dred-counting")), later=LATER
        ),
        Scene("impact", REACH, reach, lambda kb: kb.impact(BOTH), later=LATER),
        Scene("net", REACH, reach, lambda kb: kb.apply_net(WINDOW), later=LATER),
        Scene(
            "query",
            REACH,
            reach,
            lambda kb: set(kb.query("reach(x, y), !edge(x, y), n = count : { edge(x, _) }")),
            later=LATER,
        ),
        Scene("counters", REACH, reach, lambda kb: kb.counters("reach"), before=(ONLY_OUT,), later=LATER),
        Scene("all at once", REACH, reach, lambda kb: kb.apply_all(WINDOW), later=LATER),
        Scene("window", REACH, reach, by_window(*WINDOW), later=LATER),
        Scene("stream of windows", REACH, reach, streamed(*WINDOW, lookahead="window"), later=LATER),
        Scene("stream with marks", REACH, reach, streamed(*WINDOW, lookahead="marks"), later=LATER),
        Scene("closure", CLOSURE, closed, applied(BOTH_OF_CLOSURE), modules=MODULES, later=LATER),
        Scene(
            "closure is read",
            CLOSURE,
            closed,
            lambda kb: (3, 4) in set(kb.query("reach(x, y), start(x)")),
            modules=MODULES,
            later=LATER,
        ),
        Scene(
            "closure at once", CLOSURE, closed, lambda kb: kb.apply_all(CLOSURE_WINDOW), modules=MODULES, later=LATER
        ),
        Scene(
            "closure by dred-counting",
            CLOSURE,
            closed,
            applied(BOTH_OF_CLOSURE, Choice("dred-counting")),
            modules=MODULES,
            later=LATER,
        ),
        Scene(
            "closure without its module",
            CLOSURE,
            closed,
            applied(BOTH_OF_CLOSURE, Choice("dred")),
            modules=MODULES,
            later=LATER,
        ),
        Scene("closure with another rule", CLOSURE, closed, applied(ANOTHER_RULE), modules=MODULES, later=LATER),
        Scene("closure's counters", CLOSURE, closed, lambda kb: kb.counters("reach"), modules=MODULES, later=LATER),
        *(
            Scene(
                f"module in company, {name}",
                BOTH_WAYS,
                LINKED,
                applied(LINKS, Choice(name)),
                modules=MODULES,
                later=LINKS_LATER,
            )
            for name in ("dred-counting", "backward-forward-counting", "recompute")
        ),
        Scene(
            "words",
            WORDS,
            {"word": [("a",), ("b",)]},
            applied(WORDY),
            later=(Update(insert={"word": [("d",), ("new",)]}),),
        ),
        Scene("opening", REACH, reach, lambda _: holdfast.from_text(REACH, reach), later=LATER),
        Scene(
            "opening with modules",
            CLOSURE,
            closed,
            lambda _: holdfast.from_text(CLOSURE, closed),
            modules=MODULES,
            later=LATER,
        ),
    ]


BOTH_OF_CLOSURE = Update(delete={"edge": [(0, 3), (3, 24)]}, insert={"edge": [(50, 0), (7, 50)], "start": [(9,)]})
CLOSURE_WINDOW = (
    BOTH_OF_CLOSURE,
    Update(insert={"edge": [(0, 3)]}),
    Update(delete={"edge": [(7, 50)], "start": [(5,)]}),
)
ANOTHER_RULE = Update(add_rules=["reach(x, y) :- reach(y, x), start(x)."])
