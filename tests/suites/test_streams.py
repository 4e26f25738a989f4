"""The update streams of data/kb (315) and data/marking (51): number and digest of all facts after every update.

Every fourth stream is maintained by `auto`; every twelfth one, and every fourth one of marking, once more by one of the
other algorithms in turn, over its first updates where the rules are many.  `pytest -m slow` takes the rest.  What this
cannot catch: negation, aggregates and rule changes; there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from ..amounts import amount
from .shared_data import DATA, document, needs_shared_data, updates
from .streams import OTHERS, Replay

pytestmark = [needs_shared_data, pytest.mark.sampled(40), pytest.mark.many_cases]
KBS = ("claros", "dbpedia", "family", "lubm", "path", "relations", "sequence")
EXPECTED = {kb: document(f"kb/expected_{kb}.json") for kb in KBS}
MARKING = document("marking/expected.json")
STREAMS = [(kb, stream) for kb in KBS for stream in EXPECTED[kb]]
IN_TURN = [(kb, stream, OTHERS[i % len(OTHERS)]) for i, (kb, stream) in enumerate(STREAMS) if i % 3 == 0]
MARKING_IN_TURN = [(stream, OTHERS[i % len(OTHERS)]) for i, stream in enumerate(MARKING)]
FIRST_ONES = {"relations": 3, "family": 6, "claros": 8, "lubm": 15}  # updates for another algorithm
_replays: dict[Path, Replay] = {}  # with no facts in them; one that failed does not come back


def sample(cases: Sequence[Any]) -> list[Any]:
    """Every fourth case; the others only among what is slow."""
    return [pytest.param(*case, marks=pytest.mark.slow) if i % 4 else case for i, case in enumerate(cases)]


def replay(rules: Path, stream: Path, expected: list[list[object]], algorithm: str, most: int | None = None) -> None:
    """The stream on a knowledge base that other streams went through before: all their facts are deleted again."""
    replay = _replays.pop(rules, None) or Replay(rules.read_text(encoding="utf-8"))
    for number, update in enumerate(islice(updates(stream), amount(most, 3))):
        replay.apply(update, algorithm)
        assert replay.figures() == expected[number], f"update {number + 1}"
    replay.compare_relations()
    replay.empty(algorithm)
    _replays[rules] = replay


def replay_kb(kb: str, stream: str, algorithm: str, most: int | None = None) -> None:
    folder = DATA / "kb"
    replay(
        folder / "rules" / f"{kb}.dl",
        folder / "streams" / kb / f"{stream}.jsonl.gz",
        EXPECTED[kb][stream],
        algorithm,
        most,
    )


def replay_marking(stream: str, algorithm: str) -> None:
    program = "ways" if stream.startswith("track") else stream[: stream.index("_seed")]
    folder = DATA / "marking"
    replay(folder / "rules" / f"{program}.dl", folder / "streams" / f"{stream}.jsonl.gz", MARKING[stream], algorithm)


@pytest.mark.parametrize(("kb", "stream"), sample(STREAMS))
def test_every_state_of_a_stream(kb: str, stream: str) -> None:
    replay_kb(kb, stream, "auto")


@pytest.mark.parametrize(("kb", "stream", "algorithm"), sample(IN_TURN))
def test_another_algorithm(kb: str, stream: str, algorithm: str) -> None:
    replay_kb(kb, stream, algorithm, FIRST_ONES.get(kb))


@pytest.mark.parametrize("stream", MARKING)
def test_every_state_of_a_marking_stream(stream: str) -> None:
    replay_marking(stream, "auto")


@pytest.mark.parametrize(("stream", "algorithm"), sample(MARKING_IN_TURN))
def test_another_algorithm_on_a_marking_stream(stream: str, algorithm: str) -> None:
    replay_marking(stream, algorithm)


def test_there_are_as_many_streams_as_there_should_be() -> None:
    assert (len(STREAMS), len(MARKING)) == (315, 51)
