"""Knowledge bases with update streams (data/kb, data/marking): the last state of a stream, computed from scratch.

What this cannot catch: anything about updates themselves; only their net effect on the explicit facts is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

import holdfast
from holdfast.values import Row

from .shared_data import DATA, digest, document, explicit_after, needs_shared_data, table, tsv_rows

pytestmark = needs_shared_data
KBS = ("claros", "dbpedia", "family", "lubm", "path", "relations", "sequence")
EXPECTED = {kb: document(f"kb/expected_{kb}.json") for kb in KBS}
MARKING = document("marking/expected.json")
# One stream of every kind for each knowledge base: the kinds differ in how updates follow each other.
SAMPLE = [
    (kb, name)
    for kb in KBS
    for name in EXPECTED[kb]
    if "run0" in name and ("scale" not in name or name.endswith(("100-40-200", "400-40-1000")))
]


def materialised(rules: str, facts: dict[str, set[Row]]) -> dict[str, Iterable[Row]]:
    """All explicit and derived facts; a name that no rule uses keeps its explicit ones."""
    kb = holdfast.from_text(rules, facts=mentioned(rules, facts))
    return facts | {name: set(kb[name]) for name in kb.relations}


def mentioned(rules: str, facts: dict[str, set[Row]]) -> dict[str, set[Row]]:
    names = {re.sub("'(.*)'", r"\1", name) for name in re.findall(r"('[^']*'|\w+)\(", rules)}
    return {name: rows for name, rows in facts.items() if name in names}


@pytest.mark.parametrize(("kb", "stream"), SAMPLE)
def test_last_state_of_a_stream(kb: str, stream: str) -> None:
    explicit = explicit_after(DATA / "kb" / "streams" / kb / f"{stream}.jsonl.gz")
    facts = materialised((DATA / "kb" / "rules" / f"{kb}.dl").read_text(encoding="utf-8"), explicit)
    size, total, hash_ = EXPECTED[kb][stream][-1]
    assert sum(map(len, explicit.values())) == size
    assert digest(facts) == (total, hash_)


@pytest.mark.parametrize("stream", MARKING)
def test_last_state_of_a_marking_stream(stream: str) -> None:
    program = "ways" if stream.startswith("track") else stream[: stream.index("_seed")]
    explicit = explicit_after(DATA / "marking" / "streams" / f"{stream}.jsonl.gz")
    facts = materialised((DATA / "marking" / "rules" / f"{program}.dl").read_text(encoding="utf-8"), explicit)
    size, total, hash_ = MARKING[stream][-1]
    assert sum(map(len, explicit.values())) == size
    assert digest(facts) == (total, hash_)


def all_facts(kb: str) -> dict[str, set[Row]]:
    return {
        entry["predicate"]: set(tsv_rows(DATA / "kb" / "facts" / kb / entry["file"]))
        for entry in table(f"kb/facts/{kb}/index.tsv")
    }


def test_dbpedia_categories() -> None:
    facts = all_facts("dbpedia")
    assert sum(map(len, facts.values())) == 24_790
    rules = "up(x, y) :- 'skos:broader'(x, y). up(x, z) :- up(x, y), 'skos:broader'(y, z). loop(x) :- up(x, x)."
    kb = holdfast.from_text(rules, facts=mentioned(rules, facts))
    assert (len(kb["up"]), len(kb["loop"])) == (12_901, 2)
