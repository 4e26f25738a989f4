"""The files of a snapshot with the facts of each relation: readable and distinct names."""

from __future__ import annotations

import re
from collections.abc import Iterable

_READABLE = 40  # characters of a relation's name


def file_names(relations: Iterable[str]) -> dict[str, str]:
    """A file for each relation; a name that is not plain, or differs from another only in case, gets a number."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for place, name in enumerate(relations):
        readable = re.sub(r"[^A-Za-z0-9_]+", "_", re.split(r"[/#]", name.strip("<>"))[-1]).strip("_")[:_READABLE]
        plain = readable if readable == name and name.casefold() not in taken else f"{readable or 'relation'}.{place}"
        taken.add(plain.casefold())
        found[name] = f"{plain}.parquet"
    return found
