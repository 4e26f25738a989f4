"""Closures from few sources are opened by rules where these visit little, which is counted; else by a module."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import holdfast
from holdfast import KnowledgeBase, Limits, Update
from holdfast.knowledge import derived_cache
from holdfast.maintenance import few_sources
from holdfast.maintenance.algorithms import Choice
from holdfast.maintenance.few_sources import FewSources
from holdfast.store.writing import Store

from ..amounts import some
from ..equivalence.rank_check import wrong_ranks
from ..equivalence.reference import counters_of

pytestmark = pytest.mark.only_in_memory("other engines have no modules beside ranks")

NODES = 1_500
DECLARED = ".decl start(x: number)\n.decl cites(x: number, y: number)\n.decl seen(x: number, y: number)\n"
FROM = DECLARED + "seen(s, y) :- start(s), cites(s, y).  seen(s, z) :- seen(s, y), cites(y, z)."
TO = DECLARED + "seen(x, t) :- cites(x, t), start(t).  seen(x, t) :- cites(x, y), seen(y, t)."
Pair = tuple[int, int]


def random_cites(seed: int, each: int = 3) -> list[Pair]:
    random = Random(seed)
    return sorted({(x, random.randrange(NODES)) for x in range(NODES) for _ in range(each)})


def chain() -> list[Pair]:
    return [(x, x + 1) for x in range(5_000)]


def opened(cites: list[Pair], starts: range | list[int], rules: str = FROM, **options: object) -> KnowledgeBase:
    facts = {"start": [(x,) for x in starts], "cites": cites}
    return holdfast.from_text(rules, facts=facts, **options)  # type: ignore[arg-type]


def by_rules(kb: KnowledgeBase) -> str:
    return kb._maintainer.states.by_rules.get("seen", "")


def first(kb: KnowledgeBase, update: Update) -> tuple[str, str]:
    [node] = [node for node in kb.apply(update).figures if node.predicates == ("seen",)]
    return node.algorithm, node.why


class Tries:
    """How often rules were tried for some sources, and what they had visited each time they were given up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.followed, self.in_vain = list[FewSources](), list[int]()
        self._real = FewSources._follow, FewSources._drop
        tries = self

        def follow(self: FewSources, *given: Any) -> bool:
            tries.followed.append(self)
            return tries._real[0](self, *given)

        def drop(self: FewSources, *given: Any) -> None:
            tries.in_vain.append(self.instances)
            tries._real[1](self, *given)

        monkeypatch.setattr(FewSources, "_follow", follow)
        monkeypatch.setattr(FewSources, "_drop", drop)


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> Tries:
    return Tries(monkeypatch)


@pytest.mark.parametrize(("rules", "kind"), [(FROM, "sources"), (TO, "targets")], ids=["from few", "to few"])
def test_few_sources_are_followed_by_rules(rules: str, kind: str) -> None:
    cites = random_cites(1)
    kb, generic = opened(cites, [1, 2, 3], rules), opened(cites, [1, 2, 3], rules, modules=())
    assert by_rules(kb) == f"3 {kind} are few beside {len(cites):,} steps"
    assert set(kb["seen"]) == set(generic["seen"])
    assert counters_of(kb) == counters_of(generic)
    assert wrong_ranks(kb) is None
    assert kb.statistics.nodes[-1].instances == generic.statistics.nodes[-1].instances
    assert kb.statistics.derived == generic.statistics.derived
    edges = cites[100:120]
    for update in (Update(delete={"cites": edges}), Update(insert={"cites": edges})):
        kb.apply(update)
        generic.apply(update)
        assert wrong_ranks(kb) is None
        assert set(kb["seen"]) == set(generic["seen"])


def test_the_first_update_is_by_rules_and_says_why() -> None:
    kb = opened(random_cites(1), [1, 2])
    algorithm, why = first(kb, Update(delete={"cites": [*kb.explicit("cites")][:2]}))
    assert algorithm in ("dred-ranked", "recompute")  # which of them, a clock says
    assert "without transitive-closure: 2 sources are few beside" in why


