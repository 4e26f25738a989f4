"""The tables of the marking paper, small: the streams come out right in every way, and are ahead of the paper.

What these tests cannot see: whether the times are fair.
"""

from __future__ import annotations

import pytest

from bench import marking
from bench.updates import streams

pytestmark = pytest.mark.skipif(bool(streams.missing()), reason="the streams are not at ../shared/data/marking")


def test_tables_are_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert marking.main(["--small"]) == 0
    shown = capsys.readouterr().out
    assert all(title in shown for title in marking.TITLES.values())


def test_work_of_the_paper() -> None:
    """What does not depend on the order in which facts are checked is what the paper counts."""
    line, theirs = marking.measured("p_seq", 10, 1), marking._paper("p_seq")[10]
    old, new = line.ways[marking.OLD], line.ways[marking.NEW]
    assert 0 <= old.work.deletion - new.work.deletion - new.marks.saved <= 1  # means, rounded
    assert new.marks.saved > 0
    assert (old.work.deletion, old.work.insertion) == (theirs["del_old"], theirs["ins"])
    assert (new.work.insertion, new.work.backward, new.work.forward) == (theirs["ins"], 0, 0)
    assert new.marks.explicit == theirs["marks_explicit"]
    assert theirs["time_new"] > 10 * line.ways[marking.AHEAD].seconds
