"""Texts for people use the prefixes of the program, and what they show can be asked again; JSON has full IRIs."""

from __future__ import annotations

import json

import pytest

import holdfast
from holdfast.explanations.short_names import ShortNames
from holdfast.updates import Update

RULES = """
@prefix ex: <http://example.org/> .
@prefix deep: <http://example.org/deep/> .
ex:reaches(x, y) :- ex:knows(x, y).
ex:reaches(x, z) :- ex:reaches(x, y), ex:knows(y, z).
ex:lonely(x) :- ex:reaches(_, x), !ex:knows(x, _).
"""


def ex(name: str) -> holdfast.Iri:
    return holdfast.Iri(f"http://example.org/{name}")


@pytest.fixture
def kb() -> holdfast.KnowledgeBase:
    return holdfast.from_text(RULES, facts={"ex:knows": [(ex("ann"), ex("bob")), (ex("bob"), ex("deep/cleo"))]})


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("<http://example.org/ann>", "ex:ann"),
        ("<http://example.org/deep/cleo>", "deep:cleo"),
        ("<http://example.org/a/b>", "<http://example.org/a/b>"),  # no local name has a slash
        ("<http://example.org/>", "<http://example.org/>"),
        ("<http://example.org/a.>", "<http://example.org/a.>"),  # the point would end the rule
        ("<http://other.org/ann>", "<http://other.org/ann>"),
        ('"<http://example.org/ann>"', '"<http://example.org/ann>"'),
        ('"\\"<http://example.org/ann>"', '"\\"<http://example.org/ann>"'),
        ("'<http://example.org/ann>'(1)", "'<http://example.org/ann>'(1)"),
        ('"7"^^<http://www.w3.org/2001/XMLSchema#byte>', '"7"^^xsd:byte'),
        ("x < y, y > <http://example.org/z>", "x < y, y > ex:z"),
        ("<_:b1>", "<_:b1>"),
    ],
)
def test_what_is_shortened(text: str, short: str) -> None:
    prefixes = {"ex": "http://example.org/", "deep": "http://example.org/deep/", "no-word": "http://other.org/"}
    xsd = {"xsd": "http://www.w3.org/2001/XMLSchema#", "count": "http://other.org/", "empty": ""}
    assert ShortNames(prefixes | xsd)(text) == short


def test_a_proof_is_short_and_can_be_asked_again(kb: holdfast.KnowledgeBase) -> None:
    proof = kb.why("ex:reaches(ex:ann, deep:cleo)")
    assert proof is not None
    shown = [str(proof), proof.text(), proof.to_dot(), proof._repr_html_(), repr(proof)]
    assert all("http" not in text.replace(RULES, "") for text in shown)
    for line in str(proof).splitlines():
        assert kb.why(line.strip("│├└─ ").partition("  ")[0]) is not None, line
    assert json.loads(proof.to_json())["finalConclusion"].startswith("<http://example.org/reaches>(")
    assert proof.facts[0] == "<http://example.org/knows>(<http://example.org/ann>, <http://example.org/bob>)"
    assert holdfast.check_proof(proof.to_json(), RULES, {"<http://example.org/knows>": kb["ex:knows"]})


def test_every_other_answer_is_short(kb: holdfast.KnowledgeBase) -> None:
    absence = kb.why_not("ex:reaches(ex:bob, ex:ann)")
    assert absence is not None
    shown = [str(absence), absence._repr_html_(), absence.to_dot(), repr(absence)]
    ways = kb.why("ex:reaches(ex:ann, ex:bob)", ways="all")
    shown += [str(ways), repr(ways), ways.to_dot()]  # type: ignore[union-attr]
    supports = kb.supports("ex:lonely(deep:cleo)")
    assert supports is not None
    shown += [str(supports), repr(supports), supports.to_dot()]
    repairs = kb.repair(make=["ex:reaches(ex:bob, ex:ann)"])
    shown += [str(repairs), str(repairs[0]), repr(repairs[0]), repairs.to_dot()]
    change = kb.apply(Update(insert={"ex:knows": [(ex("deep/cleo"), ex("ann"))]}))
    causes = change.why("ex:reaches(ex:bob, ex:ann)")
    shown += [str(causes), repr(causes)]
    assert all("ex:" in text and "http" not in text for text in shown), shown
    for answer in (absence, ways, supports, repairs, causes):
        assert "<http://example.org/" in answer.to_json()  # type: ignore[union-attr]