def test_the_same_facts_are_opened_in_the_same_way() -> None:
    cites = random_cites(2)
    found = {(by_rules(kb), kb.statistics.instances) for kb in (opened(cites, range(5)) for _ in range(5))}
    assert len(found) == 1


@pytest.mark.parametrize(
    ("cites", "starts"),
    [
        (chain(), [0, 1]),
        (random_cites(3, 5), range(60)),
        (random_cites(3)[:3_000], [1]),
        (random_cites(3), range(NODES)),
    ],
    ids=["far", "too much", "small", "many sources"],
)
def test_elsewhere_a_module_begins(cites: list[Pair], starts: list[int]) -> None:
    kb, generic = opened(cites, starts), opened(cites, starts, modules=())
    assert not by_rules(kb)
    assert (kb.statistics.derived, kb.statistics.facts) == (generic.statistics.derived, generic.statistics.facts)
    assert kb.statistics.nodes[-1].rounds == 1  # those that were tried do not count
    algorithm, _ = first(kb, Update(delete={"cites": cites[:2]}, insert={"cites": [(0, 77), (1, 7)]}))
    assert algorithm == "exact"
    generic.apply(Update(delete={"cites": cites[:2]}, insert={"cites": [(0, 77), (1, 7)]}))
    assert set(kb["seen"]) == set(generic["seen"])


@pytest.mark.parametrize(
    ("cites", "starts", "followed"),
    [(chain(), [0, 1], 1), (random_cites(3, 5), range(60), 1), (random_cites(3), range(NODES), 0)],
    ids=["far", "too much", "many sources"],
)
def test_little_is_tried_in_vain(cites: list[Pair], starts: list[int], followed: int, tries: Tries) -> None:
    opened(cites, starts)
    assert len(tries.followed) == len(tries.in_vain) == followed
    assert all(instances <= few_sources._SAMPLE * len(cites) for instances in tries.in_vain)
    most = 1 + few_sources._VISITS * len(cites) / few_sources._ROUND
    assert all(few._rounds <= most for few in tries.followed)


def test_sources_unlike_the_first_ones_are_given_up() -> None:
    """The sample reaches nothing, the others everything."""
    cites = [*random_cites(4, 5), *((NODES + x, 2 * NODES) for x in range(4))]
    starts = [*range(NODES, NODES + 4), *range(80)]
    kb, generic = opened(cites, starts), opened(cites, starts, modules=())
    assert not by_rules(kb)
    assert first(kb, Update(delete={"cites": cites[5:8]}))[0] == "exact"
    generic.apply(Update(delete={"cites": cites[5:8]}))
    assert set(kb["seen"]) == set(generic["seen"])


@pytest.mark.parametrize("limits", [Limits(rounds=1_000), Limits(memory=2**40)], ids=["rounds", "memory"])
def test_limits_that_rules_would_reach_earlier_are_kept_by_modules(limits: Limits) -> None:
    assert not by_rules(opened(random_cites(1), [1, 2], limits=limits))


def test_a_store_opens_as_it_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "worth_caching", 0.0)
    facts = {"cites": random_cites(1), "start": [(1,), (2,)]}
    holdfast.from_text(FROM, facts, store=tmp_path / "kb").close()
    with holdfast.open(tmp_path / "kb") as kb:
        assert not by_rules(kb)  # it was not evaluated
        follow(kb, "without transitive-closure: they maintained it before")


