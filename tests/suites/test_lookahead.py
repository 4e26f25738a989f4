"""The streams of data/marking (51) and the overlap streams of data/kb (21) through the driver, with the next updates
there always, never, and at random moments: every state is the expected one.

What this cannot catch: negation, aggregates and rule changes; there are none.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

import pytest

from ..amounts import amount
from ..equivalence.glimpses import MOMENTS, Glimpses
from .shared_data import DATA, document, needs_shared_data, updates
from .streams import Replay

pytestmark = [needs_shared_data, pytest.mark.sampled(12), pytest.mark.many_cases]
MARKING = document("marking/expected.json")
KBS = ("claros", "dbpedia", "family", "lubm", "path", "relations", "sequence")
OVERLAP = {
    (kb, name): right
    for kb in KBS
    for name, right in document(f"kb/expected_{kb}.json").items()
    if name.startswith("overlap")
}
ALGORITHMS = ("dred", "dred-counting", "backward-forward", "backward-forward-counting")
WAYS = [(lookahead, moments) for lookahead in ("marks", "window") for moments in MOMENTS]
FIRST_ONES = {"relations": 2, "family": 4, "claros": 4, "lubm": 8}  # updates, where the rules are many
FEW = 12  # updates of a stream that others are much like
_replays: dict[Path, Replay] = {}


def follow(rules: Path, stream: Path, expected: list[list[object]], way: int, most: int | None = None) -> None:
    """The stream through the driver; each answer is folded and compared."""
    lookahead, moments = WAYS[way % len(WAYS)]
    algorithm = ALGORITHMS[way // len(WAYS) % len(ALGORITHMS)]
    replay = _replays.pop(rules, None) or Replay(rules.read_text(encoding="utf-8"))
    queue, given = Glimpses(moments, Random(way)), list(islice(updates(stream), amount(most, 3)))
    for update in given:
        queue.put(replay.known(update))
    queue.close()
    answered = 0
    for answer, update in zip(replay.kb.stream(queue, algorithm=algorithm, lookahead=lookahead), given, strict=True):
        assert answer.change is not None
        replay.note(update, answer.change)
        assert replay.figures() == expected[answered], f"update {answered + 1}, {lookahead}, {moments}, {algorithm}"
        answered += 1
    assert answered == len(given)
    replay.compare_relations()
    replay.empty("auto")
    _replays[rules] = replay


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=pytest.mark.slow) if n % 2 else n for n in range(len(MARKING))]
)
def test_marking_streams(number: int) -> None:
    """Always, never and at random, with marks or in windows, by each algorithm in turn; one of three to the end."""
    stream = list(MARKING)[number]
    program = "ways" if stream.startswith("track") else stream[: stream.index("_seed")]
    folder = DATA / "marking"
    for shift in range(3):
        follow(
            folder / "rules" / f"{program}.dl",
            folder / "streams" / f"{stream}.jsonl.gz",
            MARKING[stream],
            3 * number + shift,
            None if shift == number // 2 % 3 else FEW,
        )


@pytest.mark.parametrize("number", range(len(OVERLAP)))
def test_overlap_streams(number: int) -> None:
    (kb, stream), expected = list(OVERLAP.items())[number]
    folder = DATA / "kb"
    for shift in range(3):
        follow(
            folder / "rules" / f"{kb}.dl",
            folder / "streams" / kb / f"{stream}.jsonl.gz",
            expected,
            3 * number + shift,
            FIRST_ONES.get(kb, None if "run0" in stream else FEW),
        )


def test_there_are_as_many_streams_as_there_should_be() -> None:
    assert (len(MARKING), len(OVERLAP)) == (51, 21)
