"""The queue, its sources and the driver: order, waiting, failures at their places, and what the driver reports."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

import holdfast
from holdfast import HoldfastError, KnowledgeBase, Limits, Update
from holdfast.streaming.driver import Answer, Lookahead
from holdfast.streaming.queue import UpdateQueue
from holdfast.streaming.sources import feed, watched_folder
from holdfast.streaming.window_size import WindowSize

NO_WINDOWS = pytest.mark.only_in_memory("several updates are not one pass elsewhere")
NO_MARKS = pytest.mark.only_in_memory("other engines keep no links")

RULES = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z). lonely(x) :- node(x), !path(x, x)."
UPDATES = [Update(insert={"edge": [(i, i + 1)], "node": [(i,)]}, delete={"edge": [(i - 2, i - 1)]}) for i in range(30)]
KINDS = ["none", "marks", "window", "auto"]


def filled(updates: list[Update], capacity: int = 200) -> UpdateQueue:
    queue = UpdateQueue(capacity)
    for update in updates:
        queue.put(update)
    queue.close()
    return queue


def reported(answers: Iterator[Answer]) -> list[tuple[object, ...]]:
    """Each answer's facts, in order."""
    found = []
    for answer in answers:
        assert answer.change is not None
        parts = answer.change.added, answer.change.removed
        found.append((answer.number, *({name: set(view) for name, view in part.items()} for part in parts)))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_the_same_whatever_is_looked_at(kind: str) -> None:
    one, other = holdfast.from_text(RULES), holdfast.from_text(RULES)
    expected = [
        (number, *({name: set(view) for name, view in part.items()} for part in (change.added, change.removed)))
        for number, change in enumerate(map(one.apply, UPDATES), 1)
    ]
    assert reported(other.stream(UPDATES, lookahead=kind)) == expected
    assert other.counters("path") == one.counters("path")


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_is_that_of_the_answer(kind: str) -> None:
    """Also while several are computed in one pass."""
    one, other = holdfast.from_text(RULES), holdfast.from_text(RULES)
    for update, _ in zip(UPDATES, other.stream(filled(UPDATES), lookahead=kind), strict=True):
        one.apply(update)
        assert set(one["path"]) == set(other["path"])
        assert set(one["lonely"]) == set(other["lonely"])


@pytest.mark.parametrize("kind", KINDS)
def test_other_updates_between_two_answers(kind: str) -> None:
    one, other = holdfast.from_text(RULES), holdfast.from_text(RULES)
    more = Update(insert={"edge": [(90, 5)]}, delete={"edge": [(7, 8)]})
    for update, answer in zip(UPDATES, other.stream(filled(UPDATES), lookahead=kind), strict=True):
        one.apply(update)
        if answer.number == 12:
            one.apply(more)
            other.apply(more)
        if answer.number == 20:
            assert one.counters("path") == other.counters("path")
        assert set(one["path"]) == set(other["path"])
    assert one.counters("path") == other.counters("path")


def test_an_answer_comes_before_the_next_update() -> None:
    """Nothing waits for an update that is not there."""
    kb, queue = holdfast.from_text(RULES), UpdateQueue()
    stream = kb.stream(queue, lookahead="marks")
    for update in UPDATES[:5]:
        queue.put(update)
        assert next(stream).change is not None
    queue.close()
    assert list(stream) == []


def test_a_producer_that_is_too_fast_waits() -> None:
    queue, kb = UpdateQueue(3), holdfast.from_text(RULES)
    thread = feed(queue, UPDATES)
    while len(queue) < 3:
        time.sleep(0.001)
    time.sleep(0.02)
    assert len(queue) == 3
    assert len(list(kb.stream(queue))) == len(UPDATES)
    thread.join(5)
    assert queue.longest == 3
    assert queue.held_up >= 0.02


