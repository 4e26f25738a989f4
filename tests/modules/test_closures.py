"""Closures where chance seldom leads: a step in two relations, loops, cliques, limits; and a module of one's own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from random import Random

import numpy as np
import pytest

import holdfast
from holdfast.backends.abilities import ModuleBudget
from holdfast.backends.memory import store
from holdfast.backends.memory.store import MemoryBackend
from holdfast.errors import LimitReached
from holdfast.maintenance.maintainer import Maintainer
from holdfast.modules import MODULES, Declined, Module, Rows, Service
from holdfast.program.model import HyperNode, Relation
from holdfast.program.patterns import Recognised, Shape, recognised
from holdfast.updates import Update

from ..amounts import amount

DECLARED = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl p(x: number, y: number)
"""
Facts = Mapping[str, list[tuple[int, ...]]]


def followed(rules: str, facts: Facts, *updates: Update, algorithm: str = "auto") -> None:
    """Each update leaves what generic evaluation derives from scratch, and says exactly what changed."""
    kb = holdfast.from_text(DECLARED + rules, facts=facts)
    now = {name: set(facts.get(name, ())) for name in ("e", "f", "p")}
    before = set(kb["p"])
    for update in updates:
        change = kb.apply(update, algorithm=algorithm)
        for name in now:
            now[name] = (now[name] - set(update.delete.get(name, ()))) | set(update.insert.get(name, ()))  # type: ignore
        scratch = holdfast.from_text(DECLARED + rules, modules=(), facts={name: sorted(now[name]) for name in now})
        after = set(scratch["p"])
        assert set(kb["p"]) == after
        assert set(change.added.get("p", ())) == after - before
        assert set(change.removed.get("p", ())) == before - after
        before = after


def test_a_step_that_is_in_two_relations() -> None:
    rules = "p(x, y) :- e(x, y). p(x, z) :- e(x, y), p(y, z). p(x, z) :- f(x, y), p(y, z)."
    facts: Facts = {"e": [(1, 2), (2, 3)], "f": [(1, 2), (0, 1)]}
    followed(
        rules,
        facts,
        Update(delete={"f": [(1, 2)]}),
        Update(delete={"e": [(1, 2)]}),
        Update(insert={"f": [(1, 2)]}),
        Update(delete={"f": [(0, 1)]}, insert={"e": [(3, 0)]}),
    )


@pytest.mark.parametrize(
    "rules",
    [
        "p(x, y) :- e(x, y). p(x, z) :- f(x, y), p(y, z).",
        "p(x, y) :- e(x, y). p(x, z) :- p(x, y), f(y, z).",
        "p(x, y) :- e(x, y). p(x, z) :- f(x, y), p(y, z). p(x, z) :- p(x, y), p(y, z).",
        "p(x, y) :- e(x, y). p(x, z) :- f(x, y), p(y, z). p(x, z) :- p(x, y), f(y, z). p(y, x) :- p(x, y).",
    ],
)
def test_steps_that_become_edges_and_are_no_longer(rules: str) -> None:
    facts: Facts = {"e": [(1, 2), (2, 3)], "f": [(1, 2), (2, 3)], "p": [(7, 7)]}
    followed(
        rules,
        facts,
        Update(insert={"f": [(3, 4), (0, 1)]}),
        Update(insert={"e": [(3, 4), (0, 1)]}),
        Update(delete={"e": [(2, 3)]}),
        Update(delete={"f": [(2, 3)]}),
        Update(insert={"p": [(2, 3), (4, 0)]}),
    )