def test_a_store_may_be_opened_by_rules_where_a_module_was_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a module knew is evaluated again: what the cache says of the counters is of other relations."""
    monkeypatch.setattr(Store, "worth_caching", 0.0)
    monkeypatch.setattr(derived_cache, "_FEW", 0)
    facts = {"cites": random_cites(1), "start": [(x,) for x in range(20)]}
    with monkeypatch.context() as patch:
        patch.setattr(few_sources, "_VISITS", 0)
        with holdfast.from_text(FROM, facts, store=tmp_path / "kb") as kb:
            assert not by_rules(kb)
            assert "seen" in kb._backend.virtual  # type: ignore[attr-defined]
    monkeypatch.setattr(few_sources, "_VISITS", 99)
    with holdfast.open(tmp_path / "kb") as kb:
        assert by_rules(kb)
        follow(kb, "without transitive-closure: 20 sources are few")


def test_what_was_given_up_leaves_no_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tries: Tries) -> None:
    """A module that begins anew takes facts with a count for external ones."""
    monkeypatch.setattr(Store, "worth_caching", 0.0)
    monkeypatch.setattr(few_sources, "_VISITS", 3)
    facts = {"cites": random_cites(1), "start": [(1,), (2,)]}
    holdfast.from_text(FROM, facts, store=tmp_path / "kb").close()
    [visited] = tries.in_vain
    assert visited > 1_000
    with holdfast.open(tmp_path / "kb") as kb:
        follow(kb, "transitive-closure serves all its recursive rules")


def follow(kb: KnowledgeBase, expected: str) -> None:
    generic = holdfast.from_text(FROM, {name: [*kb.explicit(name)] for name in ("cites", "start")}, modules=())
    edges = [(x, y) for x, y in kb.explicit("cites") if x == 1]  # all that 1 reaches goes
    for update in (Update(delete={"cites": edges}), Update(insert={"cites": edges})):
        assert expected in first(kb, update)[1]
        generic.apply(update)
        assert set(kb["seen"]) == set(generic["seen"])
        assert wrong_ranks(kb) is None
    assert counters_of(kb) == counters_of(generic)


SHAPES = (
    FROM,
    TO,
    FROM + " seen(s, z) :- seen(s, y), links(y, z).",
    TO + " other(x) :- cites(x, _), !seen(x, _).",
    DECLARED + "seen(x, y) :- links(x, y).  seen(s, z) :- seen(s, y), cites(z, y).",
)
ALGORITHMS = ("auto", "auto", "auto", "exact", "recompute", "dred-counting", "backward-forward-counting", "dred-ranked")


@pytest.mark.parametrize("part", range(4))
def test_opened_by_rules_or_nearly_the_state_is_right(part: int, tries: Tries, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever follows: other algorithms, modules, what-if, rules that come and go."""
    for name, number in (("_STEPS", 1), ("_EACH", 0), ("_ROUND", 0)):
        monkeypatch.setattr(few_sources, name, number)
    for seed in range(part * 100, part * 100 + some(60)):
        random = Random(seed)
        monkeypatch.setattr(few_sources, "_SAMPLE", random.choice((1, 2, 9)))
        monkeypatch.setattr(few_sources, "_VISITS", random.choice((0.5, 1, 2, 99)))
        rules = ".decl links(x: number, y: number)\n.decl other(x: number)\n" + random.choice(SHAPES)
        pairs = [(x, y) for x in range(9) for y in range(9)]
        facts = {name: set(random.sample(pairs, random.randrange(3, 20))) for name in ("cites", "links")}
        starts = {(x,) for x in random.sample(range(9), 3)}
        kb = holdfast.from_text(rules, {**facts, "start": starts})
        for _ in range(6):
            update = _random_update(random, facts, pairs)
            for name in facts:
                facts[name] = (facts[name] - set(update.delete[name])) | set(update.insert[name])
            if random.random() < 0.2:
                kb.what_if(update)
            if random.random() < 0.2:
                kb.apply(Update(add_rules=['#[name("more")] seen(y, x) :- seen(x, y).']))
                kb.apply(Update(remove_rules=["more"]))
            kb.apply(update, algorithm=Choice("auto", {"seen": random.choice(ALGORITHMS)}))
            generic = holdfast.from_text(rules, {**facts, "start": starts}, modules=())
            assert {name: set(kb[name]) for name in kb} == {name: set(generic[name]) for name in generic}, seed
            assert wrong_ranks(kb) is None, seed
            if random.random() < 0.3:
                assert counters_of(kb) == counters_of(generic), seed
    assert len(tries.followed) > len(tries.in_vain) > 0


def _random_update(random: Random, facts: dict[str, set[Pair]], pairs: list[Pair]) -> Update:
    gone = {name: random.sample(sorted(rows), random.randrange(min(4, len(rows) + 1))) for name, rows in facts.items()}
    come = {name: random.sample(pairs, random.randrange(4)) for name in facts}
    return Update(delete=gone, insert={name: sorted({*rows} - {*gone[name]}) for name, rows in come.items()})
