"""One suite for all backends: `pytest --engine spark` (`model`, `parted`) runs what tests open there, not in memory.

`threads` is the spark engine with threads in place of Spark's workers, with both exchanges and without Java.

And for both ways to get the kernels: `pytest --kernels numba` lets Numba compile them, built module or not.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING
from zlib import crc32

import hypothesis
import pytest

import holdfast
from holdfast import user_functors

from . import amounts

if TYPE_CHECKING:
    from .backends.spark_parted.threads import Workers

# Every Java that a test starts lives for a short time: the quick compiler and the plain collector take half the work.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# Every Python that a test starts imports holdfast: it takes twice as long where nobody may keep the compiled files.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# A shell starts background jobs with Ctrl-C ignored, and so would be every process that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")

ENGINES = ("memory", "spark", "model", "parted", "threads")
SHARDS = 3  # more than there are cores, and no power of two
MARKERS = (
    "only_in_memory(reason, also=()): what it asks can be asked of the memory backend only, and of these engines",
    "only_with_numba(reason): it lets Numba compile all kernels, which `--kernels numba` has done already",
    "many_cases: of its many parameters, `--cases few` tries a third",
    "sampled(one_in): of its many cases of one form, one in so many is enough on Spark",
)
# Of random programs and updates; `make fuzz` tries many more.
EXAMPLES = {"memory": 100, "spark": 3, "model": 60, "parted": 60, "threads": 20}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engine", choices=ENGINES, default="memory", help="where tests open their programs")
    parser.addoption("--exchange", choices=["direct", "shuffle"], default="direct", help="how rows move on Spark")
    parser.addoption("--cases", choices=["few", "all"], default="few", help="how many cases random tests try")
    parser.addoption("--kernels", choices=["built", "numba"], default="built", help="where the kernels come from")


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    amounts.ENGINE = {"threads": "spark"}.get(config.getoption("engine"), config.getoption("engine"))
    amounts.CASES = config.getoption("cases")
    if config.getoption("kernels") == "numba":
        sys.modules["holdfast._kernels"] = None  # type: ignore[assignment]  # as if nobody had built it


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    engine = config.getoption("engine")
    most = amounts.some(EXAMPLES[engine])
    if config.getoption("kernels") == "built":
        for item in items:
            for marker in item.iter_markers("only_with_numba"):
                item.add_marker(pytest.mark.skip(reason=marker.args[0]))
    for item in items:
        for marker in item.iter_markers("only_in_memory") if engine != "memory" else ():
            if engine not in marker.kwargs.get("also", ()):
                item.add_marker(pytest.mark.skip(reason=marker.args[0]))
        random = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
        if random is not None:
            fewer = hypothesis.settings(random, max_examples=min(random.max_examples, most))
            item.obj._hypothesis_internal_use_settings = fewer  # type: ignore[attr-defined]
    if config.getoption("cases") == "few":
        _leave_out_many(config, items)
    for item in _left_out(items) if engine == "spark" else ():
        item.add_marker(pytest.mark.skip(reason="some cases of many are enough there"))


def pytest_collection_finish() -> None:
    """Garbage collections of tests pass over the thousands of tests themselves."""
    gc.collect()
    gc.freeze()


def _leave_out_many(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Two thirds of the parameters of tests with many, always the same."""
    many = {item for item in items if hasattr(item, "callspec") and item.get_closest_marker("many_cases")}
    left_out = [item for item in items if item in many and crc32(item.nodeid.encode()) % 3]
    items[:] = [item for item in items if item not in many or not crc32(item.nodeid.encode()) % 3]
    config.hook.pytest_deselected(items=left_out)


def _left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """The cases of sampled files that are not in the sample."""
    cases = defaultdict[str, list[tuple[pytest.Item, int]]](list)
    for item in sorted(items, key=lambda item: item.nodeid):
        for marker in item.iter_markers("sampled"):
            cases[item.path.name].append((item, marker.args[0]))
    return [item for found in cases.values() for number, (item, one_in) in enumerate(found) if number % one_in]


@pytest.fixture(autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that say nothing about their engine have the one of the command line."""
    wanted, exchange = request.config.getoption("engine"), request.config.getoption("exchange")
    if wanted == "threads":
        made: object = request.getfixturevalue("workers_in_threads").engine(SHARDS)
    elif wanted != "memory":
        made = _engine(wanted, exchange)
    for name in ("from_text", "open") if wanted != "memory" else ():
        monkeypatch.setattr(holdfast, name, partial(getattr(holdfast, name), engine=made))
    if wanted in ("parted", "threads"):  # the facts of tests are few: some relations are small, and some have hubs
        monkeypatch.setattr("holdfast.backends.parted.placement.SMALL", 5)
        monkeypatch.setattr("holdfast.backends.parted.hubs.LEAST", 8)


@pytest.fixture(scope="module")
def workers_in_threads(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """In place of the Python workers of Spark, as long as the knowledge bases that tests of a file share."""
    from .backends.spark_parted.threads import installed

    with installed(tmp_path_factory.mktemp("shards")) as found:
        found.exchange = request.config.getoption("exchange")
        yield found


@pytest.fixture(autouse=True)
def functors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functors that a test registers are gone after it."""
    monkeypatch.setattr(user_functors, "_REGISTERED", dict(user_functors._REGISTERED))


def _engine(name: str, exchange: str) -> object:
    if name == "model":
        from .backends.model import ModelBackend

        return ModelBackend
    if name == "parted":
        return f"parted[{SHARDS}]"
    from holdfast.spark_session import spark_session

    session = spark_session()
    session.conf.set("spark.holdfast.exchange", exchange)
    return session