@pytest.mark.parametrize(
    "rules",
    [
        "p(x, z) :- p(x, y), p(y, z), x != z.",
        "p(x, z) :- p(x, y), p(y, z), x != z. p(y, x) :- p(x, y).",
        "p(x, z) :- p(x, y), p(y, z), x != z. p(x, x) :- p(x, _).",
        "p(x, z) :- p(x, y), p(y, z). p(x, x) :- p(x, _). p(y, x) :- p(x, y).",
    ],
)
@pytest.mark.parametrize("algorithm", ["auto", "dred-counting", "backward-forward-counting", "recompute"])
def test_loops(rules: str, algorithm: str) -> None:
    facts: Facts = {"p": [(1, 2), (2, 1), (2, 3), (3, 3)]}
    followed(
        rules,
        facts,
        Update(delete={"p": [(3, 3)]}),
        Update(insert={"p": [(1, 1), (3, 1)]}),
        Update(delete={"p": [(2, 1), (3, 1)]}),
        Update(delete={"p": [(1, 1)]}),
        algorithm=algorithm,
    )


def test_a_clique_that_stays_connected_is_not_looked_at() -> None:
    rules = DECLARED + "p(x, z) :- p(x, y), p(y, z). p(y, x) :- p(x, y)."
    ring = [(node, (node + 1) % 200) for node in range(200)]
    kb = holdfast.from_text(rules, facts={"p": [*ring, (0, 100)]})
    assert len(kb["p"]) == 200 * 200
    assert not kb.apply(Update(delete={"p": [(0, 100)]}))
    assert not kb.apply(Update(delete={"p": [(5, 6)]}))
    assert len(kb.apply(Update(delete={"p": [(105, 106)]}))) == 2 * 100 * 100


def test_limits_hold_inside_a_closure() -> None:
    rules = DECLARED + "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z)."
    chain = [(node, node + 1) for node in range(3_000)]
    with pytest.raises(LimitReached, match="E0802"):
        holdfast.from_text(rules, facts={"e": chain}, limits=holdfast.Limits(facts=1_000_000))
    kb = holdfast.from_text(rules, facts={"e": chain[:600]}, limits=holdfast.Limits(facts=200_000))
    with pytest.raises(LimitReached, match="E0802"):
        kb.apply(Update(insert={"e": chain}))
    assert len(kb["p"]) == 600 * 601 // 2
    kept = 1 << 16  # bytes
    assert kb.statistics.memory > kept > holdfast.from_text(rules, facts={"e": chain[:10]}).statistics.memory
    with pytest.raises(LimitReached, match="E0804"):
        holdfast.from_text(rules, facts={"e": chain[:600]}, limits=holdfast.Limits(memory=kept))
    with pytest.raises(LimitReached, match="E0803"):
        holdfast.from_text(rules, facts={"e": chain}, limits=holdfast.Limits(seconds=1e-6))
    assert len(kb.apply(Update(delete={"e": chain[300:301]})).removed["p"]) == 301 * 300


class BothWays(Module):
    """As in docs/modules.md."""

    name = "both-ways"
    about = "what holds both ways"

    def offers(self, node: HyperNode, relations: Mapping[str, Relation]) -> Iterator[Service | Declined]:
        for rule in node.recursive:
            found = recognised(rule, node.predicates, relations)
            if isinstance(found, Recognised) and found.shape is Shape.SYMMETRIC:
                yield Service(self, found.slice, (rule,), alone=len(node.recursive) == 1)
            else:
                yield Declined((rule,), "it does not turn a pair round")

    def uses(self, service: Service, X: Rows, Δ: Rows) -> Rows:
        return np.concatenate([Δ, Δ[:, ::-1]])

    def among(self, service: Service, X: Rows, goals: Rows) -> Rows:
        known = {*map(tuple, X.tolist()), *map(tuple, X[:, ::-1].tolist())}
        return goals[np.array([tuple(goal) in known for goal in goals.tolist()], bool)]


