"""One suite for both backends: `pytest --engine spark` runs what tests open on Spark instead of in memory."""

from __future__ import annotations

import os
from functools import partial

import hypothesis
import pytest

import holdfast

# Every Java that a test starts lives for a short time: the quick compiler and the plain collector take half the work.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# What is asked there can be asked only of the memory backend.
ONLY_IN_MEMORY = {
    "test_memory": "the memory limit counts what this process holds",
    "derive_too_much_after_an_update": "tests/backends/spark/test_modules.py asks the same there",
    **dict.fromkeys(["test_facts_inside_a_round", "test_seconds[product]", "test_seconds[filter]",
                     "test_seconds[negation]"], "limits are looked at between jobs"),
    "test_a_view_stays_as_it_was_and_a_query_makes_rows_only": "what modules derive is written out there",
    "test_nothing_is_overdeleted_where_lengths_only_grow": "the least number of a column is not known there",
}
EXAMPLES = 3  # of random programs and updates on Spark, where each takes seconds


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engine", choices=["memory", "spark"], default="memory", help="where tests open their programs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("engine") == "spark":
        for item in items:
            for part, reason in ONLY_IN_MEMORY.items():
                if part in item.name:
                    item.add_marker(pytest.mark.skip(reason=reason))
            random = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
            if random is not None:
                fewer = hypothesis.settings(random, max_examples=min(random.max_examples, EXAMPLES))
                item.obj._hypothesis_internal_use_settings = fewer  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that say nothing about their engine have the one of the command line."""
    if request.config.getoption("engine") == "spark":
        from holdfast.spark_session import spark_session

        for name in ("from_text", "open"):
            monkeypatch.setattr(holdfast, name, partial(getattr(holdfast, name), engine=spark_session()))
