"""One suite for both backends: `pytest --engine spark` runs what tests open on Spark instead of in memory.

And for both ways to get the kernels: `pytest --kernels numba` lets Numba compile them, built module or not.
"""

from __future__ import annotations

import os
import sys
from functools import partial

import hypothesis
import pytest

import holdfast

from . import amounts

# Every Java that a test starts lives for a short time: the quick compiler and the plain collector take half the work.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# What is asked there can be asked only of the memory backend.
NO_WINDOWS, NO_MARKS = "several updates are not one pass there", "there are no marks there"
ONLY_IN_MEMORY = {
    "test_memory": "the memory limit counts what this process holds",
    "derive_too_much_after_an_update": "tests/backends/spark/test_modules.py asks the same there",
    **dict.fromkeys(
        ["test_facts_inside_a_round", "test_seconds[product]", "test_seconds[filter]", "test_seconds[negation]"],
        "limits are looked at between jobs",
    ),
    "test_a_view_stays_as_it_was_and_a_query_makes_rows_only": "what modules derive is written out there",
    "test_nothing_is_overdeleted_where_lengths_only_grow": "the least number of a column is not known there",
    "test_backward_instances": "all instances of a goal are looked at at once there",
    "test_debian_updates.py": "the tables of the memory engine are looked into",
    "test_bites.py": "that tests bite is shown once, by a hundred scripts for each mutant",
    **dict.fromkeys(
        [
            "equivalence/test_window.py",
            "test_several_updates_are_one_pass",
            "test_ctrl_c_in_a_window",
            "test_rules_change_between_windows",
            "test_a_window_that_takes_too_long",
            "test_too_many_updates",
            "test_what_was_seen_ahead_is_not_believed",
            "test_marks_of_a_state_that_is_no_more",
        ],
        NO_WINDOWS,
    ),
    **dict.fromkeys(
        [
            "equivalence/test_marking.py",
            "test_example_3_of_the_paper",
            "test_each_fact_is_linked",
            "test_a_marked_head",
            "test_marked_facts",
        ],
        NO_MARKS,
    ),
}
# Of files with many cases of one form, one case in so many.
SAMPLED = {"test_streams.py": 40, "test_lookahead.py": 12, "test_souffle_updates.py": 12, "test_ttc2018.py": 3}
EXAMPLES = 3  # of random programs and updates on Spark, where each takes seconds


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engine", choices=["memory", "spark"], default="memory", help="where tests open their programs")
    parser.addoption("--kernels", choices=["built", "numba"], default="built", help="where the kernels come from")


def pytest_configure(config: pytest.Config) -> None:
    amounts.ON_SPARK = config.getoption("engine") == "spark"
    if config.getoption("kernels") == "numba":
        sys.modules["holdfast._kernels"] = None  # type: ignore[assignment]  # as if nobody had built it


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("engine") == "spark":
        for item in _left_out(items):
            item.add_marker(pytest.mark.skip(reason="some cases of many are enough there"))
        for item in items:
            for part, reason in ONLY_IN_MEMORY.items():
                if part in item.nodeid:
                    item.add_marker(pytest.mark.skip(reason=reason))
            random = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
            if random is not None:
                fewer = hypothesis.settings(random, max_examples=min(random.max_examples, EXAMPLES))
                item.obj._hypothesis_internal_use_settings = fewer  # type: ignore[attr-defined]


def _left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """The cases of sampled files that are not in the sample."""
    found = []
    for file, one_in in SAMPLED.items():
        cases = sorted((item for item in items if item.path.name == file), key=lambda item: item.nodeid)
        found += [item for number, item in enumerate(cases) if number % one_in]
    return found


@pytest.fixture(autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that say nothing about their engine have the one of the command line."""
    if request.config.getoption("engine") == "spark":
        from holdfast.spark_session import spark_session

        for name in ("from_text", "open"):
            monkeypatch.setattr(holdfast, name, partial(getattr(holdfast, name), engine=spark_session()))
