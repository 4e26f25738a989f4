"""A watch reports exactly what changes: its first answers and all changes together are the answers now."""

from __future__ import annotations

import threading
from random import Random

import pytest

import holdfast
from holdfast import QueryWatch, Update
from holdfast.knowledge.watching import WatchedRule

from .worlds import NODES, opened, step

pytestmark = pytest.mark.only_in_memory("Spark keeps no versions")

TEXTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("edge(x, y)", ()),
    ("path($x, y)", ("x",)),
    ("path(1, $x)", ("x",)),
    ("path($x, $y)", ("x", "y")),
    ("path($x, _)", ("x",)),
    ("edge($x, y), !edge(y, $x)", ("x",)),
    ("label(x, s), path(x, $y)", ("y",)),
    ("degree($x, n), n > $y", ("x", "y")),
    ("n = count : { path($x, _) }", ("x",)),
    ("hop(x, x)", ()),
    ("edge($x, y) ; edge(y, $x)", ("x",)),
)


def drained(watch: QueryWatch) -> list[holdfast.WatchChange]:
    found = []
    while (change := watch.next(timeout=0)) is not None:
        found.append(change)
    return found


def follow(rows: set[object], changes: list[holdfast.WatchChange]) -> None:
    """Each change adds what is not there and removes what is."""
    for change in changes:
        assert not change.added & rows and change.removed <= rows
        assert not change.added & change.removed and (change.added or change.removed)
        rows |= change.added
        rows -= change.removed


@pytest.mark.parametrize("seed", range(6))
def test_changes_are_exact(seed: int) -> None:
    dice = Random(seed)
    kb = opened(dice, modules=bool(seed % 2))
    watched = []
    for text, names in TEXTS:
        for _ in range(2):
            values = {name: dice.randrange(NODES) for name in names}
            watch = kb.watch(text, values, initial=True)
            watched.append((watch, text, values, set[object]()))
    for _ in range(15):
        step(dice, kb)
        for watch, text, values, rows in watched:
            changes = drained(watch)
            assert [change.version for change in changes] == sorted(change.version for change in changes)
            follow(rows, changes)
            assert rows == set(kb.query(text, values)) == set(watch.rows), (text, values)


def test_a_thousand_watches_of_one_shape_are_one_rule() -> None:
    kb = holdfast.from_text("p(x, y) :- e(x, y).", {"e": [(i, i + 1) for i in range(1000)]})
    watches = [kb.watch("p($x, y), !e(y, $x)", {"x": x}) for x in range(1000)]
    [shape] = kb._watches._shapes.values()
    assert isinstance(shape, WatchedRule) and len(shape._maintainer.program.rules) == 1
    change = kb.apply(Update(insert={"e": [(7, 5)]}, delete={"e": [(9, 10)]}))
    moved = {x: drained(watch) for x, watch in enumerate(watches)}
    assert [x for x, found in moved.items() if found] == [7, 9]
    assert moved[7][0] == holdfast.WatchChange(change.version or 0, frozenset({(5,)}), frozenset())
    assert moved[9][0].removed == {(10,)}
    for watch in watches:
        watch.close()
    assert not kb._watches._shapes


def test_one_atom_needs_no_copy_of_the_facts() -> None:
    rules = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z)."
    kb = holdfast.from_text(rules, {"edge": [(i, i + 1) for i in range(300)]})
    with kb.watch("path($from, x)", {"from": 0}) as watch:
        kb.apply(Update(delete={"edge": [(100, 101)]}))
        [change] = drained(watch)
        assert change.removed == {(x,) for x in range(101, 301)} and not change.added
    assert not any(isinstance(shape, WatchedRule) for shape in kb._watches._shapes.values())


def test_changes_are_taken_in_another_thread() -> None:
    kb = holdfast.from_text("p(x) :- e(x).", {"e": [(0,)]})
    watch, seen = kb.watch("p(x)"), list[holdfast.WatchChange]()
    thread = threading.Thread(target=lambda: seen.extend(watch))
    thread.start()
    for number in range(1, 50):
        kb.apply(Update(insert={"e": [(number,)]}))
    watch.close()
    thread.join(30)
    assert not thread.is_alive()
    assert [(change.version, change.added) for change in seen] == [(n, {(n,)}) for n in range(1, 50)]


