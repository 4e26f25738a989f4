"""Checks proofs against a program and facts that are given as to a knowledge base."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.explanations.checker import checked
from holdfast.knowledge.loading import GivenFacts, load
from holdfast.language import parse, tree
from holdfast.values import Row
from holdfast.values.dictionary import Dictionary


def check_proof(proof: str | Mapping[str, Any], program: str | tree.Program, facts: GivenFacts = None) -> str:
    """Check a proof or a certificate of absence, as `to_json()` returns it.  Returns the fact, or raises `ProofError`.

    `program` is the text of the rules (`kb.rules_text()`).  `facts` are the explicit facts, in all forms in which a
    knowledge base takes them; a program or facts that it would refuse raise the same errors.
    """
    rules = parse(program, "<program>") if isinstance(program, str) else program
    return checked(proof, rules, explicit_facts(rules, facts))


def explicit_facts(rules: tree.Program, facts: GivenFacts) -> dict[str, list[Row]]:
    """The explicit facts by relation; nothing is derived."""
    loaded = load(rules, facts, Dictionary())
    types = {name: loaded.program.relations[name].types for name in loaded.rows}
    return {name: loaded.dictionary.decode_rows(codes, types[name]) for name, codes in loaded.rows.items()}