def test_two_producers_into_one_queue() -> None:
    queue, kb = UpdateQueue(8), holdfast.from_text("q(x) :- p(x).")
    halves = [[Update(insert={"p": [(2 * i + half,)]}) for i in range(40)] for half in range(2)]

    def produce(updates: list[Update]) -> None:
        for update in updates:
            queue.put(update)

    threads = [threading.Thread(target=produce, args=(half,)) for half in halves]
    for thread in threads:
        thread.start()
    closing = threading.Thread(target=lambda: [*map(threading.Thread.join, threads), queue.close()])
    closing.start()
    assert [answer.number for answer in kb.stream(queue)] == list(range(1, 81))
    assert len(kb["q"]) == 80
    closing.join(5)


@NO_WINDOWS
def test_several_updates_are_one_pass() -> None:
    kb = holdfast.from_text(RULES)
    answers = list(kb.stream(filled(UPDATES), lookahead=Lookahead("window", window=8)))
    assert [answer.window for answer in answers] == [8] * 24 + [6] * 6
    assert [answer.waiting for answer in answers[::8]] == [29, 21, 13, 5]
    change = answers[0].change
    assert change is not None
    assert {figures.algorithm for figures in change.figures} == {"window"}


@NO_WINDOWS
def test_ctrl_c_in_a_window_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    kb, other = holdfast.from_text(RULES), holdfast.from_text(RULES)
    for base in (kb, other):
        base.apply(UPDATES[0])
    queue = filled(UPDATES[1:8])
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr("holdfast.backends.memory.window.stratum.WindowStratum._count", _ctrl_c)
        next(kb.stream(queue, lookahead="window"))
    assert set(kb["path"]) == set(other["path"])
    assert reported(kb.stream(UPDATES[1:8], lookahead="window")) == reported(
        other.stream(UPDATES[1:8], lookahead="none")
    )


def _ctrl_c(*_: object) -> None:
    raise KeyboardInterrupt