def test_a_watch_ends_when_its_relation_does() -> None:
    kb = holdfast.from_text("p(x) :- e(x).", {"e": [(0,)]})
    watches = [kb.watch("p(x)"), kb.watch("p(x), e(x)"), kb.watch("e(x)")]
    kb.apply(Update(remove_rules=["r1"]))
    for watch in watches[:2]:
        with pytest.raises(holdfast.HoldfastError) as caught:
            list(watch)
        assert "p" in str(caught.value)
    kb.apply(Update(insert={"e": [(1,)]}))
    assert [change.added for change in drained(watches[2])] == [{(1,)}]


def test_changes_that_wait_too_long_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.knowledge.watches._MOST_WAITING", 5)
    kb = holdfast.from_text("p(x) :- e(x).")
    watch, rows = kb.watch("p(x)"), set[object]()
    dice = Random(5)
    for _ in range(60):
        kb.apply(Update(delete={"e": [(dice.randrange(9),)]}, insert={"e": [(dice.randrange(9),)]}))
    changes = [change for change in drained(watch) if change.added or change.removed]
    assert len(changes) <= 6
    follow(rows, changes)
    assert rows == set(kb["p"])


def test_closing_one_of_many_looks_at_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand watches were all looked at whenever one was closed, and at every commit."""
    looks, before = list[QueryWatch](), QueryWatch.is_closed.fget
    assert before is not None
    monkeypatch.setattr(QueryWatch, "is_closed", property(lambda watch: (looks.append(watch), before(watch))[1]))
    kb = holdfast.from_text("r(x, y) :- p(x, y), q(y).", {"p": [(1, 2)], "q": [(2,)]})
    watches = [kb.watch("p($x, y), q(y)", {"x": x // 2}) for x in range(20)]
    kb.apply(Update(insert={"p": [(3, 2)]}))
    assert not looks
    watches[6].close()
    assert looks and set(looks) <= {watches[6], watches[7]}
    del watches[8:10]
    kb.apply(Update(insert={"p": [(4, 2), (5, 2)]}))
    assert [len(drained(watch)) for watch in watches] == [0] * 6 + [1, 1] + [1, 1] + [0] * 8
    [shape] = kb._watches._shapes.values()
    assert len(shape.watches) == 9, "nobody refers to those of 4"


def test_a_dropped_watch_costs_nothing() -> None:
    kb = holdfast.from_text("p(x) :- e(x).", {"e": [(0,)]})
    kb.watch("p($x), e($x)", {"x": 0})
    kb.apply(Update(insert={"e": [(1,)]}))
    assert not kb._watches._shapes


@pytest.mark.parametrize(
    ("text", "values", "code"), [("p($x)", {}, "E0950"), ("p($x)", {"x": "a"}, "E0951"), ("q(x)", {}, "E0201")]
)
def test_wrong_watches_are_refused(text: str, values: dict[str, object], code: str) -> None:
    kb = holdfast.from_text("p(x) :- e(x).", {"e": [(0,)]})
    with pytest.raises(holdfast.HoldfastError) as caught:
        kb.watch(text, values)  # type: ignore[arg-type]
    assert caught.value.diagnostics[0].code == code
    assert not kb._watches._shapes


def test_many_shapes_of_many_threads() -> None:
    """Watches come and go while others update; each follows its query exactly."""
    kb = opened(Random(1))
    failures: list[BaseException] = []
    done = threading.Event()

    def follow_one(seed: int) -> None:
        dice = Random(seed)
        try:
            while not done.is_set():
                text, names = dice.choice(TEXTS)
                values = {name: dice.randrange(NODES) for name in names}
                with kb.watch(text, values, initial=True) as watch:
                    rows, first = set[object](), watch.next(timeout=0)
                    if first is not None:
                        follow(rows, [first])
                    for _ in range(3):
                        change = watch.next(timeout=0.01)
                        follow(rows, [] if change is None else [change])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=follow_one, args=(seed,), daemon=True) for seed in range(3)]
    for thread in threads:
        thread.start()
    dice = Random(9)
    for _ in range(40):
        step(dice, kb)
    done.set()
    for thread in threads:
        thread.join(60)
    assert not failures and not any(thread.is_alive() for thread in threads)
