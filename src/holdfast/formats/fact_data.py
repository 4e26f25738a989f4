"""Facts as a Python user gives them, before anybody looks inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from holdfast.quick_dataclass import dataclass

FactData: TypeAlias = Any  # what a user may pass; `python_data` distinguishes the forms and refuses the rest


@dataclass(frozen=True)
class FactParts:
    """Facts of one relation given in several parts."""

    parts: tuple[FactData, ...]


def kept(data: FactData) -> FactData:
    """The same facts to look at as often as one likes: what an iterator yields is put into a list."""
    if isinstance(data, Iterator):
        return list(data)
    if isinstance(data, Mapping) and any(isinstance(column, Iterator) for column in data.values()):
        return {name: kept(column) for name, column in data.items()}
    return data


def is_spark_frame(data: object) -> bool:
    """Whether facts were given as a DataFrame of Spark; PySpark need not be installed to see that they were not."""
    return type(data).__module__.startswith("pyspark.sql") and hasattr(data, "toArrow")
