"""LUBM(1, 0) as RDF (data/ext/lubm): the 14 queries give the published numbers of answers.

What this cannot catch: answers that are wrong but as many; the rules are given, so it says nothing about OWL.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

import holdfast

from .shared_data import DATA, needs_shared_data, read_text, table

pytestmark = needs_shared_data
QUERIES = table("ext/lubm/queries.tsv")
NAMESPACE = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
# With the rules on these the closure is very much larger; the published numbers are for the others.
LEFT_OUT = ("colleagues", "connectedCourses", "advisor_takesCourse")

# No rule mentions these properties; what a program does not mention is not read.
PROPERTIES_OF_QUERY_4 = "\ndescribed(x) :- a1:name(x, _), a1:emailAddress(x, _), a1:telephone(x, _).\n"


def rules() -> str:
    """`a1:p[?X,?Y] :- …` in our notation."""
    lines = (DATA / "ext" / "incmatmark" / "rules" / "lubm.dlog").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if ":-" in line and not any(name in line for name in LEFT_OUT)]
    return f"@prefix a1: <{NAMESPACE}> .\n" + "\n".join(line.replace("[", "(").replace("]", ")") for line in kept)


@cache
def knowledge_base() -> holdfast.KnowledgeBase:
    prefixes = re.findall(r"^PREFIX (\w+): <(.*)>$", read_text(DATA / "ext/incmatmark/rules/lubm.dlog"), re.MULTILINE)
    head = "".join(f"@prefix {prefix}: <{iri}> .\n" for prefix, iri in prefixes)
    return holdfast.from_text(head + rules() + PROPERTIES_OF_QUERY_4, facts=DATA / "ext" / "lubm" / "lubm1.nt.gz")


def in_our_notation(body: str) -> str:
    return re.sub(r"([A-Za-z]+)\(", r"a1:\1(", body)


def test_number_of_derived_facts() -> None:
    kb = knowledge_base()
    assert kb.statistics.derived - len(kb["described"]) == 37_388


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query["query"])
def test_query(query: dict[str, str]) -> None:
    assert len(knowledge_base().query(in_our_notation(query["body"]))) == int(query["answers"])