@NO_WINDOWS
def test_rules_change_between_windows() -> None:
    updates = [*UPDATES[:4], Update(add_rules=["lonely(x) :- path(x, 3)."]), *UPDATES[4:8]]
    one, other = holdfast.from_text(RULES), holdfast.from_text(RULES)
    for update in updates:
        one.apply(update)
    answers = list(other.stream(filled(updates), lookahead="window"))
    assert [answer.window for answer in answers] == [4] * 4 + [1] + [4] * 4
    assert {name: set(view) for name, view in one.relations.items()} == {
        name: set(view) for name, view in other.relations.items()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_update_is_the_one_that_is_reported(kind: str) -> None:
    bad = Update(insert={"nowhere": [(1,)]})
    kb = holdfast.from_text(RULES)
    answers = list(kb.stream(filled([*UPDATES[:3], bad, *UPDATES[3:6]]), lookahead=kind, keep_going=True))
    assert [answer.error is None for answer in answers] == [True] * 3 + [False] + [True] * 3
    queue, kb = filled([*UPDATES[:3], bad, *UPDATES[3:6]]), holdfast.from_text(RULES)
    stream, seen = kb.stream(queue, lookahead=kind), 0
    with pytest.raises(HoldfastError, match="E0901"):
        for _ in stream:
            seen += 1
    assert seen == 3
    with pytest.raises(HoldfastError, match="E0920"):
        queue.put(UPDATES[7])


def test_a_value_that_only_mixed_states_have_is_no_error() -> None:
    """In one pass facts of different states meet; what goes wrong between them never happened."""
    kb = holdfast.from_text(".decl a(x: number)\n.decl b(x: number)\n.decl c(x: number)\nc(x / y) :- a(x), b(y).")
    updates = [
        Update(insert={"b": [(0,)]}),
        Update(delete={"b": [(0,)]}, insert={"b": [(2,)]}),
        Update(insert={"a": [(6,)]}),
    ]
    answers = list(kb.stream(filled(updates), lookahead="window"))
    assert [answer.error for answer in answers] == [None] * 3
    assert set(kb["c"]) == {(3,)}


def test_limits_hold_for_each_update() -> None:
    kb = holdfast.from_text("q(x) :- p(x).", limits=Limits(facts=4))
    updates = [Update(insert={"p": [(1,), (2,)]}), Update(insert={"p": [(3,)]}), Update(delete={"p": [(3,)]})]
    answers = list(kb.stream(filled(updates), lookahead="window", keep_going=True))
    assert [answer.error is None for answer in answers] == [True, False, True]
    assert {answer.window for answer in answers} == {1}


def test_what_fails_in_the_source_is_raised_after_the_last_update() -> None:
    def source() -> Iterator[Update]:
        yield from UPDATES[:2]
        raise OSError("the line is dead")

    kb, seen = holdfast.from_text(RULES), 0
    with pytest.raises(OSError, match="the line is dead"):
        for _ in kb.stream(source()):
            seen += 1
    assert seen == 2


def test_facts_that_can_be_read_once_only() -> None:
    """An update is looked at ahead, and again when a window is given up."""
    bad = Update(insert={"nowhere": [(1,)]})
    for kind in KINDS:
        updates = [Update(insert={"p": iter([(i,)])}, delete={"p": ((i - j,) for j in (1, 2))}) for i in range(5)]
        kb = holdfast.from_text("q(x) :- p(x).")
        answers = list(kb.stream(filled([*updates[:3], bad, *updates[3:]]), lookahead=kind, keep_going=True))
        assert [answer.number for answer in answers if answer.error] == [4]
        assert set(kb["q"]) == {(4,)}


# --- coalescing -------------------------------------------------------------------------------------------


def test_merged_updates_say_which() -> None:
    kb, other = holdfast.from_text(RULES), holdfast.from_text(RULES)
    answers = list(kb.stream(filled(UPDATES[:10]), lookahead=Lookahead("none", coalesce=6)))
    assert [(answer.number, answer.into) for answer in answers] == [(n, 10) for n in range(1, 10)] + [(10, None)]
    assert answers[-1].merged == tuple(range(1, 11))
    for update in UPDATES[:10]:
        other.apply(update)
    assert set(kb["path"]) == set(other["path"])
    assert kb.counters("path") == other.counters("path")
    assert answers[-1].change is not None
    assert set(answers[-1].change.added["path"]) == set(other["path"])


def test_few_updates_are_not_merged() -> None:
    kb = holdfast.from_text(RULES)
    answers = list(kb.stream(filled(UPDATES[:6]), lookahead=Lookahead("none", coalesce=6)))
    assert [answer.into for answer in answers] == [None] * 6


def test_the_last_change_of_a_fact_counts() -> None:
    kb = holdfast.from_text("q(x) :- p(x).", facts={"p": [(1,), (2,), (5,)]})
    updates = [
        Update(delete={"p": [(1,), (2,)]}, insert={"p": [(3,)]}),
        Update(insert={"p": [(1,), (4,)]}),
        Update(delete={"p": [(3,), (4,), (9,)]}, insert={"p": [(4,), (5,)]}),
    ]
    change = kb.apply_net(updates)
    assert set(change.added["q"]) == {(4,)}
    assert set(change.removed["q"]) == {(2,)}
    assert set(kb["p"]) == {(1,), (4,), (5,)}


def test_a_refused_update_among_merged_ones() -> None:
    kb = holdfast.from_text(RULES)
    bad = Update(insert={"nowhere": [(1,)]})
    answers = list(
        kb.stream(filled([*UPDATES[:3], bad, *UPDATES[3:5]]), keep_going=True, lookahead=Lookahead("none", coalesce=2))
    )
    assert [answer.number for answer in answers if answer.error] == [4]
    assert [answer.number for answer in answers] == [1, 2, 3, 4, 5, 6]


# --- marks ------------------------------------------------------------------------------------------------


def example_3() -> tuple[KnowledgeBase, list[Update]]:
    """The paper's example 3."""
    rules = "q(x) :- p1(x), p2(x). q(x) :- p3(x). r(x) :- q(x). s(x) :- q(x), p4(x)."
    kb = holdfast.from_text(rules, facts={name: [("c",)] for name in ("p1", "p2", "p3")})
    return kb, [Update(delete={"p1": [("c",)]}, insert={"p4": [("c",)]}), Update(delete={"p4": [("c",)]})]


@NO_MARKS
@pytest.mark.parametrize("algorithm", ["dred", "dred-counting", "backward-forward", "backward-forward-counting"])
def test_example_3_of_the_paper(algorithm: str) -> None:
    """p4(c) is marked, and so is s(c), which the next update need not look for."""
    kb, updates = example_3()
    first, second = kb.stream(filled(updates), algorithm=algorithm, lookahead="marks")
    assert (first.marks.explicit, first.marks.implicit, first.marks.saved) == (1, 1, 0)
    assert second.marks.saved == 1
    assert second.change is not None
    assert sum(figures.deletion for figures in second.change.figures) == 0
    assert {name for name in kb.relations if len(kb[name])} == {"p2", "p3", "q", "r"}


@NO_MARKS
@pytest.mark.parametrize("algorithm", ["dred", "backward-forward-counting"])
def test_each_fact_is_linked_to_its_own_head(algorithm: str) -> None:
    """Rows that are new and consecutive, and others; part of what came together goes."""
    kb, given = holdfast.from_text("q(x) :- p(x). r(x, 1) :- q(x)."), set[int]()
    changes = [((), (5, 3, 1)), ((3,), ()), ((), (9, 3, 7)), ((9,), (4,)), ((3, 5), (9,)), ((9, 1), ()), ((), ())]
    updates = [Update(insert={"p": [(x,) for x in come]}, delete={"p": [(x,) for x in gone]}) for gone, come in changes]
    stream, saved = kb.stream(filled(updates), algorithm=algorithm, lookahead="marks"), 0
    for (gone, come), answer in zip(changes, stream, strict=True):
        given = given.difference(gone).union(come)
        saved += answer.marks.saved
        assert (set(kb["q"]), set(kb["r"])) == ({(x,) for x in given}, {(x, 1) for x in given})
    assert saved == (12 if algorithm == "dred" else 6)


@NO_MARKS
@pytest.mark.parametrize("algorithm", ["dred", "backward-forward"])
def test_a_marked_head_may_have_other_derivations(algorithm: str) -> None:
    """q by another rule, r by another fact, s because it is explicit; t has none, and is not looked for."""
    rules = "q(x, y) :- p(x, y). q(x, y) :- o(x, y). r(x) :- p(x, _). s(x, y) :- p(x, y). t(y, x) :- p(x, y)."
    kb = holdfast.from_text(rules, facts={"o": [(1, 2)], "p": [(1, 3)], "s": [(1, 2)]})
    updates = [Update(insert={"p": [(1, 2)]}), Update(insert={"p": [(5, 5)]}), Update(delete={"p": [(1, 2)]})]
    *_, last = kb.stream(filled(updates), algorithm=algorithm, lookahead="marks")
    assert last.marks.saved == 4
    assert last.change is not None
    assert {name: set(view) for name, view in last.change.removed.items()} == {"p": {(1, 2)}, "t": {(2, 1)}}


@NO_WINDOWS
def test_what_was_seen_ahead_is_not_believed_after_another_update() -> None:
    """When the last update was looked at, p(3) was never seen."""
    kb = holdfast.from_text("q(x) :- p(x).")
    stream = kb.stream(
        filled([Update(insert={"p": [(1,)]}), Update(delete={"p": [(1,), (3,)]})]), algorithm="dred", lookahead="marks"
    )
    next(stream)
    kb.apply_all([Update(insert={"p": [(3,)]})])
    last = next(stream).change
    assert last is not None
    assert set(last.removed["q"]) == {(1,), (3,)}


def test_what_was_made_ready_is_not_used_under_other_rules() -> None:
    """When r(5) was made ready, nobody knew that it is a number."""
    kb = holdfast.from_text("q(x) :- p(x). s(x) :- r(x).")
    stream = kb.stream(filled([Update(insert={"p": [(1,)]}), Update(insert={"r": [(5,)]})]), lookahead="marks")
    next(stream)
    kb.apply(Update(add_rules=["t(x + 1) :- r(x)."]))
    next(stream)
    assert set(kb["t"]) == {(6,)}


@NO_MARKS
def test_marked_facts_are_there_until_they_go() -> None:
    """b(1) is covered when it comes, and negated beside a(1): it is there all the same."""
    kb, queue = holdfast.from_text("p(x) :- a(x), !b(x). p(x) :- b(x), c(x).", facts={"c": [(2,)]}), UpdateQueue()
    queue.put(Update(insert={"a": [(1,)], "b": [(1,), (2,)]}))
    queue.put(Update(delete={"b": [(1,), (2,)]}))
    queue.close()
    stream = kb.stream(queue, algorithm="dred-counting", lookahead="marks")
    assert (next(stream).marks.implicit, set(kb["p"])) == (1, {(2,)})
    assert (next(stream).marks.saved, set(kb["p"])) == (1, {(1,)})
    assert kb.counters("p") == {(1,): (1, 0)}


@NO_WINDOWS
def test_marks_of_a_state_that_is_no_more() -> None:
    """A window in between: what was met for the next update would be deleted twice."""
    rules = "q(x) :- p1(x), p2(x). q(x) :- p3(x)."
    kb, queue = holdfast.from_text(rules, facts={"p1": [(1,)], "p3": [(1,)]}), UpdateQueue()
    last = Update(delete={"p2": [(1,)]})
    queue.put(last)
    kb.marking(queue)
    kb.apply(Update(insert={"p2": [(1,)]}))
    kb.apply_all([Update(delete={"p1": [(1,)]})])
    kb.apply(last)
    assert kb.counters("q") == {(1,): (1, 0)}


@NO_MARKS
def test_a_stream_that_was_left_ends_while_another_marks() -> None:
    """The garbage collector may end it at any time: also inside a call, and after the next stream has begun."""
    kb = holdfast.from_text("s(x) :- q(x), p(x).", facts={"q": [(1,)]})
    updates = [Update(insert={"p": [(1,)]}), Update(delete={"p": [(1,)]})]
    left = kb.stream(filled([*updates, *updates]), algorithm="backward-forward", lookahead="marks")
    next(left), next(left)
    other = kb.stream(filled(updates), algorithm="backward-forward", lookahead="marks")
    assert next(other).marks.implicit == 1
    with kb._guard:  # as in the middle of a call
        left.close()
    assert next(other).marks.saved == 1


# --- sources ----------------------------------------------------------------------------------------------


def test_a_watched_folder(tmp_path: Path) -> None:
    (tmp_path / "9.jsonl").write_text('{"insert": {"p": [[1]]}}\n{"insert": {"p": [[2]]}}\n')
    (tmp_path / "10.jsonl").write_text('{"delete": {"p": [[2]]}}\n')
    (tmp_path / "11.tmp").write_text("not yet")
    (tmp_path / ".hidden").write_text("nothing")
    kb = holdfast.from_text("q(x) :- p(x).")
    stream = kb.stream(line.update() for line in watched_folder(tmp_path))
    assert [next(stream).number for _ in range(3)] == [1, 2, 3]
    (tmp_path / "11.tmp").write_text('{"insert": {"p": [[3]]}}\n')
    (tmp_path / "11.tmp").rename(tmp_path / "11.jsonl")
    (tmp_path / "END").touch()
    assert [answer.number for answer in stream] == [4]
    assert set(kb["q"]) == {(1,), (3,)}


def test_a_damaged_file_in_a_watched_folder_is_one_refused_update(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_bytes(b'{"insert": {"p": [[1]]}}\n{"insert": {"p')
    (tmp_path / "2.jsonl.gz").write_bytes(b"no gzip")
    (tmp_path / "3.jsonl").write_bytes(b'{"insert": {"p": [[3]]}}\n')
    (tmp_path / "END").touch()
    for keep_going, reported in ((True, ["", "E0613", "E0603", ""]), (False, [""])):
        kb, queue, codes = holdfast.from_text("q(x) :- p(x)."), UpdateQueue(), list[str]()
        feed(queue, watched_folder(tmp_path))
        with nullcontext() if keep_going else pytest.raises(HoldfastError, match="E0613"):
            for answer in kb.stream(queue, keep_going=keep_going):
                codes.append(answer.error.diagnostics[0].code if answer.error else "")
        assert codes == reported
        assert set(kb["q"]) == ({(1,), (3,)} if keep_going else {(1,)})


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(HoldfastError, match="E0921"):
        list(watched_folder(tmp_path / "nowhere"))


# --- how many at once -------------------------------------------------------------------------------------


def used(size: WindowSize, times: int, seconds: float) -> list[int]:
    """The windows of a stream of which forty updates wait, and in which an update takes 1 second alone."""
    found = []
    for _ in range(times):
        found.append(size.next(40))
        if found[-1] == 1:
            size.took_alone(1.0)
        else:
            size.took_together(found[-1], seconds)
    return found


def test_windows_are_used_while_they_pay() -> None:
    size = WindowSize(32)
    assert used(size, 6, 0.1) == [1, 1, 32, 32, 32, 32]
    assert (size.next(4), size.next(3)) == (4, 1)
    assert size.budget(10) == 10.0
    assert used(WindowSize(32, always=True), 3, 9.0) == [32] * 3


def test_windows_that_do_not_pay_are_tried_less_and_less() -> None:
    """The first window makes plans and is not judged."""
    assert used(WindowSize(32), 200, 5.0) == [1, 1, 32, 32] + [1] * 32 + [32] + [1] * 128 + [32] + [1] * 34


def test_a_short_stream_is_not_worth_a_window() -> None:
    """What the first window loads and plans takes longer than a few quick updates."""
    size = WindowSize(32)
    for _ in range(3):
        size.took_alone(0.002)
    assert [size.next(7) for _ in range(4)] == [1] * 4
    assert size.next(20) == 20
    for _ in range(40):
        size.took_alone(0.002)
    assert size.next(7) == 7


def test_updates_that_join_much_are_applied_alone() -> None:
    size = WindowSize(32)
    for _ in range(5):
        size.took_alone(0.1, instances=1_000_000)
        assert size.next(40) == 1
    for _ in range(20):
        size.took_alone(0.1, instances=1_000)
    assert size.next(40) == 32


@NO_WINDOWS
def test_a_window_that_takes_too_long_is_given_up() -> None:
    edges = [(x, y) for x in range(60) for y in range(60)]
    one, other = (holdfast.from_text(RULES, facts={"edge": edges}) for _ in range(2))
    updates = [Update(delete={"edge": [(i, i + 1)]}) for i in range(3)]
    with pytest.raises(HoldfastError, match="E0803"):
        one.apply_all(updates, seconds=0.0)
    assert [len(change) for change in one.apply_all(updates)] == [len(other.apply(update)) for update in updates]
    assert one.counters("path") == other.counters("path")


@pytest.mark.parametrize("wrong", [{"kind": "often"}, {"window": 0}, {"window": 63}, {"coalesce": 0}])
def test_a_lookahead_that_there_is_not(wrong: dict[str, object]) -> None:
    with pytest.raises(HoldfastError, match=r"E0905|E0919"):
        Lookahead(**wrong)  # type: ignore[arg-type]


@NO_WINDOWS
def test_too_many_updates_for_one_pass() -> None:
    kb = holdfast.from_text("q(x) :- p(x).")
    with pytest.raises(HoldfastError, match="E0919"):
        kb.apply_all([Update(insert={"p": [(i,)]}) for i in range(63)])
    assert kb.apply_all([]) == []
    assert len(kb.apply_all([Update(insert={"p": [(i,)]}) for i in range(62)])) == 62
    assert len(kb["q"]) == 62
