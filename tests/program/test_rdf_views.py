"""Statements of RDF in several relations: no program that is taken sees a statement in one and not in another.

Random programs, files and updates over one small vocabulary; the oracle knows nothing of how the check works.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast import Update
from holdfast.errors import HoldfastError
from holdfast.values import Iri

EX = "http://e/"
TYPE = Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
CLASSES, LINKS, NODES = ("A", "B"), ("p", "q"), ("x", "y")
Statement = tuple[object, object, object]
PREFIX = f"@prefix ex: <{EX}> .\n"


def iri(name: str) -> Iri:
    return Iri(EX + name)


def random_atom(dice: random.Random) -> str:
    """An atom of any of the relations, about one statement or many."""
    link, kind = dice.choice(LINKS), dice.choice(CLASSES)
    return dice.choice(
        (
            f"triple(?s, ex:{link}, ?o)",
            f"triple(?s, rdf:type, ex:{kind})",
            "triple(?s, ?p, ?o)" if dice.random() < 0.5 else f"triple(?s, ex:{link}, ex:{dice.choice(NODES)})",
            f"ex:{link}(?s, ?o)",
            f"ex:{kind}(?s)",
            f"rdf:type(?s, ex:{kind})",
        )
    )


def random_program(dice: random.Random) -> tuple[str, list[str]]:
    """Rules, and the atoms of their bodies."""
    bodies = [random_atom(dice) for _ in range(dice.randint(1, 3))]
    rules = []
    for number, body in enumerate(bodies):
        head = random_atom(dice) if dice.random() < 0.4 else f"r{number}(?s)"
        free = [name for name in ("?p", "?o") if name in head and name not in body]
        rules.append(f"{head} :- {', '.join([body, *(f'{name} = ex:{dice.choice(NODES)}' for name in free)])}.")
    return "\n".join(rules), bodies


def random_statement(dice: random.Random) -> Statement:
    subject = iri(dice.choice(NODES))
    if dice.random() < 0.5:
        return subject, TYPE, iri(dice.choice(CLASSES))
    return subject, iri(dice.choice(LINKS)), iri(dice.choice(NODES))


def statements(kb: holdfast.KnowledgeBase, name: str) -> Iterator[Statement]:
    """The statements that a relation has."""
    for row in kb[name]:
        if name == "triple":
            yield row[0], row[1], row[2]
        elif len(row) == 1:
            yield row[0], TYPE, Iri(name[1:-1])
        else:
            yield row[0], Iri(name[1:-1]), row[1]


def about(atom: str, statement: Statement) -> bool:
    """Whether a statement is one that an atom of a body looks for."""
    names = {"rdf:type": TYPE} | {f"ex:{name}": iri(name) for name in (*CLASSES, *LINKS, *NODES)}
    relation, _, rest = atom.rstrip(")").partition("(")
    terms = rest.split(", ")
    if relation != "triple":
        terms = [terms[0], "rdf:type", relation] if len(terms) == 1 else [terms[0], relation, terms[1]]
    return all(term.startswith("?") or names[term] == value for term, value in zip(terms, statement, strict=True))


def predicate(atom: str) -> str:
    relation = atom.partition("(")[0]
    return (
        relation if relation == "triple" else f"<{TYPE.value}>" if relation == "rdf:type" else f"<{EX}{relation[3:]}>"
    )


def check(kb: holdfast.KnowledgeBase, bodies: list[str]) -> None:
    """Each atom of a body finds in its relation what there is of such statements in any relation."""
    views = [name for name in kb.relations if name == "triple" or name.startswith("<")]
    everything = {statement for name in views for statement in statements(kb, name)}
    for atom in bodies:
        if predicate(atom) in kb.relations:
            found = {s for s in statements(kb, predicate(atom)) if about(atom, s)}
            assert found == {s for s in everything if about(atom, s)}, atom


def random_update(dice: random.Random, kb: holdfast.KnowledgeBase) -> Update:
    """Statements to insert or delete, in one of the relations that have them or in all."""
    chosen = {random_statement(dice) for _ in range(dice.randint(1, 2))}
    facts: dict[str, list[tuple[object, ...]]] = {}
    for s, p, o in chosen:
        assert isinstance(p, Iri) and isinstance(o, Iri)
        rows = {"triple": (s, p, o), f"<{p.value}>": (s, o), f"<{o.value}>": (s,)}
        there = [name for name, row in rows.items() if name in kb.relations and len(kb[name].columns) == len(row)]
        for name in there if dice.random() < 0.6 else there[:1]:
            facts.setdefault(name, []).append(rows[name])
    return Update(insert=facts) if dice.random() < 0.6 else Update(delete=facts)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_taken_never_drifts_apart(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    taken = refused = updated = 0
    for _ in range(40):
        rules, bodies = random_program(dice)
        file = tmp_path / "facts.nt"
        lines = {" ".join(map(str, random_statement(dice))) + " .\n" for _ in range(dice.randint(0, 5))}
        file.write_text("".join(sorted(lines)), encoding="utf-8")
        try:
            kb = holdfast.from_text(PREFIX + rules, str(file))
        except HoldfastError as error:
            assert {found.code for found in error.diagnostics} <= {"E0222", "E0301"}
            refused += 1
            continue
        taken += 1
        check(kb, bodies)
        for _ in range(4):
            more, read = random_program(dice)
            update = Update(add_rules=[more]) if dice.random() < 0.3 else random_update(dice, kb)
            try:
                kb.apply(update)
            except HoldfastError as error:
                assert {found.code for found in error.diagnostics} <= {"E0222", "E0301", "E0925", "E0912"}
                continue
            updated += 1
            bodies += read if update.add_rules else []
            check(kb, bodies)
    assert min(taken, refused, updated) > 2


def test_a_query_that_looks_where_rules_do_not_derive() -> None:
    kb = holdfast.from_text(PREFIX + "ex:B(?s) :- ex:A(?s).\ntriple(?s, rdf:type, ex:B) :- ex:A(?s).\n")
    with pytest.raises(HoldfastError, match=r"E0222(.|\n)*query ex:B"):
        kb.query("triple(?s, ?p, ?o)")
    assert len(kb.query("triple(?s, ex:p, ?o)")) == 0


def test_a_relation_called_triple_that_has_nothing_to_do_with_rdf() -> None:
    text = ".decl triple(a: number, b: number, c: number)\n.decl r(a: number)\n" + PREFIX
    assert not holdfast.from_text(text + "ex:B(?s) :- ex:A(?s).\nr(x) :- triple(x, _, _).\n").warnings
    strings = 'triple(x, "partOf", z) :- triple(x, "partOf", y), triple(y, "partOf", z).\n'
    assert not holdfast.from_text(PREFIX + strings + "ex:B(?s) :- ex:p(?s, _).\n").warnings


def test_facts_given_by_name_for_one_relation_only() -> None:
    text = PREFIX + "r(?s) :- ex:B(?s).\nt(?s, ?p) :- triple(?s, ?p, _).\n"
    triples = [(iri("x"), TYPE, iri("B")), (iri("x"), iri("p"), 7)]
    with pytest.raises(HoldfastError, match=r"E0925(.|\n)*missing: ex:B\(<http://e/x>\)"):
        holdfast.from_text(text, {"triple": triples})
    kb = holdfast.from_text(text, {"triple": triples, "ex:B": [(iri("x"),)]})
    assert len(kb["r"]) == 1


def test_updates_in_a_window_and_in_a_stream_are_held_to_the_same() -> None:
    text = PREFIX + "r(?s) :- ex:B(?s).\nt(?s, ?p) :- triple(?s, ?p, _).\n"
    kb = holdfast.from_text(text)
    alone = Update(insert={"ex:B": [(iri("x"),)]})
    both = Update(insert={"ex:B": [(iri("x"),)], "triple": [(iri("x"), TYPE, iri("B"))]})
    for apply in (kb.apply_all, kb.apply_net, lambda updates: list(kb.stream(updates))):
        with pytest.raises(HoldfastError, match="E0925"):
            apply([alone])  # type: ignore[operator]
    assert [bool(answer.change) for answer in kb.stream([both])] == [True]