@pytest.mark.parametrize("rules", ["p(y, x) :- p(x, y).", "p(y, x) :- p(x, y). p(x, z) :- p(x, y), e(y, z)."])
@pytest.mark.parametrize("algorithm", ["auto", "dred-counting", "backward-forward-counting", "recompute", "dred"])
def test_a_module_of_ones_own(rules: str, algorithm: str) -> None:
    kb = holdfast.from_text(
        DECLARED + rules,
        facts={"p": [(1, 2), (2, 1), (3, 4)], "e": [(1, 3)]},
        modules=[BothWays(), *(m for m in MODULES if m.name != "symmetric-transitive-closure")],
    )
    scratch = {(1, 2), (2, 1), (3, 4)}
    for delete, insert in ([(1, 2)], []), ([(2, 1)], [(5, 5)]), ([], [(4, 1)]), ([(3, 4), (4, 1)], [(1, 3)]):
        kb.apply(Update(delete={"p": delete}, insert={"p": insert}), algorithm=algorithm)
        scratch = (scratch - set(delete)) | set(insert)
        generic = holdfast.from_text(DECLARED + rules, facts={"p": sorted(scratch), "e": [(1, 3)]}, modules=())
        assert set(kb["p"]) == set(generic["p"])


FORMS = (
    "p(x, z) :- p(x, y), p(y, z).",
    "p(y, x) :- p(x, y).",
    "p(x, x) :- p(x, _).",
    "p(x, x) :- p(_, x).",
    "p(x, z) :- e(x, y), p(y, z).",
    "p(x, z) :- p(x, y), e(y, z).",
    "p(x, z) :- f(x, y), p(y, z).",
    "p(x, z) :- p(x, y), f(z, y).",
    "p(x, y) :- e(x, y).",
    "p(x, y) :- f(y, x).",
)


@pytest.mark.parametrize("part", range(2))
def test_from_any_form_of_closure_to_any_other(part: int) -> None:
    taken_over = 0
    for seed in range(amount(40, 2)):
        random = Random(40 * part + seed)
        facts = {name: {(random.randrange(5), random.randrange(5)) for _ in range(5)} for name in ("e", "f", "p")}
        rules = random.sample(FORMS, random.randint(1, 4))
        kb = holdfast.from_text(DECLARED + " ".join(rules), facts={name: sorted(facts[name]) for name in facts})
        for _ in range(4):
            add = [rule for rule in FORMS if rule not in rules and random.random() < 0.15]
            remove = [rule for rule in rules if random.random() < 0.3]
            rules, before = [rule for rule in rules if rule not in remove] + add, set(kb["p"])
            gone = {name: {pair for pair in facts[name] if random.random() < 0.1} for name in facts}
            facts = {name: facts[name] - gone[name] for name in facts}
            change = kb.apply(
                Update(delete={name: sorted(gone[name]) for name in gone}, add_rules=add, remove_rules=remove)
            )
            after = set(
                holdfast.from_text(
                    DECLARED + " ".join(rules), modules=(), facts={name: sorted(facts[name]) for name in facts}
                )["p"]
            )
            assert set(kb["p"]) == after
            assert set(change.added.get("p", ())) == after - before
            assert set(change.removed.get("p", ())) == before - after
            taken_over += bool(add or remove) and any(node.algorithm == "exact" for node in change.figures)
    assert taken_over > amount(30, 0)


@pytest.mark.only_in_memory("elsewhere all facts that modules derive are rows")
def test_a_view_stays_as_it_was_and_a_query_makes_no_rows() -> None:
    rules = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z). far(x) :- start(x), !path(x, 60)."
    kb = holdfast.from_text(rules, facts={"edge": [(n, n + 1) for n in range(99)], "start": [(7,), (70,)]})
    before, rows = kb["path"], kb._backend.tables["path"]  # type: ignore[attr-defined]
    known = rows.size
    assert set(kb["far"]) == {(70,)}
    assert len(kb.query("path(90, x)")) == 9
    assert len(kb.query("path(x, 3), path(2, y)")) == 3 * 97
    assert "path" in kb._backend.virtual
    assert rows.size == known  # a query makes rows of its answers in tables of its own
    change = kb.apply(holdfast.Update(delete={"edge": [(50, 51)]}, insert={"edge": [(200, 99)]}))
    assert set(change.added["far"]) == {(7,)}
    assert (0, 99) in before and (200, 99) not in before and (0, 99) not in kb["path"] and (200, 99) in kb["path"]
    assert len(before) == len(set(before)) == 99 * 100 // 2
    assert set(kb.query("path(x, 99), x > 97")) == {(98,), (200,)}
    assert "path" in kb._backend.virtual


