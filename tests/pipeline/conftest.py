"""One Spark session for all tests of a process; every test that asks for it runs in the process that has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.spark_session import SparkOptions, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = "-Dderby.stream.error.file=/dev/null"  # or its log would be in the working directory


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and "spark" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """Whatever session there is, or a new one; it ends with the process."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    conf = {"spark.driver.extraJavaOptions": JAVA, "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("tables"))}
    return running or spark_session(SparkOptions(conf=conf))