def test_sizes_count_what_is_not_written_out() -> None:
    kb = holdfast.from_text(
        "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z).",
        facts={"edge": [(n, n + 1) for n in range(9)]},
    )
    kb.apply(holdfast.Update(delete={"edge": [(8, 9)]}, insert={"edge": [(20, 21)]}))
    assert kb.sizes() == {"edge": 9, "path": 37}
    assert len(kb["path"]) == len(list(kb["path"])) == 37


def test_values_that_are_gone_do_not_stay_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream over ever new values does not keep them all, and answers are right when numbers are given anew."""
    monkeypatch.setattr("holdfast.modules.closure_state._SPARE", 8)
    kb = holdfast.from_text(
        "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).", facts={"edge": [(0, 1), (1, 2), (2, 3)]}
    )
    for n in range(3, amount(100, 10)):
        update = holdfast.Update(delete={"edge": [(n - 3, n - 2)]}, insert={"edge": [(n, n + 1)]})
        change = kb.apply(update, algorithm=holdfast.Choice("auto", {"path": "exact"}))  # auto may leave the module
        assert set(kb["path"]) == {(x, y) for x in range(n - 2, n + 1) for y in range(x + 1, n + 2)}
        assert set(change.removed["path"]) == {(n - 3, y) for y in range(n - 2, n + 1)}
        [(_, state)] = kb._maintainer.states._kept.values()
        assert len(state.numbering.values) <= 8 + 4 * (3 + 3) + 1


def bounded(*, most_for_modules: float = math.inf, most_by_modules: float = math.inf) -> type[MemoryBackend]:
    """A memory backend on which modules have a budget, as they have it on Spark."""
    budget = {"most_for_modules": most_for_modules, "most_by_modules": most_by_modules}
    return type("Bounded", (MemoryBackend, ModuleBudget), budget)


CLOSURE = "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z)."
COMPANY = "p(y, x) :- p(x, y), f(x, y)."


@pytest.mark.only_in_memory("it gives the memory engine a budget; spark_parted/test_programs.py does it there")
@pytest.mark.parametrize(
    ("rules", "algorithm"),
    [
        (CLOSURE, "auto"),
        ("p(x, y) :- e(x, y). p(x, z) :- f(x, y), p(y, z).", "auto"),
        (CLOSURE + COMPANY, "auto"),
        (CLOSURE + COMPANY, "backward-forward-counting"),
        (CLOSURE + COMPANY, "recompute"),
    ],
)
def test_modules_that_would_derive_too_much_after_an_update_are_left_out(
    monkeypatch: pytest.MonkeyPatch, rules: str, algorithm: str
) -> None:
    """As on Spark, where they work on the driver.  The update that is too much, and all after it, are exact."""
    dice, without, gave_up = Random(7), Maintainer._do_without_modules, []
    monkeypatch.setattr(store, "MemoryBackend", bounded(most_by_modules=20))
    monkeypatch.setattr(Maintainer, "_do_without_modules", lambda self: (gave_up.append(self), without(self)))
    edges = [(dice.randrange(9), dice.randrange(9)) for _ in range(60)]
    updates = [
        Update(insert={"e": edges[i : i + 3], "f": edges[i : i + 2]}, delete={"e": edges[i - 9 : i - 7]})
        for i in range(9, 60, 3)
    ]
    followed(rules, {"e": edges[:4], "f": edges[2:5]}, *updates, algorithm=algorithm)
    assert len(gave_up) == 1


def test_too_many_explicit_facts_for_modules() -> None:
    kb = holdfast.from_text(DECLARED + CLOSURE, {"e": [(1, 2), (2, 3)]}, engine=bounded(most_for_modules=4))
    algorithms = [
        [node.algorithm for node in kb.apply(Update(insert={"e": [(n, n + 1), (n + 1, n + 2)]})).figures]
        for n in (3, 5)
    ]
    assert ["exact" in names for names in algorithms] == [True, False]
    assert len(kb["p"]) == 21
    assert kb.counters("p")[(1, 4)] == (0, 2)
